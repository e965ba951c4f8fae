//! X07: workers that are silent, slow, or do not read; and resources they take while waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use limbeck_domain::limits::{TURNS_BURST, TURNS_PER_SECOND};
use limbeck_domain::{CallCode, ErrorKind, JournalEntry};
use limbeck_testkit::{FakeServer, World, request};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{FakeWorkerGateway, LONG_MS, fake_worker, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_silent_slow_or_does_not_read_ends_at_its_time_limit() {
    let hostile = FakeWorkerGateway::new().await;
    for program in ["silent", "slow", "never-reads"] {
        hostile
            .fails(program, 500, ErrorKind::Timeout, "longer than 500 ms")
            .await;
    }
    hostile.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_can_cancel_a_worker_that_does_not_read() {
    let hostile = FakeWorkerGateway::new().await;
    let cancel = CancellationToken::new();
    let execution = hostile
        .gateway
        .execute(request("never-reads"), cancel.clone());
    let cancelled = async {
        // Once called, the answer is on its way to a worker that never reads it.
        until("the call", || !hostile.server.calls().is_empty()).await;
        cancel.cancel();
    };
    let (envelope, ()) = tokio::join!(execution, cancelled);
    assert_eq!(envelope.error.unwrap().kind, ErrorKind::Cancelled);
    hostile.runs_honest_program().await;
    hostile.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_not_sent_while_the_worker_does_not_read_their_answers() {
    let hostile = FakeWorkerGateway::new().await;
    hostile
        .fails(
            "never-takes",
            4_000,
            ErrorKind::Timeout,
            "longer than 4000 ms",
        )
        .await;
    // The worker made 200 calls of 4 MiB each, and results of 64 MiB may wait for it.
    let sent = hostile.server.calls().len();
    assert!((2..40).contains(&sent), "{sent} calls were sent");
    hostile.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timer_that_is_always_due_runs_at_a_rate() {
    let hostile = FakeWorkerGateway::new().await;
    let wall_ms = 4_000;
    let begun = Instant::now();
    let envelope = hostile
        .fails("always-due", wall_ms, ErrorKind::Timeout, "longer than")
        .await;
    let took = begun.elapsed();
    let journal = hostile
        .gateway
        .store()
        .journal(&envelope.execution_id)
        .await;
    let delivered = |entry: &&JournalEntry| matches!(entry, JournalEntry::Delivered(_));
    let turns = journal.unwrap().iter().filter(delivered).count();
    // The rate is bounded by real time, of which a busy machine takes more.
    let most = u64::from(TURNS_BURST) + u64::from(TURNS_PER_SECOND) * (took.as_secs() + 1);
    assert!(turns > 10, "{turns}");
    assert!(turns as u64 <= most, "{turns} turns, {most} are the most");
    hostile.gateway.shutdown().await;
}

/// Sets a flag when it is dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_a_worker_that_is_lost_are_cancelled() {
    for (program, message) in [
        ("violation-while-calling", "malformed frame body"),
        ("ends-while-calling", "exit code 0"),
    ] {
        let dropped = Arc::new(AtomicBool::new(false));
        let guard = Arc::clone(&dropped);
        let server = FakeServer::new("t")
            .read("echo", |arguments| arguments)
            .tool("stuck", Some(false), move |_| {
                let guard = Dropped(Arc::clone(&guard));
                Box::pin(async move {
                    std::future::pending::<()>().await;
                    drop(guard);
                    json!({})
                })
            })
            .share();
        let gateway = World::new(fake_worker()).server(&server).start().await;
        let hostile = FakeWorkerGateway { gateway, server };
        let envelope = hostile
            .fails(program, LONG_MS, ErrorKind::WorkerLost, message)
            .await;
        assert!(dropped.load(Ordering::SeqCst), "{program}");
        let journal = hostile
            .gateway
            .store()
            .journal(&envelope.execution_id)
            .await;
        let cancelled = |entry: &JournalEntry| {
            matches!(
                entry,
                JournalEntry::Outcome { result: Err(error), .. }
                    if error.code == CallCode::Cancelled
            )
        };
        assert!(journal.unwrap().iter().any(cancelled), "{program}");
        hostile.gateway.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_is_limited_while_a_worker_claims_to_wait() {
    let hostile = FakeWorkerGateway::new().await;
    hostile
        .fails(
            "memory-while-idle",
            LONG_MS,
            ErrorKind::MemoryLimit,
            "bytes",
        )
        .await;
    hostile.gateway.shutdown().await;
}
