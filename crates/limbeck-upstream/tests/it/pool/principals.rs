//! A server that several principals share: what one of them does or says does not reach another.

use std::sync::Arc;

use futures::FutureExt;
use limbeck_domain::ToolId;
use limbeck_upstream::{
    CallContext, PoolOptions, RawToolResult, ServerSpec, ServerState, StdioSpec, TransportSpec,
    UpstreamError, UpstreamPool,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::pool::support::*;

fn shared(servers: Vec<ServerSpec>) -> UpstreamPool {
    let options = PoolOptions {
        is_shared: true,
        ..PoolOptions::default()
    };
    UpstreamPool::with_options(servers, &options)
}

fn principal(name: &str) -> Option<Arc<str>> {
    Some(Arc::from(name))
}

async fn call_by(
    pool: &UpstreamPool,
    name: &str,
    server: &str,
    tool: &str,
) -> Result<RawToolResult, UpstreamError> {
    let context = CallContext::new(CancellationToken::new()).with_principal(principal(name));
    pool.call(permit(server, tool, "{}"), context).await
}

#[tokio::test]
async fn what_a_shared_server_wrote_during_calls_is_in_no_error_and_what_it_wrote_at_its_start_is()
{
    let broken = server(
        "broken",
        "healthy.py",
        &["--exit-on-start", "no such token"],
        &[],
    );
    let pool = shared(vec![healthy(&[]), broken]);
    let lost = call_by(&pool, "bob", "healthy", "crash").await.unwrap_err();
    assert_eq!(
        lost.to_string(),
        "the connection to the server was lost during the call (exit status: 7)"
    );
    let report = pool.report(&"healthy".into());
    assert!(!report.last_error.unwrap().contains("going down"));
    let state = report.state;
    assert!(matches!(state, ServerState::Failed { .. }), "{state:?}");
    assert!(!format!("{state:?}").contains("going down"), "{state:?}");
    // The control: at its start it had no call. That errors of the one user quote all is in `lifecycle`.
    let failed = call_by(&pool, "bob", "broken", "echo").await.unwrap_err();
    assert_eq!(
        failed.to_string(),
        "the server ended while starting (exit status: 3); its last output: \"no such token\""
    );
    pool.shutdown().await;
}

#[tokio::test]
async fn paths_of_the_host_are_in_errors_of_the_one_user_and_not_of_principals() {
    let gone = || {
        let stdio = StdioSpec {
            command: "/srv/private/prog".into(),
            args: Vec::new(),
            env: vec![("PATH".into(), PATH.into())],
            cwd: None,
        };
        vec![ServerSpec::new("gone", TransportSpec::Stdio(stdio))]
    };
    let pool = shared(gone());
    let error = call_by(&pool, "bob", "gone", "x").await.unwrap_err();
    let text = format!("{:?}", error.to_call_error(&ToolId::new("gone", "x")));
    assert!(!text.contains("/srv/private"), "{text}");
    assert!(!format!("{:?}", pool.report(&"gone".into())).contains("/srv/private"));
    pool.shutdown().await;
    // The control.
    let pool = UpstreamPool::new(gone());
    let error = call(&pool, "gone", "x", "{}").await.unwrap_err();
    assert!(error.to_string().contains("/srv/private/prog"), "{error}");
    pool.shutdown().await;
}

#[tokio::test]
async fn a_principal_that_crashes_a_server_in_a_loop_is_kept_from_it_and_others_are_not() {
    let pool = shared(vec![healthy(&[])]);
    for _ in 0..2 {
        let lost = call_by(&pool, "bob", "healthy", "crash").await.unwrap_err();
        assert!(
            matches!(lost, UpstreamError::ConnectionLost { .. }),
            "{lost}"
        );
    }
    // The back-off begins with the call that notices the crash, which is this one.
    let kept = call_by(&pool, "bob", "healthy", "crash").await.unwrap_err();
    assert!(matches!(kept, UpstreamError::BackingOff { .. }), "{kept}");
    assert!(kept.had_no_effect());
    let text = kept.to_string();
    assert!(text.contains("during an earlier call"), "{text}");
    assert!(text.contains("nothing was sent"), "{text}");
    call_by(&pool, "carol", "healthy", "echo").await.unwrap();
    pool.shutdown().await;
}

#[tokio::test]
async fn a_call_that_waits_for_its_place_was_not_sent() {
    let mut spec = healthy(&[]);
    spec.concurrency = 1;
    let pool = shared(vec![spec]);
    let held = pool.place(&"healthy".into(), None).await;
    assert!(held.is_some());
    let cancel = CancellationToken::new();
    let mut waits = Box::pin(pool.call(
        permit("healthy", "echo", "{}"),
        CallContext::new(cancel.clone()),
    ));
    assert!(waits.as_mut().now_or_never().is_none());
    cancel.cancel();
    let error = waits.await.unwrap_err();
    assert!(matches!(error, UpstreamError::CancelledUnsent), "{error}");
    assert!(error.had_no_effect());
    // The control: the call that brings the place is sent with it.
    let context = CallContext {
        place: held,
        ..CallContext::new(CancellationToken::new())
    };
    pool.call(permit("healthy", "echo", "{}"), context)
        .await
        .unwrap();
    // And gives it back.
    healthy_answers(&pool).await;
    pool.shutdown().await;
}

#[tokio::test]
async fn addresses_and_hidden_characters_of_an_error_are_not_passed_on() {
    let pool = UpstreamPool::new(vec![healthy(&[])]);
    let refused = async |more: serde_json::Value| {
        let error = call(&pool, "healthy", "refuse", &more.to_string()).await;
        let UpstreamError::Protocol {
            code,
            message,
            data,
        } = error.unwrap_err()
        else {
            panic!("another error");
        };
        (code, message, data)
    };
    let pages = json!([{"mode": "url", "url": "http://evil/", "elicitationId": "1"}]);
    let asked = json!({"code": -32042, "message": "pay", "data": {"elicitations": pages}});
    let (code, message, data) = refused(asked).await;
    assert_eq!((code, data), (-32042, None));
    assert!(
        message.starts_with("server `healthy` asks its user"),
        "{message}"
    );
    // The control: data of other errors passes, without what is hidden in it.
    let plain = json!({"code": -32000, "data": {"why": "no\u{202e}t \u{200b}now"}});
    let (_, message, data) = refused(plain).await;
    assert_eq!(message, "refused");
    assert_eq!(data.map(|data| *data), Some(json!({"why": "not now"})));
    pool.shutdown().await;
}
