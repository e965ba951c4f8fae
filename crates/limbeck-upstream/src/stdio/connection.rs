//! Connection to a child process, before and after its handshake.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::error::UpstreamError;
use crate::protocol::ProtocolGeneration;
use crate::rpc::handshake::{HandshakeError, McpService, PROBE_ANSWER, perform_handshake};
use crate::rpc::pending::PendingRequests;
use crate::rpc::reader::INBOX_MESSAGES_MAX;
use crate::server_messages::ServerMessages;
use crate::spec::StdioSpec;

use super::guard::ServerGuard;
use super::pipes::{self, PipeChannels, StdioTransport, spawn_writer};
use super::process::{ChildPipes, ChildProcess, DRAIN_GRACE};

/// Interval between two checks whether a starting server has read the probe.
const PROBE_LOOK: Duration = Duration::from_millis(50);

/// A child process with its pipes and pending requests.
pub(crate) struct StdioConnection {
    pub(crate) process: ChildProcess,
    pub(crate) pending: Arc<PendingRequests>,
    link: Arc<PipeChannels>,
    gauge: Option<InputGauge>,
}

impl StdioConnection {
    /// Starts the child and the tasks that read from it and write to it.
    ///
    /// # Errors
    ///
    /// [`UpstreamError::Spawn`].
    pub(crate) fn spawn(
        spec: &StdioSpec,
        program: &Path,
        server_messages: Arc<ServerMessages>,
        stop: CancellationToken,
        tracker: &TaskTracker,
        guard: &Arc<ServerGuard>,
    ) -> Result<Self, UpstreamError> {
        let (process, ChildPipes { stdin, stdout }) =
            ChildProcess::spawn(spec, program, stop.clone(), tracker, guard)?;
        let gauge = InputGauge::of(&stdin);
        let pending = Arc::new(PendingRequests::new(server_messages));
        let (inbox, received) = mpsc::channel(INBOX_MESSAGES_MAX);
        let link = Arc::new(PipeChannels {
            lines: spawn_writer(stdin, pending.clone(), stop.clone()),
            pending: pending.clone(),
            inbox: tokio::sync::Mutex::new(received),
            stop: stop.clone(),
        });
        // Taken before the task starts, so that an early exit is not missed.
        let ended = process.ended();
        tokio::spawn({
            let pending = pending.clone();
            async move {
                tokio::select! {
                    () = pipes::read(stdout, pending.clone(), inbox) => {}
                    // A descendant may keep the output open long after the server has exited.
                    () = async { ended.await; sleep(DRAIN_GRACE).await } => {}
                }
                pending.close();
                stop.cancel();
            }
        });
        Ok(Self {
            process,
            pending,
            link,
            gauge: Some(gauge),
        })
    }

    /// Performs the handshake of `generation`. After a rejection the same connection can be used for the other one.
    pub(crate) async fn handshake(
        &mut self,
        generation: ProtocolGeneration,
        limit: Duration,
    ) -> Result<McpService, HandshakeError> {
        let deadline = Instant::now() + limit;
        // Dropped before the process is waited for: the duplicate would keep its input open.
        let gauge = self.gauge.take();
        let serve = perform_handshake(&self.pending, StdioTransport(self.link.clone()), generation);
        let outcome = tokio::select! {
            served = serve => served,
            () = sleep_until(deadline) => Err(HandshakeError::TimedOut),
            () = self.unanswered(gauge), if generation == ProtocolGeneration::Modern => Err(HandshakeError::Silent),
        };
        self.pending.forget_peer_requests();
        outcome
    }

    /// Returns when the probe has been read and not answered for [`PROBE_ANSWER`].
    ///
    /// The time starts when the server reads the probe or writes a line, not when the process starts: a package
    /// runner may download for a minute before the server runs.
    async fn unanswered(&self, gauge: Option<InputGauge>) {
        while !(self.pending.has_received() || self.has_read_all(gauge.as_ref())) {
            sleep(PROBE_LOOK).await;
        }
        sleep(PROBE_ANSWER).await;
    }

    fn has_read_all(&self, gauge: Option<&InputGauge>) -> bool {
        self.pending.has_written() && gauge.is_none_or(InputGauge::is_empty)
    }

    /// Ends the process and waits until it is gone.
    pub(crate) async fn end(self) {
        let Self { process, link, .. } = self;
        // The link holds the writer's queue; dropping it lets the writer end and close the child's input.
        drop(link);
        process.stop.cancel();
        process.ended().await;
    }
}

/// Detects whether a child has read what was written to its input.
struct InputGauge(#[cfg(unix)] Option<std::os::fd::OwnedFd>);

#[cfg(unix)]
impl InputGauge {
    fn of(stdin: &tokio::process::ChildStdin) -> Self {
        use std::os::fd::AsFd;
        Self(stdin.as_fd().try_clone_to_owned().ok())
    }

    /// Whether the pipe is empty. Where the system cannot report it, everything counts as read.
    fn is_empty(&self) -> bool {
        self.0
            .as_ref()
            .and_then(|pipe| rustix::io::ioctl_fionread(pipe).ok())
            .is_none_or(|unread| unread == 0)
    }
}

#[cfg(not(unix))]
impl InputGauge {
    fn of(_: &tokio::process::ChildStdin) -> Self {
        Self()
    }

    fn is_empty(&self) -> bool {
        true
    }
}
