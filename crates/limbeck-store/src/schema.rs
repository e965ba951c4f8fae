//! Tables and the migrations between format versions.
//!
//! The format is `PRAGMA user_version`. An older file is migrated in one transaction, step by step; a newer
//! one is rejected, because an old writer would not maintain columns it does not know.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::error::StoreError;

/// How long one connection waits for another process to finish its transaction. Transactions are
/// batches of milliseconds; a process stopped in the middle of one is the case this bounds.
pub(crate) const BUSY_MS: u64 = 10_000;
/// Marks the file as Limbeck's (`LMBK`), so that another program's database is not mistaken for state.
const APPLICATION_ID: i64 = 0x4c4d_424b;
/// Size to which the log is truncated after a checkpoint; without it, one large result would stay on disk
/// twice.
const WAL_BYTES_KEPT: i64 = 64 << 20;
/// Statements that a connection keeps compiled: more than the writer has, whose every execution and call would otherwise
/// compile again what others displaced.
const STATEMENTS_MAX: usize = 256;

/// Step `n` turns format `n` into `n + 1`. Steps that were released are never edited.
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
",
"
    -- Contents that journals refer to: they stay as long as the journal.
    CREATE TABLE held (
        execution  INTEGER NOT NULL,
        id         TEXT NOT NULL,
        media_type TEXT NOT NULL,
        UNIQUE (execution, id)
    ) STRICT;
    CREATE INDEX held_content ON held (id);

    -- What retention removed, for each principal and day.
    CREATE TABLE removed (
        row        INTEGER PRIMARY KEY,
        principal  TEXT NOT NULL,
        day        INTEGER NOT NULL,
        executions INTEGER NOT NULL,
        thinned    INTEGER NOT NULL,
        bytes      INTEGER NOT NULL,
        first_us   INTEGER NOT NULL,
        last_us    INTEGER NOT NULL,
        UNIQUE (principal, day)
    ) STRICT;
    -- Whether the results of reads were removed from the journal.
    ALTER TABLE execution ADD COLUMN thinned INTEGER NOT NULL DEFAULT 0;

    -- Time of the last use; 0 in rows of older formats, which begin to age with the next run of retention.
    ALTER TABLE kv ADD COLUMN used_us INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX kv_used ON kv (used_us);
    -- Bytes of each principal, so that a write does not have to add them up.
    CREATE TABLE kv_total (
        principal TEXT NOT NULL UNIQUE,
        bytes     INTEGER NOT NULL
    ) STRICT;
    INSERT INTO kv_total
        SELECT principal, sum(octet_length(key) + octet_length(value)) FROM kv GROUP BY principal;
    CREATE TRIGGER kv_added AFTER INSERT ON kv BEGIN
        INSERT OR IGNORE INTO kv_total VALUES (new.principal, 0);
        UPDATE kv_total SET bytes = bytes + octet_length(new.key) + octet_length(new.value)
            WHERE principal = new.principal;
    END;
    CREATE TRIGGER kv_changed AFTER UPDATE OF value ON kv BEGIN
        UPDATE kv_total SET bytes = bytes + octet_length(new.value) - octet_length(old.value)
            WHERE principal = new.principal;
    END;
    CREATE TRIGGER kv_removed AFTER DELETE ON kv BEGIN
        UPDATE kv_total SET bytes = bytes - octet_length(old.key) - octet_length(old.value)
            WHERE principal = old.principal;
        DELETE FROM kv_total WHERE principal = old.principal AND bytes <= 0;
    END;
",
"
    -- Questions to people. `state` is a column alone, not in `body`, so that it changes without writing the body again.
    CREATE TABLE approval (
        row        INTEGER PRIMARY KEY,
        id         TEXT NOT NULL UNIQUE,
        execution  INTEGER NOT NULL,
        call       INTEGER NOT NULL,
        state      TEXT NOT NULL,
        created_us INTEGER NOT NULL,
        expires_us INTEGER NOT NULL,
        principal  TEXT NOT NULL,
        body       TEXT NOT NULL
    ) STRICT;
    CREATE INDEX approval_execution ON approval (execution);
    CREATE INDEX approval_pending ON approval (principal) WHERE state = 'pending';
    CREATE INDEX approval_expiry ON approval (expires_us) WHERE state = 'pending';

    -- Counts changes of `approval`, by any process.
    CREATE TABLE approval_change (count INTEGER NOT NULL) STRICT;
    INSERT INTO approval_change VALUES (0);
    CREATE TRIGGER approval_added AFTER INSERT ON approval BEGIN
        UPDATE approval_change SET count = count + 1;
    END;
    CREATE TRIGGER approval_changed AFTER UPDATE ON approval BEGIN
        UPDATE approval_change SET count = count + 1;
    END;
    CREATE TRIGGER approval_removed AFTER DELETE ON approval BEGIN
        UPDATE approval_change SET count = count + 1;
    END;

    -- A paused execution has no owner; each process that takes it raises `epoch`. The others are set while it is paused.
    ALTER TABLE execution ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE execution ADD COLUMN wake_us INTEGER;
    ALTER TABLE execution ADD COLUMN expires_us INTEGER;
    ALTER TABLE execution ADD COLUMN wall_left_ms INTEGER;
    CREATE INDEX execution_paused ON execution (principal) WHERE status = 'paused';
    CREATE INDEX execution_expiry ON execution (expires_us) WHERE status = 'paused';
",
"
    -- What the audit trail has to say. Triggers write it, so that no statement of any version changes one of these rows
    -- unnoticed; each commit turns it into records.
    CREATE TABLE audit_note (
        row     INTEGER PRIMARY KEY,
        kind    TEXT NOT NULL,
        subject INTEGER NOT NULL,
        detail  TEXT NOT NULL
    ) STRICT;
    CREATE TRIGGER audit_start AFTER INSERT ON execution BEGIN
        INSERT INTO audit_note (kind, subject, detail) VALUES ('start', new.row, '');
    END;
    CREATE TRIGGER audit_status AFTER UPDATE OF status ON execution WHEN new.status <> old.status BEGIN
        INSERT INTO audit_note (kind, subject, detail) VALUES ('status', new.row, new.status);
    END;
    CREATE TRIGGER audit_entry AFTER INSERT ON journal
        WHEN substr(new.entry, 3, 5) IN ('call\"', 'outco', 'asked', 'decid', 'settl', 'plan_') BEGIN
        INSERT INTO audit_note (kind, subject, detail) VALUES ('entry', new.row, '');
    END;
    CREATE TRIGGER audit_approval AFTER UPDATE OF state ON approval
        WHEN new.state <> old.state AND new.state IN ('spent', 'expired', 'withdrawn') BEGIN
        INSERT INTO audit_note (kind, subject, detail) VALUES ('approval', new.row, new.state);
    END;

    -- `salt` is not in the chain: without it, no text can be tried against what a record commits to.
    CREATE TABLE audit (
        seq       INTEGER PRIMARY KEY,
        principal TEXT NOT NULL,
        line      TEXT NOT NULL,
        hash      BLOB NOT NULL,
        salt      BLOB
    ) STRICT;
    -- The newest record of each principal.
    CREATE TABLE audit_principal (
        principal TEXT NOT NULL UNIQUE,
        seq       INTEGER NOT NULL,
        hash      BLOB NOT NULL
    ) STRICT;
    -- The last record that was removed for the number of records.
    CREATE TABLE audit_removed (
        seq  INTEGER NOT NULL,
        hash BLOB NOT NULL
    ) STRICT;
    INSERT INTO audit_removed VALUES (0, zeroblob(32));
",
"
    -- The key of what clients keep for the gateway, in one row, and the sealed states that were used, until they expire.
    CREATE TABLE sealing_key (
        row INTEGER PRIMARY KEY CHECK (row = 1),
        key BLOB NOT NULL
    ) STRICT;
    CREATE TABLE used_state (
        id         TEXT NOT NULL UNIQUE,
        expires_us INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX used_state_expiry ON used_state (expires_us);
",
"
    -- Choices of people to let an approval count for calls that are alike. `execution` is set for a choice for one run,
    -- `session` for one until a gateway ends, `uses` where the number of calls is limited. `key` is a hash of what the
    -- calls have in common.
    CREATE TABLE remembered (
        row        INTEGER PRIMARY KEY,
        id         TEXT NOT NULL UNIQUE,
        key        TEXT NOT NULL,
        principal  TEXT NOT NULL,
        execution  INTEGER,
        session    TEXT,
        uses       INTEGER,
        created_us INTEGER NOT NULL,
        expires_us INTEGER NOT NULL,
        body       TEXT NOT NULL
    ) STRICT;
    CREATE INDEX remembered_key ON remembered (key);
    CREATE INDEX remembered_principal ON remembered (principal);
    CREATE INDEX remembered_execution ON remembered (execution) WHERE execution IS NOT NULL;

    -- Calls that people denied lately.
    CREATE TABLE denied (
        row       INTEGER PRIMARY KEY,
        approval  TEXT NOT NULL UNIQUE,
        principal TEXT NOT NULL,
        server    TEXT NOT NULL,
        tool      TEXT NOT NULL,
        sha256    TEXT NOT NULL,
        at_us     INTEGER NOT NULL,
        body      TEXT NOT NULL
    ) STRICT;
    CREATE INDEX denied_call ON denied (sha256);
    CREATE INDEX denied_time ON denied (at_us);
",
"
    -- How often timers of the program woke it while it was paused.
    ALTER TABLE execution ADD COLUMN wakes INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX execution_wake ON execution (wake_us) WHERE status = 'paused' AND wake_us IS NOT NULL;
",
"
    -- Skills, each in its newest version; with `proposed`, what waits for the word of a person.
    CREATE TABLE skill (
        principal TEXT NOT NULL,
        name      TEXT NOT NULL,
        proposed  INTEGER NOT NULL,
        version   INTEGER NOT NULL,
        execution TEXT,
        body      TEXT NOT NULL,
        PRIMARY KEY (principal, name, proposed)
    ) STRICT;
    CREATE INDEX skill_execution ON skill (execution) WHERE execution IS NOT NULL;
",
"
    -- Texts that records commit to, as JSON. Like `salt` they are not in the chain, and can be erased.
    CREATE TABLE audit_detail (
        seq    INTEGER PRIMARY KEY,
        detail TEXT NOT NULL
    ) STRICT;
",
"
    -- What budgets have used. `period` is when the day or month of a counter began, `execution` the row of the run that it is
    -- about; each is 0 where the counter is about none.
    CREATE TABLE budget_use (
        row       INTEGER PRIMARY KEY,
        budget    TEXT NOT NULL,
        subject   TEXT NOT NULL,
        unit      TEXT NOT NULL,
        period    INTEGER NOT NULL,
        execution INTEGER NOT NULL,
        used      INTEGER NOT NULL,
        UNIQUE (budget, subject, unit, period, execution)
    ) STRICT;
    CREATE INDEX budget_use_period ON budget_use (period) WHERE period > 0;
    CREATE INDEX budget_use_execution ON budget_use (execution) WHERE execution > 0;
    CREATE INDEX budget_use_rate ON budget_use (used) WHERE unit = 'rate';
    -- What one run has used is of no use behind its end.
    CREATE TRIGGER budget_run_ended AFTER UPDATE OF status ON execution
        WHEN new.status IN ('completed', 'failed', 'cancelled') BEGIN
        DELETE FROM budget_use WHERE execution = new.row AND execution > 0;
    END;
    CREATE TRIGGER budget_run_removed AFTER DELETE ON execution BEGIN
        DELETE FROM budget_use WHERE execution = old.row AND execution > 0;
    END;
",
crate::tables::tool_pins::SCHEMA];

/// Newest format that this program reads, and the one it writes.
pub(crate) const FORMAT: i64 = MIGRATIONS.len() as i64;

/// Configures a connection: waiting for locks, log mode, statement cache.
pub(crate) fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(std::time::Duration::from_millis(BUSY_MS))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    // Lets retention return free pages. SQLite accepts it only before the first table exists.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update_and_check(None, "journal_size_limit", WAL_BYTES_KEPT, |_| Ok(()))?;
    // On macOS, `fsync` does not wait for the disk itself; these use the call that does.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)
}

/// Rejects a file of another program or of a newer format, then migrates the tables to [`FORMAT`].
///
/// # Errors
///
/// [`StoreError::Foreign`], [`StoreError::Newer`], or an error of SQLite.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats that a released version wrote, and the hash (FNV-1a) of their steps.
    const RELEASED: (usize, u64) = (6, 0x1031_3dfb_a97f_baca);

    fn open() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        configure(&connection).unwrap();
        connection
    }

    fn tables(connection: &Connection) -> Vec<(String, String)> {
        let mut schema = connection
            .prepare("SELECT name, coalesce(sql, '') FROM sqlite_schema ORDER BY name")
            .unwrap();
        let rows = schema.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn steps_that_were_released_are_not_edited() {
        let (released, expected) = RELEASED;
        let steps = MIGRATIONS[..released].concat();
        let hash = steps
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        assert_eq!(hash, expected, "{hash:#x}");
    }

    #[test]
    fn every_older_format_becomes_the_newest_and_keeps_its_rows() {
        let path = Path::new(":memory:");
        let mut fresh = open();
        migrate(&mut fresh, path).unwrap();
        for format in 1..MIGRATIONS.len() {
            let mut connection = open();
            connection
                .execute_batch(&MIGRATIONS[..format].concat())
                .unwrap();
            connection
                .execute_batch(&format!(
                    "PRAGMA user_version = {format}; PRAGMA application_id = {APPLICATION_ID};
                     INSERT INTO execution (id, principal, origin, guest_hash, owner, created_us, status, title)
                         VALUES ('ex_1', 'p', '', '', '', 1, 'completed', '');
                     INSERT INTO kv (principal, key, value) VALUES ('p', 'é', '12'), ('p', 'b', '3'), ('q', 'c', '4')"
                ))
                .unwrap();
            for _ in 0..2 {
                migrate(&mut connection, path).unwrap();
                assert_eq!(tables(&connection), tables(&fresh), "format {format}");
                let count = |sql: &str| number(&connection, sql).unwrap();
                assert_eq!(count("PRAGMA user_version"), FORMAT);
                let untouched = "thinned = 0 AND epoch = 0 AND expires_us IS NULL";
                let untouched = format!("SELECT count(*) FROM execution WHERE {untouched}");
                assert_eq!(count(&untouched), 1);
                assert_eq!(count("SELECT count(*) FROM approval"), 0);
                // Rows of older formats count, and age from the next run of retention on.
                assert_eq!(count("SELECT count(*) FROM kv WHERE used_us = 0"), 3);
                assert_eq!(count("SELECT bytes FROM kv_total WHERE principal = 'p'"), 6);
                assert_eq!(count("SELECT bytes FROM kv_total WHERE principal = 'q'"), 2);
            }
            // An older version that has the file open writes on as it did.
            connection
                .execute_batch("INSERT INTO kv (principal, key, value) VALUES ('q', 'd', '5')")
                .unwrap();
            let bytes = number(
                &connection,
                "SELECT bytes FROM kv_total WHERE principal = 'q'",
            );
            assert_eq!(bytes.unwrap(), 4, "format {format}");
        }
    }
}
