//! One run of one program: what it starts from and what comes back.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{ArtifactView, ExecutionId, ExecutionLimits};

/// Language of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// TypeScript, and so JavaScript.
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

    /// Reads what [`Language::as_str`] wrote; anything else is `None`.
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

/// What is to be done with a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It runs.
    #[default]
    Run,
    /// Its calls are judged, and nothing runs.
    Check,
    /// What it may call is told, and nothing runs.
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

    /// Reads what [`Mode::as_str`] wrote; anything else is `None`.
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
    /// What `tools` can list without asking: JSON array of `{"name": string, "tools": number, "namesakes"?:
    /// string[]}`, the last being tools named as what every object has.
    pub servers: String,
    /// Seed of every random number the guest draws.
    pub seed: [u8; 32],
    /// Microseconds since 1970 that the guest's clock starts from.
    pub now_us: u64,
    /// Bounds of the run.
    pub limits: ExecutionLimits,
    /// What is done with the program. Executions recorded before there was a choice ran.
    #[serde(default)]
    pub mode: Mode,
}

/// Where an execution stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionStatus {
    /// Not ended, its gateway alive.
    Running,
    /// Ended with a value.
    Completed,
    /// Ended with an error.
    Failed,
    /// Ended because the client asked.
    Cancelled,
    /// Its gateway died while a call that may write was under way: whether it happened is unknown.
    NeedsReconciliation,
}

impl ExecutionStatus {
    /// The status as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::NeedsReconciliation => "needs_reconciliation",
        }
    }
}

/// Why a program did not complete.
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
    /// Value or arguments above their bound.
    OutputLimit,
    /// Too many host calls.
    CallLimit,
    /// Every call is answered, no timer is set, and the program still waits.
    NeverSettles,
    /// The client cancelled.
    Cancelled,
    /// The gateway is at its bound of executions; nothing ran.
    Busy,
    /// The request itself was wrong; nothing ran.
    Request,
    /// The worker ended without an answer.
    WorkerLost,
    /// A fault of ours.
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
            Self::Busy => "busy",
            Self::Request => "request",
            Self::WorkerLost => "worker_lost",
            Self::Gateway => "gateway",
        }
    }
}

/// Why a program did not complete, in the words the model reads.
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
    /// One next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
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
        }
    }

    /// Adds the next step.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Calls that reached an upstream, by what they may have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effects {
    /// Calls of read tools.
    pub reads: u32,
    /// Calls of every other tool.
    pub writes: u32,
}

/// A content block that a program gave the client beside its result.
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
    /// What a model reads of it as text; the block itself travels beside the envelope, not in it.
    #[serde(skip)]
    pub text: Option<String>,
    /// The block as MCP writes it; absent for a text, and in an envelope that was read from a journal.
    #[serde(skip)]
    pub block: Option<Box<RawValue>>,
}

/// What comes back from an execution, once, only non-empty fields.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Envelope {
    /// Where the execution ended.
    pub status: ExecutionStatus,
    /// Its id, for `limbeck executions ID` and `limbeck replay ID`.
    pub execution_id: ExecutionId,
    /// What the program returned; absent when it returned nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Box<RawValue>>,
    /// What the program printed with `console.log`, `info`, `debug`, or `print`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// What the program printed with `console.error` and `warn`, or to `sys.stderr`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// Why it did not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ProgramError>,
    /// What the reader should know although the run went on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Calls that reached an upstream; absent when there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<Effects>,
    /// Parts of the answer that were over its budget and are kept whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ArtifactView>,
    /// Blocks given to the client beside this, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub emitted: Vec<Emitted>,
}

impl Envelope {
    /// What comes back from an execution that ended so and left nothing else.
    pub fn new(execution_id: ExecutionId, status: ExecutionStatus) -> Self {
        Self {
            status,
            execution_id,
            value: None,
            stdout: String::new(),
            stderr: String::new(),
            error: None,
            warnings: Vec::new(),
            effects: None,
            artifacts: Vec::new(),
            emitted: Vec::new(),
        }
    }
}
