//! State of programs on disk: bounded journals, artifacts that are read and not copied, a floor of free space, and
//! reports of calls that were never sent.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use limbeck_domain::{CallCode, ErrorKind, JournalEntry};
use limbeck_gateway::{Bounds, ReplayError, inner_calls};
use limbeck_store::{JournalBounds, Store};
use limbeck_testkit::{FakeServer, World, request, run, value_of};
use limbeck_upstream::{ServerSpec, StdioSpec, TransportSpec};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::gateway::worker;

use super::resources::process;

/// Bytes of the files of a state directory.
fn bytes_in(directory: &Path) -> u64 {
    let files = std::fs::read_dir(directory).unwrap();
    files
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_artifact_that_is_read_often_is_on_disk_once_and_the_reads_are_replayed() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&directory.path().join("state.db")).unwrap();
    let gateway = World::new(worker()).store(store.clone()).start().await;
    let save = "return (await artifacts.save(Array.from({ length: 40000 }, (_, id) => ({ id, text: 'x'.repeat(80) })))).id";
    let id = value_of(&run(&gateway, save).await);
    store.flush().await.unwrap();
    let before = bytes_in(directory.path());
    let program = format!(
        "const opened = artifacts.open({id});
         let sum = 0;
         for (let n = 0; n < 20; n++) {{
             sum += (await opened.text()).length;
             sum += (await opened.select('$[*].id')).length;
         }}
         for await (const item of opened) sum += item.id;
         return [sum, (await opened.select('$[7].id'))[0]]"
    );
    let envelope = run(&gateway, &program).await;
    assert_eq!(value_of(&envelope)[1], json!(7));
    store.flush().await.unwrap();
    let added = bytes_in(directory.path()) - before;
    // 20 times 4 MB without it.
    assert!(added < 8 << 20, "{added} bytes");

    let journal = store.journal(&envelope.execution_id).await.unwrap();
    let parts = journal
        .iter()
        .filter(|entry| matches!(entry, JournalEntry::Part { .. }));
    assert!(parts.count() > 40);
    // A small part is recorded as it is.
    let calls = inner_calls(&journal);
    let last = calls.last().unwrap();
    assert_eq!(
        (&last.result, &last.part_of),
        (&Some(Ok("[7]".to_owned())), &None)
    );
    let report = gateway
        .replay(envelope.execution_id.as_str())
        .await
        .unwrap();
    assert_eq!(report.differences, Vec::<String>::new());
    assert_eq!(value_of(&report.envelope), value_of(&envelope));
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_ends_when_its_journal_is_full_and_sends_nothing_after() {
    let large = json!("x".repeat(1 << 20)).to_string();
    let server = FakeServer::new("t")
        .read_text("large", &large)
        .write("write", |arguments| arguments)
        .share();
    let gateway = World::new(worker())
        .server(&server)
        .bounds(Bounds {
            journal_bytes: 8 << 20,
            ..Bounds::default()
        })
        .start()
        .await;
    let program = |reads: usize| {
        format!(
            "for (let n = 0; n < {reads}; n++) await tools.t.large({{}});
             await tools.t.write({{}}); return 'done'"
        )
    };
    let envelope = run(&gateway, &program(100)).await;
    let error = envelope.error.clone().unwrap();
    assert_eq!(error.kind, ErrorKind::CallLimit, "{error:?}");
    assert!(
        error.message.contains("8388608") && error.hint.is_some(),
        "{error:?}"
    );
    assert!(!server.calls().contains(&"write".to_owned()));
    let reads = server.calls().len();
    assert!((8..=10).contains(&reads), "{reads} reads");
    // The control: a program within the bound.
    assert_eq!(value_of(&run(&gateway, &program(4)).await), json!("done"));
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_results_of_writes_are_removed_their_records_stay_and_a_full_principal_is_refused_alone()
 {
    let store = Store::in_memory_within(JournalBounds {
        reads: 20_000,
        results: 20_000,
        arguments: 20_000,
        records: 20_000,
    })
    .unwrap();
    let text = "x".repeat(4_000);
    let server = FakeServer::new("t")
        .write("write", move |_| json!({ "text": text }))
        .share();
    let gateway = World::new(worker())
        .server(&server)
        .store(store.clone())
        .start()
        .await;
    let program = "return (await tools.t.write({ note: 'kept' })).text.length";
    let first = run(&gateway, program).await;
    assert_eq!(value_of(&first), json!(4_000));
    // Retention runs behind every 32 executions and knows then what this principal has.
    let mut newest = first.clone();
    let mut refused = None;
    for _ in 0..100 {
        let envelope = run(&gateway, program).await;
        match envelope.error {
            // It ran when the bound was reached: its call was not sent.
            Some(error) if error.code == Some(CallCode::GatewayFault) => {
                assert!(error.message.contains("was not sent"), "{error:?}");
            }
            Some(error) => {
                refused = Some(error);
                break;
            }
            None => newest = envelope,
        }
    }
    let error = refused.unwrap();
    assert_eq!(error.kind, ErrorKind::Gateway, "{error:?}");
    assert!(
        error.message.contains("of this principal wrote")
            && error.hint.unwrap().contains("30 days")
    );
    let writes = server.calls().len();

    // Another principal writes on.
    let mut other = request(program);
    other.principal = "other".to_owned();
    let other = gateway.execute(other, CancellationToken::new()).await;
    assert_eq!(value_of(&other), json!(4_000));
    assert_eq!(server.calls().len(), writes + 1);

    // The record of the oldest write has its arguments and its end, and the size and hash of its result.
    let calls = inner_calls(&store.journal(&first.execution_id).await.unwrap());
    assert!(
        calls[0].sent && calls[0].call.body.contains("kept"),
        "{calls:?}"
    );
    let removed = calls[0].removed.clone().unwrap();
    assert!(
        calls[0].result.is_none() && removed.bytes > 4_000,
        "{calls:?}"
    );
    let record = store.execution(first.execution_id.as_str()).await.unwrap();
    assert_eq!(value_of(&record.unwrap().envelope.unwrap()), json!(4_000));
    let error = gateway
        .replay(first.execution_id.as_str())
        .await
        .unwrap_err();
    assert!(matches!(error, ReplayError::Incomplete { .. }), "{error}");
    assert!(error.to_string().contains("were removed"), "{error}");
    // The control: the newest is whole.
    let report = gateway.replay(newest.execution_id.as_str()).await.unwrap();
    assert_eq!(report.differences, Vec::<String>::new());
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_arguments_of_old_writes_are_removed_and_their_record_and_a_replay_say_so() {
    let store = Store::in_memory_within(JournalBounds {
        reads: 30_000,
        results: 30_000,
        arguments: 30_000,
        records: 100 << 20,
    })
    .unwrap();
    let server = FakeServer::new("t").write("write", |_| json!({})).share();
    let gateway = World::new(worker())
        .server(&server)
        .store(store.clone())
        .start()
        .await;
    let program = "await tools.t.write({ note: 'x'.repeat(4000) }); return 1";
    let first = run(&gateway, program).await.execution_id;
    // Retention runs behind every 32 executions.
    let mut newest = None;
    for _ in 0..200 {
        newest = Some(run(&gateway, program).await.execution_id);
        let calls = inner_calls(&store.journal(&first).await.unwrap());
        if calls[0].arguments_removed.is_some() {
            break;
        }
    }
    let calls = inner_calls(&store.journal(&first).await.unwrap());
    let removed = calls[0].arguments_removed.clone().unwrap();
    assert!(removed.bytes > 4_000, "{removed:?}");
    // What was called and how it ended is still on record.
    assert_eq!(calls[0].call.body, "");
    assert!(calls[0].sent && calls[0].tool.is_some(), "{calls:?}");
    assert!(matches!(calls[0].result, Some(Ok(_))), "{calls:?}");
    let error = gateway.replay(first.as_str()).await.unwrap_err();
    assert!(matches!(error, ReplayError::Incomplete { .. }), "{error}");
    // The control: the newest has its arguments and is replayed.
    let newest = newest.unwrap();
    let calls = inner_calls(&store.journal(&newest).await.unwrap());
    assert!(calls[0].call.body.len() > 4_000, "{calls:?}");
    let report = gateway.replay(newest.as_str()).await.unwrap();
    assert_eq!(report.differences, Vec::<String>::new());
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn below_the_floor_of_free_space_nothing_runs_and_above_it_programs_do() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&directory.path().join("state.db")).unwrap();
    let server = FakeServer::new("t")
        .write("write", |arguments| arguments)
        .share();
    let gateway = World::new(worker())
        .server(&server)
        .store(store.clone())
        .start()
        .await;
    let program = "await tools.t.write({}); return 1";
    store.set_disk_floor(u64::MAX);
    let error = run(&gateway, program).await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Gateway);
    assert!(error.message.contains("nearly full"), "{error:?}");
    assert!(error.hint.unwrap().contains("--state-dir"));
    assert_eq!(server.calls(), Vec::<String>::new());
    assert_eq!(store.executions(10, None).await.unwrap(), []);

    store.set_disk_floor(0);
    assert_eq!(value_of(&run(&gateway, program).await), json!(1));
    // A program that runs while space becomes scarce is ended.
    let mut waiting = request("await new Promise(done => setTimeout(done, 60000)); return 1");
    waiting.timeout_ms = Some(60_000);
    let ended = gateway.execute(waiting, CancellationToken::new());
    let (ended, ()) = tokio::join!(ended, async {
        while gateway.load().0 == 0 {
            tokio::task::yield_now().await;
        }
        store.set_disk_floor(u64::MAX);
    });
    assert!(ended.error.unwrap().message.contains("nearly full"));
    store.set_disk_floor(0);
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_never_left_is_reported_as_not_sent() {
    let store = Store::in_memory().unwrap();
    let server = || {
        FakeServer::new("t")
            .write("write", |arguments| arguments)
            .tool("fail", Some(false), |_| {
                Box::pin(async { json!({"content": [], "isError": true}) })
            })
            .share()
    };
    let first = World::new(worker())
        .server(&server())
        .store(store.clone())
        .start()
        .await;
    // The control: a call that was sent, and one that failed at its server.
    let program = "await tools.t.write({}); try { await tools.t.fail({}) } catch {} return 1";
    let sent = run(&first, program).await;
    assert_eq!(sent.effects.unwrap().writes, 2);
    first.shutdown().await;

    // The same tools, from the cache, of a server that cannot be started.
    let stdio = StdioSpec {
        command: "/nonexistent/server".into(),
        args: Vec::new(),
        env: Vec::new(),
        cwd: None,
    };
    let gone = ServerSpec::new("t", TransportSpec::Stdio(stdio));
    let second = World::new(worker())
        .process(gone)
        .store(store.clone())
        .start()
        .await;
    let program = "try { await tools.t.write({}) } catch (error: any) { return error.code }";
    let envelope = run(&second, program).await;
    assert_eq!(value_of(&envelope), json!("server_unavailable"));
    assert!(envelope.effects.is_none(), "{:?}", envelope.effects);
    let calls = inner_calls(&store.journal(&envelope.execution_id).await.unwrap());
    assert_eq!(calls.len(), 1);
    assert!(!calls[0].sent, "{calls:?}");
    second.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_for_its_place_at_the_server_is_reported_as_not_sent() {
    let calls = "await Promise.all(Array.from({ length: 8 }, () => tools.t.echo({ ms: 600000 })))";
    only_what_arrived_is_sent("healthy.py", "tools/call", calls).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_waits_for_its_place_at_the_server_is_reported_as_not_sent() {
    let reads = "await Promise.all(Array.from({ length: 8 }, () => servers.t.resources.read('note:never')))";
    only_what_arrived_is_sent("asking.py", "resources/read", reads).await;
}

/// Runs a program with eight requests of `method` that are not answered, in a place for three, and ends it when these have arrived.
async fn only_what_arrived_is_sent(script: &str, method: &str, program: &str) {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let mut spec = process("t", script, &["--log", log.to_str().unwrap()]);
    // Of these a principal other than the user of the gateway holds three.
    spec.concurrency = 4;
    let store = Store::in_memory().unwrap();
    let gateway = World::new(worker())
        .process(spec)
        .store(store.clone())
        .start()
        .await;
    let arrived = || {
        let log = std::fs::read_to_string(&log).unwrap_or_default();
        log.matches(&format!("\"{method}\"")).count()
    };
    let mut request = request(program);
    "alice".clone_into(&mut request.principal);
    request.timeout_ms = Some(60_000);
    let cancel = CancellationToken::new();
    let ended = gateway.execute(request, cancel.clone());
    let (envelope, ()) = tokio::join!(ended, async {
        while arrived() < 3 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        cancel.cancel();
    });
    // The control is in the numbers: those that arrived are reported.
    assert_eq!(arrived(), 3);
    assert_eq!(envelope.effects.unwrap().reads, 3);
    let calls = inner_calls(&store.journal(&envelope.execution_id).await.unwrap());
    let sent = calls.iter().filter(|call| call.sent).count();
    assert_eq!(sent, 3, "{calls:?}");
    assert!(calls.len() > 3, "{calls:?}");
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_answering_panics_has_an_outcome_in_the_journal() {
    let store = Store::in_memory().unwrap();
    let server = FakeServer::new("t")
        .write("boom", |_| panic!("a fault of the gateway"))
        .write("fine", |arguments| arguments)
        .share();
    let gateway = World::new(worker())
        .server(&server)
        .store(store.clone())
        .start()
        .await;
    let program = "try { await tools.t.boom({}) } catch (error: any) { return [error.code, await tools.t.fine({ n: 1 })] }";
    let envelope = run(&gateway, program).await;
    assert_eq!(value_of(&envelope), json!(["gateway_fault", {"n": 1}]));
    let calls = inner_calls(&store.journal(&envelope.execution_id).await.unwrap());
    let outcomes: Vec<bool> = calls
        .iter()
        .map(|call| matches!(call.result, Some(Ok(_))))
        .collect();
    assert_eq!(outcomes, [false, true], "{calls:?}");
    assert!(calls.iter().all(|call| call.result.is_some()), "{calls:?}");
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_that_programs_save_at_the_same_time_are_all_kept() {
    let gateway = Arc::new(World::new(worker()).start().await);
    let saving = (0..10).map(|n| {
        let gateway = Arc::clone(&gateway);
        tokio::spawn(async move {
            // What `save_tool` of a Python program does: it reads all functions and writes them with its own.
            let program = format!(
                "const saved: any = (await store.get('limbeck:saved_tools')) ?? {{}};
                 await store.set('limbeck:saved_tools', {{ ...saved, f{n}: 'def f{n}(): pass' }});
                 return 1"
            );
            value_of(&run(&gateway, &program).await)
        })
    });
    for saved in saving.collect::<Vec<_>>() {
        assert_eq!(saved.await.unwrap(), json!(1));
    }
    let kept = run(
        &gateway,
        "return Object.keys((await store.get('limbeck:saved_tools')) as object).length",
    );
    assert_eq!(value_of(&kept.await), json!(10));
    gateway.shutdown().await;
}
