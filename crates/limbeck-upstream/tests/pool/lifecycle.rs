//! Starting, sharing, queueing, cancelling, crashing, backing off.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use limbeck_domain::{CallCode, ServerName, ToolId};
use limbeck_policy::Permit;
use limbeck_upstream::{
    CallContext, Era, Pool, RawToolResult, ServerSpec, ServerState, StdioSpec, ToolList,
    TransportSpec, Unusable, UnusableKind, Upstream, UpstreamError,
};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::support::*;

#[tokio::test]
async fn many_first_calls_start_one_process_and_nothing_starts_before() {
    let log = Log::new();
    let pool = Pool::new(vec![healthy(&["--log", &log.path()])]);
    assert_eq!(pool.state(&"healthy".into()), ServerState::NotStarted);
    assert!(log.starts().is_empty());

    let calls = (0..20).map(|_| call(&pool, "healthy", "echo", "{}"));
    for result in join_all(calls).await {
        result.unwrap();
    }
    assert_eq!(log.starts().len(), 1);
    let ServerState::Ready {
        era,
        protocol,
        server,
    } = pool.state(&"healthy".into())
    else {
        panic!("{:?}", pool.state(&"healthy".into()));
    };
    assert_eq!((era, protocol.as_str()), (Era::Modern, "2026-07-28"));
    assert_eq!(server.unwrap().name, "healthy");
    pool.shutdown().await;
}

#[tokio::test]
async fn a_caller_who_leaves_does_not_take_the_start_along() {
    let log = Log::new();
    let pool = Pool::new(vec![healthy(&[
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
    assert!(matches!(left.unwrap_err(), UpstreamError::Cancelled));
    healthy_answers(&pool).await;
    assert_eq!(log.starts().len(), 1);
    pool.shutdown().await;
}

#[tokio::test]
async fn parallel_calls_are_bounded_and_queueing_does_not_use_up_the_deadline() {
    let mut spec = with_call_timeout(healthy(&[]), 700);
    spec.concurrency = 2;
    let pool = Pool::new(vec![spec]);
    healthy_answers(&pool).await;

    let started = Instant::now();
    let calls = (0..8).map(|_| call(&pool, "healthy", "echo", r#"{"ms":250}"#));
    for result in join_all(calls).await {
        result.unwrap();
    }
    // Four rounds of 250 ms: the last ones waited longer than their own deadline of 700 ms.
    assert!(started.elapsed() >= Duration::from_millis(1000));
    let peak = call(&pool, "healthy", "peak", "{}").await.unwrap();
    assert_eq!(first_text(&peak), r#"{"peak": 2}"#);
    pool.shutdown().await;
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_cancelled_at_the_server_and_others_go_on() {
    let log = Log::new();
    let pool = Pool::new(vec![with_call_timeout(
        healthy(&["--log", &log.path()]),
        600,
    )]);
    healthy_answers(&pool).await;
    let (slow, quick) = tokio::join!(
        call(&pool, "healthy", "echo", r#"{"ms":30000}"#),
        call(&pool, "healthy", "echo", r#"{"ms":100}"#),
    );
    let error = slow.unwrap_err();
    assert_eq!(error.to_string(), "no answer within 600 ms");
    let told = error.to_call_error(&ToolId::new("healthy", "echo"));
    assert_eq!((told.code, told.retryable), (CallCode::Timeout, false));
    quick.unwrap();
    eventually("the server is told", || {
        log.text().contains("notifications/cancelled")
    })
    .await;
    healthy_answers(&pool).await;
    assert_eq!(log.starts().len(), 1);
    pool.shutdown().await;
}

#[tokio::test]
async fn a_cancelled_call_ends_at_once_and_the_server_is_told_its_id() {
    let log = Log::new();
    let pool = Pool::new(vec![healthy(&["--log", &log.path()])]);
    healthy_answers(&pool).await;
    let cancel = CancellationToken::new();
    let slow = pool.call(
        permit("healthy", "echo", r#"{"ms":30000}"#),
        CallContext::new(cancel.clone()),
    );
    let (slow, cancelled_at) = tokio::join!(slow, async {
        eventually("the call arrives", || log.text().contains("30000")).await;
        cancel.cancel();
        Instant::now()
    });
    assert!(matches!(slow.unwrap_err(), UpstreamError::Cancelled));
    assert!(cancelled_at.elapsed() < Duration::from_millis(250));
    eventually("the server is told", || {
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
    let log = Log::new();
    let pool = Pool::new(vec![healthy(&["--log", &log.path()])]);
    healthy_answers(&pool).await;
    tokio::select! {
        _ = call(&pool, "healthy", "echo", r#"{"ms":30000}"#) => panic!("it cannot be done yet"),
        () = eventually("the call arrives", || log.text().contains("30000")) => {}
    }
    eventually("the server is told", || {
        log.text().contains("notifications/cancelled")
    })
    .await;
    pool.shutdown().await;
}

#[tokio::test]
async fn a_crash_fails_its_own_calls_at_once_and_the_next_call_starts_again() {
    let log = Log::new();
    let pool = Pool::new(vec![
        healthy(&[]),
        server("crasher", "healthy.py", &["--log", &log.path()], &[]),
    ]);
    healthy_answers(&pool).await;
    call(&pool, "crasher", "echo", "{}").await.unwrap();

    let started = Instant::now();
    let (crashed, beside, elsewhere) = tokio::join!(
        call(&pool, "crasher", "crash", r#"{"ms":200}"#),
        call(&pool, "crasher", "echo", r#"{"ms":30000}"#),
        call(&pool, "healthy", "echo", r#"{"ms":600}"#),
    );
    for lost in [crashed, beside] {
        let error = lost.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the server went away during the call (exit status: 7); its last words: going down"
        );
    }
    elsewhere.unwrap();
    assert!(started.elapsed() < Duration::from_secs(3));
    assert_eq!(log.text().matches("\"crash\"").count(), 1, "never repeated");

    call(&pool, "crasher", "echo", "{}").await.unwrap();
    assert_eq!(log.starts().len(), 2);
    let report = pool.report(&"crasher".into());
    assert!(report.last_error.unwrap().contains("exit status: 7"));
    pool.shutdown().await;
}

#[tokio::test]
async fn a_server_that_does_not_start_is_left_alone_for_a_while_and_tried_again() {
    let log = Log::new();
    let broken = ["--log", &log.path(), "--exit-on-start", "no such token"];
    let pool = Pool::new(vec![
        healthy(&[]),
        server("broken", "healthy.py", &broken, &[]),
    ]);
    let error = call(&pool, "broken", "echo", "{}").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server ended while starting (exit status: 3); its last words: no such token"
    );
    let starts = log.starts().len();

    let started = Instant::now();
    let error = call(&pool, "broken", "echo", "{}").await.unwrap_err();
    assert!(started.elapsed() < Duration::from_millis(200));
    let UpstreamError::BackingOff { retry_in_ms, .. } = &error else {
        panic!("{error}");
    };
    assert!(*retry_in_ms <= 1000);
    let told = error.to_call_error(&ToolId::new("broken", "echo"));
    assert_eq!(
        (told.code, told.retryable),
        (CallCode::ServerUnavailable, true)
    );
    assert!(
        told.message.contains("no such token; next try in"),
        "{told}"
    );
    assert_eq!(log.starts().len(), starts);
    healthy_answers(&pool).await;

    eventually("the time is over", || {
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
    let pool = Pool::new(vec![spec, healthy(&[])]);
    let error = list(&pool, "missing").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "program `no-such-program` was not found in PATH"
    );
    healthy_answers(&pool).await;
    pool.shutdown().await;
}

#[tokio::test]
async fn servers_that_cannot_be_called_say_why() {
    let mut off = healthy(&[]);
    off.name = "off".into();
    off.disabled = true;
    let unusable = Unusable {
        kind: UnusableKind::Unsupported,
        reason: "a url needs a transport that this build lacks".to_owned(),
        next_step: Some("use another".to_owned()),
    };
    let remote = ServerSpec::new("remote", TransportSpec::Unusable(unusable));
    let pool = Pool::new(vec![off, remote]);
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

struct Adder;

impl Upstream for Adder {
    fn list_tools(&self) -> BoxFuture<'_, Result<ToolList, UpstreamError>> {
        async { Ok(ToolList::default()) }.boxed()
    }

    fn call(
        &self,
        permit: Permit,
        _: CallContext,
    ) -> BoxFuture<'_, Result<RawToolResult, UpstreamError>> {
        let arguments = permit.spend().arguments;
        async move { Ok(RawToolResult(RawValue::from_string(arguments).unwrap())) }.boxed()
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}

#[tokio::test]
async fn an_upstream_in_this_process_is_called_like_any_other() {
    let pool = Pool::new(Vec::new()).with_upstream(ServerName::from("adder"), Arc::new(Adder));
    let result = call(&pool, "adder", "add", r#"{"a":1}"#).await.unwrap();
    assert_eq!(result.get(), r#"{"a":1}"#);
    pool.shutdown().await;
}
