//! How the end of a run is told, and what its calls are called, for the model and for people.

use limbeck_domain::limits::{CALL_HEAD_BYTES_MAX, JSON_DEPTH_MAX};
use limbeck_domain::{CallError, ErrorKind, HostCall, HostOp, ProgramError, ToolTarget, text};
use limbeck_launcher::{Exit, WorkerError};

use super::signals;

/// Bytes of a call's name in a message.
const LABEL_BYTES_MAX: usize = 128;
/// What to do about a worker that is gone for no reason we know.
const AGAIN: &str = "run the program again; when it happens again, do less at once";

pub(super) fn cancelled() -> ProgramError {
    ProgramError::new(ErrorKind::Cancelled, "the client cancelled the execution")
}

pub(super) fn never_settles() -> ProgramError {
    ProgramError::new(
        ErrorKind::NeverSettles,
        "the program waits for something that nothing will settle",
    )
    .with_hint("every call was answered and no timer is set; look for a promise, future, event or queue that nobody fulfils")
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

pub(super) fn too_deep() -> ProgramError {
    ProgramError::new(
        ErrorKind::OutputLimit,
        format!("the returned value nests deeper than {JSON_DEPTH_MAX} levels"),
    )
    .with_hint("return a flatter value, such as a list of nodes")
}

pub(super) fn memory_limit(resident: u64, allowed: u64) -> ProgramError {
    ProgramError::new(
        ErrorKind::MemoryLimit,
        format!("the worker held {resident} bytes, {allowed} are allowed"),
    )
    .with_hint("process the data in pages instead of all at once")
}

pub(super) fn cpu_limit(cpu_ms: u64) -> ProgramError {
    ProgramError::new(
        ErrorKind::CpuLimit,
        format!("the program computed for more than {cpu_ms} ms"),
    )
    .with_hint("leave heavy computing to a tool, or split it over several programs")
}

/// Tells the end of a worker that did not come with a result. How it ended decides what it may mean:
/// none of it is a success, and each asks for something else.
pub(super) fn lost(error: &WorkerError) -> ProgramError {
    tracing::error!(error = error as &dyn std::error::Error, "worker lost");
    let (message, hint) = match error {
        WorkerError::Ended { exit } => ended(*exit),
        WorkerError::Wire(error) => broke_the_rules(error),
        WorkerError::Protocol(error) => broke_the_rules(error),
        WorkerError::Gone => (
            "the worker closed its channel without a result".to_owned(),
            AGAIN,
        ),
        WorkerError::Spawn { .. }
        | WorkerError::NotReady { .. }
        | WorkerError::Version { .. }
        | WorkerError::Zygote { .. }
        | WorkerError::Tier { .. }
        | WorkerError::Channel(_)
        | WorkerError::Closed
        | WorkerError::Failing(_) => (format!("the worker is gone: {error}"), AGAIN),
    };
    ProgramError::new(ErrorKind::WorkerLost, message).with_hint(hint)
}

fn broke_the_rules(error: &dyn std::error::Error) -> (String, &'static str) {
    (
        format!("the worker broke the rules of its channel and was killed: {error}"),
        "no program can do this through its tools: treat this one as an attack on the sandbox, or report a fault of Limbeck",
    )
}

fn ended(exit: Exit) -> (String, &'static str) {
    let signal = match exit {
        Exit::Code(code) => {
            let message = format!("the worker ended without a result (exit code {code})");
            return (message, AGAIN);
        }
        Exit::Signal(signal) => signal,
    };
    let name = signals::name(signal);
    let (what, hint) = match &*name {
        "SIGKILL" => (
            "was killed from outside",
            "the system may be out of memory, or somebody ended the process; free memory, then run the program again",
        ),
        "SIGSYS" => (
            "made a system call that its sandbox forbids, and was killed",
            "no program can do this through its tools: treat this one as an attack on the sandbox, or report a fault of Limbeck",
        ),
        "SIGXCPU" => (
            "used up its processor time",
            "leave heavy computing to a tool, or split it over several programs",
        ),
        // A worker without memory aborts, and one that may not signal itself aborts by crashing.
        "SIGABRT" | "SIGSEGV" | "SIGBUS" | "SIGILL" | "SIGFPE" | "SIGTRAP" => (
            "crashed, or had no memory left",
            "process the data in pages instead of all at once; when it crashes again, report it with the program",
        ),
        _ => ("was ended from outside", AGAIN),
    };
    (format!("the worker {what} ({name})"), hint)
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

#[cfg(all(test, unix))]
mod tests {
    use std::collections::BTreeSet;

    use limbeck_wire::WireError;
    use rustix::process::Signal;

    use super::*;

    #[test]
    fn every_end_of_a_worker_is_told_apart_and_none_is_a_success() {
        let exits = [Exit::Code(0), Exit::Code(1), Exit::Code(101)];
        let signals = (1..=64).map(Exit::Signal);
        let ended = exits.into_iter().chain(signals);
        let ended = ended.map(|exit| WorkerError::Ended { exit });
        let broken = [
            WorkerError::Gone,
            WorkerError::Wire(WireError::Body),
            WorkerError::Wire(WireError::Kind { kind: 9 }),
        ];
        let mut messages = BTreeSet::new();
        for error in ended.chain(broken) {
            let told = lost(&error);
            assert_eq!(told.kind, ErrorKind::WorkerLost);
            assert!(told.hint.is_some());
            assert!(
                messages.insert(told.message),
                "{error} is told like another"
            );
        }
        for signal in 1..=64 {
            let message = format!("({})", signals::name(signal));
            assert!(
                messages.iter().any(|told| told.contains(&message)),
                "{message}"
            );
        }
    }

    #[test]
    fn the_text_says_what_the_signal_means() {
        let told = |signal: Signal| {
            let exit = Exit::Signal(signal.as_raw());
            lost(&WorkerError::Ended { exit }).message
        };
        assert_eq!(
            told(Signal::SEGV),
            "the worker crashed, or had no memory left (SIGSEGV)"
        );
        assert_eq!(
            told(Signal::KILL),
            "the worker was killed from outside (SIGKILL)"
        );
        assert!(told(Signal::SYS).contains("forbids"));
    }
}
