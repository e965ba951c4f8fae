//! One request and its answer.

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

use crate::UpstreamError;
use crate::stdio::envelope::RpcError;
use crate::stdio::tap::AnswerFault;
use crate::sync::lock;

use super::guard::{self, Response};
use super::params;
use super::retry;
use super::session::{Session, Speech, fault};

/// Body of an error response that is read.
const ERROR_BODY_BYTES_MAX: usize = 64 << 10;
/// Time for it.
const ERROR_BODY_LIMIT: Duration = Duration::from_secs(5);
/// Words of a server in an error.
const EXCERPT_BYTES_MAX: usize = 200;
/// Time for a message that nobody waits for.
const NOTICE_LIMIT: Duration = Duration::from_secs(10);
/// A modern server's complaint that headers and body differ.
const HEADER_MISMATCH: i64 = -32020;

/// A request on its way.
pub(super) struct Request {
    pub(super) id: i64,
    pub(super) method: String,
    pub(super) body: Vec<u8>,
}

/// The parts of a request that headers repeat.
#[derive(Deserialize)]
struct Repeated<'a> {
    #[serde(borrow, default)]
    params: Option<Params<'a>>,
}

#[derive(Default, Deserialize)]
struct Params<'a> {
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

impl Params<'_> {
    fn of(body: &[u8]) -> Params<'_> {
        let repeated: Result<Repeated<'_>, _> = serde_json::from_slice(body);
        repeated.ok().and_then(|it| it.params).unwrap_or_default()
    }
}

impl Session {
    /// Sends a request and delivers its answer, or the reason why there is none. Returns when the response
    /// has ended, was cancelled, or the connection ends.
    pub(super) async fn exchange(self: Arc<Self>, request: Request) {
        let id = request.id;
        let given_up = CancellationToken::new();
        lock(&self.exchanges).insert(id, given_up.clone());
        let done = tokio::select! {
            biased;
            () = self.stop.cancelled() => Ok(()),
            () = given_up.cancelled() => Ok(()),
            done = self.ask(&request) => done,
        };
        if let Err(fault) = done {
            self.fail(id, fault).await;
        }
        lock(&self.exchanges).remove(&id);
        self.end_if_idle();
    }

    async fn fail(&self, id: i64, fault: AnswerFault) {
        if self.tap.greeting().is_none()
            && let AnswerFault::Failed(error) = &fault
        {
            *lock(&self.handshake_fault) = Some(error.clone());
        }
        self.reader(Some(id)).fail(id, fault).await;
    }

    /// Closes the response of a request that nobody waits for any more.
    pub(super) fn give_up(&self, id: i64) {
        if let Some(given_up) = lock(&self.exchanges).get(&id) {
            given_up.cancel();
        }
    }

    async fn ask(&self, request: &Request) -> Result<(), AnswerFault> {
        let response = self.post(request).await?;
        if response.status().is_success() {
            return self.answered(request, response).await;
        }
        let (status, rpc) = self.refusal(response).await?;
        let code = rpc.as_ref().map_or(0, |error| error.code);
        if code == HEADER_MISMATCH
            && request.method == "tools/call"
            && self.speech == Speech::Modern
        {
            // The server wants parameters in headers that nobody has told us of; it has done nothing yet.
            self.learn_parameters(request).await?;
            let response = self.post(request).await?;
            if response.status().is_success() {
                return self.answered(request, response).await;
            }
            let (status, rpc) = self.refusal(response).await?;
            return Err(self.refused(status, rpc));
        }
        Err(self.refused(status, rpc))
    }

    async fn post(&self, request: &Request) -> Result<Response, AnswerFault> {
        let headers = self.routing(request)?;
        let url = self.messages().map_err(AnswerFault::Failed)?;
        let mut again = 0;
        loop {
            let sent = self.request(Method::POST, url, headers.clone(), request.body.clone());
            let response = sent.await.map_err(AnswerFault::Failed)?;
            let pause = retry::pause(&request.method, response.status(), response.headers());
            match pause {
                Some(pause) if again < retry::AGAIN_MAX => {
                    again += 1;
                    sleep(pause).await;
                }
                _ => return Ok(response),
            }
        }
    }

    /// `Mcp-Method`, `Mcp-Name` and `Mcp-Param-*`, which only modern servers know.
    fn routing(&self, request: &Request) -> Result<HeaderMap, AnswerFault> {
        let mut headers = HeaderMap::new();
        if self.speech != Speech::Modern {
            return Ok(headers);
        }
        if let Ok(method) = HeaderValue::from_str(&request.method) {
            headers.insert(HeaderName::from_static("mcp-method"), method);
        }
        let params = Params::of(&request.body);
        let name = match request.method.as_str() {
            "tools/call" | "prompts/get" => params.name.as_deref(),
            "resources/read" => params.uri.as_deref(),
            "tasks/get" | "tasks/update" | "tasks/cancel" => params.task_id.as_deref(),
            _ => None,
        };
        if let Some(value) = name.and_then(params::encode) {
            headers.insert(HeaderName::from_static("mcp-name"), value);
        }
        if let ("tools/call", Some(tool), Some(arguments)) =
            (request.method.as_str(), &params.name, params.arguments)
        {
            let mirrored = self.params.of_call(tool, arguments);
            headers.extend(mirrored.map_err(|reason| {
                AnswerFault::Failed(UpstreamError::InvalidArguments { reason })
            })?);
        }
        Ok(headers)
    }

    async fn answered(&self, request: &Request, mut response: Response) -> Result<(), AnswerFault> {
        let is_initialize = request.method == "initialize";
        self.note_session(&response, is_initialize)
            .map_err(AnswerFault::Failed)?;
        if self.speech == Speech::Sse {
            // The answer comes on the event stream.
            return Ok(());
        }
        match media_type(&response).as_str() {
            "text/event-stream" => self.follow(request, response).await,
            "application/json" => {
                let body = response.bytes(limits::UPSTREAM_LINE_BYTES_MAX).await;
                let body = body.map_err(|error| AnswerFault::Failed(fault(&error)))?;
                self.deliver(request, &body).await;
                Err(AnswerFault::Invalid {
                    reason: "it has no answer to the request".to_owned(),
                })
            }
            "" => Err(AnswerFault::Invalid {
                reason: format!("HTTP {} without a body", response.status().as_u16()),
            }),
            other => Err(AnswerFault::Invalid {
                reason: format!("it is `{other}`, neither JSON nor an event stream"),
            }),
        }
    }

    /// Hands over what came on the stream of `request`, without secrets of the entry.
    pub(super) async fn deliver(&self, request: &Request, message: &[u8]) {
        self.hand_over(Some(request.id), message).await;
        if request.method == "tools/list" && self.speech == Speech::Modern {
            self.params.learn(&String::from_utf8_lossy(message));
        }
    }

    pub(super) async fn hand_over(&self, request: Option<i64>, message: &[u8]) {
        self.tap.note_heard();
        let reader = self.reader(request);
        let _ = match std::str::from_utf8(message) {
            Ok(text) => reader.line(self.redact(text).as_bytes()).await,
            Err(_) => reader.line(message).await,
        };
    }

    /// What a response that is no success says: its status, and its JSON-RPC error if it has one.
    async fn refusal(
        &self,
        mut response: Response,
    ) -> Result<(UpstreamError, Option<RpcError>), AnswerFault> {
        let status = response.status();
        if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
            let target = response.redirect_target(&self.access.url);
            let refused = guard::redirect(target.as_ref());
            return Err(AnswerFault::Failed(UpstreamError::Http {
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
        let body = self.redact(&body);
        let rpc = if kind == "application/json" {
            rpc_error(&body)
        } else {
            None
        };
        let said = match &rpc {
            Some(error) => text::clean_line(&error.message, EXCERPT_BYTES_MAX),
            // A page for people holds anything but a reason.
            None if matches!(kind.as_str(), "application/json" | "text/plain") => {
                text::clean_line(body.trim(), EXCERPT_BYTES_MAX)
            }
            None => String::new(),
        };
        let reason = match said.as_str() {
            "" => status
                .canonical_reason()
                .map_or_else(String::new, |it| format!(" ({it})")),
            said => format!(": {said}"),
        };
        let reason = match retry::asked(response.headers(), SystemTime::now()) {
            Some(wait) => format!("{reason}; it asks to wait for {} s", wait.as_secs()),
            None => reason,
        };
        let error = UpstreamError::Http {
            status: status.as_u16(),
            reason,
        };
        Ok((error, rpc))
    }

    fn refused(&self, error: UpstreamError, rpc: Option<RpcError>) -> AnswerFault {
        let status = match error {
            UpstreamError::Http { status, .. } => status,
            _ => 0,
        };
        if self.has_session() && (status == 404 || (status == 400 && names_session(rpc.as_ref()))) {
            self.end_soon("the server no longer knows the session");
            return AnswerFault::Failed(UpstreamError::ConnectionLost {
                status: format!("it no longer knows the session, HTTP {status}"),
                stderr_tail: String::new(),
            });
        }
        // In a handshake the status tells what to try next, so it is kept beside the error.
        if self.tap.greeting().is_none() && rpc.as_ref().is_none_or(|error| !is_modern(error.code))
        {
            return AnswerFault::Failed(error);
        }
        match rpc {
            Some(error) => AnswerFault::Rpc(error),
            None => AnswerFault::Failed(error),
        }
    }

    /// Lists the tools, for the annotations of their parameters alone.
    async fn learn_parameters(&self, call: &Request) -> Result<(), AnswerFault> {
        let params = Params::of(&call.body);
        let mut meta: Value = params
            .meta
            .and_then(|meta| serde_json::from_str(meta.get()).ok())
            .unwrap_or(Value::Null);
        if let Value::Object(meta) = &mut meta {
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
            let request = Request {
                id: call.id,
                method: "tools/list".to_owned(),
                body: body.to_string().into_bytes(),
            };
            let mut response = self.post(&request).await?;
            let answer = self.whole(&mut response).await?;
            self.params.learn(&answer);
            let answer: Value = serde_json::from_str(&answer).unwrap_or(Value::Null);
            cursor = answer["result"]["nextCursor"].clone();
            if !cursor.is_string() {
                break;
            }
        }
        Ok(())
    }

    /// The first message of a response, in either form.
    async fn whole(&self, response: &mut Response) -> Result<String, AnswerFault> {
        let body = if media_type(response) == "text/event-stream" {
            self.first_event(response).await?
        } else {
            let body = response.bytes(limits::UPSTREAM_LINE_BYTES_MAX).await;
            body.map_err(|error| AnswerFault::Failed(fault(&error)))?
        };
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// Sends a notification or an answer of ours. What the server says to it changes nothing.
    pub(super) async fn tell(&self, body: Vec<u8>, method: Option<&str>) {
        let mut headers = HeaderMap::new();
        if let (Speech::Modern, Some(method)) = (self.speech, method)
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

/// Codes that only a modern server uses.
pub(super) fn is_modern(code: i64) -> bool {
    (-32022..=HEADER_MISMATCH).contains(&code)
}

/// Some servers answer an unknown session with 400 and say so only in words.
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

/// The media type, in lower case, cleaned and cut; empty when there is none.
pub(super) fn media_type(response: &Response) -> String {
    let value = response.headers().get(CONTENT_TYPE);
    let value = value.map_or_else(String::new, |value| {
        String::from_utf8_lossy(value.as_bytes()).into_owned()
    });
    let kind = value.split(';').next().unwrap_or("").trim();
    text::clean_line(&kind.to_ascii_lowercase(), 80)
}
