//! One connected server: requests go out, raw results come back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, GetExtensions, ListToolsRequest, PaginatedRequestParams, RequestMetaObject,
};
use rmcp::service::{PeerRequestOptions, RequestHandle};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use limbeck_domain::{limits, text};

use crate::handler::client_capabilities;
use crate::hearing::Hearing;
use crate::http::wire::HttpWire;
use crate::listener::Listener;
use crate::stdio::handshake::Greeting;
use crate::stdio::tap::{Answer, AnswerFault, ReplySlot, Tap};
use crate::wire::{Service, Wire};
use crate::{CallContext, Era, UpstreamError};

/// Time to wait for the exit status of a server whose output ended.
const STATUS_WAIT: Duration = Duration::from_secs(1);
/// Time for a cancellation to be written; a server that does not read its input is restarted.
const CANCEL_WRITE: Duration = Duration::from_secs(2);
/// Key of the request's metadata that asks for log messages.
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// A connection this old has proved that the server works.
const PROVED_AFTER: Duration = Duration::from_secs(10);

/// What is at the other end.
pub(crate) enum Peer {
    /// A child process and its pipes.
    Process(Wire),
    /// Something that is asked over HTTP.
    Http(HttpWire),
}

impl Peer {
    fn tap(&self) -> &Arc<Tap> {
        match self {
            Self::Process(wire) => &wire.tap,
            Self::Http(wire) => wire.tap(),
        }
    }

    /// Cancelled to end the connection.
    fn stop(&self) -> &CancellationToken {
        match self {
            Self::Process(wire) => &wire.process.stop,
            Self::Http(wire) => wire.stop(),
        }
    }

    /// Whether no further request may be sent.
    fn is_over(&self) -> bool {
        match self {
            Self::Process(wire) => wire.process.stop.is_cancelled(),
            Self::Http(wire) => wire.is_over(),
        }
    }

    /// Completes when it is known how the other end ended.
    async fn ended(&self) {
        match self {
            Self::Process(wire) => wire.process.ended().await,
            Self::Http(_) => {}
        }
    }

    fn status(&self) -> Option<String> {
        match self {
            Self::Process(wire) => wire.process.status(),
            Self::Http(_) => None,
        }
    }

    fn last_words(&self) -> String {
        match self {
            Self::Process(wire) => wire.process.last_words(),
            Self::Http(_) => String::new(),
        }
    }

    /// Words of the server as others may read them. What comes over HTTP has lost its secrets already.
    fn without_secrets(&self, words: String) -> String {
        match self {
            Self::Process(wire) => wire.process.redactor.redact(&words).into_owned(),
            Self::Http(_) => words,
        }
    }
}

/// A server that answered its handshake.
pub(crate) struct Connection {
    peer: Peer,
    service: Service,
    era: Era,
    greeting: Greeting,
    opened: Instant,
    noticed_end: OnceLock<Instant>,
    has_answered: AtomicBool,
}

impl Connection {
    pub(crate) fn new(peer: Peer, service: Service, era: Era) -> Self {
        let greeting = peer.tap().greeting().cloned().unwrap_or_default();
        Self {
            peer,
            service,
            era,
            greeting,
            opened: Instant::now(),
            noticed_end: OnceLock::new(),
            has_answered: AtomicBool::new(false),
        }
    }

    pub(crate) fn era(&self) -> Era {
        self.era
    }

    pub(crate) fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    /// Whether requests can still be sent.
    pub(crate) fn is_alive(&self) -> bool {
        !self.peer.is_over() && !self.service.is_transport_closed()
    }

    /// Whether the server did its work before it ended: a crash after that is not a failed start.
    pub(crate) fn has_proved_itself(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed)
            || self.ended_at().duration_since(self.opened) >= PROVED_AFTER
    }

    /// When the connection was first seen dead.
    pub(crate) fn ended_at(&self) -> Instant {
        *self.noticed_end.get_or_init(Instant::now)
    }

    /// Asks for one page of tools; `timed_out` is the error when it takes longer than `limit`.
    pub(crate) async fn list_page(
        &self,
        cursor: Option<String>,
        limit: Duration,
        timed_out: UpstreamError,
    ) -> Result<Box<RawValue>, UpstreamError> {
        let request = ListToolsRequest {
            params: cursor
                .map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor))),
            ..Default::default()
        };
        let request = ClientRequest::ListToolsRequest(request);
        let never = CancellationToken::new();
        tokio::select! {
            biased;
            answer = self.request(request, &never) => answer,
            () = sleep(limit) => Err(timed_out),
        }
    }

    /// Sends a request that somebody made and waits for the answer, `limit` at most, not counting the time
    /// in which the server waits for an answer of ours.
    ///
    /// Gives how long the server worked, beside the answer.
    pub(crate) async fn ask(
        &self,
        mut request: ClientRequest,
        limit: Duration,
        context: &CallContext,
    ) -> Result<(Box<RawValue>, Duration), UpstreamError> {
        let hearing = Hearing::new(context.caller.clone());
        let _heard = Heard {
            listener: self.peer.tap().listener(),
            hearing: &hearing,
        };
        request.extensions_mut().insert(hearing.clone());
        let started = Instant::now();
        let answer = tokio::select! {
            biased;
            answer = self.request_with(request, &context.cancel, self.options(context)) => answer?,
            () = hearing.out_of_time(started, limit) => {
                return Err(UpstreamError::CallTimeout { ms: in_ms(limit) });
            }
        };
        self.has_answered.store(true, Ordering::Relaxed);
        refuse_too_deep(&answer)?;
        let answer = self.without_secrets_of_error(answer);
        Ok((answer, hearing.worked_since(started)))
    }

    /// Sends a request and waits for its answer until `cancel`, however long it takes. Dropping the future
    /// cancels the request at the server.
    pub(crate) async fn request(
        &self,
        request: ClientRequest,
        cancel: &CancellationToken,
    ) -> Result<Box<RawValue>, UpstreamError> {
        self.request_with(request, cancel, PeerRequestOptions::no_options())
            .await
    }

    /// What a modern server is told with one request: who made it can answer less than we declare in general.
    fn options(&self, context: &CallContext) -> PeerRequestOptions {
        let options = PeerRequestOptions::no_options();
        let Some(caller) = context.caller.as_deref() else {
            return options;
        };
        if self.era != Era::Modern {
            return options;
        }
        let declared = self.listener().declares().and(caller.answers());
        let mut meta = RequestMetaObject::default();
        meta.set_client_capabilities(client_capabilities(declared, self.era));
        if let Some(level) = caller.log_level() {
            meta.insert(LOG_LEVEL.to_owned(), level.into());
        }
        options.with_meta(meta)
    }

    async fn request_with(
        &self,
        mut request: ClientRequest,
        cancel: &CancellationToken,
        options: PeerRequestOptions,
    ) -> Result<Box<RawValue>, UpstreamError> {
        let (slot, answer) = ReplySlot::new();
        request.extensions_mut().insert(slot);
        let sent = self
            .service
            .send_cancellable_request(request, options)
            .await;
        let Ok(handle) = sent else {
            return Err(self.lost().await);
        };
        // From here on the server is told when nobody waits any more, however that comes about.
        let mut under_way = UnderWay {
            handle: Some(handle),
            stop: self.peer.stop().clone(),
        };
        tokio::select! {
            biased;
            answer = answer => {
                under_way.handle = None;
                match answer {
                    Ok(answer) => self.usable(answer),
                    Err(_) => Err(self.lost().await),
                }
            }
            () = cancel.cancelled() => Err(UpstreamError::Cancelled),
        }
    }

    /// Whether calls repeat parameters in headers, so that bad annotations spoil their tool.
    pub(crate) fn mirrors_parameters(&self) -> bool {
        matches!(self.peer, Peer::Http(_)) && self.era == Era::Modern
    }

    /// Who hears what the server says on its own account.
    pub(crate) fn listener(&self) -> &Listener {
        self.peer.tap().listener()
    }

    /// Ends the connection; its process is gone soon after.
    pub(crate) fn close(&self) {
        self.peer.stop().cancel();
    }

    /// Completes when the connection has ended.
    pub(crate) async fn closed(&self) {
        self.peer.stop().cancelled().await;
    }

    /// A tool's own error is read like any other error. Results that are none are the program's affair.
    fn without_secrets_of_error(&self, result: Box<RawValue>) -> Box<RawValue> {
        if !result.get().contains("\"isError\"") {
            return result;
        }
        let words = self.peer.without_secrets(result.get().to_owned());
        RawValue::from_string(words).unwrap_or(result)
    }

    /// Nothing when it is no JSON any more without them.
    fn data_without_secrets(&self, data: &Value) -> Option<Box<Value>> {
        let data = self.peer.without_secrets(data.to_string());
        serde_json::from_str(&data).ok()
    }

    fn usable(&self, answer: Answer) -> Result<Box<RawValue>, UpstreamError> {
        answer.map_err(|fault| match fault {
            AnswerFault::Rpc(error) => UpstreamError::Protocol {
                code: error.code,
                message: self.peer.without_secrets(error.message),
                data: error.data.and_then(|data| self.data_without_secrets(&data)),
            },
            AnswerFault::Invalid { reason } => UpstreamError::InvalidAnswer {
                reason: self.peer.without_secrets(reason),
            },
            AnswerFault::Failed(error) => error,
            AnswerFault::TooLarge { bytes } => UpstreamError::TooLarge {
                bytes,
                limit: limits::UPSTREAM_LINE_BYTES_MAX as u64,
            },
        })
    }

    /// The error of a request under which the connection ended.
    async fn lost(&self) -> UpstreamError {
        let _ = timeout(STATUS_WAIT, self.peer.ended()).await;
        self.lost_now()
    }

    /// [`Self::lost`] without waiting for the exit status.
    pub(crate) fn lost_now(&self) -> UpstreamError {
        let status = match (self.peer.tap().end_reason(), self.peer.status()) {
            (Some(reason), _) => reason.to_owned(),
            (None, Some(status)) => status,
            (None, None) => "the connection ended".to_owned(),
        };
        UpstreamError::ConnectionLost {
            status,
            stderr_tail: self.peer.last_words(),
        }
    }
}

/// Refuses a result that no reader behind us takes. Lists are not held to this as a whole: each of their tools is judged
/// by itself, and one that is too deep costs no other.
fn refuse_too_deep(result: &RawValue) -> Result<(), UpstreamError> {
    if text::is_too_deep(result.get()) {
        let reason = format!(
            "its result is nested deeper than {}",
            limits::JSON_DEPTH_MAX
        );
        return Err(UpstreamError::InvalidAnswer { reason });
    }
    Ok(())
}

/// Lets go of a call's caller however the wait for its answer ends.
struct Heard<'a> {
    listener: &'a Listener,
    hearing: &'a Hearing,
}

impl Drop for Heard<'_> {
    fn drop(&mut self) {
        self.listener.over(self.hearing);
    }
}

/// Whole milliseconds.
pub(crate) fn in_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A request that was sent and not answered. Dropping it cancels the request at the server.
struct UnderWay {
    handle: Option<RequestHandle<RoleClient>>,
    stop: CancellationToken,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let (Some(handle), Ok(runtime)) =
            (self.handle.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let stop = self.stop.clone();
        runtime.spawn(async move {
            let told = handle.cancel(Some("nobody waits for the answer".to_owned()));
            if timeout(CANCEL_WRITE, told).await.is_err() {
                tracing::debug!("a server that does not read its input is ended");
                stop.cancel();
            }
        });
    }
}
