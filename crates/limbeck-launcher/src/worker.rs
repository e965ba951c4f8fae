//! One worker process and the channel to it.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;
use std::time::Duration;

use limbeck_wire::domain::{ExecutionLimits, Sandbox, Tier};
use limbeck_wire::protocol::Conversation;
use limbeck_wire::{
    FrameReader, FromWorker, PROTOCOL_VERSION, Ready, ToWorker, decode_from_worker, encode,
};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use rustix::process::{Signal, pidfd_send_signal};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::control::{Exit, SETUP_FAILED, ToZygote};
use crate::probe::{self, ProbeOutcome, ProbeReport, Told};
use crate::usage::Usage;
use crate::zygote::{Forked, Zygote};
use crate::{WorkerError, WorkerProgram};

/// Time for a worker to get ready: a hundred times what it takes on an idle machine.
const READY_MS: u64 = 5_000;
/// Time for the news of a worker's end to arrive after its channel has closed.
const EXIT_MS: u64 = 1_000;
/// Bytes read from a worker at once.
const READ_BYTES: usize = 256 << 10;
/// Largest report of a probe.
const TOLD_BYTES_MAX: u64 = 1024;

/// Starts workers. Clones share one zygote, which is started with the first worker.
#[derive(Clone, Debug)]
pub struct Launcher {
    program: WorkerProgram,
    minimum: Tier,
    zygote: Arc<Mutex<Option<Arc<Zygote>>>>,
}

impl Launcher {
    /// A launcher for one executable, whose workers are at least of tier `minimum`.
    pub fn new(program: WorkerProgram, minimum: Tier) -> Self {
        Self {
            program,
            minimum,
            zygote: Arc::default(),
        }
    }

    /// The weakest tier a worker may have.
    pub fn minimum_tier(&self) -> Tier {
        self.minimum
    }

    /// Starts one worker and waits until it is ready for a program.
    ///
    /// # Errors
    ///
    /// [`WorkerError`]; a half-started worker is killed.
    pub async fn launch(&self) -> Result<Worker, WorkerError> {
        let (forked, channel) = self.fork(ToZygote::Serve).await?;
        let mut worker = Worker {
            process: Process::of(forked),
            channel: UnixStream::from_std(channel).map_err(WorkerError::Channel)?,
            reader: FrameReader::default(),
            conversation: Conversation::default(),
            ready: None,
            read_buffer: vec![0; READ_BYTES].into_boxed_slice(),
        };
        timeout(Duration::from_millis(READY_MS), worker.handshake())
            .await
            .map_err(|_| WorkerError::NotReady { limit_ms: READY_MS })??;
        let sandbox = worker.sandbox();
        if sandbox.tier < self.minimum {
            return Err(WorkerError::Tier {
                sandbox: Box::new(sandbox.clone()),
                minimum: self.minimum,
            });
        }
        Ok(worker)
    }

    /// Makes every attempt of [`probe::ALL`], each in a worker of its own, locked as any.
    ///
    /// # Errors
    ///
    /// [`WorkerError`], when a worker could not be started or said nothing that can be read.
    pub async fn probe(&self) -> Result<Vec<ProbeReport>, WorkerError> {
        let mut reports = Vec::with_capacity(probe::ALL.len());
        for (number, probe) in (0..).zip(probe::ALL) {
            reports.push(ProbeReport {
                name: probe.name,
                what: probe.what,
                layers: probe.layers,
                outcome: self.attempt(number).await?,
            });
        }
        Ok(reports)
    }

    /// Issues one raw system call in a locked worker.
    ///
    /// # Errors
    ///
    /// As [`Launcher::probe`].
    #[cfg(feature = "assume-escape")]
    pub async fn raw_call(&self, number: u16) -> Result<ProbeOutcome, WorkerError> {
        self.attempt(probe::RAW + number).await
    }

    async fn attempt(&self, number: u16) -> Result<ProbeOutcome, WorkerError> {
        let (forked, channel) = self.fork(ToZygote::Probe(number)).await?;
        let mut process = Process::of(forked);
        let channel = UnixStream::from_std(channel).map_err(WorkerError::Channel)?;
        let mut channel = channel.take(TOLD_BYTES_MAX);
        let mut told = Vec::new();
        let read = channel.read_to_end(&mut told);
        let read = timeout(Duration::from_millis(READY_MS), read).await;
        // A worker that is killed may leave its end unread, which is no error here.
        let _ = read.map_err(|_| WorkerError::NotReady { limit_ms: READY_MS })?;
        let exit = process.ended().await.ok_or(WorkerError::Gone)?;
        match (postcard::from_bytes(&told), exit) {
            (Ok(Told::Denied { errno }), _) => Ok(ProbeOutcome::Denied {
                errno,
                error: io::Error::from_raw_os_error(errno).to_string(),
            }),
            (Ok(Told::Reached { detail }), _) => Ok(ProbeOutcome::Reached { detail }),
            (Err(_), Exit::Signal(signal)) => Ok(ProbeOutcome::Killed { signal }),
            (Err(_), Exit::Code(code)) if code == i32::from(SETUP_FAILED) => {
                Err(WorkerError::Ended { exit })
            }
            // It became another program, or ended in a way of its own choice.
            (Err(_), Exit::Code(code)) => Ok(ProbeOutcome::Reached {
                detail: format!("it ran on, ended with code {code} and said nothing"),
            }),
        }
    }

    /// Kills the zygote and with it every worker that is left. A later launch starts another.
    pub async fn shutdown(&self) {
        let zygote = self.zygote.lock().await.take();
        if let Some(zygote) = zygote {
            zygote.end().await;
        }
    }

    async fn fork(&self, request: ToZygote) -> Result<(Forked, StdUnixStream), WorkerError> {
        let (ours, theirs) = StdUnixStream::pair().map_err(WorkerError::Channel)?;
        ours.set_nonblocking(true).map_err(WorkerError::Channel)?;
        let zygote = self.zygote().await?;
        let forked = zygote.fork(request, OwnedFd::from(theirs)).await?;
        Ok((forked, ours))
    }

    async fn zygote(&self) -> Result<Arc<Zygote>, WorkerError> {
        let mut slot = self.zygote.lock().await;
        match &*slot {
            Some(zygote) if !zygote.is_gone() => Ok(Arc::clone(zygote)),
            _ => {
                let zygote = Arc::new(Zygote::start(&self.program).await?);
                *slot = Some(Arc::clone(&zygote));
                Ok(zygote)
            }
        }
    }
}

/// A process that can be killed and whose end can be heard of.
#[derive(Debug)]
struct Process {
    pid: u32,
    pidfd: OwnedFd,
    exit: tokio::sync::oneshot::Receiver<Exit>,
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

    fn signal_kill(&self) -> rustix::io::Result<()> {
        match pidfd_send_signal(&self.pidfd, Signal::KILL) {
            // It has ended already.
            Err(Errno::SRCH) => Ok(()),
            result => result,
        }
    }

    /// How it ended; waits for the news no longer than [`EXIT_MS`].
    async fn ended(&mut self) -> Option<Exit> {
        if self.ended.is_none() {
            let exit = timeout(Duration::from_millis(EXIT_MS), &mut self.exit).await;
            self.ended = exit.ok().and_then(Result::ok);
        }
        self.ended
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.ended.is_none()
            && let Err(error) = self.signal_kill()
        {
            tracing::warn!(%error, "worker could not be killed");
        }
    }
}

/// A worker process. Dropping it kills it.
#[derive(Debug)]
pub struct Worker {
    process: Process,
    channel: UnixStream,
    reader: FrameReader,
    conversation: Conversation,
    ready: Option<Ready>,
    read_buffer: Box<[u8]>,
}

impl Worker {
    async fn handshake(&mut self) -> Result<(), WorkerError> {
        match self.receive().await? {
            FromWorker::Ready(ready) if ready.protocol == PROTOCOL_VERSION => {
                self.ready = Some(ready);
                Ok(())
            }
            FromWorker::Ready(ready) => Err(WorkerError::Version {
                got: ready.protocol,
                expected: PROTOCOL_VERSION,
            }),
            // The conversation lets nothing but `Ready` through while a worker is starting.
            FromWorker::Call(_)
            | FromWorker::Log(_)
            | FromWorker::Idle(_)
            | FromWorker::Done(_) => Err(WorkerError::Gone),
        }
    }
    /// What the worker said of itself.
    pub fn ready(&self) -> &Ready {
        let ready = self.ready.as_ref();
        ready.expect("a worker is handed out after its handshake")
    }

    /// The layers that were seen to hold around it.
    pub fn sandbox(&self) -> &Sandbox {
        &self.ready().sandbox
    }

    /// Its process id, as this process sees it.
    pub fn pid(&self) -> u32 {
        self.process.pid
    }

    /// Whether a worker that waits for a program is still there: it may have been killed meanwhile.
    ///
    /// Its channel tells sooner than its exit status. Anything to read means that it is gone or
    /// speaks out of turn.
    pub fn is_waiting(&self) -> bool {
        // Asked of the kernel and not of the runtime, which may not have heard yet.
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        matches!(
            recv(&self.channel, &mut [0_u8; 1], flags),
            Err(Errno::AGAIN)
        )
    }

    /// Whether the guest has returned and waits for a delivery.
    pub fn is_idle(&self) -> bool {
        self.conversation.is_idle()
    }

    /// What the kernel counts of it; `None` once it is gone.
    pub fn usage(&self) -> Option<Usage> {
        Usage::of(self.process.pid)
    }

    /// Sends a frame. Not to be cancelled half-way: a cancelled send is followed by dropping the worker.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Wire`] when the frame is too large, and nothing was sent; otherwise as
    /// [`Worker::receive`], and the worker is lost.
    pub async fn send(
        &mut self,
        frame: &ToWorker,
        limits: &ExecutionLimits,
    ) -> Result<(), WorkerError> {
        let bytes = encode(frame, Vec::new()).map_err(|(error, _)| error)?;
        match frame {
            ToWorker::Start(_) => self.conversation.started(limits),
            ToWorker::Deliver(_) => self.conversation.delivered(),
        }
        match self.channel.write_all(&bytes).await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.closed(error).await),
        }
    }

    /// The next frame, already checked against the protocol. Safe to cancel.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Ended`] or [`WorkerError::Gone`] at the end of the channel, [`WorkerError::Wire`] or
    /// [`WorkerError::Protocol`] for a worker that must not be listened to any further.
    pub async fn receive(&mut self) -> Result<FromWorker, WorkerError> {
        loop {
            if let Some(frame) = self.reader.next_frame()? {
                let frame = decode_from_worker(frame)?;
                self.conversation.receive(&frame)?;
                return Ok(frame);
            }
            match self.channel.read(&mut self.read_buffer).await {
                Ok(0) => return Err(self.closed(io::ErrorKind::UnexpectedEof.into()).await),
                Ok(read) => self.reader.push(&self.read_buffer[..read]),
                Err(error) => return Err(self.closed(error).await),
            }
        }
    }

    /// Why the channel has come to an end. A worker that dies with something unread resets it, so its
    /// own end is asked for first.
    async fn closed(&mut self, error: io::Error) -> WorkerError {
        match self.process.ended().await {
            Some(exit) => WorkerError::Ended { exit },
            None if error.kind() == io::ErrorKind::UnexpectedEof => WorkerError::Gone,
            None => WorkerError::Channel(error),
        }
    }

    /// Kills the process and waits until it is gone.
    pub async fn kill(mut self) {
        if let Err(error) = self.process.signal_kill() {
            tracing::warn!(%error, "worker could not be killed");
        }
        self.process.ended().await;
    }
}
