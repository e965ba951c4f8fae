//! X07, and workers that take what is not theirs by doing nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use limbeck_gateway::domain::limits::{TURNS_BURST, TURNS_PER_SECOND};
use limbeck_gateway::domain::{CallCode, ErrorKind, JournalEntry};
use limbeck_testkit::{FakeServer, World, request};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{Arena, fake_worker, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_silent_slow_or_deaf_ends_with_its_time() {
    let arena = Arena::new().await;
    for program in ["silent", "slow", "never-reads"] {
        arena
            .fails(program, 500, ErrorKind::Timeout, "longer than 500 ms")
            .await;
    }
    arena.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_can_cancel_a_worker_that_does_not_read() {
    let arena = Arena::new().await;
    let cancel = CancellationToken::new();
    let execution = arena
        .gateway
        .execute(request("never-reads"), cancel.clone());
    let cancelled = async {
        // Called, so the answer is on its way to a worker that will not take it.
        until("the call", || !arena.server.calls().is_empty()).await;
        cancel.cancel();
        Instant::now()
    };
    let (envelope, since) = tokio::join!(execution, cancelled);
    assert_eq!(envelope.error.unwrap().kind, ErrorKind::Cancelled);
    assert!(since.elapsed() < Duration::from_secs(1));
    arena.is_well().await;
    arena.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_nobody_takes_are_not_asked_for_without_end() {
    let arena = Arena::new().await;
    arena
        .fails(
            "never-takes",
            1_500,
            ErrorKind::Timeout,
            "longer than 1500 ms",
        )
        .await;
    // 200 calls of 4 MiB each were made, and 64 MiB may wait.
    let asked = arena.server.calls().len();
    assert!((10..40).contains(&asked), "{asked} calls were made");
    arena.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timer_that_is_always_due_runs_at_a_rate() {
    let arena = Arena::new().await;
    let wall_ms = 4_000;
    let envelope = arena
        .fails("always-due", wall_ms, ErrorKind::Timeout, "longer than")
        .await;
    let journal = arena.gateway.store().journal(&envelope.execution_id).await;
    let delivered = |entry: &&JournalEntry| matches!(entry, JournalEntry::Delivered(_));
    let turns = journal.unwrap().iter().filter(delivered).count();
    let most = u64::from(TURNS_BURST) + u64::from(TURNS_PER_SECOND) * (wall_ms + 1_000) / 1_000;
    assert!(turns > 100, "{turns}");
    assert!(turns as u64 <= most, "{turns} turns, {most} are the most");
    arena.gateway.shutdown().await;
}

/// Tells when it is dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_a_worker_that_is_lost_are_cancelled_at_once() {
    for (program, says) in [
        ("lie-while-calling", "malformed frame body"),
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
        let arena = Arena { gateway, server };
        let begun = Instant::now();
        let envelope = arena
            .fails(program, 60_000, ErrorKind::WorkerLost, says)
            .await;
        assert!(begun.elapsed() < Duration::from_secs(10), "{program}");
        assert!(dropped.load(Ordering::SeqCst), "{program}");
        let journal = arena.gateway.store().journal(&envelope.execution_id).await;
        let cancelled = |entry: &JournalEntry| {
            matches!(
                entry,
                JournalEntry::Outcome { result: Err(error), .. }
                    if error.code == CallCode::Cancelled
            )
        };
        assert!(journal.unwrap().iter().any(cancelled), "{program}");
        arena.gateway.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_is_watched_while_a_worker_says_that_it_waits() {
    let arena = Arena::new().await;
    arena
        .fails("memory-while-idle", 60_000, ErrorKind::MemoryLimit, "bytes")
        .await;
    arena.gateway.shutdown().await;
}
