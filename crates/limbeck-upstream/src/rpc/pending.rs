//! Pending requests of one connection and the destinations of their responses.
//!
//! A request may carry a [`ReplySlot`] among its extensions, which are never sent. The transport learns the id
//! that `rmcp` assigned, and the reader delivers the raw result of that id to the slot. Ids are unique per
//! connection, and an entry is used once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use rmcp::model::RequestId;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::error::UpstreamError;
use crate::report::TrafficCounts;
use crate::server_messages::ServerMessages;
use crate::sync::lock;

use super::envelope::RpcError;
use super::handshake_result::{HandshakeKind, HandshakeResult};
use super::peer_requests::{PeerAdmission, PeerRequests};

/// Raw result of a request.
pub(crate) type RawResponse = Result<Box<RawValue>, ResponseError>;

/// Failure of a request on a connection that stays open.
#[derive(Debug)]
pub(crate) enum ResponseError {
    /// The server responded with a JSON-RPC error.
    Rpc(RpcError),
    /// The response is longer than a line may be.
    TooLarge { bytes: u64 },
    /// The response is invalid.
    Invalid { reason: String },
    /// Any other failure of this request alone: over HTTP each request has its own exchange.
    Failed(UpstreamError),
}

/// Destination of the raw response of one request; stored in the request's extensions.
#[derive(Clone)]
pub(crate) struct ReplySlot(Arc<Mutex<Option<oneshot::Sender<RawResponse>>>>);

impl ReplySlot {
    pub(crate) fn new() -> (Self, oneshot::Receiver<RawResponse>) {
        let (tx, rx) = oneshot::channel();
        (Self(Arc::new(Mutex::new(Some(tx)))), rx)
    }

    fn take(&self) -> Option<oneshot::Sender<RawResponse>> {
        lock(&self.0).take()
    }
}

/// Arguments of a call in the bytes to send; stored in the request's extensions.
#[derive(Clone)]
pub(crate) struct RawArguments(pub(crate) Arc<RawValue>);

/// An answer to a request of the server, counted until it is dropped.
pub(crate) struct PeerAnswer {
    pending: Arc<PendingRequests>,
    id: RequestId,
}

impl PeerAnswer {
    /// The server has taken the answer.
    pub(crate) fn written(self) {
        lock(&self.pending.waiting).peer_requests.note_written();
    }

    /// The server could not be given the answer.
    pub(crate) fn unwritten(self) {
        lock(&self.pending.waiting).peer_requests.note_unwritten();
    }
}

impl Drop for PeerAnswer {
    fn drop(&mut self) {
        lock(&self.pending.waiting).peer_requests.forget(&self.id);
    }
}

/// Destination of a response.
pub(crate) enum PendingRequest {
    /// `rmcp`, which needs a typed handshake result.
    Handshake(HandshakeKind),
    /// A caller, which gets the raw text.
    Raw(oneshot::Sender<RawResponse>),
}

/// Pending requests and message counts of one connection.
pub(crate) struct PendingRequests {
    server_messages: Arc<ServerMessages>,
    waiting: Mutex<PendingState>,
    counts: MessageCounts,
    handshake_result: OnceLock<HandshakeResult>,
    end_reason: OnceLock<String>,
    has_received: AtomicBool,
    has_written: AtomicBool,
}

#[derive(Default)]
struct PendingState {
    closed: bool,
    by_id: HashMap<i64, PendingRequest>,
    peer_requests: PeerRequests,
}

#[derive(Default)]
struct MessageCounts {
    junk_lines: AtomicU64,
    stray_answers: AtomicU64,
    notifications: AtomicU64,
    requests_dropped: AtomicU64,
}

impl PendingRequests {
    pub(crate) fn new(server_messages: Arc<ServerMessages>) -> Self {
        Self {
            server_messages,
            waiting: Mutex::default(),
            counts: MessageCounts::default(),
            handshake_result: OnceLock::new(),
            end_reason: OnceLock::new(),
            has_received: AtomicBool::new(false),
            has_written: AtomicBool::new(false),
        }
    }

    /// Handler of the notifications and requests of the server.
    pub(crate) fn server_messages(&self) -> &Arc<ServerMessages> {
        &self.server_messages
    }

    /// Registers a handshake request.
    pub(crate) fn expect_handshake(&self, id: i64, kind: HandshakeKind) {
        self.expect(id, PendingRequest::Handshake(kind));
    }

    /// Registers a request of a caller. On a closed connection the caller gets an error at once.
    pub(crate) fn expect_raw(&self, id: i64, slot: &ReplySlot) {
        if let Some(tx) = slot.take() {
            self.expect(id, PendingRequest::Raw(tx));
        }
    }

    fn expect(&self, id: i64, waiter: PendingRequest) {
        let mut waiting = lock(&self.waiting);
        if !waiting.closed {
            waiting.by_id.insert(id, waiter);
        }
    }

    /// Removes and returns the request of a response that arrived.
    pub(crate) fn take(&self, id: i64) -> Option<PendingRequest> {
        lock(&self.waiting).by_id.remove(&id)
    }

    /// Removes and returns the only pending request, for a response whose id was lost.
    pub(crate) fn take_only(&self) -> Option<(i64, PendingRequest)> {
        let mut waiting = lock(&self.waiting);
        // With several pending requests a guess could give one caller's response to another.
        if waiting.by_id.len() != 1 {
            return None;
        }
        let id = *waiting.by_id.keys().next()?;
        waiting.by_id.remove_entry(&id)
    }

    /// Whether the request `id` is still pending.
    pub(crate) fn is_waiting(&self, id: i64) -> bool {
        lock(&self.waiting).by_id.contains_key(&id)
    }

    /// Removes the request `id`, which was cancelled.
    pub(crate) fn forget(&self, id: i64) {
        lock(&self.waiting).by_id.remove(&id);
    }

    /// Fails all pending requests and rejects later ones.
    pub(crate) fn close(&self) {
        let mut waiting = lock(&self.waiting);
        // Dropping the senders below fails their receivers.
        waiting.closed = true;
        waiting.by_id.clear();
    }

    /// Counts a request of the server whose parameters have `bytes`, until its answer was written.
    pub(crate) fn admit_peer_request(&self, id: &RequestId, bytes: usize) -> PeerAdmission {
        let admission = lock(&self.waiting).peer_requests.admit(id, bytes);
        if admission != PeerAdmission::Admitted {
            self.counts.requests_dropped.fetch_add(1, Ordering::Relaxed);
        }
        admission
    }

    /// Counts an answer of `bytes` that is about to be written to the server; `None` when more bytes would wait
    /// than may, which ends the server.
    pub(crate) fn begin_answer(
        self: &Arc<Self>,
        id: &RequestId,
        bytes: usize,
    ) -> Option<PeerAnswer> {
        lock(&self.waiting)
            .peer_requests
            .begin_answer(id, bytes)
            .then(|| PeerAnswer {
                pending: self.clone(),
                id: id.clone(),
            })
    }

    /// Resets the count: `rmcp` leaves requests unanswered during a handshake.
    pub(crate) fn forget_peer_requests(&self) {
        lock(&self.waiting).peer_requests = PeerRequests::default();
    }

    /// Stores the handshake result; the first one counts.
    pub(crate) fn set_handshake_result(&self, handshake_result: HandshakeResult) {
        let _ = self.handshake_result.set(handshake_result);
    }

    pub(crate) fn handshake_result(&self) -> Option<&HandshakeResult> {
        self.handshake_result.get()
    }

    /// Stores the reason why the gateway ends the connection.
    pub(crate) fn set_end_reason(&self, reason: String) {
        let _ = self.end_reason.set(reason);
    }

    pub(crate) fn end_reason(&self) -> Option<&str> {
        self.end_reason.get().map(String::as_str)
    }

    /// Records that the server wrote a line.
    pub(crate) fn note_received(&self) {
        self.has_received.store(true, Ordering::Relaxed);
    }

    /// Whether the server has written anything.
    pub(crate) fn has_received(&self) -> bool {
        self.has_received.load(Ordering::Relaxed)
    }

    /// Records that a line was written to the server.
    pub(crate) fn note_written(&self) {
        self.has_written.store(true, Ordering::Relaxed);
    }

    /// Whether anything was written to the server.
    pub(crate) fn has_written(&self) -> bool {
        self.has_written.load(Ordering::Relaxed)
    }

    pub(crate) fn count_invalid_line(&self) {
        self.counts.junk_lines.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_stray(&self) {
        self.counts.stray_answers.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_notification(&self) {
        self.counts.notifications.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn traffic(&self) -> TrafficCounts {
        TrafficCounts {
            junk_lines: self.counts.junk_lines.load(Ordering::Relaxed),
            stray_answers: self.counts.stray_answers.load(Ordering::Relaxed),
            notifications: self.counts.notifications.load(Ordering::Relaxed),
            requests_dropped: self.counts.requests_dropped.load(Ordering::Relaxed),
            progress_dropped: self.server_messages.progress_dropped(),
            questions_declined: self.server_messages.questions_declined(),
        }
    }
}
