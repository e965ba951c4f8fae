//! Plain data that goes into the store and comes out of it.

use limbeck_domain::limits::CALL_ARGS_BYTES_MAX;
use limbeck_domain::{
    Approval, ApprovalState, ArtifactId, Effects, Envelope, ErrorKind, ExecutionId,
    ExecutionStatus, HostCall, Language, LedgerSizes, LedgerTexts, PinFacts, ProgramStart, Sandbox,
    TokenUsage, ToolDefinition, ToolId, text,
};
use serde::{Deserialize, Serialize};

/// One question as JSON: its arguments and those that a person edited, each of them escaped once more, and the same again for
/// its other texts.
pub(crate) const APPROVAL_BYTES_MAX: usize = 6 * CALL_ARGS_BYTES_MAX;
/// Questions of one principal that wait for a decision: more than a person reads at once.
pub const APPROVALS_PENDING_MAX: u32 = 20;
/// Time for which a denial counts in other runs, in microseconds: 10 minutes.
pub(crate) const DENIED_US: u64 = 10 * 60 * 1_000_000;
/// Remembered choices of one principal; another one replaces the oldest, and its calls are asked about again.
pub const REMEMBERED_MAX: u32 = 1_000;
/// Paused executions of one principal.
pub const PAUSED_MAX: u32 = 1_000;
/// How often timers wake a paused execution.
pub const WAKES_MAX: u32 = 100;
/// Title of a program in listings, in bytes.
const TITLE_BYTES_MAX: usize = 160;

/// Guest hash of a direct call of a client, which ran no program: no process can go on with it.
pub const NO_GUEST: &str = "none: a direct call";

/// An execution about to run.
#[derive(Clone, Debug)]
pub struct NewExecution {
    /// Id, made by the gateway.
    pub id: ExecutionId,
    /// Principal that requested it.
    pub principal: String,
    /// Everything besides the journal that determines the guest.
    pub start: ProgramStart,
    /// Hash of the guest module; replay needs the same one. [`NO_GUEST`] for a direct call.
    pub guest_hash: String,
    /// Sandbox layers that its worker verified.
    pub sandbox: Sandbox,
    /// When it was requested, in microseconds since 1970.
    pub created_us: u64,
    /// Where the request came from, such as the client's name.
    pub origin: String,
}

/// Counts of an execution that its envelope does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExecutionSummary {
    /// Host calls the program made, of every kind.
    pub calls: u32,
    /// Wall clock from request to envelope, in microseconds.
    pub took_us: u64,
}

/// Which approvals are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovalFilter {
    /// Those of one execution.
    pub execution: Option<ExecutionId>,
    /// Those of one principal's executions.
    pub principal: Option<String>,
    /// With `principal`, beside those: the ones that name as an approver the person with these names, `user:NAME` and `group:NAME`.
    pub approver: Vec<String>,
    /// Those that are pending, and not those that have ended too.
    pub only_pending: bool,
    /// The most.
    pub limit: u32,
}

/// Which records of the audit trail are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Those with a higher number.
    pub after: u64,
    /// Those of one principal.
    pub principal: Option<String>,
    /// Those of one execution.
    pub execution: Option<ExecutionId>,
    /// The newest ones above the limit, and not the oldest.
    pub newest: bool,
    /// The most.
    pub limit: u32,
}

/// Result of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decided {
    /// It counts; the approval with it. It may still be pending, where several people have to approve.
    Counted(Box<Approval>),
    /// The same person had decided the same.
    Same(Box<Approval>),
    /// It was decided, expired or withdrawn before.
    TooLate(Box<Approval>),
    /// There is no such approval.
    Unknown,
}

/// Result of spending an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spent {
    /// The intent is on disk, and the approval is spent.
    Now,
    /// The approval is not approved, or its time has passed: nothing was written.
    NotApproved(ApprovalState),
}

/// What is stored of an execution that waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PausedExecution {
    /// Wall-clock time that it has left, in milliseconds.
    pub wall_left_ms: u64,
    /// When its earliest timer is due, in microseconds since 1970.
    pub wake_us: Option<u64>,
    /// When it ends if no decision continues it, in microseconds since 1970.
    pub expires_us: Option<u64>,
}

/// Whether this process has an execution now.
#[derive(Clone, Debug)]
pub enum Taken {
    /// It has it, for this attempt.
    Lease {
        /// Number of the attempt.
        epoch: u64,
        /// What was stored when it was paused; absent when its gateway died.
        paused: Option<PausedExecution>,
    },
    /// It is not paused: it has this status.
    Not(ExecutionStatus),
    /// There is no such execution.
    Unknown,
}

/// Paused executions that one guest ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PausedGuest {
    /// Hash of the guest.
    pub guest_hash: String,
    /// Language of its programs.
    pub language: Language,
    /// Release that began the newest of them; empty when it was not recorded.
    pub release: String,
    /// How many there are.
    pub executions: u64,
}

/// A call that may have happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoubtfulCall {
    /// The call as the guest made it.
    pub call: HostCall,
    /// The tool it resolved to.
    pub tool: Option<ToolId>,
    /// Idempotency key that was sent with it.
    pub key: Option<String>,
    /// When it was handed to its server, in microseconds since 1970.
    pub sent_us: Option<u64>,
}

/// One line of `limbeck executions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExecutionRow {
    /// Id.
    pub id: ExecutionId,
    /// When it was requested, in microseconds since 1970.
    pub created_us: u64,
    /// Current status.
    pub status: ExecutionStatus,
    /// Duration in microseconds; absent while it runs and when its gateway died.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_us: Option<u64>,
    /// First line of the program that is not blank, cut and cleaned for a terminal.
    pub title: String,
    /// Host calls the program made, of every kind; 0 while it runs.
    pub calls: u32,
    /// Calls that reached an upstream; zeroes while it runs.
    pub effects: Effects,
    /// Why it did not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorKind>,
    /// Principal that requested it.
    pub principal: String,
    /// Where the request came from.
    pub origin: String,
}

/// One execution with its start and its result; its calls are in the journal.
#[derive(Clone, Debug, Serialize)]
pub struct ExecutionRecord {
    /// Columns of the listing.
    #[serde(flatten)]
    pub row: ExecutionRow,
    /// Hash of the guest module it ran in.
    pub guest_hash: String,
    /// Sandbox layers that its worker verified; absent in executions recorded before workers did so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    /// Everything besides the journal that determines the guest.
    pub start: ProgramStart,
    /// Result; absent while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub envelope: Option<Envelope>,
}

/// What changed a pin last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinEvent {
    /// Nothing, since it was read.
    Kept,
    /// It was in the first list of its server.
    Baseline,
    /// It was in a later list for the first time.
    New,
    /// Its definition changed.
    Changed,
    /// Its definition is one again that it had before.
    Back,
    /// It came back with the definition that it had.
    Returned,
    /// It came back with another definition.
    ReturnedChanged,
    /// Its server does not list it any more.
    Removed,
    /// A person accepted its definition.
    Accepted,
    /// A person rejected its definition.
    Rejected,
}

impl PinEvent {
    /// Its name in the store and in the audit trail.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Baseline => "baseline",
            Self::New => "new",
            Self::Changed => "changed",
            Self::Back => "back",
            Self::Returned => "returned",
            Self::ReturnedChanged => "returned_changed",
            Self::Removed => "removed",
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
        }
    }
}

/// Definitions of one tool: the one that is right, and the one that its server lists.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolPin {
    /// Name of the tool.
    pub tool: String,
    /// Number of changes so far; 0 for one that is not stored yet.
    pub version: i64,
    /// What changed it.
    pub event: PinEvent,
    /// SHA-256 of the first or accepted definition, in hexadecimal; `None` for a tool that came later and that no person
    /// accepted.
    pub pinned_sha256: Option<String>,
    /// Its canonical text; `None` where it is the current one and was not read.
    pub pinned: Option<String>,
    /// SHA-256 of the definition that its server lists, or listed last.
    pub current_sha256: String,
    /// Its canonical text, where it is not the pinned one.
    pub current: Option<String>,
    /// What else is known.
    pub facts: PinFacts,
}

/// Latest tool list of a server, stored under the hash of its configuration entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CachedTools {
    /// Tools, in the server's order.
    pub tools: Vec<ToolDefinition>,
    /// The server's `instructions`, when it sent any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// When it was listed, in microseconds since 1970.
    pub listed_us: u64,
}

/// Content to store.
#[derive(Clone, Debug)]
pub struct NewArtifact {
    /// Id of this media type and content.
    pub id: ArtifactId,
    /// Such as `application/json`.
    pub media_type: String,
    /// Name that a user or program gave it.
    pub name: Option<String>,
    /// The bytes.
    pub content: Vec<u8>,
    /// Now, in microseconds since 1970.
    pub created_us: u64,
    /// When it may be removed, in microseconds since 1970. Storing it again moves this on.
    pub expires_us: u64,
}

/// An artifact without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactInfo {
    /// Id of its media type and content.
    pub id: ArtifactId,
    /// Such as `application/json`.
    pub media_type: String,
    /// Name that a user or program gave it.
    pub name: Option<String>,
    /// Bytes of its content.
    pub bytes: usize,
    /// When it was last stored, in microseconds since 1970.
    pub created_us: u64,
    /// When it may be removed, in microseconds since 1970.
    pub expires_us: u64,
}

/// Ledger row of an execution that ended, or of searches that no program followed.
#[derive(Clone, Debug)]
pub struct NewLedgerRow {
    /// Id of the execution, or an id of its own that begins with `se_`.
    pub id: String,
    /// When it was requested, in microseconds since 1970.
    pub created_us: u64,
    /// Where the request came from, such as the client's name.
    pub origin: String,
    /// Bytes of everything that passed.
    pub sizes: LedgerSizes,
    /// Texts that are in no journal.
    pub texts: LedgerTexts,
}

/// One row of the ledger.
#[derive(Clone, Debug)]
pub struct LedgerRow {
    /// As in [`NewLedgerRow`].
    pub id: String,
    /// As in [`NewLedgerRow`].
    pub created_us: u64,
    /// As in [`NewLedgerRow`].
    pub origin: String,
    /// As in [`NewLedgerRow`].
    pub sizes: LedgerSizes,
    /// Texts; absent once they are counted, and in old rows.
    pub texts: Option<LedgerTexts>,
    /// Token usage, once it is counted.
    pub usage: Option<TokenUsage>,
}

impl LedgerRow {
    /// The counted token usage, or an estimate from the sizes.
    pub fn usage_or_estimate(&self) -> TokenUsage {
        self.usage
            .clone()
            .unwrap_or_else(|| TokenUsage::from(&self.sizes))
    }
}

/// What retention removed of one principal on one day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RemovedExecutions {
    /// The principal.
    pub principal: String,
    /// Executions that were removed.
    pub executions: u32,
    /// Executions whose journal lost results.
    pub thinned: u32,
    /// Bytes that were removed.
    pub bytes: u64,
    /// When the oldest of them was requested, in microseconds since 1970.
    pub first_us: u64,
    /// When the newest of them was requested, in microseconds since 1970.
    pub last_us: u64,
}

/// Merges the stored body of an observation with a new one; `None` keeps the stored one. A pure function of
/// its arguments.
pub type MergeObservation = fn(stored: &str, learnt: &str) -> Option<String>;

/// Types learnt from the results of one tool under one definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Hash of the configuration entry of its server.
    pub spec_hash: String,
    /// Hash of the tool's definition. A changed definition starts without observations.
    pub tool_hash: String,
    /// Name of the tool, verbatim.
    pub tool: String,
    /// When its latest result was seen, in microseconds since 1970.
    pub seen_us: u64,
    /// The types, in the form that [`MergeObservation`] takes.
    pub body: String,
}

/// Counters of the writer since the store was opened, for benchmarks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Transactions committed.
    pub commits: u64,
    /// Committed transactions that were synced to disk before callers were answered.
    pub synced: u64,
    /// Journal entries written.
    pub entries: u64,
}

/// Title of `program` in listings.
pub(crate) fn title(program: &str) -> String {
    let line = program
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    text::clean_line(line, TITLE_BYTES_MAX)
}
