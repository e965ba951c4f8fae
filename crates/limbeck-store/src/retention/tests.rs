//! Retention on a database in memory, whose rows the tests write themselves.

mod texts;

use std::path::Path;

use limbeck_domain::ArtifactId;

use super::*;
use crate::records::NewArtifact;
use crate::schema;
use crate::tables::artifacts::ArtifactBounds;

const BOUNDS: JournalBounds = JournalBounds {
    reads: 1_000_000,
    results: 1_000_000,
    arguments: 1_000_000,
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
fn running_executions_and_those_with_a_call_in_doubt_stay_however_old_they_are() {
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
    assert_eq!(left(&mut database(&statuses), recent), [0, 1, 3, 4, 5]);
}

#[test]
fn a_paused_execution_is_neither_removed_nor_made_smaller_and_its_bytes_count() {
    let statuses = ["paused", "paused", "completed", "completed"];
    let mut connection = database(&statuses);
    connection
        .execute_batch(
            "UPDATE execution SET writes = 1 WHERE id = '0';
             INSERT INTO approval (id, execution, call, state, created_us, expires_us, principal, body)
                 SELECT id, row, 1, 'pending', 0, 0, '', '{}' FROM execution",
        )
        .unwrap();
    let nothing = Retention {
        executions: 1,
        bytes: 1,
        bytes_in_all: 1,
        writing: JournalBounds {
            reads: 1,
            results: 1,
            arguments: 1,
            records: 1,
        },
        age_us: 1,
        ..WIDE
    };
    left(&mut connection, nothing);
    let full = full(&connection, &nothing).unwrap();
    let count = |sql: &str| -> i64 { connection.query_row(sql, [], |row| row.get(0)).unwrap() };
    // The newest that ended is within its age.
    assert_eq!(
        count("SELECT count(*) FROM execution WHERE status = 'paused'"),
        2
    );
    assert_eq!(count("SELECT count(*) FROM execution"), 3);
    assert_eq!(count("SELECT sum(thinned) FROM execution"), 0);
    assert_eq!(count("SELECT count(*) FROM approval"), 3);
    assert_eq!(full[""], 10);
    assert_eq!(held(&connection).unwrap()[""], 30);
    // The control: once they ended, they go.
    connection
        .execute("UPDATE execution SET status = 'completed'", [])
        .unwrap();
    assert_eq!(left(&mut connection, nothing), [3]);
    let approvals: i64 = connection
        .query_row("SELECT count(*) FROM approval", [], |row| row.get(0))
        .unwrap();
    assert_eq!(approvals, 1);
}

#[test]
fn the_age_of_an_execution_that_was_paused_for_long_counts_from_its_end() {
    let mut connection = database(&["completed"; 4]);
    connection
        .execute("UPDATE execution SET took_us = 200 WHERE id = '0'", [])
        .unwrap();
    let recent = Retention {
        age_us: 150,
        ..WIDE
    };
    assert_eq!(left(&mut connection, recent), [0, 2, 3]);
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
fn on_a_small_disk_the_oldest_artifacts_of_a_principal_go_and_those_of_another_stay() {
    let mut connection = database(&["completed"]);
    let transaction = connection.transaction().unwrap();
    for principal in ["a", "b"] {
        for number in 0..10 {
            let new = NewArtifact {
                id: ArtifactId::parse(&format!("art_{number:032x}")).unwrap(),
                media_type: "text/plain".to_owned(),
                name: None,
                content: vec![b'x'; 10],
                created_us: number,
                expires_us: 1_000,
            };
            artifacts::put(&transaction, principal, &new, ArtifactBounds::FILE).unwrap();
        }
    }
    transaction.commit().unwrap();
    // 120 bytes are left: 30 for artifacts.
    let small = WIDE.within(Some(120));
    while prune(&mut connection, &small, 0, Some("a")).unwrap() {}
    let created = |connection: &Connection, principal: &str| -> Vec<u64> {
        let listed = artifacts::list(connection, principal, 0, 100).unwrap();
        listed.iter().map(|it| it.created_us).collect()
    };
    assert_eq!(created(&connection, "a"), [9, 8, 7]);
    assert_eq!(created(&connection, "b").len(), 10);
    let held = held(&connection).unwrap();
    assert_eq!((held["a"], held["b"]), (30, 100));
    // The control: on a large disk none go.
    let large = WIDE.within(Some(u64::MAX));
    assert!(!prune(&mut connection, &large, 0, Some("b")).unwrap());
    assert_eq!(created(&connection, "b").len(), 10);
}

#[test]
fn a_content_counts_once_for_a_principal_with_all_executions_that_read_it() {
    let mut connection = database(&["completed", "completed", "completed", "running"]);
    owned(&connection, "aabb");
    let new = NewArtifact {
        id: ArtifactId::parse(&format!("art_{:032x}", 1)).unwrap(),
        media_type: "text/plain".to_owned(),
        name: None,
        content: vec![b'x'; 100],
        created_us: 0,
        expires_us: 1_000,
    };
    let transaction = connection.transaction().unwrap();
    for principal in ["a", "b"] {
        artifacts::put(&transaction, principal, &new, ArtifactBounds::FILE).unwrap();
    }
    transaction.commit().unwrap();
    // The control: nothing has read it.
    let unread = held(&connection).unwrap();
    assert_eq!((unread["a"], unread["b"]), (20 + 100, 10 + 100));
    connection
        .execute_batch(&format!(
            "INSERT INTO held (execution, id, media_type) SELECT row, '{}', '' FROM execution;
             UPDATE execution SET bytes = bytes + 100 WHERE status <> 'running'",
            new.id.as_str()
        ))
        .unwrap();
    let read = held(&connection).unwrap();
    assert_eq!((read["a"], read["b"]), (120, 110));
    // It counts for its executions when the artifact is gone.
    connection.execute("DELETE FROM artifact", []).unwrap();
    let left = held(&connection).unwrap();
    assert_eq!((left["a"], left["b"]), (120, 110));
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
