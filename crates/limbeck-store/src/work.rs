//! What can be stored: as the caller gave it, as rows, and as statements.

use limbeck_domain::{CallId, Effects, Envelope, ExecutionId, JournalEntry, limits};
use rusqlite::{OptionalExtension as _, Transaction, params};

use crate::artifact::{self, NewArtifact};
use crate::embedding;
use crate::error::StoreError;
use crate::ledger::{self, NewLedgerRow};
use crate::observed::{self, Join, Observation};
use crate::record::{self, ExecutionSummary, NewExecution};

/// Catalogues kept: twice the servers one gateway may have, so that two projects do not evict each other.
const CATALOGUES_MAX: u32 = 2 * limits::SERVERS_MAX as u32;

/// Something to store.
pub(crate) enum Work {
    Begin(Box<NewExecution>),
    Append {
        id: ExecutionId,
        entry: Box<JournalEntry>,
    },
    Finish {
        id: ExecutionId,
        envelope: Box<Envelope>,
        summary: ExecutionSummary,
    },
    /// `None` deletes the key.
    KvSet {
        principal: String,
        key: String,
        value: Option<String>,
    },
    /// `body` is a [`crate::CachedTools`] as JSON.
    Cache {
        spec_hash: String,
        listed_us: u64,
        body: String,
    },
    /// A row of the ledger.
    Note(Box<NewLedgerRow>),
    /// Definitions that rows of the ledger name.
    Listing {
        hash: String,
        seen_us: u64,
        body: String,
    },
    /// `account` is a [`limbeck_domain::Account`] as JSON.
    Account {
        id: String,
        account: String,
    },
    Artifact {
        principal: String,
        new: Box<NewArtifact>,
    },
    /// Joins what results taught with what is kept.
    Observe {
        observation: Observation,
        join: Join,
    },
    /// Vectors of texts, by the hash of the text.
    Embeddings {
        space: String,
        vectors: Vec<(String, Vec<u8>)>,
    },
    /// Nothing of its own: its wait brings what came before to disk.
    Flush,
}

impl Work {
    /// Memory it holds while queued, roughly: its texts and a little for the rest.
    pub(crate) fn bytes(&self) -> usize {
        const REST: usize = 512;
        let texts = match self {
            Self::Begin(new) => {
                new.start.program.len() + new.start.input.len() + new.start.servers.len()
            }
            Self::Append { entry, .. } => entry_bytes(entry),
            Self::Finish { envelope, .. } => envelope_bytes(envelope),
            Self::KvSet { key, value, .. } => key.len() + value.as_ref().map_or(0, String::len),
            Self::Cache { body, .. } | Self::Listing { body, .. } => body.len(),
            Self::Note(row) => texts_bytes(row),
            Self::Account { account, .. } => account.len(),
            Self::Artifact { new, .. } => new.content.len(),
            Self::Observe { observation, .. } => observation.body.len(),
            Self::Embeddings { vectors, .. } => {
                let bytes = vectors
                    .iter()
                    .map(|(hash, vector)| hash.len() + vector.len());
                bytes.sum()
            }
            Self::Flush => 0,
        };
        REST + texts
    }

    /// Writes the JSON; takes a while for large bodies, so it happens outside any transaction.
    pub(crate) fn encode(self) -> Result<Row, StoreError> {
        Ok(match self {
            Self::Begin(new) => Row::Begin {
                texts: Texts {
                    start: encode(&new.start)?,
                    sandbox: encode(&new.sandbox)?,
                    title: record::title(&new.start.program),
                },
                new,
            },
            Self::Append { id, entry } => Row::Append {
                id,
                marks: Marks::of(&entry),
                entry: encode(&entry)?,
            },
            Self::Finish {
                id,
                envelope,
                summary,
            } => Row::Finish {
                id,
                status: envelope.status.as_str(),
                error: envelope.error.as_ref().map(|error| error.kind.as_str()),
                effects: envelope.effects.unwrap_or_default(),
                entry: encode(&JournalEntry::Ended { envelope })?,
                summary,
            },
            Self::KvSet {
                principal,
                key,
                value,
            } => Row::KvSet {
                principal,
                key,
                value,
            },
            Self::Cache {
                spec_hash,
                listed_us,
                body,
            } => Row::Cache {
                spec_hash,
                listed_us,
                body,
            },
            Self::Note(row) => Row::Note {
                note: encode(&row.note)?,
                texts: encode(&row.texts)?,
                row,
            },
            Self::Listing {
                hash,
                seen_us,
                body,
            } => Row::Listing {
                hash,
                seen_us,
                body,
            },
            Self::Account { id, account } => Row::Account { id, account },
            Self::Artifact { principal, new } => Row::Artifact { principal, new },
            Self::Observe { observation, join } => Row::Observe { observation, join },
            Self::Embeddings { space, vectors } => Row::Embeddings { space, vectors },
            Self::Flush => Row::Flush,
        })
    }
}

fn encode(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::encode(&error))
}

fn entry_bytes(entry: &JournalEntry) -> usize {
    match entry {
        JournalEntry::Call { call, .. } => call.head.len() + call.body.len(),
        JournalEntry::Outcome { result, .. } => match result {
            Ok(text) => text.len(),
            Err(error) => error.message.len(),
        },
        JournalEntry::Delivered(delivered) => delivered.calls.len() * size_of::<CallId>(),
        JournalEntry::Ended { envelope } => envelope_bytes(envelope),
    }
}

fn envelope_bytes(envelope: &Envelope) -> usize {
    envelope.value.as_ref().map_or(0, |value| value.get().len())
        + envelope.stdout.len()
        + envelope.stderr.len()
}

fn texts_bytes(row: &NewLedgerRow) -> usize {
    let texts = &row.texts;
    let ends = texts.program.iter().chain(&texts.result);
    ends.chain(&texts.searches).map(String::len).sum()
}

/// What recovery looks for in an entry without decoding it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Marks {
    /// Number of a call that left for an upstream and may have changed something.
    doubt: Option<u32>,
    /// Number of the call this entry answers.
    outcome: Option<u32>,
}

impl Marks {
    fn of(entry: &JournalEntry) -> Self {
        match entry {
            JournalEntry::Call {
                call, effect, sent, ..
            } => Self {
                doubt: (*sent && effect.may_write()).then_some(call.id.0),
                outcome: None,
            },
            JournalEntry::Outcome { id, .. } => Self {
                doubt: None,
                outcome: Some(id.0),
            },
            JournalEntry::Delivered(_) | JournalEntry::Ended { .. } => Self::default(),
        }
    }
}

/// What of a new execution takes encoding.
pub(crate) struct Texts {
    start: String,
    sandbox: String,
    title: String,
}

/// Something to store, encoded.
pub(crate) enum Row {
    Begin {
        new: Box<NewExecution>,
        texts: Texts,
    },
    Append {
        id: ExecutionId,
        marks: Marks,
        entry: String,
    },
    Finish {
        id: ExecutionId,
        status: &'static str,
        error: Option<&'static str>,
        effects: Effects,
        entry: String,
        summary: ExecutionSummary,
    },
    KvSet {
        principal: String,
        key: String,
        value: Option<String>,
    },
    Cache {
        spec_hash: String,
        listed_us: u64,
        body: String,
    },
    Note {
        row: Box<NewLedgerRow>,
        note: String,
        texts: String,
    },
    Listing {
        hash: String,
        seen_us: u64,
        body: String,
    },
    Account {
        id: String,
        account: String,
    },
    Artifact {
        principal: String,
        new: Box<NewArtifact>,
    },
    Observe {
        observation: Observation,
        join: Join,
    },
    Embeddings {
        space: String,
        vectors: Vec<(String, Vec<u8>)>,
    },
    Flush,
}

impl Row {
    /// Whether it adds to a journal.
    pub(crate) fn is_entry(&self) -> bool {
        matches!(self, Self::Append { .. } | Self::Finish { .. })
    }

    /// The execution this is an entry of, but for the last.
    pub(crate) fn entry_of(&self) -> Option<&ExecutionId> {
        match self {
            Self::Append { id, .. } => Some(id),
            Self::Begin { .. }
            | Self::Finish { .. }
            | Self::KvSet { .. }
            | Self::Cache { .. }
            | Self::Note { .. }
            | Self::Listing { .. }
            | Self::Account { .. }
            | Self::Artifact { .. }
            | Self::Observe { .. }
            | Self::Embeddings { .. }
            | Self::Flush => None,
        }
    }

    /// The execution whose journal has a gap if this is not stored.
    pub(crate) fn journal_of(&self) -> Option<&ExecutionId> {
        match self {
            Self::Begin { new, .. } => Some(&new.id),
            _ => self.entry_of(),
        }
    }

    /// The execution whose journal this ends.
    pub(crate) fn ends(&self) -> Option<&ExecutionId> {
        match self {
            Self::Finish { id, .. } => Some(id),
            _ => None,
        }
    }

    /// Runs the statements. The inner error is this row's alone and comes before any change; the
    /// outer one ends the transaction.
    pub(crate) fn apply(
        &self,
        transaction: &Transaction<'_>,
        owner: &str,
        bounds: &artifact::Bounds,
    ) -> rusqlite::Result<Result<(), StoreError>> {
        match self {
            Self::Begin { new, texts } => begin(transaction, owner, new, texts),
            Self::Append { id, marks, entry } => append(transaction, id, *marks, entry),
            Self::Finish {
                id,
                status,
                error,
                effects,
                entry,
                summary,
            } => {
                if let Err(error) = append(transaction, id, Marks::default(), entry)? {
                    return Ok(Err(error));
                }
                transaction
                    .prepare_cached(
                        "UPDATE execution SET status = ?2, error = ?3, reads = ?4, writes = ?5,
                             calls = ?6, took_us = ?7,
                             bytes = (SELECT sum(octet_length(entry)) FROM journal
                                      WHERE execution = execution.row)
                                   + (SELECT octet_length(start) + coalesce(octet_length(sandbox), 0)
                                      FROM start
                                      WHERE start.execution = execution.row)
                         WHERE id = ?1",
                    )?
                    .execute(params![
                        id.as_str(),
                        status,
                        error,
                        effects.reads,
                        effects.writes,
                        summary.calls,
                        time(summary.took_us),
                    ])?;
                Ok(Ok(()))
            }
            Self::KvSet {
                principal,
                key,
                value,
            } => kv_set(transaction, principal, key, value.as_deref()),
            Self::Cache {
                spec_hash,
                listed_us,
                body,
            } => cache(transaction, spec_hash, *listed_us, body),
            Self::Note { row, note, texts } => ledger::note(transaction, row, note, texts).map(Ok),
            Self::Listing {
                hash,
                seen_us,
                body,
            } => ledger::keep_listing(transaction, hash, body, *seen_us).map(Ok),
            Self::Account { id, account } => ledger::keep_account(transaction, id, account).map(Ok),
            Self::Artifact { principal, new } => {
                artifact::put(transaction, principal, new, bounds).map(Ok)
            }
            Self::Observe { observation, join } => {
                observed::join(transaction, observation, *join).map(Ok)
            }
            Self::Embeddings { space, vectors } => {
                embedding::keep(transaction, space, vectors).map(Ok)
            }
            Self::Flush => Ok(Ok(())),
        }
    }
}

/// SQLite's integers are signed; the year 292277 is soon enough to saturate.
pub(crate) fn time(us: u64) -> i64 {
    i64::try_from(us).unwrap_or(i64::MAX)
}

fn begin(
    transaction: &Transaction<'_>,
    owner: &str,
    new: &NewExecution,
    texts: &Texts,
) -> rusqlite::Result<Result<(), StoreError>> {
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
            time(new.created_us),
            texts.title,
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
            texts.start,
            texts.sandbox
        ])?;
    Ok(Ok(()))
}

/// The order of a journal is the order of its rows: a row number is always above every one in use.
fn append(
    transaction: &Transaction<'_>,
    id: &ExecutionId,
    marks: Marks,
    entry: &str,
) -> rusqlite::Result<Result<(), StoreError>> {
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

fn kv_set(
    transaction: &Transaction<'_>,
    principal: &str,
    key: &str,
    value: Option<&str>,
) -> rusqlite::Result<Result<(), StoreError>> {
    let Some(value) = value else {
        transaction
            .prepare_cached("DELETE FROM kv WHERE principal = ?1 AND key = ?2")?
            .execute([principal, key])?;
        return Ok(Ok(()));
    };
    let replaced = transaction
        .prepare_cached("UPDATE kv SET value = ?3 WHERE principal = ?1 AND key = ?2")?
        .execute([principal, key, value])?;
    if replaced > 0 {
        return Ok(Ok(()));
    }
    let keys: u32 = transaction
        .prepare_cached("SELECT count(*) FROM kv WHERE principal = ?1")?
        .query_row([principal], |row| row.get(0))?;
    if keys as usize >= limits::STORE_KEYS_MAX {
        return Ok(Err(StoreError::TooManyKeys));
    }
    transaction
        .prepare_cached("INSERT INTO kv (principal, key, value) VALUES (?1, ?2, ?3)")?
        .execute([principal, key, value])?;
    Ok(Ok(()))
}

fn cache(
    transaction: &Transaction<'_>,
    spec_hash: &str,
    listed_us: u64,
    body: &str,
) -> rusqlite::Result<Result<(), StoreError>> {
    transaction
        .prepare_cached(
            "INSERT INTO catalogue (spec_hash, listed_us, body) VALUES (?1, ?2, ?3)
             ON CONFLICT (spec_hash) DO UPDATE SET listed_us = ?2, body = ?3",
        )?
        .execute(params![spec_hash, time(listed_us), body])?;
    let oldest_kept: Option<i64> = transaction
        .prepare_cached(
            "SELECT listed_us FROM catalogue ORDER BY listed_us DESC LIMIT 1 OFFSET ?1",
        )?
        .query_row([CATALOGUES_MAX], |row| row.get(0))
        .optional()?;
    if let Some(oldest) = oldest_kept {
        transaction
            .prepare_cached("DELETE FROM catalogue WHERE listed_us <= ?1")?
            .execute([oldest])?;
    }
    Ok(Ok(()))
}
