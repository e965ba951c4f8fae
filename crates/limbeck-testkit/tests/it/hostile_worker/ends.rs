//! X09: ends of a worker without a result; each has its own error, and none is a success.

use limbeck_domain::ErrorKind;
use limbeck_testkit::{request, run};
use rustix::process::{Pid, Signal, kill_process};
use tokio_util::sync::CancellationToken;

use super::{FakeWorkerGateway, LONG_MS, children_of, until};

#[tokio::test(flavor = "multi_thread")]
async fn an_end_without_a_result_is_reported_with_its_cause() {
    let hostile = FakeWorkerGateway::new().await;
    for (program, message) in [
        ("exit-zero", "ended without a result (exit code 0)"),
        ("exit-one", "ended without a result (exit code 1)"),
        ("panic", "ended without a result (exit code 101)"),
        (
            "system-call",
            "made a system call that its sandbox forbids, and was killed (SIGSYS)",
        ),
        ("stack-overflow", "crashed"),
        // Abort needs a signal to itself, which the filter denies; then the process crashes on purpose.
        ("memory-reserved", "or had no memory left"),
    ] {
        hostile
            .fails(program, LONG_MS, ErrorKind::WorkerLost, message)
            .await;
    }
    hostile.gateway.shutdown().await;
}

/// Workers of this process: the children of its zygotes.
fn workers() -> Vec<u32> {
    let zygotes = children_of(std::process::id());
    zygotes.into_iter().flat_map(children_of).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_killed_from_outside_is_reported_as_killed() {
    let hostile = FakeWorkerGateway::new().await;
    hostile.runs_honest_program().await;
    let execution = hostile
        .gateway
        .execute(request("silent"), CancellationToken::new());
    let killed = async {
        until("the call", || !hostile.server.calls().is_empty()).await;
        // All workers: idle ones of the pool are replaced, the running one is lost.
        let workers = workers();
        for worker in &workers {
            let pid = Pid::from_raw(worker.cast_signed()).unwrap();
            // It may have ended already.
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
    hostile.runs_honest_program().await;
    let next = run(&hostile.gateway, "exit-zero").await;
    assert!(next.error.is_some());
    hostile.gateway.shutdown().await;
}
