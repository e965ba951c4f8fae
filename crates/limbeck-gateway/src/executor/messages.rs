//! Error messages and hints of executions, and labels of their calls.

use limbeck_domain::limits::{CALL_HEAD_BYTES_MAX, JSON_DEPTH_MAX};
use limbeck_domain::{
    CallError, ErrorKind, HostCall, HostOp, Language, ProgramError, ToolTarget, Verdict, text,
};
use limbeck_launcher::{Exit, WorkerError};
use limbeck_store::StoreError;

use super::signals;
use crate::admission::BusyError;
use crate::sandbox;
use crate::store_errors::program_error;

/// Bytes of a call's name in a message.
const LABEL_BYTES_MAX: usize = 128;
/// Bytes of a worker's own words in a message.
const QUOTED_BYTES_MAX: usize = 200;
/// Hint for a worker that did what no program makes it do.
const ATTACK: &str = "a program cannot cause this through its tools: treat the program as an attack on the sandbox, or report a bug in Limbeck";
/// Hint for a worker that ended for an unknown reason.
const AGAIN: &str =
    "run the program again; if it fails again, split the work over several programs";
const IN_PAGES: &str = "process the data in pages instead of all at once";

pub(super) fn cancelled() -> ProgramError {
    ProgramError::new(ErrorKind::Cancelled, "the client cancelled the execution")
}

pub(super) fn never_settles() -> ProgramError {
    ProgramError::new(
        ErrorKind::NeverSettles,
        "the program waits for something that nothing will settle",
    )
    .with_hint("every call was answered and no timer is set; look for a promise, future, event or queue that is never resolved")
}

/// The same words as the worker's for a program that computes: which of the two notices first is chance.
/// `waiting` names the calls in flight.
pub(super) fn out_of_time(wall_ms: u64, waiting: Option<String>) -> ProgramError {
    let error = ProgramError::new(
        ErrorKind::Timeout,
        format!("the program ran longer than {wall_ms} ms"),
    );
    match waiting {
        None => error.with_hint("raise `timeout_ms`, or do less in one program"),
        Some(calls) => error.with_hint(format!(
            "it was waiting for {calls}; raise `timeout_ms`, or request less data at once"
        )),
    }
}

pub(super) fn call_limit(message: String) -> ProgramError {
    ProgramError::new(ErrorKind::CallLimit, message)
        .with_hint("split the work over several executions, or ask for larger pages")
}

pub(super) fn journal_full(bytes_max: u64) -> ProgramError {
    call_limit(format!(
        "the calls of the program and their results have more than {bytes_max} bytes"
    ))
}

pub(super) fn disk_low(error: &StoreError) -> ProgramError {
    program_error(error, "the disk is nearly full, so no program runs")
}

/// The error of a program that runs while the journals of its principal reach their share of the disk.
pub(super) fn no_room(error: &StoreError) -> ProgramError {
    program_error(error, "the program was ended")
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
    .with_hint(IN_PAGES)
}

pub(super) fn cpu_limit(cpu_ms: u64) -> ProgramError {
    ProgramError::new(
        ErrorKind::CpuLimit,
        format!("the program computed for more than {cpu_ms} ms"),
    )
    .with_hint("leave heavy computing to a tool, or split it over several programs")
}

pub(super) fn busy(busy: BusyError) -> ProgramError {
    ProgramError::new(ErrorKind::Busy, busy.to_string())
        .with_hint("wait until an execution has ended, then send the program again")
}

pub(super) fn no_worker(error: &WorkerError) -> ProgramError {
    if let WorkerError::Tier { sandbox, minimum } = error {
        return sandbox::refusal(sandbox, minimum);
    }
    tracing::error!(error = error as &dyn std::error::Error, "no worker");
    let cause = match error {
        WorkerError::Failing(last) => &**last,
        other => other,
    };
    // The path of the executable is for the log alone.
    let cause = if let WorkerError::Spawn { error, .. } = cause {
        error.to_string()
    } else {
        let source = std::error::Error::source(cause).map(|source| format!(": {source}"));
        format!("{cause}{}", source.unwrap_or_default())
    };
    ProgramError::new(
        ErrorKind::Gateway,
        format!("no worker could be started: {cause}"),
    )
    .with_hint(
        "check that the `limbeck` executable was not replaced or removed, then restart the gateway",
    )
}

pub(super) fn no_journal(error: &StoreError) -> ProgramError {
    program_error(error, "the journal could not be written, so nothing ran")
}

pub(super) fn journal_too_slow(wall_ms: u64) -> ProgramError {
    ProgramError::new(
        ErrorKind::Gateway,
        format!("the journal took no entry within {wall_ms} ms, so nothing ran"),
    )
    .with_hint("check the disk of the state directory, then run the program again")
}

/// Error of a worker that ended without a result. The hint depends on how it ended.
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
    let for_memory = matches!(error, WorkerError::Ended { exit } if *exit == Exit::OutOfMemory);
    let kind = if for_memory {
        ErrorKind::MemoryLimit
    } else {
        ErrorKind::WorkerLost
    };
    ProgramError::new(kind, message).with_hint(hint)
}

/// Error of a worker that made calls and then said that its program never began.
pub(super) fn began_after_all(error: &ProgramError, calls: usize) -> ProgramError {
    let calls = match calls {
        1 => "1 call".to_owned(),
        calls => format!("{calls} calls"),
    };
    let said = text::quoted(&error.message, QUOTED_BYTES_MAX);
    ProgramError::new(
        ErrorKind::WorkerLost,
        format!(
            "the worker made {calls} and then reported `{}`, as if the program had not begun: {said}",
            error.kind.as_str()
        ),
    )
    .with_hint(ATTACK)
}

fn broke_the_rules(error: &dyn std::error::Error) -> (String, &'static str) {
    (
        format!("the worker violated the frame protocol and was killed: {error}"),
        ATTACK,
    )
}

fn ended(exit: Exit) -> (String, &'static str) {
    let signal = match exit {
        Exit::Code(code) => {
            let message = format!("the worker ended without a result (exit code {code})");
            return (message, AGAIN);
        }
        Exit::Signal(signal) => signal,
        Exit::OutOfMemory => return (format!("the worker was {exit}"), IN_PAGES),
    };
    let name = signals::name(signal);
    let (what, hint) = match &*name {
        "SIGKILL" => (
            "was killed from outside",
            "the system may be out of memory, or another process killed it; free memory, then run the program again",
        ),
        "SIGSYS" => (
            "made a system call that its sandbox forbids, and was killed",
            ATTACK,
        ),
        "SIGXCPU" => (
            "used up its processor time",
            "leave heavy computing to a tool, or split it over several programs",
        ),
        // A worker without memory aborts, and one that may not signal itself aborts by crashing.
        "SIGABRT" | "SIGSEGV" | "SIGBUS" | "SIGILL" | "SIGFPE" | "SIGTRAP" => (
            "crashed, or had no memory left",
            "process the data in pages instead of all at once; if it crashes again, report it together with the program",
        ),
        _ => ("was ended from outside", AGAIN),
    };
    (format!("the worker {what} ({name})"), hint)
}

/// The verdict as the worker reads it.
pub(super) fn verdict_json(verdict: &Verdict) -> String {
    // Strings and numbers, so serialization cannot fail.
    serde_json::to_string(verdict).unwrap_or_else(|_| "{}".to_owned())
}

/// The error of an execution that should wait and could not be stored.
pub(super) fn not_paused(error: &StoreError) -> ProgramError {
    let error = error.for_callers();
    ProgramError::new(
        ErrorKind::Gateway,
        format!(
            "the execution could not be paused, so its open calls were not sent: {}",
            error.message
        ),
    )
}

/// The error as the guest reads it.
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
            let lost = lost(&error);
            assert_eq!(lost.kind, ErrorKind::WorkerLost);
            assert!(lost.hint.is_some());
            assert!(
                messages.insert(lost.message),
                "{error} has the message of another"
            );
        }
        for signal in 1..=64 {
            let message = format!("({})", signals::name(signal));
            assert!(
                messages.iter().any(|text| text.contains(&message)),
                "{message}"
            );
        }
    }

    #[test]
    fn a_worker_that_the_kernel_ended_for_memory_is_told_as_the_memory_limit() {
        let error = |exit| lost(&WorkerError::Ended { exit });
        let ended = error(Exit::OutOfMemory);
        assert_eq!(ended.kind, ErrorKind::MemoryLimit);
        assert_eq!(ended.hint.as_deref(), Some(IN_PAGES));
        // The control: killed by another process, it is lost.
        let killed = error(Exit::Signal(Signal::KILL.as_raw()));
        assert_eq!(killed.kind, ErrorKind::WorkerLost);
    }

    #[test]
    fn the_text_says_what_the_signal_means() {
        let text_of = |signal: Signal| {
            let exit = Exit::Signal(signal.as_raw());
            lost(&WorkerError::Ended { exit }).message
        };
        assert_eq!(
            text_of(Signal::SEGV),
            "the worker crashed, or had no memory left (SIGSEGV)"
        );
        assert_eq!(
            text_of(Signal::KILL),
            "the worker was killed from outside (SIGKILL)"
        );
        assert!(text_of(Signal::SYS).contains("forbids"));
    }
}
/// Warning about a program that was sent as one language and `treated` (run, checked) as another.
pub(super) fn other_language(sent_as: Language, written_in: Language, treated: &str) -> String {
    let (sent_as, written_in) = (sent_as.as_str(), written_in.as_str());
    format!(
        "the program was sent as {sent_as} and is {written_in}, so it was {treated} as that; send `language: \"{written_in}\"`"
    )
}

/// The error of a program that is of neither language.
pub(super) fn unreadable(sent_as: Language) -> ProgramError {
    let message = format!("the program cannot be read as {}", sent_as.as_str());
    ProgramError::new(ErrorKind::Syntax, message)
        .with_hint("send TypeScript or Python, and name the language in `language`")
}
