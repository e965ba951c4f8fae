//! The transport `rmcp` speaks through, and the connection that owns it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientNotification, JsonRpcMessage, NumberOrString};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::UpstreamError;
use crate::stdio::tap::Tap;
use crate::stdio::transport::{encode, note};
use crate::sync::lock;
use crate::wire::{HandshakeFault, PROBE_ANSWER, Service, shake};

use super::exchange::Request;
use super::session::{Access, Session, Speech};

/// One connection over HTTP. Dropping it ends the session.
pub(crate) struct HttpWire {
    session: Arc<Session>,
    received: Option<mpsc::Receiver<RxJsonRpcMessage<RoleClient>>>,
}

/// Why a handshake brought no connection.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// What `rmcp` made of the answer.
    Handshake(HandshakeFault),
    /// There was no answer to the request.
    Http(UpstreamError),
}

impl HttpWire {
    pub(crate) fn new(
        access: Access,
        speech: Speech,
        tap: Arc<Tap>,
        stop: CancellationToken,
        tracker: TaskTracker,
    ) -> Self {
        let (session, received) = Session::open(access, speech, tap, stop, tracker);
        Self {
            session,
            received: Some(received),
        }
    }

    pub(crate) fn tap(&self) -> &Arc<Tap> {
        &self.session.tap
    }

    pub(crate) fn stop(&self) -> &CancellationToken {
        &self.session.stop
    }

    pub(crate) fn is_over(&self) -> bool {
        self.session.is_over()
    }

    /// Shakes hands as the session speaks, once.
    pub(crate) async fn handshake(&mut self, limit: Duration) -> Result<Service, Refusal> {
        let deadline = Instant::now() + limit;
        let session = &self.session;
        let speech = session.speech;
        let Some(inbox) = self.received.take() else {
            return Err(Refusal::Handshake(HandshakeFault::Ended));
        };
        let transport = HttpTransport {
            session: session.clone(),
            inbox,
        };
        let shaken = async {
            if speech == Speech::Sse {
                session.open_events().await.map_err(Refusal::Http)?;
            }
            let shaken = shake(&session.tap, transport, speech.era()).await;
            shaken.map_err(|fault| match lock(&session.handshake_fault).take() {
                Some(error) => Refusal::Http(error),
                None => Refusal::Handshake(fault),
            })
        };
        let outcome = tokio::select! {
            outcome = shaken => outcome,
            () = sleep_until(deadline) => Err(Refusal::Handshake(HandshakeFault::TimedOut)),
            () = sleep(PROBE_ANSWER), if speech == Speech::Modern => {
                Err(Refusal::Handshake(HandshakeFault::Silent))
            }
        };
        session.tap.forget_peer_requests();
        if outcome.is_ok() && speech == Speech::Legacy {
            session.tracker.spawn(session.clone().listen());
        }
        outcome
    }
}

impl Drop for HttpWire {
    fn drop(&mut self) {
        self.session.stop.cancel();
    }
}

/// `rmcp`'s end of a session.
struct HttpTransport {
    session: Arc<Session>,
    inbox: mpsc::Receiver<RxJsonRpcMessage<RoleClient>>,
}

impl Transport<RoleClient> for HttpTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        note(&self.session.tap, &item);
        let session = self.session.clone();
        let body = encode(&item);
        async move {
            let mut body = body?;
            // A line's end, which a body does not need.
            body.pop();
            send(session, item, body).await;
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
        // The connection ends its session.
        Ok(())
    }
}

/// Requests and cancellations do not keep the caller; `notifications/initialized` and answers of ours have been
/// delivered when this returns.
async fn send(session: Arc<Session>, item: TxJsonRpcMessage<RoleClient>, body: Vec<u8>) {
    match item {
        JsonRpcMessage::Request(request) => {
            let NumberOrString::Number(id) = request.id else {
                return;
            };
            let request = Request {
                id,
                method: request.request.method().to_owned(),
                body,
            };
            session.tracker.spawn(session.clone().exchange(request));
        }
        JsonRpcMessage::Notification(notification) => match notification.notification {
            ClientNotification::CancelledNotification(cancelled) => {
                let id = match cancelled.params.request_id {
                    Some(NumberOrString::Number(id)) => id,
                    Some(NumberOrString::String(_)) | None => return,
                };
                // A modern server takes the end of the response as the cancellation.
                session.give_up(id);
                if session.speech != Speech::Modern {
                    let telling = session.clone();
                    session
                        .tracker
                        .spawn(async move { telling.tell(body, None).await });
                }
            }
            ClientNotification::InitializedNotification(_) => {
                session.tell(body, Some("notifications/initialized")).await;
            }
            _ => session.tell(body, None).await,
        },
        JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => session.tell(body, None).await,
    }
}
