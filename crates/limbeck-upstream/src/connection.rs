//! Connection to one server after its handshake: sends requests and returns raw results.

mod transport;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
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

use limbeck_domain::{limits, limits::HTTP_PRINCIPALS_MAX, text};

use crate::call_context::CallContext;
use crate::call_feedback::CallFeedback;
use crate::error::UpstreamError;
use crate::handler::client_capabilities;
use crate::protocol::ProtocolGeneration;
use crate::rpc::handshake::McpService;
use crate::rpc::handshake_result::HandshakeResult;
use crate::rpc::pending::{RawResponse, ReplySlot, ResponseError};
use crate::server_messages::ServerMessages;
use crate::sync::lock;
use crate::time::in_ms;
use crate::url_needed::{self, RequestFailure, URL_NEEDED, UrlNeeded};
pub(crate) use transport::TransportConnection;

/// Time to wait for the exit status of a process whose output ended.
const STATUS_WAIT: Duration = Duration::from_secs(1);
/// Time to write a cancellation. A server that does not read its input that long is restarted.
const CANCEL_WRITE: Duration = Duration::from_secs(2);
/// Key in `_meta` of a request that asks for log messages.
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// A server that stayed connected this long is considered to have started well.
const PROVED_AFTER: Duration = Duration::from_secs(10);

/// An open connection to a server that answered its handshake.
pub(crate) struct Connection {
    transport: TransportConnection,
    service: McpService,
    generation: ProtocolGeneration,
    handshake_result: HandshakeResult,
    opened: Instant,
    noticed_end: OnceLock<Instant>,
    has_answered: AtomicBool,
    has_logged_output: AtomicBool,
    /// Principals other than the user who runs the gateway, with their calls that had no answer.
    suspects: Mutex<BTreeMap<Arc<str>, usize>>,
}

impl Connection {
    pub(crate) fn new(
        transport: TransportConnection,
        service: McpService,
        generation: ProtocolGeneration,
    ) -> Self {
        let handshake_result = transport
            .pending()
            .handshake_result()
            .cloned()
            .unwrap_or_default();
        Self {
            transport,
            service,
            generation,
            handshake_result,
            opened: Instant::now(),
            noticed_end: OnceLock::new(),
            has_answered: AtomicBool::new(false),
            has_logged_output: AtomicBool::new(false),
            suspects: Mutex::default(),
        }
    }

    pub(crate) fn generation(&self) -> ProtocolGeneration {
        self.generation
    }

    pub(crate) fn handshake_result(&self) -> &HandshakeResult {
        &self.handshake_result
    }

    /// Whether requests can still be sent.
    pub(crate) fn is_alive(&self) -> bool {
        !self.transport.is_closing() && !self.service.is_transport_closed()
    }

    /// Whether the server worked before it ended. A crash after that does not count as a failed start.
    pub(crate) fn has_proved_itself(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed)
            || self.ended_at().duration_since(self.opened) >= PROVED_AFTER
    }

    /// Whether the connection was open so long that its end says nothing about its last calls.
    pub(crate) fn was_open_long(&self) -> bool {
        self.ended_at().duration_since(self.opened) >= PROVED_AFTER
    }

    /// Notes a call of `principal` that is sent next; the user who runs the gateway is `None` and not noted.
    pub(crate) fn begin_call(&self, principal: Option<&Arc<str>>) {
        let Some(principal) = principal else {
            return;
        };
        let mut suspects = lock(&self.suspects);
        if suspects.len() < HTTP_PRINCIPALS_MAX || suspects.contains_key(principal) {
            *suspects.entry(principal.clone()).or_default() += 1;
        }
    }

    /// Notes that a call of `principal` was answered. One that was lost, cancelled or timed out is not: the server may
    /// still crash under it.
    pub(crate) fn end_call(&self, principal: Option<&Arc<str>>) {
        let Some(principal) = principal else {
            return;
        };
        let mut suspects = lock(&self.suspects);
        if let Some(calls) = suspects.get_mut(principal) {
            *calls -= 1;
            if *calls == 0 {
                suspects.remove(principal);
            }
        }
    }

    /// Principals, other than the user who runs the gateway, with calls that had no answer.
    pub(crate) fn suspects(&self) -> Vec<Arc<str>> {
        lock(&self.suspects).keys().cloned().collect()
    }

    /// When the connection was first noticed to have ended.
    pub(crate) fn ended_at(&self) -> Instant {
        *self.noticed_end.get_or_init(Instant::now)
    }

    /// Requests one page of tools; `timed_out` is the error when it takes longer than `limit`.
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

    /// Sends a request of a caller and waits for its result, `limit` at most. Time in which the server waits
    /// for an answer of the client is not counted. `feedback` is that of the whole call.
    ///
    /// Returns the result and the time the server used.
    pub(crate) async fn request_for_call(
        &self,
        mut request: ClientRequest,
        limit: Duration,
        context: &CallContext,
        feedback: &CallFeedback,
    ) -> Result<(Box<RawValue>, Duration), RequestFailure> {
        let feedback = feedback.of_request();
        let _guard = CallGuard {
            server_messages: self.transport.pending().server_messages(),
            feedback: &feedback,
        };
        request.extensions_mut().insert(feedback.clone());
        let clock = feedback.start_clock();
        // `biased`: a response that arrived together with the cancellation or the time limit wins.
        let answer = tokio::select! {
            biased;
            answer = self.answer_to(request, &context.cancel, self.options(context)) => answer?,
            () = feedback.time_out(&clock, limit) => {
                return Err(UpstreamError::CallTimeout { ms: in_ms(limit) }.into());
            }
        };
        let url_needed = match &answer {
            Err(ResponseError::Rpc(error)) if error.code == URL_NEEDED => {
                let said = self.transport.redact(error.message.clone());
                Some(UrlNeeded::new(said, error.data.as_deref()))
            }
            Ok(_) | Err(_) => None,
        };
        let answer = self
            .result_of(answer)
            .map_err(|error| RequestFailure { error, url_needed })?;
        // Set for any response, also an invalid one: the process runs and reads its input.
        self.has_answered.store(true, Ordering::Relaxed);
        refuse_too_deep(&answer)?;
        let answer = self.without_secrets_of_error(answer);
        Ok((answer, feedback.server_time(&clock)))
    }

    /// Sends a request of the pool itself and waits for its result until `cancel`, without a time limit.
    /// Dropping the future cancels the request at the server.
    pub(crate) async fn request(
        &self,
        request: ClientRequest,
        cancel: &CancellationToken,
    ) -> Result<Box<RawValue>, UpstreamError> {
        let options = PeerRequestOptions::no_options();
        let answer = self.answer_to(request, cancel, options).await?;
        self.result_of(answer)
    }

    /// Per-request options of a modern server: the capabilities of this caller, which may be fewer than those
    /// declared for the pool, and its log level.
    fn options(&self, context: &CallContext) -> PeerRequestOptions {
        let options = PeerRequestOptions::no_options();
        let Some(observer) = context.observer.as_deref() else {
            return options;
        };
        if self.generation != ProtocolGeneration::Modern {
            return options;
        }
        let declared = self
            .server_messages()
            .declared()
            .and(observer.capabilities());
        let mut meta = RequestMetaObject::default();
        meta.set_client_capabilities(client_capabilities(declared, self.generation));
        if let Some(level) = observer.log_level() {
            meta.insert(LOG_LEVEL.to_owned(), level.into());
        }
        options.with_meta(meta)
    }

    /// Sends a request and waits for the answer of the server, which may be an error.
    async fn answer_to(
        &self,
        mut request: ClientRequest,
        cancel: &CancellationToken,
        options: PeerRequestOptions,
    ) -> Result<RawResponse, UpstreamError> {
        let (slot, answer) = ReplySlot::new();
        request.extensions_mut().insert(slot);
        let sent = self
            .service
            .send_cancellable_request(request, options)
            .await;
        // Sending fails only when the connection's task has ended.
        let Ok(handle) = sent else {
            return Err(self.lost().await);
        };
        // From here on every exit, including a dropped future, cancels the request at the server.
        let mut in_flight = InFlightRequest {
            handle: Some(handle),
            stop: self.transport.stop().clone(),
        };
        tokio::select! {
            biased;
            answer = answer => {
                in_flight.handle = None;
                match answer {
                    Ok(answer) => Ok(answer),
                    Err(_) => Err(self.lost().await),
                }
            }
            () = cancel.cancelled() => Err(UpstreamError::Cancelled),
        }
    }

    /// Whether parameters of calls are mirrored in headers; if so, invalid annotations exclude a tool.
    pub(crate) fn mirrors_parameters(&self) -> bool {
        matches!(self.transport, TransportConnection::Http(_))
            && self.generation == ProtocolGeneration::Modern
    }

    /// Handler of the notifications and requests of the server.
    pub(crate) fn server_messages(&self) -> &ServerMessages {
        self.transport.pending().server_messages()
    }

    /// Ends the connection. Its process is terminated soon after.
    pub(crate) fn close(&self) {
        self.transport.stop().cancel();
    }

    /// Completes when the connection has ended.
    pub(crate) async fn closed(&self) {
        self.transport.stop().cancelled().await;
    }

    /// Redacts results with `isError`: they are read like any other error. Other results belong to the program
    /// and stay unchanged.
    fn without_secrets_of_error(&self, result: Box<RawValue>) -> Box<RawValue> {
        // A substring test suffices: redacting a result that merely mentions the word is harmless.
        if !result.get().contains("\"isError\"") {
            return result;
        }
        let words = self.transport.redact(result.get().to_owned());
        RawValue::from_string(words).unwrap_or(result)
    }

    /// Error data without secrets and hidden characters; `None` when redaction leaves invalid JSON, and for a key with
    /// hidden characters.
    fn clean_data(&self, data: &Value) -> Option<Box<Value>> {
        let data = self.transport.redact(data.to_string());
        let mut data: Box<Value> = serde_json::from_str(&data).ok()?;
        text::clean_json(&mut data, limits::ERROR_DATA_BYTES_MAX).then_some(data)
    }

    fn result_of(&self, answer: RawResponse) -> Result<Box<RawValue>, UpstreamError> {
        answer.map_err(|fault| match fault {
            ResponseError::Rpc(error) if error.code == URL_NEEDED => {
                let said = self.transport.redact(error.message);
                url_needed::not_asked(self.server_messages().server(), &said)
            }
            ResponseError::Rpc(error) => UpstreamError::Protocol {
                code: error.code,
                message: self.transport.redact(error.message),
                data: error.data.and_then(|data| self.clean_data(&data)),
            },
            ResponseError::Invalid { reason } => UpstreamError::InvalidAnswer {
                reason: self.transport.redact(reason),
            },
            ResponseError::Failed(error) => error,
            ResponseError::TooLarge { bytes } => UpstreamError::TooLarge {
                bytes,
                limit: limits::UPSTREAM_LINE_BYTES_MAX as u64,
            },
        })
    }

    /// Error of a request whose connection ended, with the exit status when it arrives in time.
    async fn lost(&self) -> UpstreamError {
        // The output of a process usually ends just before its exit status is known.
        let _ = timeout(STATUS_WAIT, self.transport.ended()).await;
        self.lost_now()
    }

    /// [`Self::lost`] without waiting for the exit status.
    pub(crate) fn lost_now(&self) -> UpstreamError {
        let status = match (
            self.transport.pending().end_reason(),
            self.transport.status(),
        ) {
            (Some(reason), _) => reason.to_owned(),
            (None, Some(status)) => status,
            (None, None) => "the connection ended".to_owned(),
        };
        UpstreamError::ConnectionLost {
            stderr_tail: self.quoted_output(&status),
            status,
        }
    }

    /// End of standard error for an error text. Where several principals make calls it is logged, once, and not
    /// quoted: it may hold the arguments of another one's call.
    fn quoted_output(&self, status: &str) -> String {
        let output = self.transport.stderr_excerpt();
        if !self.server_messages().is_shared() {
            return output;
        }
        if !output.is_empty() && !self.has_logged_output.swap(true, Ordering::Relaxed) {
            let server = self.server_messages().server();
            tracing::warn!(%server, status, ?output, "a server ended; errors do not quote its last output");
        }
        String::new()
    }
}

/// Rejects a result that is nested too deeply for the gateway's own parsers. Tool lists are exempt: each tool
/// is checked by itself, so that one deep schema does not cost the others.
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

/// Ends the feedback of a call however the wait for its result ends.
struct CallGuard<'a> {
    server_messages: &'a ServerMessages,
    feedback: &'a CallFeedback,
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        self.server_messages.end_call(self.feedback);
    }
}

/// Request that was sent and not answered. Dropping it cancels the request at the server.
struct InFlightRequest {
    handle: Option<RequestHandle<RoleClient>>,
    stop: CancellationToken,
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        let (Some(handle), Ok(runtime)) =
            // Without a runtime the process is shutting down and its servers end with it.
            (self.handle.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let stop = self.stop.clone();
        runtime.spawn(async move {
            let cancelled = handle.cancel(Some(
                "the caller no longer waits for the response".to_owned(),
            ));
            // A server that does not read its input would keep the cancellation in the queue for ever, together
            // with every later request.
            if timeout(CANCEL_WRITE, cancelled).await.is_err() {
                tracing::debug!("a server that does not read its input is ended");
                stop.cancel();
            }
        });
    }
}
