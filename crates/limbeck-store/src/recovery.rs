//! Recovery: hands on executions whose gateway no longer runs.
//!
//! A call that may write, was sent to its server and has no recorded answer is *in doubt*: the gateway
//! cannot know whether it happened, so the execution needs reconciliation and the call is not repeated. An execution
//! without such a call is paused: the journal has what its program received, so that any process can go on with it.

use limbeck_domain::{ErrorKind, ExecutionId, ExecutionStatus, JournalEntry, ProgramError};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::owner_locks::OwnerLocks;
use crate::tables::{doubts, pauses};

/// Calls in doubt that an error message names.
const NAMED_MAX: u32 = 5;

/// Hands on every `running` execution whose owner no longer runs, in one transaction; returns their new status.
pub(crate) fn recover(
    connection: &mut Connection,
    owner_locks: &OwnerLocks,
) -> rusqlite::Result<Vec<(ExecutionId, ExecutionStatus)>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let running: Vec<(i64, String, String)> = transaction
        .prepare("SELECT row, id, owner FROM execution WHERE status = 'running' ORDER BY row")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let mut handed_on = Vec::new();
    for (row, id, owner) in running {
        if owner_locks.is_alive(&owner) {
            continue;
        }
        let id = ExecutionId::new(id);
        let status = recover_one(&transaction, row, &id)?;
        handed_on.push((id, status));
    }
    transaction.commit()?;
    Ok(handed_on)
}

/// Ends an execution with a call in doubt, and hands on any other.
fn recover_one(
    transaction: &Transaction<'_>,
    row: i64,
    id: &ExecutionId,
) -> rusqlite::Result<ExecutionStatus> {
    let doubts = doubts::numbers(transaction, row)?.len();
    if doubts == 0 {
        return pauses::hand_on(transaction, row, id);
    }
    let named = doubts::entries(transaction, row, NAMED_MAX)?;
    let status = ExecutionStatus::NeedsReconciliation;
    pauses::end(transaction, row, id.clone(), status, error(&named, doubts))?;
    Ok(status)
}

fn describe(entry: &str) -> String {
    match serde_json::from_str(entry) {
        Ok(JournalEntry::Call {
            call,
            tool: Some(tool),
            ..
        }) => format!("{tool} ({})", call.id),
        Ok(JournalEntry::Call { call, .. }) => call.id.to_string(),
        Ok(
            JournalEntry::Check { .. }
            | JournalEntry::Outcome { .. }
            | JournalEntry::Part { .. }
            | JournalEntry::Removed { .. }
            | JournalEntry::Erased(_)
            | JournalEntry::Delivered(_)
            | JournalEntry::Asked { .. }
            | JournalEntry::PlanAsked { .. }
            | JournalEntry::PlanSettled { .. }
            | JournalEntry::Decided { .. }
            | JournalEntry::Settled { .. }
            | JournalEntry::Took { .. }
            | JournalEntry::Ended { .. },
        )
        | Err(_) => "an unreadable record".to_owned(),
    }
}

/// The error of an execution with calls in doubt, of which `first` are the first.
fn error(first: &[String], doubts: usize) -> ProgramError {
    let named = first.iter().map(|entry| describe(entry));
    let mut named = named.collect::<Vec<_>>().join(", ");
    let unnamed = doubts.saturating_sub(first.len());
    if unnamed > 0 {
        named.push_str(&format!(" and {unnamed} more"));
    }
    ProgramError::new(
        ErrorKind::Gateway,
        format!("the gateway ended while calls that may write were in flight: {named}"),
    )
    .with_hint("check on the server whether these calls happened before you run the program again")
}
