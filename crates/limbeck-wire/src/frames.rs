//! What the two sides say to each other.

use limbeck_domain::limits::{ERROR_TEXT_BYTES_MAX, WARNINGS_MAX};
use limbeck_domain::text::cut;
use limbeck_domain::{CallId, ErrorKind, HostCall, ProgramError, ProgramStart, Sandbox};
use serde::{Deserialize, Serialize};

use crate::list;

/// What the gateway tells a worker.
#[derive(Clone, Debug, PartialEq)]
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
    #[serde(deserialize_with = "list::answers")]
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
#[derive(Clone, Debug, PartialEq)]
pub enum FromWorker {
    /// The worker stands ready; its first frame, once.
    Ready(Ready),
    /// The guest asks for something: ids count up from 1 without gaps. Or the worker does, once and before
    /// all of these, with [`CallId::CHECK`].
    Call(HostCall),
    /// The guest printed.
    Log(LogLine),
    /// The guest has returned and waits for a [`ToWorker::Deliver`].
    Idle(Idle),
    /// The program ended; the last frame.
    Done(Box<Done>),
}

impl FromWorker {
    /// The frame's name in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ready(_) => "ready",
            Self::Call(_) => "call",
            Self::Log(_) => "log",
            Self::Idle(_) => "idle",
            Self::Done(_) => "done",
        }
    }
}

/// What a worker says of itself once it is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// [`crate::PROTOCOL_VERSION`] of the worker.
    pub protocol: u32,
    /// SHA-256 of the guest module, in hex: replay needs the same one.
    pub guest_hash: String,
    /// What the worker found of its own confinement.
    #[serde(deserialize_with = "list::sandbox")]
    pub sandbox: Sandbox,
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
    /// What the program should know although it went on (rewritten source, aliases, dropped output);
    /// at most [`WARNINGS_MAX`].
    #[serde(deserialize_with = "list::up_to::<_, _, WARNINGS_MAX>")]
    pub warnings: Vec<String>,
    /// Printed bytes that were dropped because the bound was reached; the worker's own figure.
    pub log_bytes_dropped: u64,
    /// Largest size of the guest's memory, in bytes; the worker's own figure.
    pub memory_bytes: u64,
}

/// A [`ProgramError`] in a frame. It has its own type because postcard, unlike JSON, cannot leave
/// absent fields out. Its texts are at most [`ERROR_TEXT_BYTES_MAX`] each.
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

/// Cuts the texts to their bound.
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
            message: shortened(message),
            line,
            column,
            hint: hint.map(shortened),
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

fn shortened(mut text: String) -> String {
    text.truncate(cut(&text, ERROR_TEXT_BYTES_MAX).len());
    text
}
