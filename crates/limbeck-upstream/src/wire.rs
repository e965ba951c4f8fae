//! A started child with the protocol's plumbing attached, before and after its handshake.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ErrorCode, ProtocolVersion};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RunningService, serve_client_with_lifecycle,
};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::handler::Handler;
use crate::listener::Listener;
use crate::stdio::process::{DRAIN_GRACE, Pipes, Process};
use crate::stdio::reader;
use crate::stdio::tap::Tap;
use crate::stdio::transport::{Link, StdioTransport, spawn_writer};
use crate::{Era, StdioSpec, UpstreamError};

/// Time for an answer to `server/discover` once the server has read it. A server that knows the request
/// answers in milliseconds; one that does not may stay silent for ever.
const PROBE_ANSWER: Duration = Duration::from_secs(5);
/// How often a starting server is looked at for having read the probe.
const PROBE_LOOK: Duration = Duration::from_millis(50);

/// What `rmcp` runs for one connection.
pub(crate) type Service = RunningService<RoleClient, Handler>;

/// One child and its pipes.
pub(crate) struct Wire {
    pub(crate) process: Process,
    pub(crate) tap: Arc<Tap>,
    link: Arc<Link>,
    gauge: Option<InputGauge>,
}

/// Why a handshake brought no connection.
#[derive(Debug)]
pub(crate) enum HandshakeFault {
    /// The server answered with an error.
    Refused { code: i32, message: String },
    /// The server offered no version of this handshake's era.
    NoCommonVersion { offered: Vec<String> },
    /// The server read the request and said nothing.
    Silent,
    /// The server ended, or its output did.
    Ended,
    /// The time to start ran out.
    TimedOut,
}

impl Wire {
    /// Starts the child and the tasks that read and write for it.
    ///
    /// # Errors
    ///
    /// [`UpstreamError::Spawn`].
    pub(crate) fn spawn(
        spec: &StdioSpec,
        program: &Path,
        listener: Arc<Listener>,
        stop: CancellationToken,
        tracker: &TaskTracker,
    ) -> Result<Self, UpstreamError> {
        let (process, Pipes { stdin, stdout }) =
            Process::spawn(spec, program, stop.clone(), tracker)?;
        let gauge = InputGauge::of(&stdin);
        let tap = Arc::new(Tap::new(listener));
        let (inbox, received) = mpsc::channel(reader::INBOX_MESSAGES_MAX);
        let link = Arc::new(Link {
            lines: spawn_writer(stdin, tap.clone(), stop.clone()),
            tap: tap.clone(),
            inbox: tokio::sync::Mutex::new(received),
        });
        let ended = process.ended();
        tokio::spawn({
            let tap = tap.clone();
            async move {
                tokio::select! {
                    () = reader::read(stdout, tap.clone(), inbox) => {}
                    // A descendant may hold the output open when the server is long gone.
                    () = async { ended.await; sleep(DRAIN_GRACE).await } => {}
                }
                tap.close();
                stop.cancel();
            }
        });
        Ok(Self {
            process,
            tap,
            link,
            gauge: Some(gauge),
        })
    }

    /// Shakes hands as `era` does. After a refusal the wire can be used for the other one.
    pub(crate) async fn handshake(
        &mut self,
        era: Era,
        limit: Duration,
    ) -> Result<Service, HandshakeFault> {
        let deadline = Instant::now() + limit;
        // Dropped before the process can be waited for: it would keep the input open.
        let gauge = self.gauge.take();
        let serve = serve_client_with_lifecycle(
            Handler {
                listener: self.tap.listener().clone(),
                era,
            },
            StdioTransport(self.link.clone()),
            lifecycle(era),
        );
        let outcome = tokio::select! {
            served = serve => served.map_err(fault),
            () = sleep_until(deadline) => Err(HandshakeFault::TimedOut),
            () = self.unanswered(gauge), if era == Era::Modern => Err(HandshakeFault::Silent),
        };
        self.tap.forget_peer_requests();
        outcome
    }

    /// Returns once the probe has been read for [`PROBE_ANSWER`].
    ///
    /// The clock starts when the server takes the probe from its input or writes a line, not at the start of the
    /// process: a package runner may download for a minute before the server exists.
    async fn unanswered(&self, gauge: Option<InputGauge>) {
        while !(self.tap.has_heard() || self.has_read_all(gauge.as_ref())) {
            sleep(PROBE_LOOK).await;
        }
        sleep(PROBE_ANSWER).await;
    }

    fn has_read_all(&self, gauge: Option<&InputGauge>) -> bool {
        self.tap.has_written() && gauge.is_none_or(InputGauge::is_empty)
    }

    /// Ends the process and waits until it is gone.
    pub(crate) async fn end(self) {
        let Self { process, link, .. } = self;
        drop(link);
        process.stop.cancel();
        process.ended().await;
    }
}

fn lifecycle(era: Era) -> ClientLifecycleMode {
    match era {
        Era::Legacy => ClientLifecycleMode::Initialize,
        Era::Modern => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
    }
}

fn fault(error: ClientInitializeError) -> HandshakeFault {
    match error {
        ClientInitializeError::JsonRpcError(error) => HandshakeFault::Refused {
            code: error.code.0,
            message: error.message.into_owned(),
        },
        ClientInitializeError::NoCompatibleProtocolVersion {
            server_supported, ..
        } => HandshakeFault::NoCommonVersion {
            offered: server_supported
                .iter()
                .map(|version| version.as_str().to_owned())
                .collect(),
        },
        ClientInitializeError::ConnectionClosed(_)
        | ClientInitializeError::TransportError { .. } => HandshakeFault::Ended,
        other => HandshakeFault::Refused {
            code: ErrorCode::INTERNAL_ERROR.0,
            message: other.to_string(),
        },
    }
}

/// Tells whether a child has read what was written to it.
struct InputGauge(#[cfg(unix)] Option<std::os::fd::OwnedFd>);

#[cfg(unix)]
impl InputGauge {
    fn of(stdin: &tokio::process::ChildStdin) -> Self {
        use std::os::fd::AsFd;
        Self(stdin.as_fd().try_clone_to_owned().ok())
    }

    /// Whether nothing is left in the pipe. Where the system does not tell, everything counts as read.
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
