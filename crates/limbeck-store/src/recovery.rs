//! Recovery: ends executions whose gateway no longer runs.
//!
//! A call that may write, was sent to its server and has no recorded answer is *in doubt*: the gateway
//! cannot know whether it happened, so the execution needs reconciliation and the call is not repeated.

use limbeck_domain::{
    Envelope, ErrorKind, ExecutionId, ExecutionStatus, JournalEntry, ProgramError,
};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use crate::owner_locks::OwnerLocks;
use crate::tables::journal::BYTES;

/// Calls in doubt that an error message names.
const NAMED_MAX: usize = 5;

/// Ends every `running` execution whose owner no longer runs, in one transaction.
pub(crate) fn recover(
    connection: &mut Connection,
    owner_locks: &OwnerLocks,
) -> rusqlite::Result<Vec<(ExecutionId, ExecutionStatus)>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let running: Vec<(i64, String, String)> = transaction
        .prepare("SELECT row, id, owner FROM execution WHERE status = 'running' ORDER BY row")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let mut ended = Vec::new();
    for (row, id, owner) in running {
        if owner_locks.is_alive(&owner) {
            continue;
        }
        let id = ExecutionId::new(id);
        let status = end(&transaction, row, &id)?;
        ended.push((id, status));
    }
    transaction.commit()?;
    Ok(ended)
}

/// Adds the last entry to a journal and sets the status.
fn end(
    transaction: &Transaction<'_>,
    row: i64,
    id: &ExecutionId,
) -> rusqlite::Result<ExecutionStatus> {
    let doubts = in_doubt(transaction, row)?;
    let (status, error) = outcome(&doubts);
    let envelope = Envelope {
        error: Some(error),
        ..Envelope::new(id.clone(), status)
    };
    let entry = serde_json::to_string(&JournalEntry::Ended {
        envelope: Box::new(envelope),
        is_cut: false,
    })
    .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    transaction.execute(
        "INSERT INTO journal (execution, entry) VALUES (?1, ?2)",
        params![row, entry],
    )?;
    // Only the end of a program writes these numbers, so they are counted from the journal. As many reads and writes as
    // were sent: retention keeps such an execution for its age. The beginning of an entry says whether it is a call, and
    // the end of a call that may not write whether it was sent; an entry has many megabytes at most and is not decoded.
    transaction.execute(
        &format!(
            "UPDATE execution SET status = ?2, error = ?3, bytes = {BYTES},
                 calls = (SELECT count(*) FROM journal
                          WHERE execution = execution.row
                            AND substr(entry, 1, 8) = '{{\"call\":'),
                 writes = (SELECT count(*) FROM journal
                           WHERE execution = execution.row AND doubt IS NOT NULL),
                 reads = (SELECT count(*) FROM journal
                          WHERE execution = execution.row AND doubt IS NULL
                            AND substr(entry, 1, 8) = '{{\"call\":'
                            AND substr(entry, -13) = '\"sent\":true}}}}')
             WHERE row = ?1"
        ),
        params![row, status.as_str(), ErrorKind::Gateway.as_str()],
    )?;
    Ok(status)
}

/// Calls in doubt of an execution, as an error message names them.
fn in_doubt(transaction: &Transaction<'_>, row: i64) -> rusqlite::Result<Vec<String>> {
    transaction
        .prepare_cached(
            "SELECT entry FROM journal AS call
             WHERE execution = ?1 AND doubt IS NOT NULL AND NOT EXISTS (
                 SELECT 1 FROM journal AS answer
                 WHERE answer.execution = call.execution AND answer.outcome = call.doubt)
             ORDER BY row",
        )?
        .query_map([row], |found| found.get::<_, String>(0))?
        .map(|entry| Ok(describe(&entry?)))
        .collect()
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
            | JournalEntry::Delivered(_)
            | JournalEntry::Asked { .. }
            | JournalEntry::Decided { .. }
            | JournalEntry::Settled { .. }
            | JournalEntry::Took { .. }
            | JournalEntry::Ended { .. },
        )
        | Err(_) => "an unreadable record".to_owned(),
    }
}

fn outcome(doubts: &[String]) -> (ExecutionStatus, ProgramError) {
    if doubts.is_empty() {
        let error = ProgramError::new(
            ErrorKind::Gateway,
            "the gateway ended before the program did",
        )
        .with_hint("no call is in doubt, so you can run the program again");
        return (ExecutionStatus::Failed, error);
    }
    let mut named = doubts
        .iter()
        .take(NAMED_MAX)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    if doubts.len() > NAMED_MAX {
        named.push_str(&format!(" and {} more", doubts.len() - NAMED_MAX));
    }
    let error = ProgramError::new(
        ErrorKind::Gateway,
        format!("the gateway ended while calls that may write were in flight: {named}"),
    )
    .with_hint("check on the server whether these calls happened before you run the program again");
    (ExecutionStatus::NeedsReconciliation, error)
}
