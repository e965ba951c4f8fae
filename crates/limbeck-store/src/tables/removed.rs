//! Table `removed`: what retention removed, for each principal and day.

use rusqlite::{Connection, Transaction, params};

use super::timestamp::from_stored;
use crate::records::RemovedExecutions;

const DAY_US: i64 = 24 * 3_600 * 1_000_000;
/// Rows kept: one principal for a year, or many for as many days.
const ROWS_MAX: u32 = 4_096;

/// What was removed of an execution.
#[derive(Clone, Copy)]
pub(crate) enum RemovalKind {
    /// All of it.
    Execution,
    /// Results of its reads.
    Results,
    /// Other large texts of an execution that is counted already.
    MoreTexts,
}

/// One execution that was removed, or whose journal was made smaller.
pub(crate) struct Removal<'a> {
    pub(crate) principal: &'a str,
    pub(crate) created_us: i64,
    /// Bytes that went.
    pub(crate) bytes: i64,
    pub(crate) kind: RemovalKind,
}

/// Adds a removal to the row of its principal and of the day of `now_us`.
pub(crate) fn add(
    transaction: &Transaction<'_>,
    now_us: i64,
    removal: &Removal<'_>,
) -> rusqlite::Result<()> {
    let (executions, thinned) = match removal.kind {
        RemovalKind::Execution => (1, 0),
        RemovalKind::Results => (0, 1),
        RemovalKind::MoreTexts => (0, 0),
    };
    transaction
        .prepare_cached(
            "INSERT INTO removed (principal, day, executions, thinned, bytes, first_us, last_us)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
             ON CONFLICT (principal, day) DO UPDATE SET
                 executions = executions + ?3, thinned = thinned + ?4, bytes = bytes + ?5,
                 first_us = min(first_us, ?6), last_us = max(last_us, ?6)",
        )?
        .execute(params![
            removal.principal,
            now_us / DAY_US,
            executions,
            thinned,
            removal.bytes,
            removal.created_us
        ])?;
    transaction
        .prepare_cached("DELETE FROM removed WHERE row <= (SELECT max(row) FROM removed) - ?1")?
        .execute([ROWS_MAX])?;
    Ok(())
}

/// All rows, newest day first.
pub(crate) fn list(connection: &Connection) -> rusqlite::Result<Vec<RemovedExecutions>> {
    connection
        .prepare_cached(
            "SELECT principal, executions, thinned, bytes, first_us, last_us FROM removed
             ORDER BY day DESC, principal",
        )?
        .query_map([], |row| {
            Ok(RemovedExecutions {
                principal: row.get(0)?,
                executions: row.get(1)?,
                thinned: row.get(2)?,
                bytes: from_stored(row.get(3)?),
                first_us: from_stored(row.get(4)?),
                last_us: from_stored(row.get(5)?),
            })
        })?
        .collect()
}
