//! The worker's end of the frame channel: blocking reads, buffered writes.

use std::io::{self, Read, Write};

use limbeck_wire::{
    FrameReader, FromWorker, ToWorker, WireError, WorkerChannel, decode_to_worker, encode,
};

/// Bytes asked of the socket at a time; about what its buffer holds.
const READ_BYTES: usize = 256 << 10;
/// Outgoing bytes that are not held back for the end of the slice any longer.
const FLUSH_BYTES: usize = 64 << 10;

/// Error of the channel to the gateway.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChannelError {
    /// The gateway closed its end.
    #[error("the gateway closed the channel")]
    Closed,
    /// The socket failed.
    #[error("the channel failed")]
    Io(#[from] io::Error),
    /// The gateway sent something that is not a frame.
    #[error("the gateway sent a bad frame")]
    Frame(#[source] WireError),
    /// The gateway sent a frame that has no place here.
    #[error("the gateway sent `{0}` out of order")]
    OutOfOrder(&'static str),
    /// A frame of the worker is above the bound. Every payload is checked before, so this is a bug.
    #[error("a frame of the worker is too large")]
    Encode(#[source] WireError),
}

/// Frames in and out.
pub(crate) struct Channel {
    stream: WorkerChannel,
    reader: FrameReader<ToWorker>,
    incoming: Box<[u8]>,
    outgoing: Vec<u8>,
}

impl Channel {
    /// Takes the channel over and allocates what it needs.
    pub(crate) fn new(stream: WorkerChannel) -> Self {
        Self {
            stream,
            reader: FrameReader::default(),
            incoming: vec![0; READ_BYTES].into_boxed_slice(),
            outgoing: Vec::with_capacity(FLUSH_BYTES),
        }
    }

    /// Queues a frame. It leaves with [`Channel::flush`], or now if much is queued.
    pub(crate) fn send(&mut self, frame: &FromWorker) -> Result<(), ChannelError> {
        // The encoder takes the buffer and returns it, so that its memory is used again. After an error the run ends.
        let queued = std::mem::take(&mut self.outgoing);
        self.outgoing = encode(frame, queued).map_err(|(error, _)| ChannelError::Encode(error))?;
        if self.outgoing.len() >= FLUSH_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Sends what is queued.
    pub(crate) fn flush(&mut self) -> Result<(), ChannelError> {
        self.stream.write_all(&self.outgoing)?;
        self.outgoing.clear();
        Ok(())
    }

    /// Waits for the next frame.
    pub(crate) fn receive(&mut self) -> Result<ToWorker, ChannelError> {
        loop {
            if let Some(frame) = self.reader.next_frame().map_err(ChannelError::Frame)? {
                return decode_to_worker(frame).map_err(ChannelError::Frame);
            }
            let bytes = match self.stream.read(&mut self.incoming) {
                Ok(0) => return Err(ChannelError::Closed),
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            self.reader.push(&self.incoming[..bytes]);
        }
    }
}
