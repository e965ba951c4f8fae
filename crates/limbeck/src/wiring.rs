//! Turns configuration into a running gateway: the one place where names of one crate become values
//! of another.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use limbeck_gateway::domain::limits::WALL_MS_DEFAULT;
use limbeck_gateway::domain::{CallError, ExecutionStatus, Tier};
use limbeck_gateway::launcher::{Launcher, PoolSize, Pools, WorkerProgram};
use limbeck_gateway::store::{Store, StoreError};
use limbeck_gateway::upstream::http::{self, HeaderValueSpec, LocalSecrets, NetworkRules};
use limbeck_gateway::upstream::{
    Answers, Credentials, HttpSpec, Pool as UpstreamPool, PoolOptions, ServerSpec, StdioSpec,
    TransportSpec,
};
use limbeck_gateway::{Gateway, Parts, ServerSource};
use limbeck_setup::{
    ConfigError, Configuration, Discovery, HttpKind, Level, ServerEntry, Setting, Settings,
    Transport,
};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::cli::Global;
use crate::commands::Invocation;
use crate::env::own_executable;
use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use crate::signin::server_auth;

/// Who asks on the command line: the local user, as over stdio.
pub(crate) const PRINCIPAL: &str = "local";
/// What servers are told that they may ask for: everything a client could answer. Whether the client of a
/// call does is found out call by call.
const DECLARED: PoolOptions = PoolOptions {
    declares: Answers::ALL,
};
/// File of the state directory that holds journal, cache and key-value state.
const STATE_FILE: &str = "state.db";
/// Time for workers and servers to end; beyond it they are left to their own pipes.
const SHUTDOWN: Duration = Duration::from_secs(3);
/// Variables that tell one terminal from another, not one server from another.
const SESSION_VARIABLES: &[&str] = &[
    "LANG", "LC_ALL", "LC_CTYPE", "PATH", "SHELL", "TERM", "TMPDIR", "TZ",
];

/// How long a gateway is going to live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// One command: one worker is enough.
    Command,
    /// Until its client leaves.
    Client,
}

/// A setting that counts, and whose word it is.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Decided<T> {
    pub(crate) value: T,
    /// A file with its line, an option, or `default`.
    pub(crate) source: String,
}

impl<T: Copy> Decided<T> {
    fn of(setting: Option<&Setting<T>>, default: T) -> Self {
        match setting {
            Some(setting) => Self {
                value: setting.value,
                source: setting.origin.to_string(),
            },
            None => Self {
                value: default,
                source: "default".to_owned(),
            },
        }
    }
}

/// The tier below which nothing runs: the command line's word, else the configuration's.
pub(crate) fn minimum_tier(global: &Global, settings: &Settings) -> Decided<Tier> {
    match global.minimum_tier {
        Some(tier) => Decided {
            value: tier.into(),
            source: "--minimum-tier".to_owned(),
        },
        None => Decided::of(settings.minimum_tier.as_ref(), Tier::MINIMUM_DEFAULT),
    }
}

/// Wall clock of an execution whose request names none, in milliseconds.
pub(crate) fn wall_ms(settings: &Settings) -> Decided<u64> {
    Decided::of(settings.wall_ms.as_ref(), WALL_MS_DEFAULT)
}

/// A gateway made from the configuration, for one command.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) gateway: Gateway,
    /// What is good to know of the configuration and no warning.
    pub(crate) notes: Vec<String>,
    /// Where servers were looked for, when there are none.
    looked_in: Option<String>,
}

impl Session {
    /// Reads configuration, opens the store and starts a gateway. Starts no upstream.
    ///
    /// What a person should know is written to standard error on the way.
    ///
    /// # Errors
    ///
    /// A named configuration file that is not usable. A store that is not is a warning: the gateway
    /// then forgets what it did when it ends.
    pub(crate) async fn open(invocation: &Invocation, lifetime: Lifetime) -> Result<Self, Failure> {
        let configuration = configuration(invocation)?;
        let minimum = minimum_tier(&invocation.global, &configuration.settings);
        Self::with(invocation, &configuration, lifetime, minimum.value).await
    }

    /// [`Session::open`] over a configuration that was read already, with workers of at least
    /// `minimum`.
    pub(crate) async fn with(
        invocation: &Invocation,
        configuration: &Configuration,
        lifetime: Lifetime,
        minimum: Tier,
    ) -> Result<Self, Failure> {
        let store = open_store_or_memory(invocation)?;
        recover(&store, &invocation.printer).await;
        let variables = invocation.environment.variables.clone();
        let secrets = Arc::new(LocalSecrets::new(variables.into_iter().collect()));
        let specs = configuration.servers.iter();
        let specs = specs.map(|entry| {
            let credentials = credentials(invocation, entry);
            server_spec(entry, &secrets, credentials)
        });
        let specs = specs.collect();
        let own = |name: &str| invocation.environment.variable(name).map(str::to_owned);
        let sources = configuration.servers.iter();
        let observe = &configuration.settings.observe;
        let observe = observe.as_ref().is_none_or(|setting| setting.value);
        let sources = sources.map(|entry| ServerSource {
            observe: observe && entry.observe,
            ..server_source(entry, &own)
        });
        let sources = sources.collect();
        let gateway = Gateway::start(Parts {
            workers: workers(lifetime, minimum)?,
            upstreams: UpstreamPool::with_options(specs, &DECLARED),
            store,
            wall_ms: wall_ms(&configuration.settings).value,
            sources,
        })
        .await;
        let empty = configuration.servers.is_empty();
        let notes = configuration.notes.iter();
        let notes = notes.filter(|note| note.level == Level::Info);
        Ok(Self {
            gateway,
            notes: notes.map(ToString::to_string).collect(),
            looked_in: empty.then(|| looked_in(invocation)),
        })
    }

    /// A gateway over the past alone: no server is known, and of the configuration only the minimum
    /// tier counts.
    ///
    /// # Errors
    ///
    /// A store that cannot be opened, or a named configuration file that is not usable.
    pub(crate) async fn open_past(invocation: &Invocation) -> Result<Self, Failure> {
        let settings = read_configuration(invocation)?.settings;
        let minimum = minimum_tier(&invocation.global, &settings);
        let gateway = Gateway::start(Parts {
            workers: workers(Lifetime::Command, minimum.value)?,
            upstreams: UpstreamPool::new(Vec::new()),
            store: open_past(invocation).await?,
            wall_ms: WALL_MS_DEFAULT,
            sources: Vec::new(),
        })
        .await;
        Ok(Self {
            gateway,
            notes: Vec::new(),
            looked_in: None,
        })
    }

    /// Says that there are no servers and where they would have been found.
    pub(crate) fn say_if_empty(&self, printer: &Printer) {
        if let Some(looked_in) = &self.looked_in {
            printer.note(&format!(
                "no MCP servers are configured; looked in {looked_in}"
            ));
            printer.hint("`limbeck demo` shows Limbeck with a built-in server");
        }
    }

    /// Ends workers and servers.
    pub(crate) async fn close(self) {
        shut_down(&self.gateway).await;
    }
}

/// Ends what a gateway started, within [`SHUTDOWN`].
pub(crate) async fn shut_down(gateway: &Gateway) {
    if tokio::time::timeout(SHUTDOWN, gateway.shutdown())
        .await
        .is_err()
    {
        tracing::warn!("servers did not end within {} s", SHUTDOWN.as_secs());
    }
}

/// Starts workers of this very executable and uses none below `minimum`.
pub(crate) fn launcher(minimum: Tier) -> Result<Launcher, Failure> {
    let path = own_executable().map_err(Failure::fault)?;
    Ok(Launcher::new(WorkerProgram::new(path), minimum))
}

/// Pools of them.
pub(crate) fn workers(lifetime: Lifetime, minimum: Tier) -> Result<Pools, Failure> {
    let size = match lifetime {
        Lifetime::Command => PoolSize {
            ready: 1,
            starting: 1,
        },
        Lifetime::Client => PoolSize::default(),
    };
    Ok(Pools::start(launcher(minimum)?, size))
}

/// A refused or failed call, with the exit code of its kind.
pub(crate) fn call_failure(error: &CallError) -> Failure {
    let failure = Failure::new(Exit::of_call(error.code), anyhow!("{}", error.message));
    match &error.hint {
        Some(hint) => failure.with_hint(hint.as_str()),
        None => failure,
    }
}

/// Reads the configuration and says what a person should know of it.
///
/// # Errors
///
/// A named configuration file that is not usable.
pub(crate) fn configuration(invocation: &Invocation) -> Result<Configuration, Failure> {
    let configuration = read_configuration(invocation)?;
    for note in &configuration.notes {
        match note.level {
            Level::Info => tracing::info!("{note}"),
            Level::Warning | Level::Error => invocation.printer.warning(&note.to_string()),
        }
    }
    Ok(configuration)
}

fn read_configuration(invocation: &Invocation) -> Result<Configuration, Failure> {
    let environment = &invocation.environment;
    let variable = |name: &str| environment.variables.get(name).cloned();
    let self_exe = own_executable().ok();
    limbeck_setup::load(&Discovery {
        config_files: &invocation.global.config,
        discover: !invocation.global.no_discover,
        cwd: &environment.cwd,
        home: environment.home.as_deref(),
        env: &variable,
        self_exe: self_exe.as_deref(),
    })
    .map_err(|error: ConfigError| {
        let hint = error.hint();
        Failure::usage(error).with_hint(hint)
    })
}

fn looked_in(invocation: &Invocation) -> String {
    let mut places: Vec<String> = Vec::new();
    if !invocation.global.no_discover {
        places.extend(
            [
                "~/.claude.json",
                "./.mcp.json",
                "~/.config/limbeck/config.toml",
                "./limbeck.toml",
            ]
            .map(str::to_owned),
        );
    }
    let given = invocation.global.config.iter();
    places.extend(given.map(|file| file.display().to_string()));
    if places.is_empty() {
        "nothing: `--no-discover` is given and `--config` is not".to_owned()
    } else {
        places.join(", ")
    }
}

/// One server as the pool takes it. What cannot be used is listed with its reason.
fn server_spec(
    entry: &ServerEntry,
    secrets: &Arc<LocalSecrets>,
    credentials: Option<Arc<dyn Credentials>>,
) -> ServerSpec {
    let transport = match &entry.definition {
        Ok(Transport::Stdio {
            command,
            args,
            env,
            cwd,
        }) => TransportSpec::Stdio(StdioSpec {
            command: command.clone(),
            args: args.clone(),
            env: env.clone(),
            cwd: cwd.clone(),
        }),
        Ok(Transport::Http {
            url,
            headers,
            kind,
            allow_http,
            allow_networks,
        }) => {
            let network = NetworkRules {
                allow: allow_networks.clone(),
                clear: *allow_http,
            };
            match http_spec(url, headers, *kind, network, secrets) {
                Ok(spec) => TransportSpec::Http(Box::new(HttpSpec {
                    credentials,
                    ..spec
                })),
                Err(reason) => TransportSpec::Unsupported { reason },
            }
        }
        Err(fault) => TransportSpec::Unsupported {
            reason: fault.to_string(),
        },
    };
    let mut spec = ServerSpec::new(entry.name.clone(), transport);
    spec.disabled = entry.disabled;
    if let Some(idle_ms) = entry.idle_timeout_ms {
        spec.idle_timeout = Some(Duration::from_millis(idle_ms)).filter(|idle| !idle.is_zero());
    }
    if let Some(timeout_ms) = entry.timeout_ms {
        spec.call_timeout = Duration::from_millis(timeout_ms);
    }
    if let Some(concurrency) = entry.concurrency {
        spec.concurrency = concurrency;
    }
    spec
}

/// The tokens of a server over HTTP. A sign-in that cannot be used costs the server nothing but the sign-in.
fn credentials(invocation: &Invocation, entry: &ServerEntry) -> Option<Arc<dyn Credentials>> {
    match server_auth(invocation, entry) {
        Ok(auth) => auth.map(|auth| auth as Arc<dyn Credentials>),
        Err(failure) => {
            tracing::warn!(server = %entry.name, "no sign-in: {:#}", failure.error);
            None
        }
    }
}

/// A server over HTTP; an error says what is wrong with its entry and holds no secret.
fn http_spec(
    url: &str,
    headers: &[(String, String)],
    kind: HttpKind,
    network: NetworkRules,
    secrets: &Arc<LocalSecrets>,
) -> Result<HttpSpec, String> {
    let mut spec = HttpSpec::new(url).map_err(|problem| format!("its url: {problem}"))?;
    spec.kind = match kind {
        HttpKind::Auto => http::HttpKind::Auto,
        HttpKind::Streamable => http::HttpKind::Streamable,
        HttpKind::Sse => http::HttpKind::Sse,
    };
    for (name, value) in headers {
        let value = HeaderValueSpec::parse(value);
        let value = value.map_err(|problem| format!("its header `{name}`: {problem}"))?;
        spec.headers.push((name.clone(), value));
    }
    spec.network = network;
    spec.secrets = secrets.clone();
    Ok(spec)
}

fn server_source(entry: &ServerEntry, own: &dyn Fn(&str) -> Option<String>) -> ServerSource {
    ServerSource {
        name: entry.name.clone(),
        source: match url_origin(entry) {
            Some(origin) => format!("{} ({origin})", entry.origin),
            None => entry.origin.to_string(),
        },
        definition_hash: definition_hash(entry, own),
        expose: entry.expose,
        observe: entry.observe,
    }
}

/// Scheme, host and port of a server over HTTP; the rest of its url may hold a secret.
fn url_origin(entry: &ServerEntry) -> Option<String> {
    match &entry.definition {
        Ok(Transport::Http { url, .. }) => Some(HttpSpec::new(url).ok()?.origin()),
        Ok(Transport::Stdio { .. }) | Err(_) => None,
    }
}

/// SHA-256 of what decides which server is started: the key of its cached tools.
///
/// Every part is preceded by its length, so that no two definitions share their bytes. Variables of
/// the session (`PATH`, `TERM` …) count only where the entry sets them to something else than ours:
/// the same entry is the same server in every terminal and under every client.
fn definition_hash(entry: &ServerEntry, own: &dyn Fn(&str) -> Option<String>) -> String {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(entry.name.as_str().as_bytes());
    match &entry.definition {
        Ok(Transport::Stdio {
            command,
            args,
            env,
            cwd,
        }) => {
            part(b"stdio");
            part(command.as_os_str().as_encoded_bytes());
            part(&(args.len() as u64).to_le_bytes());
            args.iter().for_each(|arg| part(arg.as_bytes()));
            let cwd = cwd.as_ref().map(|cwd| cwd.as_os_str());
            part(cwd.unwrap_or_default().as_encoded_bytes());
            for (name, value) in env {
                let ambient = SESSION_VARIABLES.contains(&name.as_str());
                if !ambient || own(name).as_ref() != Some(value) {
                    part(name.as_bytes());
                    part(value.as_bytes());
                }
            }
        }
        Ok(Transport::Http { url, headers, .. }) => {
            part(b"http");
            part(url.as_bytes());
            // Another token may see other tools.
            for (name, value) in headers {
                part(name.as_bytes());
                part(value.as_bytes());
            }
        }
        Err(_) => part(b"unusable"),
    }
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The store of executions past, for commands that are about nothing else.
///
/// # Errors
///
/// No state directory, or one that cannot be used.
pub(crate) async fn open_past(invocation: &Invocation) -> Result<Store, Failure> {
    let Some(path) = state_file(invocation) else {
        let error = anyhow!("there is no state directory: HOME is not set");
        return Err(Failure::usage(error).with_hint("name one: `--state-dir DIR`"));
    };
    let store = Store::open(&path)?;
    recover(&store, &invocation.printer).await;
    Ok(store)
}

fn open_store_or_memory(invocation: &Invocation) -> Result<Store, Failure> {
    let printer = &invocation.printer;
    match state_file(invocation).as_deref().map(Store::open) {
        Some(Ok(store)) => return Ok(store),
        Some(Err(error)) => {
            printer.warning(&format!("nothing is recorded: {}", with_causes(&error)));
            if let Some(hint) = error.hint() {
                printer.hint(&hint);
            }
        }
        None => {
            printer.warning("nothing is recorded: HOME is not set and there is no `--state-dir`")
        }
    }
    Ok(Store::in_memory()?)
}

/// Where journal, cache and key-value state live, when they live anywhere.
pub(crate) fn state_file(invocation: &Invocation) -> Option<PathBuf> {
    let environment = &invocation.environment;
    let directory = match (
        &invocation.global.state_dir,
        environment.variable("LIMBECK_STATE_DIR"),
    ) {
        (Some(directory), _) => directory.clone(),
        (None, Some(directory)) => PathBuf::from(directory),
        (None, None) => environment.home.as_ref()?.join(".local/state/limbeck"),
    };
    Some(environment.cwd.join(directory).join(STATE_FILE))
}

/// Ends executions whose gateway died, and names those with calls in doubt.
async fn recover(store: &Store, printer: &Printer) {
    match store.recover().await {
        Ok(ended) => {
            for (id, status) in ended {
                if status == ExecutionStatus::NeedsReconciliation {
                    printer.warning(&format!(
                        "execution `{id}` was cut off with calls that may have happened: `limbeck executions {id}`"
                    ));
                }
            }
        }
        Err(error) => printer.warning(&format!(
            "interrupted executions could not be ended: {}",
            with_causes(&error)
        )),
    }
}

fn with_causes(error: &StoreError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}
