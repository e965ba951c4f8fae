//! MCP server for one client on lines: standard input and output, or a local socket ([`crate::sharing`]).
//!
//! Differs from the SDK's transport in two points. A line that is not JSON or too long gets an error response
//! with id `null`; the SDK ignores it. At the end of the input the SDK waits five seconds for requests in
//! flight; here a client that disconnects cancels its programs and their calls at once, and a client that still
//! reads gets its responses.
//!
//! The end of the input counts as a disconnect, unless it follows the last line immediately:
//! `printf … | limbeck serve` closes its end because it has no further request, and reads the responses. They
//! are sent until all requests are answered or standard output has no reader. On a socket the end of the input always
//! means that: a client that is gone has closed both directions.

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

use super::begun_executions::BegunExecutions;
use super::mcp_server::McpServer;
use super::refusals;
pub(crate) use client_line::line_too_long;
use client_line::{ClientLine, LineBuffer};
use limbeck_gateway::LOCAL_PRINCIPAL;
use limbeck_upstream::{Direction, Redaction};
use open_requests::OpenRequests;

/// Bytes of one read.
const CHUNK_BYTES: usize = 64 << 10;
/// Messages read ahead of the service.
const MESSAGES_AHEAD: usize = 4;
/// An end of input within this time after the last line means a pipe that was filled and closed.
pub(crate) const PIPED_END: Duration = Duration::from_millis(25);
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
pub async fn serve_stdio(server: &McpServer) -> Result<(), ServeError> {
    let (input, output) = rmcp::transport::stdio_pipes();
    let lines = Lines {
        input,
        output: Output::new(output, server.gateway().redaction().clone()),
        piped_end: PIPED_END,
        is_read: output_is_read,
    };
    serve_lines(server, lines, None).await
}

/// Lines of one client.
pub(crate) struct Lines<R, W, F> {
    pub(crate) input: R,
    pub(crate) output: Output<W>,
    /// An end of the input within this time after the last line leaves the output open for answers.
    pub(crate) piped_end: Duration,
    /// Whether the client still reads the output.
    pub(crate) is_read: F,
}

/// Serves one client on its lines until it leaves. `begun` is notified of the executions of its requests.
///
/// # Errors
///
/// [`ServeError`]; a disconnect is not an error.
pub(crate) async fn serve_lines<R, W>(
    server: &McpServer,
    lines: Lines<R, W, impl Fn() -> bool>,
    begun: Option<BegunExecutions>,
) -> Result<(), ServeError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let gone = CancellationToken::new();
    let (ahead, messages) = mpsc::channel(MESSAGES_AHEAD);
    let open_requests = OpenRequests::default();
    let pipe = Pipe {
        messages,
        output: lines.output.clone(),
        open_requests: open_requests.clone(),
    };
    let recorded = server.gateway().clone();
    let surface = Arc::new(server.surface(LOCAL_PRINCIPAL).reporting_begun(begun));
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
        let read = read(
            lines.input,
            &ahead,
            lines.output,
            &open_requests,
            lines.piped_end,
            refused,
        );
        if read.await == InputEnd::Piped {
            tokio::select! {
                () = open_requests.all_answered() => {}
                () = is_abandoned(lines.is_read) => {}
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

/// Returns when the output has no reader any more.
async fn is_abandoned(is_read: impl Fn() -> bool) {
    while is_read() {
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
pub(crate) struct Output<W> {
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
    pub(crate) fn new(output: W, redaction: Redaction) -> Self {
        Self {
            pipe: Arc::new(Mutex::new(Some(output))),
            redaction,
        }
    }

    /// Writes a message. While it waits for those before it, it has no text yet: a second copy of each large answer.
    pub(crate) async fn message(&self, message: &impl serde::Serialize) -> io::Result<()> {
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

    /// Writes a line, which ends with its newline.
    #[cfg(unix)]
    pub(crate) async fn line(&self, line: &[u8]) -> io::Result<()> {
        let mut output = self.pipe.lock().await;
        let output = output.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        output.write_all(line).await?;
        output.flush().await
    }
}

/// How standard input ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputEnd {
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
    piped_end: Duration,
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
    let soon = last.elapsed() < piped_end;
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
    has_reader(&io::stdout())
}

/// Whether the other end of a pipe or socket is open; true when the system cannot tell. A socket whose peer has closed
/// one direction only still has a reader.
#[cfg(unix)]
pub(crate) fn has_reader(output: &impl std::os::fd::AsFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut polled = [PollFd::new(output, PollFlags::empty())];
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
            let output = Output::new(tokio::io::sink(), Redaction::default());
            let reading = tokio::spawn(async move {
                read(
                    input,
                    &ahead,
                    output,
                    &OpenRequests::default(),
                    PIPED_END,
                    || {},
                )
                .await
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
