//! Servers that send requests and do not read the answers.

use std::io;
use std::sync::{Arc, Mutex};

use limbeck_domain::limits::CALL_ARGS_BYTES_MAX;
use limbeck_upstream::{CallContext, ServerState, UpstreamPool};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::fmt::MakeWriter;

use crate::pool::support::*;

/// Log lines of the test's own thread.
#[derive(Clone, Default)]
struct CapturedLog(Arc<Mutex<Vec<u8>>>);

impl CapturedLog {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for CapturedLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for CapturedLog {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn h30_a_server_that_pings_and_never_reads_is_ended_and_logged_once() {
    for mode in ["deaf", "closed"] {
        let log = CapturedLog::default();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::WARN)
            .with_ansi(false)
            .with_writer(log.clone())
            .finish();
        let _captured = tracing::subscriber::set_default(subscriber);
        let pool = UpstreamPool::new(vec![server("deaf", "h30_deaf.py", &[mode], &[])]);
        assert_eq!(list(&pool, "deaf").await.unwrap().tools.len(), 1);
        eventually("the server is ended", || {
            !matches!(pool.state(&"deaf".into()), ServerState::Ready { .. })
        })
        .await;
        let report = pool.report(&"deaf".into());
        let reason = "it sent request after request and read no answer, so it was ended";
        assert!(report.last_error.unwrap().contains(reason), "{mode}");
        assert!(report.traffic.requests_dropped > 0, "{mode}");
        pool.shutdown().await;
        let text = log.text();
        let ended = "a server that does not read the answers to its requests is ended server=deaf";
        assert_eq!(text.matches(ended).count(), 1, "{mode}: {text}");
        // Beside it at most the closed input and one line of the SDK, and not one per answer.
        assert!(text.lines().count() <= 5, "{mode}: {text}");
    }
}

#[tokio::test]
async fn h30_a_server_that_reads_its_answers_stays() {
    let spec = server("deaf", "h30_deaf.py", &["reads"], &[]);
    let pool = UpstreamPool::new(vec![spec]);
    list(&pool, "deaf").await.unwrap();
    for _ in 0..50 {
        call(&pool, "deaf", "echo", "{}").await.unwrap();
    }
    assert!(matches!(
        pool.state(&"deaf".into()),
        ServerState::Ready { .. }
    ));
    pool.shutdown().await;
}

#[tokio::test]
async fn bytes_of_calls_that_a_server_does_not_read_are_bounded_for_each_principal() {
    let mut spec = server("deaf", "h17_hang_and_slow.py", &["deaf"], &[]);
    spec.concurrency = 64;
    let pool = Arc::new(UpstreamPool::new(vec![spec]));
    // It reads nothing after this.
    list(&pool, "deaf").await.unwrap();
    let call_by = |name: &str, arguments: String| {
        let (pool, principal) = (pool.clone(), Some(Arc::from(name)));
        async move {
            let context = CallContext::new(CancellationToken::new()).with_principal(principal);
            let call = pool.call(permit("deaf", "echo", &arguments), context);
            call.await.map(drop)
        }
    };
    let largest = format!(r#"{{"a":"{}"}}"#, "x".repeat(CALL_ARGS_BYTES_MAX - 8));
    assert_eq!(largest.len(), CALL_ARGS_BYTES_MAX);
    let requests = || {
        let report = pool.report(&"deaf".into());
        (report.in_flight, report.queued)
    };
    let mut calls = JoinSet::new();
    for _ in 0..6 {
        calls.spawn(call_by("alice", largest.clone()));
    }
    eventually("six of the largest are in flight", || requests() == (6, 0)).await;
    // One more of hers waits, although there are places. The control is a call of another principal.
    calls.spawn(call_by("alice", largest.clone()));
    calls.spawn(call_by("bob", largest));
    eventually("hers waits and his does not", || requests() == (7, 1)).await;
    calls.shutdown().await;
    assert_eq!(requests(), (0, 0));
    pool.shutdown().await;
}
