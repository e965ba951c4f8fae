//! One worker process and the channel to it.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::process::Stdio;
use std::time::Duration;

use limbeck_wire::domain::ExecutionLimits;
use limbeck_wire::protocol::Conversation;
use limbeck_wire::{
    FrameReader, FromWorker, PROTOCOL_VERSION, Ready, ToWorker, WORKER_ARGV0, decode_from_worker,
    encode,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::{WorkerError, WorkerProgram};

/// Time for a worker to get ready: a hundred times what it takes on an idle machine.
const READY_MS: u64 = 5_000;
/// Bytes read from a worker at once.
const READ_BYTES: usize = 256 << 10;

/// Starts workers.
#[derive(Clone, Debug)]
pub struct Launcher {
    program: WorkerProgram,
}

impl Launcher {
    /// A launcher for one executable.
    pub fn new(program: WorkerProgram) -> Self {
        Self { program }
    }

    /// Starts one worker and waits until it is ready for a program.
    ///
    /// The child gets an empty environment, its channel as standard input, and nothing else; a
    /// process group of its own keeps a terminal's Ctrl-C from it.
    ///
    /// # Errors
    ///
    /// [`WorkerError`]; a half-started process is killed.
    pub async fn launch(&self) -> Result<Worker, WorkerError> {
        let spawn_error = |error| WorkerError::Spawn {
            path: self.program.path.clone(),
            error,
        };
        let (ours, theirs) = channel().map_err(spawn_error)?;
        let child = Command::new(&self.program.path)
            .arg0(WORKER_ARGV0)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(spawn_error)?;
        let mut worker = Worker {
            child,
            channel: ours,
            reader: FrameReader::default(),
            conversation: Conversation::default(),
            ready: Ready {
                protocol: 0,
                guest_hash: String::new(),
            },
            read_buffer: vec![0; READ_BYTES].into_boxed_slice(),
        };
        timeout(Duration::from_millis(READY_MS), worker.handshake())
            .await
            .map_err(|_| WorkerError::NotReady { limit_ms: READY_MS })??;
        Ok(worker)
    }
}

fn channel() -> io::Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = StdUnixStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((UnixStream::from_std(ours)?, OwnedFd::from(theirs)))
}

/// A worker process. Dropping it kills it.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    channel: UnixStream,
    reader: FrameReader,
    conversation: Conversation,
    ready: Ready,
    read_buffer: Box<[u8]>,
}

impl Worker {
    async fn handshake(&mut self) -> Result<(), WorkerError> {
        match self.receive().await? {
            FromWorker::Ready(ready) if ready.protocol == PROTOCOL_VERSION => {
                self.ready = ready;
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
        &self.ready
    }

    /// Whether a worker that waits for a program is still there: it may have been killed meanwhile.
    ///
    /// Its channel tells sooner than its exit status. Anything to read means that it is gone or
    /// speaks out of turn.
    pub fn is_waiting(&self) -> bool {
        matches!(
            self.channel.try_read(&mut [0]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock
        )
    }

    /// Whether the guest has returned and waits for a delivery.
    pub fn is_idle(&self) -> bool {
        self.conversation.is_idle()
    }

    /// Bytes of memory the process holds, its shared pages included; `None` once it is gone.
    ///
    /// From the second field of `/proc/PID/statm`, in pages. Elsewhere than on Linux, `None`.
    pub fn resident_bytes(&self) -> Option<u64> {
        let pid = self.child.id()?;
        let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
        let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
        Some(pages.saturating_mul(rustix::param::page_size() as u64))
    }

    /// Sends a frame. Not to be cancelled half-way: a cancelled send is followed by dropping the worker.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Wire`] when the frame is too large, and nothing was sent; otherwise
    /// [`WorkerError::Channel`], and the worker is lost.
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
        self.channel
            .write_all(&bytes)
            .await
            .map_err(WorkerError::Channel)
    }

    /// The next frame, already checked against the protocol. Safe to cancel.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Gone`] at the end of the channel, [`WorkerError::Wire`] or
    /// [`WorkerError::Protocol`] for a worker that must not be listened to any further.
    pub async fn receive(&mut self) -> Result<FromWorker, WorkerError> {
        loop {
            if let Some(frame) = self.reader.next_frame()? {
                let frame = decode_from_worker(frame)?;
                self.conversation.receive(&frame)?;
                return Ok(frame);
            }
            let read = self
                .channel
                .read(&mut self.read_buffer)
                .await
                .map_err(WorkerError::Channel)?;
            if read == 0 {
                return Err(WorkerError::Gone);
            }
            self.reader.push(&self.read_buffer[..read]);
        }
    }

    /// Kills the process and waits until it is gone.
    pub async fn kill(mut self) {
        if let Err(error) = self.child.kill().await {
            tracing::warn!(%error, "worker could not be killed");
        }
    }
}
