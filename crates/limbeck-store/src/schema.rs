//! Tables and their versions.
//!
//! The format is `PRAGMA user_version`. An older file is brought up to date in one transaction, step
//! by step; a newer one is refused, because an old writer would not keep what it does not know.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::error::StoreError;

/// How long one connection waits for another process to finish its transaction. Transactions are
/// batches of milliseconds; a process stopped in the middle of one is the case this bounds.
pub(crate) const BUSY_MS: u64 = 10_000;
/// Marks the file as ours (`LMBK`), so that another program's database is not taken for state.
const APPLICATION_ID: i64 = 0x4c4d_424b;
/// The log is cut back to this after a checkpoint, or one large result would stay on disk twice.
const WAL_BYTES_KEPT: i64 = 64 << 20;

/// Step `n` turns format `n` into `n + 1`. Steps already released are never edited.
const MIGRATIONS: &[&str] = &["
    -- Small rows: listings and retention read all of them. `doubt` and `outcome` below exist so that
    -- recovery finds unanswered calls without decoding bodies of many megabytes.
    CREATE TABLE execution (
        row        INTEGER PRIMARY KEY,
        id         TEXT NOT NULL UNIQUE,
        principal  TEXT NOT NULL,
        origin     TEXT NOT NULL,
        guest_hash TEXT NOT NULL,
        owner      TEXT NOT NULL,
        created_us INTEGER NOT NULL,
        status     TEXT NOT NULL,
        took_us    INTEGER,
        title      TEXT NOT NULL,
        calls      INTEGER NOT NULL DEFAULT 0,
        reads      INTEGER NOT NULL DEFAULT 0,
        writes     INTEGER NOT NULL DEFAULT 0,
        error      TEXT,
        bytes      INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX execution_newest ON execution (created_us, id);
    CREATE INDEX execution_status ON execution (status);

    CREATE TABLE start (
        execution INTEGER PRIMARY KEY,
        start     TEXT NOT NULL
    ) STRICT;

    CREATE TABLE journal (
        row       INTEGER PRIMARY KEY,
        execution INTEGER NOT NULL,
        doubt     INTEGER,
        outcome   INTEGER,
        entry     TEXT NOT NULL
    ) STRICT;
    CREATE INDEX journal_order ON journal (execution);

    CREATE TABLE kv (
        principal TEXT NOT NULL,
        key       TEXT NOT NULL,
        value     TEXT NOT NULL,
        UNIQUE (principal, key)
    ) STRICT;

    CREATE TABLE catalogue (
        spec_hash TEXT NOT NULL UNIQUE,
        listed_us INTEGER NOT NULL,
        body      TEXT NOT NULL
    ) STRICT;

    CREATE TABLE flushed (count INTEGER NOT NULL) STRICT;
    INSERT INTO flushed VALUES (0);
",
"
    -- What the worker found of its confinement, as JSON; absent in executions of format 1. The names
    -- of its layers are part of the format, so a new layer comes with a new step.
    ALTER TABLE start ADD COLUMN sandbox TEXT;
",
"
    -- Content is kept once; who has it and until when is a row of `artifact`.
    CREATE TABLE content (
        id      TEXT PRIMARY KEY,
        content BLOB NOT NULL
    ) STRICT;

    CREATE TABLE artifact (
        row        INTEGER PRIMARY KEY,
        principal  TEXT NOT NULL,
        id         TEXT NOT NULL,
        media_type TEXT NOT NULL,
        name       TEXT,
        bytes      INTEGER NOT NULL,
        created_us INTEGER NOT NULL,
        expires_us INTEGER NOT NULL,
        UNIQUE (principal, id)
    ) STRICT;
    CREATE INDEX artifact_content ON artifact (id);
    CREATE INDEX artifact_expiry ON artifact (expires_us);
",
"
    -- What executions cost a model. A row outlives its execution; `texts` wait to be counted and go
    -- when `account` has their tokens.
    CREATE TABLE ledger (
        row        INTEGER PRIMARY KEY,
        id         TEXT NOT NULL UNIQUE,
        created_us INTEGER NOT NULL,
        origin     TEXT NOT NULL,
        note       TEXT NOT NULL,
        texts      TEXT,
        account    TEXT
    ) STRICT;
    CREATE INDEX ledger_newest ON ledger (created_us);

    -- Definitions that a model was given, or would have been, by their hash.
    CREATE TABLE listing (
        hash    TEXT NOT NULL UNIQUE,
        seen_us INTEGER NOT NULL,
        body    TEXT NOT NULL
    ) STRICT;
",
"
    -- What results of tools look like, by the entry of their server and the hash of their definition. The
    -- store joins bodies without looking into them.
    CREATE TABLE observed (
        spec_hash TEXT NOT NULL,
        tool_hash TEXT NOT NULL,
        tool      TEXT NOT NULL,
        seen_us   INTEGER NOT NULL,
        body      TEXT NOT NULL,
        UNIQUE (spec_hash, tool_hash)
    ) STRICT;
    CREATE INDEX observed_oldest ON observed (seen_us);
",
"
    -- Vectors of texts, by the endpoint and model that gave them. The row number says which is oldest.
    CREATE TABLE embedding (
        row       INTEGER PRIMARY KEY,
        space     TEXT NOT NULL,
        text_hash TEXT NOT NULL,
        vector    BLOB NOT NULL,
        UNIQUE (space, text_hash)
    ) STRICT;
"];

/// The newest format this program reads and the one it writes.
pub(crate) const FORMAT: i64 = MIGRATIONS.len() as i64;

/// Sets the connection up: how to wait, log mode, cache of statements.
pub(crate) fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(std::time::Duration::from_millis(BUSY_MS))?;
    connection.set_prepared_statement_cache_capacity(32);
    // Pages freed by retention can be given back; settable only before the first table exists.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update_and_check(None, "journal_size_limit", WAL_BYTES_KEPT, |_| Ok(()))?;
    // Where `fsync` does not reach the platter (macOS), ask for the call that does.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)
}

/// Refuses what is not ours or newer than us, then brings the tables to [`FORMAT`].
///
/// # Errors
///
/// [`StoreError::Foreign`], [`StoreError::Newer`], or what SQLite reports.
pub(crate) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let sqlite = |error| StoreError::from_sqlite(path, BUSY_MS, error);
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(sqlite)?;
    let found = number(&transaction, "PRAGMA user_version").map_err(sqlite)?;
    let application = number(&transaction, "PRAGMA application_id").map_err(sqlite)?;
    let tables = number(&transaction, "SELECT count(*) FROM sqlite_schema").map_err(sqlite)?;
    let fresh = tables == 0 && found == 0 && application == 0;
    if !fresh && application != APPLICATION_ID {
        return Err(StoreError::Foreign {
            path: path.to_owned(),
        });
    }
    let missing = usize::try_from(found)
        .ok()
        .and_then(|found| MIGRATIONS.get(found..))
        .ok_or_else(|| StoreError::Newer {
            path: path.to_owned(),
            found,
            known: FORMAT,
        })?;
    for step in missing {
        transaction.execute_batch(step).map_err(sqlite)?;
    }
    if !missing.is_empty() {
        transaction
            .pragma_update(None, "user_version", FORMAT)
            .and_then(|()| transaction.pragma_update(None, "application_id", APPLICATION_ID))
            .map_err(sqlite)?;
    }
    transaction.commit().map_err(sqlite)
}

fn number(connection: &Connection, sql: &str) -> rusqlite::Result<i64> {
    connection.query_row(sql, [], |row| row.get(0))
}
