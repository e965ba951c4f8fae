//! Notifications and requests that a server sends beside its responses, and the calls they belong to.
//!
//! Progress names its call by a token that is registered before the call is sent. A request does not name a
//! call: on pipes it is forwarded only while exactly one call is in flight; over HTTP it usually arrives on the
//! stream of its call. A request that could belong to several calls is answered with an error, because one user's
//! answer must not reach another user's call.
//!
//! All transports use it alike: a transport registers calls with [`ServerMessages::register_call`] and passes
//! messages to [`ServerMessages::handle_notification`] and [`ServerMessages::handle_request`].

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use limbeck_domain::{ServerName, text};
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::call_feedback::{CallFeedback, ProgressDelivery};
use crate::change_throttle::{Audience, ChangeThrottle, ServerChange};
use crate::server_request::{ClientCapabilities, DeclinedError, ServerRequestKind};
use crate::sync::lock;

/// Bytes kept of the `message` of a progress notification.
const PROGRESS_MESSAGE_BYTES_MAX: usize = 1 << 10;
/// Longest resource `uri` in a notification.
const URI_BYTES_MAX: usize = 2 << 10;
/// JSON-RPC error code of a declined request, as in the specification's example for sampling.
const REJECTED: i32 = -1;

/// Destination of the notifications of one server, for the connections with one audience.
pub(crate) struct NotificationSink {
    pub(crate) server: ServerName,
    /// Principal that the connection signs in as; `None` is the user who runs the gateway.
    pub(crate) principal: Option<Arc<str>>,
    /// Capabilities declared to the server; other requests are rejected.
    pub(crate) declared: ClientCapabilities,
    /// Whether several principals make calls, so that errors quote nothing that the server wrote during them.
    pub(crate) is_shared: bool,
    pub(crate) changes: ChangeThrottle,
    /// Whether it was logged that the server took no answer.
    pub(crate) has_unwritten_answer: AtomicBool,
}

impl NotificationSink {
    pub(crate) fn new(
        server: ServerName,
        declared: ClientCapabilities,
        changes: ChangeThrottle,
    ) -> Self {
        Self {
            server,
            principal: None,
            declared,
            is_shared: false,
            changes,
            has_unwritten_answer: AtomicBool::new(false),
        }
    }

    /// Sink of another connection to the same server, which `audience` uses.
    pub(crate) fn of(&self, audience: Audience) -> Self {
        let principal = match &audience {
            Audience::Everyone | Audience::Owner => None,
            Audience::Principal(principal) => Some(principal.clone()),
        };
        Self {
            principal,
            is_shared: self.is_shared,
            ..Self::new(
                self.server.clone(),
                self.declared,
                self.changes.of(audience),
            )
        }
    }
}

/// Handler of the messages of one connection.
pub(crate) struct ServerMessages {
    sink: Arc<NotificationSink>,
    /// Calls in flight, by request id.
    calls: Mutex<BTreeMap<i64, InFlightCall>>,
    /// Unanswered requests of the server, by their id; cancelling the token withdraws the request.
    requests: Mutex<HashMap<RequestId, CancellationToken>>,
    progress_dropped: AtomicU64,
    questions_declined: AtomicU64,
}

struct InFlightCall {
    token: Option<i64>,
    feedback: CallFeedback,
}

impl ServerMessages {
    pub(crate) fn new(sink: Arc<NotificationSink>) -> Self {
        Self {
            sink,
            calls: Mutex::default(),
            requests: Mutex::default(),
            progress_dropped: AtomicU64::new(0),
            questions_declined: AtomicU64::new(0),
        }
    }

    /// Name of the server.
    pub(crate) fn server(&self) -> &ServerName {
        &self.sink.server
    }

    /// Capabilities declared to the server.
    pub(crate) fn declared(&self) -> ClientCapabilities {
        self.sink.declared
    }

    /// Whether several principals make calls to the server.
    pub(crate) fn is_shared(&self) -> bool {
        self.sink.is_shared
    }

    /// Registers a call whose request is about to be sent as `id`, with its progress token.
    pub(crate) fn register_call(&self, id: i64, token: Option<i64>, feedback: &CallFeedback) {
        let mut calls = lock(&self.calls);
        // A call may be cancelled between its creation and its sending; nothing would remove it later.
        if feedback.is_ended() {
            return;
        }
        let feedback = feedback.clone();
        calls.insert(id, InFlightCall { token, feedback });
    }

    /// Ends a call: later messages about it are dropped.
    pub(crate) fn end_call(&self, feedback: &CallFeedback) {
        let mut calls = lock(&self.calls);
        feedback.end();
        calls.retain(|_, call| !call.feedback.is_ended());
    }

    /// Whether this is the first answer that the server did not take, over all of its connections.
    pub(crate) fn is_first_unwritten_answer(&self) -> bool {
        !self.sink.has_unwritten_answer.swap(true, Ordering::Relaxed)
    }

    /// Number of dropped progress notifications.
    pub(crate) fn progress_dropped(&self) -> u64 {
        self.progress_dropped.load(Ordering::Relaxed)
    }

    /// Number of declined requests.
    pub(crate) fn questions_declined(&self) -> u64 {
        self.questions_declined.load(Ordering::Relaxed)
    }

    /// Handles a notification of the server.
    pub(crate) fn handle_notification(&self, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/progress"
                if params.and_then(|params| self.progress(params))
                    != Some(ProgressDelivery::Delivered) =>
            {
                self.progress_dropped.fetch_add(1, Ordering::Relaxed);
            }
            "notifications/tools/list_changed" => self.sink.changes.note(ServerChange::Tools),
            "notifications/resources/list_changed" => {
                self.sink.changes.note(ServerChange::Resources)
            }
            "notifications/prompts/list_changed" => self.sink.changes.note(ServerChange::Prompts),
            "notifications/resources/updated" => {
                if let Some(uri) = params.and_then(updated_uri) {
                    self.sink.changes.note(ServerChange::Resource(uri));
                }
            }
            "notifications/cancelled" => {
                if let Some(id) = params.and_then(cancelled_id)
                    && let Some(withdrawn) = lock(&self.requests).remove(&id)
                {
                    withdrawn.cancel();
                }
            }
            "notifications/message" => {
                // A log message names no call, so it is passed on only while exactly one is in flight.
                if let (Some(params), Ok(feedback)) = (params, self.call_of(None)) {
                    feedback.log(params);
                }
            }
            // Other notifications are ignored.
            _ => {}
        }
    }

    fn progress(&self, params: &RawValue) -> Option<ProgressDelivery> {
        #[derive(Deserialize)]
        struct Params {
            #[serde(rename = "progressToken")]
            token: i64,
            progress: f64,
            #[serde(default)]
            total: Option<f64>,
            #[serde(default)]
            message: Option<String>,
        }
        let params: Params = serde_json::from_str(params.get()).ok()?;
        let feedback = lock(&self.calls)
            .values()
            .find(|call| call.token == Some(params.token))
            .map(|call| call.feedback.clone())?;
        let message = params
            .message
            .map(|message| text::clean_line(&message, PROGRESS_MESSAGE_BYTES_MAX));
        Some(feedback.progress(params.progress, params.total, message))
    }

    /// Registers a request of the server; the token is cancelled when the server withdraws it.
    pub(crate) fn register_request(&self, id: RequestId) -> CancellationToken {
        let withdrawn = CancellationToken::new();
        lock(&self.requests).insert(id, withdrawn.clone());
        withdrawn
    }

    /// Removes a request that was answered.
    pub(crate) fn forget_request(&self, id: &RequestId) {
        lock(&self.requests).remove(id);
    }

    /// Handles a request of the server and returns its result or a JSON-RPC error.
    ///
    /// # Errors
    ///
    /// [`ErrorData`] when the request is not supported, or was declined and its protocol has no result for
    /// that.
    pub(crate) async fn handle_request(
        &self,
        method: &str,
        params: Option<Arc<RawValue>>,
        origin: Option<i64>,
    ) -> Result<Value, ErrorData> {
        if method == "ping" {
            return Ok(json!({}));
        }
        let Some(kind) = request_kind(method, params.as_deref()) else {
            return Err(unknown_method(method));
        };
        if !self.sink.declared.can(kind) {
            self.questions_declined.fetch_add(1, Ordering::Relaxed);
            return Err(unknown_method(method));
        }
        let feedback = match self.call_of(origin) {
            Ok(feedback) => feedback,
            Err(unclear) => {
                self.note_unasked(kind);
                self.questions_declined.fetch_add(1, Ordering::Relaxed);
                // Never the result `decline`: that is the word of a user, and none was asked.
                return Err(ErrorData::new(ErrorCode(REJECTED), unclear.reason, None));
            }
        };
        let answer = feedback.forward(&self.sink.server, kind, params.as_deref());
        match answer.await {
            Ok(raw) => serde_json::from_str(raw.get())
                .map_err(|error| ErrorData::internal_error(error.to_string(), None)),
            Err(declined) => {
                self.questions_declined.fetch_add(1, Ordering::Relaxed);
                decline(kind, declined)
            }
        }
    }

    /// Notes at every call in flight that no user was asked a question which may belong to it.
    fn note_unasked(&self, kind: ServerRequestKind) {
        for call in lock(&self.calls).values() {
            call.feedback.note_unasked(kind);
        }
    }

    /// Finds the call of a request: that of `origin`, the request on whose stream it arrived, or the only one
    /// in flight. A server with streams may still send requests outside of them, so the rule for pipes applies
    /// there too.
    fn call_of(&self, origin: Option<i64>) -> Result<CallFeedback, DeclinedError> {
        let calls = lock(&self.calls);
        let found = match origin {
            Some(id) => calls.get(&id),
            None if calls.len() == 1 => calls.values().next(),
            None => None,
        };
        match found {
            Some(call) => Ok(call.feedback.clone()),
            None => Err(DeclinedError::new(format!(
                "it is unclear which of {} calls in flight this belongs to",
                calls.len()
            ))),
        }
    }
}

/// Kind of a server's request; `None` when a client cannot answer it.
pub(crate) fn request_kind(method: &str, params: Option<&RawValue>) -> Option<ServerRequestKind> {
    #[derive(Deserialize)]
    struct Mode {
        #[serde(default)]
        mode: Option<String>,
    }
    match method {
        "sampling/createMessage" => Some(ServerRequestKind::Sampling),
        "roots/list" => Some(ServerRequestKind::Roots),
        "elicitation/create" => {
            let mode = params.and_then(|params| serde_json::from_str::<Mode>(params.get()).ok());
            match mode.and_then(|mode| mode.mode).as_deref() {
                Some("url") => Some(ServerRequestKind::ElicitationUrl),
                Some("form") | None => Some(ServerRequestKind::ElicitationForm),
                Some(_) => None,
            }
        }
        _ => None,
    }
}

fn unknown_method(method: &str) -> ErrorData {
    let method = text::clean_line(method, 128);
    ErrorData::new(
        ErrorCode::METHOD_NOT_FOUND,
        format!("this client does not support `{method}` and did not declare it"),
        None,
    )
}

/// Response that declines a request.
fn decline(kind: ServerRequestKind, declined: DeclinedError) -> Result<Value, ErrorData> {
    match kind {
        ServerRequestKind::ElicitationForm | ServerRequestKind::ElicitationUrl => {
            Ok(json!({"action": "decline"}))
        }
        ServerRequestKind::Sampling | ServerRequestKind::Roots => {
            Err(ErrorData::new(ErrorCode(REJECTED), declined.reason, None))
        }
    }
}

fn cancelled_id(params: &RawValue) -> Option<RequestId> {
    #[derive(Deserialize)]
    struct Params {
        #[serde(rename = "requestId")]
        id: RequestId,
    }
    let params: Params = serde_json::from_str(params.get()).ok()?;
    Some(params.id)
}

fn updated_uri(params: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Params {
        uri: String,
    }
    let Params { uri } = serde_json::from_str(params.get()).ok()?;
    let usable = uri.len() <= URI_BYTES_MAX && !uri.contains(char::is_control);
    usable.then_some(uri)
}
