//! Calls in doubt: they may write, were sent, and have no answer in the journal and no word of a person.

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::reader::Reader;

/// The last entry of each call in doubt. An answer or a person's word ends the doubt about what was sent before it: a call that
/// is made again is in doubt again.
const IN_DOUBT: &str = "
    WITH call AS MATERIALIZED (
        SELECT doubt AS id, max(row) AS row FROM journal
        WHERE execution = ?1 AND doubt IS NOT NULL GROUP BY doubt
    ), answer AS MATERIALIZED (
        SELECT outcome AS id, max(row) AS row FROM journal
        WHERE execution = ?1 AND outcome IS NOT NULL GROUP BY outcome
    ), in_doubt AS MATERIALIZED (
        SELECT call.id, call.row FROM call LEFT JOIN answer ON answer.id = call.id
        WHERE answer.row IS NULL OR answer.row < call.row
    )";

/// Numbers of the calls in doubt of an execution, in the order they were made.
pub(crate) fn numbers(connection: &Connection, execution: i64) -> rusqlite::Result<Vec<u32>> {
    connection
        .prepare_cached(&format!("{IN_DOUBT} SELECT id FROM in_doubt ORDER BY row"))?
        .query_map([execution], |row| row.get(0))?
        .collect()
}

/// Entries of the first calls in doubt of an execution, in the order they were made.
pub(crate) fn entries(
    connection: &Connection,
    execution: i64,
    limit: u32,
) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare_cached(&format!(
            "{IN_DOUBT} SELECT journal.entry FROM in_doubt JOIN journal ON journal.row = in_doubt.row
             ORDER BY in_doubt.row LIMIT ?2"
        ))?
        .query_map(params![execution, limit], |row| row.get(0))?
        .collect()
}

/// The row of an execution that needs reconciliation.
pub(crate) fn execution(connection: &Connection, id: &str) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached(
            "SELECT row FROM execution WHERE id = ?1 AND status = 'needs_reconciliation'",
        )?
        .query_row([id], |row| row.get(0))
        .optional()
}

/// Entries of every call in doubt of the execution `id`.
pub(crate) fn of(reader: &Reader<'_>, id: &str) -> rusqlite::Result<Vec<String>> {
    match execution(reader.connection, id)? {
        Some(row) => entries(reader.connection, row, u32::MAX),
        None => Ok(Vec::new()),
    }
}
