//! One worker process and the channel to it.

use std::io;

use limbeck_domain::{ExecutionLimits, Sandbox};
use limbeck_wire::protocol::Conversation;
use limbeck_wire::{
    FrameReader, FromWorker, PROTOCOL_VERSION, Ready, ToWorker, decode_from_worker, encode,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::WorkerError;
use crate::process_source::{Process, Stream};
use crate::usage::Usage;

/// Bytes read from a worker at once.
const READ_BYTES: usize = 256 << 10;

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
    pub(crate) fn new(process: Process, channel: Stream) -> Self {
        Self {
            process,
            channel,
            reader: FrameReader::default(),
            conversation: Conversation::default(),
            ready: None,
            read_buffer: vec![0; READ_BYTES].into_boxed_slice(),
        }
    }

    /// Waits for `Ready`, which has to come first, and compares the protocol's version.
    pub(crate) async fn handshake(&mut self) -> Result<(), WorkerError> {
        match self.receive().await? {
            FromWorker::Ready(ready) if ready.protocol == PROTOCOL_VERSION => {
                self.ready = Some(ready);
                Ok(())
            }
            FromWorker::Ready(ready) => Err(WorkerError::Version {
                got: ready.protocol,
                expected: PROTOCOL_VERSION,
            }),
            // While a worker is starting, the conversation accepts only `Ready`.
            FromWorker::Erased(_)
            | FromWorker::Check(_)
            | FromWorker::Call(_)
            | FromWorker::Log(_)
            | FromWorker::Idle(_)
            | FromWorker::Done(_) => Err(WorkerError::Gone),
        }
    }

    /// The worker's `Ready` frame.
    pub fn ready(&self) -> &Ready {
        let ready = self.ready.as_ref();
        ready.expect("a worker is handed out after its handshake")
    }

    /// Layers that the worker verified.
    pub fn sandbox(&self) -> &Sandbox {
        &self.ready().sandbox
    }

    /// Its process id, as this process sees it.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Whether a worker that waits for a program still runs: it may have been killed meanwhile.
    pub fn is_waiting(&mut self) -> bool {
        self.process.is_silent(&self.channel)
    }

    /// Whether the guest has returned and waits for a delivery.
    pub fn is_idle(&self) -> bool {
        self.conversation.is_idle()
    }

    /// Whether the worker waits for the gateway: for a delivery or for the verdict on its program.
    pub fn is_blocked(&self) -> bool {
        self.conversation.is_blocked()
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
            ToWorker::Verdict(_) => self.conversation.verdict_sent(),
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
    /// [`WorkerError::Protocol`] for a worker whose channel must not be read any further.
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

    /// Error of an ended channel. A worker that dies with unread data resets the channel, so its exit status is
    /// asked for first.
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
