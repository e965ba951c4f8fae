//! The transport `rmcp` speaks through, and the task that writes for it.

use std::io;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{
    ClientNotification, ClientRequest, Extensions, GetExtensions, JsonRpcMessage, NumberOrString,
    ProgressToken, RequestMetaObject,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::hearing::Hearing;

use super::handshake::HandshakeKind;
use super::tap::{RawArguments, ReplySlot, Tap};

/// Lines that wait for a child to read; senders beyond it wait too.
const LINES_QUEUED_MAX: usize = 16;

/// One line on its way out.
pub(crate) struct Outgoing {
    line: Vec<u8>,
    written: oneshot::Sender<io::Result<()>>,
}

/// What outlives one use of the pipes by `rmcp`: a failed handshake may be followed by another.
pub(crate) struct Link {
    pub(crate) tap: Arc<Tap>,
    pub(crate) lines: mpsc::Sender<Outgoing>,
    pub(crate) inbox: Mutex<mpsc::Receiver<RxJsonRpcMessage<RoleClient>>>,
}

/// `rmcp`'s end of a [`Link`].
pub(crate) struct StdioTransport(pub(crate) Arc<Link>);

impl Transport<RoleClient> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        note(&self.0.tap, &item);
        let line = encode(&item);
        let lines = self.0.lines.clone();
        async move {
            let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
            let (written, done) = oneshot::channel();
            let outgoing = Outgoing {
                line: line?,
                written,
            };
            lines.send(outgoing).await.map_err(|_| closed())?;
            done.await.map_err(|_| closed())?
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.0.inbox.lock().await.recv().await
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        // The connection ends its process, which closes the pipes.
        Ok(())
    }
}

/// Registers who waits for the answer before the request is on its way.
pub(crate) fn note(tap: &Tap, item: &TxJsonRpcMessage<RoleClient>) {
    match item {
        JsonRpcMessage::Request(request) => {
            let NumberOrString::Number(id) = request.id else {
                return;
            };
            match &request.request {
                ClientRequest::InitializeRequest(_) => {
                    tap.expect_handshake(id, HandshakeKind::Initialize);
                }
                ClientRequest::DiscoverRequest(_) => {
                    tap.expect_handshake(id, HandshakeKind::Discover);
                }
                other => {
                    let extensions = other.extensions();
                    if let Some(hearing) = extensions.get::<Hearing>() {
                        tap.listener().sent(id, progress_token(extensions), hearing);
                    }
                    if let Some(slot) = extensions.get::<ReplySlot>() {
                        tap.expect_raw(id, slot);
                    }
                }
            }
        }
        JsonRpcMessage::Notification(notification) => {
            if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                && let Some(NumberOrString::Number(id)) = cancelled.params.request_id
            {
                tap.forget(id);
            }
        }
        JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => tap.peer_request_answered(),
    }
}

/// The token `rmcp` gave the request; it counts them.
fn progress_token(extensions: &Extensions) -> Option<i64> {
    let meta = extensions.get::<RequestMetaObject>()?;
    match meta.get_progress_token()? {
        ProgressToken(NumberOrString::Number(token)) => Some(token),
        ProgressToken(NumberOrString::String(_)) => None,
    }
}

/// The message as one line. Arguments of a call are taken from [`RawArguments`] as they stand.
fn encode(item: &TxJsonRpcMessage<RoleClient>) -> io::Result<Vec<u8>> {
    let mut line = match raw_arguments(item) {
        None => serde_json::to_vec(item)?,
        Some(arguments) => encode_call(item, &arguments.0)?,
    };
    line.push(b'\n');
    Ok(line)
}

fn raw_arguments(item: &TxJsonRpcMessage<RoleClient>) -> Option<&RawArguments> {
    match item {
        JsonRpcMessage::Request(request) => request.request.extensions().get(),
        _ => None,
    }
}

#[derive(Serialize)]
struct CallLine<'a> {
    jsonrpc: &'static str,
    id: &'a Value,
    method: &'a Value,
    params: CallParams<'a>,
}

#[derive(Serialize)]
struct CallParams<'a> {
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<&'a Value>,
    name: &'a Value,
    arguments: &'a RawValue,
    #[serde(rename = "inputResponses", skip_serializing_if = "Option::is_none")]
    input_responses: Option<&'a Value>,
    #[serde(rename = "requestState", skip_serializing_if = "Option::is_none")]
    request_state: Option<&'a Value>,
}

fn encode_call(item: &TxJsonRpcMessage<RoleClient>, arguments: &RawValue) -> io::Result<Vec<u8>> {
    let message = serde_json::to_value(item)?;
    let line = CallLine {
        jsonrpc: "2.0",
        id: &message["id"],
        method: &message["method"],
        params: CallParams {
            meta: message["params"].get("_meta"),
            name: &message["params"]["name"],
            arguments,
            input_responses: message["params"].get("inputResponses"),
            request_state: message["params"].get("requestState"),
        },
    };
    Ok(serde_json::to_vec(&line)?)
}

/// Starts the task that writes whole lines until `stop`; its end closes the child's input.
pub(crate) fn spawn_writer(
    mut stdin: ChildStdin,
    tap: Arc<Tap>,
    stop: CancellationToken,
) -> mpsc::Sender<Outgoing> {
    let (tx, mut rx) = mpsc::channel::<Outgoing>(LINES_QUEUED_MAX);
    tokio::spawn(async move {
        let write_all = async {
            while let Some(outgoing) = rx.recv().await {
                let result = stdin.write_all(&outgoing.line).await;
                let failed = result.is_err();
                tap.note_written();
                let _ = outgoing.written.send(result);
                if failed {
                    break;
                }
            }
        };
        tokio::select! {
            () = write_all => {}
            () = stop.cancelled() => {}
        }
    });
    tx
}

#[cfg(test)]
mod tests {
    use rmcp::model::{CallToolRequest, CallToolRequestParams, RequestMetaObject};

    use super::*;

    #[test]
    fn arguments_leave_in_the_bytes_they_came_in() {
        let arguments = r#"{"b": 1.0, "a":123456789012345678901234567890}"#;
        let mut request = CallToolRequest::new(CallToolRequestParams::new("say \"hi\""));
        request.extensions.insert(RequestMetaObject::default());
        request.extensions.insert(RawArguments(
            RawValue::from_string(arguments.to_owned()).unwrap().into(),
        ));
        let item = TxJsonRpcMessage::<RoleClient>::request(
            ClientRequest::CallToolRequest(request),
            NumberOrString::Number(3),
        );
        let line = String::from_utf8(encode(&item).unwrap()).unwrap();
        assert_eq!(
            line,
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":\
                 {{\"_meta\":{{}},\"name\":\"say \\\"hi\\\"\",\"arguments\":{arguments}}}}}\n"
            )
        );
    }
}
