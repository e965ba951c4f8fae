//! More requests than there are places: a bounded queue, a quick refusal, and turns for everybody.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use limbeck_gateway::Gateway;
use limbeck_gateway::domain::limits::{
    EXECUTIONS_PER_PRINCIPAL_MAX, EXECUTIONS_QUEUED_PER_PRINCIPAL_MAX,
};
use limbeck_gateway::domain::{Envelope, ErrorKind};
use limbeck_testkit::{FakeServer, World, request, value_of};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::worker;

const REQUESTS: usize = 500;
/// Time in which a request that cannot be served hears so.
const REFUSED_WITHIN: Duration = Duration::from_millis(50);

async fn ask(gateway: &Gateway, principal: &str, program: &str) -> (Envelope, Duration) {
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

#[tokio::test(flavor = "multi_thread")]
async fn of_five_hundred_requests_at_once_as_many_as_fit_are_served_and_the_rest_refused_at_once() {
    let gateway = World::new(worker()).start().await;
    let asked = (0..REQUESTS).map(|_| {
        let gateway = gateway.clone();
        tokio::spawn(async move {
            let program = "await new Promise(done => setTimeout(done, 500)); return 1";
            ask(&gateway, "greedy", program).await
        })
    });
    let mut served = 0;
    for answer in futures::future::join_all(asked).await {
        let (envelope, took) = answer.unwrap();
        if is_busy(&envelope) {
            let error = envelope.error.unwrap();
            assert!(took < REFUSED_WITHIN, "refused after {took:?}");
            assert!(
                error.message.contains("waiting") && error.hint.is_some(),
                "{error:?}"
            );
        } else {
            assert_eq!(value_of(&envelope), json!(1));
            served += 1;
        }
    }
    let fit = EXECUTIONS_PER_PRINCIPAL_MAX + EXECUTIONS_QUEUED_PER_PRINCIPAL_MAX;
    assert_eq!(served, fit);
    gateway.shutdown().await;
}

/// What one client waits for a program with a tool call in it, in the middle.
async fn polite(gateway: &Gateway) -> Duration {
    let mut times = Vec::new();
    for _ in 0..15 {
        let (envelope, took) = ask(gateway, "polite", "return await tools.t.slow({})").await;
        assert_eq!(value_of(&envelope), json!([]));
        times.push(took);
    }
    times.sort_unstable();
    times[times.len() / 2]
}

#[tokio::test(flavor = "multi_thread")]
async fn one_client_is_served_in_under_twice_its_time_while_another_floods() {
    let t = FakeServer::new("t")
        .tool("slow", Some(true), |_| {
            Box::pin(async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                json!({"content": [], "structuredContent": []})
            })
        })
        .share();
    let gateway = World::new(worker()).server(&t).start().await;
    let alone = polite(&gateway).await;

    let (flooding, refused) = (
        Arc::new(AtomicBool::new(true)),
        Arc::new(AtomicUsize::new(0)),
    );
    let flood: Vec<_> = (0..REQUESTS)
        .map(|_| {
            let (gateway, flooding) = (gateway.clone(), Arc::clone(&flooding));
            let refused = Arc::clone(&refused);
            tokio::spawn(async move {
                while flooding.load(Ordering::Relaxed) {
                    let (envelope, _) = ask(&gateway, "greedy", "return 1 + 1").await;
                    if is_busy(&envelope) {
                        refused.fetch_add(1, Ordering::Relaxed);
                        // As a client would that was told to wait.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                }
            })
        })
        .collect();
    while refused.load(Ordering::Relaxed) < 100 {
        tokio::task::yield_now().await;
    }
    let beside = polite(&gateway).await;
    flooding.store(false, Ordering::Relaxed);
    futures::future::join_all(flood).await;
    assert!(
        beside < 2 * alone,
        "{alone:?} alone, {beside:?} beside a flood"
    );
    gateway.shutdown().await;
}
