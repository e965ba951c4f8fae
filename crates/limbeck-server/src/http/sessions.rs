//! Sessions of one principal, which the protocol's older revisions have.
//!
//! Each principal has its own table, so a session id is unknown to every other principal. Their number is
//! bounded: a new session closes the one that was idle for longest and has no open stream. When the sessions of all
//! principals together are too many, it is one of the principal that has most of them, so no number of idle sessions
//! keeps a principal out.
//!
//! The SDK keeps and serves sessions; this module counts them.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Instant;

use futures::Stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::server_side_http::{ServerSseMessage, SessionId};
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionConfig,
};

use super::clients::add_below;
use super::http_bounds::HttpBounds;

/// Sessions of all principals: their number, and the tables that they are in.
#[derive(Debug, Default)]
pub(crate) struct SessionCount {
    open: AtomicUsize,
    principals: Mutex<Vec<Weak<PrincipalSessions>>>,
}

impl SessionCount {
    pub(crate) fn get(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Adds the table of a principal.
    pub(crate) fn register(&self, sessions: &Arc<PrincipalSessions>) {
        let mut principals = lock(&self.principals);
        principals.retain(|known| known.strong_count() > 0);
        principals.push(Arc::downgrade(sessions));
    }

    /// Tables with more than `held` sessions, the largest first.
    fn larger_than(&self, held: usize) -> Vec<Arc<PrincipalSessions>> {
        // Upgraded outside of the lock: the last reference may be dropped here.
        let principals = lock(&self.principals).clone();
        let known = principals.iter().filter_map(Weak::upgrade);
        let mut larger: Vec<(usize, Arc<PrincipalSessions>)> = known
            .map(|sessions| (sessions.held(), sessions))
            .filter(|(theirs, _)| *theirs > held)
            .collect();
        larger.sort_by_key(|(theirs, _)| std::cmp::Reverse(*theirs));
        larger.into_iter().map(|(_, sessions)| sessions).collect()
    }
}

/// The sessions of one principal.
#[derive(Debug)]
pub(crate) struct PrincipalSessions {
    sdk: LocalSessionManager,
    known: Mutex<Known>,
    count: Arc<SessionCount>,
    bounds: HttpBounds,
}

#[derive(Debug, Default)]
struct Known {
    sessions: HashMap<SessionId, Arc<Mutex<Activity>>>,
    /// Sessions that the SDK is creating, counted already.
    opening: usize,
}

/// Place of a session that is being created; free again when it is dropped.
struct Opening<'a>(Option<&'a PrincipalSessions>);

/// Open streams and last use of a session.
#[derive(Debug)]
struct Activity {
    streams: usize,
    last: Instant,
}

/// Failure to create or use a session.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionsError {
    #[error("the maximum number of sessions is reached, and all are in use")]
    Full,
    #[error(transparent)]
    Sdk(#[from] LocalSessionManagerError),
}

impl PrincipalSessions {
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
        let known = self.known();
        known.sessions.is_empty() && known.opening == 0
    }

    pub(crate) fn has(&self, id: &str) -> bool {
        self.known().sessions.contains_key(id)
    }

    /// Whether another session could not be created even by closing an idle one.
    pub(crate) fn is_full(&self) -> bool {
        !self.has_room() && self.quietest().is_none() && self.quietest_of_another().is_none()
    }

    /// Sessions that exist or open.
    fn held(&self) -> usize {
        let known = self.known();
        known.sessions.len() + known.opening
    }

    fn has_room(&self) -> bool {
        let known = self.known();
        known.sessions.len() + known.opening < self.bounds.sessions_each
            && self.count.get() < self.bounds.sessions
    }

    /// Takes a place for a session that is about to be created. Checked and counted in one step: of sessions that
    /// open at the same time none may go past the bounds.
    fn reserve(&self) -> Option<Opening<'_>> {
        let mut known = self.known();
        let has_room = known.sessions.len() + known.opening < self.bounds.sessions_each;
        if !has_room || !add_below(&self.count.open, self.bounds.sessions) {
            return None;
        }
        known.opening += 1;
        Some(Opening(Some(self)))
    }

    /// The session without open streams that was idle for longest.
    fn quietest(&self) -> Option<SessionId> {
        let known = self.known();
        let quiet = known.sessions.iter().filter_map(|(id, activity)| {
            let activity = lock(activity);
            (activity.streams == 0).then_some((activity.last, id))
        });
        quiet.min().map(|(_, id)| id.clone())
    }

    /// The quietest session of the principal with most sessions, when all principals together have too many and that
    /// one has more than this one. A principal with fewer sessions never loses one to a principal with more.
    fn quietest_of_another(&self) -> Option<(Arc<Self>, SessionId)> {
        let held = self.held();
        if held >= self.bounds.sessions_each || self.count.get() < self.bounds.sessions {
            return None;
        }
        let mut larger = self.count.larger_than(held).into_iter();
        larger.find_map(|sessions| sessions.quietest().map(|id| (sessions, id)))
    }

    /// Closes an idle session to make room for one of this principal; whether there was one.
    async fn make_room(&self) -> Result<(), SessionsError> {
        if let Some((sessions, id)) = self.quietest_of_another() {
            // It may have ended meanwhile, which makes room as well.
            let _ = sessions.close_session(&id).await;
            return Ok(());
        }
        let quietest = self.quietest().ok_or(SessionsError::Full)?;
        self.close_session(&quietest).await
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }

    fn forget(&self, id: &SessionId) {
        if self.known().sessions.remove(id).is_some() {
            self.count.open.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Records that a message for the session arrived.
    fn touch(&self, id: &SessionId) {
        if let Some(activity) = self.known().sessions.get(id) {
            lock(activity).last = Instant::now();
        }
    }

    fn watch<S>(&self, id: &SessionId, stream: S) -> Watched<S> {
        let activity = self.known().sessions.get(id).map(Arc::clone);
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

impl Drop for PrincipalSessions {
    fn drop(&mut self) {
        let left = self.known().sessions.len();
        self.count.open.fetch_sub(left, Ordering::AcqRel);
    }
}

impl Opening<'_> {
    /// The session exists: its place is now that of `id`.
    fn opened(mut self, id: &SessionId) {
        let Some(sessions) = self.0.take() else {
            return;
        };
        let activity = Activity {
            streams: 0,
            last: Instant::now(),
        };
        let mut known = sessions.known();
        known.opening -= 1;
        let activity = Arc::new(Mutex::new(activity));
        if known.sessions.insert(id.clone(), activity).is_some() {
            sessions.count.open.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        if let Some(sessions) = self.0 {
            sessions.known().opening -= 1;
            sessions.count.open.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stream of a session; the session is in use until it is dropped.
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

impl SessionManager for PrincipalSessions {
    type Error = SessionsError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let opening = match self.reserve() {
            Some(opening) => opening,
            None => {
                self.make_room().await?;
                self.reserve().ok_or(SessionsError::Full)?
            }
        };
        let (id, transport) = self.sdk.create_session().await?;
        opening.opened(&id);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions(each: usize, all: usize) -> PrincipalSessions {
        let bounds = HttpBounds {
            sessions_each: each,
            sessions: all,
            ..HttpBounds::default()
        };
        PrincipalSessions::new(Arc::default(), bounds)
    }

    #[tokio::test]
    async fn sessions_that_open_at_the_same_time_are_counted_before_they_exist() {
        let sessions = sessions(2, 10);
        let (first, second) = (sessions.reserve().unwrap(), sessions.reserve().unwrap());
        assert!(sessions.reserve().is_none() && sessions.is_full());
        assert_eq!(sessions.count.get(), 2);
        drop(first);
        // The control: a place that was given up is free, and an opened session keeps its own.
        let id: SessionId = "one".into();
        second.opened(&id);
        assert!(sessions.has("one"));
        let third = sessions.reserve().unwrap();
        assert!(sessions.reserve().is_none());
        drop(third);
        sessions.forget(&id);
        assert!(sessions.is_empty());
        assert_eq!(sessions.count.get(), 0);
    }
}
