//! Frames of both directions and their payloads.

use limbeck_domain::limits::{ERROR_TEXT_BYTES_MAX, GIVEN_UP_MAX, WARNINGS_MAX};
use limbeck_domain::text::cut;
use limbeck_domain::{
    CallId, ErasedProgram, ErrorKind, HostCall, Language, ProgramError, ProgramStart, Sandbox,
};
use serde::{Deserialize, Serialize};

use crate::list;

/// Frame from the gateway to a worker.
#[derive(Clone, Debug, PartialEq)]
pub enum ToWorker {
    /// The program to run; the first frame, once.
    Start(Box<Start>),
    /// Results and the time; only while the guest is idle.
    Deliver(Delivery),
    /// Answer to a [`FromWorker::Check`].
    Verdict(CheckVerdict),
}

/// What a guest starts from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The program, its input and its limits.
    pub program: ProgramStart,
    /// What was made of the program when it began, if it is continued or replayed: it is not made again.
    pub recorded: Option<RecordedProgram>,
}

impl From<ProgramStart> for Start {
    /// The start of a program that was not run before.
    fn from(program: ProgramStart) -> Self {
        Self {
            program,
            recorded: None,
        }
    }
}

/// A program as an earlier process ran it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedProgram {
    /// Its text without types.
    pub erased: ErasedProgram,
    /// Its [`CheckRequest::sites`]; absent when there was nothing to check.
    pub sites: Option<String>,
}

/// Results for the guest and its new time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    /// New time of the guest's clock, in microseconds since 1970; never before the previous one.
    pub now_us: u64,
    /// Results, in the order the guest settles its calls.
    #[serde(deserialize_with = "list::answers")]
    pub results: Vec<CallResult>,
}

/// Result of one host call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallResult {
    /// Id of the call.
    pub id: CallId,
    /// JSON text of the value, or JSON text of a [`limbeck_domain::CallError`].
    pub result: Result<String, String>,
}

/// Whether the program may start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckVerdict {
    /// JSON text of a [`limbeck_domain::Verdict`].
    pub verdict: String,
}

/// Frame from a worker to the gateway.
#[derive(Clone, Debug, PartialEq)]
pub enum FromWorker {
    /// The worker is ready; its first frame, once.
    Ready(Ready),
    /// The program as the guest runs it: at most once, after its check and before the guest's first call.
    Erased(Box<Erased>),
    /// Call sites of the program: at most once, and before the guest's first call. The worker then waits for the
    /// [`ToWorker::Verdict`].
    Check(CheckRequest),
    /// The guest makes a host call: ids count up from 1 without gaps.
    Call(HostCall),
    /// A line that the guest printed.
    Log(LogLine),
    /// The guest has run all of its code and waits for a [`ToWorker::Deliver`].
    Idle(Idle),
    /// The program ended; the last frame.
    Done(Box<Done>),
}

impl FromWorker {
    /// The frame's name in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ready(_) => "ready",
            Self::Erased(_) => "erased",
            Self::Check(_) => "check",
            Self::Call(_) => "call",
            Self::Log(_) => "log",
            Self::Idle(_) => "idle",
            Self::Done(_) => "done",
        }
    }
}

/// Version and sandbox of a worker that is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// [`crate::PROTOCOL_VERSION`] of the worker.
    pub protocol: u32,
    /// SHA-256 of the guest module, in hex. A replay needs the same module.
    pub guest_hash: String,
    /// Sandbox layers as the worker verified them.
    #[serde(deserialize_with = "list::sandbox")]
    pub sandbox: Sandbox,
}

/// The program without its types, for the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erased {
    /// Its texts have at most [`limbeck_domain::limits::ERASED_BYTES_MAX`] bytes; a larger one is not sent.
    #[serde(deserialize_with = "list::erased")]
    pub program: ErasedProgram,
}

/// The tool calls written in a program, for the gateway to check against its catalog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRequest {
    /// JSON text of [`limbeck_domain::Sites`], at most [`limbeck_domain::limits::SITES_BYTES_MAX`] bytes.
    pub sites: String,
}

/// Stream that a line was printed to.
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
    /// Stream that it was printed to.
    pub stream: LogStream,
    /// The text; may contain newlines.
    pub text: String,
}

/// The guest has no code to run until a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Idle {
    /// Guest time of its earliest timer, in microseconds since 1970.
    pub wake_at_us: Option<u64>,
}

/// How the program ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// JSON text of the value, `None` for `undefined`, or the error.
    pub result: Result<Option<String>, Fault>,
    /// Another language that the program is written in. It was not run then, and `result` is its error in the
    /// language that it was sent as.
    pub written_in: Option<Language>,
    /// Warnings beside the result (rewritten source, aliases, dropped output);
    /// at most [`WARNINGS_MAX`].
    #[serde(deserialize_with = "list::up_to::<_, _, WARNINGS_MAX>")]
    pub warnings: Vec<String>,
    /// Calls without an answer for which the program stopped waiting on purpose, as far as the guest says so; at most
    /// [`GIVEN_UP_MAX`].
    #[serde(deserialize_with = "list::up_to::<_, _, GIVEN_UP_MAX>")]
    pub given_up: Vec<CallId>,
    /// Printed bytes that were dropped because the bound was reached, as counted by the worker.
    pub log_bytes_dropped: u64,
    /// Largest size of the guest's memory in bytes, as measured by the worker.
    pub memory_bytes: u64,
}

/// A [`ProgramError`] in a frame. A type of its own, because postcard, unlike JSON, cannot omit absent fields. Its texts
/// have at most [`ERROR_TEXT_BYTES_MAX`] bytes each.
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
            // The gateway adds it: it knows which calls failed.
            code: _,
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
            code: None,
        }
    }
}

fn shortened(mut text: String) -> String {
    text.truncate(cut(&text, ERROR_TEXT_BYTES_MAX).len());
    text
}
