//! Signals that end a command: SIGTERM, SIGINT and SIGHUP; on Windows the events of the console.

use std::io;

use anyhow::anyhow;
use tokio_util::sync::CancellationToken;

use crate::exit::{CommandError, ExitStatus};

#[cfg(unix)]
use unix::Listeners;

#[cfg(windows)]
use windows::Listeners;

/// Signal that ended a command, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EndSignal(u8);

impl EndSignal {
    const HANGUP: Self = Self(1);
    const INTERRUPT: Self = Self(2);
    const TERMINATE: Self = Self(15);

    /// Exit status of a command that this signal ended.
    pub(super) fn exit(self) -> ExitStatus {
        ExitStatus::Signalled(self.0)
    }

    /// Error of a command that this signal ended before it had a result.
    pub(super) fn error(self) -> CommandError {
        CommandError::new(self.exit(), anyhow!("interrupted"))
    }
}

/// Listener for signals that end a command. While it exists these signals do not kill the process.
pub(super) struct EndSignals(Listeners);

impl EndSignals {
    /// Starts listening.
    pub(super) fn listen() -> Result<Self, CommandError> {
        Listeners::listen().map(Self).map_err(CommandError::fault)
    }

    /// Waits for a signal.
    pub(super) async fn received(&mut self) -> EndSignal {
        self.0.received().await
    }

    /// Awaits `work`. A signal cancels the token, and the result of `work` is still awaited; the signal is returned
    /// with it.
    pub(super) async fn cancelling<T>(
        &mut self,
        work: impl AsyncFnOnce(CancellationToken) -> T,
    ) -> (T, Option<EndSignal>) {
        let cancel = CancellationToken::new();
        let mut work = std::pin::pin!(work(cancel.clone()));
        tokio::select! {
            done = &mut work => (done, None),
            signal = self.received() => {
                // The work still has to record the end of its execution, so it is awaited and not dropped.
                cancel.cancel();
                (work.await, Some(signal))
            }
        }
    }

    /// Awaits `work`, and drops it when a signal arrives. The caller then stops the servers.
    ///
    /// # Errors
    ///
    /// The error of a command that the signal ended.
    pub(super) async fn interrupting<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> Result<T, CommandError> {
        tokio::select! {
            done = work => Ok(done),
            signal = self.received() => Err(signal.error()),
        }
    }
}

#[cfg(unix)]
mod unix {
    use tokio::signal::unix::{Signal, SignalKind, signal};

    use super::{EndSignal, io};

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

        pub(super) async fn received(&mut self) -> EndSignal {
            tokio::select! {
                _ = self.terminate.recv() => EndSignal::TERMINATE,
                _ = self.interrupt.recv() => EndSignal::INTERRUPT,
                _ = self.hangup.recv() => EndSignal::HANGUP,
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

    use super::{EndSignal, io};

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

        pub(super) async fn received(&mut self) -> EndSignal {
            tokio::select! {
                _ = self.interrupt.recv() => EndSignal::INTERRUPT,
                _ = self.break_key.recv() => EndSignal::INTERRUPT,
                _ = self.close.recv() => EndSignal::HANGUP,
                _ = self.logoff.recv() => EndSignal::TERMINATE,
                _ = self.shutdown.recv() => EndSignal::TERMINATE,
            }
        }
    }
}
