//! From what went wrong in a guest to the words the model reads.

use limbeck_wire::Fault;
use limbeck_wire::domain::{ErrorKind, ExecutionLimits, ProgramError};
use limbeck_wire::limits::WALL_MS_MAX;
use wasmtime::Trap;

use crate::guest::OutOfGuestMemory;
use crate::host::{GuestError, Host, Stop};
use crate::source::Positions;

/// Tells the end of a guest that did not return: a trap, a bound, a broken rule.
pub(crate) fn from_stop(error: &wasmtime::Error, host: &Host) -> Fault {
    let limits = &host.limits;
    if let Some(stop) = error.downcast_ref::<Stop>() {
        return bound(stop);
    }
    if error.is::<OutOfGuestMemory>() {
        return memory_limit(limits);
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => timeout(limits),
        Some(Trap::StackOverflow) => stack_limit(),
        // The engine aborts where it cannot report that memory ran out.
        Some(_) if host.memory_refused => memory_limit(limits),
        Some(trap) => engine_stopped(trap),
        None => engine_stopped(error),
    }
}

/// Tells an exception nobody caught.
///
/// `memory_full` says that the guest's memory has grown to about its limit.
pub(crate) fn from_exception(
    error: GuestError,
    limits: &ExecutionLimits,
    memory_full: bool,
    positions: &Positions,
) -> Fault {
    let position = positions.of_stack(&error.stack);
    let mut fault = match exception_kind(&error) {
        ErrorKind::MemoryLimit => memory_limit(limits),
        ErrorKind::StackLimit => stack_limit(),
        // With no memory left for an error either, the engine throws null, or no value at all.
        _ if memory_full && matches!(error.message.as_str(), "null" | "[uninitialized]") => {
            memory_limit(limits)
        }
        kind => fault(kind, headline(&error), error.hint),
    };
    (fault.line, fault.column) = position.unzip();
    fault
}

/// Tells a script the engine refused although it was parsed here before.
pub(crate) fn from_engine_syntax(error: GuestError, positions: &Positions) -> Fault {
    let position = positions.of_stack(&error.stack);
    let mut fault = match exception_kind(&error) {
        ErrorKind::StackLimit => fault(
            ErrorKind::Syntax,
            "SyntaxError: the program is nested too deeply".to_owned(),
            None,
        ),
        _ => fault(ErrorKind::Syntax, headline(&error), error.hint),
    };
    (fault.line, fault.column) = position.unzip();
    fault
}

/// Tells a value that has no JSON form.
pub(crate) fn not_serialisable(why: String) -> Fault {
    fault(
        ErrorKind::Exception,
        format!("returned value has no JSON form: {why}"),
        Some("return plain objects, arrays, strings, numbers, booleans or null".to_owned()),
    )
}

/// Tells an end without a result, which the guest we built never has.
pub(crate) fn no_result() -> Fault {
    engine_stopped(&"it finished without a result")
}

fn bound(stop: &Stop) -> Fault {
    let (kind, hint) = match stop {
        Stop::Calls { .. } => (
            ErrorKind::CallLimit,
            Some("fetch more per call, or split the work over several programs"),
        ),
        Stop::CallsPending { .. } => (
            ErrorKind::CallLimit,
            Some("start calls in batches and await each batch with `Promise.all`"),
        ),
        Stop::CallBytes { .. } => (ErrorKind::OutputLimit, None),
        Stop::CallsBytes { .. } => (
            ErrorKind::OutputLimit,
            Some("send less data, or split the work over several programs"),
        ),
        Stop::ValueBytes { .. } => (
            ErrorKind::OutputLimit,
            Some("return a part or a summary of the data"),
        ),
        Stop::Misuse(_) | Stop::Channel(_) => return engine_stopped(stop),
    };
    fault(kind, stop.to_string(), hint.map(str::to_owned))
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

fn exception_kind(error: &GuestError) -> ErrorKind {
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
