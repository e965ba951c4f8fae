//! Reads the MCP configuration that is already there: other programs' and our own.
//!
//! Nothing here looks at the process's environment, home or terminal; [`Discovery`] brings all of it,
//! so the same files and values give the same [`Configuration`].
//!
//! Weakest first, a later entry replacing an earlier one of the same name as a whole:
//!
//! 1. `~/.claude.json`, the servers for everything, then those of the nearest project around `cwd`
//! 2. `./.mcp.json`
//! 3. `~/.config/limbeck/config.toml` (or under `XDG_CONFIG_HOME`), then `./limbeck.toml`
//! 4. files named with `--config`, in order: JSON with `mcpServers`, `servers` or `context_servers`,
//!    Codex's TOML with `[mcp_servers.NAME]`, or TOML of our own
//!
//! A file that was named must be right, or [`load`] fails. A file that was found is judged entry by
//! entry: what cannot be used is kept with its reason, noted, and keeps nothing else from working.
//! A found file that others could have written is not used.
//!
//! A server that a repository's file adds waits until the user has accepted its definition ([`TrustFile`]), and
//! takes no other's place before.
//!
//! `sandbox.minimum_tier` protects the reader of a repository from it, so the repository's own file
//! can only raise it, and a `[sandbox]` that cannot be read counts as the strictest.
//!
//! `[search.embeddings]` says where descriptions and queries are sent, so the repository's own file cannot set it.
//!
//! Our own entry is skipped: a gateway that starts itself would not stop.
//!
//! Start reading at [`load`], then `load.rs` for the order, `load/settings.rs` and `load/embeddings.rs` for what is
//! no server, `server.rs` for an entry, `trust.rs` for those of a repository.

#![forbid(unsafe_code)]

mod document;
mod entry;
mod environment;
mod error;
mod expand;
mod file;
mod load;
mod oauth;
mod own;
mod pinned;
mod server;
mod trust;
mod written;

use std::fmt;
use std::path::{Path, PathBuf};

use limbeck_domain::Tier;

pub use entry::{HttpKind, Origin, Scope, ServerEntry, Transport, Trust};
pub use error::{ConfigError, Fault, Level, Note};
pub use oauth::{GrantEntry, OAuthEntry};
pub use trust::{
    AcceptedBy, ProgramMark, TrustError, TrustFile, TrustRecord, TrustRecords, Trusting,
};
pub use written::Written;

/// Where to look and what references mean.
#[derive(Clone, Copy)]
pub struct Discovery<'a> {
    /// Files named with `--config`.
    pub config_files: &'a [PathBuf],
    /// Whether the other places are looked at too.
    pub discover: bool,
    /// The directory we were started in.
    pub cwd: &'a Path,
    /// The user's home directory.
    pub home: Option<&'a Path>,
    /// One environment variable.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// Our own program, to recognise entries that start it.
    pub self_exe: Option<&'a Path>,
    /// Which servers of a repository's files count.
    pub trusting: Trusting<'a>,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Configuration {
    /// Servers by the order in which their names first appeared; each name once.
    pub servers: Vec<ServerEntry>,
    /// Entries of a repository that wait for trust under the name of a server that is in use.
    pub held_back: Vec<ServerEntry>,
    /// What a person should know.
    pub notes: Vec<Note>,
    /// Files that were there and read, weakest first.
    pub sources: Vec<PathBuf>,
    /// What `limbeck.toml` says besides servers.
    pub settings: Settings,
}

/// What `limbeck.toml` can set besides servers.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `limits.wall_ms`: wall clock of an execution whose request names none, in milliseconds.
    pub wall_ms: Option<Setting<u64>>,
    /// `sandbox.minimum_tier`: a worker below it is given no program. Absent means
    /// [`Tier::MINIMUM_DEFAULT`].
    pub minimum_tier: Option<Setting<Tier>>,
    /// `observe = false`: results teach nothing, whatever entries say. Absent means they do. Any file can switch it
    /// off and none on again.
    pub observe: Option<Setting<bool>>,
    /// `[search.embeddings]`: who says what texts mean. Absent means the table in the binary. A repository's file
    /// has no say.
    pub embeddings: Option<Setting<EmbeddingsEntry>>,
}

/// An endpoint for embeddings, as OpenAI's interface has it.
#[derive(Clone, PartialEq, Eq)]
pub struct EmbeddingsEntry {
    /// Its `http` or `https` address, to which `/embeddings` is added; the path and the query may hold secrets.
    pub url: String,
    /// The model asked for.
    pub model: String,
    /// Where the key is (`env:NAME` and the like), never the key.
    pub key: Option<String>,
    /// Whether it may be asked in the clear although it is not this machine.
    pub allow_http: bool,
}

/// Without the url.
impl fmt::Debug for EmbeddingsEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddingsEntry")
            .field("model", &self.model)
            .field("allow_http", &self.allow_http)
            .finish_non_exhaustive()
    }
}

/// A value and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub origin: Origin,
}

/// Reads every file there is to read and merges what they say.
///
/// # Errors
///
/// [`ConfigError`] for a file of [`Discovery::config_files`] that is missing, cannot be read or has
/// something wrong in it. Files that were discovered cause notes, never errors.
pub fn load(discovery: &Discovery<'_>) -> Result<Configuration, ConfigError> {
    load::load(discovery)
}
