//! The words every other crate shares: ids, tools, limits, host calls, errors, envelopes.
//!
//! Plain data. Nothing here performs I/O, reads a clock or draws randomness, so a value means the
//! same thing in the gateway, in a worker and in a test.
//!
//! Start reading at [`execution`] for what a run is, and at [`call`] for what a guest may ask.

#![forbid(unsafe_code)]

pub mod artifact;
pub mod call;
pub mod execution;
pub mod expose;
pub mod ids;
pub mod journal;
pub mod ledger;
pub mod limits;
pub mod read;
pub mod sandbox;
pub mod site;
pub mod text;
pub mod tool;

pub use artifact::{ArtifactCounts, ArtifactId, ArtifactView};
pub use call::{CallCode, CallError, CallForm, HostCall, HostOp, ToolTarget};
pub use execution::{
    Effects, Emitted, Envelope, ErrorKind, ExecutionStatus, Language, ProgramError, ProgramStart,
};
pub use expose::Expose;
pub use ids::{CallId, ExecutionId, ServerName, ToolId};
pub use journal::{Delivered, JournalEntry};
pub use ledger::{Account, Basis, LedgerNote, LedgerTexts, ServerAccount, ServerNote, Tokens};
pub use limits::ExecutionLimits;
pub use read::ReadMethod;
pub use sandbox::{Layer, MissingLayer, Sandbox, Tier};
pub use site::{Site, SiteArgument, Sites, SitesError};
pub use tool::{EffectClass, ToolAnnotations, ToolDefinition};
