//! Executions and calls: runs programs in workers and sends what policy permits to upstream servers.
//!
//! ```text
//! limbeck-server ──▶ executor ──frames──▶ worker
//!                      │  ▲
//!                      ▼  │
//!   journal ◀──────── broker ──▶ policy ──▶ permit ──▶ upstream
//! ```
//!
//! - `executor` runs one program: one task, one state machine, one worker.
//! - `broker` turns a host call into an effect: resolve, validate, permit, intent, send, outcome.
//! - [`sandbox`] reports the layers that a worker's sandbox lacks.
//! - [`tokens`] counts the tokens a model reads, [`ledger`] what executions cost it.
//! - `learn` derives result types of tools without an output schema.
//! - [`search`] ranks tools; `embeddings` asks an endpoint for vectors where the user configured one.
//! - `models` decides which models programs may ask, and how much.
//! - [`live_catalog`] keeps the current tools, from the store's cache and from the servers themselves.
//! - [`exposure`] decides which servers clients see.
//!
//! Two invariants: no byte of a program is parsed in this process, and a call reaches an upstream server
//! through the broker alone, a call that may write only after its intent is on disk.
//!
//! Start reading at [`Gateway::execute`].

#![forbid(unsafe_code)]

mod admission;
pub mod approval_groups;
pub mod approval_view;
mod approvals;
pub mod artifacts;
mod audit_records;
mod broker;
mod budgets;
pub mod clock;
mod computing;
mod config;
pub mod counters;
pub mod direct;
mod embeddings;
mod executor;
pub mod exposure;
mod gateway;
mod learn;
pub mod ledger;
mod listings;
pub mod live_catalog;
mod lookalike;
mod models;
mod pins;
mod policy_in_force;
mod policy_notes;
mod program_listings;
pub mod render;
pub mod sandbox;
pub mod search;
mod server_reports;
mod server_source;
mod sha256;
pub mod skills;
mod store_errors;
pub mod tokens;
mod waiting_execution;

/// Records of the audit trail that belong to no execution.
pub mod audit {
    pub use limbeck_store::{AuditEvent, AuditEventKind};
}

pub use admission::AdmissionSize;
pub use approvals::{
    ChosenLines, Decider, DecisionError, DecisionReport, DecisionRequest, Escalation, GroupText,
    Notice, Notifier, ONE_CALL_ORIGIN, OnAsk, covered as remember_covers,
};
pub use broker::{CallReport, ToolCalls, ToolCount};
pub use budgets::{BudgetLeft, left_of};
pub use computing::ComputingError;
pub use config::{Bounds, GatewayConfig, LOCAL_PRINCIPAL, TimeLimits};
pub use executor::{
    AnswerForm, Examination, ExecuteRequest, InnerCall, OtherGuest, ReplayError, ReplayReport,
    ResumeError, Shown, StoppedBy, inner_calls,
};
pub use gateway::{Gateway, NoRule};
pub use learn::{ImportSummary, SkippedRecordError};
pub use live_catalog::PinVerdict;
pub use models::{ModelCall, ModelCalls, ModelsConfig, ModelsRequest};
pub use pins::lock::{LOCK_BYTES_MAX, LockError, PinLock};
pub use pins::report::{PinChange, PinReport, PinState};
pub use policy_in_force::PolicyReading;
pub use render::Render;
pub use server_reports::{ServerReport, ToolReport};
pub use server_source::{ServerChange, ServerSource};
pub use sha256::sha256_hex;
pub use waiting_execution::WaitingExecution;
