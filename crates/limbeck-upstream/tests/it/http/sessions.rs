//! Sessions of legacy servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use limbeck_domain::ServerName;
use limbeck_upstream::{PoolEvent, UpstreamError};
use serde_json::json;
use tokio::sync::mpsc;

use crate::http::fake_server::{FakeReply, FakeServer, event, legacy};
use crate::http::support::{call, echoes, eventually, pool};

#[tokio::test]
async fn a_forgotten_session_loses_its_call_which_is_not_repeated_and_the_next_has_a_new_one() {
    let generation = Arc::new(AtomicUsize::new(1));
    let peer = FakeServer::start({
        let generation = generation.clone();
        move |seen| legacy(seen, &format!("s-{}", generation.load(Ordering::Relaxed)))
    })
    .await;
    let pool = pool(&peer.url());
    echoes(&pool, 1).await;
    generation.store(2, Ordering::Relaxed);
    let error = call(&pool, r#"{"n":2}"#).await.unwrap_err();
    assert!(
        matches!(error, UpstreamError::ConnectionLost { .. }),
        "{error}"
    );
    assert!(
        error.to_string().contains("no longer knows the session"),
        "{error}"
    );
    echoes(&pool, 3).await;
    let calls: Vec<_> = peer
        .seen()
        .iter()
        .filter(|it| it.rpc() == "tools/call")
        .map(|it| it.body["params"]["arguments"]["n"].clone())
        .collect();
    assert_eq!(calls, [json!(1), json!(2), json!(3)]);
    // The verdict was kept, and no farewell went to a session that is gone.
    assert_eq!(peer.count("server/discover"), 1);
    assert_eq!(peer.count("DELETE"), 0);
}

#[tokio::test]
async fn a_session_id_that_changes_ends_the_session_and_cookies_are_not_kept() {
    let peer = FakeServer::start(|seen| {
        let reply = legacy(seen, "s-1").with("Set-Cookie", "sid=1");
        if seen.rpc() == "tools/call" {
            reply.with("Mcp-Session-Id", "other")
        } else {
            reply
        }
    })
    .await;
    let pool = pool(&peer.url());
    echoes(&pool, 1).await;
    echoes(&pool, 2).await;
    assert_eq!(peer.count("initialize"), 2);
    for request in peer.seen() {
        assert_ne!(request.header("mcp-session-id"), Some("other"));
        assert_eq!(request.header("cookie"), None);
    }
}

#[tokio::test]
async fn unprompted_messages_are_handled_and_requests_of_the_server_are_answered() {
    let (tx, rx) = mpsc::unbounded_channel();
    let stream = std::sync::Mutex::new(Some(rx));
    let peer = FakeServer::start(move |seen| match seen.method.as_str() {
        "GET" => match stream.lock().unwrap().take() {
            Some(rx) => FakeReply::Events(rx),
            None => FakeReply::status(405),
        },
        _ => legacy(seen, "s-1"),
    })
    .await;
    let pool = pool(&peer.url());
    let mut events = pool.subscribe();
    echoes(&pool, 1).await;
    tx.send(": junk\n\ndata: not json\n\n".into()).unwrap();
    tx.send(event(
        &json!({"jsonrpc": "2.0", "id": "q1", "method": "ping"}),
    ))
    .unwrap();
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    tx.send(event(&changed)).unwrap();
    let received = events.recv().await.unwrap();
    assert_eq!(
        received,
        PoolEvent::ToolsChanged {
            server: ServerName::from("web")
        }
    );
    eventually("the ping is answered", || {
        peer.seen()
            .iter()
            .any(|it| it.body["id"] == "q1" && it.body.get("result").is_some())
    })
    .await;
    echoes(&pool, 2).await;
}

#[tokio::test]
async fn a_cancelled_call_is_cancelled_at_the_server() {
    let peer = FakeServer::start(|seen| match seen.rpc() {
        "tools/call" => FakeReply::Nothing,
        _ => legacy(seen, "s-1"),
    })
    .await;
    let pool = pool(&peer.url());
    let cancel = tokio_util::sync::CancellationToken::new();
    let done = {
        let cancel = cancel.clone();
        async { crate::http::support::call_with(&pool, "echo", "{}", cancel).await }
    };
    let stop = async {
        eventually("the call arrived", || peer.count("tools/call") == 1).await;
        cancel.cancel();
    };
    let (done, ()) = tokio::join!(done, stop);
    assert!(matches!(done, Err(UpstreamError::Cancelled)));
    eventually("the cancellation arrived", || {
        let seen = peer.seen();
        let id = seen
            .iter()
            .find(|it| it.rpc() == "tools/call")
            .unwrap()
            .id();
        seen.iter()
            .any(|it| it.rpc() == "notifications/cancelled" && it.body["params"]["requestId"] == id)
    })
    .await;
}
