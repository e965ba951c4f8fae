//! Hears what a server says on its own account, and finds out which call it is about.
//!
//! Notifications and requests of a server arrive beside the answers. Progress names its call by a token
//! that was registered before the call left. A question names none on pipes, so it is put to the caller of
//! the only call under way; over HTTP it mostly arrives on the stream of its call. A question that could be
//! anybody's is declined: one person's answer must not reach another's call.
//!
//! All of it works the same over every transport: a transport registers what it sends with
//! [`Listener::sent`] and hands over what it hears with [`Listener::notified`] and [`Listener::asked`].

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use limbeck_domain::{ServerName, text};
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::changes::{Change, Changes};
use crate::hearing::{Heard, Hearing};
use crate::sync::lock;
use crate::{Answers, AskKind, Declined};

/// `message` of a progress notification.
const PROGRESS_MESSAGE_BYTES_MAX: usize = 1 << 10;
/// The address of a resource in an update.
const URI_BYTES_MAX: usize = 2 << 10;
/// JSON-RPC code of a question that was turned down, as the specification's example of sampling has it.
const REJECTED: i32 = -1;

/// What the listeners of all connections of one server share.
pub(crate) struct Ears {
    pub(crate) server: ServerName,
    /// What was declared to the server; nothing else is passed on.
    pub(crate) declares: Answers,
    pub(crate) changes: Changes,
}

/// What one connection hears.
pub(crate) struct Listener {
    ears: Arc<Ears>,
    /// Calls under way, by the id of their request.
    calls: Mutex<BTreeMap<i64, UnderWay>>,
    /// Questions of the server that are not answered yet, by its ids.
    questions: Mutex<HashMap<RequestId, CancellationToken>>,
    progress_dropped: AtomicU64,
    questions_declined: AtomicU64,
}

struct UnderWay {
    token: Option<i64>,
    hearing: Hearing,
}

impl Listener {
    pub(crate) fn new(ears: Arc<Ears>) -> Self {
        Self {
            ears,
            calls: Mutex::default(),
            questions: Mutex::default(),
            progress_dropped: AtomicU64::new(0),
            questions_declined: AtomicU64::new(0),
        }
    }

    /// The server that is heard.
    pub(crate) fn server(&self) -> &ServerName {
        &self.ears.server
    }

    /// What was declared to the server.
    pub(crate) fn declares(&self) -> Answers {
        self.ears.declares
    }

    /// Registers a call whose request is about to leave as `id` with a progress token.
    pub(crate) fn sent(&self, id: i64, token: Option<i64>, hearing: &Hearing) {
        let mut calls = lock(&self.calls);
        if hearing.is_over() {
            return;
        }
        let hearing = hearing.clone();
        calls.insert(id, UnderWay { token, hearing });
    }

    /// Ends a call: nobody hears of it any more.
    pub(crate) fn over(&self, hearing: &Hearing) {
        let mut calls = lock(&self.calls);
        hearing.end();
        calls.retain(|_, call| !call.hearing.is_over());
    }

    /// Progress notifications that reached nobody.
    pub(crate) fn progress_dropped(&self) -> u64 {
        self.progress_dropped.load(Ordering::Relaxed)
    }

    /// Questions nobody was asked.
    pub(crate) fn questions_declined(&self) -> u64 {
        self.questions_declined.load(Ordering::Relaxed)
    }

    /// A notification of the server.
    pub(crate) fn notified(&self, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/progress"
                if params.and_then(|params| self.progress(params)) != Some(Heard::Passed) =>
            {
                self.progress_dropped.fetch_add(1, Ordering::Relaxed);
            }
            "notifications/tools/list_changed" => self.ears.changes.note(Change::Tools),
            "notifications/resources/list_changed" => self.ears.changes.note(Change::Resources),
            "notifications/prompts/list_changed" => self.ears.changes.note(Change::Prompts),
            "notifications/resources/updated" => {
                if let Some(uri) = params.and_then(updated_uri) {
                    self.ears.changes.note(Change::Resource(uri));
                }
            }
            "notifications/cancelled" => {
                if let Some(id) = params.and_then(cancelled_id)
                    && let Some(taken_back) = lock(&self.questions).remove(&id)
                {
                    taken_back.cancel();
                }
            }
            // Log messages have their place on standard error; the rest is of no use to a gateway.
            _ => {}
        }
    }

    fn progress(&self, params: &RawValue) -> Option<Heard> {
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
        let hearing = lock(&self.calls)
            .values()
            .find(|call| call.token == Some(params.token))
            .map(|call| call.hearing.clone())?;
        let message = params
            .message
            .map(|message| text::clean_line(&message, PROGRESS_MESSAGE_BYTES_MAX));
        Some(hearing.progress(params.progress, params.total, message))
    }

    /// Registers a question; the token is cancelled when the server takes it back.
    pub(crate) fn question(&self, id: RequestId) -> CancellationToken {
        let taken_back = CancellationToken::new();
        lock(&self.questions).insert(id, taken_back.clone());
        taken_back
    }

    /// Forgets a question that was answered.
    pub(crate) fn answered(&self, id: &RequestId) {
        lock(&self.questions).remove(id);
    }

    /// Answers a question of the server with a result or a JSON-RPC error.
    ///
    /// # Errors
    ///
    /// [`ErrorData`] when the question is none of ours, or was declined and has no result that says so.
    pub(crate) async fn asked(
        &self,
        method: &str,
        params: Option<Arc<RawValue>>,
        origin: Option<i64>,
    ) -> Result<Value, ErrorData> {
        if method == "ping" {
            return Ok(json!({}));
        }
        let Some(kind) = kind_of(method, params.as_deref()) else {
            return Err(unknown_method(method));
        };
        if !self.ears.declares.can(kind) {
            self.questions_declined.fetch_add(1, Ordering::Relaxed);
            return Err(unknown_method(method));
        }
        let answer = match self.call_of(origin) {
            Ok(hearing) => {
                hearing
                    .ask(&self.ears.server, kind, params.as_deref())
                    .await
            }
            Err(declined) => Err(declined),
        };
        match answer {
            Ok(raw) => serde_json::from_str(raw.get())
                .map_err(|error| ErrorData::internal_error(error.to_string(), None)),
            Err(declined) => {
                self.questions_declined.fetch_add(1, Ordering::Relaxed);
                decline(kind, declined)
            }
        }
    }

    /// The call a question is about: that of `origin`, the request on whose stream it came, or the only one.
    /// A server that has streams may ask beside them all the same, so the rule for pipes holds there too.
    fn call_of(&self, origin: Option<i64>) -> Result<Hearing, Declined> {
        let calls = lock(&self.calls);
        let found = match origin {
            Some(id) => calls.get(&id),
            None if calls.len() == 1 => calls.values().next(),
            None => None,
        };
        match found {
            Some(call) => Ok(call.hearing.clone()),
            None => Err(Declined::new(format!(
                "it cannot be told which of {} calls under way this is about",
                calls.len()
            ))),
        }
    }
}

/// What a request of the server asks for, when it is something a client may be asked.
pub(crate) fn kind_of(method: &str, params: Option<&RawValue>) -> Option<AskKind> {
    #[derive(Deserialize)]
    struct Mode {
        #[serde(default)]
        mode: Option<String>,
    }
    match method {
        "sampling/createMessage" => Some(AskKind::Sampling),
        "roots/list" => Some(AskKind::Roots),
        "elicitation/create" => {
            let mode = params.and_then(|params| serde_json::from_str::<Mode>(params.get()).ok());
            match mode.and_then(|mode| mode.mode).as_deref() {
                Some("url") => Some(AskKind::ElicitationUrl),
                Some("form") | None => Some(AskKind::ElicitationForm),
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
        format!("this client does not answer `{method}` and did not declare that it would"),
        None,
    )
}

/// The protocol's way to say no.
fn decline(kind: AskKind, declined: Declined) -> Result<Value, ErrorData> {
    match kind {
        AskKind::ElicitationForm | AskKind::ElicitationUrl => Ok(json!({"action": "decline"})),
        AskKind::Sampling | AskKind::Roots => {
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

/// Time in which all questions of one call must be answered; a person may have gone for a walk.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(300);
