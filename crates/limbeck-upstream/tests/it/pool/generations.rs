//! Negotiated generation of a server, and the number of processes it takes.

use limbeck_upstream::{ProtocolGeneration, ServerState, UpstreamPool};

use crate::pool::support::*;

async fn era_and_starts(args: &[&str]) -> (ProtocolGeneration, usize) {
    let log = ServerLog::new();
    let path = log.path();
    let args = [args, &["--log", &path]].concat();
    let pool = UpstreamPool::new(vec![healthy(&args)]);
    healthy_answers(&pool).await;
    let ServerState::Ready { generation, .. } = pool.state(&"healthy".into()) else {
        panic!("not ready");
    };
    assert_eq!(list(&pool, "healthy").await.unwrap().tools.len(), 6);
    pool.shutdown().await;
    (generation, log.starts().len())
}

#[tokio::test]
async fn a_server_that_knows_the_probe_is_modern() {
    assert_eq!(era_and_starts(&[]).await, (ProtocolGeneration::Modern, 1));
}

#[tokio::test]
async fn a_server_that_refuses_the_probe_is_legacy_in_the_same_process() {
    assert_eq!(
        era_and_starts(&["--era", "legacy"]).await,
        (ProtocolGeneration::Legacy, 1)
    );
}

#[tokio::test]
async fn a_server_that_is_silent_on_the_probe_is_legacy_in_a_fresh_process() {
    assert_eq!(
        era_and_starts(&["--era", "silent"]).await,
        (ProtocolGeneration::Legacy, 2)
    );
}

#[tokio::test]
async fn a_server_that_refuses_initialize_for_its_version_is_modern_after_all() {
    assert_eq!(
        era_and_starts(&["--era", "late"]).await,
        (ProtocolGeneration::Modern, 3)
    );
}

/// It reads nothing for longer than the probe may stay unanswered once it was read.
#[tokio::test]
async fn a_server_that_is_slow_to_import_is_waited_for() {
    assert_eq!(
        era_and_starts(&["--import-seconds", "6"]).await,
        (ProtocolGeneration::Modern, 1)
    );
}

#[tokio::test]
async fn a_server_that_dies_on_the_probe_is_legacy_and_is_not_probed_again() {
    let log = ServerLog::new();
    let pool = UpstreamPool::new(vec![healthy(&["--era", "dies", "--log", &log.path()])]);
    healthy_answers(&pool).await;
    assert_eq!(log.starts().len(), 2);
    call(&pool, "healthy", "crash", "{}").await.unwrap_err();
    healthy_answers(&pool).await;
    assert_eq!(log.starts().len(), 3);
    pool.shutdown().await;
}
