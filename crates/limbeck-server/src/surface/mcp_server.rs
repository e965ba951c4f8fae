//! The MCP server of a gateway, which makes the surface of each client.

use std::sync::Arc;
use std::time::Instant;

use limbeck_gateway::Gateway;

use super::client_surface::Surface;
use super::compat::earlier_settings::RateCounts;
use super::compat::options::CompatOptions;
use super::exchange::SuspendedExchanges;
use super::exposed_tools::ExposedToolsCache;
use super::running_tasks::RunningTasks;

/// MCP server over one gateway: makes a [`Surface`] for each connection. Clones share it.
#[derive(Clone, Debug)]
pub struct McpServer {
    gateway: Gateway,
    exchanges: Arc<SuspendedExchanges>,
    running_tasks: RunningTasks,
    exposed_tools_cache: Arc<ExposedToolsCache>,
    compat: Arc<CompatOptions>,
    rates: RateCounts,
    started: Instant,
    /// Where it is served, for `limbeck health`; `None` for standard input and output.
    address: Option<Arc<str>>,
}

impl McpServer {
    /// A server for the clients of `gateway`.
    pub fn new(gateway: Gateway) -> Self {
        Self {
            gateway,
            exchanges: Arc::default(),
            running_tasks: RunningTasks::default(),
            exposed_tools_cache: Arc::default(),
            compat: Arc::default(),
            rates: RateCounts::default(),
            started: Instant::now(),
            address: None,
        }
    }

    /// Lists the tools of earlier systems as `options` say.
    #[must_use]
    pub fn with_compat(mut self, options: CompatOptions) -> Self {
        self.compat = Arc::new(options);
        self
    }

    /// The same server, which says that it is served at `address`.
    #[must_use]
    pub fn at(mut self, address: &str) -> Self {
        self.address = Some(address.into());
        self
    }

    /// The gateway that it serves.
    pub(crate) fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    /// How the gateway is, for `limbeck health`: `pipes` is the number of clients of other processes.
    #[cfg(unix)]
    pub(crate) fn health(&self, pipes: usize) -> serde_json::Value {
        let (running, waiting) = self.gateway.load();
        serde_json::json!({
            "status": "serving",
            "version": env!("CARGO_PKG_VERSION"),
            "pid": std::process::id(),
            "address": self.address.as_deref().unwrap_or("stdio"),
            "uptime_s": self.started.elapsed().as_secs(),
            "clients": pipes,
            "running": running,
            "waiting": waiting,
        })
    }

    /// The surface of one connection of `principal`: executions belong to that principal, count against
    /// its limits and see its `store`.
    pub fn surface(&self, principal: impl Into<Arc<str>>) -> Surface {
        let principal = principal.into();
        Surface {
            gateway: self.gateway.clone().used_by(&principal),
            principal,
            session: Arc::default(),
            exchanges: Arc::clone(&self.exchanges),
            running_tasks: self.running_tasks.clone(),
            exposed_tools_cache: Arc::clone(&self.exposed_tools_cache),
            compat: Arc::clone(&self.compat),
            rates: self.rates.clone(),
            started: self.started,
            begun: None,
        }
    }
}
