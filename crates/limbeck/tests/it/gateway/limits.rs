//! Limits of executions: every program ends at its limit with an error that names it, and the gateway goes on.

use std::time::{Duration, Instant};

use limbeck_domain::{ErrorKind, ExecutionStatus};
use limbeck_gateway::Bounds;
use limbeck_launcher::PoolSize;
use limbeck_testkit::{FakeServer, World, request, run, value_of};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::gateway::processes::{Process, workers};
use crate::gateway::worker;

/// Time beyond its limit after which a program counts as one that does not end. `benches/gateway` measures how soon
/// it does.
const HANG: Duration = Duration::from_secs(30);

/// Runs `program` with a time limit, asserts how it ends and that the next program works.
async fn ends_with(program: &str, wall_ms: u64, kind: ErrorKind, message: &str) {
    let gateway = World::new(worker()).start().await;
    // The first program would wait for the first worker.
    assert_eq!(value_of(&run(&gateway, "return 1").await), json!(1));
    let mut bounded = request(program);
    bounded.timeout_ms = Some(wall_ms);
    let started = Instant::now();
    let envelope = gateway.execute(bounded, CancellationToken::new()).await;
    let took = started.elapsed();
    let error = envelope
        .error
        .clone()
        .unwrap_or_else(|| panic!("{envelope:?}"));
    assert_eq!(error.kind, kind, "{error:?}");
    assert!(error.message.contains(message), "{error:?}");
    assert_eq!(envelope.status, ExecutionStatus::Failed);
    assert!(
        took < Duration::from_millis(wall_ms) + HANG,
        "{program} took {took:?}"
    );
    let next = run(&gateway, "return 1 + 1").await;
    assert_eq!(value_of(&next), json!(2));
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_infinite_loop_ends_at_the_wall_clock() {
    ends_with("for (;;) {}", 1_000, ErrorKind::Timeout, "1000 ms").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_microtask_flood_ends_at_the_wall_clock() {
    ends_with(
        "while (true) await null",
        1_000,
        ErrorKind::Timeout,
        "1000 ms",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_in_native_code_ends_at_the_wall_clock() {
    ends_with(
        "/(a+)+$/.test('a'.repeat(40) + 'b')",
        1_000,
        ErrorKind::Timeout,
        "1000 ms",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_memory_bomb_ends_at_the_memory_limit() {
    ends_with(
        "const all = []; for (;;) all.push(new Array(1e5).fill(0))",
        10_000,
        ErrorKind::MemoryLimit,
        "memory",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_recursion_ends_at_the_stack_limit() {
    ends_with(
        "const f = (n: number): number => f(n + 1) + 1; return f(0)",
        5_000,
        ErrorKind::StackLimit,
        "deeply",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promise_that_never_settles_is_found_without_waiting_for_the_clock() {
    ends_with(
        "await new Promise(() => {})",
        5_000,
        ErrorKind::NeverSettles,
        "nothing will settle",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_over_its_bound_ends_at_the_output_limit() {
    ends_with(
        "return 'x'.repeat(20 * 1024 * 1024)",
        5_000,
        ErrorKind::OutputLimit,
        "bytes",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn printing_is_bounded_and_says_what_was_dropped() {
    let gateway = World::new(worker()).start().await;
    let envelope = run(
        &gateway,
        "for (let i = 0; i < 20000; i++) console.log('0123456789'); return 'done'",
    )
    .await;
    assert_eq!(value_of(&envelope), json!("done"));
    assert!(
        envelope.stdout.len() <= 80 << 10,
        "{}",
        envelope.stdout.len()
    );
    assert!(
        envelope
            .warnings
            .iter()
            .any(|warning| warning.contains("were left out")),
        "{:?}",
        envelope.warnings
    );
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_calls_than_allowed_end_at_the_call_limit_and_as_many_do_not() {
    let t = FakeServer::new("t").read("n", |_| json!(1)).share();
    let gateway = World::new(worker()).server(&t).start().await;
    let calls = |count: u32| {
        format!(
            "let n = 0; await Promise.all(Array.from({{length: {count}}}, async () => {{ await tools.t.n({{}}); n++ }})); return n"
        )
    };
    let allowed = run(&gateway, &calls(10_000)).await;
    assert_eq!(value_of(&allowed), json!(10_000));
    let refused = run(&gateway, &calls(10_001)).await;
    let error = refused.error.unwrap();
    assert_eq!(error.kind, ErrorKind::CallLimit);
    assert!(error.message.contains("10000"), "{error:?}");
    gateway.shutdown().await;
}

/// Asserts that a program ends at the limit of processor time and not before.
async fn ends_at_the_cpu_limit(program: &str) {
    let bounds = Bounds {
        cpu_ms: 300,
        ..Bounds::default()
    };
    let gateway = World::new(worker()).bounds(bounds).start().await;
    let mut bounded = request(program);
    bounded.timeout_ms = Some(30_000);
    let envelope = gateway.execute(bounded, CancellationToken::new()).await;
    let error = envelope.error.unwrap();
    assert_eq!(error.kind, ErrorKind::CpuLimit, "{error:?}");
    assert!(error.message.contains("300 ms"), "{error:?}");
    let next = run(&gateway, "return 1 + 1").await;
    assert_eq!(value_of(&next), json!(2));
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_ends_at_the_limit_of_processor_time_and_waiting_uses_none() {
    ends_at_the_cpu_limit("for (;;) {}").await;
    let bounds = Bounds {
        cpu_ms: 300,
        ..Bounds::default()
    };
    let gateway = World::new(worker()).bounds(bounds).start().await;
    let waits = "await new Promise(done => setTimeout(done, 700)); return 1";
    assert_eq!(value_of(&run(&gateway, waits).await), json!(1));
    gateway.shutdown().await;
}

/// Programs that spend their time in long native operations of the engine.
const NATIVE: [&str; 3] = [
    "return Array.from({length: 4e6}, (_, i) => (i * 7919) % 4000037).sort((a, b) => a - b).length",
    "return /(a+)+$/.test('a'.repeat(40) + 'b')",
    "const wide = 3n ** 320_000n; for (;;) wide * wide",
];

#[tokio::test(flavor = "multi_thread")]
async fn native_loops_end_at_the_limit_of_processor_time() {
    for program in NATIVE {
        ends_at_the_cpu_limit(program).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn native_loops_end_at_the_wall_clock() {
    for program in NATIVE {
        ends_with(program, 300, ErrorKind::Timeout, "300 ms").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_stopped_ends_at_the_wall_clock() {
    let t = FakeServer::new("t")
        .read("stop", |_| {
            let workers = workers();
            assert!(!workers.is_empty());
            workers.into_iter().for_each(|worker| worker.signal("STOP"));
            json!(1)
        })
        .share();
    // No worker is idle while one runs: a stopped one would be taken for the next program.
    let pool = PoolSize {
        ready: 1,
        starting: 1,
    };
    let gateway = World::new(worker()).server(&t).pool(pool).start().await;
    let mut bounded = request("await tools.t.stop({}); for (;;) {}");
    bounded.timeout_ms = Some(500);
    let envelope = gateway.execute(bounded, CancellationToken::new()).await;
    assert_eq!(envelope.error.unwrap().kind, ErrorKind::Timeout);
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_killed_costs_its_own_execution_and_nothing_else() {
    let t = FakeServer::new("t")
        .read("kill", |_| {
            // The running worker and the idle ones.
            let workers = workers();
            assert!(!workers.is_empty());
            workers.into_iter().for_each(Process::kill);
            json!(1)
        })
        .share();
    let gateway = World::new(worker()).server(&t).start().await;
    let envelope = run(&gateway, "await tools.t.kill({}); return 1").await;
    assert_eq!(envelope.error.unwrap().kind, ErrorKind::WorkerLost);
    let next = run(&gateway, "return 1 + 1").await;
    assert_eq!(value_of(&next), json!(2));
    gateway.shutdown().await;
}
