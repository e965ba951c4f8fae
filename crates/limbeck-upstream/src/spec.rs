//! What the configuration says about one server, as values.

use std::path::PathBuf;
use std::time::Duration;

use limbeck_domain::{ServerName, limits};

use crate::UpstreamError;
use crate::http::HttpSpec;
use crate::stdio::program;

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
    /// A server that is asked over HTTP.
    Http(Box<HttpSpec>),
    /// Not to be connected: listed, and every call fails with the reason.
    Unusable(Unusable),
}

/// Why a server is not to be connected, whatever is asked of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// Of which kind the reason is.
    pub kind: UnusableKind,
    /// The reason, a lowercase fragment.
    pub reason: String,
    /// What a person can do about it, where the reason does not say it.
    pub next_step: Option<String>,
}

/// Kinds of servers that are not connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnusableKind {
    /// This build has no way to reach it.
    Unsupported,
    /// Something is wrong with its entry.
    Invalid,
    /// It came with a repository, and nobody has accepted it.
    Untrusted,
}

impl TransportSpec {
    /// How the server is reached, in a word: `stdio`, `http`, `sse`, or `none`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "stdio",
            Self::Http(http) => http.kind.as_str(),
            Self::Unusable(_) => "none",
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

impl StdioSpec {
    /// The absolute path of the program that would be started now.
    ///
    /// # Errors
    ///
    /// [`UpstreamError::ProgramNotFound`] and [`UpstreamError::Spawn`].
    pub fn program(&self) -> Result<PathBuf, UpstreamError> {
        program::resolve(self)
    }
}
