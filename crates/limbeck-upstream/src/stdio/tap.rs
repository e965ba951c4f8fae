//! Which answers we wait for, and to whom they go.
//!
//! A request that leaves through the transport may carry a [`ReplySlot`] among its extensions, which never
//! reach the wire. The transport learns the id `rmcp` gave the request, and the reader puts the raw
//! result of that id into the slot. Ids are unique per connection, and an entry is used once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::listener::Listener;
use crate::sync::lock;
use crate::{Traffic, UpstreamError};

use super::envelope::RpcError;
use super::handshake::{Greeting, HandshakeKind};

/// Requests of the server that we have not answered yet; one more is dropped.
const PEER_REQUESTS_MAX: usize = 32;

/// What a tapped request brings.
pub(crate) type Answer = Result<Box<RawValue>, AnswerFault>;

/// Why a tapped request brings no result although the connection stands.
#[derive(Debug)]
pub(crate) enum AnswerFault {
    /// The server answered with an error.
    Rpc(RpcError),
    /// The answer was longer than a line may be.
    TooLarge { bytes: u64 },
    /// The answer cannot be used.
    Invalid { reason: String },
    /// Anything else that ended the request and nothing more: over HTTP each has its own exchange.
    Failed(UpstreamError),
}

/// Where the raw answer of one request goes; travels in the request's extensions.
#[derive(Clone)]
pub(crate) struct ReplySlot(Arc<Mutex<Option<oneshot::Sender<Answer>>>>);

impl ReplySlot {
    pub(crate) fn new() -> (Self, oneshot::Receiver<Answer>) {
        let (tx, rx) = oneshot::channel();
        (Self(Arc::new(Mutex::new(Some(tx)))), rx)
    }

    fn take(&self) -> Option<oneshot::Sender<Answer>> {
        lock(&self.0).take()
    }
}

/// Arguments of a call in the bytes that will be sent; travels in the request's extensions.
#[derive(Clone)]
pub(crate) struct RawArguments(pub(crate) Arc<RawValue>);

/// Who waits for an id.
pub(crate) enum Waiter {
    /// `rmcp`, for a typed handshake result.
    Handshake(HandshakeKind),
    /// A caller, for the raw text.
    Raw(oneshot::Sender<Answer>),
}

/// The requests of one connection under way.
pub(crate) struct Tap {
    listener: Arc<Listener>,
    waiting: Mutex<Waiting>,
    counts: Counts,
    greeting: OnceLock<Greeting>,
    end_reason: OnceLock<String>,
    has_heard: AtomicBool,
    has_written: AtomicBool,
}

#[derive(Default)]
struct Waiting {
    closed: bool,
    by_id: HashMap<i64, Waiter>,
    peer_requests: usize,
}

#[derive(Default)]
struct Counts {
    junk_lines: AtomicU64,
    stray_answers: AtomicU64,
    notifications: AtomicU64,
    requests_dropped: AtomicU64,
}

impl Tap {
    pub(crate) fn new(listener: Arc<Listener>) -> Self {
        Self {
            listener,
            waiting: Mutex::default(),
            counts: Counts::default(),
            greeting: OnceLock::new(),
            end_reason: OnceLock::new(),
            has_heard: AtomicBool::new(false),
            has_written: AtomicBool::new(false),
        }
    }

    /// Who hears what the server says on its own account.
    pub(crate) fn listener(&self) -> &Arc<Listener> {
        &self.listener
    }

    /// Expects the handshake answer `id`.
    pub(crate) fn expect_handshake(&self, id: i64, kind: HandshakeKind) {
        self.expect(id, Waiter::Handshake(kind));
    }

    /// Expects the raw answer `id`. On a closed connection the waiter learns so at once.
    pub(crate) fn expect_raw(&self, id: i64, slot: &ReplySlot) {
        if let Some(tx) = slot.take() {
            self.expect(id, Waiter::Raw(tx));
        }
    }

    fn expect(&self, id: i64, waiter: Waiter) {
        let mut waiting = lock(&self.waiting);
        if !waiting.closed {
            waiting.by_id.insert(id, waiter);
        }
    }

    /// Takes the waiter of an answer that arrived.
    pub(crate) fn take(&self, id: i64) -> Option<Waiter> {
        lock(&self.waiting).by_id.remove(&id)
    }

    /// Takes the only waiter there is, for an answer whose id is lost.
    pub(crate) fn take_only(&self) -> Option<(i64, Waiter)> {
        let mut waiting = lock(&self.waiting);
        if waiting.by_id.len() != 1 {
            return None;
        }
        let id = *waiting.by_id.keys().next()?;
        waiting.by_id.remove_entry(&id)
    }

    /// Whether somebody still waits for `id`.
    pub(crate) fn waits_for(&self, id: i64) -> bool {
        lock(&self.waiting).by_id.contains_key(&id)
    }

    /// Stops waiting for `id`, because it was cancelled.
    pub(crate) fn forget(&self, id: i64) {
        lock(&self.waiting).by_id.remove(&id);
    }

    /// Tells every waiter that no answer will come.
    pub(crate) fn close(&self) {
        let mut waiting = lock(&self.waiting);
        waiting.closed = true;
        waiting.by_id.clear();
    }

    /// Counts a request of the server in; `false` when there are too many.
    pub(crate) fn admit_peer_request(&self) -> bool {
        let mut waiting = lock(&self.waiting);
        let admitted = waiting.peer_requests < PEER_REQUESTS_MAX;
        if admitted {
            waiting.peer_requests += 1;
        } else {
            self.counts.requests_dropped.fetch_add(1, Ordering::Relaxed);
        }
        admitted
    }

    /// Counts a request of the server out.
    pub(crate) fn peer_request_answered(&self) {
        let mut waiting = lock(&self.waiting);
        waiting.peer_requests = waiting.peer_requests.saturating_sub(1);
    }

    /// Counts all requests of the server out: `rmcp` leaves some unanswered during a handshake.
    pub(crate) fn forget_peer_requests(&self) {
        lock(&self.waiting).peer_requests = 0;
    }

    /// Keeps what the server said about itself; the first handshake counts.
    pub(crate) fn greet(&self, greeting: Greeting) {
        let _ = self.greeting.set(greeting);
    }

    pub(crate) fn greeting(&self) -> Option<&Greeting> {
        self.greeting.get()
    }

    /// Says why we end the connection, when it is us.
    pub(crate) fn end_because(&self, reason: String) {
        let _ = self.end_reason.set(reason);
    }

    pub(crate) fn end_reason(&self) -> Option<&str> {
        self.end_reason.get().map(String::as_str)
    }

    /// Notes that the server wrote a line.
    pub(crate) fn note_heard(&self) {
        self.has_heard.store(true, Ordering::Relaxed);
    }

    /// Whether the server wrote anything yet.
    pub(crate) fn has_heard(&self) -> bool {
        self.has_heard.load(Ordering::Relaxed)
    }

    /// Notes that a line of ours is in the pipe.
    pub(crate) fn note_written(&self) {
        self.has_written.store(true, Ordering::Relaxed);
    }

    /// Whether anything was written to the server yet.
    pub(crate) fn has_written(&self) -> bool {
        self.has_written.load(Ordering::Relaxed)
    }

    pub(crate) fn count_junk(&self) {
        self.counts.junk_lines.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_stray(&self) {
        self.counts.stray_answers.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_notification(&self) {
        self.counts.notifications.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn traffic(&self) -> Traffic {
        Traffic {
            junk_lines: self.counts.junk_lines.load(Ordering::Relaxed),
            stray_answers: self.counts.stray_answers.load(Ordering::Relaxed),
            notifications: self.counts.notifications.load(Ordering::Relaxed),
            requests_dropped: self.counts.requests_dropped.load(Ordering::Relaxed),
            progress_dropped: self.listener.progress_dropped(),
            questions_declined: self.listener.questions_declined(),
        }
    }
}
