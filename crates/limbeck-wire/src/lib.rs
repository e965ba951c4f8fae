//! Frames between the gateway and its workers.
//!
//! A frame is a 4-byte little-endian length, a 1-byte kind, and a body of `length - 1` bytes in
//! [postcard](https://docs.rs/postcard). Payload JSON travels as text inside the body and is parsed
//! only where it is needed. Both sides read with [`FrameReader`], which knows a bound before it
//! allocates: a guest may own its worker, so to the gateway every frame is hostile.
//!
//! Three things hold here and are tested:
//! - A length of zero or above [`limits::FRAME_BYTES_MAX`] is refused before a byte of body is kept.
//! - A body with trailing bytes, an unknown kind or malformed text is refused.
//! - Decoding what was encoded gives the same frame.
//!
//! Start reading at [`ToWorker`] and [`FromWorker`]; the order in which they may come is
//! [`protocol::Conversation`].

#![forbid(unsafe_code)]

mod codec;
pub mod protocol;

pub use codec::{FrameReader, WireError, decode_from_worker, decode_to_worker, encode};
pub use limbeck_domain as domain;
pub use limbeck_domain::limits;

use limbeck_domain::{CallId, ErrorKind, HostCall, ProgramError, ProgramStart};
use serde::{Deserialize, Serialize};

/// Bumped with every change of a frame; both sides are the same binary, so unequal means a mix-up.
pub const PROTOCOL_VERSION: u32 = 1;

/// Name a worker is started under: its whole `argv`.
pub const WORKER_ARGV0: &str = "limbeck-worker";

/// What the gateway tells a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ToWorker {
    /// Run this; the first frame, once.
    Start(Box<ProgramStart>),
    /// Answers and the time; only while the worker is idle.
    Deliver(Delivery),
}

/// Answers for the guest and the time it is told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    /// The guest's clock from now on, in microseconds since 1970; never before the last one.
    pub now_us: u64,
    /// Answered calls, in the order the guest hears of them.
    pub results: Vec<CallResult>,
}

/// The answer of one host call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallResult {
    /// Which call.
    pub id: CallId,
    /// JSON text of the value, or JSON text of a [`limbeck_domain::CallError`].
    pub result: Result<String, String>,
}

/// What a worker tells the gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FromWorker {
    /// The worker stands ready; its first frame, once.
    Ready(Ready),
    /// The guest asks for something. Ids count up from 1 without gaps.
    Call(HostCall),
    /// The guest printed.
    Log(LogLine),
    /// The guest has returned and waits for a [`ToWorker::Deliver`].
    Idle(Idle),
    /// The program ended; the last frame.
    Done(Box<Done>),
}

/// What a worker says of itself once it is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// [`PROTOCOL_VERSION`] of the worker.
    pub protocol: u32,
    /// SHA-256 of the guest module, in hex: replay needs the same one.
    pub guest_hash: String,
}

/// Stream a line was printed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogStream {
    /// `console.log`, `info`, `debug`.
    Stdout,
    /// `console.error`, `warn`, `trace`.
    Stderr,
}

/// One `console` call, without its line end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// Where to.
    pub stream: LogStream,
    /// The text; may hold newlines.
    pub text: String,
}

/// The guest waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Idle {
    /// Guest time of its earliest timer, in microseconds since 1970.
    pub wake_at_us: Option<u64>,
}

/// How the program ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// JSON text of the value, `None` for `undefined`; or the error.
    pub result: Result<Option<String>, Fault>,
    /// What the program should know although it went on (rewritten source, aliases, dropped output).
    pub warnings: Vec<String>,
    /// Printed bytes that were dropped because the bound was reached.
    pub log_bytes_dropped: u64,
    /// Largest size of the guest's memory, in bytes; the worker's own figure.
    pub memory_bytes: u64,
}

/// A [`ProgramError`] in a frame. It has its own type because postcard, unlike JSON, cannot leave
/// absent fields out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// See [`ProgramError::kind`].
    pub kind: ErrorKind,
    /// See [`ProgramError::message`].
    pub message: String,
    /// See [`ProgramError::line`].
    pub line: Option<u32>,
    /// See [`ProgramError::column`].
    pub column: Option<u32>,
    /// See [`ProgramError::hint`].
    pub hint: Option<String>,
}

impl From<ProgramError> for Fault {
    fn from(error: ProgramError) -> Self {
        let ProgramError {
            kind,
            message,
            line,
            column,
            hint,
        } = error;
        Self {
            kind,
            message,
            line,
            column,
            hint,
        }
    }
}

impl From<Fault> for ProgramError {
    fn from(fault: Fault) -> Self {
        let Fault {
            kind,
            message,
            line,
            column,
            hint,
        } = fault;
        Self {
            kind,
            message,
            line,
            column,
            hint,
        }
    }
}
