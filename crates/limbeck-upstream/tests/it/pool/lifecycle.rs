//! Starting, sharing, queueing, cancelling, crashing, backing off.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use limbeck_domain::{CallCode, ServerName, ToolId};
use limbeck_policy::Permit;
use limbeck_upstream::{
    CallContext, ProtocolGeneration, RawToolResult, ServerSpec, ServerState, StdioSpec, ToolList,
    TransportSpec, UnusableKind, UnusableServer, Upstream, UpstreamError, UpstreamPool,
};
use tokio_util::sync::CancellationToken;

use crate::pool::support::*;

#[tokio::test]
async fn many_first_calls_start_one_process_and_nothing_starts_before() {
    let log = ServerLog::new();
    let pool = UpstreamPool::new(vec![healthy(&["--log", &log.path()])]);
    assert_eq!(pool.state(&"healthy".into()), ServerState::NotStarted);
    assert!(log.starts().is_empty());

    let calls = (0..20).map(|_| call(&pool, "healthy", "echo", "{}"));
    for result in join_all(calls).await {
        result.unwrap();
    }
    assert_eq!(log.starts().len(), 1);
    let ServerState::Ready {
        generation,
        protocol,
        server,
    } = pool.state(&"healthy".into())
    else {
        panic!("{:?}", pool.state(&"healthy".into()));
    };
    assert_eq!(
        (generation, protocol.as_str()),
        (ProtocolGeneration::Modern, "2026-07-28")
    );
    assert_eq!(server.unwrap().name, "healthy");
    pool.shutdown().await;
}

#[tokio::test]
async fn a_cancelled_caller_does_not_cancel_the_start() {
    let log = ServerLog::new();
    let pool = UpstreamPool::new(vec![healthy(&[
        "--log",
        &log.path(),
        "--import-seconds",
        "0.4",
    ])]);
    let gone = CancellationToken::new();
    let leaving = pool.call(
        permit("healthy", "echo", "{}"),
        CallContext::new(gone.clone()),
    );
    let (left, ()) = tokio::join!(leaving, async {
        eventually("the process starts", || !log.starts().is_empty()).await;
        gone.cancel();
    });
    let left = left.unwrap_err();
    assert!(matches!(left, UpstreamError::CancelledUnsent), "{left}");
    assert!(left.had_no_effect());
    healthy_answers(&pool).await;
    assert_eq!(log.starts().len(), 1);
    pool.shutdown().await;
}

#[tokio::test]
async fn parallel_calls_are_bounded_and_queueing_does_not_use_up_the_deadline() {
    let mut spec = with_call_timeout(healthy(&[]), 2_000);
    spec.concurrency = 2;
    let pool = UpstreamPool::new(vec![spec]);
    healthy_answers(&pool).await;

    let started = Instant::now();
    let calls = (0..8).map(|_| call(&pool, "healthy", "echo", r#"{"ms":700}"#));
    for result in join_all(calls).await {
        result.unwrap();
    }
    // Four rounds of 700 ms: the last ones waited longer than their own deadline of two seconds.
    assert!(started.elapsed() >= Duration::from_millis(2_800));
    let peak = call(&pool, "healthy", "peak", "{}").await.unwrap();
    assert_eq!(first_text(&peak), r#"{"peak": 2}"#);
    pool.shutdown().await;
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_cancelled_at_the_server_and_others_go_on() {
    let log = ServerLog::new();
    let pool = UpstreamPool::new(vec![with_call_timeout(
        healthy(&["--log", &log.path()]),
        3_000,
    )]);
    healthy_answers(&pool).await;
    let (slow, quick) = tokio::join!(
        call(&pool, "healthy", "echo", r#"{"ms":30000}"#),
        call(&pool, "healthy", "echo", r#"{"ms":100}"#),
    );
    let error = slow.unwrap_err();
    assert_eq!(error.to_string(), "no answer within 3000 ms");
    let reported = error.to_call_error(&ToolId::new("healthy", "echo"));
    assert_eq!(
        (reported.code, reported.retryable),
        (CallCode::Timeout, false)
    );
    quick.unwrap();
    eventually("the server is notified", || {
        log.text().contains("notifications/cancelled")
    })
    .await;
    healthy_answers(&pool).await;
    assert_eq!(log.starts().len(), 1);
    pool.shutdown().await;
}

#[tokio::test]
async fn a_cancelled_call_ends_and_the_server_gets_its_id() {
    let log = ServerLog::new();
    let pool = UpstreamPool::new(vec![healthy(&["--log", &log.path()])]);
    healthy_answers(&pool).await;
    let cancel = CancellationToken::new();
    let slow = pool.call(
        permit("healthy", "echo", r#"{"ms":30000}"#),
        CallContext::new(cancel.clone()),
    );
    let (slow, ()) = tokio::join!(slow, async {
        eventually("the call arrives", || log.text().contains("30000")).await;
        cancel.cancel();
    });
    assert!(matches!(slow.unwrap_err(), UpstreamError::Cancelled));
    eventually("the server is notified", || {
        let text = log.text();
        let id = |line: &str, key: &str| {
            let value: serde_json::Value = serde_json::from_str(line).ok()?;
            value.pointer(key).cloned()
        };
        let call = text.lines().find(|line| line.contains("30000")).unwrap();
        text.lines()
            .filter(|line| line.contains("notifications/cancelled"))
            .any(|line| id(line, "/params/requestId") == id(call, "/id"))
    })
    .await;
    pool.shutdown().await;
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_at_the_server() {
    let log = ServerLog::new();
    let pool = UpstreamPool::new(vec![healthy(&["--log", &log.path()])]);
    healthy_answers(&pool).await;
    tokio::select! {
        _ = call(&pool, "healthy", "echo", r#"{"ms":30000}"#) => panic!("it cannot be done yet"),
        () = eventually("the call arrives", || log.text().contains("30000")) => {}
    }
    eventually("the server is notified", || {
        log.text().contains("notifications/cancelled")
    })
    .await;
    pool.shutdown().await;
}

#[tokio::test]
async fn a_crash_fails_its_own_calls_and_the_next_call_starts_again() {
    let log = ServerLog::new();
    let pool = UpstreamPool::new(vec![
        healthy(&[]),
        server("crasher", "healthy.py", &["--log", &log.path()], &[]),
    ]);
    healthy_answers(&pool).await;
    call(&pool, "crasher", "echo", "{}").await.unwrap();

    let (crashed, beside, elsewhere) = tokio::join!(
        call(&pool, "crasher", "crash", r#"{"ms":200}"#),
        call(&pool, "crasher", "echo", r#"{"ms":30000}"#),
        call(&pool, "healthy", "echo", r#"{"ms":600}"#),
    );
    for lost in [crashed, beside] {
        let error = lost.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the connection to the server was lost during the call (exit status: 7); its last output: \"going down\""
        );
    }
    elsewhere.unwrap();
    assert_eq!(log.text().matches("\"crash\"").count(), 1, "never repeated");

    call(&pool, "crasher", "echo", "{}").await.unwrap();
    assert_eq!(log.starts().len(), 2);
    let report = pool.report(&"crasher".into());
    assert!(report.last_error.unwrap().contains("exit status: 7"));
    pool.shutdown().await;
}

#[tokio::test]
async fn a_server_that_does_not_start_backs_off_and_is_tried_again() {
    let log = ServerLog::new();
    let broken = ["--log", &log.path(), "--exit-on-start", "no such token"];
    let pool = UpstreamPool::new(vec![
        healthy(&[]),
        server("broken", "healthy.py", &broken, &[]),
    ]);
    let error = call(&pool, "broken", "echo", "{}").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server ended while starting (exit status: 3); its last output: \"no such token\""
    );
    let starts = log.starts().len();

    let error = call(&pool, "broken", "echo", "{}").await.unwrap_err();
    let UpstreamError::BackingOff { retry_in_ms, .. } = &error else {
        panic!("{error}");
    };
    assert!(*retry_in_ms <= 1000);
    let reported = error.to_call_error(&ToolId::new("broken", "echo"));
    assert_eq!(
        (reported.code, reported.retryable),
        (CallCode::ServerUnavailable, true)
    );
    assert!(
        reported
            .message
            .contains("\"no such token\"; nothing was sent; next try in"),
        "{reported}"
    );
    assert_eq!(log.starts().len(), starts);
    healthy_answers(&pool).await;

    eventually("the time has ended", || {
        matches!(pool.state(&"broken".into()), ServerState::Failed { .. })
    })
    .await;
    call(&pool, "broken", "echo", "{}").await.unwrap_err();
    assert!(log.starts().len() > starts);
    pool.shutdown().await;
}

#[tokio::test]
async fn a_missing_program_is_named() {
    let spec = ServerSpec::new(
        "missing",
        TransportSpec::Stdio(StdioSpec {
            command: "no-such-program".into(),
            args: Vec::new(),
            env: vec![("PATH".into(), PATH.into())],
            cwd: None,
        }),
    );
    let pool = UpstreamPool::new(vec![spec, healthy(&[])]);
    let error = list(&pool, "missing").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "program `no-such-program` was not found in PATH"
    );
    let state = pool.state(&"missing".into());
    assert!(matches!(state, ServerState::Failed { .. }), "{state:?}");
    healthy_answers(&pool).await;
    pool.shutdown().await;
}

#[tokio::test]
async fn servers_that_cannot_be_called_report_why() {
    let mut off = healthy(&[]);
    off.name = "off".into();
    off.disabled = true;
    let unusable = UnusableServer {
        kind: UnusableKind::Unsupported,
        reason: "a url needs a transport that this build lacks".to_owned(),
        next_step: Some("use another".to_owned()),
    };
    let remote = ServerSpec::new("remote", TransportSpec::Unusable(unusable));
    let pool = UpstreamPool::new(vec![off, remote]);
    let names: Vec<_> = pool.names().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["off", "remote"]);
    let code = async |server: &str| {
        let error = call(&pool, server, "x", "{}").await.unwrap_err();
        error.to_call_error(&ToolId::new(server, "x")).code
    };
    assert_eq!(code("off").await, CallCode::ServerUnavailable);
    assert_eq!(code("remote").await, CallCode::ServerUnavailable);
    let next_step = pool.report(&"remote".into()).next_step;
    assert_eq!(next_step.as_deref(), Some("use another"));
    assert_eq!(code("other").await, CallCode::UnknownServer);
    assert_eq!(pool.state(&"off".into()), ServerState::Disabled);
    assert_eq!(pool.state(&"other".into()), ServerState::NotConfigured);
}

struct AddingUpstream;

impl Upstream for AddingUpstream {
    fn list_tools(&self) -> BoxFuture<'_, Result<ToolList, UpstreamError>> {
        async { Ok(ToolList::default()) }.boxed()
    }

    fn call(
        &self,
        permit: Permit,
        _: CallContext,
    ) -> BoxFuture<'_, Result<RawToolResult, UpstreamError>> {
        let arguments = permit.spend().arguments;
        async move { Ok(RawToolResult((*arguments.into_raw()).to_owned())) }.boxed()
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}

#[tokio::test]
async fn an_upstream_in_this_process_is_called_like_any_other() {
    let pool = UpstreamPool::new(Vec::new())
        .with_upstream(ServerName::from("adder"), Arc::new(AddingUpstream));
    let result = call(&pool, "adder", "add", r#"{"a":1}"#).await.unwrap();
    assert_eq!(result.get(), r#"{"a":1}"#);
    pool.shutdown().await;
}

async fn call_as(
    pool: &UpstreamPool,
    principal: &str,
    arguments: &str,
    cancel: &CancellationToken,
) -> Result<RawToolResult, UpstreamError> {
    let context = CallContext::new(cancel.clone()).with_principal(Some(principal.into()));
    pool.call(permit("healthy", "echo", arguments), context)
        .await
}

#[tokio::test]
async fn a_principal_with_hundreds_of_slow_calls_does_not_delay_or_stop_another() {
    let pool = UpstreamPool::new(vec![with_call_timeout(healthy(&[]), 30_000)]);
    healthy_answers(&pool).await;
    let cancel = CancellationToken::new();
    let flood = join_all((0..300).map(|_| call_as(&pool, "alice", r#"{"ms":20000}"#, &cancel)));
    let bob = async {
        let full = || pool.report(&"healthy".into()).in_flight >= 12;
        eventually("Alice holds what she may", full).await;
        let started = Instant::now();
        for _ in 0..5 {
            call_as(&pool, "bob", "{}", &CancellationToken::new())
                .await
                .unwrap();
        }
        assert!(started.elapsed() < Duration::from_secs(10));
        cancel.cancel();
    };
    let (ended, ()) = tokio::join!(flood, bob);
    assert!(ended.iter().all(Result::is_err));
    pool.shutdown().await;
}

#[tokio::test]
async fn timeouts_of_one_principal_do_not_open_the_circuit_of_another() {
    let pool = UpstreamPool::new(vec![with_call_timeout(healthy(&[]), 300)]);
    healthy_answers(&pool).await;
    let cancel = CancellationToken::new();
    for _ in 0..6 {
        let error = call_as(&pool, "alice", r#"{"ms":5000}"#, &cancel).await;
        assert!(matches!(error, Err(UpstreamError::CallTimeout { .. })));
    }
    let error = call_as(&pool, "alice", "{}", &cancel).await.unwrap_err();
    assert!(matches!(error, UpstreamError::BackingOff { .. }), "{error}");
    // The bound of the test is short for the slow calls alone.
    for _ in 0..3 {
        let answer = call_as(&pool, "bob", "{}", &cancel).await;
        assert!(!matches!(answer, Err(UpstreamError::BackingOff { .. })));
    }
    pool.shutdown().await;
}
