//! Start and result of one execution of a program.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::{ArtifactView, CallCode, ExecutionId, ExecutionLimits, ModelTerms, PendingApproval};

/// Language of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// TypeScript, which includes JavaScript.
    Typescript,
    /// Python.
    Python,
}

impl Language {
    /// Every language.
    pub const ALL: [Self; 2] = [Self::Typescript, Self::Python];

    /// The language as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Typescript => "typescript",
            Self::Python => "python",
        }
    }

    /// The language of a name that [`Language::as_str`] returned; `None` for any other text.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|language| language.as_str() == name)
    }
}

impl std::fmt::Display for Language {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// Mode of an execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Runs the program.
    #[default]
    Run,
    /// Checks its calls without running it.
    Check,
    /// Reports what it may call without running it.
    Plan,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::Run, Self::Check, Self::Plan];

    /// The mode as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Check => "check",
            Self::Plan => "plan",
        }
    }

    /// The mode of a name that [`Mode::as_str`] returned; `None` for any other text.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == name)
    }
}

/// Everything that determines a guest besides its journal. Recorded before the guest starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramStart {
    /// Language of `program`.
    pub language: Language,
    /// Source as the model sent it.
    pub program: String,
    /// `input`, JSON text.
    pub input: String,
    /// Servers that `tools` lists without a host call: JSON array of `{"name": string, "tools": number, "namesakes"?:
    /// string[]}`, `namesakes` being tools with the name of a member that every object has.
    pub servers: String,
    /// Seed of every random number the guest draws.
    pub seed: [u8; 32],
    /// Microseconds since 1970 that the guest's clock starts from.
    pub now_us: u64,
    /// Limits of the execution.
    pub limits: ExecutionLimits,
    /// Mode; absent in executions recorded before there were modes, all of which ran.
    #[serde(default)]
    pub mode: Mode,
    /// Patterns of the tools that the execution may use, also when another process continues it; absent for every tool.
    // Always written: the frames of a worker have no names of fields.
    #[serde(default)]
    pub scope: Option<Vec<String>>,
    /// Whether a person may be asked about the program's calls, each or all at once, so that the worker sends where they are: a
    /// question names the line.
    #[serde(default)]
    pub asks_by_plan: bool,
    /// What the program may ask of models; nothing in executions recorded before there was `llm`.
    #[serde(default)]
    pub llm: ModelTerms,
    /// [`crate::GUEST_ABI`] of the release that began it; 0 in executions recorded before there was one.
    #[serde(default)]
    pub abi: u32,
    /// Version of the release that began it; empty in executions recorded before it was written.
    #[serde(default)]
    pub release: String,
}

/// Status of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionStatus {
    /// It has not ended and its gateway is alive.
    Running,
    /// It has not ended, and no process works on it: it waits for a person, or its gateway died and nothing is in doubt.
    Paused,
    /// It ended with a value.
    Completed,
    /// It ended with an error.
    Failed,
    /// The client cancelled it.
    Cancelled,
    /// Its gateway died while a call that may write was in flight; whether the call happened is unknown.
    NeedsReconciliation,
}

impl ExecutionStatus {
    /// The status as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::NeedsReconciliation => "needs_reconciliation",
        }
    }
}

/// Kind of a [`ProgramError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The source does not parse; nothing ran.
    Syntax,
    /// The program does not fit the tools it calls; nothing ran.
    Contract,
    /// The program threw.
    Exception,
    /// The wall clock ran out.
    Timeout,
    /// The processor time ran out.
    CpuLimit,
    /// The memory limit was reached.
    MemoryLimit,
    /// The stack limit was reached.
    StackLimit,
    /// The value or the arguments of a call are above their limit.
    OutputLimit,
    /// The program made too many host calls.
    CallLimit,
    /// The program waits although every call is answered and no timer is set.
    NeverSettles,
    /// The client cancelled.
    Cancelled,
    /// A person has to be asked, and no person can be.
    ApprovalNeeded,
    /// No person decided in time about a call that a person was asked about.
    ApprovalExpired,
    /// The program did something else than its journal says, when it was continued.
    Diverged,
    /// The gateway runs the maximum of executions; nothing ran.
    Busy,
    /// The request is invalid; nothing ran.
    Request,
    /// The worker ended without a result.
    WorkerLost,
    /// An error of the gateway itself.
    Gateway,
}

impl ErrorKind {
    /// The kind as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Contract => "contract",
            Self::Exception => "exception",
            Self::Timeout => "timeout",
            Self::CpuLimit => "cpu_limit",
            Self::MemoryLimit => "memory_limit",
            Self::StackLimit => "stack_limit",
            Self::OutputLimit => "output_limit",
            Self::CallLimit => "call_limit",
            Self::NeverSettles => "never_settles",
            Self::Cancelled => "cancelled",
            Self::ApprovalNeeded => "approval_needed",
            Self::ApprovalExpired => "approval_expired",
            Self::Diverged => "diverged",
            Self::Busy => "busy",
            Self::Request => "request",
            Self::WorkerLost => "worker_lost",
            Self::Gateway => "gateway",
        }
    }
}

/// Error of a program, as the model reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ProgramError {
    /// Stable kind.
    pub kind: ErrorKind,
    /// What happened. For an exception: `Name: message` as the program threw it, cut to a bound.
    pub message: String,
    /// Line in the model's own source, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column in the model's own source, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// Next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Code of the failed call whose error the program did not catch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<CallCode>,
}

impl ProgramError {
    /// An error without position or hint.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            line: None,
            column: None,
            hint: None,
            code: None,
        }
    }

    /// Adds the next step.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Number of calls that reached a server, by effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effects {
    /// Calls of tools that only read.
    pub reads: u32,
    /// Calls of all other tools.
    pub writes: u32,
}

/// A content block that a program emits to the client beside its result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Emitted {
    /// `text`, `image`, `audio` or `resource`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its media type.
    #[serde(default, rename = "mimeType", skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Bytes of its content.
    pub bytes: usize,
    /// Text for the model; the block itself is sent beside the envelope, not in it.
    #[serde(skip)]
    pub text: Option<String>,
    /// The block in the form of MCP; absent for a text, and in an envelope read from a journal.
    #[serde(skip)]
    pub block: Option<Box<RawValue>>,
}

/// Deserializes null as a value, where a plain `Option` would read it as absent: a program may return null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

/// Result of an execution; empty fields are not serialized.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Envelope {
    /// Final status.
    pub status: ExecutionStatus,
    /// Id, for `limbeck executions ID` and `limbeck replay ID`.
    pub execution_id: ExecutionId,
    /// Returned value; absent when the program returned nothing.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub value: Option<Box<RawValue>>,
    /// Text that the program printed with `console.log`, `info`, `debug`, or `print`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// Text that the program printed with `console.error` and `warn`, or to `sys.stderr`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// Bytes of the printed text that were left out between its beginning and its end.
    #[serde(skip)]
    pub printed_left_out: u64,
    /// Error, when the execution did not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ProgramError>,
    /// Warnings that did not end the execution.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Calls that reached a server; absent when there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<Effects>,
    /// Parts of the result that exceeded its budget and are stored as artifacts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ArtifactView>,
    /// Content blocks emitted beside the result, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub emitted: Vec<Emitted>,
    /// What a person has to decide before the execution goes on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<PendingApproval>,
    /// What the reader of a paused execution's answer does next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
}

impl Envelope {
    /// Envelope with a status and nothing else.
    pub fn new(execution_id: ExecutionId, status: ExecutionStatus) -> Self {
        Self {
            status,
            execution_id,
            value: None,
            stdout: String::new(),
            stderr: String::new(),
            printed_left_out: 0,
            error: None,
            warnings: Vec::new(),
            effects: None,
            artifacts: Vec::new(),
            emitted: Vec::new(),
            pending: Vec::new(),
            next_step: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_null_is_read_back_as_null_and_an_absent_one_as_absent() {
        let read = |fields: &str| {
            let json = format!(r#"{{"status":"completed","execution_id":"ex_1"{fields}}}"#);
            let envelope: Envelope = serde_json::from_str(&json).unwrap();
            assert_eq!(serde_json::to_string(&envelope).unwrap(), json);
            envelope.value.map(|value| value.get().to_owned())
        };
        assert_eq!(read(r#","value":null"#).as_deref(), Some("null"));
        assert_eq!(read(r#","value":[1]"#).as_deref(), Some("[1]"));
        assert_eq!(read(""), None);
    }
}
