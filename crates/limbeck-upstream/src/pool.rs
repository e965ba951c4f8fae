//! Pool of all upstream servers of a gateway.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::join_all;
use limbeck_domain::{ReadMethod, ServerName};
use limbeck_policy::{Permit, ReadPermit, ReadRequest};
use tokio::sync::broadcast;

use crate::call_context::CallContext;
use crate::change_throttle::PoolEvent;
use crate::change_throttle::{ChangeThrottle, EVENTS_BEHIND_MAX};
use crate::error::UpstreamError;
use crate::negotiate::cache::NegotiationCache;
use crate::negotiate::target::Target;
use crate::principal_connections::PrincipalConnections;
use crate::protocol::ProtocolGeneration;
use crate::report::{ServerDiagnostics, ServerState, ToolList, TrafficCounts};
use crate::server_messages::NotificationSink;
use crate::server_request::ClientCapabilities;
use crate::spec::{ServerSpec, TransportSpec};
use crate::turns::Turn;
use crate::unusable::UnusableServer;
use crate::upstream::{RawResult, RawToolResult, Upstream};
use crate::watch::ResourceWatch;

/// Upstream servers of one gateway, started when they are first needed.
///
/// The set is fixed when the pool is shared; every method takes `&self` and may be called from many
/// tasks at once.
pub struct UpstreamPool {
    servers: BTreeMap<ServerName, PoolEntry>,
    events: broadcast::Sender<PoolEvent>,
}

/// Options for all servers of a pool.
#[derive(Clone, Copy, Debug, Default)]
pub struct PoolOptions {
    /// Capabilities declared to every server. They are fixed, because servers offer other tools to clients with
    /// other capabilities. Whether a request is answered depends on the observer of each call.
    pub declares: ClientCapabilities,
    /// Whether principals besides the user who runs the gateway make calls. What a server writes to its standard
    /// error during calls may hold their arguments, and errors of its start name paths of the host: errors then have
    /// neither, and the log has both.
    pub is_shared: bool,
}

impl std::fmt::Debug for UpstreamPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.servers.keys()).finish()
    }
}

enum PoolEntry {
    Server(PrincipalConnections),
    InProcess(Arc<dyn Upstream>),
    Disabled,
    Unusable(UnusableServer),
}

impl UpstreamPool {
    /// Creates a pool with default options. Starts nothing. Of two servers with the same name the later one is
    /// kept.
    pub fn new(servers: Vec<ServerSpec>) -> Self {
        Self::with_options(servers, &PoolOptions::default())
    }

    /// Creates a pool with `options`. Starts nothing. Of two servers with the same name the later one is kept.
    pub fn with_options(servers: Vec<ServerSpec>, options: &PoolOptions) -> Self {
        let cache = Arc::<NegotiationCache>::default();
        let (events, _) = broadcast::channel(EVENTS_BEHIND_MAX);
        let servers = servers
            .into_iter()
            .map(|spec| {
                let changes = ChangeThrottle::new(spec.name.clone(), events.clone());
                let sink = NotificationSink {
                    is_shared: options.is_shared,
                    ..NotificationSink::new(spec.name.clone(), options.declares, changes)
                };
                let sink = Arc::new(sink);
                (spec.name.clone(), entry(spec, &cache, sink))
            })
            .collect();
        Self { servers, events }
    }

    /// Subscribes to changes that servers announce from now on. A receiver that falls behind gets a `Lagged`
    /// error and should treat everything as changed.
    pub fn subscribe(&self) -> broadcast::Receiver<PoolEvent> {
        self.events.subscribe()
    }

    /// Adds an in-process server, replacing one of the same name.
    #[must_use]
    pub fn with_upstream(
        mut self,
        name: impl Into<ServerName>,
        upstream: Arc<dyn Upstream>,
    ) -> Self {
        self.servers
            .insert(name.into(), PoolEntry::InProcess(upstream));
        self
    }

    /// Names of all servers, sorted, disabled and unusable ones included.
    pub fn names(&self) -> Vec<ServerName> {
        self.servers.keys().cloned().collect()
    }

    /// Lists the tools of a server, starting it when needed. Many callers share one start.
    ///
    /// # Errors
    ///
    /// Any [`UpstreamError`] of starting and listing.
    pub async fn list_tools(&self, server: &ServerName) -> Result<ToolList, UpstreamError> {
        self.upstream(server, None)?.list_tools().await
    }

    /// Sends the permitted call once, starting its server when needed, and waits for the result.
    ///
    /// # Errors
    ///
    /// Any [`UpstreamError`]; after [`UpstreamError::CallTimeout`], [`UpstreamError::ConnectionLost`] and
    /// [`UpstreamError::Cancelled`] the call may have had its effect.
    pub async fn call(
        &self,
        permit: Permit,
        context: CallContext,
    ) -> Result<RawToolResult, UpstreamError> {
        // The server comes from the permit, never from the caller, so a permit cannot be used elsewhere.
        let upstream = self.upstream(&permit.call().tool.server, context.principal.as_ref())?;
        upstream.call(permit, context).await
    }

    /// Waits for a place of `principal` among the calls that a server serves at a time, so that a call can be
    /// recorded when it is about to be sent. `None` where there is no such bound, or where the call itself is refused.
    /// Dropping the future leaves the queue.
    pub async fn place(
        &self,
        server: &ServerName,
        principal: Option<&Arc<str>>,
    ) -> Option<Arc<Turn>> {
        let Some(PoolEntry::Server(server)) = self.servers.get(server) else {
            return None;
        };
        let server = server.of(principal).ok()?;
        Some(Arc::new(server.place(principal).await))
    }

    /// Sends a permitted read once, starting its server when needed, and waits for the result.
    ///
    /// # Errors
    ///
    /// Any [`UpstreamError`].
    pub async fn request(
        &self,
        permit: ReadPermit,
        context: CallContext,
    ) -> Result<RawResult, UpstreamError> {
        let upstream = self.upstream(&permit.request().server, context.principal.as_ref())?;
        upstream.request(permit, context).await
    }

    /// Subscribes to changes of the resource that a permitted `resources/read` names, starting the server when
    /// needed, until the watch is dropped. Changes arrive as [`PoolEvent::ResourceUpdated`]. A server without
    /// subscriptions, or without that resource, sends none.
    ///
    /// # Errors
    ///
    /// Any [`UpstreamError`] of starting; [`UpstreamError::InvalidArguments`] when the permit is for another
    /// method.
    pub async fn watch(
        &self,
        permit: ReadPermit,
        principal: Option<&Arc<str>>,
    ) -> Result<ResourceWatch, UpstreamError> {
        #[derive(serde::Deserialize)]
        struct Resource {
            uri: String,
        }
        let ReadRequest {
            server,
            method,
            params,
        } = permit.spend();
        let resource = match method {
            ReadMethod::ReadResource => serde_json::from_str::<Resource>(&params).ok(),
            _ => None,
        };
        let Some(Resource { uri }) = resource else {
            return Err(UpstreamError::InvalidArguments {
                reason: "they name no resource".to_owned(),
            });
        };
        self.upstream(&server, principal)?.watch(uri).await
    }

    /// Calls that a server serves at the same time; `None` for one without such a bound.
    pub fn concurrency(&self, server: &ServerName) -> Option<usize> {
        match self.servers.get(server)? {
            PoolEntry::Server(server) => Some(server.concurrency()),
            PoolEntry::InProcess(_) | PoolEntry::Disabled | PoolEntry::Unusable(_) => None,
        }
    }

    /// Returns the state of a server.
    pub fn state(&self, server: &ServerName) -> ServerState {
        self.report(server).state
    }

    /// Returns the state of a server with its last failure and the end of its standard error.
    pub fn report(&self, server: &ServerName) -> ServerDiagnostics {
        let state = match self.servers.get(server) {
            Some(PoolEntry::Server(server)) => return server.report(),
            None => ServerState::NotConfigured,
            Some(PoolEntry::InProcess(_)) => ServerState::Ready {
                generation: ProtocolGeneration::Modern,
                protocol: String::new(),
                server: None,
            },
            Some(PoolEntry::Disabled) => ServerState::Disabled,
            Some(PoolEntry::Unusable(unusable)) => ServerState::Unusable(unusable.clone()),
        };
        ServerDiagnostics {
            transport: match self.servers.get(server) {
                Some(PoolEntry::InProcess(_)) => "in-process",
                _ => "none",
            },
            next_step: match &state {
                ServerState::Disabled => UpstreamError::Disabled.next_step(server),
                ServerState::Unusable(unusable) => unusable.next_step.clone(),
                _ => None,
            },
            state,
            last_error: None,
            in_flight: 0,
            queued: 0,
            stderr_tail: String::new(),
            traffic: TrafficCounts::default(),
        }
    }

    /// Stops every server; calls in flight fail. When it returns no child process is left.
    pub async fn shutdown(&self) {
        join_all(self.servers.values().filter_map(|entry| match entry {
            PoolEntry::Server(server) => Some(server.shutdown().boxed()),
            PoolEntry::InProcess(upstream) => Some(upstream.shutdown()),
            PoolEntry::Disabled | PoolEntry::Unusable(_) => None,
        }))
        .await;
    }

    fn upstream(
        &self,
        server: &ServerName,
        principal: Option<&Arc<str>>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError> {
        match self.servers.get(server) {
            None => Err(UpstreamError::NotConfigured {
                server: server.clone(),
            }),
            Some(PoolEntry::Server(server)) => Ok(server.of(principal)?),
            Some(PoolEntry::InProcess(upstream)) => Ok(upstream.clone()),
            Some(PoolEntry::Disabled) => Err(UpstreamError::Disabled),
            Some(PoolEntry::Unusable(unusable)) => Err(UpstreamError::Unusable(unusable.clone())),
        }
    }
}

fn entry(
    spec: ServerSpec,
    cache: &Arc<NegotiationCache>,
    sink: Arc<NotificationSink>,
) -> PoolEntry {
    if spec.disabled {
        return PoolEntry::Disabled;
    }
    match spec.transport.clone() {
        TransportSpec::Stdio(stdio) => {
            let target = Target::Process(stdio);
            PoolEntry::Server(PrincipalConnections::new(spec, target, cache.clone(), sink))
        }
        TransportSpec::Http(http) => {
            let target = Target::Http(http);
            PoolEntry::Server(PrincipalConnections::new(spec, target, cache.clone(), sink))
        }
        TransportSpec::Unusable(unusable) => PoolEntry::Unusable(unusable),
    }
}
