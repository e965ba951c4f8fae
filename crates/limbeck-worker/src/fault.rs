//! From what went wrong in a guest to the words the model reads.

use limbeck_wire::Fault;
use limbeck_wire::domain::{ErrorKind, ExecutionLimits, ProgramError};
use limbeck_wire::limits::WALL_MS_MAX;
use serde::Deserialize;
use wasmtime::Trap;

use crate::host::{Host, Stop};

/// An exception in the words of the guest.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct GuestError {
    /// Its class; empty when something else than an error was thrown.
    #[serde(default)]
    pub(crate) name: String,
    /// What it says, or the thrown thing as text.
    #[serde(default)]
    pub(crate) message: String,
    /// `stack` of a JavaScript error.
    #[serde(default)]
    pub(crate) stack: String,
    /// Line in the model's own source, where the guest knows it.
    #[serde(default)]
    pub(crate) line: Option<u32>,
    /// Column in the model's own source, where the guest knows it.
    #[serde(default)]
    pub(crate) column: Option<u32>,
    /// The next step, where the guest knows one.
    #[serde(default)]
    pub(crate) hint: Option<String>,
}

impl GuestError {
    /// Reads what a guest wrote as JSON.
    pub(crate) fn read(json: &str) -> Result<Self, Stop> {
        serde_json::from_str(json).map_err(|_| Stop::Misuse("malformed error"))
    }
}

/// The guest has no room for what it is to be given.
#[derive(Debug, thiserror::Error)]
#[error("no memory left for an answer")]
pub(crate) struct OutOfGuestMemory;

/// Words that differ from language to language.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words {
    /// Waits for many calls at once.
    gather: &'static str,
}

impl Words {
    pub(crate) const JAVASCRIPT: Self = Self {
        gather: "Promise.all",
    };
    pub(crate) const PYTHON: Self = Self {
        gather: "asyncio.gather",
    };
}

/// Tells the end of a guest that did not return: a trap, a bound, a broken rule.
pub(crate) fn from_stop(error: &wasmtime::Error, host: &Host, words: Words) -> Fault {
    let limits = &host.limits;
    if let Some(stop) = error.downcast_ref::<Stop>() {
        return bound(stop, words);
    }
    if error.is::<OutOfGuestMemory>() {
        return memory_limit(limits);
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => timeout(limits),
        Some(Trap::StackOverflow) => stack_limit(),
        // An engine aborts where it cannot report that memory ran out.
        _ if host.memory_refused => memory_limit(limits),
        Some(trap) => engine_stopped(trap),
        None => engine_stopped(error),
    }
}

/// Tells a JavaScript exception nobody caught.
///
/// `memory_full` says that the guest's memory has grown to about its limit.
pub(crate) fn from_javascript(
    error: GuestError,
    limits: &ExecutionLimits,
    memory_full: bool,
    position: Option<(u32, u32)>,
) -> Fault {
    let fault = match javascript_kind(&error) {
        ErrorKind::MemoryLimit => memory_limit(limits),
        ErrorKind::StackLimit => stack_limit(),
        // With no memory left for an error either, the engine throws null, or no value at all.
        _ if memory_full && matches!(error.message.as_str(), "null" | "[uninitialized]") => {
            memory_limit(limits)
        }
        kind => fault(kind, headline(&error), error.hint),
    };
    at(fault, position)
}

/// Tells a script the engine refused although it was parsed here before.
pub(crate) fn from_javascript_syntax(error: GuestError, position: Option<(u32, u32)>) -> Fault {
    let fault = match javascript_kind(&error) {
        ErrorKind::StackLimit => fault(
            ErrorKind::Syntax,
            "SyntaxError: the program is nested too deeply".to_owned(),
            None,
        ),
        _ => fault(ErrorKind::Syntax, headline(&error), error.hint),
    };
    at(fault, position)
}

/// Tells a Python exception nobody caught.
pub(crate) fn from_python(error: GuestError, host: &Host) -> Fault {
    let mut fault = match error.name.as_str() {
        "MemoryError" => memory_limit(&host.limits),
        "RecursionError" => stack_limit(),
        // The prelude sees before the gateway does that nothing is left to wait for.
        "NeverSettles" => fault(ErrorKind::NeverSettles, error.message, error.hint),
        // With no memory left to describe an error, this is what the prelude says.
        _ if host.memory_refused && error.message == PYTHON_LAST_WORDS => {
            memory_limit(&host.limits)
        }
        _ => fault(ErrorKind::Exception, headline(&error), error.hint),
    };
    (fault.line, fault.column) = (error.line, error.column);
    fault
}

/// Message of an error that the prelude could not read; `main.py` has it.
const PYTHON_LAST_WORDS: &str = "an error that cannot be read";

/// Tells what Python did not accept as a program.
pub(crate) fn from_python_syntax(error: GuestError) -> Fault {
    let mut fault = fault(ErrorKind::Syntax, headline(&error), error.hint);
    (fault.line, fault.column) = (error.line, error.column);
    fault
}

/// Tells a value that has no JSON form.
///
/// `hint` says in the program's language what has one.
pub(crate) fn not_serialisable(why: String, hint: &str) -> Fault {
    fault(
        ErrorKind::Exception,
        format!("returned value has no JSON form: {why}"),
        Some(hint.to_owned()),
    )
}

/// Tells an end without a result, which the guest we built never has.
pub(crate) fn no_result() -> Fault {
    engine_stopped(&"it finished without a result")
}

/// Tells a bound or a rule the guest came up against.
pub(crate) fn bound(stop: &Stop, words: Words) -> Fault {
    let (kind, hint) = match stop {
        Stop::Calls { .. } => (
            ErrorKind::CallLimit,
            Some("fetch more per call, or split the work over several programs".to_owned()),
        ),
        Stop::CallsPending { .. } => (
            ErrorKind::CallLimit,
            Some(format!(
                "start calls in batches and await each batch with `{}`",
                words.gather
            )),
        ),
        Stop::CallBytes { .. } => (ErrorKind::OutputLimit, None),
        Stop::CallsBytes { .. } => (
            ErrorKind::OutputLimit,
            Some("send less data, or split the work over several programs".to_owned()),
        ),
        Stop::ValueBytes { .. } => (
            ErrorKind::OutputLimit,
            Some("return a part or a summary of the data".to_owned()),
        ),
        Stop::Exit => (
            ErrorKind::Exception,
            Some("end the program with `return`, or with `sys.exit()`".to_owned()),
        ),
        Stop::Misuse(_) | Stop::Channel(_) => return engine_stopped(stop),
    };
    fault(kind, stop.to_string(), hint)
}

fn timeout(limits: &ExecutionLimits) -> Fault {
    fault(
        ErrorKind::Timeout,
        format!("program ran longer than {} ms", limits.wall_ms),
        Some(format!(
            "raise `timeout_ms` (at most {WALL_MS_MAX}), or do less in one program"
        )),
    )
}

fn memory_limit(limits: &ExecutionLimits) -> Fault {
    fault(
        ErrorKind::MemoryLimit,
        format!(
            "program needed more memory than its limit of {} MiB",
            limits.memory_bytes >> 20
        ),
        Some("keep only the fields you need, and work through large data in parts".to_owned()),
    )
}

fn stack_limit() -> Fault {
    fault(
        ErrorKind::StackLimit,
        "program nested its calls too deeply".to_owned(),
        Some("check what ends the recursion, or use a loop".to_owned()),
    )
}

fn engine_stopped(why: &impl std::fmt::Display) -> Fault {
    fault(
        ErrorKind::WorkerLost,
        format!("the engine stopped: {why}"),
        None,
    )
}

fn javascript_kind(error: &GuestError) -> ErrorKind {
    let message = error.message.as_str();
    match error.name.as_str() {
        "InternalError" if message == "out of memory" => ErrorKind::MemoryLimit,
        "InternalError" | "RangeError"
            if matches!(
                message,
                "stack overflow" | "too much recursion" | "Maximum call stack size exceeded"
            ) =>
        {
            ErrorKind::StackLimit
        }
        _ => ErrorKind::Exception,
    }
}

fn headline(error: &GuestError) -> String {
    match (error.name.as_str(), error.message.as_str()) {
        ("", message) => message.to_owned(),
        (name, "") => name.to_owned(),
        (name, message) => format!("{name}: {message}"),
    }
}

fn fault(kind: ErrorKind, message: String, hint: Option<String>) -> Fault {
    let mut error = ProgramError::new(kind, message);
    error.hint = hint;
    error.into()
}

fn at(mut fault: Fault, position: Option<(u32, u32)>) -> Fault {
    (fault.line, fault.column) = position.unzip();
    fault
}
