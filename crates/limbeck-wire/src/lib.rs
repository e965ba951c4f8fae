//! Frames between the gateway and its workers.
//!
//! A frame is a 4-byte little-endian length, a 1-byte kind, and a body of `length - 1` bytes in
//! [postcard](https://docs.rs/postcard). Payload JSON travels as text inside the body and is parsed
//! only where it is needed. A guest may have taken over its worker, so the gateway treats every frame as hostile.
//!
//! Four properties are tested:
//! - Length and kind are checked on the first five bytes, each kind against its own bound. Memory is allocated for
//!   bytes that have arrived, never for a length that a frame announces.
//! - A decoded frame takes no more memory than its own bytes and a small constant: texts end with the frame, and lists
//!   are checked against a bound before memory for their first item is allocated.
//! - A body with trailing bytes, an unknown kind or malformed text is refused.
//! - Decoding what was encoded gives the same frame.
//!
//! [`protocol::Conversation`] checks which frames a worker may send, when, and how much. Everything it can send during
//! one execution has a maximum in total, except its turns, which have a maximum rate: [`Pace`].
//!
//! Start reading at [`ToWorker`] and [`FromWorker`].

#![forbid(unsafe_code)]

mod codec;
mod frames;
mod list;
mod pace;
pub mod protocol;
mod worker_channel;

pub use codec::{Frame, FrameReader, WireError, decode_from_worker, decode_to_worker, encode};
pub use frames::{
    CallResult, CheckRequest, CheckVerdict, Delivery, Done, Erased, Fault, FromWorker, Idle,
    LogLine, LogStream, Ready, RecordedProgram, Start, ToWorker,
};
pub use pace::Pace;
pub use worker_channel::WorkerChannel;

/// Raised with every change of a frame. Both sides are the same binary, so different versions mean that the executable
/// was replaced.
pub const PROTOCOL_VERSION: u32 = 7;

/// `argv[0]` of a worker. On Windows, where a process gets its path as its name, the first argument.
pub const WORKER_ARGV0: &str = "limbeck-worker";
