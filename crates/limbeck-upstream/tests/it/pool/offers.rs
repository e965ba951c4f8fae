//! Resources, prompts, change notifications, idle servers and the circuit breaker.

use std::time::{Duration, Instant};

use limbeck_domain::{CallCode, ReadMethod, ServerName, ToolId};
use limbeck_policy::{Facts, Policy, ReadPermit, ReadRequest, Scope, decide_read};
use limbeck_upstream::{CallContext, PoolEvent, ServerState, UpstreamError, UpstreamPool};
use tokio_util::sync::CancellationToken;

use crate::pool::observer::{asking, pool};
use crate::pool::support::*;

fn read_permit(method: ReadMethod, params: &str) -> ReadPermit {
    let request = ReadRequest {
        server: "asking".into(),
        method,
        params: params.to_owned(),
    };
    let facts = Facts {
        scope: &Scope::everything(),
        policy: &Policy::default(),
        who: &[],
        now_us: 0,
    };
    decide_read(request, &facts).unwrap()
}

async fn read(
    pool: &UpstreamPool,
    method: ReadMethod,
    params: &str,
) -> Result<String, UpstreamError> {
    let context = CallContext::new(CancellationToken::new());
    let result = pool.request(read_permit(method, params), context).await?;
    Ok(result.get().to_owned())
}

#[tokio::test]
async fn resources_and_prompts_are_read_in_the_bytes_the_server_sent() {
    for era in ["both", "legacy"] {
        let pool = pool(asking(&["--era", era]));
        let text = read(&pool, ReadMethod::ReadResource, r#"{"uri":"note:1"}"#)
            .await
            .unwrap();
        assert!(text.contains("123456789012345678901234567890"), "{text}");
        let list = read(&pool, ReadMethod::ListResources, "{}").await.unwrap();
        assert!(list.contains(r#""nextCursor": "2""#), "{list}");
        let prompt = r#"{"name":"p","arguments":{"a":"b"}}"#;
        let prompt = read(&pool, ReadMethod::GetPrompt, prompt).await.unwrap();
        assert!(prompt.contains(r#"{\"a\": \"b\"}"#), "{prompt}");
        let missing = read(&pool, ReadMethod::ReadResource, r#"{"uri":"note:9"}"#).await;
        assert!(matches!(
            missing,
            Err(UpstreamError::Protocol { code: -32602, .. })
        ));
        let odd = read(&pool, ReadMethod::ReadResource, "{}").await;
        assert!(matches!(odd, Err(UpstreamError::InvalidArguments { .. })));
        pool.shutdown().await;
    }
}

#[tokio::test]
async fn announced_changes_become_events_in_either_generation_and_a_storm_of_them_is_two() {
    for era in ["both", "legacy"] {
        let log = ServerLog::new();
        let pool = pool(asking(&["--era", era, "--log", &log.path()]));
        let mut events = pool.subscribe();
        list(&pool, "asking").await.unwrap();
        if era == "both" {
            eventually("it is listened to", || {
                log.text().contains("subscriptions/listen")
            })
            .await;
        }
        let server = ServerName::from("asking");
        call(&pool, "asking", "announce", r#"{"times":500}"#)
            .await
            .unwrap();
        let mut seen = Vec::new();
        while let Ok(event) =
            tokio::time::timeout(Duration::from_millis(1_500), events.recv()).await
        {
            seen.push(event.unwrap());
        }
        let tools = PoolEvent::ToolsChanged {
            server: server.clone(),
        };
        let resources = PoolEvent::ResourcesChanged { server };
        assert_eq!(seen, [tools.clone(), tools, resources], "{era}");
        assert!(names(&list(&pool, "asking").await.unwrap()).contains(&"later"));
        pool.shutdown().await;
    }
}

#[tokio::test]
async fn an_idle_server_is_stopped_and_the_next_call_starts_it_again() {
    let log = ServerLog::new();
    let mut spec = healthy(&["--log", &log.path()]);
    spec.idle_timeout = Some(Duration::from_millis(400));
    let pool = UpstreamPool::new(vec![spec]);
    healthy_answers(&pool).await;
    let first = log.starts()[0];
    // A call that takes longer than that is no idleness.
    call(&pool, "healthy", "echo", r#"{"ms":900}"#)
        .await
        .unwrap();
    assert!(is_running(first));
    eventually("it is stopped", || !is_running(first)).await;
    assert_eq!(pool.state(&"healthy".into()), ServerState::NotStarted);
    assert_eq!(pool.report(&"healthy".into()).last_error, None);
    healthy_answers(&pool).await;
    assert_eq!(log.starts().len(), 2);
    pool.shutdown().await;
}

#[tokio::test]
async fn a_server_that_only_times_out_gets_no_calls_until_a_trial_succeeds() {
    let pool = pool(with_call_timeout(asking(&[]), 150));
    for _ in 0..6 {
        let slow = call(&pool, "asking", "wait", r#"{"ms":1000}"#).await;
        assert!(matches!(slow, Err(UpstreamError::CallTimeout { .. })));
    }
    let begun = Instant::now();
    let refused = call(&pool, "asking", "wait", r#"{"ms":0}"#)
        .await
        .unwrap_err();
    assert!(begun.elapsed() < Duration::from_millis(100));
    let error = refused.to_call_error(&ToolId::new("asking", "wait"));
    assert_eq!(
        (error.code, error.retryable),
        (CallCode::ServerUnavailable, true)
    );
    assert!(
        error.message.starts_with("6 calls in a row failed"),
        "{error}"
    );
    let report = pool.report(&"asking".into());
    assert!(matches!(report.state, ServerState::BackingOff { .. }));
    assert!(report.next_step.is_some());
    assert_eq!(
        report.last_error.as_deref(),
        Some("no answer within 150 ms")
    );
    healthy_answers(&pool).await;
    // It is tried again after ten seconds, and the answer closes the matter.
    let deadline = Instant::now() + Duration::from_secs(15);
    while call(&pool, "asking", "wait", r#"{"ms":0}"#).await.is_err() {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert!(matches!(
        pool.state(&"asking".into()),
        ServerState::Ready { .. }
    ));
    pool.shutdown().await;
}

#[tokio::test]
async fn calls_in_flight_and_queued_are_counted() {
    let mut spec = asking(&[]);
    spec.concurrency = 2;
    let pool = pool(spec);
    list(&pool, "asking").await.unwrap();
    let calls = (0..5).map(|_| call(&pool, "asking", "wait", r#"{"ms":1500}"#));
    let counted = eventually("all are counted", || {
        let report = pool.report(&"asking".into());
        (report.in_flight, report.queued) == (2, 3)
    });
    let (results, ()) = tokio::join!(futures::future::join_all(calls), counted);
    assert!(results.iter().all(Result::is_ok));
    let report = pool.report(&"asking".into());
    assert_eq!((report.in_flight, report.queued), (0, 0));
    pool.shutdown().await;
}
