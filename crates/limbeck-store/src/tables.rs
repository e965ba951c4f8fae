//! Statements of each group of tables.
//!
//! Functions here take a connection or a transaction and know nothing of the writer's queue.

pub(crate) mod approvals;
pub(crate) mod artifacts;
pub(crate) mod audit;
pub(crate) mod budgets;
pub(crate) mod denied;
pub(crate) mod direct_calls;
pub(crate) mod doubts;
pub(crate) mod embeddings;
pub(crate) mod executions;
pub(crate) mod journal;
pub(crate) mod ledger;
pub(crate) mod observations;
pub(crate) mod pauses;
pub(crate) mod recorded_calls;
pub(crate) mod remembered;
pub(crate) mod removed;
pub(crate) mod sealed_states;
pub(crate) mod skills;
pub(crate) mod state;
pub(crate) mod timestamp;
pub(crate) mod tool_lists;
pub(crate) mod tool_pins;
