//! Pool of all upstream servers of a gateway.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

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
use crate::redaction::Redaction;
use crate::report::{ServerDiagnostics, ServerState, ToolList, TrafficCounts};
use crate::server_messages::NotificationSink;
use crate::server_request::ClientCapabilities;
use crate::spec::{ServerSpec, TransportSpec};
use crate::stdio::guard::ServerGuard;
use crate::sync::lock;
use crate::turns::Turn;
use crate::unusable::UnusableServer;
use crate::upstream::{RawResult, RawToolResult, Upstream};
use crate::watch::ResourceWatch;

/// Upstream servers of one gateway, started when they are first needed.
///
/// Every method takes `&self` and may be called from many tasks at once. The set of servers changes only by
/// [`UpstreamPool::change`].
pub struct UpstreamPool {
    servers: RwLock<BTreeMap<ServerName, Arc<PoolEntry>>>,
    /// Servers that were taken out of the set and may not have ended yet.
    retired: Mutex<Vec<Arc<PoolEntry>>>,
    events: broadcast::Sender<PoolEvent>,
    cache: Arc<NegotiationCache>,
    options: PoolOptions,
    guard: Arc<ServerGuard>,
}

/// Options for all servers of a pool.
#[derive(Clone, Debug, Default)]
pub struct PoolOptions {
    /// Capabilities declared to every server. They are fixed, because servers offer other tools to clients with
    /// other capabilities. Whether a request is answered depends on the observer of each call.
    pub declares: ClientCapabilities,
    /// Whether principals besides the user who runs the gateway make calls. What a server writes to its standard
    /// error during calls may hold their arguments, and errors of its start name paths of the host: errors then have
    /// neither, and the log has both.
    pub is_shared: bool,
    /// The gateway's executable, which is also the process that ends the servers when the gateway is killed; see
    /// [`crate::run_server_guard`]. Without it a server that works outlives a gateway that is killed.
    pub guard: Option<PathBuf>,
    /// What is taken out of texts that leave this process. The gateway passes it on to what serves clients.
    pub redaction: Redaction,
}

impl std::fmt::Debug for UpstreamPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
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
        let (events, _) = broadcast::channel(EVENTS_BEHIND_MAX);
        let pool = Self {
            servers: RwLock::default(),
            retired: Mutex::default(),
            events,
            cache: Arc::default(),
            options: options.clone(),
            guard: ServerGuard::new(options.guard.clone()),
        };
        pool.change(&[], servers);
        pool
    }

    /// What is taken out of texts that leave this process.
    pub fn redaction(&self) -> &Redaction {
        &self.options.redaction
    }

    /// Takes `removed` out of the set and adds `added`, each in the place of a server with its name. Starts nothing.
    ///
    /// What was taken out is reached by no further call; it ends with [`UpstreamPool::end_retired`].
    pub fn change(&self, removed: &[ServerName], added: Vec<ServerSpec>) {
        let added: Vec<(ServerName, Arc<PoolEntry>)> = added
            .into_iter()
            .map(|spec| (spec.name.clone(), Arc::new(self.entry(spec))))
            .collect();
        let mut servers = self.servers.write().unwrap_or_else(PoisonError::into_inner);
        let mut retired: Vec<Arc<PoolEntry>> = Vec::new();
        retired.extend(removed.iter().filter_map(|name| servers.remove(name)));
        for (name, entry) in added {
            retired.extend(servers.insert(name, entry));
        }
        drop(servers);
        // Kept, so that a shutdown of the pool leaves none of their processes.
        lock(&self.retired).extend(retired);
    }

    /// Ends the servers that were taken out of the set; their calls in flight fail. When it returns they have no process.
    pub async fn end_retired(&self) {
        let ending: Vec<Arc<PoolEntry>> = lock(&self.retired).clone();
        join_all(ending.iter().map(|entry| entry.shutdown())).await;
        lock(&self.retired).retain(|kept| !ending.iter().any(|ended| Arc::ptr_eq(kept, ended)));
    }

    /// Subscribes to changes that servers announce from now on. A receiver that falls behind gets a `Lagged`
    /// error and should treat everything as changed.
    pub fn subscribe(&self) -> broadcast::Receiver<PoolEvent> {
        self.events.subscribe()
    }

    /// Adds an in-process server, replacing one of the same name.
    #[must_use]
    pub fn with_upstream(self, name: impl Into<ServerName>, upstream: Arc<dyn Upstream>) -> Self {
        let entry = Arc::new(PoolEntry::InProcess(upstream));
        self.servers
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name.into(), entry);
        self
    }

    /// Names of all servers, sorted, disabled and unusable ones included.
    pub fn names(&self) -> Vec<ServerName> {
        self.servers().keys().cloned().collect()
    }

    /// Lists the tools of a server, starting it when needed. Many callers share one start.
    ///
    /// # Errors
    ///
    /// Any [`UpstreamError`] of starting and listing.
    pub async fn list_tools(&self, server: &ServerName) -> Result<ToolList, UpstreamError> {
        self.entry_of(server)?.upstream(None)?.list_tools().await
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
        let entry = self.entry_of(&permit.call().tool.server)?;
        let upstream = entry.upstream(context.principal.as_ref())?;
        entry
            .hand_over(context, |context| upstream.call(permit, context))
            .await
    }

    /// Waits for a place of `principal` among the calls that a server serves at a time, so that a call can be
    /// recorded when it is about to be sent. `None` where there is no such bound, or where the call itself is refused.
    /// Dropping the future leaves the queue.
    pub async fn place(
        &self,
        server: &ServerName,
        principal: Option<&Arc<str>>,
    ) -> Option<Arc<Turn>> {
        let entry = self.entry_of(server).ok()?;
        let PoolEntry::Server(server) = &*entry else {
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
        let entry = self.entry_of(&permit.request().server)?;
        let upstream = entry.upstream(context.principal.as_ref())?;
        entry
            .hand_over(context, |context| upstream.request(permit, context))
            .await
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
        let upstream = self.entry_of(&server)?.upstream(principal)?;
        upstream.watch(uri).await
    }

    /// Calls that a server serves at the same time; `None` for one without such a bound.
    pub fn concurrency(&self, server: &ServerName) -> Option<usize> {
        match &*self.entry_of(server).ok()? {
            PoolEntry::Server(server) => Some(server.concurrency()),
            PoolEntry::InProcess(_) | PoolEntry::Disabled | PoolEntry::Unusable(_) => None,
        }
    }

    /// Number of the connection over which a server's tools are listed; another number is another connection, perhaps to
    /// another version of the server. `None` without one at this moment.
    pub fn connection_number(&self, server: &ServerName) -> Option<u64> {
        match &*self.entry_of(server).ok()? {
            PoolEntry::Server(server) => server.connection_number(),
            PoolEntry::InProcess(_) => Some(0),
            PoolEntry::Disabled | PoolEntry::Unusable(_) => None,
        }
    }

    /// Whether requests to a server have headers: it is reached over HTTP.
    pub fn has_headers(&self, server: &ServerName) -> bool {
        match self.entry_of(server).as_deref() {
            Ok(PoolEntry::Server(server)) => server.has_headers(),
            Ok(PoolEntry::InProcess(_) | PoolEntry::Disabled | PoolEntry::Unusable(_)) | Err(_) => {
                false
            }
        }
    }

    /// Returns the state of a server.
    pub fn state(&self, server: &ServerName) -> ServerState {
        self.report(server).state
    }

    /// Returns the state of a server with its last failure and the end of its standard error.
    pub fn report(&self, server: &ServerName) -> ServerDiagnostics {
        let entry = self.servers().get(server).cloned();
        let (state, transport) = match entry.as_deref() {
            Some(PoolEntry::Server(server)) => return server.report(),
            None => (ServerState::NotConfigured, "none"),
            Some(PoolEntry::InProcess(_)) => {
                let state = ServerState::Ready {
                    generation: ProtocolGeneration::Modern,
                    protocol: String::new(),
                    server: None,
                };
                (state, "in-process")
            }
            Some(PoolEntry::Disabled) => (ServerState::Disabled, "none"),
            Some(PoolEntry::Unusable(unusable)) => {
                (ServerState::Unusable(unusable.clone()), "none")
            }
        };
        ServerDiagnostics {
            transport,
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
        let all: Vec<Arc<PoolEntry>> = self.servers().values().cloned().collect();
        let ended = join_all(all.iter().map(|entry| entry.shutdown()));
        futures::join!(ended, self.end_retired());
        self.guard.close().await;
    }

    fn servers(&self) -> RwLockReadGuard<'_, BTreeMap<ServerName, Arc<PoolEntry>>> {
        self.servers.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn entry_of(&self, server: &ServerName) -> Result<Arc<PoolEntry>, UpstreamError> {
        let entry = self.servers().get(server).cloned();
        entry.ok_or_else(|| UpstreamError::NotConfigured {
            server: server.clone(),
        })
    }

    fn entry(&self, spec: ServerSpec) -> PoolEntry {
        if spec.disabled {
            return PoolEntry::Disabled;
        }
        let target = match spec.transport.clone() {
            TransportSpec::Stdio(stdio) => Target::Process(stdio),
            TransportSpec::Http(http) => Target::Http(http),
            TransportSpec::Unusable(unusable) => return PoolEntry::Unusable(unusable),
        };
        let changes = ChangeThrottle::new(spec.name.clone(), self.events.clone());
        let sink = NotificationSink {
            is_shared: self.options.is_shared,
            ..NotificationSink::new(spec.name.clone(), self.options.declares, changes)
        };
        let cache = Arc::clone(&self.cache);
        PoolEntry::Server(PrincipalConnections::new(
            spec,
            target,
            cache,
            Arc::new(sink),
            Arc::clone(&self.guard),
        ))
    }
}

impl PoolEntry {
    fn upstream(&self, principal: Option<&Arc<str>>) -> Result<Arc<dyn Upstream>, UpstreamError> {
        match self {
            Self::Server(server) => Ok(server.of(principal)?),
            Self::InProcess(upstream) => Ok(Arc::clone(upstream)),
            Self::Disabled => Err(UpstreamError::Disabled),
            Self::Unusable(unusable) => Err(UpstreamError::Unusable(unusable.clone())),
        }
    }

    /// Sends a request. A server of the pool uses the pass of `context` when its connection is there, one in this process
    /// is reached at once.
    async fn hand_over<T, F>(
        &self,
        context: CallContext,
        send: impl FnOnce(CallContext) -> F,
    ) -> Result<T, UpstreamError>
    where
        F: Future<Output = Result<T, UpstreamError>>,
    {
        match self {
            Self::InProcess(_) => {
                let pass = context.pass.clone();
                let sent = pass.hand_over(|| send(context)).await;
                sent.unwrap_or(Err(UpstreamError::CancelledUnsent))
            }
            Self::Server(_) | Self::Disabled | Self::Unusable(_) => send(context).await,
        }
    }

    async fn shutdown(&self) {
        match self {
            Self::Server(server) => server.shutdown().await,
            Self::InProcess(upstream) => upstream.shutdown().await,
            Self::Disabled | Self::Unusable(_) => {}
        }
    }
}
