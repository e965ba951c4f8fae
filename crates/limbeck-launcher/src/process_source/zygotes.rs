//! Linux: workers that are cloned from a zygote, and end with it.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;
use std::time::Duration;

use limbeck_domain::Language;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use rustix::process::{Signal, pidfd_send_signal};
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use tokio::sync::oneshot::Receiver;
use tokio::time::timeout;

use crate::control::ToZygote;
use crate::exit::EXIT_WAIT_MS;
use crate::zygote_client::{Forked, ZygoteClient};
use crate::{Exit, MemoryBound, WorkerError, WorkerProgram};

/// The gateway's end of a worker's channel.
pub(crate) type Stream = UnixStream;

/// One zygote for each language, started with its first worker. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessSource {
    zygotes: Arc<[Mutex<Option<Arc<ZygoteClient>>>; Language::ALL.len()]>,
}

impl ProcessSource {
    /// The zygote of a language, started if it is not running.
    pub(crate) async fn parent(
        &self,
        program: &WorkerProgram,
        language: Language,
    ) -> Result<Arc<ZygoteClient>, WorkerError> {
        let mut slot = self.zygotes[language as usize].lock().await;
        match &*slot {
            Some(zygote) if !zygote.is_gone() => Ok(Arc::clone(zygote)),
            _ => {
                let zygote = Arc::new(ZygoteClient::start(program, language).await?);
                *slot = Some(Arc::clone(&zygote));
                Ok(zygote)
            }
        }
    }

    /// Kills the zygotes and with them every worker that is left.
    pub(crate) async fn shutdown(&self) {
        for slot in &*self.zygotes {
            let zygote = slot.lock().await.take();
            if let Some(zygote) = zygote {
                zygote.end().await;
            }
        }
    }
}

impl ZygoteClient {
    /// A worker that serves one program, and our end of its channel.
    pub(crate) async fn worker(&self) -> Result<(Process, Stream), WorkerError> {
        self.make(ToZygote::Serve).await
    }

    /// A worker that does what was asked for, and our end of its channel.
    pub(crate) async fn make(&self, request: ToZygote) -> Result<(Process, Stream), WorkerError> {
        let (ours, theirs) = StdUnixStream::pair().map_err(WorkerError::Channel)?;
        ours.set_nonblocking(true).map_err(WorkerError::Channel)?;
        let forked = self.fork(request, OwnedFd::from(theirs)).await?;
        let process = Process::of(forked);
        let ours = UnixStream::from_std(ours).map_err(WorkerError::Channel)?;
        Ok((process, ours))
    }

    /// What bounds its memory and that of its workers together.
    pub(crate) fn memory_bound(&self) -> MemoryBound {
        match self.memory_group() {
            Ok(group) => MemoryBound::Group {
                path: group.path().to_string_lossy().into_owned(),
            },
            Err(reason) => MemoryBound::Absent {
                reason: reason.clone(),
            },
        }
    }

    /// Makes sure that a worker which is ready will end with its zygote; see [`ZygoteClient::is_alive`].
    pub(crate) async fn confirm(&self) -> Result<(), WorkerError> {
        if self.is_alive().await {
            return Ok(());
        }
        Err(WorkerError::Zygote {
            reason: "it ended while a worker started".to_owned(),
        })
    }
}

/// Handle of a worker process. Dropping it kills the process.
#[derive(Debug)]
pub(crate) struct Process {
    pid: u32,
    pidfd: OwnedFd,
    exit: Receiver<Exit>,
    ended: Option<Exit>,
}

impl Process {
    fn of(forked: Forked) -> Self {
        let Forked { pid, pidfd, exit } = forked;
        Self {
            pid,
            pidfd,
            exit,
            ended: None,
        }
    }

    /// Its id, as this process sees it.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether the process runs and has sent nothing.
    ///
    /// The channel shows the end sooner than the exit status. Readable data means that the process ended or sent a
    /// frame out of order. The kernel is asked, because the runtime may not have seen the event yet.
    pub(crate) fn is_silent(&mut self, channel: &Stream) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        matches!(recv(channel, &mut [0_u8; 1], flags), Err(Errno::AGAIN))
    }

    /// Kills the process. It is not an error when the process has ended already.
    pub(crate) fn kill(&mut self) {
        match pidfd_send_signal(&self.pidfd, Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => tracing::warn!(%error, "worker could not be killed"),
        }
    }

    /// Exit status; waits for it at most [`EXIT_WAIT_MS`].
    pub(crate) async fn ended(&mut self) -> Option<Exit> {
        if self.ended.is_none() && !self.exit.is_terminated() {
            let exit = timeout(Duration::from_millis(EXIT_WAIT_MS), &mut self.exit).await;
            self.ended = exit.ok().and_then(Result::ok);
        }
        self.ended
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.ended.is_none() {
            self.kill();
        }
    }
}
