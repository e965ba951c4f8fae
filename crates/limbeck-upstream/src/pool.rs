//! All servers of a gateway.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::join_all;
use limbeck_domain::{ReadMethod, ServerName};
use limbeck_policy::{Permit, ReadPermit, ReadRequest};
use tokio::sync::broadcast;

use crate::changes::{Changes, EVENTS_BEHIND_MAX};
use crate::era::{EraMemory, Target};
use crate::listener::Ears;
use crate::principals::Shared;
use crate::{
    Answers, CallContext, Era, PoolEvent, RawResult, RawToolResult, ServerReport, ServerSpec,
    ServerState, ToolList, Traffic, TransportSpec, Unusable, Upstream, UpstreamError, Watch,
};

/// The servers behind one gateway, started when they are first needed.
///
/// The set is fixed when the pool is shared; every method takes `&self` and may be called from many
/// tasks at once.
pub struct Pool {
    servers: BTreeMap<ServerName, Entry>,
    events: broadcast::Sender<PoolEvent>,
}

/// What holds for every server of a pool.
#[derive(Clone, Copy, Debug, Default)]
pub struct PoolOptions {
    /// What servers are told that they may ask for. Fixed, because servers offer other tools to clients that
    /// can be asked. Whether a question is really answered depends on the caller of each call.
    pub declares: Answers,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.servers.keys()).finish()
    }
}

enum Entry {
    Server(Shared),
    InProcess(Arc<dyn Upstream>),
    Disabled,
    Unusable(Unusable),
}

impl Pool {
    /// A pool of `servers` that is asked nothing. Starts nothing. Of two with the same name the later one stays.
    pub fn new(servers: Vec<ServerSpec>) -> Self {
        Self::with_options(servers, &PoolOptions::default())
    }

    /// The same with other options.
    pub fn with_options(servers: Vec<ServerSpec>, options: &PoolOptions) -> Self {
        let memory = Arc::<EraMemory>::default();
        let (events, _) = broadcast::channel(EVENTS_BEHIND_MAX);
        let servers = servers
            .into_iter()
            .map(|spec| {
                let ears = Arc::new(Ears {
                    server: spec.name.clone(),
                    declares: options.declares,
                    changes: Changes::new(spec.name.clone(), events.clone()),
                });
                (spec.name.clone(), entry(spec, &memory, ears))
            })
            .collect();
        Self { servers, events }
    }

    /// What the servers announce from now on. A receiver that falls behind misses events and hears that it
    /// did; whoever misses some takes everything as changed.
    pub fn subscribe(&self) -> broadcast::Receiver<PoolEvent> {
        self.events.subscribe()
    }

    /// Adds a server that lives in this process, replacing one of the same name.
    #[must_use]
    pub fn with_upstream(
        mut self,
        name: impl Into<ServerName>,
        upstream: Arc<dyn Upstream>,
    ) -> Self {
        self.servers.insert(name.into(), Entry::InProcess(upstream));
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
        let upstream = self.upstream(&permit.call().tool.server, context.principal.as_ref())?;
        upstream.call(permit, context).await
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

    /// Has a server announce changes of the resource that a permitted `resources/read` names, starting it when
    /// needed, until the watch is dropped. They come as [`PoolEvent::ResourceUpdated`]. A server that knows no
    /// subscriptions, or has no such resource, announces nothing.
    ///
    /// # Errors
    ///
    /// Any [`UpstreamError`] of starting; [`UpstreamError::InvalidArguments`] when the permit is for another
    /// method.
    pub async fn watch(
        &self,
        permit: ReadPermit,
        principal: Option<&Arc<str>>,
    ) -> Result<Watch, UpstreamError> {
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

    /// Where a server stands.
    pub fn state(&self, server: &ServerName) -> ServerState {
        self.report(server).state
    }

    /// Where a server stands, with its last failure and the end of its standard error.
    pub fn report(&self, server: &ServerName) -> ServerReport {
        let state = match self.servers.get(server) {
            Some(Entry::Server(server)) => return server.report(),
            None => ServerState::NotConfigured,
            Some(Entry::InProcess(_)) => ServerState::Ready {
                era: Era::Modern,
                protocol: String::new(),
                server: None,
            },
            Some(Entry::Disabled) => ServerState::Disabled,
            Some(Entry::Unusable(unusable)) => ServerState::Unusable(unusable.clone()),
        };
        ServerReport {
            transport: match self.servers.get(server) {
                Some(Entry::InProcess(_)) => "in-process",
                _ => "none",
            },
            next_step: match &state {
                ServerState::Disabled => UpstreamError::Disabled.next_step(server),
                ServerState::Unusable(unusable) => unusable.next_step.clone(),
                _ => None,
            },
            state,
            last_error: None,
            under_way: 0,
            queued: 0,
            stderr_tail: String::new(),
            traffic: Traffic::default(),
        }
    }

    /// Stops every server; calls under way fail. When it returns no child process is left.
    pub async fn shutdown(&self) {
        join_all(self.servers.values().filter_map(|entry| match entry {
            Entry::Server(server) => Some(server.shutdown().boxed()),
            Entry::InProcess(upstream) => Some(upstream.shutdown()),
            Entry::Disabled | Entry::Unusable(_) => None,
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
            Some(Entry::Server(server)) => Ok(server.of(principal)?),
            Some(Entry::InProcess(upstream)) => Ok(upstream.clone()),
            Some(Entry::Disabled) => Err(UpstreamError::Disabled),
            Some(Entry::Unusable(unusable)) => Err(UpstreamError::Unusable(unusable.clone())),
        }
    }
}

fn entry(spec: ServerSpec, memory: &Arc<EraMemory>, ears: Arc<Ears>) -> Entry {
    if spec.disabled {
        return Entry::Disabled;
    }
    match spec.transport.clone() {
        TransportSpec::Stdio(stdio) => {
            let target = Target::Process(stdio);
            Entry::Server(Shared::new(spec, target, memory.clone(), ears))
        }
        TransportSpec::Http(http) => {
            let target = Target::Http(http);
            Entry::Server(Shared::new(spec, target, memory.clone(), ears))
        }
        TransportSpec::Unusable(unusable) => Entry::Unusable(unusable),
    }
}
