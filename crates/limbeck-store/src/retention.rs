//! Retention: removes the oldest executions and artifacts above the bounds.
//!
//! Only executions that ended are removed, oldest first. The bounds are those of one principal, so that no principal
//! removes what belongs to another; a bound on all of them comes after. An execution that called a tool of a server may have
//! changed something, also if the server calls the tool one that only reads. It is removed by age alone, as one that needs
//! reconciliation: above a bound its journal loses the results of its reads, then all other
//! large texts but the arguments of its calls ([`smaller`]). A principal whose journals are above their bound after that
//! begins no more executions ([`full`]). Where the disk has little room for a principal's journals, its bounds are lower
//! ([`Retention::within`]). A running one is never removed. What was removed is counted in table `removed`.
//!
//! "Now" is the time at which the newest execution was requested: the store reads no clock.

mod smaller;

use std::collections::BTreeMap;

use limbeck_domain::limits;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use crate::tables::artifacts::{self, ArtifactBounds};
use crate::tables::{ledger, removed, state};
use smaller::Thinned;

/// Executions removed in one transaction, so that a write behind it waits for milliseconds at most.
const STEP_EXECUTIONS: i64 = 8;
/// Free pages returned to the file system after a step: 4 MiB of 4 KiB pages. As many stay for the next writes.
const STEP_PAGES: u32 = 1_024;

/// Bounds on the journals and programs of one principal's executions that may have changed something, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct JournalBounds {
    /// Above it, the oldest lose the results of their reads.
    pub reads: u64,
    /// Above it, the oldest lose every large result, returned value and printed text.
    pub results: u64,
    /// Above it, the principal begins no more executions.
    pub records: u64,
}

/// Bounds on stored executions and artifacts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retention {
    /// Executions of one principal that ended and called no tool.
    pub(crate) executions: u64,
    /// Their journals and programs together.
    pub(crate) bytes: u64,
    /// Those of all principals.
    pub(crate) bytes_in_all: u64,
    /// Bounds on executions that may have changed something.
    pub(crate) writing: JournalBounds,
    /// Time between an execution and the newest one, in microseconds.
    pub(crate) age_us: u64,
    /// Bounds on artifacts.
    pub(crate) artifacts: ArtifactBounds,
}

impl Retention {
    /// For a file: a month of daily use.
    pub(crate) const FILE: Self = Self {
        executions: limits::EXECUTIONS_KEPT_PER_PRINCIPAL,
        bytes: limits::JOURNALS_PER_PRINCIPAL_BYTES_MAX,
        bytes_in_all: limits::JOURNALS_BYTES_MAX,
        writing: JournalBounds {
            reads: 2 * limits::JOURNALS_PER_PRINCIPAL_BYTES_MAX,
            results: 3 * limits::JOURNALS_PER_PRINCIPAL_BYTES_MAX,
            records: 4 * limits::JOURNALS_PER_PRINCIPAL_BYTES_MAX,
        },
        age_us: limits::EXECUTION_KEPT_MS * 1_000,
        artifacts: ArtifactBounds::FILE,
    };
    /// For a store in memory, which serves one session.
    pub(crate) const MEMORY: Self = Self {
        executions: 100,
        bytes: 128 << 20,
        bytes_in_all: 256 << 20,
        writing: JournalBounds {
            reads: 128 << 20,
            results: 192 << 20,
            records: 512 << 20,
        },
        age_us: Self::FILE.age_us,
        artifacts: ArtifactBounds::MEMORY,
    };

    /// The bounds for a principal on a disk with `free` bytes left for journals: what it may lose gets half of them.
    pub(crate) fn within(self, free: Option<u64>) -> Self {
        let share = free.map_or(u64::MAX, |free| free / 4);
        Self {
            bytes: self.bytes.min(share),
            writing: JournalBounds {
                reads: self.writing.reads.min(share),
                results: self.writing.results.min(share),
                ..self.writing
            },
            ..self
        }
    }
}

/// An execution that retention removes, or whose journal it makes smaller.
struct Surplus {
    row: i64,
    principal: String,
    created_us: i64,
    bytes: i64,
    /// How far its journal is to be made smaller; `None` removes it with its journal.
    thinned: Option<Thinned>,
}

/// Does one bounded step: removes up to [`STEP_EXECUTIONS`] executions above a bound, expired artifacts and keys, and
/// returns free pages. Returns whether another step has more to do. With `principal`, of its executions alone.
///
/// `requested_us` is when the newest execution was requested that this process knows of: one that was refused is in no
/// table, and time passes for the others all the same.
pub(crate) fn prune(
    connection: &mut Connection,
    retention: &Retention,
    requested_us: u64,
    principal: Option<&str>,
) -> rusqlite::Result<bool> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let now_us: Option<i64> =
        transaction.query_row("SELECT max(created_us) FROM execution", [], |row| {
            row.get(0)
        })?;
    let now_us = now_us.unwrap_or(0).max(signed(requested_us));
    let surplus = surplus(&transaction, retention, now_us, principal)?;
    for one in &surplus {
        let left = match one.thinned {
            Some(to) => match smaller::step(&transaction, one.row, to)? {
                Some(left) => left,
                // The next step goes on with it.
                None => break,
            },
            None => {
                remove(&transaction, one.row)?;
                0
            }
        };
        let removal = removed::Removal {
            principal: &one.principal,
            created_us: one.created_us,
            bytes: one.bytes.saturating_sub(left),
            kind: match one.thinned {
                None => removed::RemovalKind::Execution,
                Some(Thinned::Reads) => removed::RemovalKind::Results,
                Some(Thinned::Results) => removed::RemovalKind::MoreResults,
            },
        };
        removed::add(&transaction, now_us, &removal)?;
    }
    ledger::prune(&transaction)?;
    let expired = artifacts::expire(&transaction, now_us)? + state::expire(&transaction, now_us)?;
    artifacts::forget_content(&transaction)?;
    transaction.commit()?;
    Ok(give_back(connection)? || surplus.len() + expired > 0)
}

/// Principals whose journals of executions that may have changed something are above their last bound, and their bytes.
pub(crate) fn full(
    connection: &Connection,
    retention: &Retention,
) -> rusqlite::Result<BTreeMap<String, u64>> {
    connection
        .prepare_cached(&format!(
            "SELECT principal, sum(bytes) AS total FROM execution
             WHERE status <> 'running' AND {WRITING} GROUP BY principal HAVING total > ?1"
        ))?
        .query_map([signed(retention.writing.records)], |row| {
            Ok((
                row.get(0)?,
                u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0),
            ))
        })?
        .collect()
}

/// Bytes of the executions of each principal that ended.
pub(crate) fn held(connection: &Connection) -> rusqlite::Result<BTreeMap<String, u64>> {
    connection
        .prepare_cached(
            "SELECT principal, sum(bytes) FROM execution WHERE status <> 'running' GROUP BY principal",
        )?
        .query_map([], |row| {
            let bytes: i64 = row.get(1)?;
            Ok((row.get(0)?, u64::try_from(bytes).unwrap_or(0)))
        })?
        .collect()
}

/// Whether an execution may have changed something, as an expression in statements about its row. Column `reads` counts
/// calls of tools that only read by the hint of their own server, which decides nothing here.
const WRITING: &str = "(reads > 0 OR writes > 0 OR status = 'needs_reconciliation')";

fn surplus(
    transaction: &Transaction<'_>,
    retention: &Retention,
    now_us: i64,
    principal: Option<&str>,
) -> rusqlite::Result<Vec<Surplus>> {
    transaction
        .prepare_cached(&format!(
            "WITH ended AS (
                 SELECT row, principal, created_us, bytes, thinned, {WRITING} AS writing
                 FROM execution WHERE status <> 'running'
             ), kept AS (
                 SELECT *,
                        count(*) OVER own AS place,
                        sum(bytes) OVER own AS total,
                        count(*) OVER every AS place_in_all,
                        sum(bytes) OVER every AS total_in_all
                 FROM ended
                 WINDOW own AS (PARTITION BY writing, principal ORDER BY created_us DESC, row DESC),
                        every AS (PARTITION BY writing ORDER BY created_us DESC, row DESC)
             ), surplus AS (
                 SELECT *, created_us < ?7 - ?4 AS old FROM kept
             )
             SELECT row, principal, created_us, bytes, NOT old AND writing, thinned FROM surplus
             WHERE (?9 IS NULL OR principal = ?9) AND (old
                OR (NOT writing AND (place > ?1 OR total > ?2) AND place > 1)
                OR (NOT writing AND total_in_all > ?3 AND place_in_all > 1)
                OR (writing AND thinned = 0 AND total > ?5)
                OR (writing AND thinned = 1 AND total > ?8))
             -- Results of reads go before those of writes.
             ORDER BY NOT old AND writing AND thinned, created_us, row LIMIT ?6"
        ))?
        .query_map(
            params![
                signed(retention.executions),
                signed(retention.bytes),
                signed(retention.bytes_in_all),
                signed(retention.age_us),
                signed(retention.writing.reads),
                STEP_EXECUTIONS,
                now_us,
                signed(retention.writing.results),
                principal,
            ],
            |row| {
                Ok(Surplus {
                    row: row.get(0)?,
                    principal: row.get(1)?,
                    created_us: row.get(2)?,
                    bytes: row.get(3)?,
                    thinned: match (row.get::<_, bool>(4)?, row.get::<_, i64>(5)?) {
                        (false, _) => None,
                        (true, 0) => Some(Thinned::Reads),
                        (true, _) => Some(Thinned::Results),
                    },
                })
            },
        )?
        .collect()
}

fn remove(transaction: &Transaction<'_>, row: i64) -> rusqlite::Result<()> {
    for sql in [
        "DELETE FROM journal WHERE execution = ?1",
        "DELETE FROM held WHERE execution = ?1",
        "DELETE FROM start WHERE execution = ?1",
        "DELETE FROM execution WHERE row = ?1",
    ] {
        transaction.prepare_cached(sql)?.execute([row])?;
    }
    Ok(())
}

/// Returns free pages to the file system; returns whether there are more.
fn give_back(connection: &Connection) -> rusqlite::Result<bool> {
    let free = |connection: &Connection| {
        connection.query_row("PRAGMA freelist_count", [], |row| row.get::<_, u32>(0))
    };
    if free(connection)? <= STEP_PAGES {
        return Ok(false);
    }
    // Each step of the statement frees one page, so it has to be run to its end.
    let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({STEP_PAGES})"))?;
    let mut steps = statement.query(params![])?;
    while steps.next()?.is_some() {}
    drop(steps);
    Ok(free(connection)? > STEP_PAGES)
}

fn signed(bound: u64) -> i64 {
    i64::try_from(bound).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::schema;

    const BOUNDS: JournalBounds = JournalBounds {
        reads: 1_000_000,
        results: 1_000_000,
        records: 1_000_000,
    };
    const WIDE: Retention = Retention {
        executions: 100,
        bytes: 1_000_000,
        bytes_in_all: 1_000_000,
        writing: BOUNDS,
        age_us: 1_000_000,
        artifacts: ArtifactBounds::FILE,
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

    /// Prunes until nothing is removed; returns the ids that remain.
    fn left(connection: &mut Connection, retention: Retention) -> Vec<i64> {
        while prune(connection, &retention, 0, None).unwrap() {}
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
    fn executions_within_the_bounds_stay() {
        let mut connection = database(&["completed"; 20]);
        assert_eq!(left(&mut connection, WIDE).len(), 20);
    }

    #[test]
    fn the_oldest_are_removed_above_the_count_or_the_size() {
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
    fn running_executions_stay_and_unreconciled_ones_are_removed_by_age_alone() {
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

    /// Gives executions to principals, one letter each.
    fn owned(connection: &Connection, principals: &str) {
        for (number, principal) in principals.chars().enumerate() {
            connection
                .execute(
                    "UPDATE execution SET principal = ?2 WHERE id = CAST(?1 AS TEXT)",
                    rusqlite::params![number as i64, principal.to_string()],
                )
                .unwrap();
        }
    }

    #[test]
    fn a_principal_removes_its_own_executions_and_none_of_another() {
        let few = Retention {
            executions: 3,
            ..WIDE
        };
        let small = Retention { bytes: 39, ..WIDE };
        for retention in [few, small] {
            let mut connection = database(&["completed"; 10]);
            owned(&connection, "aabbbbbbbb");
            assert_eq!(left(&mut connection, retention), [0, 1, 7, 8, 9]);
            let removed = removed::list(&connection).unwrap();
            assert_eq!(removed.len(), 1);
            let it = &removed[0];
            assert_eq!(
                (it.principal.as_str(), it.executions, it.bytes),
                ("b", 5, 50)
            );
            assert_eq!((it.first_us, it.last_us), (200, 600));
        }
        // All together are bounded after that.
        let mut connection = database(&["completed"; 10]);
        owned(&connection, "abcdefghij");
        let little = Retention {
            bytes_in_all: 39,
            ..WIDE
        };
        assert_eq!(left(&mut connection, little), [7, 8, 9]);
    }

    #[test]
    fn an_execution_that_called_a_tool_which_only_reads_by_its_hint_goes_by_age_alone() {
        let mut connection = database(&["completed"; 6]);
        connection
            .execute(
                "UPDATE execution SET reads = 1 WHERE CAST(id AS INTEGER) IN (0, 2)",
                [],
            )
            .unwrap();
        let one = Retention {
            executions: 1,
            bytes: 1,
            bytes_in_all: 1,
            ..WIDE
        };
        // Of those that called no tool, the newest is left.
        assert_eq!(left(&mut connection, one), [0, 2, 5]);
        let recent = Retention {
            age_us: 350,
            ..WIDE
        };
        assert_eq!(left(&mut connection, recent), [2, 5]);
    }

    #[test]
    fn on_a_small_disk_a_principal_loses_old_executions_of_its_own_alone() {
        let mut connection = database(&["completed"; 10]);
        owned(&connection, "aaaaabbbbb");
        // 120 bytes for journals: 30 of those that may be removed.
        let small = WIDE.within(Some(120));
        while prune(&mut connection, &small, 0, Some("b")).unwrap() {}
        assert_eq!(left(&mut connection, WIDE), [0, 1, 2, 3, 4, 7, 8, 9]);
        let held = held(&connection).unwrap();
        assert_eq!((held["a"], held["b"]), (50, 30));
        // The control: on a large disk nothing is removed.
        let large = WIDE.within(Some(u64::MAX));
        assert!(!prune(&mut connection, &large, 0, Some("a")).unwrap());
    }

    #[test]
    fn an_execution_that_wrote_goes_by_age_alone_and_loses_the_results_of_its_reads_before() {
        let mut connection = database(&["completed"; 6]);
        connection
            .execute_batch(
                "UPDATE execution SET writes = 1 WHERE CAST(id AS INTEGER) < 4;
                 INSERT INTO journal (execution, doubt, entry) SELECT row, 1, 'write' FROM execution;
                 INSERT INTO journal (execution, outcome, entry) SELECT row, 1, 'written' FROM execution;
                 INSERT INTO journal (execution, outcome, entry) SELECT row, 2, 'read' FROM execution;",
            )
            .unwrap();
        let tight = Retention {
            executions: 1,
            bytes: 1,
            writing: JournalBounds {
                reads: 20,
                ..BOUNDS
            },
            ..WIDE
        };
        while prune(&mut connection, &tight, 0, None).unwrap() {}
        let count = |sql: &str| -> i64 { connection.query_row(sql, [], |row| row.get(0)).unwrap() };
        assert_eq!(count("SELECT count(*) FROM execution"), 5);
        assert_eq!(count("SELECT count(*) FROM execution WHERE writes = 1"), 4);
        assert_eq!(
            count("SELECT count(*) FROM journal WHERE entry = 'write'"),
            5
        );
        assert_eq!(
            count("SELECT count(*) FROM journal WHERE entry = 'written'"),
            5
        );
        assert!(count("SELECT count(*) FROM journal WHERE entry = 'read'") < 5);
        assert!(count("SELECT sum(thinned) FROM removed") > 0);
        let recent = Retention {
            age_us: 250,
            ..tight
        };
        while prune(&mut connection, &recent, 0, None).unwrap() {}
        let count = |sql: &str| -> i64 { connection.query_row(sql, [], |row| row.get(0)).unwrap() };
        assert_eq!(count("SELECT count(*) FROM execution WHERE writes = 1"), 1);
    }

    #[test]
    fn results_of_writes_go_after_those_of_reads_and_the_record_of_the_write_stays_for_its_month() {
        let mut connection = database(&["completed"; 4]);
        let outcome = |id: u32| {
            format!(
                r#"{{"outcome":{{"id":{id},"result":{{"Ok":"{}"}},"took_us":1}}}}"#,
                "x".repeat(10_000)
            )
        };
        for (outcome, id) in [(outcome(1), 1), (outcome(2), 2)] {
            connection
                .execute(
                    "INSERT INTO journal (execution, outcome, entry) SELECT row, ?1, ?2 FROM execution",
                    rusqlite::params![id, outcome],
                )
                .unwrap();
        }
        connection
            .execute_batch(
                "UPDATE execution SET writes = 1;
                 INSERT INTO journal (execution, doubt, entry) SELECT row, 1, 'write' FROM execution;
                 UPDATE execution SET bytes = 20000",
            )
            .unwrap();
        let count = |connection: &Connection, sql: &str| -> i64 {
            connection.query_row(sql, [], |row| row.get(0)).unwrap()
        };
        let whole = "SELECT count(*) FROM journal WHERE entry LIKE '{\"outcome\"%'";
        let cut = "SELECT count(*) FROM journal WHERE entry LIKE '{\"removed\"%'";
        // The oldest loses the results of its reads, and that is enough.
        let reads = Retention {
            writing: JournalBounds {
                reads: 60_000,
                ..BOUNDS
            },
            ..WIDE
        };
        while prune(&mut connection, &reads, 0, None).unwrap() {}
        assert_eq!((count(&connection, whole), count(&connection, cut)), (7, 0));
        assert_eq!(count(&connection, "SELECT max(thinned) FROM execution"), 1);
        // Everything that may go is gone, and what was written is still on record.
        let nothing = Retention {
            writing: JournalBounds {
                reads: 1,
                results: 1,
                records: 1_000,
            },
            ..WIDE
        };
        while prune(&mut connection, &nothing, 0, None).unwrap() {}
        assert_eq!((count(&connection, whole), count(&connection, cut)), (0, 4));
        assert_eq!(count(&connection, "SELECT min(thinned) FROM execution"), 2);
        let written = "SELECT count(*) FROM journal WHERE entry = 'write'";
        assert_eq!(count(&connection, written), 4);
        let removed = removed::list(&connection).unwrap();
        assert_eq!((removed[0].executions, removed[0].thinned), (0, 4));
        assert!((70_000..80_000).contains(&removed[0].bytes), "{removed:?}");
        // Within its last bound the principal goes on; above it is named, until its records are a month old.
        assert!(full(&connection, &nothing).unwrap().is_empty());
        let less = Retention {
            writing: JournalBounds {
                records: 100,
                ..nothing.writing
            },
            ..nothing
        };
        let named = full(&connection, &less).unwrap();
        assert_eq!(named.len(), 1);
        assert!((100..1_000).contains(&named[""]), "{named:?}");
        while prune(&mut connection, &less, less.age_us + 150, None).unwrap() {}
        assert_eq!(count(&connection, written), 2);
        while prune(&mut connection, &less, less.age_us + 1_000, None).unwrap() {}
        assert_eq!(count(&connection, written), 0);
        assert!(full(&connection, &less).unwrap().is_empty());
    }

    #[test]
    fn the_space_of_a_large_execution_is_given_back_also_when_it_is_the_only_one_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.db");
        let mut connection = Connection::open(&path).unwrap();
        schema::configure(&connection).unwrap();
        schema::migrate(&mut connection, &path).unwrap();
        for number in 0..2 {
            connection
                .execute(
                    "INSERT INTO execution (id, principal, origin, guest_hash, owner, created_us,
                         status, title, bytes) VALUES (?1, '', '', '', '', ?1, 'completed', '', 64 << 20)",
                    [number],
                )
                .unwrap();
            connection
                .execute_batch(
                    "INSERT INTO start (execution, start) SELECT max(row), '{}' FROM execution;
                     INSERT INTO journal (execution, entry)
                         SELECT max(row), hex(zeroblob(32 << 20)) FROM execution",
                )
                .unwrap();
        }
        let pages = |connection: &Connection| -> u32 {
            connection
                .query_row("PRAGMA page_count", [], |row| row.get(0))
                .unwrap()
        };
        let before = pages(&connection);
        let one = Retention {
            bytes: 100 << 20,
            ..WIDE
        };
        while prune(&mut connection, &one, 0, None).unwrap() {}
        let after = pages(&connection);
        assert!(
            after < before / 2 + 2 * STEP_PAGES,
            "{before} pages, now {after}"
        );
    }
}
