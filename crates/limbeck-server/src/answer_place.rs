//! Room of the answer to one request, which its handler and its response body share.
//!
//! A handler asks for room when it knows how large its answer becomes, and has one copy of it at most meanwhile. The room
//! is held until the response body is written or dropped. It travels with the request, in the extensions of its head.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::request::Parts;
use rmcp::ErrorData;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::json;

use crate::answer_room::{AnswerRoom, BusyError, HeldRoom};

/// Answers up to this size are not counted: those of all requests of a principal together are smaller than one of the
/// largest.
pub(crate) const SMALL_ANSWER_BYTES: usize = 64 << 10;

/// Room of the answer to one request.
#[derive(Debug)]
pub(crate) struct AnswerPlace {
    room: AnswerRoom,
    principal: Arc<str>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Whether the handler has asked: then its work is done, and its answer is not refused any more.
    asked: bool,
    held: Option<HeldRoom>,
}

impl AnswerPlace {
    /// The place of a request of `principal`, which holds nothing yet.
    pub(crate) fn new(room: &AnswerRoom, principal: &Arc<str>) -> Self {
        Self {
            room: room.clone(),
            principal: Arc::clone(principal),
            state: Mutex::default(),
        }
    }

    /// Waits until answers of this principal that wait already have room.
    async fn turn(&self) -> Result<(), BusyError> {
        self.room.take(&self.principal, 0, 0).await.map(drop)
    }

    /// Waits for room for a result of `bytes` bytes, which exists, and does not hold it here: the request that gets the
    /// result may be another one. Small results need none.
    pub(crate) async fn room_for(&self, bytes: usize) -> Result<Option<HeldRoom>, BusyError> {
        self.asked_for(bytes, bytes).await
    }

    async fn asked_for(&self, bytes: usize, made: usize) -> Result<Option<HeldRoom>, BusyError> {
        if bytes <= SMALL_ANSWER_BYTES {
            return Ok(None);
        }
        self.room.take(&self.principal, bytes, made).await.map(Some)
    }

    /// Waits for room for an answer of `bytes` bytes, of which `made` exist already.
    async fn take(&self, bytes: usize, made: usize) -> Result<(), BusyError> {
        let room = self.asked_for(bytes, made).await?;
        self.hold(room);
        Ok(())
    }

    fn hold(&self, room: Option<HeldRoom>) {
        let mut state = self.state();
        state.asked = true;
        state.held = room;
    }

    /// Counts an answer of `bytes` bytes that exists. If its handler did not ask for room, it waits here.
    ///
    /// # Errors
    ///
    /// [`BusyError`], when there is no room for an answer whose handler did not ask.
    pub(crate) async fn settle(&self, bytes: usize) -> Result<(), BusyError> {
        let was_asked = self.state().asked;
        if !was_asked {
            self.take(bytes, bytes).await?;
        }
        self.count(bytes);
        Ok(())
    }

    /// Counts an event of `bytes` bytes that exists, unless room for more was taken before.
    pub(crate) fn at_least(&self, bytes: usize) {
        let held = self.state().held.as_ref().map_or(0, HeldRoom::bytes);
        if bytes > held {
            self.count(bytes);
        }
    }

    /// Counts `bytes` bytes in place of what was asked for.
    fn count(&self, bytes: usize) {
        let mut state = self.state();
        if let Some(held) = &mut state.held {
            held.set(bytes);
        } else if bytes > SMALL_ANSWER_BYTES {
            state.held = Some(self.room.count(&self.principal, bytes));
        }
    }

    /// Gives the room back.
    pub(crate) fn release(&self) {
        let held = self.state().held.take();
        drop(held);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until earlier answers to the principal of `context` have room, before work begins whose answer may be large.
///
/// # Errors
///
/// When its clients do not read them, or the request is cancelled. No work was begun.
pub(crate) async fn turn(context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
    let Some(place) = place_of(context) else {
        return Ok(());
    };
    let taken = tokio::select! {
        taken = place.turn() => taken,
        () = context.ct.cancelled() => return Err(cancelled()),
    };
    taken.map_err(|BusyError| not_sent())
}

/// Waits for room for the answer of `context`, of `bytes` bytes, of which `made` exist already. Over standard input there
/// is one client, and its pipe is its own.
///
/// # Errors
///
/// When clients do not read earlier answers, or the request is cancelled. The request must have no effect.
pub(crate) async fn take(
    context: &RequestContext<RoleServer>,
    bytes: usize,
    made: usize,
) -> Result<(), ErrorData> {
    let Some(place) = place_of(context) else {
        return Ok(());
    };
    tokio::select! {
        taken = place.take(bytes, made) => taken.map_err(|BusyError| not_sent()),
        () = context.ct.cancelled() => Err(cancelled()),
    }
}

/// Holds `room`, which was taken for the answer of `context`.
pub(crate) fn hold(context: &RequestContext<RoleServer>, room: Option<HeldRoom>) {
    if let Some(place) = place_of(context) {
        place.hold(room);
    }
}

/// The place of the answer of `context`; `None` over standard input.
pub(crate) fn of(context: &RequestContext<RoleServer>) -> Option<Arc<AnswerPlace>> {
    place_of(context).map(Arc::clone)
}

/// The error to a request whose work has ended and whose result was dropped.
pub(crate) fn dropped() -> ErrorData {
    ErrorData::internal_error(
        "the work of this request has ended, but its answer is not sent: earlier answers that were not read take all room \
         for answers. Do not repeat what may write; read the earlier answers before the next request.",
        None,
    )
}

fn place_of(context: &RequestContext<RoleServer>) -> Option<&Arc<AnswerPlace>> {
    let head = context.extensions.get::<Parts>()?;
    head.extensions.get::<Arc<AnswerPlace>>()
}

fn cancelled() -> ErrorData {
    ErrorData::internal_error("the request was cancelled", None)
}

fn not_sent() -> ErrorData {
    ErrorData::internal_error(
        "earlier answers that were not read take all room for answers; read them, then send this request again",
        Some(json!({ "retryable": true })),
    )
}
