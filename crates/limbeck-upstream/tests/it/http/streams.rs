//! Answers on event streams.

use std::sync::atomic::{AtomicUsize, Ordering};

use limbeck_domain::limits;
use limbeck_upstream::UpstreamError;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::http::fake_server::{
    FakeReply, FakeServer, ReceivedRequest, echo, event, legacy, modern,
};
use crate::http::support::{call, call_with, echoes, eventually, pool};

/// A modern server whose calls are answered by `answer`.
async fn answering(
    answer: impl Fn(&ReceivedRequest) -> FakeReply + Send + Sync + 'static,
) -> FakeServer {
    FakeServer::start(move |seen| match seen.rpc() {
        "tools/call" => answer(seen),
        _ => modern(seen),
    })
    .await
}

#[tokio::test]
async fn an_answer_arrives_raw_among_junk_and_other_messages() {
    let peer = answering(|seen| {
        let id = seen.id();
        FakeReply::events(&[
            ": keep-alive\n\ndata: not json\n\ndata: {\"id\":99999,\"result\":{}}\n\n".into(),
            event(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}})),
            "event: other\ndata: {}\n\n".into(),
            format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"z\":1.0,\n"),
            "data: \"a\":123456789012345678901234567890}}\n\n".into(),
        ])
    })
    .await;
    let pool = pool(&peer.url());
    let result = call(&pool, "{}").await.unwrap();
    assert_eq!(
        result.get(),
        "{\"z\":1.0,\n\"a\":123456789012345678901234567890}"
    );
}

#[tokio::test]
async fn a_stream_that_stays_open_behind_its_answer_is_closed() {
    let (keep, _) = tokio::sync::broadcast::channel::<()>(1);
    let peer = answering({
        let held = std::sync::Mutex::new(Vec::new());
        move |seen| {
            let (tx, rx) = mpsc::unbounded_channel();
            tx.send(event(&echo(seen))).unwrap();
            held.lock().unwrap().push(tx);
            FakeReply::Events(rx)
        }
    })
    .await;
    let pool = pool(&peer.url());
    echoes(&pool, 1).await;
    eventually("the stream is closed", || peer.left() == ["tools/call"]).await;
    drop(keep);
}

#[tokio::test]
async fn closing_the_response_cancels_a_modern_call() {
    let peer = answering(|_| FakeReply::Nothing).await;
    let pool = pool(&peer.url());
    let cancel = CancellationToken::new();
    let stop = async {
        eventually("the call arrived", || peer.count("tools/call") == 1).await;
        cancel.cancel();
        eventually("the response is closed", || !peer.left().is_empty()).await;
    };
    let (done, ()) = tokio::join!(call_with(&pool, "echo", "{}", cancel.clone()), stop);
    assert!(matches!(done, Err(UpstreamError::Cancelled)));
    assert_eq!(peer.count("notifications/cancelled"), 0);
}

#[tokio::test]
async fn a_stream_that_ends_early_loses_its_call_alone() {
    let peer = answering(|seen| {
        if seen.body["params"]["arguments"]["cut"] == true {
            return FakeReply::events(&["id: 1\ndata: \n\n".into()]);
        }
        FakeReply::json(&echo(seen))
    })
    .await;
    let pool = pool(&peer.url());
    let (lost, ()) = tokio::join!(call(&pool, r#"{"cut":true}"#), echoes(&pool, 5));
    let error = lost.unwrap_err();
    assert!(
        matches!(error, UpstreamError::ConnectionLost { .. }),
        "{error}"
    );
    assert_eq!(
        error.to_string(),
        "the connection to the server was lost during the call (its event stream ended before the answer)"
    );
    echoes(&pool, 6).await;
    assert_eq!(peer.count("server/discover"), 1);
    assert_eq!(peer.count("tools/call"), 3);
}

#[tokio::test]
async fn a_legacy_response_is_resumed_after_the_last_event_and_not_requested_again() {
    let gets = AtomicUsize::new(0);
    let pending = std::sync::Mutex::new(None);
    let peer = FakeServer::start(move |seen| match seen.rpc() {
        "tools/call" => {
            *pending.lock().unwrap() = Some(echo(seen));
            FakeReply::events(&["id: e1\nretry: 100\ndata: \n\n".into()])
        }
        "GET" if seen.header("last-event-id") == Some("e1") => {
            match gets.fetch_add(1, Ordering::Relaxed) {
                0 => FakeReply::events(&[]),
                _ => FakeReply::events(&[event(pending.lock().unwrap().as_ref().unwrap())]),
            }
        }
        _ => legacy(seen, "s-1"),
    })
    .await;
    let pool = pool(&peer.url());
    echoes(&pool, 7).await;
    assert_eq!(peer.count("tools/call"), 1);
}

#[tokio::test]
async fn answers_above_the_bound_are_refused_while_they_are_read() {
    let peer = answering(|seen| {
        let large = seen.body["params"]["arguments"]["as"].as_str().unwrap();
        match large {
            "events" => {
                let (tx, rx) = mpsc::unbounded_channel();
                tokio::spawn(async move {
                    let piece = "x".repeat(1 << 20);
                    let _ = tx.send("data: {\"id\":".into());
                    // Without end: the reader has to leave.
                    while tx.send(piece.clone()).is_ok() {
                        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
                    }
                });
                FakeReply::Events(rx)
            }
            _ => {
                let length = limits::UPSTREAM_LINE_BYTES_MAX + 1;
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{{"
                );
                FakeReply::Raw(head.into_bytes())
            }
        }
    })
    .await;
    let pool = pool(&peer.url());
    for arguments in [r#"{"as":"events"}"#, r#"{"as":"length"}"#] {
        let error = call(&pool, arguments).await.unwrap_err();
        assert!(matches!(error, UpstreamError::TooLarge { .. }), "{error}");
    }
    assert_eq!(peer.count("server/discover"), 1);
}
