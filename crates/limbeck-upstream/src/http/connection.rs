//! Connection over HTTP and the transport that `rmcp` uses on it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::header::{HeaderName, HeaderValue};
use rmcp::RoleClient;
use rmcp::model::{ClientNotification, JsonRpcMessage, NumberOrString};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::call_context::RequestKey;
use crate::error::UpstreamError;
use crate::rpc::encode::{answered_id, encode, register, request_key};
use crate::rpc::handshake::{HandshakeError, McpService, PROBE_ANSWER, perform_handshake};
use crate::rpc::pending::PendingRequests;
use crate::sync::lock;

use super::dialect::HttpDialect;
use super::exchange::OutgoingRequest;
use super::session::{HttpSession, ServerAccess};

/// One connection over HTTP. Dropping it ends the session.
pub(crate) struct HttpConnection {
    session: Arc<HttpSession>,
    received: Option<mpsc::Receiver<RxJsonRpcMessage<RoleClient>>>,
}

/// Failure of a handshake over HTTP.
#[derive(Debug)]
pub(crate) enum HttpHandshakeError {
    /// The server responded, and `rmcp` could not complete the handshake.
    Handshake(HandshakeError),
    /// The request failed without a JSON-RPC response.
    Http(UpstreamError),
}

impl HttpConnection {
    pub(crate) fn new(
        access: ServerAccess,
        dialect: HttpDialect,
        pending: Arc<PendingRequests>,
        stop: CancellationToken,
        tracker: TaskTracker,
    ) -> Self {
        let (session, received) = HttpSession::open(access, dialect, pending, stop, tracker);
        Self {
            session,
            received: Some(received),
        }
    }

    pub(crate) fn pending(&self) -> &Arc<PendingRequests> {
        &self.session.pending
    }

    pub(crate) fn stop(&self) -> &CancellationToken {
        &self.session.stop
    }

    /// Removes every value that the entry declares, for an error text.
    pub(crate) fn redact_error(&self, text: &str) -> String {
        self.session.redact_error(text).into_owned()
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.session.is_closing()
    }

    /// Performs the handshake in the session's dialect, once.
    pub(crate) async fn handshake(
        &mut self,
        limit: Duration,
    ) -> Result<McpService, HttpHandshakeError> {
        let deadline = Instant::now() + limit;
        let session = &self.session;
        let dialect = session.dialect;
        let Some(inbox) = self.received.take() else {
            return Err(HttpHandshakeError::Handshake(HandshakeError::Ended));
        };
        let transport = HttpTransport {
            session: session.clone(),
            inbox,
        };
        let handshake = async {
            if dialect == HttpDialect::Sse {
                session
                    .open_events()
                    .await
                    .map_err(HttpHandshakeError::Http)?;
            }
            let handshake =
                perform_handshake(&session.pending, transport, dialect.generation()).await;
            handshake.map_err(|fault| match lock(&session.handshake_error).take() {
                Some(error) => HttpHandshakeError::Http(error),
                None => HttpHandshakeError::Handshake(fault),
            })
        };
        let outcome = tokio::select! {
            outcome = handshake => outcome,
            () = sleep_until(deadline) => Err(HttpHandshakeError::Handshake(HandshakeError::TimedOut)),
            () = sleep(PROBE_ANSWER), if dialect == HttpDialect::Modern => {
                Err(HttpHandshakeError::Handshake(HandshakeError::Silent))
            }
        };
        session.pending.forget_peer_requests();
        if outcome.is_ok() && dialect == HttpDialect::Legacy {
            // Only legacy servers send messages on a stream of their own.
            session.tracker.spawn(session.clone().listen());
        }
        outcome
    }
}

impl Drop for HttpConnection {
    fn drop(&mut self) {
        self.session.stop.cancel();
    }
}

/// Transport of `rmcp` on one session.
struct HttpTransport {
    session: Arc<HttpSession>,
    inbox: mpsc::Receiver<RxJsonRpcMessage<RoleClient>>,
}

impl Transport<RoleClient> for HttpTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        register(&self.session.pending, &item);
        let session = self.session.clone();
        let body = encode(&item);
        let answered = answered_id(&item).cloned();
        let answer = match (&answered, &body) {
            (Some(id), Ok(body)) => Some(session.pending.begin_answer(id, body.len())),
            _ => None,
        };
        async move {
            let mut body = body?;
            // Remove the newline, which only lines on pipes need.
            body.pop();
            if let Some(None) = answer {
                let reason = "the answers to its requests that it has not taken are too large";
                session.pending.set_end_reason(reason.to_owned());
                session.stop.cancel();
                return Ok(());
            }
            send(session, item, body).await;
            if let Some(Some(answer)) = answer {
                answer.written();
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        tokio::select! {
            message = self.inbox.recv() => message,
            () = self.session.stop.cancelled() => None,
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        // The owner of the connection ends the session.
        Ok(())
    }
}

/// Header with the idempotency key of a call.
fn key_header(item: &TxJsonRpcMessage<RoleClient>) -> Option<(HeaderName, HeaderValue)> {
    match request_key(item)? {
        RequestKey::Header { name, value } => {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            Some((name, HeaderValue::from_str(value).ok()?))
        }
        RequestKey::Meta { .. } => None,
    }
}

/// Requests and cancellations are sent in the background; `notifications/initialized` and our responses have
/// been delivered when this returns, because later requests depend on them.
async fn send(session: Arc<HttpSession>, item: TxJsonRpcMessage<RoleClient>, body: Vec<u8>) {
    let key = key_header(&item);
    match item {
        JsonRpcMessage::Request(request) => {
            let NumberOrString::Number(id) = request.id else {
                return;
            };
            let request = OutgoingRequest {
                id,
                method: request.request.method().to_owned(),
                body,
                key,
            };
            session.tracker.spawn(session.clone().exchange(request));
        }
        JsonRpcMessage::Notification(notification) => match notification.notification {
            ClientNotification::CancelledNotification(cancelled) => {
                let id = match cancelled.params.request_id {
                    Some(NumberOrString::Number(id)) => id,
                    Some(NumberOrString::String(_)) | None => return,
                };
                // A modern server treats the end of the response stream as the cancellation.
                session.cancel_exchange(id);
                if session.dialect != HttpDialect::Modern {
                    let notifier = session.clone();
                    session
                        .tracker
                        .spawn(async move { notifier.send_notice(body, None).await });
                }
            }
            ClientNotification::InitializedNotification(_) => {
                session
                    .send_notice(body, Some("notifications/initialized"))
                    .await;
            }
            _ => session.send_notice(body, None).await,
        },
        JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {
            session.send_notice(body, None).await
        }
    }
}
