//! Executions: recorded, found by id and listed.

use limbeck_domain::{EffectClass, ErrorKind, ExecutionStatus, JournalEntry};
use limbeck_store::{Store, StoreError};

use crate::{SUMMARY, call, call_numbers, envelope, id, new_execution, outcome, sandbox};

#[tokio::test]
async fn an_execution_comes_back_as_it_was_recorded() {
    let store = Store::in_memory().unwrap();
    store.begin(new_execution("ex_1", 50)).await.unwrap();
    let running = store.execution("ex_1").await.unwrap().unwrap();
    assert_eq!(running.row.status, ExecutionStatus::Running);
    assert!(running.envelope.is_none());

    store
        .append(&id("ex_1"), call(1, EffectClass::Read, true))
        .await
        .unwrap();
    store.append(&id("ex_1"), outcome(1)).await.unwrap();
    let ended = envelope("ex_1", ExecutionStatus::Completed);
    store.finish(&id("ex_1"), &ended, SUMMARY).await.unwrap();

    let record = store.execution("ex_1").await.unwrap().unwrap();
    assert_eq!(record.start, new_execution("ex_1", 50).start);
    assert_eq!(record.guest_hash, "abc");
    assert_eq!(record.sandbox, Some(sandbox()));
    assert_eq!(record.row.title, "return 1 + 1;");
    assert_eq!(record.row.status, ExecutionStatus::Completed);
    assert_eq!(record.row.took_us, Some(1_500));
    assert_eq!((record.row.calls, record.row.error), (3, None));
    assert_eq!(
        (record.row.effects.reads, record.row.effects.writes),
        (1, 2)
    );
    let back = serde_json::to_string(&record.envelope.unwrap()).unwrap();
    assert_eq!(back, serde_json::to_string(&ended).unwrap());

    let journal = store.journal(&id("ex_1")).await.unwrap();
    assert_eq!(journal.len(), 3);
    assert_eq!(
        serde_json::to_string(&journal[0]).unwrap(),
        serde_json::to_string(&call(1, EffectClass::Read, true)).unwrap()
    );
    assert!(
        matches!(&journal[1], JournalEntry::Outcome { result: Ok(text), .. } if text == r#"{"number":1}"#)
    );
    assert!(matches!(journal[2], JournalEntry::Ended { .. }));
}

#[tokio::test]
async fn a_program_with_an_error_is_listed_with_its_kind() {
    let store = Store::in_memory().unwrap();
    store.begin(new_execution("ex_1", 50)).await.unwrap();
    let ended = envelope("ex_1", ExecutionStatus::Failed);
    store.finish(&id("ex_1"), &ended, SUMMARY).await.unwrap();

    let rows = store.executions(10, None).await.unwrap();
    assert_eq!(rows[0].status, ExecutionStatus::Failed);
    assert_eq!(rows[0].error, Some(ErrorKind::Exception));
}

#[tokio::test]
async fn a_journal_keeps_the_order_it_was_written_in() {
    let store = Store::in_memory().unwrap();
    store.begin(new_execution("ex_a", 1)).await.unwrap();
    store.begin(new_execution("ex_b", 2)).await.unwrap();
    for number in 1..=2_000 {
        for name in ["ex_a", "ex_b"] {
            let entry = call(number, EffectClass::Write, true);
            if number % 100 == 0 {
                store.append_durable(&id(name), entry).await.unwrap();
            } else {
                store.append(&id(name), entry).await.unwrap();
            }
        }
    }
    let expected: Vec<u32> = (1..=2_000).collect();
    for name in ["ex_a", "ex_b"] {
        let journal = store.journal(&id(name)).await.unwrap();
        assert_eq!(call_numbers(&journal), expected);
    }
}

#[tokio::test]
async fn a_result_of_24_mb_is_stored_whole() {
    let store = Store::in_memory().unwrap();
    store.begin(new_execution("ex_1", 1)).await.unwrap();
    let body = format!("\"{}\"", "x\\n".repeat(8 << 20));
    let entry = JournalEntry::Outcome {
        id: limbeck_domain::CallId(1),
        result: Ok(body.clone()),
        took_us: 1,
        not_sent: false,
    };
    store.append_durable(&id("ex_1"), entry).await.unwrap();

    let journal = store.journal(&id("ex_1")).await.unwrap();
    assert!(matches!(&journal[0], JournalEntry::Outcome { result: Ok(text), .. } if *text == body));
}

#[tokio::test]
async fn an_id_is_found_by_a_prefix_that_only_one_execution_has() {
    let store = Store::in_memory().unwrap();
    for (name, created) in [("ex_01aa", 1), ("ex_01ab", 2), ("ex_02", 3), ("ex_02_1", 4)] {
        store.begin(new_execution(name, created)).await.unwrap();
    }
    let found = async |text: &str| {
        let found = store.execution(text).await.unwrap();
        found.map(|record| record.row.id.to_string())
    };
    assert_eq!(found("ex_01aa").await.as_deref(), Some("ex_01aa"));
    assert_eq!(found("ex_01ab").await.as_deref(), Some("ex_01ab"));
    assert_eq!(found("01ab").await.as_deref(), Some("ex_01ab"));
    assert_eq!(
        found("ex_02").await.as_deref(),
        Some("ex_02"),
        "exact wins over prefix"
    );
    assert_eq!(found("ex_03").await, None);
    assert_eq!(found("").await, None);
    assert_eq!(found("%").await, None, "no wildcard");

    let error = store.execution("ex_01").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "`ex_01` matches several executions: ex_01ab, ex_01aa"
    );
    assert!(store.execution("02").await.is_err(), "two begin with it");
}

#[tokio::test]
async fn executions_are_listed_newest_first_and_in_pages() {
    let store = Store::in_memory().unwrap();
    for number in 0..25_u64 {
        let name = format!("ex_{number:02}");
        // Two at a time share a moment; the id orders those.
        store.begin(new_execution(&name, number / 2)).await.unwrap();
    }
    let mut seen = Vec::new();
    let mut before = None;
    loop {
        let page = store.executions(10, before.as_ref()).await.unwrap();
        let Some(last) = page.last() else { break };
        before = Some(last.id.clone());
        seen.extend(page.into_iter().map(|row| row.id.to_string()));
    }
    let expected: Vec<String> = (0..25).rev().map(|n| format!("ex_{n:02}")).collect();
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn an_entry_of_an_execution_that_was_never_begun_is_rejected() {
    let store = Store::in_memory().unwrap();
    let entry = || call(1, EffectClass::Write, true);
    let error = store
        .append_durable(&id("ex_1"), entry())
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::UnknownExecution { .. }));

    store.begin(new_execution("ex_2", 1)).await.unwrap();
    store.append_durable(&id("ex_2"), entry()).await.unwrap();
}

#[tokio::test]
async fn only_the_end_may_follow_a_gap_in_a_journal() {
    let store = Store::in_memory().unwrap();
    // The entry comes before its execution, so it cannot be stored; no caller waits for it.
    store
        .append(&id("ex_1"), call(1, EffectClass::Read, true))
        .await
        .unwrap();
    store.begin(new_execution("ex_1", 1)).await.unwrap();

    let entry = call(2, EffectClass::Write, true);
    let error = store.append_durable(&id("ex_1"), entry).await.unwrap_err();
    assert!(
        matches!(error, StoreError::JournalIncomplete { .. }),
        "{error}"
    );

    let ended = envelope("ex_1", ExecutionStatus::Failed);
    store.finish(&id("ex_1"), &ended, SUMMARY).await.unwrap();
    let rows = store.executions(1, None).await.unwrap();
    assert_eq!(rows[0].status, ExecutionStatus::Failed);
}

#[tokio::test]
async fn an_execution_id_cannot_begin_twice() {
    let store = Store::in_memory().unwrap();
    store.begin(new_execution("ex_1", 1)).await.unwrap();
    let mut other = new_execution("ex_1", 9);
    other.principal = "another principal".to_owned();
    store.begin(other).await.unwrap();

    let entry = call(1, EffectClass::Write, true);
    assert!(store.append_durable(&id("ex_1"), entry).await.is_err());
    let record = store.execution("ex_1").await.unwrap().unwrap();
    assert_eq!(
        (record.row.principal.as_str(), record.row.created_us),
        ("local", 1)
    );
}

#[tokio::test]
async fn a_finished_execution_is_visible_to_every_process_at_once() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    let gateway = Store::open(&path).unwrap();
    let other = Store::open(&path).unwrap();
    for number in 0..50 {
        let name = format!("ex_{number}");
        gateway.begin(new_execution(&name, number)).await.unwrap();
        let read = call(1, EffectClass::Read, true);
        gateway.append(&id(&name), read).await.unwrap();
        let ended = envelope(&name, ExecutionStatus::Completed);
        gateway.finish(&id(&name), &ended, SUMMARY).await.unwrap();
        let seen = other.execution(&name).await.unwrap().unwrap();
        assert_eq!(seen.row.status, ExecutionStatus::Completed);
        let journal = other.journal(&id(&name)).await.unwrap();
        assert_eq!(journal.len(), 2, "the call and the end");
    }
}
