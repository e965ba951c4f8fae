//! Configuration of one server as values.

use std::path::PathBuf;
use std::time::Duration;

use limbeck_domain::{ServerName, limits};

use crate::http::HttpSpec;
use crate::unusable::UnusableServer;

/// One configured server.
#[derive(Clone, Debug)]
pub struct ServerSpec {
    /// Key of the configuration entry; the server's only identity.
    pub name: ServerName,
    /// Transport.
    pub transport: TransportSpec,
    /// Concurrent calls; zero counts as one.
    pub concurrency: usize,
    /// Time limit of one call from the moment it is sent; waiting for a slot or a start is not counted.
    pub call_timeout: Duration,
    /// Time limit of all pages of `tools/list` together.
    pub list_timeout: Duration,
    /// Time limit of a start: from the start of the process to its first response.
    pub start_timeout: Duration,
    /// Time without calls after which the server is stopped until the next call; `None` never stops it.
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

/// Transport of a server.
#[derive(Clone, Debug)]
pub enum TransportSpec {
    /// A child process with the protocol on its standard input and output.
    Stdio(StdioSpec),
    /// A server at a url.
    Http(Box<HttpSpec>),
    /// Must not be connected: listed, and every call fails with the reason.
    Unusable(UnusableServer),
}

impl TransportSpec {
    /// Name of the transport: `stdio`, `http`, `sse`, or `none`.
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
    /// Working directory; `None` is the gateway's own.
    pub cwd: Option<PathBuf>,
}
