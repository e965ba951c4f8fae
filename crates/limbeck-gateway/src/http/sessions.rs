//! Sessions of the protocol's older revisions, those of one principal.
//!
//! Each principal has its own, so the id of a session is worth nothing in other hands: there is no such
//! session for them. Their number is bounded; beyond it the session that was quiet for longest is ended,
//! unless something of it is under way.
//!
//! The SDK keeps and serves sessions; this counts them.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use futures::Stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::server_side_http::{ServerSseMessage, SessionId};
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionConfig,
};

use super::bounds::HttpBounds;

/// Sessions of all principals.
#[derive(Debug, Default)]
pub(crate) struct SessionCount(AtomicUsize);

impl SessionCount {
    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// The sessions of one principal.
#[derive(Debug)]
pub(crate) struct Sessions {
    sdk: LocalSessionManager,
    known: Mutex<HashMap<SessionId, Arc<Mutex<Activity>>>>,
    count: Arc<SessionCount>,
    bounds: HttpBounds,
}

/// What a session does.
#[derive(Debug)]
struct Activity {
    streams: usize,
    last: Instant,
}

/// Why a session failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionsError {
    #[error("there are as many sessions as there may be, and all are in use")]
    Full,
    #[error(transparent)]
    Sdk(#[from] LocalSessionManagerError),
}

impl Sessions {
    pub(crate) fn new(count: Arc<SessionCount>, bounds: HttpBounds) -> Self {
        let mut config = SessionConfig::default();
        config.keep_alive = Some(bounds.session_idle);
        let mut sdk = LocalSessionManager::default();
        sdk.session_config = config;
        Self {
            sdk,
            known: Mutex::default(),
            count,
            bounds,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.known().is_empty()
    }

    pub(crate) fn has(&self, id: &str) -> bool {
        self.known().contains_key(id)
    }

    /// Whether one more has no room even when a quiet one is ended.
    pub(crate) fn is_full(&self) -> bool {
        !self.has_room() && self.quietest().is_none()
    }

    fn has_room(&self) -> bool {
        self.known().len() < self.bounds.sessions_each && self.count.get() < self.bounds.sessions
    }

    /// The session that has been quiet for longest.
    fn quietest(&self) -> Option<SessionId> {
        let known = self.known();
        let quiet = known.iter().filter_map(|(id, activity)| {
            let activity = lock(activity);
            (activity.streams == 0).then_some((activity.last, id))
        });
        quiet.min().map(|(_, id)| id.clone())
    }

    fn known(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Mutex<Activity>>>> {
        lock(&self.known)
    }

    fn remember(&self, id: &SessionId) {
        let activity = Activity {
            streams: 0,
            last: Instant::now(),
        };
        let activity = Arc::new(Mutex::new(activity));
        if self.known().insert(id.clone(), activity).is_none() {
            self.count.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn forget(&self, id: &SessionId) {
        if self.known().remove(id).is_some() {
            self.count.0.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Notes that something came for a session.
    fn touch(&self, id: &SessionId) {
        if let Some(activity) = self.known().get(id) {
            lock(activity).last = Instant::now();
        }
    }

    fn watch<S>(&self, id: &SessionId, stream: S) -> Watched<S> {
        let activity = self.known().get(id).map(Arc::clone);
        if let Some(activity) = &activity {
            let mut activity = lock(activity);
            activity.streams += 1;
            activity.last = Instant::now();
        }
        Watched {
            stream: Box::pin(stream),
            activity,
        }
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        let left = self.known().len();
        self.count.0.fetch_sub(left, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A stream of a session, which is in use as long as it is read.
struct Watched<S> {
    stream: Pin<Box<S>>,
    activity: Option<Arc<Mutex<Activity>>>,
}

impl<S: Stream> Stream for Watched<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.stream.as_mut().poll_next(context)
    }
}

impl<S> Drop for Watched<S> {
    fn drop(&mut self) {
        if let Some(activity) = &self.activity {
            let mut activity = lock(activity);
            activity.streams -= 1;
            activity.last = Instant::now();
        }
    }
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        if !self.has_room() {
            let quietest = self.quietest().ok_or(SessionsError::Full)?;
            self.close_session(&quietest).await?;
        }
        let (id, transport) = self.sdk.create_session().await?;
        self.remember(&id);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        Ok(self.sdk.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.touch(id);
        Ok(self.sdk.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.forget(id);
        Ok(self.sdk.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.sdk.create_stream(id, message).await?;
        Ok(self.watch(id, stream))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        Ok(self.sdk.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.sdk.create_standalone_stream(id).await?;
        Ok(self.watch(id, stream))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.sdk.resume(id, last_event_id).await?;
        Ok(self.watch(id, stream))
    }
}
