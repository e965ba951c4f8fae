//! MCP server for one client on standard input and output.
//!
//! Differs from the SDK's transport in two points. A line that is not JSON or too long gets an error response
//! with id `null`; the SDK ignores it. At the end of the input the SDK waits five seconds for requests in
//! flight; here a client that disconnects cancels its programs and their calls at once, and a client that still
//! reads gets its responses.
//!
//! The end of the input counts as a disconnect, unless it follows the last line immediately:
//! `printf … | limbeck serve` closes its end because it has no further request, and reads the responses. They
//! are sent until all requests are answered or standard output has no reader.

mod client_line;
mod open_requests;

use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::{
    RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage, serve_server_with_ct,
};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Mutex, mpsc};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::compat::options::CompatOptions;
use super::mcp_server::McpServer;
use super::refusals;
use client_line::{ClientLine, LineBuffer};
use limbeck_gateway::{Gateway, LOCAL_PRINCIPAL};
use limbeck_upstream::{Direction, Redaction};
use open_requests::OpenRequests;

/// Bytes of one read.
const CHUNK_BYTES: usize = 64 << 10;
/// Messages read ahead of the service.
const MESSAGES_AHEAD: usize = 4;
/// An end of input within this time after the last line means a pipe that was filled and closed.
const PIPED_END: Duration = Duration::from_millis(25);
/// Interval of checks whether standard output still has a reader.
const LOOK: Duration = Duration::from_millis(50);

/// Failure of a stdio connection.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The handshake failed.
    #[error("the client did not complete the handshake")]
    Handshake(#[source] Box<rmcp::service::ServerInitializeError>),
    /// The serving task panicked or was aborted.
    #[error("serving ended unexpectedly")]
    Task(#[source] tokio::task::JoinError),
}

/// Serves one client on this process's standard input and output until it leaves.
///
/// # Errors
///
/// [`ServeError`]; a disconnect before or after the handshake is not an error.
pub async fn serve_stdio(gateway: Gateway, compat: CompatOptions) -> Result<(), ServeError> {
    let (input, output) = rmcp::transport::stdio_pipes();
    let gone = CancellationToken::new();
    let output = Output {
        pipe: Arc::new(Mutex::new(Some(output))),
        redaction: gateway.redaction().clone(),
    };
    let (ahead, messages) = mpsc::channel(MESSAGES_AHEAD);
    let open_requests = OpenRequests::default();
    let pipe = Pipe {
        messages,
        output: output.clone(),
        open_requests: open_requests.clone(),
    };
    let recorded = gateway.clone();
    let surface = Arc::new(
        McpServer::new(gateway)
            .with_compat(compat)
            .surface(LOCAL_PRINCIPAL),
    );
    let serving = async {
        match serve_server_with_ct(surface, pipe, gone.clone()).await {
            Ok(running) => running.waiting().await.map(drop).map_err(ServeError::Task),
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                Ok(())
            }
            Err(error) => Err(ServeError::Handshake(Box::new(error))),
        }
    };
    let watching = async {
        let refused = || {
            refusals::note(&recorded, LOCAL_PRINCIPAL, "message", "malformed");
        };
        if read(input, &ahead, output, &open_requests, refused).await == InputEnd::Piped {
            tokio::select! {
                () = open_requests.all_answered() => {}
                () = output_is_abandoned() => {}
            }
        }
        // Cancel instead of closing the channel: on a closed channel the SDK waits for requests in flight.
        gone.cancel();
        let _open = ahead;
        std::future::pending().await
    };
    tokio::select! {
        served = serving => served,
        never = watching => never,
    }
}

/// Returns when standard output has no reader any more.
async fn output_is_abandoned() {
    while output_is_read() {
        sleep(LOOK).await;
    }
}

/// Transport of the SDK over the queue of read messages and standard output.
struct Pipe<W> {
    messages: mpsc::Receiver<RxJsonRpcMessage<RoleServer>>,
    output: Output<W>,
    open_requests: OpenRequests,
}

impl<W: AsyncWrite + Unpin + Send + 'static> Transport<RoleServer> for Pipe<W> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let (output, open_requests) = (self.output.clone(), self.open_requests.clone());
        async move {
            let written = output.message(&item).await;
            if let Some(id) = OpenRequests::answered_by(&item) {
                open_requests.settle(&id);
            }
            written
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        drop(self.output.pipe.lock().await.take());
        Ok(())
    }
}

/// Output of whole lines without secrets; fails after it was closed.
struct Output<W> {
    pipe: Arc<Mutex<Option<W>>>,
    redaction: Redaction,
}

impl<W> Clone for Output<W> {
    fn clone(&self) -> Self {
        Self {
            pipe: Arc::clone(&self.pipe),
            redaction: self.redaction.clone(),
        }
    }
}

impl<W: AsyncWrite + Unpin> Output<W> {
    /// Writes a message. While it waits for those before it, it has no text yet: a second copy of each large answer.
    async fn message(&self, message: &impl serde::Serialize) -> io::Result<()> {
        let mut output = self.pipe.lock().await;
        let output = output.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let mut line = serde_json::to_string(message)?;
        if let Cow::Owned(redacted) = self.redaction.json(Direction::ToModel, &line) {
            line = redacted;
        }
        line.push('\n');
        output.write_all(line.as_bytes()).await?;
        output.flush().await
    }
}

/// How standard input ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InputEnd {
    /// Immediately after the last line: the client waits for its responses.
    Piped,
    /// Later, or by an error: the client disconnected.
    Closed,
}

/// Queues messages and answers malformed lines with an error response, until the input ends.
async fn read(
    mut input: impl AsyncRead + Unpin,
    ahead: &mpsc::Sender<RxJsonRpcMessage<RoleServer>>,
    output: Output<impl AsyncWrite + Unpin>,
    open_requests: &OpenRequests,
    refused: impl Fn(),
) -> InputEnd {
    let mut line = LineBuffer::default();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut last = Instant::now();
    loop {
        let read = match input.read(&mut chunk).await {
            Ok(0) => break,
            Err(_) => return InputEnd::Closed,
            Ok(read) => read,
        };
        for part in chunk[..read].split_inclusive(|byte| *byte == b'\n') {
            let passed = match line.add(part) {
                ClientLine::Nothing => continue,
                ClientLine::Message(message) => {
                    open_requests.count(&message);
                    ahead.send(*message).await.is_ok()
                }
                ClientLine::Refused(refusal) => {
                    refused();
                    output.message(&refusal).await.is_ok()
                }
            };
            if !passed {
                // The service ended, or standard output is closed.
                return InputEnd::Closed;
            }
        }
        last = Instant::now();
    }
    let soon = last.elapsed() < PIPED_END;
    let left = |whole: bool| {
        if whole && soon {
            InputEnd::Piped
        } else {
            InputEnd::Closed
        }
    };
    match line.end() {
        ClientLine::Nothing => left(true),
        // The last line of a pipe may lack its newline; half a message means that the client was killed.
        ClientLine::Message(message) => {
            open_requests.count(&message);
            left(ahead.send(*message).await.is_ok())
        }
        ClientLine::Refused(_) => InputEnd::Closed,
    }
}

/// Whether standard output still has a reader; true when the system cannot tell.
#[cfg(unix)]
fn output_is_read() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = io::stdout();
    let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
    let now = Timespec::default();
    match poll(&mut polled, Some(&now)) {
        Ok(_) => !polled[0]
            .revents()
            .intersects(PollFlags::ERR | PollFlags::HUP),
        Err(_) => true,
    }
}

#[cfg(not(unix))]
fn output_is_read() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_end_right_behind_the_last_line_wants_answers_and_a_later_one_does_not() {
        let ended = async |rest: &str, pause: Duration| {
            let (mut client, input) = tokio::io::duplex(64);
            let (ahead, mut messages) = mpsc::channel(1);
            let output = Output {
                pipe: Arc::new(Mutex::new(Some(tokio::io::sink()))),
                redaction: Redaction::default(),
            };
            let reading = tokio::spawn(async move {
                read(input, &ahead, output, &OpenRequests::default(), || {}).await
            });
            let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
            client.write_all(ping).await.unwrap();
            client.write_all(rest.as_bytes()).await.unwrap();
            sleep(pause).await;
            drop(client);
            let left = reading.await.unwrap();
            assert!(messages.recv().await.is_some(), "{rest:?}");
            left
        };
        assert_eq!(ended("\n", Duration::ZERO).await, InputEnd::Piped);
        assert_eq!(ended("", Duration::ZERO).await, InputEnd::Piped);
        assert_eq!(
            ended("\n{\"jsonrpc\":", Duration::ZERO).await,
            InputEnd::Closed
        );
        assert_eq!(ended("\n", 4 * PIPED_END).await, InputEnd::Closed);
    }
}
