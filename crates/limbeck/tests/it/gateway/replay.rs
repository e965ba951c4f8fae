//! Replay: program, input and journal determine the run of a guest.

use std::time::Duration;

use limbeck_domain::{Envelope, ErrorKind, ExecutionId, ExecutionStatus, JournalEntry, Language};
use limbeck_gateway::{ExecuteRequest, Gateway};
use limbeck_store::{ExecutionSummary, NewExecution};
use limbeck_testkit::{FakeServer, World, request, run, value_of};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::gateway::random::{replays_alike, server};
use crate::gateway::{programs, worker};

#[test]
fn random_programs_replay_to_the_same_value_logs_and_calls() {
    replays_alike(&programs::program(), request);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_calls_no_server_and_sees_the_time_and_random_numbers_of_then() {
    let t = server();
    let gateway = World::new(worker()).server(&t).start().await;
    let live = run(
        &gateway,
        "const n = await tools.t.echo({ n: 1 }); return [n, Date.now(), Math.random(), new Date().toISOString()]",
    )
    .await;
    let calls = t.calls();
    assert_eq!(calls, ["echo"]);
    let report = gateway.replay(live.execution_id.as_str()).await.unwrap();
    assert_eq!(report.differences, Vec::<String>::new());
    assert_eq!(value_of(&report.envelope), value_of(&live));
    assert_eq!(t.calls(), calls, "a replay calls no server");
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_failed_timed_out_or_were_cancelled_replay_to_the_same_end() {
    let t = server();
    let gateway = World::new(worker()).server(&t).start().await;
    let thrown = run(
        &gateway,
        "await tools.t.echo({});\nthrow new TypeError('no')",
    )
    .await;
    let stuck = run(
        &gateway,
        "await tools.t.echo({});\nawait new Promise(() => {})",
    )
    .await;
    let mut slow = request("await tools.t.slow({ ms: 60000 })");
    slow.timeout_ms = Some(200);
    let slow = gateway.execute(slow, CancellationToken::new()).await;
    let cancel = CancellationToken::new();
    let cancelled = tokio::join!(
        gateway.execute(request("await tools.t.slow({ ms: 60000 })"), cancel.clone()),
        async {
            while !t.calls().ends_with(&["slow".to_owned(), "slow".to_owned()]) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            cancel.cancel();
        }
    )
    .0;
    for (envelope, kind) in [
        (thrown, ErrorKind::Exception),
        (stuck, ErrorKind::NeverSettles),
        (slow, ErrorKind::Timeout),
        (cancelled, ErrorKind::Cancelled),
    ] {
        let error = envelope.error.as_ref().unwrap();
        assert_eq!(error.kind, kind, "{envelope:?}");
        let report = gateway
            .replay(envelope.execution_id.as_str())
            .await
            .unwrap();
        assert_eq!(report.differences, Vec::<String>::new(), "{kind:?}");
    }
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn values_that_are_null_too_deep_or_no_json_replay_to_the_same_end() {
    let gateway = World::new(worker()).start().await;
    for (program, language) in [
        ("return null", Language::Typescript),
        ("return NaN", Language::Typescript),
        ("return undefined", Language::Typescript),
        (
            "let a = []; for (let i = 0; i < 200; i++) a = [a]; return a",
            Language::Typescript,
        ),
        ("return JSON.rawJSON('1e400')", Language::Typescript),
        ("return JSON.rawJSON('1.50')", Language::Typescript),
        ("return float('inf')", Language::Python),
        ("return 'text'", Language::Python),
    ] {
        let live = gateway
            .execute(
                ExecuteRequest {
                    language,
                    ..request(program)
                },
                CancellationToken::new(),
            )
            .await;
        let report = gateway.replay(live.execution_id.as_str()).await.unwrap();
        assert_eq!(report.differences, Vec::<String>::new(), "{program}");
        let [then, now] = [&live, &report.envelope].map(|envelope| {
            let value = envelope.value.as_ref().map(|value| value.get().to_owned());
            (value, envelope.error.as_ref().map(|error| error.kind))
        });
        assert_eq!(then, now, "{program}");
        // Printed by `limbeck replay --json`.
        serde_json::to_string(&report.envelope).unwrap();
    }
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_that_was_changed_does_not_replay_as_identical() {
    let t = FakeServer::new("t").read("n", |_| Value::from(1)).share();
    let gateway = World::new(worker()).server(&t).start().await;
    let live = run(&gateway, "return await tools.t.n({})").await;
    assert_eq!(live.status, ExecutionStatus::Completed);
    let forged = copy_with_another_answer(&gateway, &live).await;
    let report = gateway.replay(forged.as_str()).await.unwrap();
    assert_eq!(report.differences, ["the value differs"]);
    let control = gateway.replay(live.execution_id.as_str()).await.unwrap();
    assert_eq!(control.differences, Vec::<String>::new());
    gateway.shutdown().await;
}

/// Writes the journal of `live` again under another id, with `2` as the answer of every call.
async fn copy_with_another_answer(gateway: &Gateway, live: &Envelope) -> ExecutionId {
    let store = gateway.store();
    let record = store
        .execution(live.execution_id.as_str())
        .await
        .unwrap()
        .unwrap();
    let id = ExecutionId::new("ex_f0");
    let new = NewExecution {
        id: id.clone(),
        principal: "test".to_owned(),
        start: record.start,
        guest_hash: record.guest_hash,
        sandbox: record.sandbox.unwrap(),
        created_us: record.row.created_us + 1,
        origin: "test".to_owned(),
    };
    store.begin(new).await.unwrap();
    for entry in store.journal(&live.execution_id).await.unwrap() {
        let entry = match entry {
            JournalEntry::Outcome {
                id,
                took_us,
                not_sent,
                ..
            } => JournalEntry::Outcome {
                not_sent,
                id,
                result: Ok("2".to_owned()),
                took_us,
            },
            JournalEntry::Ended { .. } => continue,
            entry => entry,
        };
        store.append(&id, entry).await.unwrap();
    }
    let envelope = record.envelope.unwrap();
    store
        .finish(&id, &envelope, ExecutionSummary::default())
        .await
        .unwrap();
    store.flush().await.unwrap();
    id
}
