//! Construction of a running gateway from the configuration.

mod configuration;
mod default_preset;
mod embeddings;
mod models;
mod notify;
mod pin_lock;
mod redaction;
mod reload;
mod servers;
#[cfg(unix)]
mod sharing;
mod state;

pub(crate) use configuration::{
    configuration, importable, read_configuration, read_file_alone, short_place, trust_record,
    unreadable,
};
pub(crate) use default_preset::{WayIn, presets_by_way};
pub(crate) use embeddings::embeddings_spec;
pub(crate) use models::models_config;
pub(crate) use pin_lock::{pin_lock, read_pin_lock};
pub(crate) use reload::ConfigurationFiles;
#[cfg(unix)]
pub(crate) use sharing::{SharedPlace, health_place, meeting_of, sockets};
pub(crate) use state::{check_state_directory, open_past, state_file, trust_file};

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use limbeck_domain::limits::{WALL_MS_DEFAULT, WALL_MS_MAX};
use limbeck_domain::{CallCode, CallError, Tier};
use limbeck_gateway::{Gateway, GatewayConfig, ModelsConfig, PinLock};
use limbeck_launcher::{Launcher, PoolSize, Pools, SandboxFloor, WorkerProgram};
use limbeck_policy::Policy;
use limbeck_server::surface::client_listing;
use limbeck_setup::{
    Configuration, Diagnostic, EntryScope, PolicySettings, Setting, Settings, Severity,
};
use limbeck_upstream::http::LocalSecrets;
use limbeck_upstream::{ClientCapabilities, PoolOptions, UpstreamPool};
use serde::Serialize;

use crate::cli::GlobalOptions;
use crate::environment::own_executable;
use crate::exit::{CommandError, ExitStatus};
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::shell::quoted;
use configuration::{looked_in, notices};
use notify::{escalation, notifiers};
use servers::servers_in_use;
use state::{open_store_or_memory, recover};

/// Time for workers and servers to end. The pipes of those that have not ended close with this process.
const SHUTDOWN: Duration = Duration::from_secs(3);

/// Expected lifetime of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GatewayLifetime {
    /// One command, for which one worker is enough.
    Command,
    /// Until its client disconnects.
    Client,
    /// Until it is stopped, for clients of several principals. No result types are learnt or shown, and no error quotes
    /// what a server wrote during a call: what is in a call of one principal is not for another.
    SharedByClients,
}

/// Value of a setting and its source.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct EffectiveSetting<T> {
    pub(crate) value: T,
    /// File and line, option, or `default`.
    pub(crate) source: String,
}

impl<T: Copy> EffectiveSetting<T> {
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

/// Weakest sandbox tier that programs run in: from the command line, else from the configuration. Layers that a user requires
/// are a floor of their own below `strict`.
pub(crate) fn minimum_tier(global: &GlobalOptions, settings: &Settings) -> EffectiveSetting<Tier> {
    let layers = settings.require_layers.as_ref();
    match (global.minimum_tier, &settings.minimum_tier, layers) {
        (Some(tier), _, _) => EffectiveSetting {
            value: tier.into(),
            source: "--minimum-tier".to_owned(),
        },
        (None, None, Some(layers)) if layers.origin.scope != EntryScope::Repository => {
            EffectiveSetting {
                value: Tier::Wasm,
                source: format!("`require_layers`, {}", layers.origin),
            }
        }
        (None, named, _) => EffectiveSetting::of(named.as_ref(), Tier::MINIMUM_DEFAULT),
    }
}

/// Weakest sandbox that programs run in: [`minimum_tier`], and the layers that the configuration requires.
pub(crate) fn sandbox_floor(global: &GlobalOptions, settings: &Settings) -> SandboxFloor {
    let layers = settings.require_layers.as_ref();
    SandboxFloor {
        tier: minimum_tier(global, settings).value,
        layers: layers
            .map(|layers| layers.value.clone())
            .unwrap_or_default(),
    }
}

/// Time limit of an execution whose request has none, in milliseconds.
pub(crate) fn wall_ms(settings: &Settings) -> EffectiveSetting<u64> {
    EffectiveSetting::of(settings.wall_ms.as_ref(), WALL_MS_DEFAULT)
}

/// Resolver of the secrets that the configuration refers to.
pub(crate) fn secrets(invocation: &Invocation) -> Arc<LocalSecrets> {
    let variables = invocation.world.variables.clone();
    let secrets = LocalSecrets::new(variables.into_iter().collect());
    Arc::new(secrets.known_to(invocation.redaction.secrets().clone()))
}

/// Gateway that one command uses, built from the configuration.
#[derive(Debug)]
pub(crate) struct GatewaySession {
    pub(crate) gateway: Gateway,
    lifetime: GatewayLifetime,
    way_in: WayIn,
    /// The configuration that the gateway was built from.
    configuration: Configuration,
    /// Notes about the configuration that are not warnings.
    pub(crate) notes: Vec<String>,
    /// Sentences for clients about findings, which have been printed.
    pub(crate) notices: Vec<String>,
    /// Whether a file cannot be read or an entry cannot be used; the errors have been printed.
    pub(crate) is_configuration_broken: bool,
    /// Files that were searched for servers, when none was found.
    looked_in: Option<String>,
    /// Files of clients that have servers, when none was found.
    importable: Vec<String>,
    /// The first file that could not be read, as a hint.
    unreadable: Option<String>,
}

impl GatewaySession {
    /// Reads the configuration, opens the store and starts a gateway, but no upstream server.
    ///
    /// Warnings are written to standard error.
    ///
    /// # Errors
    ///
    /// A configuration file that was named and cannot be used. A store that cannot be used is a warning: the gateway then
    /// records nothing.
    pub(crate) async fn open(
        invocation: &Invocation,
        lifetime: GatewayLifetime,
    ) -> Result<Self, CommandError> {
        Self::open_serving(invocation, lifetime, WayIn::Command).await
    }

    /// A gateway that serves clients, whose calls come in this way.
    ///
    /// # Errors
    ///
    /// As [`GatewaySession::open`].
    pub(crate) async fn open_serving(
        invocation: &Invocation,
        lifetime: GatewayLifetime,
        way_in: WayIn,
    ) -> Result<Self, CommandError> {
        let configuration = configuration(invocation)?;
        let minimum = sandbox_floor(&invocation.global, &configuration.settings);
        Self::with(invocation, &configuration, lifetime, way_in, minimum).await
    }

    /// Starts a gateway like [`GatewaySession::open`], from a configuration that was read already and with workers of at
    /// least `minimum`.
    pub(crate) async fn with(
        invocation: &Invocation,
        configuration: &Configuration,
        lifetime: GatewayLifetime,
        way_in: WayIn,
        minimum: SandboxFloor,
    ) -> Result<Self, CommandError> {
        let store = open_store_or_memory(invocation, &configuration.settings)?;
        if let Some(floor) = &configuration.settings.disk_free_mib {
            store.set_disk_floor(floor.value << 20);
        }
        // Before the gateway starts: executions of a dead gateway must not look like running ones.
        recover(&store, &invocation.printer).await;
        let secrets = secrets(invocation);
        let servers = configuration.servers.iter();
        let servers = servers_in_use(invocation, servers, &configuration.settings, lifetime);
        let (specs, sources) = servers.into_iter().unzip();
        let embeddings = embeddings_spec(&configuration.settings, &secrets).transpose();
        // Search works without the endpoint, so a wrong entry must not keep the gateway from starting.
        let embeddings = embeddings.unwrap_or_else(|problem| {
            tracing::warn!("the embedding endpoint cannot be used: {problem}");
            None
        });
        let models = models_config(&configuration.settings, &invocation.world, &secrets);
        let models = models.map_err(|problem| CommandError::usage(anyhow!(problem)))?;
        let options = PoolOptions {
            // All that a client could have: whether the client of a call has one is decided call by call.
            declares: ClientCapabilities::ALL,
            is_shared: lifetime == GatewayLifetime::SharedByClients,
            guard: own_executable().ok(),
            redaction: invocation.redaction.clone(),
        };
        let notices = notices(&invocation.world, configuration);
        let gateway = Gateway::start(GatewayConfig {
            workers: workers(lifetime, minimum)?,
            upstreams: UpstreamPool::with_options(specs, &options),
            store,
            wall_ms: wall_ms(&configuration.settings).value,
            wall_ms_max: match (lifetime, &configuration.settings.wall_ms) {
                // A client's request stays below what the user set; the user's own command does not.
                (GatewayLifetime::Client | GatewayLifetime::SharedByClients, Some(setting)) => {
                    setting.value
                }
                (GatewayLifetime::Client | GatewayLifetime::SharedByClients, None)
                | (GatewayLifetime::Command, _) => WALL_MS_MAX,
            },
            sources,
            notices: notices.clone(),
            policy: way_in.policy(&configuration.settings.policy),
            embeddings,
            models,
            client_listing,
            pin_lock: pin_lock(invocation),
        })
        .await;
        let (notifiers, problem) = notifiers(&configuration.settings, &secrets);
        if let Some(problem) = problem {
            tracing::warn!("people are not notified of questions: {problem}");
        }
        gateway.notify_by(notifiers, escalation(&configuration.settings));
        // A file that cannot be read has been reported; its servers are not known.
        let is_configuration_broken = is_broken(configuration);
        let empty = configuration.servers.is_empty() && !is_configuration_broken;
        let notes = configuration.diagnostics.iter();
        let notes = notes.filter(|note| note.severity == Severity::Info);
        Ok(Self {
            gateway,
            lifetime,
            way_in,
            configuration: configuration.clone(),
            notes: notes.map(ToString::to_string).collect(),
            notices,
            is_configuration_broken,
            looked_in: empty.then(|| looked_in(invocation)),
            importable: if empty {
                importable(&invocation.world)
            } else {
                Vec::new()
            },
            unreadable: unreadable(configuration),
        })
    }

    /// Starts a gateway without servers, for commands about recorded executions. Of the configuration only the minimum
    /// tier is used.
    ///
    /// # Errors
    ///
    /// A store that cannot be opened, or a configuration file that was named and cannot be used.
    pub(crate) async fn open_past(invocation: &Invocation) -> Result<Self, CommandError> {
        let settings = read_configuration(invocation)?.settings;
        let minimum = sandbox_floor(&invocation.global, &settings);
        let gateway = Gateway::start(GatewayConfig {
            workers: workers(GatewayLifetime::Command, minimum)?,
            upstreams: UpstreamPool::new(Vec::new()),
            store: open_past(invocation).await?,
            wall_ms: WALL_MS_DEFAULT,
            wall_ms_max: WALL_MS_MAX,
            sources: Vec::new(),
            notices: Vec::new(),
            policy: Policy::default(),
            embeddings: None,
            models: ModelsConfig::default(),
            client_listing,
            pin_lock: PinLock::default(),
        })
        .await;
        Ok(Self {
            gateway,
            lifetime: GatewayLifetime::Command,
            way_in: WayIn::Command,
            configuration: Configuration::default(),
            notes: Vec::new(),
            notices: Vec::new(),
            is_configuration_broken: false,
            looked_in: None,
            importable: Vec::new(),
            unreadable: None,
        })
    }

    /// `[policy]` of all files.
    pub(crate) fn policy_settings(&self) -> &PolicySettings {
        &self.configuration.settings.policy
    }

    /// Files that were searched for servers, when none is configured.
    pub(crate) fn looked_in(&self) -> Option<&str> {
        self.looked_in.as_deref()
    }

    /// Prints a note when no servers are configured, with the files that were searched.
    pub(crate) fn note_if_empty(&self, printer: &Printer) {
        if let Some(looked_in) = &self.looked_in {
            printer.note(&format!(
                "no MCP servers are configured; looked in {looked_in}"
            ));
            print_first_step(printer, &self.importable);
        }
    }

    /// Notes the files of clients that have servers, when none is configured.
    pub(crate) fn note_importable(&self, printer: &Printer) {
        note_importable(printer, &self.importable);
    }

    /// Error of a call; about a server that is not known it names the file that could not be read, which may have it.
    pub(crate) fn call_error(&self, error: &CallError) -> CommandError {
        let mut failure = call_error(error);
        if let (CallCode::UnknownServer, Some(unreadable)) = (error.code, &self.unreadable) {
            failure.hint = Some(unreadable.clone());
        }
        failure
    }

    /// Stops workers and servers.
    pub(crate) async fn close(self) {
        shut_down(&self.gateway).await;
    }
}

/// Prints how a user without servers adds one. `files` are those of clients that have servers.
pub(crate) fn print_first_step(printer: &Printer, files: &[String]) {
    note_importable(printer, files);
    printer.hint(
        "move those of your clients with `limbeck setup`, which shows first what it would change; add one with `limbeck add`, or copy those of a client with `limbeck import FILE`; `limbeck demo` shows Limbeck with a built-in server",
    );
}

fn note_importable(printer: &Printer, files: &[String]) {
    for file in files {
        printer.note(&format!(
            "{file} has servers, which `limbeck import {file}` copies"
        ));
    }
}

/// Whether a file of the configuration cannot be read or one of its entries cannot be used.
pub(crate) fn is_broken(configuration: &Configuration) -> bool {
    let is_error = |note: &Diagnostic| note.severity == Severity::Error;
    configuration.diagnostics.iter().any(is_error)
}

/// Stops the workers and servers of a gateway within [`SHUTDOWN`].
pub(crate) async fn shut_down(gateway: &Gateway) {
    if tokio::time::timeout(SHUTDOWN, gateway.shutdown())
        .await
        .is_err()
    {
        tracing::warn!("servers did not end within {} s", SHUTDOWN.as_secs());
    }
}

/// Launcher of workers from this executable; it uses no worker below `minimum`.
pub(crate) fn launcher(minimum: SandboxFloor) -> Result<Launcher, CommandError> {
    let path = own_executable().map_err(CommandError::fault)?;
    Ok(Launcher::new(WorkerProgram::new(path), minimum))
}

/// Worker pools, sized for the lifetime of the gateway.
pub(crate) fn workers(
    lifetime: GatewayLifetime,
    minimum: SandboxFloor,
) -> Result<Pools, CommandError> {
    let size = match lifetime {
        GatewayLifetime::Command => PoolSize {
            ready: 1,
            starting: 1,
        },
        GatewayLifetime::Client | GatewayLifetime::SharedByClients => PoolSize::default(),
    };
    Ok(Pools::start(launcher(minimum)?, size))
}

/// Error of a command whose call was rejected or failed, with the exit status of its code.
pub(crate) fn call_error(error: &CallError) -> CommandError {
    // An error of a server's start does not name the server, of which a user has several.
    let message = match &error.server {
        Some(server)
            if error.code == CallCode::ServerUnavailable
                && !error.message.contains(&format!("`{server}`")) =>
        {
            format!("server `{server}`: {}", error.message)
        }
        Some(_) | None => error.message.clone(),
    };
    let failure = CommandError::new(ExitStatus::of_call(error.code), anyhow!("{message}"));
    match (&error.hint, &error.server) {
        (Some(hint), _) => failure.with_hint(hint.as_str()),
        (None, Some(server)) if error.code == CallCode::ServerUnavailable => failure.with_hint(
            format!("run `limbeck tools {}` to see its entry", quoted(server)),
        ),
        (None, _) => failure,
    }
}
