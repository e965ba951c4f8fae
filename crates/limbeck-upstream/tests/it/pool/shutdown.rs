//! End of the pool: no process of a server is left.

use std::time::{Duration, Instant};

use limbeck_upstream::{ServerState, UpstreamError, UpstreamPool};

use crate::pool::support::*;

#[tokio::test]
async fn shutdown_leaves_no_process_and_starts_none_again() {
    let log = ServerLog::new();
    let pool = UpstreamPool::new(vec![healthy(&["--log", &log.path()])]);
    healthy_answers(&pool).await;
    let pid = log.starts()[0];
    assert!(is_running(pid));
    pool.shutdown().await;
    assert!(!is_running(pid));
    assert!(
        log.text().ends_with("end of input\n"),
        "it was not killed: {}",
        log.text()
    );
    let error = call(&pool, "healthy", "echo", "{}").await.unwrap_err();
    assert!(matches!(error, UpstreamError::Stopped));
    assert_eq!(pool.state(&"healthy".into()), ServerState::Stopped);
    assert_eq!(log.starts().len(), 1);
}

#[tokio::test]
async fn shutdown_during_a_start_leaves_no_process() {
    let log = ServerLog::new();
    let pool = UpstreamPool::new(vec![healthy(&[
        "--log",
        &log.path(),
        "--import-seconds",
        "30",
    ])]);
    let (error, ()) = tokio::join!(call(&pool, "healthy", "echo", "{}"), async {
        eventually("it starts", || !log.starts().is_empty()).await;
        pool.shutdown().await;
    });
    assert!(matches!(error.unwrap_err(), UpstreamError::Stopped));
    assert!(!is_running(log.starts()[0]));
}

/// A dropped pool cannot wait, but its children end all the same.
#[tokio::test]
async fn dropping_the_pool_ends_its_processes() {
    let log = ServerLog::new();
    let pool = UpstreamPool::new(vec![healthy(&["--log", &log.path()])]);
    healthy_answers(&pool).await;
    let pid = log.starts()[0];
    drop(pool);
    eventually("it ends", || !is_running(pid)).await;
}

/// It ignores every polite signal and the end of its input, and its child left the process group.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn h22_is_killed_with_the_child_that_left_its_group() {
    let pool = UpstreamPool::new(vec![
        server("h22", "h22_ignore_shutdown.py", &[], &[]),
        healthy(&[]),
    ]);
    list(&pool, "h22").await.unwrap();
    healthy_answers(&pool).await;
    let own = std::process::id();
    let family: Vec<u32> = children(own)
        .into_iter()
        .flat_map(|child| [vec![child], children(child)].concat())
        .collect();
    assert_eq!(family.len(), 3, "two servers and the child of one");
    assert!(family.iter().all(|pid| is_running(*pid)));

    let started = Instant::now();
    pool.shutdown().await;
    assert!(started.elapsed() < Duration::from_secs(60));
    for pid in family {
        eventually("it is gone", || !is_running(pid)).await;
    }
}

#[cfg(target_os = "linux")]
fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|list| {
            list.split_whitespace()
                .map(|pid| pid.parse().unwrap())
                .collect::<Vec<_>>()
        })
        .collect()
}
