//! What the configuration says about one server, as values.

use std::path::PathBuf;
use std::time::Duration;

use limbeck_domain::{ServerName, limits};

/// One configured server.
#[derive(Clone, Debug)]
pub struct ServerSpec {
    /// Key of the configuration entry; the only name the server is known by.
    pub name: ServerName,
    /// How it is reached.
    pub transport: TransportSpec,
    /// Calls sent to it at the same time; zero counts as one.
    pub concurrency: usize,
    /// Time for one call from the moment it is sent; waiting for a slot or a start is not counted.
    pub call_timeout: Duration,
    /// Time for all pages of its tools together.
    pub list_timeout: Duration,
    /// Time for a started process to answer its first request.
    pub start_timeout: Duration,
    /// Time after its last call when it is stopped, to be started again by the next one; `None` keeps it.
    pub idle_timeout: Option<Duration>,
    /// Listed, never started.
    pub disabled: bool,
}

impl ServerSpec {
    /// A server with the default limits of [`limbeck_domain::limits`].
    pub fn new(name: impl Into<ServerName>, transport: TransportSpec) -> Self {
        Self {
            name: name.into(),
            transport,
            concurrency: limits::UPSTREAM_CONCURRENCY,
            call_timeout: Duration::from_millis(limits::UPSTREAM_CALL_MS),
            list_timeout: Duration::from_millis(limits::UPSTREAM_LIST_MS),
            start_timeout: Duration::from_millis(limits::UPSTREAM_START_MS),
            idle_timeout: Some(Duration::from_millis(limits::UPSTREAM_IDLE_MS)),
            disabled: false,
        }
    }
}

/// How a server is reached.
#[derive(Clone, Debug)]
pub enum TransportSpec {
    /// A child process that speaks on its standard input and output.
    Stdio(StdioSpec),
    /// An entry this build cannot connect: listed, and every call fails with the reason.
    Unsupported {
        /// Why, a lowercase fragment.
        reason: String,
    },
}

impl TransportSpec {
    /// How the server is reached, in a word: `stdio`, or `none`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "stdio",
            Self::Unsupported { .. } => "none",
        }
    }
}

/// A child process.
#[derive(Clone, Debug)]
pub struct StdioSpec {
    /// Program: a path, or a bare name that is looked up in the `PATH` of `env`. No shell is involved.
    pub command: PathBuf,
    /// Arguments, verbatim.
    pub args: Vec<String>,
    /// The whole environment of the child; nothing is inherited.
    pub env: Vec<(String, String)>,
    /// Working directory; absent means ours.
    pub cwd: Option<PathBuf>,
}
