//! Journals, executions, artifacts, key-value state and caches in one SQLite file.
//!
//! There is one file per user, in WAL mode, shared by every gateway of that user and by the commands
//! that read past executions. Each [`Store`] writes with one thread and reads with another connection.
//!
//! - **Synced** means on disk: [`Store::append_durable`] returns after a sync that covers its entry
//!   and everything queued before it. Writes that arrive during a sync share the next one (group
//!   commit), so a thousand concurrent writes need a handful of syncs.
//! - **Order**: the entries of a journal have the order of calls on [`Store`] that each awaited the
//!   previous one.
//! - **Gaps stay visible**: after an entry could not be stored, the store rejects later entries of that
//!   execution ([`StoreError::JournalIncomplete`]), so no write leaves on an incomplete record.
//! - A damaged file, or one that a newer version wrote, is an error with a hint; it is never replaced.
//! - The store reads no clock: every time comes from the caller, in microseconds since 1970. The time of a record of the audit
//!   trail is the exception: it is that of the writer's commit.
//!
//! It uses `rusqlite` and not `sqlx`, because a pool runs each statement on whichever connection is free
//! and commits for each caller; here one thread owns the writing connection and decides which writes
//! share a sync.
//!
//! Start reading at [`Store`], then `writer.rs`. `tables/` has the statements, `store/` the methods by
//! topic.

#![forbid(unsafe_code)]

mod apply;
mod audit;
mod database_file;
mod decision;
mod disk_space;
mod error;
mod journal_operation;
mod journal_room;
mod operation;
mod options;
mod owner_locks;
mod private_directory;
mod read_queue;
mod reader;
mod records;
mod recovery;
mod retention;
mod schema;
mod store;
mod tables;
mod writer;

pub use audit::{
    AuditCheck, AuditErasure, AuditEvent, AuditEventKind, AuditFault, AuditFaultKind, Checkpoints,
    ExtractChain, ExtractCheck, KnownCheckpoints, NoteSigner, check_extract, notes_file,
};
pub use error::{CallerText, StoreError};
pub use options::{LineRedactor, StoreOptions};
pub use records::{APPROVALS_PENDING_MAX, PAUSED_MAX, REMEMBERED_MAX, WAKES_MAX};
pub use records::{
    ApprovalFilter, ArtifactInfo, AuditFilter, CachedTools, Decided, DoubtfulCall, ExecutionRecord,
    ExecutionRow, ExecutionSummary, LedgerRow, MergeObservation, NO_GUEST, NewArtifact,
    NewExecution, NewLedgerRow, Observation, PausedExecution, PausedGuest, PinEvent,
    RemovedExecutions, Spent, StoreStats, Taken, ToolPin,
};
pub use retention::JournalBounds;
pub use store::Store;
pub use tables::budgets::{BudgetUse, Charge, Counted, OverBudget, RateCharge};
pub use tables::recorded_calls::{RecordedCall, RecordedDecision};
pub use tables::skills::{NewSkill, SavedSkill, StoredSkill};
