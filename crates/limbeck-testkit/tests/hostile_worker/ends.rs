//! X09: every way to end without a result, each told apart, none a success.

use limbeck_gateway::domain::ErrorKind;
use limbeck_testkit::{request, run};
use rustix::process::{Pid, Signal, kill_process};
use tokio_util::sync::CancellationToken;

use crate::{Arena, children_of, until};

#[tokio::test(flavor = "multi_thread")]
async fn an_end_without_a_result_is_told_by_how_it_came() {
    let arena = Arena::new().await;
    for (program, says) in [
        ("exit-zero", "ended without a result (exit code 0)"),
        ("exit-one", "ended without a result (exit code 1)"),
        ("panic", "ended without a result (exit code 101)"),
        (
            "system-call",
            "made a system call that its sandbox forbids, and was killed (SIGSYS)",
        ),
        ("stack-overflow", "crashed"),
        // Giving up needs a signal to itself, which the filter refuses; then it crashes on purpose.
        ("memory-reserved", "or had no memory left"),
    ] {
        arena
            .fails(program, 60_000, ErrorKind::WorkerLost, says)
            .await;
    }
    arena.gateway.shutdown().await;
}

/// Every worker of this process: what its zygote has made.
fn workers() -> Vec<u32> {
    let zygotes = children_of(std::process::id());
    zygotes.into_iter().flat_map(children_of).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_killed_from_outside_is_told_as_that() {
    let arena = Arena::new().await;
    arena.is_well().await;
    let execution = arena
        .gateway
        .execute(request("silent"), CancellationToken::new());
    let killed = async {
        until("the call", || !arena.server.calls().is_empty()).await;
        // Every worker: those that stand ready are replaced, the running one is lost.
        let workers = workers();
        for worker in &workers {
            let pid = Pid::from_raw(worker.cast_signed()).unwrap();
            // It may be gone by now.
            let _ = kill_process(pid, Signal::KILL);
        }
        let gone = || !self::workers().iter().any(|pid| workers.contains(pid));
        until("their end", gone).await;
    };
    let (envelope, ()) = tokio::join!(execution, killed);
    let error = envelope.error.unwrap();
    assert_eq!(error.kind, ErrorKind::WorkerLost);
    assert_eq!(
        error.message,
        "the worker was killed from outside (SIGKILL)"
    );
    arena.is_well().await;
    let next = run(&arena.gateway, "exit-zero").await;
    assert!(next.error.is_some());
    arena.gateway.shutdown().await;
}
