//! How the end of a run is told, and what its calls are called, for the model and for people.

use limbeck_domain::limits::CALL_HEAD_BYTES_MAX;
use limbeck_domain::{CallError, ErrorKind, HostCall, HostOp, ProgramError, ToolTarget, text};
use limbeck_launcher::WorkerError;

/// Bytes of a call's name in a message.
const LABEL_BYTES_MAX: usize = 128;

pub(super) fn cancelled() -> ProgramError {
    ProgramError::new(ErrorKind::Cancelled, "the client cancelled the execution")
}

pub(super) fn never_settles() -> ProgramError {
    ProgramError::new(
        ErrorKind::NeverSettles,
        "the program waits for a promise that nothing will settle",
    )
    .with_hint("every call was answered and no timer is set; look for a `new Promise` whose resolve is never called")
}

/// `waiting` names the calls under way.
pub(super) fn out_of_time(wall_ms: u64, waiting: Option<String>) -> ProgramError {
    let error = ProgramError::new(
        ErrorKind::Timeout,
        format!("the program ran longer than {wall_ms} ms"),
    );
    match waiting {
        None => error.with_hint("raise `timeout_ms`, or do less in one execution"),
        Some(calls) => error.with_hint(format!(
            "it was waiting for {calls}; raise `timeout_ms`, or ask for less at once"
        )),
    }
}

pub(super) fn call_limit(message: String) -> ProgramError {
    ProgramError::new(ErrorKind::CallLimit, message)
        .with_hint("split the work over several executions, or ask for larger pages")
}

pub(super) fn memory_limit(resident: u64, allowed: u64) -> ProgramError {
    ProgramError::new(
        ErrorKind::MemoryLimit,
        format!("the worker held {resident} bytes, {allowed} are allowed"),
    )
    .with_hint("process the data in pages instead of all at once")
}

pub(super) fn lost(error: &WorkerError) -> ProgramError {
    tracing::error!(error = error as &dyn std::error::Error, "worker lost");
    ProgramError::new(
        ErrorKind::WorkerLost,
        format!("the worker is gone: {error}"),
    )
    .with_hint("run the program again; when it happens again, do less at once")
}

/// The error as the guest is told it.
pub(super) fn error_json(error: &CallError) -> String {
    // Strings and an enum: there is nothing in it that JSON cannot say.
    serde_json::to_string(error).unwrap_or_else(|_| "{}".to_owned())
}

/// `server.tool` of a tool call; the kind of any other call.
pub(super) fn label_of(call: &HostCall) -> String {
    let readable = call.op == HostOp::Tool && call.head.len() <= CALL_HEAD_BYTES_MAX;
    let target = readable.then(|| serde_json::from_str::<ToolTarget>(&call.head));
    let label = match target {
        Some(Ok(ToolTarget {
            server: Some(server),
            tool,
            ..
        })) => format!("{server}.{tool}"),
        Some(Ok(ToolTarget { tool, .. })) => tool,
        Some(Err(_)) | None => call.op.as_str().to_owned(),
    };
    text::clean_line(&label, LABEL_BYTES_MAX)
}
