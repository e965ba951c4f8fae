//! Connected principals: for each the SDK's HTTP service, its sessions and its requests in flight.
//!
//! Principals share nothing. The state of a principal without sessions and requests is dropped when room is
//! needed, so memory grows with the users that are connected and not with all users of an identity provider.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use limbeck_domain::limits::HTTP_BODY_BYTES_MAX;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::http_bounds::HttpBounds;
use super::sessions::{PrincipalSessions, SessionCount};
use crate::surface::{CompatOptions, McpServer, Surface};
use limbeck_gateway::Gateway;

/// State of all principals with sessions or requests.
#[derive(Debug)]
pub(crate) struct PrincipalClients {
    server: McpServer,
    by_principal: Mutex<HashMap<Arc<str>, Arc<PrincipalClient>>>,
    sessions: Arc<SessionCount>,
    bounds: HttpBounds,
    /// Ends every stream and session when cancelled.
    ended: CancellationToken,
}

/// State of one principal.
pub(crate) struct PrincipalClient {
    pub(crate) service: StreamableHttpService<Surface, PrincipalSessions>,
    pub(crate) sessions: Arc<PrincipalSessions>,
    requests: AtomicUsize,
}

/// Request in flight of a principal; counted until it is dropped.
#[derive(Debug)]
pub(crate) struct RequestGuard(Arc<PrincipalClient>);

/// Rejection of a request by a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientLimitError {
    /// Too many principals are connected.
    Principals,
    /// The principal has too many requests in flight.
    Requests,
}

impl PrincipalClients {
    pub(crate) fn new(
        gateway: Gateway,
        compat: CompatOptions,
        bounds: HttpBounds,
        ended: CancellationToken,
    ) -> Self {
        Self {
            server: McpServer::new(gateway).with_compat(compat),
            by_principal: Mutex::default(),
            sessions: Arc::default(),
            bounds,
            ended,
        }
    }

    /// Counts a request of `principal` until the guard is dropped.
    pub(crate) fn enter(&self, principal: &Arc<str>) -> Result<RequestGuard, ClientLimitError> {
        let client = self.client(principal)?;
        // In one step: a request that is rejected must not count, not even for a moment.
        let counted = add_below(&client.requests, self.bounds.requests_each);
        counted
            .then(|| RequestGuard(client))
            .ok_or(ClientLimitError::Requests)
    }

    /// Sessions of all principals.
    pub(crate) fn sessions(&self) -> usize {
        self.sessions.get()
    }

    /// Requests in flight of all principals.
    pub(crate) fn requests(&self) -> usize {
        let clients = self.clients();
        let requests = clients.values().map(|client| client.requests());
        requests.sum()
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<PrincipalClient>>> {
        let clients = self.by_principal.lock();
        clients.unwrap_or_else(PoisonError::into_inner)
    }

    fn client(&self, principal: &Arc<str>) -> Result<Arc<PrincipalClient>, ClientLimitError> {
        let mut clients = self.clients();
        if let Some(client) = clients.get(principal) {
            return Ok(Arc::clone(client));
        }
        if clients.len() >= self.bounds.principals {
            clients
                .retain(|_, client| Arc::strong_count(client) > 1 || !client.sessions.is_empty());
        }
        if clients.len() >= self.bounds.principals {
            return Err(ClientLimitError::Principals);
        }
        let client = Arc::new(self.new_client(Arc::clone(principal)));
        clients.insert(Arc::clone(principal), Arc::clone(&client));
        Ok(client)
    }

    fn new_client(&self, principal: Arc<str>) -> PrincipalClient {
        let sessions = Arc::new(PrincipalSessions::new(
            Arc::clone(&self.sessions),
            self.bounds,
        ));
        self.sessions.register(&sessions);
        let server = self.server.clone();
        let surface = move || Ok(server.surface(Arc::clone(&principal)));
        // `HttpService` has checked `Host` and `Origin` of every path already, not only of the SDK's.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_json_response(true)
            .with_sse_keep_alive(Some(self.bounds.keep_alive))
            .with_max_request_body_bytes(HTTP_BODY_BYTES_MAX)
            .with_cancellation_token(self.ended.clone());
        PrincipalClient {
            service: StreamableHttpService::new(surface, Arc::clone(&sessions), config),
            sessions,
            requests: AtomicUsize::new(0),
        }
    }
}

/// Adds one to `count` unless it has reached `max`; returns whether it did.
pub(super) fn add_below(count: &AtomicUsize, max: usize) -> bool {
    let add = |count: usize| (count < max).then_some(count + 1);
    count
        .fetch_update(Ordering::AcqRel, Ordering::Acquire, add)
        .is_ok()
}

impl PrincipalClient {
    fn requests(&self) -> usize {
        self.requests.load(Ordering::Acquire)
    }
}

impl std::fmt::Debug for PrincipalClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PrincipalClient")
            .field("sessions", &self.sessions)
            .field("requests", &self.requests)
            .finish_non_exhaustive()
    }
}

impl RequestGuard {
    /// State of its principal.
    pub(crate) fn client(&self) -> &Arc<PrincipalClient> {
        &self.0
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::AcqRel);
    }
}
