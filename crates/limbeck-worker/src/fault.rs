//! Error messages for runs that did not return a value, as the model reads them.

use limbeck_domain::{CallCode, ErrorKind, ExecutionLimits, ProgramError};
use limbeck_wire::Fault;
use serde::Deserialize;
use wasmtime::Trap;

use crate::host::{Host, HostError};

/// An exception that the guest reports.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct GuestError {
    /// Its class; empty when something else than an error was thrown.
    #[serde(default)]
    pub(crate) name: String,
    /// Its message, or the thrown value as text.
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
    /// `code` of the error, which a program may have given to any error of its own.
    #[serde(default)]
    pub(crate) code: Option<String>,
}

impl GuestError {
    /// Reads what a guest wrote as JSON.
    pub(crate) fn read(json: &str) -> Result<Self, HostError> {
        serde_json::from_str(json).map_err(|_| HostError::Misuse("malformed error"))
    }

    /// The hint; that of a failed call has its code, which the message of a server need not say.
    fn hint(&self) -> Option<String> {
        let is_call = matches!(
            self.name.as_str(),
            "ToolError" | "MCPError" | "ExceptionGroup"
        );
        let code = self.code.as_deref().filter(|_| is_call && self.has_code());
        match (&self.hint, code) {
            (Some(hint), Some(code)) if !hint.contains(code) => {
                Some(format!("{hint} (the call failed with the code `{code}`)"))
            }
            (None, Some(code)) => Some(format!("a call failed with the code `{code}`")),
            (hint, _) => hint.clone(),
        }
    }

    /// Whether the code is one of those that the gateway gives to failed calls.
    fn has_code(&self) -> bool {
        let code = self.code.as_deref().map(serde_json::Value::from);
        code.is_some_and(|code| serde_json::from_value::<CallCode>(code).is_ok())
    }
}

/// The guest cannot allocate memory for an answer.
#[derive(Debug, thiserror::Error)]
#[error("no memory left for an answer")]
pub(crate) struct GuestMemoryError;

/// Words that differ between the languages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LanguageTerms {
    /// Function that waits for many calls at once.
    gather: &'static str,
}

impl LanguageTerms {
    pub(crate) const JAVASCRIPT: Self = Self {
        gather: "Promise.all",
    };
    pub(crate) const PYTHON: Self = Self {
        gather: "asyncio.gather",
    };
}

/// Makes the error of a guest that did not return: a trap, an exceeded bound, a broken rule.
pub(crate) fn from_guest(error: &wasmtime::Error, host: &Host, terms: LanguageTerms) -> Fault {
    let limits = &host.limits;
    if let Some(host_error) = error.downcast_ref::<HostError>() {
        return from_host(host_error, terms);
    }
    if error.is::<GuestMemoryError>() {
        return memory_limit(limits);
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => timeout(limits),
        Some(Trap::StackOverflow) => stack_limit(),
        // An engine aborts where it cannot report that memory ran out.
        _ if host.memory_refused => memory_limit(limits),
        Some(trap) => interpreter_aborted(trap),
        None => engine_stopped(error),
    }
}

/// Makes the error of a JavaScript exception that the program did not catch.
///
/// `memory_full` is true when the guest's memory has grown to about its limit.
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
        kind => {
            let hint = error.hint();
            let hint = hint.or_else(|| hint_without_place(&error.name, &error.stack));
            fault(kind, headline(&error), hint)
        }
    };
    at(fault, position)
}

/// Hint for a thrown value that is not an error, such as a text: the engine records a place in errors alone.
fn hint_without_place(name: &str, stack: &str) -> Option<String> {
    // `Error` is also the name that the prelude gives to such a value. Errors of the prelude itself have other names.
    (name == "Error" && stack.is_empty()).then(|| {
        "only an error knows its line: write `throw new Error(text)` instead of `throw text`"
            .to_owned()
    })
}

/// Makes the error of a script that the engine rejects although it was parsed here before.
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

/// Makes the error of a Python exception that the program did not catch.
pub(crate) fn from_python(error: GuestError, host: &Host) -> Fault {
    let mut fault = match error.name.as_str() {
        "MemoryError" => memory_limit(&host.limits),
        "RecursionError" => stack_limit(),
        // The prelude sees before the gateway does that nothing is left to wait for.
        "NeverSettles" => fault(ErrorKind::NeverSettles, error.message, error.hint),
        // The prelude sends this message when there is no memory left to describe the error.
        _ if host.memory_refused && error.message == PYTHON_LAST_WORDS => {
            memory_limit(&host.limits)
        }
        _ => fault(ErrorKind::Exception, headline(&error), error.hint()),
    };
    (fault.line, fault.column) = (error.line, error.column);
    fault
}

/// Message of an error that the prelude could not read; `main.py` has it.
const PYTHON_LAST_WORDS: &str = "the error cannot be read";

/// Makes the error of text that Python does not accept as a program.
pub(crate) fn from_python_syntax(error: GuestError) -> Fault {
    let mut fault = fault(ErrorKind::Syntax, headline(&error), error.hint);
    (fault.line, fault.column) = (error.line, error.column);
    fault
}

/// Makes the error of a returned value that has no JSON form.
///
/// `hint` names the types of the program's language that have one.
pub(crate) fn not_serialisable(why: String, hint: &str) -> Fault {
    fault(
        ErrorKind::Exception,
        format!("returned value has no JSON form: {why}"),
        Some(hint.to_owned()),
    )
}

/// Makes the error of an end without a result, which an unmodified guest never reports.
pub(crate) fn no_result() -> Fault {
    engine_stopped(&"it finished without a result")
}

/// Makes the error of a bound or rule that stopped the guest.
pub(crate) fn from_host(error: &HostError, terms: LanguageTerms) -> Fault {
    let (kind, hint) = match error {
        HostError::Calls { .. } => (
            ErrorKind::CallLimit,
            Some("fetch more per call, or split the work over several programs".to_owned()),
        ),
        HostError::CallsPending { .. } => (
            ErrorKind::CallLimit,
            Some(format!(
                "start calls in batches and await each batch with `{}`",
                terms.gather
            )),
        ),
        HostError::CallBytes { .. } => (
            ErrorKind::OutputLimit,
            Some("send less data in one call".to_owned()),
        ),
        HostError::CallsBytes { .. } => (
            ErrorKind::OutputLimit,
            Some("send less data, or split the work over several programs".to_owned()),
        ),
        HostError::ValueBytes { .. } => (
            ErrorKind::OutputLimit,
            Some("return a part or a summary of the data".to_owned()),
        ),
        HostError::Exit => (
            ErrorKind::Exception,
            Some("end the program with `return`, or with `sys.exit()`".to_owned()),
        ),
        HostError::Misuse(_) | HostError::Channel(_) => return engine_stopped(error),
    };
    fault(kind, error.to_string(), hint)
}

fn timeout(limits: &ExecutionLimits) -> Fault {
    fault(
        ErrorKind::Timeout,
        format!("the program ran longer than {} ms", limits.wall_ms),
        // The most that may be asked for is a setting, which a worker does not know.
        Some("raise `timeout_ms`, or do less in one program".to_owned()),
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

/// Makes the error of a trap, which comes from the program: it traps in the same way each time it runs.
fn interpreter_aborted(trap: &Trap) -> Fault {
    fault(
        ErrorKind::Exception,
        format!("the program made its interpreter abort: {trap}"),
        Some(
            "the same program aborts again: change what it did last, such as a call that ends the interpreter"
                .to_owned(),
        ),
    )
}

fn engine_stopped(why: &impl std::fmt::Display) -> Fault {
    fault(
        ErrorKind::WorkerLost,
        format!("the engine stopped: {why}"),
        Some(
            "run the program again; if it stops again, report it together with the program"
                .to_owned(),
        ),
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
