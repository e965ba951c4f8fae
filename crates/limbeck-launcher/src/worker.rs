//! One worker process and the channel to it.

use std::io;
use std::time::Duration;

use limbeck_wire::domain::{ExecutionLimits, Language, Sandbox, Tier};
use limbeck_wire::protocol::Conversation;
use limbeck_wire::{
    FrameReader, FromWorker, PROTOCOL_VERSION, Ready, ToWorker, decode_from_worker, encode,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use crate::origin::{Origin, Process, Stream};
use crate::usage::Usage;
use crate::{WorkerError, WorkerProgram};

/// Time for a worker to get ready: a hundred times what it takes on an idle machine.
pub(crate) const READY_MS: u64 = 5_000;
/// Time for the news of a worker's end to arrive after its channel has closed.
pub(crate) const EXIT_MS: u64 = 1_000;
/// Bytes read from a worker at once.
const READ_BYTES: usize = 256 << 10;

/// Starts workers. Clones share what workers come from: on Linux one zygote for each language, started
/// with its first worker.
#[derive(Clone, Debug)]
pub struct Launcher {
    pub(crate) program: WorkerProgram,
    minimum: Tier,
    pub(crate) origin: Origin,
}

impl Launcher {
    /// A launcher for one executable, whose workers are at least of tier `minimum`.
    pub fn new(program: WorkerProgram, minimum: Tier) -> Self {
        Self {
            program,
            minimum,
            origin: Origin::default(),
        }
    }

    /// The weakest tier a worker may have.
    pub fn minimum_tier(&self) -> Tier {
        self.minimum
    }

    /// Starts one worker and waits until it is ready for a program in `language`.
    ///
    /// # Errors
    ///
    /// [`WorkerError`]; a half-started worker is killed.
    pub async fn launch(&self, language: Language) -> Result<Worker, WorkerError> {
        let parent = self.origin.parent(&self.program, language).await?;
        let (process, channel) = parent.worker().await?;
        let mut worker = Worker {
            process,
            channel,
            reader: FrameReader::default(),
            conversation: Conversation::default(),
            ready: None,
            read_buffer: vec![0; READ_BYTES].into_boxed_slice(),
        };
        timeout(Duration::from_millis(READY_MS), worker.handshake())
            .await
            .map_err(|_| WorkerError::NotReady { limit_ms: READY_MS })??;
        parent.confirm().await?;
        let sandbox = worker.sandbox();
        if sandbox.tier < self.minimum {
            return Err(WorkerError::Tier {
                sandbox: Box::new(sandbox.clone()),
                minimum: self.minimum,
            });
        }
        Ok(worker)
    }

    /// Kills what workers come from, and with it every worker that is left; elsewhere than on Linux
    /// workers end with their [`Worker`] alone. A later launch starts another.
    pub async fn shutdown(&self) {
        self.origin.shutdown().await;
    }
}

/// A worker process. Dropping it kills it.
#[derive(Debug)]
pub struct Worker {
    process: Process,
    channel: Stream,
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
        self.process.pid()
    }

    /// Whether a worker that waits for a program is still there: it may have been killed meanwhile.
    pub fn is_waiting(&mut self) -> bool {
        self.process.is_silent(&self.channel)
    }

    /// Whether the guest has returned and waits for a delivery.
    pub fn is_idle(&self) -> bool {
        self.conversation.is_idle()
    }

    /// What the kernel counts of it; `None` once it is gone, and elsewhere than on Linux.
    pub fn usage(&self) -> Option<Usage> {
        Usage::of(self.process.pid())
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
        self.process.kill();
        self.process.ended().await;
    }
}
