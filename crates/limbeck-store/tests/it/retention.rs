//! Retention through the store: no principal removes what another keeps, and what was removed is recorded.

use limbeck_domain::{ArtifactId, EffectClass, Effects, Envelope, ExecutionStatus};
use limbeck_store::{NewArtifact, Store, StoreError};

use crate::{SUMMARY, call, envelope, id, new_execution, outcome};

/// More than are kept of one principal, by two rounds of retention.
const MANY: u64 = 1_100;

async fn ended(store: &Store, principal: &str, name: &str, created_us: u64, writes: u32) {
    let mut new = new_execution(name, created_us);
    principal.clone_into(&mut new.principal);
    store.begin(new).await.unwrap();
    if writes > 0 {
        let write = call(1, EffectClass::Write, true);
        store.append_durable(&id(name), write).await.unwrap();
        store.append_durable(&id(name), outcome(1)).await.unwrap();
    }
    let end = Envelope {
        effects: Some(Effects { reads: 0, writes }),
        ..envelope(name, ExecutionStatus::Completed)
    };
    store.finish(&id(name), &end, SUMMARY).await.unwrap();
}

#[tokio::test]
async fn a_principal_whose_journals_have_their_share_of_the_disk_is_refused_and_another_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&directory.path().join("state.db")).unwrap();
    store.set_disk_floor(0);
    ended(&store, "alice", "ex_1", 1, 1).await;
    // Nothing is left for journals beside those of alice.
    store.set_disk_floor(u64::MAX);
    let second = |name: &str| {
        let mut new = new_execution(name, 2);
        "alice".clone_into(&mut new.principal);
        new
    };
    let error = store.begin(second("ex_2")).await.unwrap_err();
    assert!(matches!(error, StoreError::DiskShare { .. }), "{error}");
    assert!(error.hint().is_some());
    assert!(store.check_share("alice").is_err());
    assert!(store.execution("ex_2").await.unwrap().is_none());
    store.check_share("bob").unwrap();
    ended(&store, "bob", "ex_bob", 3, 0).await;
    assert!(store.execution("ex_bob").await.unwrap().is_some());
    // The control: with space again, the principal goes on, and its write is on record.
    store.set_disk_floor(0);
    store.begin(second("ex_2")).await.unwrap();
    assert!(store.execution("ex_2").await.unwrap().is_some());
    assert!(store.execution("ex_1").await.unwrap().is_some());
}

#[tokio::test]
async fn artifacts_are_in_the_share_of_the_disk_and_are_refused_before_they_are_written() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&directory.path().join("state.db")).unwrap();
    store.set_disk_floor(0);
    // Two, because the store reads what is on disk behind the first: it would replace the count of what is queued.
    store.flush().await.unwrap();
    store.flush().await.unwrap();
    let artifact = |number: u8| NewArtifact {
        id: ArtifactId::parse(&format!("art_{number:032x}")).unwrap(),
        media_type: "text/plain".to_owned(),
        name: None,
        content: vec![number; 1 << 20],
        created_us: u64::from(number),
        expires_us: 1_000,
    };
    store.keep_artifact("alice", artifact(1)).await.unwrap();
    // Nothing is left beside that artifact.
    store.set_disk_floor(u64::MAX);
    let refused = store.keep_artifact("alice", artifact(2)).await.unwrap_err();
    assert!(matches!(refused, StoreError::DiskShare { .. }), "{refused}");
    let mut program = new_execution("ex_1", 2);
    "alice".clone_into(&mut program.principal);
    let refused = store.begin(program.clone()).await.unwrap_err();
    assert!(matches!(refused, StoreError::DiskShare { .. }), "{refused}");
    // Another principal is not refused.
    store.keep_artifact("bob", artifact(3)).await.unwrap();
    let kept = |principal: &'static str| {
        let store = store.clone();
        async move { store.artifacts(principal, 5, 10).await.unwrap().len() }
    };
    assert_eq!((kept("alice").await, kept("bob").await), (1, 1));
    // The control: with space again, both are stored.
    store.set_disk_floor(0);
    store.keep_artifact("alice", artifact(4)).await.unwrap();
    store.begin(program).await.unwrap();
    assert_eq!(kept("alice").await, 2);
}

#[tokio::test]
async fn a_thousand_executions_of_one_principal_leave_the_journal_of_another_alone() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&directory.path().join("state.db")).unwrap();
    ended(&store, "alice", "ex_alice", 1, 0).await;
    ended(&store, "alice", "ex_alice_wrote", 2, 1).await;
    ended(&store, "bob", "ex_bob_wrote", 3, 1).await;
    let many = (0..MANY).map(|n| {
        let store = store.clone();
        tokio::spawn(
            async move { ended(&store, "bob", &format!("ex_bob_{n:05}"), 10 + n, 0).await },
        )
    });
    for one in many.collect::<Vec<_>>() {
        one.await.unwrap();
    }
    // Retention runs in steps behind the writes.
    let removed = loop {
        let removed = store.removed().await.unwrap();
        if removed.iter().map(|it| it.executions).sum::<u32>() >= 90 {
            break removed;
        }
        tokio::task::yield_now().await;
    };
    assert!(
        removed.iter().all(|it| it.principal == "bob"),
        "{removed:?}"
    );
    assert!(
        removed[0].first_us >= 10 && removed[0].bytes > 0,
        "{removed:?}"
    );
    for (name, entries) in [("ex_alice", 1), ("ex_alice_wrote", 3), ("ex_bob_wrote", 3)] {
        assert!(store.execution(name).await.unwrap().is_some(), "{name}");
        assert_eq!(
            store.journal(&id(name)).await.unwrap().len(),
            entries,
            "{name}"
        );
    }
    // The control: the oldest of the greedy principal are gone.
    assert!(store.execution("ex_bob_00000").await.unwrap().is_none());
    assert!(store.execution("ex_bob_01099").await.unwrap().is_some());
}
