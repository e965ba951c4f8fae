//! Tables `execution` (when it begins and ends), `start` and `journal`.

use limbeck_domain::{ArtifactId, Effects, ExecutionId, JournalEntry, JournalReader};
use rusqlite::{OptionalExtension as _, Transaction, params};

use super::approvals;
use super::timestamp::to_stored;
use crate::apply::Applied;
use crate::error::StoreError;
use crate::reader::Reader;
use crate::records::{ExecutionSummary, NewExecution};

/// Columns of a journal entry that let recovery find unanswered calls without decoding entries.
#[derive(Clone, Copy, Default)]
pub(crate) struct CallMarks {
    /// Number of a call that was sent to a server and may write.
    pub(crate) doubt: Option<u32>,
    /// Number of the call that this entry answers.
    pub(crate) outcome: Option<u32>,
}

/// Encoded parts of a new execution.
pub(crate) struct EncodedStart {
    pub(crate) start: String,
    pub(crate) sandbox: String,
    pub(crate) title: String,
}

/// Columns of `execution` that are set when it ends.
pub(crate) struct EndedExecution {
    pub(crate) status: &'static str,
    pub(crate) error: Option<&'static str>,
    pub(crate) effects: Effects,
    pub(crate) summary: ExecutionSummary,
}

pub(crate) fn begin(
    transaction: &Transaction<'_>,
    owner: &str,
    new: &NewExecution,
    encoded: &EncodedStart,
) -> Applied {
    let added = transaction
        .prepare_cached(
            "INSERT OR IGNORE INTO execution
                 (id, principal, origin, guest_hash, owner, created_us, status, title)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'running', ?7)",
        )?
        .execute(params![
            new.id.as_str(),
            new.principal,
            new.origin,
            new.guest_hash,
            owner,
            to_stored(new.created_us),
            encoded.title,
        ])?;
    if added == 0 {
        return Ok(Err(StoreError::DuplicateExecution {
            id: new.id.to_string(),
        }));
    }
    transaction
        .prepare_cached("INSERT INTO start (execution, start, sandbox) VALUES (?1, ?2, ?3)")?
        .execute(params![
            transaction.last_insert_rowid(),
            encoded.start,
            encoded.sandbox
        ])?;
    Ok(Ok(()))
}

/// Adds an entry to the journal of an execution that `owner` has. Row numbers give a journal its order: SQLite assigns one
/// above all that are in use.
pub(crate) fn append(
    transaction: &Transaction<'_>,
    owner: &str,
    id: &ExecutionId,
    marks: CallMarks,
    entry: &str,
) -> Applied {
    let added = transaction
        .prepare_cached(
            "INSERT INTO journal (execution, doubt, outcome, entry)
             SELECT row, ?2, ?3, ?4 FROM execution WHERE id = ?1 AND owner = ?5",
        )?
        .execute(params![
            id.as_str(),
            marks.doubt,
            marks.outcome,
            entry,
            owner
        ])?;
    Ok(if added == 1 {
        Ok(())
    } else {
        Err(not_owned(transaction, id)?)
    })
}

/// Adds an entry, whichever process has the execution.
pub(crate) fn add(
    transaction: &Transaction<'_>,
    execution: i64,
    marks: CallMarks,
    entry: &str,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO journal (execution, doubt, outcome, entry) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![execution, marks.doubt, marks.outcome, entry])?;
    Ok(())
}

/// Adds an entry for an execution that may be owned by no process or by another one, and its bytes to those of an execution
/// that does not run: retention reads them.
pub(crate) fn add_beside(
    transaction: &Transaction<'_>,
    execution: i64,
    marks: CallMarks,
    entry: &str,
) -> rusqlite::Result<()> {
    add(transaction, execution, marks, entry)?;
    transaction
        .prepare_cached(
            "UPDATE execution SET bytes = bytes + octet_length(?2) WHERE row = ?1 AND status <> 'running'",
        )?
        .execute(params![execution, entry])?;
    Ok(())
}

/// The row of an execution that runs and that `owner` has; otherwise why it may not be written.
pub(crate) fn running_row(
    transaction: &Transaction<'_>,
    owner: &str,
    id: &ExecutionId,
) -> rusqlite::Result<Result<i64, StoreError>> {
    let row = transaction
        .prepare_cached(
            "SELECT row FROM execution WHERE id = ?1 AND owner = ?2 AND status = 'running'",
        )?
        .query_row([id.as_str(), owner], |row| row.get(0))
        .optional()?;
    Ok(match row {
        Some(row) => Ok(row),
        None => Err(not_owned(transaction, id)?),
    })
}

fn not_owned(transaction: &Transaction<'_>, id: &ExecutionId) -> rusqlite::Result<StoreError> {
    let exists: bool = transaction
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM execution WHERE id = ?1)")?
        .query_row([id.as_str()], |row| row.get(0))?;
    let id = id.to_string();
    Ok(match exists {
        true => StoreError::Lost { id },
        false => StoreError::UnknownExecution { id },
    })
}

/// Bytes of an execution, as an expression in statements about its row: its journal, its start, the contents that the
/// journal refers to, and its questions to people.
pub(crate) const BYTES: &str = "
    coalesce((SELECT sum(octet_length(entry)) FROM journal WHERE execution = execution.row), 0)
    + coalesce((SELECT octet_length(start) + coalesce(octet_length(sandbox), 0)
                FROM start WHERE start.execution = execution.row), 0)
    + coalesce((SELECT sum(octet_length(content)) FROM held JOIN content USING (id)
                WHERE held.execution = execution.row), 0)
    + coalesce((SELECT sum(octet_length(body)) FROM approval
                WHERE approval.execution = execution.row), 0)";

/// Columns of an execution that its end writes, as assignments that count them from the journal where the program did not
/// end itself. As many reads and writes as were sent: retention keeps such an execution for its age. The beginning of an
/// entry says whether it is a call, and the end of a call that may not write whether it was sent; an entry has many megabytes
/// at most and is not decoded.
pub(crate) const COUNTED: &str = "
    calls = (SELECT count(*) FROM journal
             WHERE execution = execution.row AND substr(entry, 1, 8) = '{\"call\":'),
    writes = (SELECT count(*) FROM journal
              WHERE execution = execution.row AND doubt IS NOT NULL),
    reads = (SELECT count(*) FROM journal
             WHERE execution = execution.row AND doubt IS NULL
               AND substr(entry, 1, 8) = '{\"call\":' AND substr(entry, -13) = '\"sent\":true}}')";

/// Keeps the content of an artifact as long as the journal of an execution that read it.
pub(crate) fn hold(
    transaction: &Transaction<'_>,
    execution: &ExecutionId,
    id: &ArtifactId,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT OR IGNORE INTO held (execution, id, media_type)
             SELECT execution.row, artifact.id, artifact.media_type
             FROM execution JOIN artifact ON artifact.principal = execution.principal
             WHERE execution.id = ?1 AND artifact.id = ?2",
        )?
        .execute([execution.as_str(), id.as_str()])?;
    Ok(())
}

pub(crate) fn finish(
    transaction: &Transaction<'_>,
    owner: &str,
    id: &ExecutionId,
    ended: &EndedExecution,
    entry: &str,
) -> Applied {
    if let Err(error) = append(transaction, owner, id, CallMarks::default(), entry)? {
        return Ok(Err(error));
    }
    approvals::withdraw_of(transaction, id)?;
    // `bytes` is summed up once, here, so that retention reads it off small rows.
    transaction
        .prepare_cached(&format!(
            "UPDATE execution SET status = ?2, error = ?3, reads = ?4, writes = ?5,
                 calls = ?6, took_us = ?7, bytes = {BYTES}
             WHERE id = ?1"
        ))?
        .execute(params![
            id.as_str(),
            ended.status,
            ended.error,
            ended.effects.reads,
            ended.effects.writes,
            ended.summary.calls,
            to_stored(ended.summary.took_us),
        ])?;
    Ok(Ok(()))
}

/// Entries of an execution in order; empty for an unknown execution. An end behind which a process went on, or
/// the execution ended again, is left out: a person settled the calls in doubt, so that it was not the end.
pub(crate) fn entries(
    reader: &Reader<'_>,
    id: &ExecutionId,
) -> Result<Vec<JournalEntry>, StoreError> {
    let mut statement = reader
        .connection
        .prepare_cached(
            "SELECT entry FROM journal
             WHERE execution = (SELECT row FROM execution WHERE id = ?1) ORDER BY row",
        )
        .map_err(|error| reader.error(error))?;
    let mut rows = statement
        .query([id.as_str()])
        .map_err(|error| reader.error(error))?;
    let mut entries = Vec::new();
    let mut records = JournalReader::default();
    while let Some(row) = rows.next().map_err(|error| reader.error(error))? {
        // Decoded from SQLite's own memory: an entry may have many megabytes.
        let entry = row
            .get_ref(0)
            .and_then(|entry| Ok(entry.as_str()?))
            .map_err(|error| reader.error(error))?;
        let entry = records.read(entry);
        let entry = entry.map_err(|error| reader.damaged("journal", &error))?;
        if let Some(JournalEntry::Took { .. } | JournalEntry::Ended { .. }) = &entry {
            entries.retain(|entry| !matches!(entry, JournalEntry::Ended { .. }));
        }
        entries.extend(entry);
    }
    Ok(entries)
}
