//! Calls over HTTP: concurrency, errors, parameters in headers.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures::future::join_all;
use limbeck_domain::limits;
use limbeck_upstream::{CallContext, RequestKey, UpstreamError};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::http::fake_server::{
    FakeReply, FakeServer, ReceivedRequest, echo, error, event, modern, result,
};
use crate::http::support::{call, call_in, call_with, echoes, list, pool};

#[tokio::test]
async fn a_hundred_calls_at_once_get_their_own_answers() {
    let peer = FakeServer::start(|seen| match seen.rpc() {
        "tools/call" if seen.id().as_i64().unwrap() % 2 == 0 => {
            FakeReply::events(&[event(&echo(seen))])
        }
        _ => modern(seen),
    })
    .await;
    let pool = pool(&peer.url());
    join_all((0..100).map(|n| echoes(&pool, n))).await;
    assert_eq!(peer.count("server/discover"), 1);
    assert_eq!(peer.count("tools/call"), 100);
}

#[tokio::test]
async fn a_response_on_the_wrong_stream_with_a_foreign_id_is_dropped() {
    let peer = FakeServer::start(|seen| match seen.rpc() {
        "tools/call" => FakeReply::json(&result(&json!("7"), &json!({}))),
        _ => modern(seen),
    })
    .await;
    let pool = pool(&peer.url());
    let error = call(&pool, "{}").await.unwrap_err();
    assert!(
        matches!(error, UpstreamError::InvalidAnswer { .. }),
        "{error}"
    );
}

#[tokio::test]
async fn errors_of_the_protocol_keep_their_code_and_data_whatever_their_status() {
    let peer = FakeServer::start(|seen| {
        match (
            seen.rpc(),
            seen.body["params"]["arguments"]["status"].as_u64(),
        ) {
            ("tools/call", Some(status)) => {
                let mut refused = error(&seen.id(), -32602, "no such tool");
                refused["error"]["data"] = seen.body["params"]["arguments"]["data"].clone();
                FakeReply::typed(
                    u16::try_from(status).unwrap(),
                    "application/json",
                    &refused.to_string(),
                )
            }
            _ => modern(seen),
        }
    })
    .await;
    let pool = pool(&peer.url());
    let small = json!({"known": ["echo"], "at": 1.5});
    let large = json!("x".repeat(limits::ERROR_DATA_BYTES_MAX));
    let cases = [
        (200, &small),
        (400, &small),
        (404, &large),
        (500, &Value::Null),
    ];
    for (status, sent) in cases {
        let arguments = json!({"status": status, "data": sent});
        let error = call(&pool, &arguments.to_string()).await.unwrap_err();
        let UpstreamError::Protocol {
            code,
            message,
            data,
        } = &error
        else {
            panic!("{status}: {error}");
        };
        assert_eq!((*code, message.as_str()), (-32602, "no such tool"));
        let passed = Some(sent).filter(|sent| **sent == small);
        assert_eq!(data.as_deref(), passed);
    }
    echoes(&pool, 1).await;
}

fn annotated(seen: &ReceivedRequest) -> FakeReply {
    let tool = |name: &str, header: &str| {
        json!({"name": name, "inputSchema": {"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": header},
        }}})
    };
    match seen.rpc() {
        "tools/list" => FakeReply::json(&result(
            &seen.id(),
            &json!({"resultType": "complete", "tools": [tool("echo", "Region"), tool("evil", "Region\r\nHost"), tool("spaced", "a b")]}),
        )),
        "tools/call" => {
            let region = &seen.body["params"]["arguments"]["region"];
            match (region, seen.header("mcp-param-region")) {
                (Value::Null, None) => FakeReply::json(&echo(seen)),
                (Value::String(region), Some(header))
                    if header == region || header.starts_with("=?base64?") =>
                {
                    FakeReply::json(&echo(seen))
                }
                _ => {
                    let refused = error(&seen.id(), -32020, "header mismatch");
                    FakeReply::typed(400, "application/json", &refused.to_string())
                }
            }
        }
        _ => modern(seen),
    }
}

#[tokio::test]
async fn annotated_parameters_travel_in_headers_too_and_bad_annotations_cost_the_tool() {
    let peer = FakeServer::start(annotated).await;
    let pool = pool(&peer.url());
    let tools = list(&pool).await.unwrap();
    let names: Vec<&str> = tools.tools.iter().map(|tool| &*tool.id.tool).collect();
    assert_eq!(names, ["echo"]);
    assert_eq!(tools.dropped.len(), 2);
    assert!(
        tools.dropped[0].contains("x-mcp-header"),
        "{:?}",
        tools.dropped
    );
    for arguments in [r#"{"region":"eu"}"#, r#"{"region":"a\r\nX-Evil: 1"}"#, "{}"] {
        call(&pool, arguments).await.unwrap();
    }
    assert!(peer.seen().iter().all(|it| it.header("x-evil").is_none()));
    assert_eq!(peer.count("tools/list"), 1);
}

#[tokio::test]
async fn unknown_annotations_are_learned_when_the_server_requires_them() {
    let peer = FakeServer::start(annotated).await;
    let pool = pool(&peer.url());
    call(&pool, r#"{"region":"eu"}"#).await.unwrap();
    call(&pool, r#"{"region":"us"}"#).await.unwrap();
    assert_eq!(
        peer.methods(),
        [
            "server/discover",
            "tools/call",
            "tools/list",
            "tools/call",
            "tools/call"
        ]
    );
}

#[tokio::test]
async fn an_html_page_is_not_a_response() {
    let peer = FakeServer::start(|seen| match seen.rpc() {
        "tools/call" => FakeReply::typed(200, "text/html; charset=utf-8", "<html>Login</html>"),
        _ => modern(seen),
    })
    .await;
    let error = call(&pool(&peer.url()), "{}").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server sent an invalid response: it is `text/html`, neither JSON nor an event stream"
    );
}

#[tokio::test]
async fn a_tool_that_fails_repeatedly_is_not_retried() {
    let peer = FakeServer::start(|seen| match seen.rpc() {
        "tools/call" => FakeReply::typed(503, "text/html", "<html>secret</html>"),
        _ => modern(seen),
    })
    .await;
    let pool = pool(&peer.url());
    let error = call_with(
        &pool,
        "echo",
        "{}",
        tokio_util::sync::CancellationToken::new(),
    )
    .await
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server answered with HTTP 503 (Service Unavailable)"
    );
    assert_eq!(peer.count("tools/call"), 1);
}

/// Answers a call of a tool like `first` once for each of `times`, then as it should.
fn busy(
    times: usize,
    first: impl Fn() -> FakeReply + Send + Sync + 'static,
) -> impl Fn(&ReceivedRequest) -> FakeReply {
    let refused = std::sync::atomic::AtomicUsize::new(0);
    move |seen| match seen.rpc() {
        "tools/call" if refused.fetch_add(1, Ordering::Relaxed) < times => first(),
        _ => modern(seen),
    }
}

#[tokio::test]
async fn a_requested_wait_is_kept_and_the_call_retried() {
    let wait = || FakeReply::status(429).with("Retry-After", "1");
    let peer = FakeServer::start(busy(2, wait)).await;
    let pool = pool(&peer.url());
    let before = Instant::now();
    echoes(&pool, 1).await;
    assert!(before.elapsed() >= Duration::from_secs(2));
    assert_eq!(peer.count("tools/call"), 3);
}

#[tokio::test]
async fn a_wait_that_is_too_long_or_repeated_is_reported() {
    for (asked, sent) in [("60", 1), ("0", 3)] {
        let wait = move || FakeReply::status(429).with("Retry-After", asked);
        let peer = FakeServer::start(busy(usize::MAX, wait)).await;
        let error = call(&pool(&peer.url()), "{}").await.unwrap_err();
        let reported = format!("HTTP 429 (Too Many Requests); it requests a wait of {asked} s");
        assert!(error.to_string().ends_with(&reported), "{error}");
        assert_eq!(peer.count("tools/call"), sent, "{asked}");
    }
}

#[tokio::test]
async fn a_call_that_may_have_been_executed_behind_a_proxy_is_not_retried() {
    let away = || FakeReply::status(503).with("Retry-After", "0");
    let peer = FakeServer::start(busy(1, away)).await;
    let pool = pool(&peer.url());
    let error = call(&pool, "{}").await.unwrap_err();
    assert!(
        matches!(error, UpstreamError::Http { status: 503, .. }),
        "{error}"
    );
    assert_eq!(peer.count("tools/call"), 1);
    echoes(&pool, 2).await;
}

#[tokio::test]
async fn a_key_is_a_header_or_a_member_of_meta_of_its_call_and_of_no_other_request() {
    let peer = FakeServer::start(modern).await;
    let pool = pool(&peer.url());
    let keyed = |key: RequestKey| CallContext {
        key: Some(key),
        ..CallContext::new(CancellationToken::new())
    };
    let (name, value) = ("Idempotency-Key".to_owned(), "k1".to_owned());
    let header = keyed(RequestKey::Header { name, value });
    call_in(&pool, "echo", "{}", header).await.unwrap();
    let (name, value) = ("example.com/key".to_owned(), "k2".to_owned());
    let meta = keyed(RequestKey::Meta { name, value });
    call_in(&pool, "echo", "{}", meta).await.unwrap();
    call(&pool, "{}").await.unwrap();
    let keys = |seen: &ReceivedRequest| {
        let meta = seen.body["params"]["_meta"]["example.com/key"].as_str();
        (
            seen.rpc().to_owned(),
            seen.header("idempotency-key").map(str::to_owned),
            meta.map(str::to_owned),
        )
    };
    let seen = peer.seen();
    let calls = seen.iter().filter(|seen| seen.rpc() == "tools/call");
    let keys_of_calls: Vec<_> = calls
        .map(keys)
        .map(|(_, header, meta)| (header, meta))
        .collect();
    assert_eq!(
        keys_of_calls,
        [
            (Some("k1".to_owned()), None),
            (None, Some("k2".to_owned())),
            (None, None)
        ]
    );
    let others = seen.iter().filter(|seen| seen.rpc() != "tools/call");
    for (rpc, header, meta) in others.map(keys) {
        assert_eq!((header, meta), (None, None), "{rpc}");
    }
}
