//! Reads MCP configuration: files of other programs and Limbeck's own.
//!
//! Everything about the machine comes from a [`World`] that the caller builds, so that equal worlds give
//! equal [`Configuration`]s.
//!
//! Files, weakest first; a later entry replaces an earlier one of the same name as a whole:
//!
//! 0. files of earlier gateways: `MCP_SERVERS_CONFIG`, `~/MCPs/*.json`, `~/.config/claude-code/mcp.json`,
//!    `~/.claude/.mcp.json`
//! 1. `~/.claude.json`: the servers for every project, then those of the nearest project around `cwd`
//! 2. `./.mcp.json`, then the files that S0's `mcpConfigPath` and `MCP_CONFIG_PATH` name
//! 3. `~/.config/limbeck/imported.toml` with the servers that setup moved, then `config.toml` beside it (or both under
//!    `XDG_CONFIG_HOME`), then `./limbeck.toml`
//! 4. files named with `--config`, in order: JSON with `mcpServers`, `servers` or `context_servers`, Codex's
//!    TOML with `[mcp_servers.NAME]`, or Limbeck's TOML
//!
//! A named file has to be right, or [`load`] fails. A discovered file is judged entry by entry: an unusable
//! entry is kept with its error, reported, and does not affect other entries. A discovered file that another
//! user could have written is ignored.
//!
//! A server that a repository's file adds waits until the user has accepted its definition ([`TrustFile`]),
//! and until then replaces no other server.
//!
//! `sandbox.minimum_tier` protects the reader of a repository from it, so the repository's own file can only
//! raise it, and a `[sandbox]` section that cannot be read counts as the strictest.
//!
//! `[notify]` decides who is notified that a question waits, `[search.embeddings]` where descriptions and queries are sent, and `[llm]`
//! where programs' questions are sent and at what cost, so a repository's file cannot set them.
//!
//! An entry that starts Limbeck itself is skipped: the gateway would start itself without end.
//!
//! Start reading at [`load`], then `load.rs` for the order, `entry_reader.rs` for one entry, and `trust.rs`
//! for the entries of a repository.

#![forbid(unsafe_code)]

mod choosing_variables;
mod clients;
mod configuration;
mod definition_text;
mod diagnostic;
mod document;
mod earlier_users;
mod entry;
mod entry_reader;
mod error;
mod escaped_text;
mod file_content;
mod load;
mod oauth;
mod own_file;
mod package_runner;
#[cfg(unix)]
mod private_group;
mod self_reference;
mod server_environment;
mod server_names;
mod trust;
mod variables;
mod world;

pub use clients::{
    Adoption, ClientAction, ClientFinding, ClientPlan, Drift, DriftAction, DriftKind, FindingFix,
    FoundClients, ProbeOutcomes, ScheduleFile, ServerAction, ServerPlan, ServersBeside, SetupDone,
    SetupError, SetupPlan, SetupRequest, SetupSecrets, SetupState, SetupSteps, SyncDone, SyncPlan,
    SyncRequest, UndoneFile, UndoneState, schedule, schedule_commands,
};
pub use configuration::{
    AuditSettings, Configuration, Discovery, EmbeddingsEntry, EscalationEntry, LlmEntry,
    ManagedFile, NotifySettings, PolicySettings, ProviderEntry, RedactionRule, RetentionSettings,
    Setting, Settings, WebhookEntry,
};
pub use definition_text::DefinitionText;
pub use diagnostic::{Diagnostic, Severity, ValueError};
pub use entry::{EntryScope, HttpKind, Origin, ServerEntry, Transport, TrustState};
pub use error::ConfigError;
pub use escaped_text::shown_path;
pub use load::earlier_systems::{EarlierFiles, earlier_files};
pub use load::{files, load};
pub use oauth::{GrantEntry, OAuthEntry};
pub use own_file::{
    AllowedCalls, Existing, FoundServers, ImportFailure, ImportedEntry, NewServer, OwnFile,
    OwnFileError, WrittenServer,
};
pub use trust::{
    AcceptedBy, ProgramFingerprint, TrustError, TrustFile, TrustPolicy, TrustRecord, TrustRecords,
};
pub use world::{AskedVariables, Clock, OperatingSystem, World};
