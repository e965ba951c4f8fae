//! Time to the end of an execution: after a client's cancel, at the time limit, and when there is no place for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use limbeck_domain::{Envelope, ErrorKind};
use limbeck_gateway::Gateway;
use limbeck_testkit::{FakeServer, World, request, run, value_of};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::report::{Report, median, percentile_90, sampled, shown};
use crate::{LIMBECK, runtime};

/// Requests of the client that floods, at the same time.
const FLOOD: usize = 500;
/// Time limit of the program that never ends by itself.
const LIMIT: Duration = Duration::from_millis(500);

/// Time from a client's cancel to the end of its execution and of the call in flight.
pub(crate) fn cancel(report: &mut Report) {
    let runtime = runtime();
    let server = FakeServer::new("t")
        .tool("forever", Some(true), |_| Box::pin(std::future::pending()))
        .share();
    let gateway = runtime.block_on(World::new(LIMBECK).server(&server).start());
    let samples = sampled(20, || {
        let before = server.calls().len();
        let cancel = CancellationToken::new();
        let execution = gateway.execute(request("await tools.t.forever({})"), cancel.clone());
        let cancelled = async {
            while server.calls().len() == before {
                tokio::task::yield_now().await;
            }
            cancel.cancel();
            Instant::now()
        };
        let (envelope, since) = runtime.block_on(async { tokio::join!(execution, cancelled) });
        let took = since.elapsed();
        let error = envelope.error.expect("a cancelled execution has an error");
        assert_eq!(error.kind, ErrorKind::Cancelled);
        took
    });
    report.time(
        "cancel: to the end of the execution and its call",
        &samples,
        Some(Duration::from_millis(250)),
        format!("p90 {}", shown(percentile_90(&samples))),
    );
    runtime.block_on(gateway.shutdown());
}

/// Time that a program which never ends takes beyond its limit.
pub(crate) fn limit(report: &mut Report) {
    let runtime = runtime();
    let gateway = runtime.block_on(World::new(LIMBECK).start());
    let samples = sampled(5, || {
        // The first program would wait for the first worker.
        runtime.block_on(run(&gateway, "return 1"));
        let mut bounded = request("for (;;) {}");
        bounded.timeout_ms = Some(LIMIT.as_millis() as u64);
        let started = Instant::now();
        let envelope = runtime.block_on(gateway.execute(bounded, CancellationToken::new()));
        let took = started.elapsed();
        let error = envelope.error.expect("the program cannot complete");
        assert_eq!(error.kind, ErrorKind::Timeout);
        took.saturating_sub(LIMIT)
    });
    report.time(
        "limit: beyond the wall clock, an endless loop",
        &samples,
        Some(Duration::from_millis(250)),
        String::new(),
    );
    runtime.block_on(gateway.shutdown());
}

/// Time of one client's programs beside a client that floods, and of the rejections that the latter gets.
pub(crate) fn flood(report: &mut Report) {
    let runtime = runtime();
    let server = FakeServer::new("t")
        .tool("slow", Some(true), |_| {
            Box::pin(async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                json!({"content": [], "structuredContent": []})
            })
        })
        .share();
    let gateway = runtime.block_on(World::new(LIMBECK).server(&server).start());
    let alone = polite(&runtime, &gateway);
    let flooding = Arc::new(AtomicBool::new(true));
    let rejected = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..FLOOD)
        .map(|_| {
            let (gateway, flooding) = (gateway.clone(), Arc::clone(&flooding));
            let rejected = Arc::clone(&rejected);
            runtime.spawn(async move {
                let mut times = Vec::new();
                while flooding.load(Ordering::Relaxed) {
                    let (envelope, took) = execute_as(&gateway, "greedy", "return 1 + 1").await;
                    if is_busy(&envelope) {
                        times.push(took);
                        rejected.fetch_add(1, Ordering::Relaxed);
                        // A client waits after this error.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                }
                times
            })
        })
        .collect();
    while rejected.load(Ordering::Relaxed) < 100 {
        std::thread::yield_now();
    }
    let beside = polite(&runtime, &gateway);
    flooding.store(false, Ordering::Relaxed);
    let times = runtime.block_on(futures::future::join_all(clients));
    let rejections: Vec<Duration> = times.into_iter().flatten().flatten().collect();
    let ratio = median(&beside).as_secs_f64() / median(&alone).as_secs_f64();
    report.time(
        "flood: one call of 100 ms beside 500 clients of another principal",
        &beside,
        None,
        format!("{ratio:.2} times the time alone, 2 promised"),
    );
    report.time(
        "flood: rejection of a request that has no place",
        &rejections,
        Some(Duration::from_millis(50)),
        format!("p90 {}", shown(percentile_90(&rejections))),
    );
    runtime.block_on(gateway.shutdown());
}

fn polite(runtime: &Runtime, gateway: &Gateway) -> Vec<Duration> {
    sampled(15, || {
        let program = "return await tools.t.slow({})";
        let (envelope, took) = runtime.block_on(execute_as(gateway, "polite", program));
        assert_eq!(value_of(&envelope), json!([]));
        took
    })
}

async fn execute_as(gateway: &Gateway, principal: &str, program: &str) -> (Envelope, Duration) {
    let mut request = request(program);
    principal.clone_into(&mut request.principal);
    let started = Instant::now();
    let envelope = gateway.execute(request, CancellationToken::new()).await;
    (envelope, started.elapsed())
}

fn is_busy(envelope: &Envelope) -> bool {
    let error = envelope.error.as_ref();
    error.is_some_and(|error| error.kind == ErrorKind::Busy)
}
