//! Bytes to frames and back.

use limbeck_domain::limits::FRAME_BYTES_MAX;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{FromWorker, ToWorker};

const HEADER_BYTES: usize = 4;
/// Kind byte of a frame for a worker.
const KIND_TO_WORKER: u8 = 1;
/// Kind byte of a frame from a worker.
const KIND_FROM_WORKER: u8 = 2;

/// Why bytes are not a frame. Each ends the worker on the other side.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The length prefix is zero or above the bound.
    #[error("frame of {bytes} bytes, allowed are 1 to {FRAME_BYTES_MAX}")]
    Length {
        /// Length the peer announced.
        bytes: usize,
    },
    /// The kind byte belongs to the other direction or to nothing.
    #[error("unknown frame kind {kind}")]
    Kind {
        /// Kind the peer sent.
        kind: u8,
    },
    /// The body does not decode, or has bytes left over.
    #[error("malformed frame body")]
    Body,
}

/// Which frames travel in which direction.
pub trait Frame: Serialize + DeserializeOwned {
    /// Kind byte of this direction.
    const KIND: u8;
}

impl Frame for ToWorker {
    const KIND: u8 = KIND_TO_WORKER;
}

impl Frame for FromWorker {
    const KIND: u8 = KIND_FROM_WORKER;
}

/// Appends `frame` to `buffer`, header included.
///
/// # Errors
///
/// [`WireError::Length`] when the frame is above the bound; `buffer` is then as before.
pub fn encode<F: Frame>(frame: &F, buffer: Vec<u8>) -> Result<Vec<u8>, (WireError, Vec<u8>)> {
    let start = buffer.len();
    let mut buffer = buffer;
    buffer.extend_from_slice(&[0; HEADER_BYTES]);
    buffer.push(F::KIND);
    let body_start = buffer.len();
    let mut buffer = match postcard::to_extend(frame, buffer) {
        Ok(buffer) => buffer,
        Err(_) => return Err((WireError::Body, Vec::new())),
    };
    let bytes = buffer.len() - body_start + 1;
    if bytes > FRAME_BYTES_MAX {
        buffer.truncate(start);
        return Err((WireError::Length { bytes }, buffer));
    }
    let header = (bytes as u32).to_le_bytes();
    buffer[start..start + HEADER_BYTES].copy_from_slice(&header);
    Ok(buffer)
}

/// Decodes the kind and body of one frame for a worker.
pub fn decode_to_worker(frame: &[u8]) -> Result<ToWorker, WireError> {
    decode(frame)
}

/// Decodes the kind and body of one frame from a worker.
pub fn decode_from_worker(frame: &[u8]) -> Result<FromWorker, WireError> {
    decode(frame)
}

fn decode<F: Frame>(frame: &[u8]) -> Result<F, WireError> {
    let (&kind, body) = frame.split_first().ok_or(WireError::Length { bytes: 0 })?;
    if kind != F::KIND {
        return Err(WireError::Kind { kind });
    }
    let (frame, rest) = postcard::take_from_bytes(body).map_err(|_| WireError::Body)?;
    if rest.is_empty() {
        Ok(frame)
    } else {
        Err(WireError::Body)
    }
}

/// Cuts a stream of bytes into frames. Does no I/O: bytes go in, frames come out.
///
/// ```
/// # use limbeck_wire::{FrameReader, FromWorker, Idle, decode_from_worker, encode};
/// let bytes = encode(&FromWorker::Idle(Idle { wake_at_us: None }), Vec::new()).unwrap();
/// let mut reader = FrameReader::default();
/// reader.push(&bytes[..3]);
/// assert_eq!(reader.next_frame().unwrap(), None);
/// reader.push(&bytes[3..]);
/// let frame = reader.next_frame().unwrap().map(decode_from_worker);
/// assert_eq!(frame, Some(Ok(FromWorker::Idle(Idle { wake_at_us: None }))));
/// ```
#[derive(Debug, Default)]
pub struct FrameReader {
    buffer: Vec<u8>,
    read: usize,
}

impl FrameReader {
    /// Takes bytes as they arrived. At most one frame and one read are held at a time.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.read > 0 {
            self.buffer.drain(..self.read);
            self.read = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The kind and body of the next whole frame, if there is one.
    ///
    /// # Errors
    ///
    /// [`WireError::Length`] as soon as the header is known; the stream cannot be used any further.
    pub fn next_frame(&mut self) -> Result<Option<&[u8]>, WireError> {
        let pending = &self.buffer[self.read..];
        let Some((header, rest)) = pending.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let bytes = u32::from_le_bytes(*header) as usize;
        if bytes == 0 || bytes > FRAME_BYTES_MAX {
            return Err(WireError::Length { bytes });
        }
        if rest.len() < bytes {
            return Ok(None);
        }
        let start = self.read + HEADER_BYTES;
        self.read = start + bytes;
        Ok(Some(&self.buffer[start..start + bytes]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Idle, LogLine, LogStream};

    fn frames() -> Vec<FromWorker> {
        vec![
            FromWorker::Idle(Idle {
                wake_at_us: Some(7),
            }),
            FromWorker::Log(LogLine {
                stream: LogStream::Stdout,
                text: "é".repeat(1000),
            }),
        ]
    }

    #[test]
    fn frames_survive_any_split_of_the_stream() {
        let mut bytes = Vec::new();
        for frame in frames() {
            bytes = encode(&frame, bytes).unwrap();
        }
        for step in [1, 2, 3, 5, 7, bytes.len()] {
            let mut reader = FrameReader::default();
            let mut seen = Vec::new();
            for chunk in bytes.chunks(step) {
                reader.push(chunk);
                while let Some(frame) = reader.next_frame().unwrap() {
                    seen.push(decode_from_worker(frame).unwrap());
                }
            }
            assert_eq!(seen, frames(), "split every {step} bytes");
        }
    }

    #[test]
    fn a_length_outside_the_bounds_is_refused_from_the_header_alone() {
        for bytes in [0, FRAME_BYTES_MAX as u32 + 1, u32::MAX] {
            let mut reader = FrameReader::default();
            reader.push(&bytes.to_le_bytes());
            assert_eq!(
                reader.next_frame(),
                Err(WireError::Length {
                    bytes: bytes as usize
                })
            );
        }
        let mut reader = FrameReader::default();
        reader.push(&(FRAME_BYTES_MAX as u32).to_le_bytes());
        assert_eq!(reader.next_frame(), Ok(None));
    }

    #[test]
    fn a_frame_of_the_other_direction_and_trailing_bytes_are_refused() {
        let bytes = encode(&frames()[0], Vec::new()).unwrap();
        let frame = &bytes[HEADER_BYTES..];
        assert!(decode_from_worker(frame).is_ok());
        assert_eq!(
            decode_to_worker(frame),
            Err(WireError::Kind {
                kind: KIND_FROM_WORKER
            })
        );
        let mut longer = frame.to_vec();
        longer.push(0);
        assert_eq!(decode_from_worker(&longer), Err(WireError::Body));
        assert_eq!(
            decode_from_worker(&[KIND_FROM_WORKER, 99]),
            Err(WireError::Body)
        );
    }
}
