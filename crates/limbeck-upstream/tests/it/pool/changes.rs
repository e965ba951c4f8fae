//! Changes of the set of servers, and of what allowed a call that waits.

use limbeck_upstream::{CallContext, SendWindow, UpstreamError, UpstreamPool};
use tokio_util::sync::CancellationToken;

use crate::pool::support::*;

#[tokio::test]
async fn a_call_that_waits_for_the_start_of_its_server_is_not_sent_once_its_window_is_closed() {
    let log = ServerLog::new();
    let starting = ["--log", &log.path(), "--import-seconds", "30"];
    let slow = server("slow", "healthy.py", &starting, &[]);
    let pool = UpstreamPool::new(vec![slow, healthy(&[])]);
    let window = SendWindow::default();
    let call = |server| {
        let context = CallContext {
            pass: window.pass(),
            ..CallContext::new(CancellationToken::new())
        };
        pool.call(permit(server, "echo", "{}"), context)
    };
    // The control: a call whose server is there.
    call("healthy").await.unwrap();
    let (error, ()) = tokio::join!(call("slow"), async {
        eventually("it starts", || !log.starts().is_empty()).await;
        window.close().await;
    });
    let error = error.unwrap_err();
    assert!(matches!(error, UpstreamError::CancelledUnsent), "{error}");
    let error = call("healthy").await.unwrap_err();
    assert!(matches!(error, UpstreamError::CancelledUnsent), "{error}");
    healthy_answers(&pool).await;
    pool.shutdown().await;
}

#[tokio::test]
async fn a_server_that_is_taken_out_ends_and_the_others_go_on() {
    let (kept, gone, changed) = (ServerLog::new(), ServerLog::new(), ServerLog::new());
    let other = |log: &ServerLog| server("other", "healthy.py", &["--log", &log.path()], &[]);
    let pool = UpstreamPool::new(vec![healthy(&["--log", &kept.path()]), other(&gone)]);
    healthy_answers(&pool).await;
    call(&pool, "other", "echo", "{}").await.unwrap();

    pool.change(&[], vec![other(&changed)]);
    pool.end_retired().await;
    assert!(!is_running(gone.starts()[0]));
    // Started by its next call.
    assert!(changed.starts().is_empty());
    call(&pool, "other", "echo", "{}").await.unwrap();
    assert_eq!(changed.starts().len(), 1);

    pool.change(&["other".into()], Vec::new());
    let error = call(&pool, "other", "echo", "{}").await.unwrap_err();
    let is_unknown = matches!(error, UpstreamError::NotConfigured { .. });
    assert!(is_unknown, "{error}");
    healthy_answers(&pool).await;
    assert_eq!(kept.starts().len(), 1);
    // The end of the pool is the end of what was taken out as well.
    pool.shutdown().await;
    assert!(!is_running(changed.starts()[0]));
    assert!(!is_running(kept.starts()[0]));
}
