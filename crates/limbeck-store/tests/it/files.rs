//! The state file: ownership, permissions, damage and migration.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use limbeck_domain::ExecutionStatus;
use limbeck_store::{Store, StoreError};

use crate::{SUMMARY, envelope, id, new_execution, sandbox};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

async fn store_something(path: &Path) {
    let store = Store::open(path).unwrap();
    store.begin(new_execution("ex_1", 1)).await.unwrap();
    let ended = envelope("ex_1", ExecutionStatus::Completed);
    store.finish(&id("ex_1"), &ended, SUMMARY).await.unwrap();
}

#[tokio::test]
async fn the_state_file_is_created_for_its_owner_alone() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a/b/state.db");
    let store = Store::open(&path).unwrap();
    store.begin(new_execution("ex_1", 1)).await.unwrap();
    store.flush().await.unwrap();
    for directory in ["a", "a/b", "a/b/state.db.owners"] {
        assert_eq!(mode(&home.path().join(directory)), 0o700, "{directory}");
    }
    for file in ["state.db", "state.db-wal", "state.db-shm"] {
        assert_eq!(mode(&path.with_file_name(file)), 0o600, "{file}");
    }
    for owner in fs::read_dir(path.with_file_name("state.db.owners")).unwrap() {
        assert_eq!(mode(&owner.unwrap().path()), 0o600);
    }
}

#[tokio::test]
async fn a_file_that_other_users_can_read_loses_those_permissions() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    store_something(&path).await;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    drop(Store::open(&path).unwrap());
    assert_eq!(mode(&path), 0o600);
}

#[tokio::test]
async fn links_special_files_and_writable_directories_are_rejected() {
    let home = tempfile::tempdir().unwrap();
    let real = home.path().join("real.db");
    store_something(&real).await;
    let link = home.path().join("link.db");
    symlink(&real, &link).unwrap();
    let dangling = home.path().join("dangling.db");
    symlink(home.path().join("nowhere.db"), &dangling).unwrap();
    let directory = home.path().join("directory.db");
    fs::create_dir(&directory).unwrap();
    let open = home.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    for (path, problem) in [
        (&link, "is a symbolic link"),
        (&dangling, "is a symbolic link"),
        (&directory, "is not a regular file"),
        (
            &open.join("state.db"),
            "is in a directory that every user can write to",
        ),
    ] {
        let error = Store::open(path).unwrap_err();
        assert!(matches!(error, StoreError::Unsafe { .. }), "{error}");
        assert!(error.to_string().ends_with(problem), "{error}");
        assert!(error.hint().is_some());
    }
    assert!(!home.path().join("nowhere.db").exists());
    // The control: a link on the way to the directory is allowed, and the file opens.
    let way = home.path().join("way");
    symlink(home.path(), &way).unwrap();
    let store = Store::open(&way.join("real.db")).unwrap();
    assert_eq!(store.executions(10, None).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_damaged_file_is_an_error_with_a_hint_and_stays_unchanged() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    store_something(&path).await;
    let whole = fs::read(&path).unwrap();
    let mut scribbled = whole.clone();
    scribbled[100..4_096].fill(0xa5);
    for damaged in [
        b"not a database, but long enough to be read as one".repeat(100),
        scribbled,
    ] {
        fs::write(&path, &damaged).unwrap();
        let error = Store::open(&path).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
        let hint = error.hint().unwrap();
        assert!(
            hint.contains("mv '") && hint.contains("state.db.damaged'"),
            "{hint}"
        );
        assert_eq!(fs::read(&path).unwrap(), damaged, "the file was changed");
    }
    fs::write(&path, &whole).unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!(store.executions(10, None).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_record_that_cannot_be_decoded_is_reported_as_damage() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    store_something(&path).await;
    let other = rusqlite::Connection::open(&path).unwrap();
    other
        .execute("UPDATE journal SET entry = '{\"ended\":{}}'", [])
        .unwrap();
    let store = Store::open(&path).unwrap();
    let error = store.journal(&id("ex_1")).await.unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(store.execution("ex_1").await.is_err());
    assert_eq!(
        store.executions(10, None).await.unwrap().len(),
        1,
        "the rest is readable"
    );
}

#[tokio::test]
async fn a_newer_format_and_another_programs_database_are_rejected() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    store_something(&path).await;
    let change = |path: &Path, sql: &str| {
        rusqlite::Connection::open(path)
            .unwrap()
            .execute_batch(sql)
            .unwrap();
    };
    let format: i64 = rusqlite::Connection::open(&path)
        .unwrap()
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    let newer = format + 1;
    change(&path, &format!("PRAGMA user_version = {newer}"));
    let error = Store::open(&path).unwrap_err();
    let expected = format!("has format {newer}, this version reads formats up to {format}");
    assert!(error.to_string().ends_with(&expected), "{error}");
    assert!(error.hint().unwrap().starts_with("update Limbeck"));

    change(&path, &format!("PRAGMA user_version = {format}"));
    let store = Store::open(&path).unwrap();
    assert_eq!(store.executions(10, None).await.unwrap().len(), 1);

    let foreign = home.path().join("photos.db");
    change(&foreign, "CREATE TABLE photo (name TEXT)");
    let error = Store::open(&foreign).unwrap_err();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
}

#[tokio::test]
async fn an_older_format_is_migrated_and_keeps_its_executions() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    store_something(&path).await;
    // What format 1 was.
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch(
            "DROP TABLE tool_pin; DROP TABLE pinned_server; DROP TABLE pin_change;
             ALTER TABLE start DROP COLUMN sandbox; DROP TABLE content; DROP TABLE artifact;
             DROP TABLE ledger; DROP TABLE listing; DROP TABLE observed;
             DROP TABLE embedding; DROP TABLE held; DROP TABLE removed; DROP TABLE kv_total;
             DROP TRIGGER kv_added; DROP TRIGGER kv_changed; DROP TRIGGER kv_removed;
             DROP INDEX kv_used; ALTER TABLE kv DROP COLUMN used_us;
             DROP TRIGGER audit_start; DROP TRIGGER audit_status; DROP TRIGGER audit_entry;
             DROP TABLE audit_note; DROP TABLE audit; DROP TABLE audit_principal;
             DROP TABLE audit_removed;
             DROP TABLE approval; DROP TABLE approval_change; DROP TABLE remembered; DROP TABLE denied; DROP TABLE skill; DROP TABLE audit_detail;
             DROP TRIGGER budget_run_ended; DROP TRIGGER budget_run_removed; DROP TABLE budget_use;
             DROP INDEX execution_paused; DROP INDEX execution_expiry; DROP INDEX execution_wake;
             ALTER TABLE execution DROP COLUMN wakes; DROP TABLE sealing_key; DROP TABLE used_state;
             ALTER TABLE execution DROP COLUMN epoch; ALTER TABLE execution DROP COLUMN wake_us;
             ALTER TABLE execution DROP COLUMN expires_us;
             ALTER TABLE execution DROP COLUMN wall_left_ms;
             ALTER TABLE execution DROP COLUMN thinned; PRAGMA user_version = 1",
        )
        .unwrap();

    let store = Store::open(&path).unwrap();
    let old = store.execution("ex_1").await.unwrap().unwrap();
    assert_eq!(old.sandbox, None);
    assert_eq!(old.start, new_execution("ex_1", 1).start);
    assert!(old.envelope.is_some());

    store.begin(new_execution("ex_2", 2)).await.unwrap();
    let ended = envelope("ex_2", ExecutionStatus::Completed);
    store.finish(&id("ex_2"), &ended, SUMMARY).await.unwrap();
    let new = store.execution("ex_2").await.unwrap().unwrap();
    assert_eq!(new.sandbox, Some(sandbox()));

    // A gateway of the older version that had the file open writes on as it did.
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch("INSERT INTO start (execution, start) VALUES (77, '{}')")
        .unwrap();
}
