//! Servers that send requests and do not read the answers.

use std::io;
use std::sync::{Arc, Mutex};

use limbeck_upstream::{ServerState, UpstreamPool};
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
