//! Frames between the gateway and its workers.
//!
//! A frame is a 4-byte little-endian length, a 1-byte kind, and a body of `length - 1` bytes in
//! [postcard](https://docs.rs/postcard). Payload JSON travels as text inside the body and is parsed
//! only where it is needed. A guest may own its worker, so to the gateway every frame is hostile.
//!
//! Four things hold here and are tested:
//! - Length and kind are refused from the first five bytes, each kind against its own bound; what a
//!   frame announces is never allocated, only what has arrived.
//! - A decoded frame takes no more memory than its own bytes and a small constant: texts end with the
//!   frame, lists are counted against a bound before there is room for their first item.
//! - A body with trailing bytes, an unknown kind or malformed text is refused.
//! - Decoding what was encoded gives the same frame.
//!
//! What a worker may say at all, how much of it and when, is [`protocol::Conversation`]. Everything
//! it can send during one execution has a total, except its coming back for more, which has a rate:
//! [`Pace`].
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
    CallResult, Delivery, Done, Fault, FromWorker, Idle, LogLine, LogStream, Ready, ToWorker,
};
pub use limbeck_domain as domain;
pub use limbeck_domain::limits;
pub use pace::Pace;
pub use worker_channel::WorkerChannel;

/// Bumped with every change of a frame; both sides are the same binary, so unequal means a mix-up.
pub const PROTOCOL_VERSION: u32 = 2;

/// Name a worker is started under. On Windows, where a program is given no name but its path, the first
/// argument.
pub const WORKER_ARGV0: &str = "limbeck-worker";
