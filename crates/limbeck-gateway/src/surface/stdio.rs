//! One client on standard input and output.
//!
//! The SDK has a transport for this, which leaves two things out. It says nothing of a line that is no JSON or
//! too long; here such a line is answered, with `null` for the id that is not to be had. And at the end of the
//! input it waits five seconds for what is under way; here a client that leaves takes its programs and their
//! calls along at once, and one that waits for its answers gets them.
//!
//! **Who leaves.** The end of the input says that a client leaves, unless it comes right behind the last
//! line: `printf … | limbeck serve` closes its end because it has nothing more to ask, and wants its answers.
//! Those it gets, until nobody reads them any more.

mod asked;
mod line;

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

use super::{ServeError, Surface};
use crate::{Gateway, LOCAL};
use asked::Asked;
use line::{Heard, Line};

/// Bytes asked of the input at once.
const CHUNK_BYTES: usize = 64 << 10;
/// Messages read ahead of the service.
const MESSAGES_AHEAD: usize = 4;
/// An end of input so soon after the last line is that of a pipe that was filled and closed.
const RIGHT_BEHIND: Duration = Duration::from_millis(25);
/// How often it is looked whether anybody still reads the answers.
const LOOK: Duration = Duration::from_millis(50);

/// Serves one client on this process's standard input and output until it leaves.
///
/// # Errors
///
/// [`ServeError`]; a client that goes away before or after its handshake is no error.
pub async fn serve_stdio(gateway: Gateway) -> Result<(), ServeError> {
    let (input, output) = rmcp::transport::stdio_pipes();
    let gone = CancellationToken::new();
    let output = Output(Arc::new(Mutex::new(Some(output))));
    let (ahead, messages) = mpsc::channel(MESSAGES_AHEAD);
    let asked = Asked::default();
    let pipe = Pipe {
        messages,
        output: output.clone(),
        asked: asked.clone(),
    };
    let surface = Arc::new(Surface::new(gateway, LOCAL));
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
        if read(input, &ahead, output, &asked).await == Left::Filled {
            tokio::select! {
                () = asked.nothing_left() => {}
                () = output_is_abandoned() => {}
            }
        }
        // The service ends by this and not by a closed channel, for whose requests it would wait.
        gone.cancel();
        let _open = ahead;
        std::future::pending().await
    };
    tokio::select! {
        served = serving => served,
        never = watching => never,
    }
}

/// Returns when nobody reads standard output any more.
async fn output_is_abandoned() {
    while output_is_read() {
        sleep(LOOK).await;
    }
}

/// The two ends as the SDK takes them.
struct Pipe<W> {
    messages: mpsc::Receiver<RxJsonRpcMessage<RoleServer>>,
    output: Output<W>,
    asked: Asked,
}

impl<W: AsyncWrite + Unpin + Send + 'static> Transport<RoleServer> for Pipe<W> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let (output, asked) = (self.output.clone(), self.asked.clone());
        async move {
            let written = output.line(serde_json::to_vec(&item)?).await;
            if let Some(id) = Asked::answered_by(&item) {
                asked.settle(&id);
            }
            written
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        drop(self.output.0.lock().await.take());
        Ok(())
    }
}

/// Where lines are written, one after the other; nothing once it is closed.
struct Output<W>(Arc<Mutex<Option<W>>>);

impl<W> Clone for Output<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<W: AsyncWrite + Unpin> Output<W> {
    async fn line(&self, mut line: Vec<u8>) -> io::Result<()> {
        line.push(b'\n');
        match &mut *self.0.lock().await {
            Some(output) => {
                output.write_all(&line).await?;
                output.flush().await
            }
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

/// How the input ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// Right behind the last line: answers are wanted.
    Filled,
    /// After a while, or by an error.
    Gone,
}

/// Passes messages on and says of every other line what is wrong with it, until the input ends.
async fn read(
    mut input: impl AsyncRead + Unpin,
    ahead: &mpsc::Sender<RxJsonRpcMessage<RoleServer>>,
    output: Output<impl AsyncWrite + Unpin>,
    asked: &Asked,
) -> Left {
    let mut line = Line::default();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut last = Instant::now();
    loop {
        let read = match input.read(&mut chunk).await {
            Ok(0) => break,
            Err(_) => return Left::Gone,
            Ok(read) => read,
        };
        for part in chunk[..read].split_inclusive(|byte| *byte == b'\n') {
            let passed = match line.add(part) {
                Heard::Nothing => continue,
                Heard::Message(message) => {
                    asked.heard(&message);
                    ahead.send(*message).await.is_ok()
                }
                Heard::Refused(refusal) => {
                    output.line(refusal.to_string().into_bytes()).await.is_ok()
                }
            };
            if !passed {
                // Nobody serves any more, or nobody reads.
                return Left::Gone;
            }
        }
        last = Instant::now();
    }
    let soon = last.elapsed() < RIGHT_BEHIND;
    let left = |whole: bool| {
        if whole && soon {
            Left::Filled
        } else {
            Left::Gone
        }
    };
    match line.end() {
        Heard::Nothing => left(true),
        // The last line of a pipe may lack its end; half a line is of a client that broke off.
        Heard::Message(message) => {
            asked.heard(&message);
            left(ahead.send(*message).await.is_ok())
        }
        Heard::Refused(_) => Left::Gone,
    }
}

/// Whether standard output still has a reader. What cannot be found out counts as read.
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
            let output = Output(Arc::new(Mutex::new(Some(tokio::io::sink()))));
            let reading =
                tokio::spawn(async move { read(input, &ahead, output, &Asked::default()).await });
            let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
            client.write_all(ping).await.unwrap();
            client.write_all(rest.as_bytes()).await.unwrap();
            sleep(pause).await;
            drop(client);
            let left = reading.await.unwrap();
            assert!(messages.recv().await.is_some(), "{rest:?}");
            left
        };
        assert_eq!(ended("\n", Duration::ZERO).await, Left::Filled);
        assert_eq!(ended("", Duration::ZERO).await, Left::Filled);
        assert_eq!(ended("\n{\"jsonrpc\":", Duration::ZERO).await, Left::Gone);
        assert_eq!(ended("\n", 4 * RIGHT_BEHIND).await, Left::Gone);
    }
}
