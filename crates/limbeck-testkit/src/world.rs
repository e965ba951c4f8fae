//! Builder of a gateway over fake servers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use limbeck_domain::{Expose, ServerName, Tier, ToolRules, limits};
use limbeck_gateway::{Bounds, Gateway, GatewayConfig, ModelsConfig, PinLock, ServerSource};
use limbeck_launcher::{Launcher, PoolSize, Pools, WorkerProgram};
use limbeck_policy::{Classes, Policy};
use limbeck_store::Store;
use limbeck_upstream::embeddings::EmbeddingsSpec;
use limbeck_upstream::{ClientCapabilities, PoolOptions, ServerSpec, UpstreamPool};

use crate::fake_server::{FakeServer, SilentServer};

/// Builder of a gateway with fake servers.
#[derive(Debug)]
pub struct World {
    worker: PathBuf,
    servers: Vec<Arc<FakeServer>>,
    silent: Vec<String>,
    processes: Vec<ServerSpec>,
    store: Option<Store>,
    pool: PoolSize,
    launcher: Option<Launcher>,
    bounds: Bounds,
    expose: BTreeMap<ServerName, Expose>,
    embeddings: Option<EmbeddingsSpec>,
    models: ModelsConfig,
    policy: Option<Policy>,
}

impl World {
    /// Creates a world whose workers are the executable `worker`.
    pub fn new(worker: impl AsRef<Path>) -> Self {
        Self {
            worker: worker.as_ref().to_owned(),
            servers: Vec::new(),
            silent: Vec::new(),
            processes: Vec::new(),
            store: None,
            pool: PoolSize::default(),
            launcher: None,
            expose: BTreeMap::new(),
            bounds: Bounds::default(),
            embeddings: None,
            models: ModelsConfig::default(),
            policy: None,
        }
    }

    /// Adds a server.
    #[must_use]
    pub fn server(mut self, server: &Arc<FakeServer>) -> Self {
        self.servers.push(Arc::clone(server));
        self
    }

    /// Adds a server that never answers.
    #[must_use]
    pub fn silent(mut self, name: &str) -> Self {
        self.silent.push(name.to_owned());
        self
    }

    /// Adds a server that is a process. All client capabilities are declared to it.
    #[must_use]
    pub fn process(mut self, spec: ServerSpec) -> Self {
        self.processes.push(spec);
        self
    }

    /// Sets how the tools of a server are exposed; by default only programs see them.
    #[must_use]
    pub fn expose(mut self, server: &str, expose: Expose) -> Self {
        self.expose.insert(ServerName::from(server), expose);
        self
    }

    /// Journals into `store` instead of memory.
    #[must_use]
    pub fn store(mut self, store: Store) -> Self {
        self.store = Some(store);
        self
    }

    /// Keeps `size` workers ready.
    #[must_use]
    pub fn pool(mut self, size: PoolSize) -> Self {
        self.pool = size;
        self
    }

    /// Starts workers with `launcher`.
    #[must_use]
    pub fn launcher(mut self, launcher: Launcher) -> Self {
        self.launcher = Some(launcher);
        self
    }

    /// Sets the bounds of the gateway.
    #[must_use]
    pub fn bounds(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// Sets the rules about calls and the classes of tools. Without them every call is sent, and the operator trusts what the
    /// servers say of their tools.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Lets programs ask these models.
    #[must_use]
    pub fn models(mut self, models: ModelsConfig) -> Self {
        self.models = models;
        self
    }

    /// Uses an embedding endpoint for the search.
    #[must_use]
    pub fn embeddings(mut self, spec: EmbeddingsSpec) -> Self {
        self.embeddings = Some(spec);
        self
    }

    /// Starts the gateway; it uses no worker below [`Tier::MINIMUM_DEFAULT`]. Must be called inside a Tokio runtime.
    ///
    /// # Panics
    ///
    /// When a store in memory cannot be made.
    pub async fn start(self) -> Gateway {
        let launcher = self.launcher.unwrap_or_else(|| {
            let program = WorkerProgram::new(self.worker);
            Launcher::new(program, Tier::MINIMUM_DEFAULT)
        });
        let mut sources: Vec<ServerSource> = self
            .processes
            .iter()
            .map(|spec| source(&spec.name))
            .collect();
        let options = PoolOptions {
            declares: ClientCapabilities::ALL,
            ..PoolOptions::default()
        };
        let mut upstreams = UpstreamPool::with_options(self.processes, &options);
        for server in self.servers {
            let name = server.name().clone();
            sources.push(source(&name));
            upstreams = upstreams.with_upstream(name, server);
        }
        for name in self.silent {
            let name = ServerName::from(name.as_str());
            sources.push(source(&name));
            upstreams = upstreams.with_upstream(name, Arc::new(SilentServer));
        }
        for source in &mut sources {
            source.expose = self.expose.get(&source.name).copied().unwrap_or_default();
        }
        let policy = self.policy.unwrap_or_else(|| trusting(&sources));
        let store = self
            .store
            .unwrap_or_else(|| Store::in_memory().expect("a store in memory needs nothing"));
        let config = GatewayConfig {
            workers: Pools::start(launcher, self.pool),
            upstreams,
            store,
            wall_ms: limits::WALL_MS_DEFAULT,
            wall_ms_max: limits::WALL_MS_MAX,
            sources,
            notices: Vec::new(),
            embeddings: self.embeddings,
            models: self.models,
            policy,
            client_listing: |_, _, _| serde_json::Value::Null,
            pin_lock: PinLock::default(),
        };
        Gateway::start_within(config, self.bounds).await
    }
}

/// No rules, and the word of every server about its tools.
fn trusting(sources: &[ServerSource]) -> Policy {
    let names = sources.iter().map(|source| source.name.clone()).collect();
    Policy {
        classes: Classes::new(Vec::new(), names).expect("no pattern"),
        ..Policy::default()
    }
}

fn source(name: &ServerName) -> ServerSource {
    ServerSource {
        name: name.clone(),
        source: "test".to_owned(),
        definition_hash: format!("test {name}"),
        expose: Expose::Code,
        observe: true,
        tool_rules: ToolRules::default(),
    }
}
