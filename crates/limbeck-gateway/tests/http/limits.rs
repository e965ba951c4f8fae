//! Many at once, and clients that do not read: H10.

use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::support::{ALICE, Ask, BOB, LEGACY, Server, until, until_part};

/// An event stream of a session, open until it is dropped.
async fn stream(server: &Server, token: &str) -> TcpStream {
    let session = server.session(token).await;
    let mut ask = Ask::get("/mcp", token);
    ask.set("accept", "text/event-stream");
    ask.set("mcp-session-id", &session);
    ask.set("mcp-protocol-version", LEGACY);
    let mut stream = server.connect().await;
    let head = format!("{}\r\n", ask.head(server.address));
    stream.write_all(head.as_bytes()).await.unwrap();
    until_part(&mut stream, "text/event-stream").await;
    stream
}

#[tokio::test]
async fn h10_one_principals_requests_are_bounded_and_anothers_are_served() {
    let server = Server::with(|options| options.bounds.requests_each = 3).await;
    let mut streams = Vec::new();
    for _ in 0..2 {
        streams.push(stream(&server, ALICE).await);
    }
    server.is_well().await;
    streams.push(stream(&server, ALICE).await);
    let list = |token| Ask::modern(token, "tools/list", json!({}));
    let refused = server.send(&list(ALICE)).await;
    assert_eq!(refused.status, 429, "{refused:?}");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(server.send(&list(BOB)).await.status, 200);
    streams.pop();
    until("room", || async {
        server.send(&list(ALICE)).await.status == 200
    })
    .await;
}

#[tokio::test]
async fn h10_connections_are_bounded_and_those_over_it_wait() {
    let server = Server::with(|options| {
        options.bounds.connections = 2;
        options.bounds.head = Duration::from_millis(500);
    })
    .await;
    let (_silent, _other) = (server.connect().await, server.connect().await);
    // They are let go of when their heads do not come.
    server.is_well().await;
}

#[tokio::test]
async fn h10_many_streams_come_and_go_without_a_trace() {
    let server = Server::with(|options| options.bounds.sessions_each = 1_000).await;
    for _ in 0..3 {
        let mut streams = Vec::new();
        for _ in 0..60 {
            streams.push(stream(&server, ALICE).await);
        }
        assert_eq!(server.metric("limbeck_http_requests_open").await, 60);
        drop(streams);
        until("the end of the streams", || async {
            server.metric("limbeck_http_requests_open").await == 0
        })
        .await;
    }
    until("the end of the connections", || async {
        server.metric("limbeck_http_connections").await == 1
    })
    .await;
}

#[tokio::test]
async fn h10_a_client_that_never_reads_is_let_go_of() {
    let server =
        Server::with(|options| options.bounds.write_stall = Duration::from_millis(300)).await;
    let mut stream = server.connect().await;
    let ask = Ask::modern(ALICE, "tools/list", json!({}));
    let one = format!(
        "{}content-length: {}\r\n\r\n{}",
        ask.head(server.address),
        ask.body.len(),
        String::from_utf8_lossy(&ask.body)
    );
    // Answers fill what the system keeps for a connection; then nothing moves any more.
    let asked = async { while stream.write_all(one.as_bytes()).await.is_ok() {} };
    let ended = tokio::time::timeout(Duration::from_secs(60), asked).await;
    assert!(ended.is_ok(), "the connection stays");
    until("the end of the connection", || async {
        server.metric("limbeck_http_connections").await == 1
    })
    .await;
    server.is_well().await;
}
