//! How much of the past is kept.
//!
//! Removed are executions that ended, oldest first, until every bound holds. One that needs
//! reconciliation waits for a person, so only age removes it; one that runs is never touched.
//! "Now" is when the newest execution was asked for: the store reads no clock.

use rusqlite::{Connection, TransactionBehavior};

use crate::{artifact, ledger};

/// Executions removed in one transaction, so that a live execution waits for milliseconds at most.
const STEP_EXECUTIONS: i64 = 8;
/// Free pages given back to the file system after a step: 4 MiB of 4 KiB pages.
const STEP_PAGES: u32 = 1_024;

/// Bounds on what is kept of executions that ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retention {
    /// Executions.
    pub(crate) executions: u64,
    /// Their journals and programs together.
    pub(crate) bytes: u64,
    /// Time between an execution and the newest one, in microseconds.
    pub(crate) age_us: u64,
    /// What is kept of artifacts.
    pub(crate) artifacts: artifact::Bounds,
}

impl Retention {
    /// For a file: a month of daily use; 2 GiB holds about 100 of the largest results.
    pub(crate) const FILE: Self = Self {
        executions: 1_000,
        bytes: 2 << 30,
        age_us: 30 * 24 * 3_600 * 1_000_000,
        artifacts: artifact::Bounds::FILE,
    };
    /// For a store in memory, which serves one session.
    pub(crate) const MEMORY: Self = Self {
        executions: 100,
        bytes: 128 << 20,
        age_us: Self::FILE.age_us,
        artifacts: artifact::Bounds::MEMORY,
    };
}

/// Removes up to [`STEP_EXECUTIONS`] executions that a bound no longer covers, and artifacts that expired;
/// returns how many.
pub(crate) fn prune(connection: &mut Connection, retention: &Retention) -> rusqlite::Result<usize> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let surplus: Vec<i64> = transaction
        .prepare_cached(
            "WITH kept AS (
                 SELECT row, created_us, status,
                        max(created_us) OVER () AS now_us,
                        count(*) FILTER (WHERE status <> 'needs_reconciliation') OVER newest AS place,
                        sum(bytes) OVER newest AS total
                 FROM execution WHERE status <> 'running'
                 WINDOW newest AS (ORDER BY created_us DESC, row DESC)
             )
             SELECT row FROM kept
             WHERE created_us < now_us - ?3
                OR (status <> 'needs_reconciliation' AND (place > ?1 OR total > ?2) AND place > 1)
             ORDER BY created_us, row LIMIT ?4",
        )?
        .query_map(
            [
                signed(retention.executions),
                signed(retention.bytes),
                signed(retention.age_us),
                STEP_EXECUTIONS,
            ],
            |row| row.get(0),
        )?
        .collect::<rusqlite::Result<_>>()?;
    for row in &surplus {
        for sql in [
            "DELETE FROM journal WHERE execution = ?1",
            "DELETE FROM start WHERE execution = ?1",
            "DELETE FROM execution WHERE row = ?1",
        ] {
            transaction.prepare_cached(sql)?.execute([row])?;
        }
    }
    ledger::prune(&transaction)?;
    let now_us: Option<i64> =
        transaction.query_row("SELECT max(created_us) FROM execution", [], |row| {
            row.get(0)
        })?;
    let expired = artifact::expire(&transaction, now_us.unwrap_or(0))?;
    artifact::forget_content(&transaction)?;
    transaction.commit()?;
    let removed = surplus.len() + expired;
    if removed > 0 {
        connection.execute_batch(&format!("PRAGMA incremental_vacuum({STEP_PAGES})"))?;
    }
    Ok(removed)
}

fn signed(bound: u64) -> i64 {
    i64::try_from(bound).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::schema;

    const WIDE: Retention = Retention {
        executions: 100,
        bytes: 1_000_000,
        age_us: 1_000_000,
        artifacts: artifact::Bounds::FILE,
    };

    /// A database with one execution per status: created at 0, 100, 200 …, of 10 bytes each.
    fn database(statuses: &[&str]) -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::migrate(&mut connection, Path::new(":memory:")).unwrap();
        for (number, status) in statuses.iter().enumerate() {
            connection
                .execute(
                    "INSERT INTO execution (id, principal, origin, guest_hash, owner, created_us,
                         status, title, bytes) VALUES (?1, '', '', '', '', ?1 * 100, ?2, '', 10)",
                    rusqlite::params![number as i64, status],
                )
                .unwrap();
            connection
                .execute_batch(
                    "INSERT INTO start (execution, start) SELECT max(row), '{}' FROM execution;
                     INSERT INTO journal (execution, entry) SELECT max(row), '{}' FROM execution",
                )
                .unwrap();
        }
        connection
    }

    /// Prunes to the end; what is left, by id.
    fn left(connection: &mut Connection, retention: Retention) -> Vec<i64> {
        while prune(connection, &retention).unwrap() > 0 {}
        let ids: Vec<i64> = connection
            .prepare("SELECT CAST(id AS INTEGER) FROM execution ORDER BY row")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<rusqlite::Result<_>>()
            .unwrap();
        for table in ["start", "journal"] {
            let rows: usize = connection
                .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| {
                    row.get::<_, i64>(0)
                })
                .unwrap() as usize;
            assert_eq!(rows, ids.len(), "{table}");
        }
        ids
    }

    #[test]
    fn nothing_goes_while_every_bound_holds() {
        let mut connection = database(&["completed"; 20]);
        assert_eq!(left(&mut connection, WIDE).len(), 20);
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many_or_they_are_too_large() {
        let few = Retention {
            executions: 3,
            ..WIDE
        };
        let small = Retention { bytes: 39, ..WIDE };
        for retention in [few, small] {
            let mut connection = database(&["completed"; 20]);
            assert_eq!(left(&mut connection, retention), [17, 18, 19]);
        }
    }

    #[test]
    fn the_newest_stays_however_large_it_is() {
        let mut connection = database(&["failed"; 3]);
        let none = Retention { bytes: 1, ..WIDE };
        assert_eq!(left(&mut connection, none), [2]);
    }

    #[test]
    fn what_runs_stays_and_what_waits_for_a_person_goes_by_age_alone() {
        let statuses = [
            "needs_reconciliation",
            "running",
            "completed",
            "needs_reconciliation",
            "completed",
            "completed",
        ];
        let one = Retention {
            executions: 1,
            ..WIDE
        };
        assert_eq!(left(&mut database(&statuses), one), [0, 1, 3, 5]);
        let recent = Retention {
            age_us: 250,
            ..WIDE
        };
        assert_eq!(left(&mut database(&statuses), recent), [1, 3, 4, 5]);
    }
}
