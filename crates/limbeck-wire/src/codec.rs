//! Encoding and decoding of frames.

use std::marker::PhantomData;

use limbeck_domain::limits::{
    CALL_ARGS_BYTES_MAX, CALL_HEAD_BYTES_MAX, ERASED_BYTES_MAX, FRAME_BYTES_MAX, LOG_BYTES_MAX,
    SITES_BYTES_MAX, VALUE_BYTES_MAX, WARNINGS_MAX,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{FromWorker, ToWorker};

const HEADER_BYTES: usize = 4;
const KIND_BYTES: usize = 1;

/// Bytes for the numbers of a frame beside its texts.
const NUMBERS_BYTES: usize = 64;
/// Five times the size of every layer with the longest reason for its absence.
const READY_BYTES_MAX: usize = 24 << 10;
const CALL_BYTES_MAX: usize = CALL_HEAD_BYTES_MAX + CALL_ARGS_BYTES_MAX + NUMBERS_BYTES;
const CHECK_BYTES_MAX: usize = SITES_BYTES_MAX + NUMBERS_BYTES;
/// The texts, and the lengths of its warnings.
const ERASED_FRAME_BYTES_MAX: usize = ERASED_BYTES_MAX + 4 * WARNINGS_MAX + NUMBERS_BYTES;
const LOG_LINE_BYTES_MAX: usize = LOG_BYTES_MAX + NUMBERS_BYTES;
/// The value, or an error, and all warnings.
const DONE_BYTES_MAX: usize = VALUE_BYTES_MAX + (64 << 10);

/// Why bytes are not a frame. The gateway kills a worker that sends such bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The length prefix is zero or above the bound of its kind.
    #[error("frame of {bytes} bytes, allowed are 1 to {limit}")]
    Length {
        /// Length of kind and body.
        bytes: usize,
        /// The bound: of the kind if it is known, else of any frame.
        limit: usize,
    },
    /// The kind byte is unknown or belongs to the other direction.
    #[error("unknown frame kind {kind}")]
    Kind {
        /// Kind that the peer sent.
        kind: u8,
    },
    /// The body does not decode, or has bytes left over.
    #[error("malformed frame body")]
    Body,
}

/// The frames of one direction.
pub trait Frame: Sized {
    /// Largest body of a kind; `None` for a kind that does not travel in this direction.
    fn body_bytes_max(kind: u8) -> Option<usize>;
    /// Kind byte of this frame.
    fn kind(&self) -> u8;
    /// Appends the body.
    fn write_body(&self, buffer: Vec<u8>) -> postcard::Result<Vec<u8>>;
    /// Reads the body of a kind.
    fn read_body(kind: u8, body: &[u8]) -> Result<Self, WireError>;
}

/// Maps every variant to its kind byte and its bound.
macro_rules! frames {
    ($direction:ident { $($variant:ident = $kind:literal, $bytes_max:expr;)* }) => {
        impl Frame for $direction {
            fn body_bytes_max(kind: u8) -> Option<usize> {
                match kind {
                    $($kind => Some($bytes_max),)*
                    _ => None,
                }
            }

            fn kind(&self) -> u8 {
                match self {
                    $(Self::$variant(_) => $kind,)*
                }
            }

            fn write_body(&self, buffer: Vec<u8>) -> postcard::Result<Vec<u8>> {
                match self {
                    $(Self::$variant(payload) => write(payload, buffer),)*
                }
            }

            fn read_body(kind: u8, body: &[u8]) -> Result<Self, WireError> {
                match kind {
                    $($kind => read(body).map(Self::$variant),)*
                    kind => Err(WireError::Kind { kind }),
                }
            }
        }
    };
}

frames!(ToWorker {
    Start = 1, FRAME_BYTES_MAX - KIND_BYTES;
    Deliver = 2, FRAME_BYTES_MAX - KIND_BYTES;
    Verdict = 3, FRAME_BYTES_MAX - KIND_BYTES;
});

frames!(FromWorker {
    Ready = 16, READY_BYTES_MAX;
    Call = 17, CALL_BYTES_MAX;
    Log = 18, LOG_LINE_BYTES_MAX;
    Idle = 19, NUMBERS_BYTES;
    Done = 20, DONE_BYTES_MAX;
    Check = 21, CHECK_BYTES_MAX;
    Erased = 22, ERASED_FRAME_BYTES_MAX;
});

fn write<T: Serialize>(payload: &T, buffer: Vec<u8>) -> postcard::Result<Vec<u8>> {
    postcard::to_extend(payload, buffer)
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, WireError> {
    match postcard::take_from_bytes(body) {
        // Bytes left over are a frame of another build, or an attempt to hide something in one.
        Ok((payload, [])) => Ok(payload),
        Ok(_) | Err(_) => Err(WireError::Body),
    }
}

/// Appends `frame` to `buffer`, header included.
///
/// # Errors
///
/// [`WireError::Length`] when the frame is above the bound of its kind; `buffer` is then as before.
pub fn encode<F: Frame>(frame: &F, buffer: Vec<u8>) -> Result<Vec<u8>, (WireError, Vec<u8>)> {
    let start = buffer.len();
    let mut buffer = buffer;
    buffer.extend_from_slice(&[0; HEADER_BYTES]);
    let kind = frame.kind();
    buffer.push(kind);
    let mut buffer = match frame.write_body(buffer) {
        Ok(buffer) => buffer,
        // The encoder has taken the buffer. Plain data in memory that can grow always encodes.
        Err(_) => return Err((WireError::Body, Vec::new())),
    };
    let bytes = buffer.len() - start - HEADER_BYTES;
    if let Err(error) = check::<F>(kind, bytes) {
        buffer.truncate(start);
        return Err((error, buffer));
    }
    // Written last, because the length of the body is known only now. `check` has bounded it far below `u32::MAX`.
    let header = (bytes as u32).to_le_bytes();
    buffer[start..start + HEADER_BYTES].copy_from_slice(&header);
    Ok(buffer)
}

/// Decodes the kind and body of one frame for a worker.
///
/// # Errors
///
/// [`WireError`]; the gateway is then another build.
pub fn decode_to_worker(frame: &[u8]) -> Result<ToWorker, WireError> {
    decode(frame)
}

/// Decodes the kind and body of one frame from a worker.
///
/// # Errors
///
/// [`WireError`]; no further frame may be read from the worker.
pub fn decode_from_worker(frame: &[u8]) -> Result<FromWorker, WireError> {
    decode(frame)
}

fn decode<F: Frame>(frame: &[u8]) -> Result<F, WireError> {
    let (&kind, body) = frame.split_first().ok_or(WireError::Length {
        bytes: 0,
        limit: FRAME_BYTES_MAX,
    })?;
    check::<F>(kind, frame.len())?;
    F::read_body(kind, body)
}

/// Checks the length of kind and body against what the kind allows.
fn check<F: Frame>(kind: u8, bytes: usize) -> Result<(), WireError> {
    let body = F::body_bytes_max(kind).ok_or(WireError::Kind { kind })?;
    in_bounds(bytes, body + KIND_BYTES)
}

fn in_bounds(bytes: usize, limit: usize) -> Result<(), WireError> {
    if bytes == 0 || bytes > limit {
        return Err(WireError::Length { bytes, limit });
    }
    Ok(())
}

/// Cuts a stream of bytes into the frames of one direction. Does no I/O: bytes go in, frames come out.
///
/// ```
/// # use limbeck_wire::{FrameReader, FromWorker, Idle, decode_from_worker, encode};
/// let bytes = encode(&FromWorker::Idle(Idle { wake_at_us: None }), Vec::new()).unwrap();
/// let mut reader: FrameReader = FrameReader::default();
/// reader.push(&bytes[..3]);
/// assert_eq!(reader.next_frame().unwrap(), None);
/// reader.push(&bytes[3..]);
/// let frame = reader.next_frame().unwrap().map(decode_from_worker);
/// assert_eq!(frame, Some(Ok(FromWorker::Idle(Idle { wake_at_us: None }))));
/// ```
#[derive(Debug)]
pub struct FrameReader<F = FromWorker> {
    buffer: Vec<u8>,
    read: usize,
    direction: PhantomData<fn() -> F>,
}

impl<F> Default for FrameReader<F> {
    fn default() -> Self {
        Self {
            buffer: Vec::new(),
            read: 0,
            direction: PhantomData,
        }
    }
}

impl<F: Frame> FrameReader<F> {
    /// Adds bytes as they arrived. A caller that takes frames out in between holds at most one frame and one read.
    pub fn push(&mut self, bytes: &[u8]) {
        // Not when a frame is taken: the caller still borrows it then.
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
    /// [`WireError::Length`] or [`WireError::Kind`] as soon as length and kind are known, and the same error again for
    /// every later call: the start of the next frame is not known.
    pub fn next_frame(&mut self) -> Result<Option<&[u8]>, WireError> {
        let pending = &self.buffer[self.read..];
        let Some((header, rest)) = pending.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let bytes = u32::from_le_bytes(*header) as usize;
        // Before the body is waited for: a length that lies must not make the gateway buffer that much.
        in_bounds(bytes, FRAME_BYTES_MAX)?;
        let Some(&kind) = rest.first() else {
            return Ok(None);
        };
        check::<F>(kind, bytes)?;
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
            let mut reader: FrameReader = FrameReader::default();
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
        let above = FRAME_BYTES_MAX as u32 + 1;
        for bytes in [0, above, 1 << 31, (-1_i32).cast_unsigned(), u32::MAX] {
            let mut reader: FrameReader = FrameReader::default();
            reader.push(&bytes.to_le_bytes());
            let refused = Err(WireError::Length {
                bytes: bytes as usize,
                limit: FRAME_BYTES_MAX,
            });
            assert_eq!(reader.next_frame(), refused);
            assert_eq!(reader.next_frame(), refused, "and it stays refused");
        }
        let mut reader: FrameReader = FrameReader::default();
        reader.push(&(FRAME_BYTES_MAX as u32).to_le_bytes());
        assert_eq!(reader.next_frame(), Ok(None));
    }

    #[test]
    fn a_kind_is_held_to_its_own_bound_before_its_body_arrives() {
        for kind in 0..=u8::MAX {
            let announce = |bytes: usize| {
                let mut reader: FrameReader = FrameReader::default();
                reader.push(&(bytes as u32).to_le_bytes());
                reader.push(&[kind]);
                reader.next_frame().map(|_| ())
            };
            match FromWorker::body_bytes_max(kind) {
                Some(body) => {
                    let limit = body + KIND_BYTES;
                    let bytes = limit + 1;
                    assert_eq!(announce(limit), Ok(()));
                    assert_eq!(announce(bytes), Err(WireError::Length { bytes, limit }));
                }
                None => assert_eq!(announce(1), Err(WireError::Kind { kind })),
            }
        }
    }

    #[test]
    fn nothing_above_its_bound_is_encoded_and_the_buffer_stays() {
        let text = "x".repeat(LOG_LINE_BYTES_MAX);
        let frame = FromWorker::Log(LogLine {
            stream: LogStream::Stdout,
            text,
        });
        let (error, buffer) = encode(&frame, vec![1, 2]).unwrap_err();
        assert!(matches!(error, WireError::Length { .. }));
        assert_eq!(buffer, [1, 2]);
    }

    #[test]
    fn a_frame_of_the_other_direction_and_trailing_bytes_are_refused() {
        let bytes = encode(&frames()[0], Vec::new()).unwrap();
        let frame = &bytes[HEADER_BYTES..];
        assert!(decode_from_worker(frame).is_ok());
        let kind = frame[0];
        assert_eq!(decode_to_worker(frame), Err(WireError::Kind { kind }));
        let mut longer = frame.to_vec();
        longer.push(0);
        assert_eq!(decode_from_worker(&longer), Err(WireError::Body));
        assert_eq!(decode_from_worker(&frame[..1]), Err(WireError::Body));
        assert!(decode_from_worker(&[]).is_err());
    }
}
