//! A configured server, as the rest of the product gets to see it.

use std::fmt;
use std::path::PathBuf;

use ipnet::IpNet;
use limbeck_domain::{Expose, ServerName};

use crate::error::Fault;
use crate::oauth::OAuthEntry;
use crate::written::Written;

/// One server of the configuration.
#[derive(Clone, Debug)]
pub struct ServerEntry {
    /// Key of the entry, verbatim.
    pub name: ServerName,
    /// Where the entry stands; of several, the one that counts.
    pub origin: Origin,
    /// How to reach the server, or why that cannot be said: the entry is listed all the same.
    pub definition: Result<Transport, Fault>,
    /// Whether it may be started.
    pub trust: Trust,
    /// What the entry says, where it came with a repository.
    pub written: Option<Written>,
    /// Switched off by its author: listed, never started.
    pub disabled: bool,
    /// What it is for, in its author's words, cut and cleaned.
    pub description: Option<String>,
    /// Time for one call, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Time for a start, in milliseconds.
    pub start_timeout_ms: Option<u64>,
    /// Time without a call after which the server is stopped, in milliseconds; 0 keeps it.
    pub idle_timeout_ms: Option<u64>,
    /// Calls served at the same time.
    pub concurrency: Option<usize>,
    /// How to sign in, where the server is reached over HTTP.
    pub oauth: OAuthEntry,
    /// Who sees its tools: programs, clients, or both.
    pub expose: Expose,
    /// Whether results of its tools may teach what they look like.
    pub observe: bool,
}

impl ServerEntry {
    /// Whether nobody has accepted what a repository says of it: not to be started.
    pub fn is_held_back(&self) -> bool {
        match self.trust {
            Trust::Waiting | Trust::Changed => true,
            Trust::Own | Trust::Accepted | Trust::AcceptedByClient => false,
        }
    }
}

/// Whether somebody whose word counts wants a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// It is from a file of the user's own, or one that the user named.
    Own,
    /// A repository's, and the user accepted exactly this definition.
    Accepted,
    /// A repository's, new here, and the user accepted its name in the client. To be recorded before it counts.
    AcceptedByClient,
    /// A repository's, and nobody was asked so far.
    Waiting,
    /// A repository's, and not what was accepted.
    Changed,
}

/// How a server is reached, every reference filled in.
#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    /// A child process that speaks on its standard input and output.
    Stdio {
        /// Program: a path, or a name to be looked up in the `PATH` of `env`. Never for a shell.
        command: PathBuf,
        /// Arguments, verbatim.
        args: Vec<String>,
        /// The whole environment of the child; nothing else is inherited.
        env: Vec<(String, String)>,
        /// Working directory, absolute; absent means ours.
        cwd: Option<PathBuf>,
    },
    /// A server somewhere else.
    Http {
        /// Its `http` or `https` address, without user name and fragment.
        url: String,
        /// Headers of every request; they hold secrets, or say where one is (`env:NAME`).
        headers: Vec<(String, String)>,
        /// The protocol spoken there.
        kind: HttpKind,
        /// Whether it may be asked in the clear although it is not this machine.
        allow_http: bool,
        /// Networks besides the public one that it may lead to, such as that of its sign-in.
        allow_networks: Vec<IpNet>,
    },
}

/// Which of the two HTTP transports of MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpKind {
    /// Whichever is answered.
    Auto,
    /// Streamable HTTP.
    Streamable,
    /// HTTP with server-sent events, of revision 2024-11-05.
    Sse,
}

/// Names without the values: environment and headers hold secrets.
impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn names(pairs: &[(String, String)]) -> Vec<&str> {
            pairs.iter().map(|(name, _)| name.as_str()).collect()
        }
        match self {
            Self::Stdio {
                command,
                args,
                env,
                cwd,
            } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", &args.len())
                .field("env", &names(env))
                .field("cwd", cwd)
                .finish(),
            Self::Http { headers, kind, .. } => f
                .debug_struct("Http")
                .field("headers", &names(headers))
                .field("kind", kind)
                .finish_non_exhaustive(),
        }
    }
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The file.
    pub file: PathBuf,
    /// Line of the key, from 1.
    pub line: u32,
    /// Whose word it is.
    pub scope: Scope,
}

/// Whose word a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The user's, for everything.
    User,
    /// The user's, for one project directory.
    Project(PathBuf),
    /// The repository's, so possibly a stranger's.
    Repository,
    /// Named on the command line.
    Given,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)?;
        match &self.scope {
            Scope::Project(directory) => write!(f, " (project {})", directory.display()),
            Scope::Repository => f.write_str(" (repository)"),
            Scope::User | Scope::Given => Ok(()),
        }
    }
}
