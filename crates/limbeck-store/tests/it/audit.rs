//! The audit trail: a record for each change, and each damage found.

use limbeck_domain::{ApprovalChannel, ApprovalDecision, EffectClass, ExecutionStatus};
use limbeck_store::{
    AuditErasure, AuditEvent, AuditEventKind, AuditFault, AuditFilter, Store, StoreOptions,
    check_extract,
};
use rusqlite::Connection;
use serde_json::Value;

use crate::approvals::{ap, approval};
use crate::{SUMMARY, call, envelope, id, new_execution, outcome};

const ALL: AuditFilter = AuditFilter {
    after: 0,
    principal: None,
    execution: None,
    newest: false,
    limit: 1_000,
};

/// One execution with a call, a question and its answer.
async fn one_execution(store: &Store, name: &str) {
    let execution = id(name);
    store.begin(new_execution(name, 1)).await.unwrap();
    store
        .append_durable(&execution, call(1, EffectClass::Write, true))
        .await
        .unwrap();
    store.append_durable(&execution, outcome(1)).await.unwrap();
    let (entry, question) = approval(&format!("ap_{name}"), name, 2);
    store
        .ask(&execution, vec![(entry, question)])
        .await
        .unwrap();
    let decision = ApprovalDecision {
        approve: true,
        by: "user:anna".to_owned(),
        channel: ApprovalChannel::Cli,
        reason: None,
        edited: None,
        lines: None,
        stop: false,
        remember: None,
        remembered: None,
        at_us: 20,
    };
    store
        .decide(&ap(&format!("ap_{name}")), decision)
        .await
        .unwrap();
    store
        .finish(
            &execution,
            &envelope(name, ExecutionStatus::Completed),
            SUMMARY,
        )
        .await
        .unwrap();
}

async fn records(store: &Store, filter: &AuditFilter) -> Vec<Value> {
    let lines = store.audit(filter).await.unwrap();
    let parsed = lines.iter().map(|line| serde_json::from_str(line));
    parsed.map(Result::unwrap).collect()
}

fn events(records: &[Value]) -> Vec<&str> {
    let events = records.iter().map(|record| record["event"].as_str());
    events.map(Option::unwrap).collect()
}

#[tokio::test]
async fn each_step_of_an_execution_has_its_record_and_no_argument_is_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&directory.path().join("state.db")).unwrap();
    one_execution(&store, "ex_1").await;
    let records = records(&store, &ALL).await;
    assert_eq!(
        events(&records),
        [
            "start", "intent", "outcome", "ask", "decide", "withdraw", "end"
        ]
    );
    let intent = &records[1];
    assert_eq!(intent["principal"], "local");
    assert_eq!(
        (&intent["server"], &intent["tool"], &intent["class"]),
        (&"github".into(), &"create_issue".into(), &"write".into())
    );
    assert_eq!(intent["arguments"]["bytes"], 20);
    assert_eq!(records[4]["approver"], "user:anna");
    assert_eq!(records[6]["status"], "completed");
    let text = serde_json::to_string(&records).unwrap();
    assert!(!text.contains("title"), "{text}");
    let checked = store.check_audit().await.unwrap();
    assert!(checked.ok);
    assert_eq!(checked.records, 7);
}

#[tokio::test]
async fn an_extract_has_the_records_of_one_principal_and_verifies_alone() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&directory.path().join("state.db")).unwrap();
    for (name, principal) in [("ex_1", "a"), ("ex_2", "b"), ("ex_3", "a")] {
        let mut new = new_execution(name, 1);
        new.principal = principal.to_owned();
        store.begin(new).await.unwrap();
        store
            .finish(
                &id(name),
                &envelope(name, ExecutionStatus::Completed),
                SUMMARY,
            )
            .await
            .unwrap();
    }
    let of = |principal: &str| AuditFilter {
        principal: Some(principal.to_owned()),
        ..ALL
    };
    let lines = store.audit(&of("a")).await.unwrap();
    assert_eq!(lines.len(), 4);
    let checked = check_extract(lines.join("\n").as_bytes()).unwrap();
    assert!(checked.check.ok);
    let mut shorter = lines.clone();
    shorter.remove(1);
    let checked = check_extract(shorter.join("\n").as_bytes()).unwrap();
    assert_eq!(
        checked.check.first_bad.map(|fault| fault.kind.as_str()),
        Some("missing")
    );

    let newest = AuditFilter {
        newest: true,
        limit: 1,
        ..ALL
    };
    assert_eq!(events(&records(&store, &newest).await), ["end"]);
    let one = AuditFilter {
        execution: Some(id("ex_2")),
        ..ALL
    };
    assert_eq!(events(&records(&store, &one).await), ["start", "end"]);
}

#[tokio::test]
async fn damage_is_found_at_its_record_and_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let store = Store::open(&path).unwrap();
    one_execution(&store, "ex_1").await;
    one_execution(&store, "ex_2").await;
    drop(store);
    let whole = std::fs::read(&path).unwrap();
    let swap = "UPDATE audit SET seq = -1 WHERE seq = 5; UPDATE audit SET seq = 5 WHERE seq = 6;
                UPDATE audit SET seq = 6 WHERE seq = -1";
    let insertion = "UPDATE audit SET seq = seq + 1000 WHERE seq > 4;
                     INSERT INTO audit SELECT 5, principal, line, hash, salt FROM audit WHERE seq = 4;
                     UPDATE audit SET seq = seq - 999 WHERE seq > 1000";
    for (damage, expected) in [
        ("SELECT 1", None),
        (
            "UPDATE audit SET line = replace(line, 'intent', 'inteut') WHERE seq = 2",
            Some((2, "edited")),
        ),
        (
            "UPDATE audit SET hash = zeroblob(32) WHERE seq = 3",
            Some((3, "edited")),
        ),
        (
            "UPDATE audit SET hash = x'00' WHERE seq = 3",
            Some((3, "edited")),
        ),
        ("DELETE FROM audit WHERE seq = 4", Some((4, "missing"))),
        ("DELETE FROM audit WHERE seq = 1", Some((1, "missing"))),
        (swap, Some((5, "reordered"))),
        (insertion, Some((5, "reordered"))),
        ("DELETE FROM audit WHERE seq > 12", Some((13, "truncated"))),
        ("DELETE FROM audit", Some((1, "truncated"))),
    ] {
        std::fs::write(&path, &whole).unwrap();
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(damage).unwrap();
        drop(connection);
        let store = Store::open(&path).unwrap();
        let checked = store.check_audit().await.unwrap();
        drop(store);
        let found = |fault: AuditFault| (fault.seq, fault.kind.as_str());
        assert_eq!(checked.first_bad.map(found), expected, "{damage}");
        assert_eq!(checked.ok, expected.is_none());
    }
}

#[tokio::test]
async fn a_chain_that_was_written_anew_is_not_the_one_that_was_noted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let other = directory.path().join("other.db");
    for path in [&path, &other] {
        let store = Store::open(path).unwrap();
        one_execution(&store, "ex_1").await;
    }
    // Salts and times differ, so another store with the same events has another chain.
    std::fs::copy(&other, &path).unwrap();
    let store = Store::open(&path).unwrap();
    let checked = store.check_audit().await.unwrap();
    assert_eq!(
        checked.first_bad.map(|fault| fault.kind.as_str()),
        Some("forked")
    );
}

/// Records of requests by as many principals that none has too many of them.
async fn requests(store: &Store, range: std::ops::Range<u32>) {
    for number in range {
        let principal = format!("user:anna-{}", number / 40);
        let event = AuditEvent {
            arguments: Some(format!("request {number}")),
            ..AuditEvent::new(AuditEventKind::Search, principal)
        };
        store.record(event).await.unwrap();
    }
    store.flush().await.unwrap();
}

#[tokio::test]
async fn records_that_are_removed_are_in_a_segment_that_verifies_and_the_rest_verifies_too() {
    let directory = tempfile::tempdir().unwrap();
    let segments = directory.path().join("segments");
    let options = || StoreOptions {
        audit_records: 100,
        audit_segments: Some(segments.clone()),
        redact: Some(Box::new(|line| line.replace("anna", "[redacted]"))),
        ..StoreOptions::default()
    };
    let path = directory.path().join("state.db");
    let store = Store::open_with(&path, options()).unwrap();
    requests(&store, 0..1_200).await;
    let checked = store.check_audit().await.unwrap();
    assert!(checked.ok, "{checked:?}");
    assert_eq!((checked.first, checked.records), (Some(1_001), 200));
    let segment = std::fs::read(segments.join("audit-000000000001.jsonl")).unwrap();
    let extract = check_extract(segment.as_slice()).unwrap();
    assert!(extract.check.ok, "{extract:?}");
    assert_eq!(extract.range(), Some((1, 1_000)));
    let text = String::from_utf8(segment).unwrap();
    assert!(text.contains("user:[redacted]") && !text.contains("anna"));

    // Where they cannot be written they stay.
    drop(store);
    std::fs::remove_dir_all(&segments).unwrap();
    std::fs::write(&segments, "a file").unwrap();
    let store = Store::open_with(&path, options()).unwrap();
    requests(&store, 1_200..2_400).await;
    let checked = store.check_audit().await.unwrap();
    assert_eq!((checked.first, checked.records), (Some(1_001), 1_400));
}

#[tokio::test]
async fn the_reason_of_a_decision_is_beside_its_record_and_can_be_erased() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&directory.path().join("state.db")).unwrap();
    let execution = id("ex_1");
    store.begin(new_execution("ex_1", 1)).await.unwrap();
    let (entry, question) = approval("ap_1", "ex_1", 2);
    store
        .ask(&execution, vec![(entry, question)])
        .await
        .unwrap();
    let decision = ApprovalDecision {
        approve: false,
        by: "user:anna".to_owned(),
        channel: ApprovalChannel::Cli,
        reason: Some("not for Bob".to_owned()),
        edited: None,
        lines: None,
        stop: false,
        remember: None,
        remembered: None,
        at_us: 20,
    };
    store.decide(&ap("ap_1"), decision).await.unwrap();
    let lines = store.audit(&ALL).await.unwrap();
    assert!(check_extract(lines.join("\n").as_bytes()).unwrap().check.ok);
    let decided: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    assert_eq!(decided["detail"]["reason"], "not for Bob");
    assert_eq!(decided["reason"]["bytes"], "not for Bob".len());
    let other = lines.join("\n").replace("not for Bob", "not for Eve");
    assert!(!check_extract(other.as_bytes()).unwrap().check.ok);

    let of_execution = AuditErasure {
        execution: Some(execution),
        ..AuditErasure::default()
    };
    assert_eq!(store.erase_audit(of_execution).await.unwrap(), 2);
    let lines = store.audit(&ALL).await.unwrap().join("\n");
    assert!(!lines.contains("Bob"), "{lines}");
    assert!(check_extract(lines.as_bytes()).unwrap().check.ok);
    assert!(store.check_audit().await.unwrap().ok);
}
