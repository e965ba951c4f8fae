//! Exchange of one request and its response.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use limbeck_domain::{limits, text};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::error::UpstreamError;
use crate::rpc::envelope::RpcError;
use crate::rpc::pending::ResponseError;
use crate::sync::lock;

use super::dialect::HttpDialect;
use super::guard::{self, GuardedResponse};
use super::params;
use super::retry;
use super::session::{HttpSession, upstream_error};

/// Bytes read of an error response.
const ERROR_BODY_BYTES_MAX: usize = 64 << 10;
/// Time limit for reading an error response.
const ERROR_BODY_LIMIT: Duration = Duration::from_secs(5);
/// Bytes of the server's text in an error.
const EXCERPT_BYTES_MAX: usize = 200;
/// Time limit for a notification or a response of this client.
const NOTICE_LIMIT: Duration = Duration::from_secs(10);
/// Error code of a modern server whose headers and body differ.
const HEADER_MISMATCH: i64 = -32020;

/// A request to send.
pub(super) struct OutgoingRequest {
    pub(super) id: i64,
    pub(super) method: String,
    pub(super) body: Vec<u8>,
    /// Header with the idempotency key of a call.
    pub(super) key: Option<(HeaderName, HeaderValue)>,
}

/// Fields of a request body that are mirrored in headers.
#[derive(Deserialize)]
struct RequestBody<'a> {
    #[serde(borrow, default)]
    params: Option<RequestParams<'a>>,
}

#[derive(Default, Deserialize)]
struct RequestParams<'a> {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    uri: Option<String>,
    #[serde(rename = "taskId", default)]
    task_id: Option<String>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(rename = "_meta", borrow, default)]
    meta: Option<&'a RawValue>,
}

impl RequestParams<'_> {
    fn of(body: &[u8]) -> RequestParams<'_> {
        let parsed: Result<RequestBody<'_>, _> = serde_json::from_slice(body);
        parsed.ok().and_then(|it| it.params).unwrap_or_default()
    }
}

impl HttpSession {
    /// Sends a request and delivers its response or its failure. Returns when the response has ended, was
    /// cancelled, or the connection ends.
    pub(super) async fn exchange(self: Arc<Self>, request: OutgoingRequest) {
        let id = request.id;
        let cancelled = CancellationToken::new();
        lock(&self.exchanges).insert(id, cancelled.clone());
        // `biased`: a cancelled exchange must not deliver a response that arrives at the same time.
        let done = tokio::select! {
            biased;
            () = self.stop.cancelled() => Ok(()),
            () = cancelled.cancelled() => Ok(()),
            done = self.send_and_read(&request) => done,
        };
        if let Err(error) = done {
            self.fail(id, error).await;
        }
        // Removed last, because a session that ends waits for the exchanges in this map.
        lock(&self.exchanges).remove(&id);
        self.end_if_idle();
    }

    async fn fail(&self, id: i64, error: ResponseError) {
        if self.pending.handshake_result().is_none()
            && let ResponseError::Failed(upstream) = &error
        {
            *lock(&self.handshake_error) = Some(upstream.clone());
        }
        self.reader(Some(id)).fail(id, error).await;
    }

    /// Cancels an exchange, which closes its response.
    pub(super) fn cancel_exchange(&self, id: i64) {
        if let Some(cancelled) = lock(&self.exchanges).get(&id) {
            cancelled.cancel();
        }
    }

    async fn send_and_read(&self, request: &OutgoingRequest) -> Result<(), ResponseError> {
        let response = self.post(request).await?;
        if response.status().is_success() {
            return self.read_response(request, response).await;
        }
        let answered = response.status();
        let (status, rpc) = self.refusal(response).await?;
        let code = rpc.as_ref().map_or(0, |error| error.code);
        if code == HEADER_MISMATCH
            && request.method == "tools/call"
            && self.dialect == HttpDialect::Modern
        {
            // The server requires parameters in headers whose annotations are not known yet. It has not
            // executed the call, so the call can be sent again.
            let again = |error: ResponseError| match error {
                ResponseError::Failed(error) => {
                    ResponseError::Failed(self.after_answer(answered, error))
                }
                error => error,
            };
            self.learn_parameters(request).await.map_err(again)?;
            let response = self.post(request).await.map_err(again)?;
            if response.status().is_success() {
                return self.read_response(request, response).await;
            }
            let (status, rpc) = self.refusal(response).await?;
            return Err(self.refused(status, rpc));
        }
        Err(self.refused(status, rpc))
    }

    async fn post(&self, request: &OutgoingRequest) -> Result<GuardedResponse, ResponseError> {
        let mut headers = self.routing(request)?;
        headers.extend(request.key.clone());
        let url = self.messages().map_err(ResponseError::Failed)?;
        let mut again = 0;
        let mut answered = None;
        loop {
            let sent = self.request(Method::POST, url, headers.clone(), request.body.clone());
            let response = sent.await.map_err(|error| {
                ResponseError::Failed(match answered {
                    Some(status) => self.after_answer(status, error),
                    None => error,
                })
            })?;
            let pause = retry::pause(&request.method, response.status(), response.headers());
            match pause {
                Some(pause) if again < retry::AGAIN_MAX => {
                    again += 1;
                    answered = Some(response.status());
                    sleep(pause).await;
                }
                _ => return Ok(response),
            }
        }
    }

    /// Routing headers of modern servers: `Mcp-Method`, `Mcp-Name` and `Mcp-Param-*`.
    fn routing(&self, request: &OutgoingRequest) -> Result<HeaderMap, ResponseError> {
        let mut headers = HeaderMap::new();
        if self.dialect != HttpDialect::Modern {
            return Ok(headers);
        }
        if let Ok(method) = HeaderValue::from_str(&request.method) {
            headers.insert(HeaderName::from_static("mcp-method"), method);
        }
        let params = RequestParams::of(&request.body);
        let name = match request.method.as_str() {
            "tools/call" | "prompts/get" => params.name.as_deref(),
            "resources/read" => params.uri.as_deref(),
            "tasks/get" | "tasks/update" | "tasks/cancel" => params.task_id.as_deref(),
            _ => None,
        };
        // Proxies route by these headers without parsing the body, so they must match the body exactly.
        if let Some(value) = name.and_then(params::encode) {
            headers.insert(HeaderName::from_static("mcp-name"), value);
        }
        if let ("tools/call", Some(tool), Some(arguments)) =
            (request.method.as_str(), &params.name, params.arguments)
        {
            let mirrored = self.params.of_call(tool, arguments);
            headers.extend(mirrored.map_err(|reason| {
                ResponseError::Failed(UpstreamError::InvalidArguments { reason })
            })?);
        }
        Ok(headers)
    }

    async fn read_response(
        &self,
        request: &OutgoingRequest,
        mut response: GuardedResponse,
    ) -> Result<(), ResponseError> {
        // Only the response to `initialize` may set the session id.
        let is_initialize = request.method == "initialize";
        self.note_session(&response, is_initialize)
            .map_err(ResponseError::Failed)?;
        if self.dialect == HttpDialect::Sse {
            // The response arrives on the event stream.
            return Ok(());
        }
        match media_type(&response).as_str() {
            "text/event-stream" => self.read_response_stream(request, response).await,
            "application/json" => {
                let body = response.bytes(limits::UPSTREAM_LINE_BYTES_MAX).await;
                let body = body.map_err(|error| ResponseError::Failed(upstream_error(&error)))?;
                self.deliver(request, &body).await;
                Err(ResponseError::Invalid {
                    reason: "it has no response to the request".to_owned(),
                })
            }
            "" => Err(ResponseError::Invalid {
                reason: format!("HTTP {} without a body", response.status().as_u16()),
            }),
            other => Err(ResponseError::Invalid {
                reason: format!("it is `{other}`, neither JSON nor an event stream"),
            }),
        }
    }

    /// Passes a message on the stream of `request` to the reader, without secrets of the entry.
    pub(super) async fn deliver(&self, request: &OutgoingRequest, message: &[u8]) {
        self.pass_to_reader(Some(request.id), message).await;
        if request.method == "tools/list" && self.dialect == HttpDialect::Modern {
            self.params.learn(&String::from_utf8_lossy(message));
        }
    }

    pub(super) async fn pass_to_reader(&self, request: Option<i64>, message: &[u8]) {
        self.pending.note_received();
        let reader = self.reader(request);
        let goes_on = match std::str::from_utf8(message) {
            Ok(text) => reader.line(self.redact(text).as_bytes()).await,
            Err(_) => reader.line(message).await,
        };
        if goes_on.is_none() {
            self.stop.cancel();
        }
    }

    /// Reads an error response: its status, and its JSON-RPC error if it has one.
    async fn refusal(
        &self,
        mut response: GuardedResponse,
    ) -> Result<(UpstreamError, Option<RpcError>), ResponseError> {
        let status = response.status();
        if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
            let target = response.redirect_target(&self.access.url);
            let refused = guard::redirect(target.as_ref());
            return Err(ResponseError::Failed(UpstreamError::Http {
                status: status.as_u16(),
                reason: format!(": {refused}"),
            }));
        }
        let kind = media_type(&response);
        let body = match timeout(ERROR_BODY_LIMIT, response.bytes(ERROR_BODY_BYTES_MAX)).await {
            Ok(Ok(body)) => body,
            Ok(Err(_)) | Err(_) => Vec::new(),
        };
        let body = String::from_utf8_lossy(&body);
        let body = self.redact_error(&body);
        let rpc = if kind == "application/json" {
            rpc_error(&body)
        } else {
            None
        };
        let message = match &rpc {
            Some(error) => text::clean_line(&error.message, EXCERPT_BYTES_MAX),
            // An HTML page contains no usable reason.
            None if matches!(kind.as_str(), "application/json" | "text/plain") => {
                text::clean_line(body.trim(), EXCERPT_BYTES_MAX)
            }
            None => String::new(),
        };
        let reason = match message.as_str() {
            "" => status
                .canonical_reason()
                .map_or_else(String::new, |it| format!(" ({it})")),
            message => format!(": {message}"),
        };
        let reason = match retry::asked(response.headers(), SystemTime::now()) {
            Some(wait) => format!("{reason}; it requests a wait of {} s", wait.as_secs()),
            None => reason,
        };
        let error = UpstreamError::Http {
            status: status.as_u16(),
            reason,
        };
        Ok((error, rpc))
    }

    fn refused(&self, error: UpstreamError, rpc: Option<RpcError>) -> ResponseError {
        let status = match error {
            UpstreamError::Http { status, .. } => status,
            _ => 0,
        };
        if self.has_session() && (status == 404 || (status == 400 && names_session(rpc.as_ref()))) {
            self.end_when_idle("the server no longer knows the session");
            return ResponseError::Failed(UpstreamError::ConnectionLost {
                status: format!("it no longer knows the session, HTTP {status}"),
                stderr_tail: String::new(),
            });
        }
        // During a handshake the status decides what to try next, so it is kept instead of the JSON-RPC error.
        if self.pending.handshake_result().is_none()
            && rpc.as_ref().is_none_or(|error| !is_modern(error.code))
        {
            return ResponseError::Failed(error);
        }
        match rpc {
            Some(error) => ResponseError::Rpc(error),
            None => ResponseError::Failed(error),
        }
    }

    /// Lists the tools to learn the annotations of their parameters.
    async fn learn_parameters(&self, call: &OutgoingRequest) -> Result<(), ResponseError> {
        let params = RequestParams::of(&call.body);
        let mut meta: Value = params
            .meta
            .and_then(|meta| serde_json::from_str(meta.get()).ok())
            .unwrap_or(Value::Null);
        if let Value::Object(meta) = &mut meta {
            // The token belongs to the call; reusing it would report progress of the listing as progress of the
            // call.
            meta.remove("progressToken");
        }
        let mut cursor = Value::Null;
        for page in 0..limits::LIST_PAGES_MAX {
            let mut params = json!({ "_meta": meta });
            if !cursor.is_null() {
                params["cursor"] = cursor;
            }
            let id = format!("limbeck-parameters-{page}");
            let body =
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": params});
            let request = OutgoingRequest {
                // Under the id of the call, so that cancelling the call cancels the listing.
                id: call.id,
                method: "tools/list".to_owned(),
                body: body.to_string().into_bytes(),
                key: None,
            };
            let mut response = self.post(&request).await?;
            let answer = self.read_whole(&mut response).await?;
            self.params.learn(&answer);
            let answer: Value = serde_json::from_str(&answer).unwrap_or(Value::Null);
            cursor = answer["result"]["nextCursor"].clone();
            if !cursor.is_string() {
                break;
            }
        }
        Ok(())
    }

    /// Reads the first message of a response, as JSON or from an event stream.
    async fn read_whole(&self, response: &mut GuardedResponse) -> Result<String, ResponseError> {
        let body = if media_type(response) == "text/event-stream" {
            self.first_event(response).await?
        } else {
            let body = response.bytes(limits::UPSTREAM_LINE_BYTES_MAX).await;
            body.map_err(|error| ResponseError::Failed(upstream_error(&error)))?
        };
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// Sends a notification or a response of this client. The server's response is ignored.
    pub(super) async fn send_notice(&self, body: Vec<u8>, method: Option<&str>) {
        let mut headers = HeaderMap::new();
        if let (HttpDialect::Modern, Some(method)) = (self.dialect, method)
            && let Ok(method) = HeaderValue::from_str(method)
        {
            headers.insert(HeaderName::from_static("mcp-method"), method);
        }
        let Ok(url) = self.messages() else { return };
        let sent = self.request(Method::POST, url, headers, body);
        match timeout(NOTICE_LIMIT, sent).await {
            Ok(Ok(response)) if response.status().is_success() => {}
            Ok(Ok(response)) => {
                tracing::debug!(status = response.status().as_u16(), "a notice was refused");
            }
            Ok(Err(error)) => tracing::debug!(%error, "a notice was not delivered"),
            Err(_) => tracing::debug!("a notice took too long"),
        }
    }
}

/// Whether only modern servers use this error code.
pub(super) fn is_modern(code: i64) -> bool {
    (-32022..=HEADER_MISMATCH).contains(&code)
}

/// Some servers reject an unknown session with 400 and mention it only in the message.
fn names_session(rpc: Option<&RpcError>) -> bool {
    rpc.is_some_and(|error| error.message.to_ascii_lowercase().contains("session"))
}

fn rpc_error(body: &str) -> Option<RpcError> {
    let body: Value = serde_json::from_str(body).ok()?;
    let error = body.get("error")?;
    let message = error.get("message")?.as_str()?;
    let code = error.get("code")?.as_i64()?;
    Some(RpcError::new(code, message, error.get("data")))
}

/// Media type of a response, in lower case, cleaned and cut; empty when the response has no media type.
pub(super) fn media_type(response: &GuardedResponse) -> String {
    let value = response.headers().get(CONTENT_TYPE);
    let value = value.map_or_else(String::new, |value| {
        String::from_utf8_lossy(value.as_bytes()).into_owned()
    });
    let kind = value.split(';').next().unwrap_or("").trim();
    text::clean_line(&kind.to_ascii_lowercase(), 80)
}
