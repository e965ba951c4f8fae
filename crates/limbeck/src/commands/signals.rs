//! Being asked to end: SIGTERM, SIGINT and SIGHUP.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::exit::Failure;

/// The signals that end a command in order. While it exists none of them kills the process.
pub(super) struct EndSignals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl EndSignals {
    /// Listens from now on.
    pub(super) fn listen() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(Failure::fault);
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    /// Waits for one.
    pub(super) async fn received(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }

    /// Awaits `work`. A signal cancels it, and it still has its own end.
    pub(super) async fn cancelling<T>(
        mut self,
        work: impl AsyncFnOnce(CancellationToken) -> T,
    ) -> T {
        let cancel = CancellationToken::new();
        let mut work = std::pin::pin!(work(cancel.clone()));
        tokio::select! {
            done = &mut work => done,
            () = self.received() => {
                cancel.cancel();
                work.await
            }
        }
    }
}
