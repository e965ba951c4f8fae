//! A running gateway takes up its configuration when a file of it changes.
//!
//! Policy and servers are taken up; limits, sandbox, `observe` of all servers and the endpoint of the search are those of
//! the start. A file that cannot be read loosens nothing and ends no server of the user: what it said last counts until
//! it is corrected.

mod server_changes;

use std::collections::{BTreeSet, HashSet};
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use limbeck_domain::ServerName;
use limbeck_gateway::audit::{AuditEvent, AuditEventKind};
use limbeck_gateway::{LOCAL_PRINCIPAL, PolicyReading, ServerChange};
use limbeck_policy::rules::Layer;
use limbeck_server::followed_files::{FileStamp, settled_change, stamp};
use limbeck_setup::{
    ConfigError, Configuration, Diagnostic, PolicySettings, ServerEntry, Severity, TrustPolicy,
};

use super::GatewaySession;
use super::configuration::{discovery, notices, read_configuration_aside};
use super::pin_lock::{pin_lock, pin_lock_file};
use super::servers::servers_in_use;
use super::state::trust_file;
use crate::exit::CommandError;
use crate::invocation::Invocation;
use server_changes::ServerChanges;

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
    reading: PolicyReading,
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
        files.extend(pin_lock_file(invocation));
        let mut named = global.config.iter();
        Self {
            seen: stamps(&files),
            is_readable_once: named
                .any(|file| stamp(&world.on_disk(&world.cwd.join(file))).is_none()),
            files,
        }
    }

    /// Whether a named file can be read once only, such as a pipe.
    pub(crate) fn is_readable_once(&self) -> bool {
        self.is_readable_once
    }

    /// Waits until a file has changed and is no longer being written.
    pub(crate) async fn changed(&mut self) {
        let files = &self.files;
        self.seen = settled_change(&self.seen, LOOK_EVERY, || stamps(files)).await;
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
            reading: reading_of(&session.configuration.settings.policy),
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
        let mut policy = policy_of(&configuration, &self.policy, &invocation.world.cwd);
        let reading = reading_of(&policy);
        let changes = ServerChanges::between(&self.servers, &configuration);
        let kept = changes.kept.iter().map(|entry| entry.name.clone());
        policy.servers.extend(kept);
        let is_other = text_of(&policy) != text_of(&self.policy) || reading != self.reading;
        // Which tools a pattern means depends on the servers that there are.
        if is_other || policy.servers != self.policy.servers {
            // Before the servers: one that comes is under the rules that came with it.
            let replaced = session
                .gateway
                .replace_policy(session.way_in.policy(&policy), reading);
            replaced.await;
        }
        if is_other {
            news.push("the policy changed".to_owned());
        }
        let lock = pin_lock(invocation);
        if lock != *session.gateway.pin_lock() {
            session.gateway.replace_pin_lock(lock);
            news.push("mcp.lock changed".to_owned());
        }
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
            session.gateway.record(AuditEvent {
                status: Some(news.clone()),
                ..AuditEvent::new(AuditEventKind::Reload, LOCAL_PRINCIPAL)
            });
            printer.note(&format!("the configuration was read again: {news}"));
        }
        let kept = changes.kept;
        Self {
            servers: configuration.servers.into_iter().chain(kept).collect(),
            policy,
            reading,
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
            .replace_policy(session.way_in.policy(&faulty), PolicyReading::InPart)
            .await;
        self.reading = PolicyReading::InPart;
        self.errors = vec![error];
    }
}

/// The policy of a configuration; `before` is the one that was in force, `cwd` the directory of the repository.
///
/// Rules that a repository's file had before stay while it cannot be read: its author could take them back by a mistake,
/// and no mistake of a stranger stops calls of the user. A file of the user that cannot be read at all is a fault where the
/// user had rules, also when nothing in it looks like one any more.
fn policy_of(configuration: &Configuration, before: &PolicySettings, cwd: &Path) -> PolicySettings {
    let mut policy = configuration.settings.policy.clone();
    let unread = configuration.diagnostics.iter().filter(|note| {
        let is_toml = note.file.extension().is_some_and(|suffix| suffix == "toml");
        let is_section = |key: &str| key.starts_with("policy") || key.starts_with("budget");
        let is_key = key_of(note).is_some_and(is_section);
        note.severity == Severity::Error && is_toml && (note.is_of_whole_file || is_key)
    });
    let (of_repository, of_user): (Vec<_>, Vec<_>) =
        unread.partition(|note| note.file.parent() == Some(cwd));
    if !of_repository.is_empty() {
        keep_rules_of_project(&mut policy, before);
    }
    if let (Some(note), None, true) = (of_user.first(), &policy.fault, has_own_rules(before)) {
        let file = note.file.file_name().map(PathBuf::from);
        let note = Diagnostic {
            file: file.unwrap_or_default(),
            ..Diagnostic::clone(note)
        };
        policy.fault = Some(note.to_string());
    }
    policy
}

fn keep_rules_of_project(policy: &mut PolicySettings, before: &PolicySettings) {
    for rule in &before.rules {
        let is_taken = policy.rules.iter().any(|other| other.id == rule.id);
        if rule.layer == Layer::Project && !is_taken {
            policy.rules.push(rule.clone());
        }
    }
    for budget in &before.budgets {
        let is_taken = policy.budgets.iter().any(|other| other.id == budget.id);
        if budget.layer == Layer::Project && !is_taken {
            policy.budgets.push(budget.clone());
        }
    }
    let presets = before.presets.iter();
    let of_project = presets.filter(|(layer, _)| *layer == Layer::Project);
    policy.presets.extend(of_project.copied());
}

/// Whether a file of the user says something about calls.
fn has_own_rules(policy: &PolicySettings) -> bool {
    let is_own = |layer: Layer| layer != Layer::Project;
    policy.fault.is_some()
        || policy.is_operators
        || policy.rules.iter().any(|rule| is_own(rule.layer))
        || policy.presets.iter().any(|(layer, _)| is_own(*layer))
        || !policy.classes.is_empty()
        || !policy.in_doubt.is_empty()
        || policy.budgets.iter().any(|budget| is_own(budget.layer))
}

/// Whether all that the user's files say about calls is known.
fn reading_of(policy: &PolicySettings) -> PolicyReading {
    match policy.fault {
        Some(_) => PolicyReading::InPart,
        None => PolicyReading::Whole,
    }
}

/// The key that a finding begins with.
fn key_of(note: &Diagnostic) -> Option<&str> {
    let (key, _) = note.message.strip_prefix('`')?.split_once('`')?;
    Some(key)
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
        // Not what the files say.
        servers: HashSet::new(),
        ..policy.clone()
    };
    format!("{others:?}{trusted:?}")
}

#[cfg(test)]
mod tests {
    use limbeck_policy::Scope;
    use limbeck_policy::rules::{Effect, Preset, Rule};

    use super::*;

    fn rule(id: &str, layer: Layer) -> Rule {
        Rule {
            id: id.to_owned(),
            effect: Effect::Deny,
            tools: Scope::parse(["shop.*"]).unwrap(),
            except: None,
            classes: None,
            arguments: Vec::new(),
            who: None,
            reason: None,
            ask: None,
            layer,
            is_default: false,
            origin: "limbeck.toml:1".to_owned(),
        }
    }

    fn ids(policy: &PolicySettings) -> Vec<&str> {
        policy.rules.iter().map(|rule| &*rule.id).collect()
    }

    #[test]
    fn rules_of_a_repository_stay_while_its_file_cannot_be_read() {
        let before = PolicySettings {
            rules: vec![rule("own", Layer::User), rule("theirs", Layer::Project)],
            presets: vec![
                (Layer::User, Preset::Strict),
                (Layer::Project, Preset::Readonly),
            ],
            ..PolicySettings::default()
        };
        let mut read = Configuration::default();
        read.settings.policy.rules = vec![rule("new", Layer::User)];
        // The control: the file was read and has no rules any more.
        assert_eq!(ids(&policy_of(&read, &before, Path::new("/work"))), ["new"]);
        read.diagnostics.push(Diagnostic {
            severity: Severity::Error,
            file: "/work/limbeck.toml".into(),
            at: Some((3, 1)),
            is_of_whole_file: false,
            message: "`policy.rule[0].efect`: unknown key".to_owned(),
        });
        let kept = policy_of(&read, &before, Path::new("/work"));
        assert_eq!(ids(&kept), ["new", "theirs"]);
        assert_eq!(kept.presets, [(Layer::Project, Preset::Readonly)]);
        assert_eq!(reading_of(&kept), PolicyReading::Whole);
        // Of a rule with its name there is one.
        read.settings.policy.rules.push(rule("theirs", Layer::User));
        assert_eq!(
            ids(&policy_of(&read, &before, Path::new("/work"))),
            ["new", "theirs"]
        );
    }

    #[test]
    fn a_file_of_the_user_that_cannot_be_read_is_a_fault_where_it_had_rules() {
        let mut read = Configuration::default();
        read.diagnostics.push(Diagnostic {
            severity: Severity::Error,
            file: "/home/anna/.config/limbeck/config.toml".into(),
            at: Some((1, 5)),
            is_of_whole_file: true,
            message: "expected `]`".to_owned(),
        });
        let fault = |before: &PolicySettings| policy_of(&read, before, Path::new("/work")).fault;
        let own = PolicySettings {
            rules: vec![rule("own", Layer::User)],
            ..PolicySettings::default()
        };
        let problem = "config.toml:1:5: expected `]`".to_owned();
        assert_eq!(fault(&own), Some(problem));
        // The control: there was no rule of the user that it could have had.
        let of_project = PolicySettings {
            rules: vec![rule("theirs", Layer::Project)],
            ..PolicySettings::default()
        };
        assert_eq!(fault(&of_project), None);
    }
}
