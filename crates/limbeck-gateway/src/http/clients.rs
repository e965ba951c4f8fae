//! Who is connected: for each principal the SDK's HTTP service, its sessions and what it has under way.
//!
//! Nothing is shared between two principals. One that has nothing open any more is forgotten, so an
//! identity provider with many users costs no more than those that are here.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use limbeck_domain::limits::HTTP_BODY_BYTES_MAX;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::bounds::HttpBounds;
use super::sessions::{SessionCount, Sessions};
use crate::Gateway;
use crate::surface::Surface;

/// All principals that have something open.
#[derive(Debug)]
pub(crate) struct Clients {
    gateway: Gateway,
    by_principal: Mutex<HashMap<Arc<str>, Arc<Client>>>,
    sessions: Arc<SessionCount>,
    bounds: HttpBounds,
    /// Ends every stream and session when cancelled.
    ended: CancellationToken,
}

/// One principal.
pub(crate) struct Client {
    pub(crate) service: StreamableHttpService<Surface, Sessions>,
    pub(crate) sessions: Arc<Sessions>,
    requests: AtomicUsize,
}

/// A request of a principal, under way until it is dropped.
#[derive(Debug)]
pub(crate) struct UnderWay(Arc<Client>);

/// There are too many of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TooMany {
    /// Principals, for this gateway.
    Principals,
    /// Requests, of this principal.
    Requests,
}

impl Clients {
    pub(crate) fn new(gateway: Gateway, bounds: HttpBounds, ended: CancellationToken) -> Self {
        Self {
            gateway,
            by_principal: Mutex::default(),
            sessions: Arc::default(),
            bounds,
            ended,
        }
    }

    /// Takes on a request of `principal`.
    pub(crate) fn enter(&self, principal: &Arc<str>) -> Result<UnderWay, TooMany> {
        let client = self.client(principal)?;
        // Counted under no lock: a principal that asks for more than it may hears so a request late.
        let under_way = UnderWay(client);
        let before = under_way.0.requests.fetch_add(1, Ordering::AcqRel);
        if before >= self.bounds.requests_each {
            return Err(TooMany::Requests);
        }
        Ok(under_way)
    }

    /// Sessions of all principals.
    pub(crate) fn sessions(&self) -> usize {
        self.sessions.get()
    }

    /// Requests under way of all principals.
    pub(crate) fn requests(&self) -> usize {
        let clients = self.clients();
        let requests = clients.values().map(|client| client.requests());
        requests.sum()
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Client>>> {
        let clients = self.by_principal.lock();
        clients.unwrap_or_else(PoisonError::into_inner)
    }

    fn client(&self, principal: &Arc<str>) -> Result<Arc<Client>, TooMany> {
        let mut clients = self.clients();
        if let Some(client) = clients.get(principal) {
            return Ok(Arc::clone(client));
        }
        if clients.len() >= self.bounds.principals {
            clients
                .retain(|_, client| Arc::strong_count(client) > 1 || !client.sessions.is_empty());
        }
        if clients.len() >= self.bounds.principals {
            return Err(TooMany::Principals);
        }
        let client = Arc::new(self.new_client(Arc::clone(principal)));
        clients.insert(Arc::clone(principal), Arc::clone(&client));
        Ok(client)
    }

    fn new_client(&self, principal: Arc<str>) -> Client {
        let sessions = Arc::new(Sessions::new(Arc::clone(&self.sessions), self.bounds));
        let gateway = self.gateway.clone();
        let surface = move || Ok(Surface::new(gateway.clone(), Arc::clone(&principal)));
        // Host and Origin were checked before the SDK sees a request, those of pages it does not serve
        // included.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_json_response(true)
            .with_sse_keep_alive(Some(self.bounds.sign_of_life))
            .with_max_request_body_bytes(HTTP_BODY_BYTES_MAX)
            .with_cancellation_token(self.ended.clone());
        Client {
            service: StreamableHttpService::new(surface, Arc::clone(&sessions), config),
            sessions,
            requests: AtomicUsize::new(0),
        }
    }
}

impl Client {
    fn requests(&self) -> usize {
        self.requests.load(Ordering::Acquire)
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("sessions", &self.sessions)
            .field("requests", &self.requests)
            .finish_non_exhaustive()
    }
}

impl UnderWay {
    /// Whose it is.
    pub(crate) fn client(&self) -> &Arc<Client> {
        &self.0
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::AcqRel);
    }
}
