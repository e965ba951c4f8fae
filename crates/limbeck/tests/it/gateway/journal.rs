//! Order of the journal on disk relative to calls.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use limbeck_domain::{EffectClass, ExecutionStatus, JournalEntry};
use limbeck_gateway::inner_calls;
use limbeck_policy::{Classes, Policy, Scope};
use limbeck_store::Store;
use limbeck_testkit::{FakeServer, World, run, value_of};
use serde_json::json;

use crate::gateway::worker;

#[tokio::test(flavor = "multi_thread")]
async fn the_intent_of_a_write_is_readable_from_disk_while_the_server_handles_the_call() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    let store = Store::open(&path).unwrap();
    let seen: Arc<Mutex<Vec<(usize, usize)>>> = Arc::default();
    let (reader_path, witness) = (path.clone(), Arc::clone(&seen));
    let t = FakeServer::new("t")
        .tool("write", Some(false), move |_| {
            let (path, witness) = (reader_path.clone(), Arc::clone(&witness));
            Box::pin(async move {
                // Another connection sees only what was committed.
                let other = Store::open(&path).unwrap();
                let rows = other.executions(1, None).await.unwrap();
                let calls = inner_calls(&other.journal(&rows[0].id).await.unwrap());
                let open = calls.iter().filter(|call| call.result.is_none()).count();
                witness.lock().unwrap().push((calls.len(), open));
                json!({"content": []})
            })
        })
        .share();
    let gateway = World::new(worker()).server(&t).store(store).start().await;
    let envelope = run(
        &gateway,
        "await tools.t.write({}); await tools.t.write({}); return 1",
    )
    .await;
    assert_eq!(value_of(&envelope), json!(1));
    // Call 1 open; then call 1 with its outcome and call 2 open.
    assert_eq!(*seen.lock().unwrap(), [(1, 1), (2, 1)]);
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_journal_holds_every_call_with_effect_outcome_and_order() {
    let t = FakeServer::new("t")
        .read("get", |_| json!("got"))
        .write("put", |_| json!("put"))
        .share();
    let gateway = World::new(worker()).server(&t).start().await;
    let envelope = run(
        &gateway,
        "await tools.t.get({ a: 1 }); await tools.t.put({}); await tools.t.nope({}).catch(() => 0); await store.get('k'); return 1",
    )
    .await;
    let id = &envelope.execution_id;
    let journal = gateway.store().journal(id).await.unwrap();
    let calls = inner_calls(&journal);
    let summary: Vec<_> = calls
        .iter()
        .map(|call| {
            (
                call.label(),
                call.effect,
                call.sent,
                call.result.as_ref().unwrap().is_ok(),
            )
        })
        .collect();
    assert_eq!(
        summary,
        [
            ("t.get".to_owned(), EffectClass::Read, true, true),
            ("t.put".to_owned(), EffectClass::Write, true, true),
            ("tool".to_owned(), EffectClass::Read, false, false),
            ("store.get".to_owned(), EffectClass::Read, false, true),
        ]
    );
    assert!(matches!(journal.last(), Some(JournalEntry::Ended { .. })));
    let record = gateway
        .store()
        .execution(id.as_str())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(record.row.status, ExecutionStatus::Completed);
    assert_eq!(record.row.calls, 4);
    gateway.shutdown().await;
}

/// What the journal says of three calls of a tool that hints that it only reads, and the syncs of the run.
async fn three_calls(classes: Classes) -> (Vec<EffectClass>, u64) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("state.db")).unwrap();
    let t = FakeServer::new("t").read("get", |_| json!("got")).share();
    let policy = Policy {
        classes,
        ..Policy::default()
    };
    let gateway = World::new(worker())
        .server(&t)
        .store(store.clone())
        .policy(policy)
        .start()
        .await;
    let before = store.stats().synced;
    let program = "for (let i = 0; i < 3; i++) await tools.t.get({ i }); return 1";
    let envelope = run(&gateway, program).await;
    assert_eq!(value_of(&envelope), json!(1));
    let journal = store.journal(&envelope.execution_id).await.unwrap();
    let calls = inner_calls(&journal);
    let effects: Vec<_> = calls.iter().map(|call| call.effect).collect();
    let synced = store.stats().synced - before;
    let sent = envelope.effects.unwrap();
    let writes = effects.iter().filter(|effect| effect.may_write()).count();
    assert_eq!(sent.writes as usize, writes);
    assert_eq!((sent.reads + sent.writes) as usize, effects.len());
    gateway.shutdown().await;
    (effects, synced)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_of_no_class_is_recorded_as_a_write_whatever_its_server_says() {
    let (effects, synced) = three_calls(Classes::default()).await;
    assert_eq!(effects, [EffectClass::Unknown; 3]);
    // An intent and an outcome each, before the next call.
    assert!(synced >= 6, "{synced} syncs");

    // The controls: reads by the operator's word, and by that of a server that the operator trusts.
    let scope = Scope::parse(["t.get"]).unwrap();
    let by_operator = Classes::new(vec![(scope, EffectClass::Read)], HashSet::new()).unwrap();
    let by_server = Classes::new(Vec::new(), HashSet::from(["t".into()])).unwrap();
    for classes in [by_operator, by_server] {
        let (effects, synced) = three_calls(classes).await;
        assert_eq!(effects, [EffectClass::Read; 3]);
        assert!(synced < 6, "{synced} syncs");
    }
}
