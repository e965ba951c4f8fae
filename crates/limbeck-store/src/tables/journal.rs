//! Tables `execution` (when it begins and ends), `start` and `journal`.

use limbeck_domain::{ArtifactId, Effects, ExecutionId, JournalEntry, JournalReader};
use rusqlite::{Transaction, params};

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

/// Adds an entry. Row numbers give a journal its order: SQLite assigns one above all that are in use.
pub(crate) fn append(
    transaction: &Transaction<'_>,
    id: &ExecutionId,
    marks: CallMarks,
    entry: &str,
) -> Applied {
    let added = transaction
        .prepare_cached(
            "INSERT INTO journal (execution, doubt, outcome, entry)
             SELECT row, ?2, ?3, ?4 FROM execution WHERE id = ?1",
        )?
        .execute(params![id.as_str(), marks.doubt, marks.outcome, entry])?;
    Ok(if added == 1 {
        Ok(())
    } else {
        Err(StoreError::UnknownExecution { id: id.to_string() })
    })
}

/// Bytes of an execution, as an expression in statements about its row: its journal, its start, and the contents that the
/// journal refers to.
pub(crate) const BYTES: &str = "
    coalesce((SELECT sum(octet_length(entry)) FROM journal WHERE execution = execution.row), 0)
    + coalesce((SELECT octet_length(start) + coalesce(octet_length(sandbox), 0)
                FROM start WHERE start.execution = execution.row), 0)
    + coalesce((SELECT sum(octet_length(content)) FROM held JOIN content USING (id)
                WHERE held.execution = execution.row), 0)";

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
    id: &ExecutionId,
    ended: &EndedExecution,
    entry: &str,
) -> Applied {
    if let Err(error) = append(transaction, id, CallMarks::default(), entry)? {
        return Ok(Err(error));
    }
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

/// Entries of an execution in order; empty for an unknown execution.
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
        entries.extend(entry.map_err(|error| reader.damaged("journal", &error))?);
    }
    Ok(entries)
}
