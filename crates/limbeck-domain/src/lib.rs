//! Plain data that all crates share: ids, tools, limits, host calls, errors, envelopes.
//!
//! Nothing here performs I/O, reads a clock or draws randomness, so a value means the
//! same thing in the gateway, in a worker and in a test.
//!
//! Start reading at [`execution`] for an execution, and at [`call`] for what a guest may request.

#![forbid(unsafe_code)]

pub mod approval;
pub mod arguments;
pub mod artifact;
pub mod call;
pub mod erased;
pub mod execution;
pub mod expose;
pub mod ids;
pub mod journal;
pub mod ledger;
pub mod limits;
pub mod model;
pub mod pin;
pub mod plan;
pub mod read;
pub mod remember;
pub mod sandbox;
pub mod site;
pub mod skill;
pub mod text;
pub mod tool;
pub mod tool_rules;

pub use approval::{
    Approval, ApprovalChannel, ApprovalDecision, ApprovalId, ApprovalState, ApprovalTerms,
    ArgumentOrigin, PendingApproval, Settlement,
};
pub use arguments::{ArgumentsError, CompactArguments};
pub use artifact::{ArtifactCounts, ArtifactId, ArtifactView};
pub use call::{CallCode, CallError, CallForm, HostCall, HostOp, ToolTarget};
pub use erased::{ErasedProgram, GUEST_ABI, RecordedErasure};
pub use execution::{
    Effects, Emitted, Envelope, ErrorKind, ExecutionStatus, Language, Mode, ProgramError,
    ProgramStart,
};
pub use expose::Expose;
pub use ids::{CallId, ExecutionId, ServerName, ToolId};
pub use journal::{Delivered, JournalEntry, JournalReader, RemovedText};
pub use ledger::{
    CountBasis, LedgerSizes, LedgerTexts, ServerSizes, ServerTokenUsage, TokenCount, TokenUsage,
};
pub use limits::ExecutionLimits;
pub use model::ModelTerms;
pub use pin::{PinDecision, PinFacts, PinnedDefinition};
pub use plan::{
    AcceptedLines, ApprovalPlan, PLAN_CALL, PLAN_MANY_MAX, PlanConstant, PlanCount, PlanSite,
    PlanSource,
};
pub use read::ReadMethod;
pub use remember::{Remember, RememberChoice, RememberError, RememberOffer, Remembered};
pub use sandbox::{Layer, MissingLayer, Sandbox, Tier};
pub use site::{
    Decides, DynamicSite, InputUse, Reach, Repeat, Site, SiteArgument, SiteComparison, SiteError,
    SiteListing, SiteRead, Sites, SitesError, UnreadSites, Verdict,
};
pub use skill::{Skill, SkillForm, SkillTool, is_skill_name};
pub use tool::{EffectClass, ToolAnnotations, ToolDefinition};
pub use tool_rules::ToolRules;
