//! Being asked to end: SIGTERM, SIGINT and SIGHUP; on Windows what the console sends.

use std::io;

use tokio_util::sync::CancellationToken;

use crate::exit::Failure;

#[cfg(unix)]
use unix::Listeners;

#[cfg(windows)]
use windows::Listeners;

/// The signals that end a command in order. While it exists none of them kills the process.
pub(super) struct EndSignals(Listeners);

impl EndSignals {
    /// Listens from now on.
    pub(super) fn listen() -> Result<Self, Failure> {
        Listeners::listen().map(Self).map_err(Failure::fault)
    }

    /// Waits for one.
    pub(super) async fn received(&mut self) {
        self.0.received().await;
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

#[cfg(unix)]
mod unix {
    use tokio::signal::unix::{Signal, SignalKind, signal};

    use super::io;

    pub(super) struct Listeners {
        terminate: Signal,
        interrupt: Signal,
        hangup: Signal,
    }

    impl Listeners {
        pub(super) fn listen() -> io::Result<Self> {
            Ok(Self {
                terminate: signal(SignalKind::terminate())?,
                interrupt: signal(SignalKind::interrupt())?,
                hangup: signal(SignalKind::hangup())?,
            })
        }

        pub(super) async fn received(&mut self) {
            tokio::select! {
                _ = self.terminate.recv() => {}
                _ = self.interrupt.recv() => {}
                _ = self.hangup.recv() => {}
            }
        }
    }
}

#[cfg(windows)]
mod windows {
    use tokio::signal::windows::{
        CtrlBreak, CtrlC, CtrlClose, CtrlLogoff, CtrlShutdown, ctrl_break, ctrl_c, ctrl_close,
        ctrl_logoff, ctrl_shutdown,
    };

    use super::io;

    pub(super) struct Listeners {
        interrupt: CtrlC,
        break_key: CtrlBreak,
        close: CtrlClose,
        logoff: CtrlLogoff,
        shutdown: CtrlShutdown,
    }

    impl Listeners {
        pub(super) fn listen() -> io::Result<Self> {
            Ok(Self {
                interrupt: ctrl_c()?,
                break_key: ctrl_break()?,
                close: ctrl_close()?,
                logoff: ctrl_logoff()?,
                shutdown: ctrl_shutdown()?,
            })
        }

        pub(super) async fn received(&mut self) {
            tokio::select! {
                _ = self.interrupt.recv() => {}
                _ = self.break_key.recv() => {}
                _ = self.close.recv() => {}
                _ = self.logoff.recv() => {}
                _ = self.shutdown.recv() => {}
            }
        }
    }
}
