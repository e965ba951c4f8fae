//! The questions the store answers, as statements on one connection.

use std::path::Path;

use limbeck_domain::{
    ArtifactId, Effects, Envelope, ErrorKind, ExecutionId, ExecutionStatus, JournalEntry,
    ProgramStart,
};
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::de::DeserializeOwned;

use crate::artifact::{self, ArtifactInfo};
use crate::embedding;
use crate::error::StoreError;
use crate::ledger::{self, LedgerRow};
use crate::observed::{self, Observation};
use crate::record::{CachedTools, ExecutionRecord, ExecutionRow};
use crate::schema;

/// Ids shown when a prefix fits several executions.
const CANDIDATES_SHOWN: u32 = 5;

const COLUMNS: &str = "id, created_us, status, took_us, title, calls, reads, writes, error, \
                       principal, origin";

/// One connection and the file it reads, for messages.
pub(crate) struct Reader<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) path: &'a Path,
}

impl Reader<'_> {
    fn sqlite(&self, error: rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(self.path, schema::BUSY_MS, error)
    }

    fn decode<T: DeserializeOwned>(&self, what: &str, json: &str) -> Result<T, StoreError> {
        serde_json::from_str(json).map_err(|error| StoreError::Damaged {
            path: self.path.to_owned(),
            detail: format!("{what}: {error}"),
        })
    }

    /// The one execution with this id, or the one whose id begins with it, `ex_` left out or not.
    pub(crate) fn execution(&self, id: &str) -> Result<Option<ExecutionRecord>, StoreError> {
        let Some(id) = self.resolve(id)? else {
            return Ok(None);
        };
        let found = self
            .connection
            .prepare_cached(&format!(
                "SELECT {COLUMNS}, guest_hash, sandbox, start, (
                     SELECT entry FROM journal WHERE execution = execution.row
                     ORDER BY journal.row DESC LIMIT 1)
                 FROM execution JOIN start ON start.execution = execution.row WHERE id = ?1"
            ))
            .and_then(|mut statement| {
                statement
                    .query_row([&id], |row| {
                        Ok((
                            listing(row)?,
                            row.get::<_, String>(11)?,
                            row.get::<_, Option<String>>(12)?,
                            row.get::<_, String>(13)?,
                            row.get::<_, Option<String>>(14)?,
                        ))
                    })
                    .optional()
            })
            .map_err(|error| self.sqlite(error))?;
        let Some((row, guest_hash, sandbox, start, last)) = found else {
            return Ok(None);
        };
        let start: ProgramStart = self.decode("program", &start)?;
        let sandbox = sandbox
            .map(|sandbox| self.decode("sandbox", &sandbox))
            .transpose()?;
        let envelope = match row.status {
            ExecutionStatus::Running => None,
            ExecutionStatus::Completed
            | ExecutionStatus::Failed
            | ExecutionStatus::Cancelled
            | ExecutionStatus::NeedsReconciliation => last
                .map(|entry| self.decode::<JournalEntry>("journal", &entry))
                .transpose()?
                .and_then(ending),
        };
        Ok(Some(ExecutionRecord {
            row,
            guest_hash,
            sandbox,
            start,
            envelope,
        }))
    }

    fn resolve(&self, asked: &str) -> Result<Option<String>, StoreError> {
        if asked.is_empty() {
            return Ok(None);
        }
        let candidates: Vec<String> = self
            .connection
            .prepare_cached(
                "SELECT id FROM execution
                 WHERE substr(id, 1, length(?1)) = ?1 OR substr(id, 1, 3 + length(?1)) = 'ex_' || ?1
                 ORDER BY id <> ?1, created_us DESC, row DESC LIMIT ?2",
            )
            .and_then(|mut statement| {
                statement
                    .query_map(params![asked, CANDIDATES_SHOWN], |row| row.get(0))?
                    .collect()
            })
            .map_err(|error| self.sqlite(error))?;
        match candidates.as_slice() {
            [] => Ok(None),
            [only] => Ok(Some(only.clone())),
            [exact, ..] if exact == asked => Ok(Some(exact.clone())),
            _ => Err(StoreError::AmbiguousExecution {
                prefix: asked.to_owned(),
                candidates,
            }),
        }
    }

    pub(crate) fn journal(&self, id: &ExecutionId) -> Result<Vec<JournalEntry>, StoreError> {
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT entry FROM journal
                 WHERE execution = (SELECT row FROM execution WHERE id = ?1) ORDER BY row",
            )
            .map_err(|error| self.sqlite(error))?;
        let mut rows = statement
            .query([id.as_str()])
            .map_err(|error| self.sqlite(error))?;
        let mut entries = Vec::new();
        while let Some(row) = rows.next().map_err(|error| self.sqlite(error))? {
            let entry = row
                .get_ref(0)
                .and_then(|entry| Ok(entry.as_str()?))
                .map_err(|error| self.sqlite(error))?;
            entries.push(self.decode("journal", entry)?);
        }
        Ok(entries)
    }

    pub(crate) fn executions(
        &self,
        limit: u32,
        before: Option<&ExecutionId>,
    ) -> Result<Vec<ExecutionRow>, StoreError> {
        // Without `before` the comparison is with NULL, and the first condition holds alone.
        self.connection
            .prepare_cached(&format!(
                "SELECT {COLUMNS} FROM execution
                 WHERE ?1 IS NULL OR (created_us, id) < (
                     SELECT created_us, id FROM execution WHERE id = ?1)
                 ORDER BY created_us DESC, id DESC LIMIT ?2"
            ))
            .and_then(|mut statement| {
                statement
                    .query_map(params![before.map(ExecutionId::as_str), limit], listing)?
                    .collect()
            })
            .map_err(|error| self.sqlite(error))
    }

    pub(crate) fn kv_get(&self, principal: &str, key: &str) -> Result<Option<String>, StoreError> {
        self.connection
            .prepare_cached("SELECT value FROM kv WHERE principal = ?1 AND key = ?2")
            .and_then(|mut statement| {
                statement
                    .query_row([principal, key], |row| row.get(0))
                    .optional()
            })
            .map_err(|error| self.sqlite(error))
    }

    pub(crate) fn ledger(&self, since_us: u64) -> Result<Vec<LedgerRow>, StoreError> {
        ledger::since(self.connection, since_us).map_err(|error| self.sqlite(error))
    }

    pub(crate) fn ledger_of(&self, id: &ExecutionId) -> Result<Option<LedgerRow>, StoreError> {
        ledger::of(self.connection, id.as_str()).map_err(|error| self.sqlite(error))
    }

    pub(crate) fn listing(&self, hash: &str) -> Result<Option<String>, StoreError> {
        ledger::listing(self.connection, hash).map_err(|error| self.sqlite(error))
    }

    pub(crate) fn observations(&self, spec_hash: &str) -> Result<Vec<Observation>, StoreError> {
        observed::of(self.connection, spec_hash).map_err(|error| self.sqlite(error))
    }

    pub(crate) fn embeddings(
        &self,
        space: &str,
        texts: &[String],
    ) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        embedding::of(self.connection, space, texts).map_err(|error| self.sqlite(error))
    }

    pub(crate) fn artifact(
        &self,
        principal: &str,
        id: &ArtifactId,
        now_us: u64,
    ) -> Result<Option<(ArtifactInfo, Vec<u8>)>, StoreError> {
        artifact::get(self.connection, principal, id, now_us).map_err(|error| self.sqlite(error))
    }

    pub(crate) fn artifacts(
        &self,
        principal: &str,
        now_us: u64,
        limit: u32,
    ) -> Result<Vec<ArtifactInfo>, StoreError> {
        artifact::list(self.connection, principal, now_us, limit)
            .map_err(|error| self.sqlite(error))
    }

    /// A catalogue that does not decode is as good as none: it is listed again.
    pub(crate) fn cached_tools(&self, spec_hash: &str) -> Result<Option<CachedTools>, StoreError> {
        let body: Option<String> = self
            .connection
            .prepare_cached("SELECT body FROM catalogue WHERE spec_hash = ?1")
            .and_then(|mut statement| {
                statement
                    .query_row([spec_hash], |row| row.get(0))
                    .optional()
            })
            .map_err(|error| self.sqlite(error))?;
        Ok(body.and_then(|body| serde_json::from_str(&body).ok()))
    }
}

fn ending(entry: JournalEntry) -> Option<Envelope> {
    match entry {
        JournalEntry::Ended { envelope } => Some(*envelope),
        JournalEntry::Call { .. } | JournalEntry::Outcome { .. } | JournalEntry::Delivered(_) => {
            None
        }
    }
}

fn listing(row: &Row<'_>) -> rusqlite::Result<ExecutionRow> {
    Ok(ExecutionRow {
        id: ExecutionId::new(row.get::<_, String>(0)?),
        created_us: micros(row.get(1)?),
        status: word(2, &row.get::<_, String>(2)?)?,
        took_us: row.get::<_, Option<i64>>(3)?.map(micros),
        title: row.get(4)?,
        calls: row.get(5)?,
        effects: Effects {
            reads: row.get(6)?,
            writes: row.get(7)?,
        },
        error: row
            .get::<_, Option<String>>(8)?
            .map(|text| word::<ErrorKind>(8, &text))
            .transpose()?,
        principal: row.get(9)?,
        origin: row.get(10)?,
    })
}

fn micros(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or(0)
}

/// Reads a word of the domain (`completed`, `timeout`) the way its JSON is read.
fn word<T: DeserializeOwned>(column: usize, text: &str) -> rusqlite::Result<T> {
    serde_json::from_value(serde_json::Value::from(text)).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(
            column,
            rusqlite::types::Type::Text,
            Box::new(error),
        )
    })
}
