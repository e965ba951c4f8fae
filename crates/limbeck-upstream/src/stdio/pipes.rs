//! Transport over the pipes of a child process, and the tasks that read and write them.

use std::io;
use std::sync::Arc;

use limbeck_domain::limits;
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWriteExt};
use tokio::process::ChildStdin;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::call_feedback::CallFeedback;
use crate::rpc::encode::{answered_id, encode, feedback_of, register};
use crate::rpc::pending::PendingRequests;
use crate::rpc::reader::MessageReader;

use super::framing::{FramedLine, LineReader};

/// Lines queued until the child reads; further senders wait.
const LINES_QUEUED_MAX: usize = 16;

/// One outgoing line.
pub(crate) struct OutgoingLine {
    line: Vec<u8>,
    /// The call that the line belongs to, which holds its room.
    _call: Option<CallFeedback>,
    written: oneshot::Sender<io::Result<()>>,
}

/// Queues of the pipes. They outlive one use by `rmcp`: a failed handshake may be followed by another.
pub(crate) struct PipeChannels {
    pub(crate) pending: Arc<PendingRequests>,
    pub(crate) lines: mpsc::Sender<OutgoingLine>,
    pub(crate) inbox: Mutex<mpsc::Receiver<RxJsonRpcMessage<RoleClient>>>,
    /// Cancelled to end the connection.
    pub(crate) stop: CancellationToken,
}

impl PipeChannels {
    /// Queues a line and waits until it is written.
    async fn write(&self, line: Vec<u8>, call: Option<CallFeedback>) -> io::Result<()> {
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        let (written, done) = oneshot::channel();
        let outgoing = OutgoingLine {
            line,
            _call: call,
            written,
        };
        self.lines.send(outgoing).await.map_err(|_| closed())?;
        done.await.map_err(|_| closed())?
    }

    /// Logs that the server took no answer, once per server. At the end of a connection it is no news.
    fn note_unwritten(&self, error: &io::Error) {
        let messages = self.pending.server_messages();
        if !self.stop.is_cancelled() && messages.is_first_unwritten_answer() {
            let server = messages.server();
            tracing::warn!(%server, %error, "a server closed its input and left requests of its own unanswered");
        }
    }
}

/// Transport of `rmcp` over [`PipeChannels`].
pub(crate) struct StdioTransport(pub(crate) Arc<PipeChannels>);

impl Transport<RoleClient> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        register(&self.0.pending, &item);
        let line = encode(&item);
        let answered = answered_id(&item).cloned();
        // Kept with the line: the caller may have left long before the server reads it.
        let call = feedback_of(&item).cloned();
        let link = self.0.clone();
        // Counted here and not when the future is polled: the answer is in memory from now on.
        let answer = match (&answered, &line) {
            (Some(id), Ok(line)) => Some(link.pending.begin_answer(id, line.len())),
            _ => None,
        };
        async move {
            match answer {
                None => link.write(line?, call).await,
                Some(None) => {
                    let reason = "the answers to its requests that it has not read are too large";
                    link.pending.set_end_reason(reason.to_owned());
                    link.stop.cancel();
                    Ok(())
                }
                Some(Some(answer)) => {
                    match link.write(line?, None).await {
                        Ok(()) => answer.written(),
                        Err(error) => {
                            answer.unwritten();
                            link.note_unwritten(&error);
                        }
                    }
                    // `rmcp` would log an error for each answer that a server did not take.
                    Ok(())
                }
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.0.inbox.lock().await.recv().await
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        // The owner of the connection ends the process, which closes the pipes.
        Ok(())
    }
}

/// Starts the task that writes whole lines until `stop`; its end closes the child's input.
pub(crate) fn spawn_writer(
    mut stdin: ChildStdin,
    pending: Arc<PendingRequests>,
    stop: CancellationToken,
) -> mpsc::Sender<OutgoingLine> {
    let (tx, mut rx) = mpsc::channel::<OutgoingLine>(LINES_QUEUED_MAX);
    tokio::spawn(async move {
        let write_all = async {
            while let Some(outgoing) = rx.recv().await {
                let result = stdin.write_all(&outgoing.line).await;
                // A failed write means that the child closed its input; later lines would fail too.
                let failed = result.is_err();
                pending.note_written();
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

/// Reads `stdout` to its end, or to an overlong line that cannot be matched to a request.
///
/// The caller closes the pending requests afterwards, which fails them.
pub(crate) async fn read(
    stdout: impl AsyncRead + Unpin,
    pending: Arc<PendingRequests>,
    inbox: mpsc::Sender<RxJsonRpcMessage<RoleClient>>,
) {
    let mut lines = LineReader::new(stdout, limits::UPSTREAM_LINE_BYTES_MAX);
    let reader = MessageReader {
        pending,
        inbox,
        origin: None,
    };
    while let Ok(Some(line)) = lines.next().await {
        reader.pending.note_received();
        let goes_on = match line {
            FramedLine::Whole(line) => reader.line(line).await,
            FramedLine::Overlong { head, tail, bytes } => reader.overlong(head, tail, bytes).await,
        };
        if goes_on.is_none() {
            break;
        }
        // Yield regularly, so that a server that writes without end does not starve other tasks.
        tokio::task::consume_budget().await;
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, NumberOrString};
    use tokio::sync::broadcast;

    use super::*;
    use crate::call_context::CallContext;
    use crate::change_throttle::ChangeThrottle;
    use crate::request_room::RequestRoom;
    use crate::server_messages::{NotificationSink, ServerMessages};
    use crate::server_request::ClientCapabilities;

    fn channels(lines: mpsc::Sender<OutgoingLine>) -> Arc<PipeChannels> {
        let changes = ChangeThrottle::new("files".into(), broadcast::channel(1).0);
        let sink = NotificationSink::new("files".into(), ClientCapabilities::ALL, changes);
        let messages = Arc::new(ServerMessages::new(Arc::new(sink)));
        Arc::new(PipeChannels {
            pending: Arc::new(PendingRequests::new(messages)),
            lines,
            inbox: Mutex::new(mpsc::channel(1).1),
            stop: CancellationToken::new(),
        })
    }

    #[tokio::test]
    async fn a_call_that_was_given_up_holds_its_room_until_its_line_is_written() {
        let room = RequestRoom::new(10, 10);
        let held = room.take(None, 10).await;
        let context = CallContext::new(CancellationToken::new());
        let feedback = CallFeedback::new(&context, Some(held));
        let mut request = CallToolRequest::new(CallToolRequestParams::new("echo"));
        request.extensions.insert(feedback.clone());
        let item = TxJsonRpcMessage::<RoleClient>::request(
            ClientRequest::CallToolRequest(request),
            NumberOrString::Number(3),
        );
        let (lines, mut queue) = mpsc::channel(1);
        let link = channels(lines);
        let mut transport = StdioTransport(link.clone());
        let mut sent = Box::pin(transport.send(item));
        assert!(sent.as_mut().now_or_never().is_none());
        link.pending.server_messages().end_call(&feedback);
        drop(feedback);
        assert!(room.take(None, 1).now_or_never().is_none());
        {
            let outgoing = queue.recv().await.unwrap();
            assert!(room.take(None, 1).now_or_never().is_none());
            let _ = outgoing.written.send(Ok(()));
        }
        sent.await.unwrap();
        // The control: it is given back once the line is written.
        assert!(room.take(None, 10).now_or_never().is_some());
    }
}
