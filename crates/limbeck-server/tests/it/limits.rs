//! Many clients at once, and clients that do not read: H10.

use std::time::{Duration, Instant};

use limbeck_domain::Expose;
use limbeck_testkit::FakeServer;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};

use crate::support::{ALICE, Ask, BOB, LEGACY, SOON, Server, rest_of, until, until_part, world};

/// Bytes of a resource, more than the sockets of a connection keep for a client that does not read.
const LARGE: usize = 12 << 20;
const LARGE_URI: &str = "note:large";

/// Event stream of a session, open until it is dropped.
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
async fn h10_connections_without_a_token_are_bounded_and_the_oldest_is_closed() {
    let server = Server::with(|options| {
        options.bounds.connections = 8;
        options.bounds.first_head = SOON;
    })
    .await;
    let mut oldest = server.connect().await;
    oldest.write_all(b"POST /mcp").await.unwrap();
    let mut later = Vec::new();
    for _ in 0..3 {
        later.push(server.connect().await);
    }
    assert!(rest_of(&mut oldest).await.is_empty());
    server.is_well().await;
}

#[tokio::test]
async fn a_client_with_a_token_is_answered_while_hundreds_of_connections_stand_open() {
    // No time limit closes the idle ones, so only places can be what serves Bob.
    let server = Server::with(|options| {
        options.bounds.first_head = SOON;
        options.bounds.head = SOON;
    })
    .await;
    let list = Ask::modern(BOB, "tools/list", json!({}));
    let kept = format!(
        "{}content-length: {}\r\n\r\n{}",
        list.head(server.address),
        list.body.len(),
        String::from_utf8_lossy(&list.body)
    );
    let mut known = server.connect().await;
    known.write_all(kept.as_bytes()).await.unwrap();
    until_part(&mut known, "\"execute\"").await;

    let mut idle = Vec::new();
    for n in 0..640 {
        // A server that queues would accept none of them at some point.
        let mut stream = server.connect().await;
        stream.write_all(b"POST /mcp HTT").await.unwrap();
        idle.push(stream);
        if n % 160 == 159 {
            let started = Instant::now();
            assert_eq!(server.send(&list).await.status, 200);
            let took = started.elapsed();
            assert!(took < SOON / 6, "after {n} idle connections: {took:?}");
        }
    }
    // The connection that showed its token before is still there.
    known.write_all(kept.as_bytes()).await.unwrap();
    until_part(&mut known, "\"execute\"").await;
    let open = server.metric("limbeck_http_connections").await;
    assert!(open <= 512, "{open} connections");
}

#[tokio::test]
async fn bodies_of_one_principal_that_stall_do_not_delay_another() {
    let server = Server::start().await;
    let large = Ask::post(ALICE, &json!({"fill": "x".repeat(200 << 10)}));
    let head = format!(
        "{}content-length: {}\r\n\r\n",
        large.head(server.address),
        large.body.len()
    );
    let mut stalled = Vec::new();
    for _ in 0..32 {
        let mut stream = server.connect().await;
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&large.body[..150 << 10]).await.unwrap();
        stalled.push(stream);
    }
    until("Alice's requests", || async {
        server.metric("limbeck_http_requests_open").await == 32
    })
    .await;
    let name = "x".repeat(80 << 10);
    let ask = Ask::modern(BOB, "tools/list", json!({"fill": name}));
    let started = Instant::now();
    assert_eq!(server.send(&ask).await.status, 200);
    let took = started.elapsed();
    // A stalled body keeps its place for a minute.
    assert!(took < SOON / 6, "{took:?}");
    drop(stalled);
}

#[tokio::test]
async fn bytes_of_requests_that_wait_are_bounded_for_each_principal() {
    let large = |token: &str, method: &str| {
        Ask::modern(token, method, json!({"fill": "x".repeat(200 << 10)}))
    };
    let first = large(ALICE, "tools/list");
    // One byte too few for two, so that the second is read to its end before it is refused.
    let each = 2 * first.body.len() - 1;
    // A list waits for a server that never answers.
    let world = world().silent("silent").expose("silent", Expose::Both);
    let server = Server::in_world(world, |options| {
        options.bounds.request_bytes_each = each;
        options.bounds.keep_alive = Duration::from_millis(50);
    })
    .await;
    let mut waiting = server.connect().await;
    waiting
        .write_all(&first.bytes(server.address))
        .await
        .unwrap();
    until_part(&mut waiting, ": waiting").await;

    let refused = server.send(&first).await;
    assert_eq!(refused.status, 429, "{refused:?}");
    assert_eq!(refused.header("retry-after"), Some("1"));
    // The controls: a small request of hers, and a large one of another principal. No method has this name.
    let is_read = async |ask: Ask| !matches!(server.send(&ask).await.status, 0 | 429);
    assert!(is_read(Ask::modern(ALICE, "nothing", json!({}))).await);
    assert!(is_read(large(BOB, "nothing")).await);
    drop(waiting);
    until("room", || async { is_read(large(ALICE, "nothing")).await }).await;
}

/// Read of the large resource.
fn read_large(token: &str) -> Ask {
    let mut ask = Ask::modern(token, "resources/read", json!({"uri": LARGE_URI}));
    ask.set("mcp-name", LARGE_URI);
    ask
}

fn text_of(read: &Value) -> &str {
    let text = &read["result"]["contents"][0]["text"];
    text.as_str().unwrap_or_default()
}

#[tokio::test]
async fn answers_that_a_principal_does_not_read_hold_at_most_its_share() {
    let up = FakeServer::new("up")
        .read("t", |arguments| arguments)
        .resource(LARGE_URI, &"x".repeat(LARGE))
        .share();
    let world = world().server(&up).expose("up", Expose::Both);
    let share = 2 * LARGE + LARGE / 2;
    let server = Server::in_world(world, |options| {
        options.bounds.answer_bytes_each = share;
        options.bounds.write_stall = 10 * SOON;
    })
    .await;
    let held = async || server.metric("limbeck_http_answer_bytes").await as usize;
    let open = async || server.metric("limbeck_http_requests_open").await;

    let mut unread = Vec::new();
    for _ in 0..4 {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4 << 10).unwrap();
        let mut stream = socket.connect(server.address).await.unwrap();
        let ask = read_large(ALICE).bytes(server.address);
        stream.write_all(&ask).await.unwrap();
        unread.push(stream);
    }
    until("two answers", || async { held().await > 2 * LARGE }).await;
    assert!(held().await <= share);
    // The controls: the answers of another principal, in both generations, and a small one of hers.
    let read = server.send(&read_large(BOB)).await;
    assert_eq!(text_of(&read.json()).len(), LARGE);
    let session = server.session(BOB).await;
    let ask = Ask::within(BOB, &session, "resources/read", json!({"uri": LARGE_URI}));
    assert_eq!(text_of(&server.send(&ask).await.json()).len(), LARGE);
    server.is_well().await;
    // Two still wait, and no third was made.
    until("the end of Bob's", || async { open().await == 4 }).await;
    let hers = held().await;
    assert!(hers > 2 * LARGE && hers <= share, "{hers} bytes");

    drop(unread);
    until("room", || async { open().await == 0 && held().await == 0 }).await;
    let read = server.send(&read_large(ALICE)).await;
    assert_eq!(text_of(&read.json()).len(), LARGE);
    until("room", || async { held().await == 0 }).await;
}

#[tokio::test]
async fn h10_closed_streams_leave_no_state() {
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
async fn h10_a_client_that_never_reads_is_disconnected() {
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
    // Responses fill the socket buffers, then the server cannot write any more.
    let asked = async { while stream.write_all(one.as_bytes()).await.is_ok() {} };
    let ended = tokio::time::timeout(Duration::from_secs(60), asked).await;
    assert!(ended.is_ok(), "the connection stays");
    until("the end of the connection", || async {
        server.metric("limbeck_http_connections").await == 1
    })
    .await;
    server.is_well().await;
}
