//! Worker pool: each worker serves one execution, and killed workers and zygotes are replaced.

use std::collections::HashSet;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use limbeck_domain::ErrorKind;
use limbeck_testkit::{FakeServer, World, request, run, value_of};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::gateway::processes::{Process, workers, zygotes};
use crate::gateway::worker;

/// Polls `condition` every millisecond until it holds.
async fn until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_serves_one_execution_and_is_never_seen_again() {
    let seen: Arc<Mutex<HashSet<Process>>> = Arc::default();
    let alive = Arc::clone(&seen);
    let t = FakeServer::new("t")
        .read("look", move |_| {
            *alive.lock().unwrap() = workers().into_iter().collect();
            json!(null)
        })
        .share();
    let gateway = World::new(worker()).server(&t).start().await;
    let mut used = HashSet::new();
    for _ in 0..100 {
        let program = "const before = (globalThis as any).mark; (globalThis as any).mark = 1; await tools.t.look({}); return before === undefined";
        assert_eq!(value_of(&run(&gateway, program).await), json!(true));
        let during = std::mem::take(&mut *seen.lock().unwrap());
        assert!(!during.is_empty());
        let gone = || -> Vec<Process> {
            let now: HashSet<Process> = workers().into_iter().collect();
            during.difference(&now).copied().collect()
        };
        until(|| !gone().is_empty()).await;
        let gone = gone();
        assert_eq!(gone.len(), 1, "one worker ran it: {gone:?}");
        assert!(used.insert(gone[0]), "{gone:?} had served before");
        assert!(used.is_disjoint(&workers().into_iter().collect()));
    }
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_that_do_not_start_are_retried_with_longer_pauses_and_requests_get_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let (program, log) = (
        directory.path().join("worker"),
        directory.path().join("log"),
    );
    let script = format!("#!/bin/sh\necho started >> {}\nexit 1\n", log.display());
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let gateway = World::new(&program).start().await;
    let attempts = || {
        let log = std::fs::read_to_string(&log).unwrap_or_default();
        log.lines().count()
    };
    let begun = Instant::now();
    let mut asked = 0;
    // Until both hold: many requests got the error, and the start was retried several times.
    while asked < 200 || attempts() < 8 {
        let error = run(&gateway, "return 1").await.error.unwrap();
        assert_eq!(error.kind, ErrorKind::Gateway);
        assert!(
            error.message.contains("ended before it was ready"),
            "{error:?}"
        );
        asked += 1;
    }
    // Two at a time: at once, and after pauses of 0, 50, 100, 200, 400 … ms. A busy machine makes attempts fewer.
    let pauses = (begun.elapsed().as_millis() / 50 + 1).ilog2() as usize + 2;
    let (attempts, most) = (attempts(), 2 * (pauses + 1));
    assert!(
        attempts <= most,
        "{attempts} attempts for {asked} requests, {most} are the most"
    );
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zygote_that_is_killed_fails_what_runs_and_the_next_program_has_another() {
    let begun: Arc<AtomicUsize> = Arc::default();
    let count = Arc::clone(&begun);
    let t = FakeServer::new("t")
        .read("begin", move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            json!(null)
        })
        .tool("wait", Some(true), |_| Box::pin(std::future::pending()))
        .share();
    let gateway = World::new(worker()).server(&t).start().await;
    // Many times, because each kill meets workers in other states of their start.
    for round in 1..=20 {
        assert_eq!(value_of(&run(&gateway, "return 1 + 1").await), json!(2));
        let running = tokio::spawn({
            let gateway = gateway.clone();
            async move { run(&gateway, "await tools.t.begin({}); await tools.t.wait({})").await }
        });
        // The running worker and the two idle ones.
        until(|| begun.load(Ordering::Relaxed) == round && workers().len() == 3).await;
        let zygote = zygotes();
        assert_eq!(zygote.len(), 1);
        zygote[0].kill();
        let envelope = running.await.unwrap();
        let error = envelope.error.unwrap();
        assert_eq!(error.kind, ErrorKind::WorkerLost, "{error:?}");
        let next = gateway
            .execute(request("return 1 + 1"), CancellationToken::new())
            .await;
        assert_eq!(value_of(&next), json!(2));
        until(|| zygotes().len() == 1).await;
        assert_ne!(zygotes(), zygote);
    }
    gateway.shutdown().await;
    assert_eq!(zygotes(), []);
}
