//! Turns configuration into a running gateway: the one place where names of one crate become values
//! of another.

mod configuration;
mod embeddings;
mod servers;
mod state;

pub(crate) use configuration::{configuration, trust_record};
pub(crate) use embeddings::embeddings_spec;
pub(crate) use state::{open_past, state_file, trust_file};

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use limbeck_gateway::domain::limits::WALL_MS_DEFAULT;
use limbeck_gateway::domain::{CallError, Tier};
use limbeck_gateway::launcher::{Launcher, PoolSize, Pools, WorkerProgram};
use limbeck_gateway::upstream::http::LocalSecrets;
use limbeck_gateway::upstream::{Answers, Pool as UpstreamPool, PoolOptions};
use limbeck_gateway::{Gateway, Parts, ServerSource};
use limbeck_setup::{Configuration, Level, Setting, Settings};
use serde::Serialize;

use crate::cli::Global;
use crate::commands::Invocation;
use crate::env::own_executable;
use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use configuration::{looked_in, read_configuration};
use servers::{credentials, server_source, server_spec};
use state::{open_store_or_memory, recover};

/// What servers are told that they may ask for: everything a client could answer. Whether the client of a
/// call does is found out call by call.
const DECLARED: PoolOptions = PoolOptions {
    declares: Answers::ALL,
};
/// Time for workers and servers to end; beyond it they are left to their own pipes.
const SHUTDOWN: Duration = Duration::from_secs(3);

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

/// Looks up what the configuration names instead of holding it.
pub(crate) fn secrets(invocation: &Invocation) -> Arc<LocalSecrets> {
    let variables = invocation.environment.variables.clone();
    Arc::new(LocalSecrets::new(variables.into_iter().collect()))
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
        let secrets = secrets(invocation);
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
        let embeddings = embeddings_spec(&configuration.settings, &secrets).transpose();
        let embeddings = embeddings.unwrap_or_else(|problem| {
            tracing::warn!("the embedding endpoint cannot be used: {problem}");
            None
        });
        let gateway = Gateway::start(Parts {
            workers: workers(lifetime, minimum)?,
            upstreams: UpstreamPool::with_options(specs, &DECLARED),
            store,
            wall_ms: wall_ms(&configuration.settings).value,
            sources,
            embeddings,
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
            embeddings: None,
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
