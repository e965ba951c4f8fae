//! Turns the lines of a server into answers, and keeps the rest away from everybody.

use std::sync::Arc;

use limbeck_domain::{limits, text};
use rmcp::RoleClient;
use rmcp::model::{
    CustomRequest, ErrorCode, ErrorData, NumberOrString, ServerJsonRpcMessage, ServerRequest,
    ServerResult,
};
use rmcp::service::{InboundStreamOrigin, RxJsonRpcMessage};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::AsyncRead;
use tokio::sync::mpsc;

use crate::handler::RawParams;

use super::envelope::{self, Message, Outcome, RpcError};
use super::framing::{Line, LineReader};
use super::handshake::{self, HandshakeKind};
use super::tap::{AnswerFault, Tap, Waiter};

/// Messages that wait for `rmcp`; the server waits beyond it.
pub(crate) const INBOX_MESSAGES_MAX: usize = 64;
/// Excerpt of a junk line in the log.
const EXCERPT_BYTES_MAX: usize = 80;
/// Reasons quoted in an error.
const REASON_BYTES_MAX: usize = 200;
/// Method name of a server's request passed on.
const METHOD_BYTES_MAX: usize = 128;

/// Reads `stdout` to its end or to a line that nobody can be blamed for.
///
/// The caller closes the tap afterwards, which fails whoever still waits.
pub(crate) async fn read(
    stdout: impl AsyncRead + Unpin,
    tap: Arc<Tap>,
    inbox: mpsc::Sender<RxJsonRpcMessage<RoleClient>>,
) {
    let mut lines = LineReader::new(stdout, limits::UPSTREAM_LINE_BYTES_MAX);
    let reader = Reader {
        tap,
        inbox,
        origin: None,
    };
    while let Ok(Some(line)) = lines.next().await {
        reader.tap.note_heard();
        let goes_on = match line {
            Line::Whole(line) => reader.line(line).await,
            Line::Overlong { head, tail, bytes } => reader.overlong(head, tail, bytes).await,
        };
        if goes_on.is_none() {
            break;
        }
        // A server that writes without end takes turns with everybody else.
        tokio::task::consume_budget().await;
    }
}

/// Sorts what one server sends.
#[derive(Clone)]
pub(crate) struct Reader {
    pub(crate) tap: Arc<Tap>,
    pub(crate) inbox: mpsc::Sender<RxJsonRpcMessage<RoleClient>>,
    /// Which stream it comes on, where there are several.
    pub(crate) origin: Option<InboundStreamOrigin>,
}

impl Reader {
    /// Handles one line; `None` ends the connection.
    pub(crate) async fn line(&self, line: &[u8]) -> Option<()> {
        let parsed = envelope::line_text(line).and_then(|text| {
            if text.is_empty() {
                return Ok(Vec::new());
            }
            let messages = envelope::parse(&text)?;
            Ok(messages
                .into_iter()
                .map(|message| self.sort(message))
                .collect())
        });
        match parsed {
            Ok(for_rmcp) => {
                for message in for_rmcp.into_iter().flatten() {
                    self.inbox.send(message).await.ok()?;
                }
                Some(())
            }
            Err(reason) => self.junk(line, reason).await,
        }
    }

    /// Counts a line that is no message and fails the call it was the answer of, if that can be told.
    async fn junk(&self, line: &[u8], reason: String) -> Option<()> {
        self.tap.count_junk();
        let excerpt = String::from_utf8_lossy(&line[..line.len().min(EXCERPT_BYTES_MAX)]);
        tracing::debug!(
            reason,
            excerpt = text::clean_line(&excerpt, EXCERPT_BYTES_MAX),
            "skipped a line that is no message"
        );
        let Some((id, waiter)) =
            envelope::sniff_id(line, &[]).and_then(|id| Some((id, self.tap.take(id)?)))
        else {
            return Some(());
        };
        let reason = text::clean_line(&reason, REASON_BYTES_MAX);
        let fault = AnswerFault::Invalid {
            reason: format!("it is not valid JSON: {reason}"),
        };
        self.inbox.send(fail(id, waiter, fault)).await.ok()
    }

    /// Ends the wait for `id` with `fault`, when somebody waits.
    pub(crate) async fn fail(&self, id: i64, fault: AnswerFault) {
        if let Some(waiter) = self.tap.take(id) {
            let _ = self.inbox.send(fail(id, waiter, fault)).await;
        }
    }

    /// Fails the call a skipped line was the answer of; when nobody can tell whose it was, the
    /// connection ends, because its caller would wait for nothing.
    pub(crate) async fn overlong(&self, head: &[u8], tail: &[u8], bytes: u64) -> Option<()> {
        self.tap.count_junk();
        let known = envelope::sniff_id(head, tail).and_then(|id| Some((id, self.tap.take(id)?)));
        let Some((id, waiter)) = known.or_else(|| self.tap.take_only()) else {
            self.tap
                .end_because(format!("it wrote a line of {bytes} bytes"));
            return None;
        };
        let message = fail(id, waiter, AnswerFault::TooLarge { bytes });
        self.inbox.send(message).await.ok()
    }

    /// Delivers what is for a caller; gives back what is for `rmcp`.
    fn sort(&self, message: Message<'_>) -> Option<RxJsonRpcMessage<RoleClient>> {
        match message {
            Message::Notification { method, params } => {
                self.tap.count_notification();
                self.tap.listener().notified(&method, params);
                None
            }
            Message::Request { id, method, params } => self.peer_request(id, &method, params),
            Message::Answer { id, outcome } => {
                let Some((id, waiter)) = id.and_then(|id| Some((id, self.tap.take(id)?))) else {
                    self.tap.count_stray();
                    return None;
                };
                Some(match waiter {
                    Waiter::Raw(tx) => {
                        // A caller that left meanwhile is no error.
                        let _ = tx.send(raw_answer(outcome));
                        stand_in(id)
                    }
                    Waiter::Handshake(kind) => self.handshake(id, kind, outcome),
                })
            }
        }
    }

    fn handshake(
        &self,
        id: i64,
        kind: HandshakeKind,
        outcome: Outcome<'_>,
    ) -> RxJsonRpcMessage<RoleClient> {
        let read = match outcome {
            Outcome::Result(raw) => handshake::read(kind, raw),
            Outcome::Error(error) => return typed_error(id, error),
            Outcome::Nothing => Err("its answer has neither result nor error".to_owned()),
        };
        match read {
            Ok((greeting, result)) => {
                self.tap.greet(greeting);
                ServerJsonRpcMessage::response(result, NumberOrString::Number(id))
            }
            Err(reason) => typed_error(id, RpcError::unusable(reason)),
        }
    }

    /// Passes a request of the server on, its parameters as they stand.
    fn peer_request(
        &self,
        id: &RawValue,
        method: &str,
        params: Option<&RawValue>,
    ) -> Option<RxJsonRpcMessage<RoleClient>> {
        let id: NumberOrString = serde_json::from_str(id.get()).ok()?;
        if !self.tap.admit_peer_request() {
            return None;
        }
        let params = params.map(|params| Arc::from(params.to_owned()));
        let mut request = CustomRequest::new(text::cut(method, METHOD_BYTES_MAX), None);
        request.extensions.insert(RawParams(params));
        if let Some(origin) = &self.origin {
            request.extensions.insert(origin.clone());
        }
        Some(ServerJsonRpcMessage::request(
            ServerRequest::CustomRequest(request),
            id,
        ))
    }
}

impl RpcError {
    fn unusable(reason: String) -> Self {
        Self {
            code: i64::from(ErrorCode::INTERNAL_ERROR.0),
            message: reason,
            data: None,
        }
    }
}

fn raw_answer(outcome: Outcome<'_>) -> Result<Box<RawValue>, AnswerFault> {
    let invalid = |reason: String| AnswerFault::Invalid { reason };
    match outcome {
        Outcome::Error(error) => Err(AnswerFault::Rpc(error)),
        Outcome::Nothing => Err(invalid("it has neither result nor error".to_owned())),
        Outcome::Result(raw) if !raw.get().starts_with('{') => {
            Err(invalid("its result is not an object".to_owned()))
        }
        Outcome::Result(raw) => Ok(raw.to_owned()),
    }
}

/// Tells the waiter, and gives what `rmcp` has to hear.
fn fail(id: i64, waiter: Waiter, fault: AnswerFault) -> RxJsonRpcMessage<RoleClient> {
    match waiter {
        Waiter::Raw(tx) => {
            let _ = tx.send(Err(fault));
            stand_in(id)
        }
        Waiter::Handshake(_) => {
            let reason = match fault {
                AnswerFault::Rpc(error) => return typed_error(id, error),
                AnswerFault::Invalid { reason } => reason,
                AnswerFault::TooLarge { bytes } => format!("its answer has {bytes} bytes"),
                AnswerFault::Failed(error) => error.to_string(),
            };
            typed_error(id, RpcError::unusable(reason))
        }
    }
}

/// What `rmcp` hears of an answer that went elsewhere, so that it forgets the request.
fn stand_in(id: i64) -> RxJsonRpcMessage<RoleClient> {
    ServerJsonRpcMessage::response(ServerResult::empty(()), NumberOrString::Number(id))
}

fn typed_error(id: i64, error: RpcError) -> RxJsonRpcMessage<RoleClient> {
    let code = i32::try_from(error.code).map_or(ErrorCode::INTERNAL_ERROR, ErrorCode);
    let data = error.data.map(|data| *data).filter(Value::is_object);
    ServerJsonRpcMessage::error(
        ErrorData::new(code, error.message, data),
        Some(NumberOrString::Number(id)),
    )
}
