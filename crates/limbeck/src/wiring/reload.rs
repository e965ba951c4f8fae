//! A running gateway takes up its configuration when a file of it changes.
//!
//! Policy and servers are taken up; limits, sandbox, `observe` of all servers and the endpoint of the search are those of
//! the start. A file that cannot be read loosens nothing and ends no server of the user: what it said last counts until
//! it is corrected.

use std::collections::{BTreeSet, HashSet};
use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

use limbeck_domain::ServerName;
use limbeck_gateway::{PolicyReading, ServerChange};
use limbeck_server::followed_files::{FileStamp, settled_change, stamp};
use limbeck_setup::{
    ConfigError, Configuration, Diagnostic, PolicySettings, ServerEntry, Severity, TrustPolicy,
};

use super::configuration::{discovery, notices, read_configuration_aside};
use super::servers::servers_in_use;
use super::state::trust_file;
use super::{GatewaySession, PRESET_DEFAULT};
use crate::exit::CommandError;
use crate::format::counted;
use crate::invocation::Invocation;

/// Interval of looks at the files. A change is taken up after two or three looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The files that a configuration comes from, as they were before it was read.
pub(crate) struct ConfigurationFiles {
    files: Vec<PathBuf>,
    seen: Vec<Option<FileStamp>>,
    /// Whether a named file can be read once only, such as a pipe.
    is_readable_once: bool,
}

/// What a gateway uses of a configuration.
struct InUse {
    servers: Vec<ServerEntry>,
    policy: PolicySettings,
    /// Sentences for clients.
    notices: Vec<String>,
    /// Errors that were printed.
    errors: Vec<String>,
}

impl ConfigurationFiles {
    /// The files of this start. To be called before the configuration is read, so that no later change is missed.
    pub(crate) fn of(invocation: &Invocation) -> Self {
        let (world, global) = (&invocation.world, &invocation.global);
        let mut files = limbeck_setup::files(&discovery(world, global, TrustPolicy::Everything));
        files.extend(trust_file(invocation).map(|file| file.path().to_owned()));
        let mut named = global.config.iter();
        Self {
            seen: stamps(&files),
            is_readable_once: named
                .any(|file| stamp(&world.on_disk(&world.cwd.join(file))).is_none()),
            files,
        }
    }

    /// Takes up each change of the files. Never returns.
    pub(crate) async fn follow(
        self,
        invocation: &Invocation,
        session: &GatewaySession,
    ) -> Infallible {
        let Self {
            files,
            mut seen,
            is_readable_once,
        } = self;
        if is_readable_once {
            return std::future::pending().await;
        }
        let mut in_use = InUse {
            servers: session.configuration.servers.clone(),
            policy: session.configuration.settings.policy.clone(),
            notices: session.notices.clone(),
            errors: errors_of(&session.configuration),
        };
        loop {
            seen = settled_change(&seen, LOOK_EVERY, || stamps(&files)).await;
            match read_configuration_aside(invocation).await {
                Ok(configuration) => {
                    in_use = in_use.take_up(invocation, session, configuration).await;
                }
                Err(failure) => in_use.keep(invocation, session, &failure).await,
            }
        }
    }
}

fn stamps(files: &[PathBuf]) -> Vec<Option<FileStamp>> {
    files.iter().map(|file| stamp(file)).collect()
}

impl InUse {
    /// Puts what was read in the place of what is in use.
    async fn take_up(
        self,
        invocation: &Invocation,
        session: &GatewaySession,
        configuration: Configuration,
    ) -> Self {
        let printer = &invocation.printer;
        let errors = errors_of(&configuration);
        if errors != self.errors {
            for error in &errors {
                printer.error(error);
            }
        }
        let mut news: Vec<String> = Vec::new();
        let policy = configuration.settings.policy.clone();
        let reading = reading_of(&configuration);
        // The policy first: a server that comes is under the rules that came with it.
        let replaced = session
            .gateway
            .replace_policy(policy.policy(PRESET_DEFAULT), reading);
        replaced.await;
        if text_of(&policy) != text_of(&self.policy) {
            news.push("the policy changed".to_owned());
        }
        let changes = ServerChanges::between(&self.servers, &configuration);
        if !changes.is_empty() {
            news.push(changes.text());
        }
        let notices = notices(&invocation.world, &configuration);
        if !changes.is_empty() || notices != self.notices {
            let added = servers_in_use(
                invocation,
                changes.added.iter().copied(),
                &configuration.settings,
                session.lifetime,
            );
            let change = ServerChange {
                removed: changes.removed.clone(),
                added,
                notices: notices.clone(),
            };
            session.gateway.change_servers(change).await;
        }
        if !news.is_empty() {
            let news = news.join("; ");
            printer.note(&format!("the configuration was read again: {news}"));
        }
        let kept = changes.kept;
        Self {
            servers: configuration.servers.into_iter().chain(kept).collect(),
            policy,
            notices,
            errors,
        }
    }

    /// Goes on with what is in use, because a file that was named cannot be used: it may deny any call now.
    async fn keep(
        &mut self,
        invocation: &Invocation,
        session: &GatewaySession,
        failure: &CommandError,
    ) {
        let error = format!("{:#}", failure.error);
        if self.errors != [error.as_str()] {
            invocation.printer.command_error(failure);
            let note = "until then the servers stay as they are, and only tools are called that are known to read";
            invocation.printer.note(note);
        }
        let cause = failure.error.downcast_ref::<ConfigError>();
        let problem = cause.map_or_else(|| error.clone(), ConfigError::without_directory);
        let faulty = PolicySettings {
            fault: Some(problem),
            ..self.policy.clone()
        };
        session
            .gateway
            .replace_policy(faulty.policy(PRESET_DEFAULT), PolicyReading::InPart)
            .await;
        self.errors = vec![error];
    }
}

/// Differences between the servers that are in use and those of a configuration.
#[derive(Default)]
struct ServerChanges<'c> {
    /// New and changed entries.
    added: Vec<&'c ServerEntry>,
    changed: usize,
    removed: Vec<ServerName>,
    /// Entries of the user whose file could not be read: they stay in use.
    kept: Vec<ServerEntry>,
}

impl<'c> ServerChanges<'c> {
    fn between(before: &[ServerEntry], configuration: &'c Configuration) -> Self {
        let unread: BTreeSet<&PathBuf> = configuration
            .diagnostics
            .iter()
            .filter(|note| is_about_all_servers(note))
            .map(|note| &note.file)
            .collect();
        let mut changes = Self::default();
        for entry in &configuration.servers {
            match before.iter().find(|other| other.name == entry.name) {
                Some(other) if entry.is_same_server(other) => {}
                other => {
                    changes.changed += usize::from(other.is_some());
                    changes.added.push(entry);
                }
            }
        }
        for entry in before {
            if configuration
                .servers
                .iter()
                .any(|other| other.name == entry.name)
            {
                continue;
            }
            // What a repository's file no longer says is not started in its name.
            if unread.contains(&entry.origin.file) && !entry.is_of_repository() {
                changes.kept.push(entry.clone());
            } else {
                changes.removed.push(entry.name.clone());
            }
        }
        changes
    }

    fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }

    /// Their numbers: a name may be a text of a repository.
    fn text(&self) -> String {
        let new = self.added.len() - self.changed;
        let parts = [
            (new, "added"),
            (self.changed, "changed"),
            (self.removed.len(), "removed"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts = parts.map(|(count, how)| format!("{} {how}", counted(*count, "server")));
        parts.collect::<Vec<_>>().join(", ")
    }
}

/// Whether nothing of the file, or none of its servers, could be read.
fn is_about_all_servers(note: &Diagnostic) -> bool {
    note.severity == Severity::Error
        && (note.is_of_whole_file || key_of(note).is_some_and(|key| !key.contains('.')))
}

/// The key that a finding begins with.
fn key_of(note: &Diagnostic) -> Option<&str> {
    let (key, _) = note.message.strip_prefix('`')?.split_once('`')?;
    Some(key)
}

/// Whether all that the files say about calls is known. A JSON file says nothing about them.
fn reading_of(configuration: &Configuration) -> PolicyReading {
    let is_about_policy = |note: &Diagnostic| {
        let is_toml = note.file.extension().is_some_and(|suffix| suffix == "toml");
        let is_key = key_of(note).is_some_and(|key| key.starts_with("policy"));
        note.severity == Severity::Error && is_toml && (note.is_of_whole_file || is_key)
    };
    let is_in_part = configuration.settings.policy.fault.is_some()
        || configuration.diagnostics.iter().any(is_about_policy);
    match is_in_part {
        true => PolicyReading::InPart,
        false => PolicyReading::Whole,
    }
}

fn errors_of(configuration: &Configuration) -> Vec<String> {
    let errors = configuration.diagnostics.iter();
    let errors = errors.filter(|note| note.severity == Severity::Error);
    errors.map(ToString::to_string).collect()
}

/// Text that differs where two policies do.
fn text_of(policy: &PolicySettings) -> String {
    // A set has its members in any order.
    let trusted: BTreeSet<&ServerName> = policy.trusted_servers.iter().collect();
    let others = PolicySettings {
        trusted_servers: HashSet::new(),
        ..policy.clone()
    };
    format!("{others:?}{trusted:?}")
}
