//! Every program ends at its limit, says which, and leaves the gateway as it was.

use std::time::{Duration, Instant};

use limbeck_gateway::domain::{ErrorKind, ExecutionStatus};
use limbeck_testkit::{FakeServer, World, request, run, value_of};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::worker;

/// Runs `program` with `wall_ms` of time, checks how it ended and that the next one works.
async fn ends_with(program: &str, wall_ms: u64, kind: ErrorKind, says: &str) {
    let gateway = World::new(worker()).start().await;
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
    assert!(error.message.contains(says), "{error:?}");
    assert_eq!(envelope.status, ExecutionStatus::Failed);
    assert!(
        took < Duration::from_millis(wall_ms + 1_000),
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
            .any(|warning| warning.contains("dropped")),
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

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_killed_costs_its_own_execution_and_nothing_else() {
    let t = FakeServer::new("t")
        .tool("pids", Some(true), |_| {
            Box::pin(async {
                // Kills every worker of this process that is running a program right now.
                let me = std::process::id();
                for child in children_of(me) {
                    kill(child);
                }
                json!({"content": []})
            })
        })
        .share();
    let gateway = World::new(worker()).server(&t).start().await;
    let envelope = run(&gateway, "await tools.t.pids({}); return 1").await;
    assert_eq!(envelope.error.unwrap().kind, ErrorKind::WorkerLost);
    let next = run(&gateway, "return 1 + 1").await;
    assert_eq!(value_of(&next), json!(2));
    gateway.shutdown().await;
}

fn children_of(parent: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).unwrap();
    tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|pids| {
            pids.split_ascii_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<u32>>()
        })
        .collect()
}

/// Kills a process and waits until it runs no more; its parent may not have reaped it yet.
fn kill(pid: u32) {
    let pid = pid.to_string();
    let status = std::process::Command::new("kill")
        .args(["-9", &pid])
        .status();
    assert!(status.is_ok());
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(") ")
            .next()
            .and_then(|rest| rest.chars().next())
    };
    while !matches!(state(), None | Some('Z' | 'X')) {
        std::thread::yield_now();
    }
}
