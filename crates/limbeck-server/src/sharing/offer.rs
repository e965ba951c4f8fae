//! The gateway's end: accepts the pipes of other processes and serves the lines of their clients.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Duration;

use limbeck_domain::ExecutionId;
use rmcp::model::RequestId;
use serde_json::json;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::greeting::{self, is_own_user};
use super::meeting::Claim;
use super::message::{self, Greeting, News, Reply, VERSION};
use crate::surface::{BegunExecutions, Lines, McpServer, Output, has_reader, serve_lines};

/// Pipes of one gateway; a person has far fewer clients.
const PIPES_MAX: usize = 64;
/// Pause after a connection could not be accepted, for example because there are too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A gateway that this process may offer to others, before it listens.
#[derive(Debug)]
pub struct Offer {
    listener: UnixListener,
    claim: Claim,
    identity: String,
}

/// A gateway that other processes connect to.
#[derive(Debug)]
pub struct OfferedGateway {
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    identity: String,
    /// The server, once it has started.
    server: watch::Sender<Option<McpServer>>,
    /// Number of pipes.
    pipes: watch::Sender<usize>,
    /// No further pipe is accepted.
    withdrawn: CancellationToken,
    /// Pipes are asked to leave.
    ending: CancellationToken,
    /// Pipes are closed.
    closed: CancellationToken,
}

impl Offer {
    pub(super) fn new(listener: UnixListener, claim: Claim, identity: String) -> Self {
        Self {
            listener,
            claim,
            identity,
        }
    }

    /// Accepts pipes from now on. They are served once [`OfferedGateway::serve`] was called.
    pub fn accept(self) -> OfferedGateway {
        let shared = Arc::new(Shared {
            identity: self.identity,
            server: watch::Sender::new(None),
            pipes: watch::Sender::new(0),
            withdrawn: CancellationToken::new(),
            ending: CancellationToken::new(),
            closed: CancellationToken::new(),
        });
        let accepting = accept(self.listener, self.claim, Arc::clone(&shared));
        OfferedGateway {
            accepting: tokio::spawn(accepting),
            shared,
        }
    }
}

impl OfferedGateway {
    /// Serves the pipes, also those that wait.
    pub fn serve(&self, server: McpServer) {
        self.shared.server.send_replace(Some(server));
    }

    /// Waits until no pipe is left, and none has come again for `grace`. Returns at once when there was none.
    pub async fn all_left(&self, grace: Duration) {
        let mut pipes = self.shared.pipes.subscribe();
        if *pipes.borrow_and_update() == 0 {
            return;
        }
        loop {
            // The sender is in `shared`.
            let _ = pipes.wait_for(|count| *count == 0).await;
            let came_again = pipes.wait_for(|count| *count > 0);
            if timeout(grace, came_again).await.is_err() {
                return;
            }
        }
    }

    /// Lets no further process connect; those that are connected stay.
    pub fn withdraw(&self) {
        self.shared.withdrawn.cancel();
    }

    /// Lets no further process connect, asks those that are connected to leave, and closes their connections after `patience`.
    pub async fn end(self, patience: Duration) {
        self.shared.withdrawn.cancel();
        self.shared.ending.cancel();
        let mut accepting = self.accepting;
        if timeout(patience, &mut accepting).await.is_err() {
            self.shared.closed.cancel();
            let _ = accepting.await;
        }
    }
}

/// Accepts pipes until the offer is withdrawn, and then waits for their ends.
async fn accept(listener: UnixListener, claim: Claim, shared: Arc<Shared>) {
    let mut pipes = JoinSet::new();
    loop {
        tokio::select! {
            () = shared.withdrawn.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let shared = Arc::clone(&shared);
                    pipes.spawn(async move {
                        // Its end is the other process's to notice.
                        let _ = connection(stream, &shared).await;
                    });
                }
                Err(_) => sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = pipes.join_next() => {}
        }
    }
    // The socket goes first, then its name and the lock: who comes now elects another.
    drop(listener);
    drop(claim);
    while pipes.join_next().await.is_some() {}
}

/// Answers the greeting of one connection, and serves it.
async fn connection(mut stream: UnixStream, shared: &Arc<Shared>) -> io::Result<()> {
    if !is_own_user(&stream) {
        tracing::warn!("a process of another user tried to use this gateway");
        return Ok(());
    }
    match greeting::read(&mut stream).await? {
        Greeting::Health => {
            let pipes = *shared.pipes.borrow();
            let health = match &*shared.server.borrow() {
                Some(server) => server.health(pipes),
                None => json!({"status": "starting", "pid": std::process::id()}),
            };
            greeting::write(&mut stream, Reply::Health(health)).await
        }
        Greeting::Join { version, identity } => {
            let refused = |reason: &str| Reply::Refused {
                reason: reason.to_owned(),
            };
            if version != VERSION || identity != shared.identity {
                let reason = refused("the gateway that runs has another configuration");
                return greeting::write(&mut stream, reason).await;
            }
            if shared.withdrawn.is_cancelled() {
                return greeting::write(&mut stream, Reply::Ending).await;
            }
            let Some(_counted) = CountedPipe::add(shared) else {
                let reason = refused("the gateway that runs has too many clients");
                return greeting::write(&mut stream, reason).await;
            };
            let pid = std::process::id();
            greeting::write(&mut stream, Reply::Joined { pid }).await?;
            serve(stream, shared).await
        }
    }
}

/// Serves the lines of a pipe's client.
async fn serve(stream: UnixStream, shared: &Shared) -> io::Result<()> {
    let mut started = shared.server.subscribe();
    let server = tokio::select! {
        started = started.wait_for(Option::is_some) => started.ok().and_then(|server| server.clone()),
        () = shared.closed.cancelled() => None,
    };
    let Some(server) = server else {
        return Ok(());
    };
    serve_stream(&server, stream, &shared.ending, &shared.closed).await
}

/// Serves one client, whose lines come on `stream`, until it leaves or `closed` is cancelled. `ending` asks it to leave.
async fn serve_stream(
    server: &McpServer,
    stream: UnixStream,
    ending: &CancellationToken,
    closed: &CancellationToken,
) -> io::Result<()> {
    let watched = stream.as_fd().try_clone_to_owned()?;
    let (input, output) = stream.into_split();
    let output = Output::new(output, server.gateway().redaction().clone());
    let (begun, executions) = BegunExecutions::channel();
    let lines = Lines {
        input,
        output: output.clone(),
        // A pipe that closes one direction waits for answers.
        piped_end: Duration::MAX,
        is_read: || has_reader(&watched),
    };
    tokio::select! {
        served = serve_lines(server, lines, Some(begun)) => {
            if let Err(error) = served {
                tracing::warn!("a client of another process was not served to its end: {error}");
            }
        }
        never = send_news(&output, executions, ending) => match never {},
        () = closed.cancelled() => {}
    }
    // The service may hold its half for a moment longer.
    let _ = rustix::net::shutdown(&watched, rustix::net::Shutdown::Both);
    Ok(())
}

/// Notifies a pipe of the executions that its requests became, and of the time to leave. Never returns.
async fn send_news<W: tokio::io::AsyncWrite + Unpin>(
    output: &Output<W>,
    mut executions: mpsc::Receiver<(RequestId, ExecutionId)>,
    ending: &CancellationToken,
) -> std::convert::Infallible {
    let mut is_told = false;
    loop {
        let news = tokio::select! {
            Some((request, execution)) = executions.recv() => News::Begun {
                request,
                execution: execution.to_string(),
            },
            () = ending.cancelled(), if !is_told => {
                is_told = true;
                News::Ending
            }
            else => std::future::pending().await,
        };
        // A pipe that is gone is noticed by its input.
        let _ = output.message(&message::line(news)).await;
    }
}

impl McpServer {
    /// Serves the client of this process on `stream`, as that of a pipe.
    ///
    /// # Errors
    ///
    /// A stream that cannot be used.
    pub async fn serve_stream(&self, stream: UnixStream) -> io::Result<()> {
        let never = CancellationToken::new();
        serve_stream(self, stream, &never, &never).await
    }
}

/// A pipe that is counted until it is dropped.
struct CountedPipe(Arc<Shared>);

impl CountedPipe {
    /// Counts one more; `None` when there are too many.
    fn add(shared: &Arc<Shared>) -> Option<Self> {
        let is_added = shared.pipes.send_if_modified(|count| {
            let has_room = *count < PIPES_MAX;
            *count += usize::from(has_room);
            has_room
        });
        is_added.then(|| Self(Arc::clone(shared)))
    }
}

impl Drop for CountedPipe {
    fn drop(&mut self) {
        self.0.pipes.send_modify(|count| *count -= 1);
    }
}
