//! Python programs in the gateway: the same execution core, limits and journal as for TypeScript.

use std::sync::Arc;
use std::time::{Duration, Instant};

use limbeck_domain::{Envelope, ErrorKind, ExecutionStatus};
use limbeck_gateway::{ExecuteRequest, Gateway};
use limbeck_testkit::{FakeServer, World, python_request, run, run_python, value_of};
use serde_json::json;
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;

use crate::gateway::random::{replays_alike, server};
use crate::gateway::{python_programs, worker};

/// Time beyond its limit after which a program counts as one that does not end.
const HANG: Duration = Duration::from_secs(30);

async fn execute(gateway: &Gateway, request: ExecuteRequest) -> Envelope {
    gateway.execute(request, CancellationToken::new()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_calls_tools_and_only_what_it_returns_and_prints_comes_back() {
    let t = server();
    let gateway = World::new(worker()).server(&t).start().await;
    let program = "first = await tools.t.echo(n=20)\nprint('read', first.n)\nfirst['n'] + 1";
    let envelope = run_python(&gateway, program).await;
    assert_eq!(value_of(&envelope), json!(21));
    assert_eq!(envelope.stdout, "read 20\n");
    assert_eq!(t.calls(), ["echo"]);
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_calls_in_a_gather_wait_side_by_side() {
    // Each call waits until ten of them are in flight.
    let all_in_flight = Arc::new(Barrier::new(10));
    let t = FakeServer::new("t")
        .tool("meet", Some(true), move |_| {
            let all_in_flight = Arc::clone(&all_in_flight);
            Box::pin(async move {
                all_in_flight.wait().await;
                json!({"content": []})
            })
        })
        .share();
    let gateway = World::new(worker()).server(&t).start().await;
    let program = "import asyncio\nall = await asyncio.gather(*[tools.t.meet() for _ in range(10)])\nlen(all)";
    let envelope = run_python(&gateway, program).await;
    assert_eq!(value_of(&envelope), json!(10));
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sleeping_takes_its_time_and_the_clock_shows_it() {
    let gateway = World::new(worker()).start().await;
    let program = "import asyncio, time\nbefore = time.time()\ntime.sleep(0.2)\nawait asyncio.sleep(0.2)\ntime.time() - before";
    let begun = Instant::now();
    let envelope = run_python(&gateway, program).await;
    let slept = value_of(&envelope).as_f64().unwrap();
    assert!(slept > 0.399, "{slept}");
    assert!(begun.elapsed() >= Duration::from_millis(400));
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_does_not_fit_its_tools_ends_before_its_first_call() {
    let t = server();
    let gateway = World::new(worker()).server(&t).start().await;
    let fits = "await tools.t.echo(a=1)\nawait tools.t.echo(a=2)";
    assert_eq!(run_python(&gateway, fits).await.error, None);
    assert_eq!(t.calls().len(), 2);
    let wrong = "await tools.t.echo(a=1)\nawait tools.t.ehco(a=2)";
    let error = run_python(&gateway, wrong).await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Contract, "{error:?}");
    assert_eq!(error.line, Some(2), "{error:?}");
    assert!(error.message.contains("ehco"), "{error:?}");
    assert_eq!(t.calls().len(), 2, "nothing was called");
    let rows = gateway.store().executions(10, None).await.unwrap();
    let calls: Vec<u32> = rows.iter().map(|row| row.calls).collect();
    assert_eq!(calls, [0, 2], "newest first");
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_names_the_line_and_only_the_programs_own_lines_are_printed() {
    let gateway = World::new(worker()).start().await;
    let program = "def half(n):\n    return n / 0\n\nfor n in [1, 2]:\n    print(n)\n    half(n)\n";
    let envelope = run_python(&gateway, program).await;
    let error = envelope.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Exception);
    assert_eq!(error.line, Some(2), "{error:?}");
    assert!(error.message.starts_with("ZeroDivisionError"), "{error:?}");
    assert_eq!(envelope.stdout, "1\n");
    assert!(envelope.stderr.contains("line 6"), "{}", envelope.stderr);
    assert_eq!(
        envelope.stderr.matches("File ").count(),
        2,
        "{}",
        envelope.stderr
    );
    gateway.shutdown().await;
}

/// Runs `program` with a time limit, asserts how it ends and that the next program works.
async fn ends_with(program: &str, wall_ms: u64, kinds: &[ErrorKind]) {
    let gateway = World::new(worker()).start().await;
    assert_eq!(value_of(&run_python(&gateway, "1").await), json!(1));
    let mut bounded = python_request(program);
    bounded.timeout_ms = Some(wall_ms);
    let started = Instant::now();
    let envelope = execute(&gateway, bounded).await;
    let took = started.elapsed();
    let error = envelope.error.unwrap_or_else(|| panic!("{program} ended"));
    assert!(kinds.contains(&error.kind), "{program}: {error:?}");
    assert_eq!(envelope.status, ExecutionStatus::Failed);
    assert!(
        took < Duration::from_millis(wall_ms) + HANG,
        "{program} took {took:?}"
    );
    assert_eq!(value_of(&run_python(&gateway, "1 + 1").await), json!(2));
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn loops_end_at_the_wall_clock() {
    for program in [
        "while True: pass",
        "while True:\n    try:\n        while True: pass\n    except BaseException:\n        pass",
        "import re\nre.match(r'(a+)+$', 'a' * 40 + 'b')",
        "sum(range(10 ** 12))",
        "7 ** 7 ** 9",
        "import itertools, collections\ncollections.deque(itertools.count(), maxlen=0)",
    ] {
        ends_with(program, 500, &[ErrorKind::Timeout]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_ends_at_its_limit() {
    for program in [
        "a = []\nwhile True: a.append('x' * 100_000 + str(len(a)))",
        "bytearray(1 << 30)",
        "a = 'x'\nwhile True: a += a",
        "import zlib\nbomb = zlib.compress(b'0' * 50_000_000)\nall = [zlib.decompress(bomb) for _ in range(100)]",
    ] {
        let kinds = [ErrorKind::MemoryLimit, ErrorKind::Exception];
        ends_with(program, 20_000, &kinds).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn recursion_ends_and_can_be_caught() {
    let deep = "def f(n): return f(n + 1) + 1\nf(0)";
    ends_with(deep, 10_000, &[ErrorKind::StackLimit, ErrorKind::Exception]).await;
    let gateway = World::new(worker()).start().await;
    let caught = "def f(n): return f(n + 1) + 1\ntry:\n    f(0)\nexcept RecursionError:\n    result = 'caught'\nresult";
    assert_eq!(
        value_of(&run_python(&gateway, caught).await),
        json!("caught")
    );
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_nothing_is_found_without_waiting_for_the_clock() {
    let program = "import asyncio\nawait asyncio.Event().wait()";
    ends_with(program, 10_000, &[ErrorKind::NeverSettles]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn printing_is_bounded_and_says_what_was_dropped() {
    let gateway = World::new(worker()).start().await;
    let envelope = run_python(
        &gateway,
        "for _ in range(20000): print('0123456789')\n'done'",
    )
    .await;
    assert_eq!(value_of(&envelope), json!("done"));
    assert!(
        envelope.stdout.len() <= 80 << 10,
        "{}",
        envelope.stdout.len()
    );
    let dropped = |warning: &String| warning.contains("were left out");
    assert!(
        envelope.warnings.iter().any(dropped),
        "{:?}",
        envelope.warnings
    );
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_passes_from_one_program_to_the_next_but_the_store() {
    let gateway = World::new(worker()).start().await;
    let leave = "import sys, builtins, random\nsys.mark = builtins.mark = 1\nrandom.seed(7)\nopen('/tmp/mark', 'w').write('x')\nawait store.set('kept', {'n': 1})\n1";
    assert_eq!(value_of(&run_python(&gateway, leave).await), json!(1));
    let look = "import sys, builtins, os\n[hasattr(sys, 'mark'), hasattr(builtins, 'mark'), os.path.exists('/tmp/mark'), await store.get('kept')]";
    let seen = value_of(&run_python(&gateway, look).await);
    assert_eq!(seen, json!([false, false, false, {"n": 1}]));
    // Both languages share only the store.
    let other = run(&gateway, "return await store.get('kept')").await;
    assert_eq!(value_of(&other), json!({"n": 1}));
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_sees_the_time_and_random_numbers_of_then_and_calls_no_server() {
    let t = server();
    let gateway = World::new(worker()).server(&t).start().await;
    let program = "import time, random, uuid, datetime, secrets, os\nn = await tools.t.echo(n=1)\n[n, time.time(), random.random(), str(uuid.uuid4()), str(datetime.datetime.now()), secrets.token_hex(4), os.urandom(4).hex(), hash('text'), list({'a', 'b', 'c'})]";
    let live = run_python(&gateway, program).await;
    let again = run_python(&gateway, program).await;
    assert_ne!(value_of(&live), value_of(&again), "each run draws its own");
    let calls = t.calls();
    let report = gateway.replay(live.execution_id.as_str()).await.unwrap();
    assert_eq!(report.differences, Vec::<String>::new());
    assert_eq!(value_of(&report.envelope), value_of(&live));
    assert_eq!(t.calls(), calls, "a replay calls no server");
    gateway.shutdown().await;
}

#[test]
fn random_programs_replay_to_the_same_value_prints_and_calls() {
    replays_alike(&python_programs::program(), python_request);
}
