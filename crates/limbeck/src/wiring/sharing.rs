//! Which processes may share a gateway: those of one user for which it would do the same.
//!
//! The *identity* of a start is a hash of all that decides what its gateway does and that the gateway does not follow by itself:
//! the executable, the options, the settings of the start, the variables that the configuration asks for, and the namespaces
//! of the process. Servers and policy are not in it, because a gateway takes up changes of their files.
//!
//! The working directory counts only where it decides something: where the configuration is another one than it would be in an
//! empty directory. So clients in different repositories share a gateway as long as none of the repositories adds anything.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use limbeck_gateway::PinLock;
use limbeck_server::sharing::Meeting;
use limbeck_server::surface::CompatOptions;
use limbeck_setup::{
    AskedVariables, Configuration, ServerEntry, Settings, Transport, TrustPolicy, TrustRecords,
    World,
};
use sha2::{Digest, Sha256};

use super::configuration::discovery;
use super::pin_lock::read_pin_lock;
use super::reload::ConfigurationFiles;
use super::state::{state_file, trust_file};
use crate::cli::GlobalOptions;
use crate::environment::own_executable;
use crate::invocation::Invocation;

/// Directory of sockets, in the state directory.
const DIRECTORY: &str = "gateways";
/// Variables that servers inherit and that say nothing about them: they have no terminal.
const IGNORED: &[&str] = &["TERM"];
/// Variables that a desktop is notified with.
const OF_DESKTOP: &[&str] = &["DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY"];
/// Variables that differ between two terminals of one user, for secrets that a command prints.
const OF_TERMINAL: &[&str] = &[
    "COLUMNS", "LINES", "OLDPWD", "PWD", "SHLVL", "TERM", "WINDOWID", "_",
];
/// Variable that turns trust in everything on.
const TRUST_EVERYTHING: &str = "LIMBECK_TRUST_PROJECT";

/// Whether a start shares a gateway.
pub(crate) enum SharedPlace {
    /// With those that come to this place.
    Shared(Meeting),
    /// It does not, for this reason.
    Alone(String),
}

/// The place where the processes of this start's configuration meet. Reads the configuration and prints nothing of it.
pub(crate) fn meeting_of(invocation: &Invocation, compat: &CompatOptions) -> SharedPlace {
    let alone = |reason: &str| SharedPlace::Alone(reason.to_owned());
    let Some(state) = state_file(invocation) else {
        return alone("there is no state directory");
    };
    if ConfigurationFiles::of(invocation).is_readable_once() {
        return alone("a named file of the configuration can be read once only");
    }
    let Some(read) = ReadForIdentity::of(invocation) else {
        // The start reads it again and reports it.
        return alone("the configuration cannot be read");
    };
    if let Some(share) = &read.configuration.settings.share
        && !share.value
    {
        return SharedPlace::Alone(format!("{} says so", share.origin));
    }
    match identity(invocation, compat, &state, &read) {
        Some(identity) => {
            SharedPlace::Shared(Meeting::new(state.with_file_name(DIRECTORY), identity))
        }
        None => alone("the executable cannot be read"),
    }
}

/// The place where a gateway over HTTP answers questions about its health. No client is served there.
pub(crate) fn health_place(invocation: &Invocation, url: &str) -> Option<Meeting> {
    let state = state_file(invocation)?;
    let identity = hexadecimal(Sha256::digest(format!("health of {url}")));
    Some(Meeting::new(state.with_file_name(DIRECTORY), identity))
}

/// Sockets of the gateways that use the state directory of this start, of any configuration.
pub(crate) fn sockets(invocation: &Invocation) -> Vec<PathBuf> {
    let directory = state_file(invocation).map(|state| state.with_file_name(DIRECTORY));
    let entries = directory.and_then(|directory| std::fs::read_dir(directory).ok());
    let paths = entries.into_iter().flatten().flatten();
    let paths = paths.map(|entry| entry.path());
    let mut sockets: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|suffix| suffix == "sock"))
        .collect();
    sockets.sort();
    sockets
}

/// The configuration, and what it depends on.
struct ReadForIdentity {
    configuration: Configuration,
    /// Variables that it asked for.
    asked: BTreeSet<String>,
    /// Whether the working directory decides something.
    is_of_directory: bool,
}

impl ReadForIdentity {
    fn of(invocation: &Invocation) -> Option<Self> {
        let asked = AskedVariables::default();
        let world = World {
            asked: Some(asked.clone()),
            ..invocation.world.clone()
        };
        let global = GlobalOptions {
            config: absolute(&world.cwd, &invocation.global.config),
            ..invocation.global.clone()
        };
        let records = trust_file(invocation).and_then(|file| file.read().ok());
        let records = records.unwrap_or_default();
        let configuration = load(&world, &global, &records)?;
        let elsewhere = World {
            cwd: PathBuf::from("/"),
            ..invocation.world.clone()
        };
        let elsewhere = load(&elsewhere, &global, &records);
        let has_lock = !read_pin_lock(invocation).is_ok_and(|lock| lock == PinLock::default());
        Some(Self {
            is_of_directory: has_lock
                || elsewhere.is_none_or(|other| !is_same(&configuration, &other)),
            asked: asked.names(),
            configuration,
        })
    }
}

fn load(world: &World, global: &GlobalOptions, records: &TrustRecords) -> Option<Configuration> {
    limbeck_setup::load(&discovery(world, global, TrustPolicy::Recorded(records))).ok()
}

fn absolute(cwd: &Path, files: &[PathBuf]) -> Vec<PathBuf> {
    files.iter().map(|file| cwd.join(file)).collect()
}

/// Whether two configurations are the same but for findings.
fn is_same(one: &Configuration, other: &Configuration) -> bool {
    let same_servers = |one: &[ServerEntry], other: &[ServerEntry]| {
        one.len() == other.len()
            && one
                .iter()
                .zip(other)
                .all(|(one, other)| one.is_same_server(other))
    };
    one.sources == other.sources
        && same_servers(&one.servers, &other.servers)
        && same_servers(&one.held_back, &other.held_back)
        && text_of(&one.settings) == text_of(&other.settings)
        && format!("{:?}", one.settings.policy.rules)
            == format!("{:?}", other.settings.policy.rules)
}

/// Values of the settings of the start, without their places, as a text; servers and policy are followed.
fn text_of(settings: &Settings) -> String {
    let Settings {
        wall_ms,
        disk_free_mib,
        minimum_tier,
        require_layers,
        observe,
        embeddings,
        notify,
        llm,
        redaction,
        audit,
        retention,
        share: _,
        policy: _,
    } = settings;
    let limits = (
        wall_ms.as_ref().map(|setting| setting.value),
        disk_free_mib.as_ref().map(|setting| setting.value),
        observe.as_ref().map(|setting| setting.value),
    );
    // A repository's floor is another than the user's.
    let sandbox = (
        minimum_tier.as_ref().map(|setting| setting.value),
        require_layers
            .as_ref()
            .map(|setting| (&setting.value, &setting.origin.scope)),
    );
    // The forms for people leave the addresses out.
    let embeddings = embeddings
        .as_ref()
        .map(|setting| (&setting.value, &setting.value.url, &setting.value.key));
    let webhook = notify.webhook.as_ref();
    let webhook = webhook.map(|entry| (entry, &entry.url, &entry.secret));
    let llm = llm.as_ref().map(|setting| {
        let provider = setting.value.provider.as_ref();
        let provider = provider.map(|provider| (&provider.url, &provider.key));
        (&setting.value, provider)
    });
    let people = (notify.desktop, webhook, &notify.escalate);
    format!(
        "{limits:?}{sandbox:?}{embeddings:?}{people:?}{llm:?}{redaction:?}{audit:?}{retention:?}"
    )
}

fn identity(
    invocation: &Invocation,
    compat: &CompatOptions,
    state: &Path,
    read: &ReadForIdentity,
) -> Option<String> {
    let world = &invocation.world;
    let global = &invocation.global;
    let mut hash = Sha256::new();
    let mut part = |name: &str, value: &str| {
        for text in [name, value] {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        }
    };
    part("version", env!("CARGO_PKG_VERSION"));
    let executable = std::fs::metadata(own_executable().ok()?).ok()?;
    let stamp = (
        (executable.dev(), executable.ino(), executable.len()),
        (executable.mtime(), executable.mtime_nsec()),
    );
    part("executable", &format!("{stamp:?}"));
    part("state", &state.to_string_lossy());
    for file in absolute(&world.cwd, &global.config) {
        part("--config", &file.to_string_lossy());
    }
    let options = (
        global.no_discover,
        global.trust_project,
        global.minimum_tier,
        global.log,
    );
    part("options", &format!("{options:?}"));
    part("compat", &format!("{compat:?}"));
    part("settings", &text_of(&read.configuration.settings));
    if read.is_of_directory {
        part("directory", &world.cwd.to_string_lossy());
    }
    for (name, value) in variables(world, read) {
        // An unset variable and an empty one differ.
        part(&name, &format!("{value:?}"));
    }
    // A container has other files and another network, also where it shares the state directory.
    for namespace in ["mnt", "net", "pid", "user"] {
        let found = std::fs::read_link(format!("/proc/self/ns/{namespace}"));
        part(namespace, &found.unwrap_or_default().to_string_lossy());
    }
    Some(hexadecimal(hash.finalize()))
}

fn hexadecimal(digest: impl AsRef<[u8]>) -> String {
    let bytes = digest.as_ref().iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// Variables that decide something, with their values.
fn variables<'w>(world: &'w World, read: &ReadForIdentity) -> Vec<(String, Option<&'w str>)> {
    let mut names = read.asked.clone();
    names.insert(world.system.home_variable().to_owned());
    names.insert(TRUST_EVERYTHING.to_owned());
    names.insert("LIMBECK_LOG".to_owned());
    // Those of models are read at the start, and not with the configuration.
    let is_of_models = |name: &&String| {
        name.starts_with("CODE_EXECUTOR_")
            || name.ends_with("_API_KEY")
            || name.ends_with("_BASE_URL")
    };
    names.extend(world.variables.keys().filter(is_of_models).cloned());
    if read.configuration.settings.notify.desktop {
        names.extend(OF_DESKTOP.iter().map(|name| (*name).to_owned()));
    }
    for text in references(&read.configuration) {
        if text.contains("exec:") {
            // The command has the whole environment.
            let of_user = world.variables.keys();
            let of_user = of_user.filter(|name| !OF_TERMINAL.contains(&name.as_str()));
            names.extend(of_user.cloned());
        }
        names.extend(referred_variables(text));
    }
    names.retain(|name| !IGNORED.contains(&name.as_str()));
    let values = names.into_iter().map(|name| {
        let value = world.variables.get(&name).map(String::as_str);
        (name, value)
    });
    values.collect()
}

/// Texts of the configuration that may refer to variables when they are used.
fn references(configuration: &Configuration) -> Vec<&str> {
    let mut texts: Vec<&str> = Vec::new();
    for entry in &configuration.servers {
        if let Ok(Transport::Http { headers, .. }) = &entry.definition {
            texts.extend(headers.iter().map(|(_, value)| value.as_str()));
        }
        texts.extend(entry.oauth.client_secret.as_deref());
        texts.extend(entry.oauth.private_key.as_deref());
    }
    let settings = &configuration.settings;
    let embeddings = settings.embeddings.as_ref();
    texts.extend(embeddings.and_then(|entry| entry.value.key.as_deref()));
    let webhook = settings.notify.webhook.as_ref();
    texts.extend(webhook.map(|entry| entry.secret.as_str()));
    texts
}

/// Names behind each `env:` of a text.
fn referred_variables(text: &str) -> impl Iterator<Item = String> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    text.split("env:").skip(1).map(move |rest| {
        let end = rest.find(|character| !is_part(character));
        rest[..end.unwrap_or(rest.len())].to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_found_in_references() {
        let found = |text| referred_variables(text).collect::<Vec<_>>();
        assert_eq!(found("env:A_TOKEN"), ["A_TOKEN"]);
        assert_eq!(found("Bearer env:A, env:B2."), ["A", "B2"]);
        assert!(found("file:/etc/x").is_empty());
    }
}
