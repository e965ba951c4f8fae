//! The journal of a direct call, by what a process needs that goes on with it or gives its result again.

use std::collections::BTreeMap;

use limbeck_domain::{ApprovalId, CallError, CallId, HostCall, JournalEntry};

/// What the journal of a direct call has.
#[derive(Debug, Default)]
pub(crate) struct RecordedCall {
    /// The call as the client made it.
    pub(crate) call: Option<HostCall>,
    /// The newest question about it.
    pub(crate) asked: BTreeMap<CallId, ApprovalId>,
    /// JSON text of the result as the server sent it.
    pub(crate) outcome: Option<Result<String, CallError>>,
}

impl RecordedCall {
    pub(crate) fn read(journal: Vec<JournalEntry>) -> Self {
        let mut recorded = Self::default();
        for entry in journal {
            match entry {
                JournalEntry::Asked { call, approval, .. } => {
                    recorded.asked.insert(call.id, approval);
                    recorded.call = Some(call);
                }
                JournalEntry::Call { call, .. } => recorded.call = Some(call),
                JournalEntry::Outcome { result, .. } => recorded.outcome = Some(result),
                JournalEntry::Check { .. }
                | JournalEntry::Erased(_)
                | JournalEntry::PlanAsked { .. }
                | JournalEntry::PlanSettled { .. }
                | JournalEntry::Part { .. }
                | JournalEntry::Removed { .. }
                | JournalEntry::Delivered(_)
                | JournalEntry::Decided { .. }
                | JournalEntry::Settled { .. }
                | JournalEntry::Took { .. }
                | JournalEntry::Ended { .. } => {}
            }
        }
        recorded
    }
}
