//! Configured servers: transport, trust and settings of an entry.

use std::fmt;
use std::path::PathBuf;

use ipnet::IpNet;
use limbeck_domain::{Expose, ServerName, ToolRules};

use crate::definition_text::DefinitionText;
use crate::diagnostic::ValueError;
use crate::escaped_text::shown_path;
use crate::oauth::OAuthEntry;

/// One server of the configuration.
#[derive(Clone, Debug)]
pub struct ServerEntry {
    /// Key of the entry, verbatim.
    pub name: ServerName,
    /// File and line of the entry.
    pub origin: Origin,
    /// How to reach the server, or why the entry cannot be used; it is listed nevertheless.
    pub definition: Result<Transport, ValueError>,
    /// Whether it may be started.
    pub trust: TrustState,
    /// Text of the entry, when it is from a repository's file.
    pub definition_text: Option<DefinitionText>,
    /// Disabled: listed, never started.
    pub disabled: bool,
    /// Description from the entry, cut and cleaned.
    pub description: Option<String>,
    /// Timeout of a call, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Timeout of a start, in milliseconds.
    pub start_timeout_ms: Option<u64>,
    /// Time without a call after which the server is stopped, in milliseconds; 0 means never.
    pub idle_timeout_ms: Option<u64>,
    /// Maximum of concurrent calls.
    pub concurrency: Option<usize>,
    /// Sign-in settings, for an HTTP server.
    pub oauth: OAuthEntry,
    /// Whether programs, clients or both see its tools.
    pub expose: Expose,
    /// Whether output types are learnt from results of its tools.
    pub observe: bool,
    /// Which of its tools exist for programs and clients.
    pub tool_rules: ToolRules,
    /// Working directory of a child process whose entry names none, absolute. It is the user's unless the entry is of
    /// a repository or for one project: a program in the directory of a repository may run the repository's code.
    pub start_directory: PathBuf,
}

impl ServerEntry {
    /// Whether it is a repository's and not accepted, so that it must not be started.
    pub fn is_held_back(&self) -> bool {
        match self.trust {
            TrustState::Waiting | TrustState::Changed => true,
            TrustState::Own | TrustState::Accepted | TrustState::AcceptedByClient => false,
        }
    }

    /// Whether a file of the repository has it.
    pub fn is_of_repository(&self) -> bool {
        self.origin.scope == EntryScope::Repository
    }

    /// Whether the entry is of the same server as `other` in every respect but its place in a file: then a gateway that
    /// uses one goes on without a change.
    pub fn is_same_server(&self, other: &Self) -> bool {
        let Self {
            name,
            origin: Origin { file, scope, .. },
            definition,
            trust,
            definition_text: _,
            disabled,
            description: _,
            timeout_ms,
            start_timeout_ms,
            idle_timeout_ms,
            concurrency,
            oauth,
            expose,
            observe,
            tool_rules,
            start_directory,
        } = self;
        *name == other.name
            && *file == other.origin.file
            && *scope == other.origin.scope
            && *definition == other.definition
            && *trust == other.trust
            && *disabled == other.disabled
            && *timeout_ms == other.timeout_ms
            && *start_timeout_ms == other.start_timeout_ms
            && *idle_timeout_ms == other.idle_timeout_ms
            && *concurrency == other.concurrency
            && *oauth == other.oauth
            && *expose == other.expose
            && *observe == other.observe
            && *tool_rules == other.tool_rules
            && *start_directory == other.start_directory
    }

    /// Whether replacing `other` by this entry would change what is started, reached, signed in to or listed.
    pub(crate) fn differs_from(&self, other: &Self) -> bool {
        self.definition != other.definition
            || self.oauth != other.oauth
            || self.tool_rules != other.tool_rules
    }
}

/// Trust of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustState {
    /// It is from a file of the user, or one that the user named.
    Own,
    /// From a repository; the user accepted exactly this definition.
    Accepted,
    /// From a repository; the user approved its name in the client, and it has no record yet. It counts once it is
    /// recorded.
    AcceptedByClient,
    /// From a repository; not accepted yet.
    Waiting,
    /// From a repository; the accepted definition was another one.
    Changed,
}

/// How a server is reached, with every reference replaced.
#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    /// A child process, over its standard input and output.
    Stdio {
        /// Program: a path, or a name to look up in the `PATH` of `env`. It is not run by a shell.
        command: PathBuf,
        /// Arguments, verbatim.
        args: Vec<String>,
        /// The whole environment of the child process.
        env: Vec<(String, String)>,
        /// Working directory in the entry, absolute; `None` means [`ServerEntry::start_directory`].
        cwd: Option<PathBuf>,
    },
    /// An HTTP server.
    Http {
        /// Its `http` or `https` address, without user name and fragment.
        url: String,
        /// Headers of every request; their values may be secrets or references to secrets (`env:NAME`).
        headers: Vec<(String, String)>,
        /// HTTP transport of MCP.
        kind: HttpKind,
        /// Whether it may be reached without encryption although it is not on this machine.
        allow_http: bool,
        /// Private networks that addresses learnt from the server may be in, such as that of its sign-in.
        allow_networks: Vec<IpNet>,
    },
}

/// HTTP transport of MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpKind {
    /// The one that the server answers.
    Auto,
    /// Streamable HTTP.
    Streamable,
    /// HTTP with server-sent events, from revision 2024-11-05.
    Sse,
}

/// Omits the values of variables and headers, which may be secrets.
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

/// File and line of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The file.
    pub file: PathBuf,
    /// Line of the key, from 1.
    pub line: u32,
    /// Owner of the file.
    pub scope: EntryScope,
}

/// Owner of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryScope {
    /// The user, for every project.
    User,
    /// The user, for one project directory.
    Project(PathBuf),
    /// The repository, whose author may be a stranger.
    Repository,
    /// Named on the command line.
    Given,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", shown_path(&self.file), self.line)?;
        match &self.scope {
            EntryScope::Project(directory) => {
                write!(f, " (project {})", shown_path(directory))
            }
            EntryScope::Repository => f.write_str(" (repository)"),
            EntryScope::User | EntryScope::Given => Ok(()),
        }
    }
}
