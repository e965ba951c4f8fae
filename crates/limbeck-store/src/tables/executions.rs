//! Table `execution`: listings and single executions.

use limbeck_domain::{Effects, Envelope, ErrorKind, ExecutionId, JournalEntry, ProgramStart};
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::de::DeserializeOwned;

use super::timestamp::from_stored;
use crate::error::StoreError;
use crate::reader::Reader;
use crate::records::{ExecutionRecord, ExecutionRow};

/// Ids shown when a prefix fits several executions.
const CANDIDATES_SHOWN: u32 = 5;

const COLUMNS: &str = "id, created_us, status, took_us, title, calls, reads, writes, error, \
                       principal, origin";

/// The execution with this id, or the only one whose id begins with it; `ex_` may be left out.
pub(crate) fn find(reader: &Reader<'_>, id: &str) -> Result<Option<ExecutionRecord>, StoreError> {
    let Some(id) = resolve(reader, id)? else {
        return Ok(None);
    };
    let found = select(reader.connection, &id).map_err(|error| reader.error(error))?;
    let Some(found) = found else {
        return Ok(None);
    };
    let start: ProgramStart = reader.decode("program", &found.start)?;
    let sandbox = found
        .sandbox
        .map(|sandbox| reader.decode("sandbox", &sandbox))
        .transpose()?;
    let envelope = found
        .end
        .map(|entry| reader.decode::<JournalEntry>("journal", &entry))
        .transpose()?
        .and_then(envelope_of);
    Ok(Some(ExecutionRecord {
        row: found.row,
        guest_hash: found.guest_hash,
        sandbox,
        start,
        envelope,
    }))
}

/// Columns of one execution, its JSON not decoded.
struct EncodedExecution {
    row: ExecutionRow,
    guest_hash: String,
    sandbox: Option<String>,
    start: String,
    /// Its last [`JournalEntry::Ended`], when it has ended. Entries may follow it: late answers, and a person's word about
    /// calls in doubt.
    end: Option<String>,
}

fn select(connection: &Connection, id: &str) -> rusqlite::Result<Option<EncodedExecution>> {
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS}, guest_hash, sandbox, start,
                 CASE WHEN status IN ('running', 'paused') THEN NULL ELSE (
                     SELECT entry FROM journal
                     WHERE execution = execution.row AND substr(entry, 1, 9) = '{{\"ended\":'
                     ORDER BY journal.row DESC LIMIT 1) END
             FROM execution JOIN start ON start.execution = execution.row WHERE id = ?1"
        ))?
        .query_row([id], |row| {
            Ok(EncodedExecution {
                row: decode_row(row)?,
                guest_hash: row.get(11)?,
                sandbox: row.get(12)?,
                start: row.get(13)?,
                end: row.get(14)?,
            })
        })
        .optional()
}

/// Completes an id that may be a prefix or lack `ex_`.
fn resolve(reader: &Reader<'_>, requested: &str) -> Result<Option<String>, StoreError> {
    if requested.is_empty() {
        return Ok(None);
    }
    let candidates =
        candidates(reader.connection, requested).map_err(|error| reader.error(error))?;
    match candidates.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only.clone())),
        [exact, ..] if exact == requested => Ok(Some(exact.clone())),
        _ => Err(StoreError::AmbiguousExecution {
            prefix: requested.to_owned(),
            candidates,
        }),
    }
}

/// Ids that begin with `requested`, an exact match first, then the newest.
fn candidates(connection: &Connection, requested: &str) -> rusqlite::Result<Vec<String>> {
    // `substr` and not `LIKE`: a `%` or `_` in the request is an ordinary character.
    connection
        .prepare_cached(
            "SELECT id FROM execution
             WHERE substr(id, 1, length(?1)) = ?1 OR substr(id, 1, 3 + length(?1)) = 'ex_' || ?1
             ORDER BY id <> ?1, created_us DESC, row DESC LIMIT ?2",
        )?
        .query_map(params![requested, CANDIDATES_SHOWN], |row| row.get(0))?
        .collect()
}

/// Executions, newest first: at most `limit`, those before `before` when it is given.
pub(crate) fn list(
    connection: &Connection,
    limit: u32,
    before: Option<&ExecutionId>,
) -> rusqlite::Result<Vec<ExecutionRow>> {
    // Without `before`, `?1` is NULL and the first condition alone holds.
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM execution
             WHERE ?1 IS NULL OR (created_us, id) < (
                 SELECT created_us, id FROM execution WHERE id = ?1)
             ORDER BY created_us DESC, id DESC LIMIT ?2"
        ))?
        .query_map(params![before.map(ExecutionId::as_str), limit], decode_row)?
        .collect()
}

fn envelope_of(entry: JournalEntry) -> Option<Envelope> {
    match entry {
        JournalEntry::Ended { envelope, .. } => Some(*envelope),
        JournalEntry::Check { .. }
        | JournalEntry::Call { .. }
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
        | JournalEntry::Took { .. } => None,
    }
}

fn decode_row(row: &Row<'_>) -> rusqlite::Result<ExecutionRow> {
    Ok(ExecutionRow {
        id: ExecutionId::new(row.get::<_, String>(0)?),
        created_us: from_stored(row.get(1)?),
        status: decode_word(2, &row.get::<_, String>(2)?)?,
        took_us: row.get::<_, Option<i64>>(3)?.map(from_stored),
        title: row.get(4)?,
        calls: row.get(5)?,
        effects: Effects {
            reads: row.get(6)?,
            writes: row.get(7)?,
        },
        error: row
            .get::<_, Option<String>>(8)?
            .map(|text| decode_word::<ErrorKind>(8, &text))
            .transpose()?,
        principal: row.get(9)?,
        origin: row.get(10)?,
    })
}

/// Decodes a word such as `completed` or `timeout` the way JSON has it.
pub(super) fn decode_word<T: DeserializeOwned>(column: usize, text: &str) -> rusqlite::Result<T> {
    serde_json::from_value(serde_json::Value::from(text)).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(
            column,
            rusqlite::types::Type::Text,
            Box::new(error),
        )
    })
}
