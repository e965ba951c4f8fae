//! Requests, plans and errors of setup: what is asked, and what would be done.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use super::table::CLIENTS;

/// What setup is asked to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetupRequest {
    /// Ids of the clients; empty for every client that has servers.
    pub clients: Vec<String>,
    /// Where secrets go.
    pub secrets: SetupSecrets,
    /// Which steps are done.
    pub steps: SetupSteps,
}

/// Where the secrets of moved servers go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetupSecrets {
    /// Into files that only the user can read.
    #[default]
    File,
    /// Into Limbeck's own file, which only the user can read, as they are.
    Keep,
}

/// Steps of setup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetupSteps {
    /// Servers move, and clients get the entry.
    #[default]
    All,
    /// Servers are copied, and no client's file changes.
    ImportOnly,
    /// Clients get the entry, and no server moves.
    InstallOnly,
}

/// Outcome of the start of each server, by its name: what kept it from working, or nothing.
pub type ProbeOutcomes = BTreeMap<String, Result<(), String>>;

/// What setup would do.
#[derive(Clone, Debug, Default)]
pub struct SetupPlan {
    /// Files of clients.
    pub clients: Vec<ClientPlan>,
    /// Servers.
    pub servers: Vec<ServerPlan>,
    /// Number of secrets that get files of their own.
    pub secrets: usize,
    /// Servers of Limbeck's own file that entries of clients rely on from now on, because they are the same.
    pub(super) relies_on: Vec<String>,
    /// Files to write, in this order.
    pub(super) files: Vec<PlannedFile>,
}

/// What happens to one file of a client.
#[derive(Clone, Debug)]
pub struct ClientPlan {
    /// Id of the client.
    pub id: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The file.
    pub path: PathBuf,
    /// Target of the link that the file is.
    pub link: Option<PathBuf>,
    /// What happens.
    pub action: ClientAction,
    /// Names of the entries that leave the file.
    pub removed: Vec<String>,
    /// Names of the entries that stay in it.
    pub(super) left: Vec<String>,
    /// Text of the entry that comes into it.
    pub added: Option<String>,
    /// Why, where it is not plain.
    pub reason: Option<String>,
}

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAction {
    /// It is changed.
    Write,
    /// It is as it should be.
    Unchanged,
    /// It has no servers.
    Skip,
    /// It cannot be read or changed by a program.
    Refuse,
    /// It is read-only: the user has to change it.
    Print,
}

impl ClientAction {
    /// Word of JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Unchanged => "unchanged",
            Self::Skip => "skip",
            Self::Refuse => "refuse",
            Self::Print => "print",
        }
    }
}

/// What happens to one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerPlan {
    /// Its name in Limbeck.
    pub name: String,
    /// Ids of the clients that have it.
    pub from: Vec<&'static str>,
    /// What happens.
    pub action: ServerAction,
    /// Why, where it is not plain.
    pub reason: Option<String>,
}

/// What happens to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerAction {
    /// It moves into Limbeck's own file.
    Move,
    /// It stays in the repository's file, from which Limbeck reads it.
    Reference,
    /// Limbeck has it already, so its entry only leaves the client.
    Merge,
    /// It stays where it is.
    Keep,
    /// It is Limbeck.
    Ignore,
}

impl ServerAction {
    /// Word of JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Move => "move",
            Self::Reference => "reference",
            Self::Merge => "merge",
            Self::Keep => "keep",
            Self::Ignore => "ignore",
        }
    }
}

/// A client that starts Limbeck and other servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServersBeside {
    /// Id of the client.
    pub id: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The file.
    pub path: PathBuf,
    /// Names of the servers.
    pub servers: Vec<String>,
}

/// A file with its old and new text.
#[derive(Clone)]
pub(super) struct PlannedFile {
    pub(super) path: PathBuf,
    pub(super) kind: FileKind,
    /// Whether a byte order mark is before both texts.
    pub(super) has_mark: bool,
    /// `None` when there is no file.
    pub(super) before: Option<String>,
    pub(super) after: String,
    pub(super) change: FileChange,
}

/// Omits the texts, which have secrets.
impl std::fmt::Debug for PlannedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlannedFile")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    /// It holds one secret.
    Secret,
    /// Limbeck's own file of moved servers.
    Own,
    /// The file of this client.
    Client(&'static str),
}

/// Entries that leave and enter a file.
#[derive(Clone, Debug, Default)]
pub(super) struct FileChange {
    pub(super) removed: Vec<String>,
    pub(super) added: Vec<(String, String)>,
}

impl SetupPlan {
    /// Whether nothing would be written.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Adds the reason of each server that did not start.
    pub fn explain(&mut self, outcomes: &ProbeOutcomes) {
        for server in &mut self.servers {
            if server.action == ServerAction::Keep
                && server.reason.is_none()
                && let Some(Err(problem)) = outcomes.get(&server.name)
            {
                server.reason = Some(format!("does not start: {problem}"));
            }
        }
    }

    /// Files that would be written, in order.
    pub fn paths(&self) -> impl Iterator<Item = &std::path::Path> {
        self.files.iter().map(|file| file.path.as_path())
    }
}

/// Error of setup or its undo.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// There is no home directory.
    #[error("there is no home directory for the configuration")]
    NoHome,
    /// No client has this id.
    #[error("no client is called `{id}`")]
    UnknownClient {
        /// The id.
        id: String,
    },
    /// There is no path under which clients could start Limbeck.
    #[error("no client could start Limbeck: {problem}")]
    Program {
        /// Why, and what to do.
        problem: String,
    },
    /// A file of Limbeck's own cannot be used.
    #[error("{} {problem}", .file.display())]
    OwnFile {
        /// The file.
        file: PathBuf,
        /// A fragment that follows its name.
        problem: String,
    },
    /// The records of setups cannot be read or written.
    #[error("the records of setup in {} cannot be used", .directory.display())]
    Records {
        /// Their directory.
        directory: PathBuf,
        /// Error of the system.
        #[source]
        error: io::Error,
    },
    /// No setup has this id, or no setup is left to undo.
    #[error("there is no setup to undo{}", .id.as_ref().map(|id| format!(" with the id `{id}`")).unwrap_or_default())]
    NothingToUndo {
        /// The id that was given.
        id: Option<String>,
        /// Ids of those that can be taken back, the last one first.
        known: Vec<String>,
    },
    /// Later setups rely on the servers of this one, or changed the same files.
    #[error("setup {id} cannot be taken back before {}, which changed the same files or rely on its servers", .later.join(" and "))]
    LaterSetups {
        /// The setup that was to be taken back.
        id: String,
        /// Ids of the later ones, the last one first.
        later: Vec<String>,
    },
    /// Another setup ran between the plan and its start.
    #[error("another setup or program wrote {} while this setup was planned, so nothing is written", .file.display())]
    Overtaken {
        /// A file of Limbeck's own.
        file: PathBuf,
    },
    /// What a setup that was killed had changed cannot be taken back.
    #[error("setup {id} was ended before it was done, and {} cannot be taken back: {reason}", .file.display())]
    Unrecovered {
        /// The setup that was killed.
        id: String,
        /// A file in conflict.
        file: PathBuf,
        /// Why.
        reason: String,
    },
}

impl SetupError {
    /// Next step for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoHome => Some("set HOME or XDG_CONFIG_HOME".to_owned()),
            Self::UnknownClient { .. } => {
                let ids: Vec<&str> = CLIENTS.iter().map(|client| client.id).collect();
                Some(format!("known clients: {}", ids.join(", ")))
            }
            Self::OwnFile { .. } => Some("correct it, then run setup again".to_owned()),
            Self::Records { .. } => {
                Some("choose a state directory that you can write to: `--state-dir DIR`".to_owned())
            }
            Self::LaterSetups { id, later } => {
                let ids = later.iter().chain([id]);
                let commands: Vec<String> = ids
                    .map(|id| format!("`limbeck setup --undo {id}`"))
                    .collect();
                Some(format!(
                    "take them back in this order: {}",
                    commands.join(", ")
                ))
            }
            Self::Overtaken { .. } => Some("run setup again".to_owned()),
            Self::Unrecovered { id, .. } => Some(format!(
                "correct the file, then run `limbeck setup --undo {id}`"
            )),
            Self::NothingToUndo { known, .. } if !known.is_empty() => Some(format!(
                "setups that can be taken back: {}",
                known.join(", ")
            )),
            Self::Program { .. } | Self::NothingToUndo { .. } => None,
        }
    }
}
