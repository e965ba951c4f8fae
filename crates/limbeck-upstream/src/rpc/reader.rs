//! Dispatch of incoming messages: responses to their pending requests, the rest to their handlers.

use std::sync::Arc;

use limbeck_domain::text;
use rmcp::RoleClient;
use rmcp::model::{
    CustomRequest, ErrorCode, ErrorData, NumberOrString, ServerJsonRpcMessage, ServerRequest,
    ServerResult,
};
use rmcp::service::{InboundStreamOrigin, RxJsonRpcMessage};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::handler::RawParams;

use super::envelope::{self, ResponseContent, RpcError, RpcMessage};
use super::handshake_result::{self, HandshakeKind};
use super::peer_requests::PeerAdmission;
use super::pending::{PendingRequest, PendingRequests, ResponseError};

/// Messages queued for `rmcp`; when the queue is full, reading from the server pauses.
pub(crate) const INBOX_MESSAGES_MAX: usize = 64;
/// Bytes of an invalid line shown in the log.
const EXCERPT_BYTES_MAX: usize = 80;
/// Bytes of a parser's reason in an error.
const REASON_BYTES_MAX: usize = 200;
/// Bytes kept of the method name of a server's request.
const METHOD_BYTES_MAX: usize = 128;

/// Dispatcher of the messages of one connection.
#[derive(Clone)]
pub(crate) struct MessageReader {
    pub(crate) pending: Arc<PendingRequests>,
    pub(crate) inbox: mpsc::Sender<RxJsonRpcMessage<RoleClient>>,
    /// Stream the messages arrive on, where there are several.
    pub(crate) origin: Option<InboundStreamOrigin>,
}

impl MessageReader {
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
            Ok(sorted) => {
                for message in sorted {
                    match message {
                        SortedMessage::Handled => {}
                        SortedMessage::ForRmcp(message) => {
                            self.inbox.send(*message).await.ok()?;
                        }
                        SortedMessage::EndsConnection => return None,
                    }
                }
                Some(())
            }
            Err(reason) => self.invalid_line(line, reason).await,
        }
    }

    /// Counts an invalid line and fails the call it responded to, if its id can be guessed.
    async fn invalid_line(&self, line: &[u8], reason: String) -> Option<()> {
        self.pending.count_invalid_line();
        let excerpt = String::from_utf8_lossy(&line[..line.len().min(EXCERPT_BYTES_MAX)]);
        tracing::debug!(
            reason,
            excerpt = text::clean_line(&excerpt, EXCERPT_BYTES_MAX),
            "skipped a line that is not a message"
        );
        let Some((id, waiter)) =
            envelope::sniff_id(line, &[]).and_then(|id| Some((id, self.pending.take(id)?)))
        else {
            return Some(());
        };
        let reason = text::clean_line(&reason, REASON_BYTES_MAX);
        let fault = ResponseError::Invalid {
            reason: format!("it is not valid JSON: {reason}"),
        };
        self.inbox.send(fail(id, waiter, fault)).await.ok()
    }

    /// Fails the pending request `id`, if there is one.
    pub(crate) async fn fail(&self, id: i64, fault: ResponseError) {
        if let Some(waiter) = self.pending.take(id) {
            let _ = self.inbox.send(fail(id, waiter, fault)).await;
        }
    }

    /// Fails the call that a skipped line responded to. When the id cannot be guessed, the connection ends,
    /// because the caller would wait until its time limit.
    pub(crate) async fn overlong(&self, head: &[u8], tail: &[u8], bytes: u64) -> Option<()> {
        self.pending.count_invalid_line();
        let known =
            envelope::sniff_id(head, tail).and_then(|id| Some((id, self.pending.take(id)?)));
        let Some((id, waiter)) = known.or_else(|| self.pending.take_only()) else {
            self.pending
                .set_end_reason(format!("it wrote a line of {bytes} bytes"));
            return None;
        };
        let message = fail(id, waiter, ResponseError::TooLarge { bytes });
        self.inbox.send(message).await.ok()
    }

    /// Delivers messages for callers; returns those for `rmcp`.
    fn sort(&self, message: RpcMessage<'_>) -> SortedMessage {
        match message {
            RpcMessage::Notification { method, params } => {
                self.pending.count_notification();
                self.pending
                    .server_messages()
                    .handle_notification(&method, params);
                SortedMessage::Handled
            }
            RpcMessage::Request { id, method, params } => self.peer_request(id, &method, params),
            RpcMessage::Answer { id, outcome } => {
                let Some((id, waiter)) = id.and_then(|id| Some((id, self.pending.take(id)?)))
                else {
                    self.pending.count_stray();
                    return SortedMessage::Handled;
                };
                SortedMessage::ForRmcp(Box::new(match waiter {
                    PendingRequest::Raw(tx) => {
                        // The caller may have been cancelled meanwhile.
                        let _ = tx.send(raw_answer(outcome));
                        stand_in(id)
                    }
                    PendingRequest::Handshake(kind) => self.handshake(id, kind, outcome),
                }))
            }
        }
    }

    fn handshake(
        &self,
        id: i64,
        kind: HandshakeKind,
        outcome: ResponseContent<'_>,
    ) -> RxJsonRpcMessage<RoleClient> {
        let read = match outcome {
            ResponseContent::Result(raw) => handshake_result::read(kind, raw),
            ResponseContent::Error(error) => return typed_error(id, error),
            ResponseContent::Nothing => Err("its answer has neither result nor error".to_owned()),
        };
        match read {
            Ok((handshake_result, result)) => {
                self.pending.set_handshake_result(handshake_result);
                ServerJsonRpcMessage::response(result, NumberOrString::Number(id))
            }
            Err(reason) => typed_error(id, RpcError::unusable(reason)),
        }
    }

    /// Passes a request of the server to `rmcp`, its parameters unchanged.
    fn peer_request(
        &self,
        id: &RawValue,
        method: &str,
        params: Option<&RawValue>,
    ) -> SortedMessage {
        let Ok(id) = serde_json::from_str::<NumberOrString>(id.get()) else {
            return SortedMessage::Handled;
        };
        let bytes = params.map_or(0, |params| params.get().len());
        match self.pending.admit_peer_request(&id, bytes) {
            PeerAdmission::Admitted => {}
            // Without a response: a server that floods would be answered with a flood.
            PeerAdmission::Dropped => return SortedMessage::Handled,
            PeerAdmission::Deaf => {
                let reason = "it sent request after request and read no answer, so it was ended";
                self.pending.set_end_reason(reason.to_owned());
                let server = self.pending.server_messages().server();
                tracing::warn!(%server, "a server that does not read the answers to its requests is ended");
                return SortedMessage::EndsConnection;
            }
        }
        let params = params.map(|params| Arc::from(params.to_owned()));
        let mut request = CustomRequest::new(text::cut(method, METHOD_BYTES_MAX), None);
        request.extensions.insert(RawParams(params));
        if let Some(origin) = &self.origin {
            request.extensions.insert(origin.clone());
        }
        SortedMessage::ForRmcp(Box::new(ServerJsonRpcMessage::request(
            ServerRequest::CustomRequest(request),
            id,
        )))
    }
}

/// What is left to do with a message.
enum SortedMessage {
    Handled,
    ForRmcp(Box<RxJsonRpcMessage<RoleClient>>),
    EndsConnection,
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

fn raw_answer(outcome: ResponseContent<'_>) -> Result<Box<RawValue>, ResponseError> {
    let invalid = |reason: String| ResponseError::Invalid { reason };
    match outcome {
        ResponseContent::Error(error) => Err(ResponseError::Rpc(error)),
        ResponseContent::Nothing => Err(invalid("it has neither result nor error".to_owned())),
        ResponseContent::Result(raw) if !raw.get().starts_with('{') => {
            Err(invalid("its result is not an object".to_owned()))
        }
        ResponseContent::Result(raw) => Ok(raw.to_owned()),
    }
}

/// Fails the pending request; returns the message that makes `rmcp` forget it.
fn fail(id: i64, waiter: PendingRequest, fault: ResponseError) -> RxJsonRpcMessage<RoleClient> {
    match waiter {
        PendingRequest::Raw(tx) => {
            let _ = tx.send(Err(fault));
            stand_in(id)
        }
        PendingRequest::Handshake(_) => {
            let reason = match fault {
                ResponseError::Rpc(error) => return typed_error(id, error),
                ResponseError::Invalid { reason } => reason,
                ResponseError::TooLarge { bytes } => format!("its answer has {bytes} bytes"),
                ResponseError::Failed(error) => error.to_string(),
            };
            typed_error(id, RpcError::unusable(reason))
        }
    }
}

/// Placeholder for a response that was delivered elsewhere, so that `rmcp` forgets the request.
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
