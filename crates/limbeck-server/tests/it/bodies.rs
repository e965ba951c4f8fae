//! Framing, size and timeouts of requests: H05, H06, H07.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use crate::support::{ALICE, Ask, Reply, SOON, Server, rest_of};

const SHORT: Duration = Duration::from_millis(300);

fn list() -> Ask {
    Ask::modern(ALICE, "tools/list", json!({}))
}

#[tokio::test]
async fn h05_a_head_that_does_not_come_ends_the_connection() {
    let server = Server::with(|options| options.bounds.first_head = SHORT).await;
    for begun in ["", "POST /mcp HTTP/1.1\r\nhost: x\r\n", "P"] {
        let mut stream = server.connect().await;
        stream.write_all(begun.as_bytes()).await.unwrap();
        let started = Instant::now();
        let answer = Reply::parse(&rest_of(&mut stream).await);
        assert!(started.elapsed() < SOON, "{begun}");
        assert!(matches!(answer.status, 0 | 408), "{answer:?}");
    }
    server.is_well().await;
}

#[tokio::test]
async fn h05_a_body_that_does_not_come_ends_the_connection_however_slowly_it_drips() {
    let server = Server::with(|options| options.bounds.body = SHORT).await;
    let ask = list();
    let head = format!(
        "{}content-length: {}\r\n\r\n",
        ask.head(server.address),
        ask.body.len()
    );
    let mut stream = server.connect().await;
    stream.write_all(head.as_bytes()).await.unwrap();
    let started = Instant::now();
    let (mut read, mut write) = stream.split();
    let drip = async {
        for byte in &ask.body {
            if write.write_all(&[*byte]).await.is_err() {
                break;
            }
            tokio::time::sleep(SHORT / 10).await;
        }
        std::future::pending::<()>().await;
    };
    let answer = tokio::select! {
        answer = rest_of(&mut read) => Reply::parse(&answer),
        () = drip => unreachable!("it never ends"),
    };
    assert_eq!(answer.status, 408, "{answer:?}");
    assert!(started.elapsed() < SOON);
    server.is_well().await;
}

#[tokio::test]
async fn h05_framing_that_can_be_read_in_two_ways_is_read_in_one_and_ends_the_connection() {
    let server = Server::start().await;
    let ask = list();
    let body = String::from_utf8(ask.body.clone()).unwrap();
    let head = ask.head(server.address);
    let length = body.len();
    let chunked = format!("{length:x}\r\n{body}\r\n0\r\n\r\n");
    let smuggled = format!(
        "GET /metrics HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {ALICE}\r\n\r\n",
        server.address
    );
    // Controls.
    for (framing, body) in [
        (format!("content-length: {length}"), body.clone()),
        ("transfer-encoding: chunked".to_owned(), chunked.clone()),
    ] {
        let reply = server
            .raw(format!("{head}{framing}\r\nconnection: close\r\n\r\n{body}").as_bytes())
            .await;
        assert_eq!(reply.status, 200, "{framing}: {reply:?}");
    }
    for (framing, body) in [
        (
            format!("content-length: {length}\r\ncontent-length: {}", length + 1),
            body.clone(),
        ),
        ("content-length: -1".to_owned(), body.clone()),
        ("content-length: +5".to_owned(), body.clone()),
        ("content-length: 1 2".to_owned(), body.clone()),
        (
            "content-length: 99999999999999999999".to_owned(),
            body.clone(),
        ),
        ("transfer-encoding: gzip".to_owned(), chunked.clone()),
        (
            "transfer-encoding: chunked, gzip".to_owned(),
            chunked.clone(),
        ),
        ("transfer-encoding : chunked".to_owned(), chunked.clone()),
        (
            "transfer-encoding: chunked".to_owned(),
            format!("zz\r\n{body}\r\n0\r\n\r\n"),
        ),
        (
            "transfer-encoding: chunked".to_owned(),
            format!("fffffffffffffffff\r\n{body}\r\n0\r\n\r\n"),
        ),
        (
            "transfer-encoding: chunked".to_owned(),
            format!("{length:x}\r\n{body}x\r\n0\r\n\r\n"),
        ),
        (
            "transfer-encoding: chunked".to_owned(),
            format!("{length:x};{}\r\n{body}\r\n0\r\n\r\n", "x".repeat(100_000)),
        ),
    ] {
        let reply = server
            .raw(format!("{head}{framing}\r\n\r\n{body}{smuggled}").as_bytes())
            .await;
        assert!(matches!(reply.status, 400 | 413), "{framing}: {reply:?}");
        assert!(!reply.body.contains("limbeck_"), "{framing}: {reply:?}");
    }
    // A request with both headers may be read as chunked if the connection closes after it (RFC 9112 §6.1).
    for framing in [
        "content-length: 5\r\ntransfer-encoding: chunked".to_owned(),
        format!("transfer-encoding: chunked\r\ncontent-length: {length}"),
    ] {
        let mut stream = server.connect().await;
        let bytes = format!("{head}{framing}\r\n\r\n{chunked}{smuggled}");
        stream.write_all(bytes.as_bytes()).await.unwrap();
        let answer = String::from_utf8(rest_of(&mut stream).await).unwrap();
        assert_eq!(
            answer.matches("HTTP/1.1 ").count(),
            1,
            "{framing}: {answer}"
        );
        assert!(!answer.contains("limbeck_http"), "{answer}");
    }
    server.is_well().await;
}

#[tokio::test]
async fn h05_what_follows_the_announced_body_is_the_next_request_and_trailers_are_ignored() {
    let server = Server::start().await;
    let ask = list();
    let body = String::from_utf8(ask.body.clone()).unwrap();
    let head = ask.head(server.address);
    let longer = format!(
        "{head}content-length: {}\r\n\r\n{body}junk that is no request\r\n\r\n",
        body.len()
    );
    let mut stream = server.connect().await;
    stream.write_all(longer.as_bytes()).await.unwrap();
    let answer = String::from_utf8(rest_of(&mut stream).await).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("HTTP/1.1 400"), "{answer}");
    let trailers = format!(
        "{head}transfer-encoding: chunked\r\nconnection: close\r\n\r\n{:x}\r\n{body}\r\n0\r\nauthorization: Bearer no\r\nhost: attacker.example\r\n\r\n",
        body.len()
    );
    assert_eq!(server.raw(trailers.as_bytes()).await.status, 200);
    // Shorter than announced: the client closed the connection, so there is no response, and nothing ran.
    let mut stream = server.connect().await;
    let shorter = format!("{head}content-length: {}\r\n\r\n{body}", body.len() + 1);
    stream.write_all(shorter.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let answer = Reply::parse(&rest_of(&mut stream).await);
    assert!(matches!(answer.status, 0 | 400), "{answer:?}");
    server.is_well().await;
}

#[tokio::test]
async fn h06_a_body_too_large_is_refused_while_it_is_read_or_before() {
    let server = Server::start().await;
    let large = |bytes: usize| {
        let mut ask = Ask::modern(
            ALICE,
            "tools/call",
            json!({"name": "nothing", "arguments": {"x": "x".repeat(bytes)}}),
        );
        ask.set("x-size", &bytes.to_string());
        ask
    };
    let fits = server.send(&large(8 << 20)).await;
    assert!(
        fits.body.contains("unknown tool"),
        "{}",
        &fits.body[..fits.body.len().min(300)]
    );
    assert_eq!(server.send(&large(9 << 20)).await.status, 413);
    let mut announced = list();
    announced.body.clear();
    announced.set("content-length", "9437184");
    assert_eq!(server.send(&announced).await.status, 413);
    // Chunked, without an end.
    let mut head = list();
    head.set("transfer-encoding", "chunked");
    let mut stream = server.connect().await;
    stream
        .write_all(format!("{}\r\n", head.head(server.address)).as_bytes())
        .await
        .unwrap();
    let (mut read, mut write) = stream.split();
    let chunk = format!("10000\r\n{}\r\n", "[".repeat(0x10000));
    let endless = async {
        while write.write_all(chunk.as_bytes()).await.is_ok() {}
        std::future::pending::<()>().await;
    };
    let answer = tokio::select! {
        answer = rest_of(&mut read) => answer,
        () = endless => unreachable!("it never ends"),
    };
    // The response may be lost when the connection is reset while the client still sends.
    assert!(matches!(Reply::parse(&answer).status, 413 | 0));
    server.is_well().await;
}

#[tokio::test]
async fn h06_compressed_bodies_are_rejected_and_expect_continue_is_answered_when_the_body_is_read()
{
    let server = Server::start().await;
    for encoding in ["gzip", "br", "deflate", "identity", "gzip, gzip"] {
        let reply = server.send(list().set("content-encoding", encoding)).await;
        assert_eq!(reply.status, 415, "{encoding}");
    }
    let ask = list();
    let head = format!(
        "{}content-length: {}\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n",
        ask.head(server.address),
        ask.body.len()
    );
    let mut stream = server.connect().await;
    stream.write_all(head.as_bytes()).await.unwrap();
    crate::support::until_part(&mut stream, "100 Continue").await;
    stream.write_all(&ask.body).await.unwrap();
    let answer = String::from_utf8(rest_of(&mut stream).await).unwrap();
    assert!(answer.contains("HTTP/1.1 200 OK"), "{answer}");
    // Without a token there is no `100 Continue`.
    let refused = head.replace(ALICE, "no");
    let reply = server.raw(refused.as_bytes()).await;
    assert_eq!(reply.status, 401);
}

#[tokio::test]
async fn h07_heads_too_large_too_many_or_malformed_are_refused() {
    let server = Server::start().await;
    let head = list().head(server.address);
    let many = |count: usize| {
        let mut text = head.clone();
        for number in 0..count {
            text.push_str(&format!("x-{number}: x\r\n"));
        }
        text
    };
    let ask = |head: &str| format!("{head}content-length: 0\r\nconnection: close\r\n\r\n");
    assert_eq!(
        server.raw(ask(&many(40)).as_bytes()).await.status,
        400,
        "an empty body"
    );
    let large = |bytes: usize| ask(&format!("{head}x: {}\r\n", "x".repeat(bytes)));
    assert_eq!(
        server.raw(large(30 << 10).as_bytes()).await.status,
        400,
        "an empty body"
    );
    for kib in [33, 40, 48, 63] {
        let reply = server.raw(large(kib << 10).as_bytes()).await;
        assert_eq!(reply.status, 431, "{kib} KiB: {reply:?}");
    }
    for (what, head) in [
        ("many", many(10_000)),
        ("a few too many", many(65)),
        ("large", format!("{head}x: {}\r\n", "x".repeat(1 << 20))),
        (
            "larger than what is read ahead",
            format!("{head}x: {}\r\n", "x".repeat(96 << 10)),
        ),
    ] {
        let reply = server.raw(ask(&head).as_bytes()).await;
        assert_eq!(reply.status, 431, "{what}: {reply:?}");
    }
    for line in [
        "x y: z",
        "x\u{1}: z",
        ": z",
        "x: a\rb",
        "x: a\nhost: attacker.example",
        "x: \u{0}",
        " folded: x",
        "no-colon",
    ] {
        let reply = server
            .raw(ask(&format!("{head}{line}\r\n")).as_bytes())
            .await;
        assert_eq!(reply.status, 400, "{line:?}: {reply:?}");
    }
    for start in [
        "",
        "GET\r\n",
        "GET /mcp\r\n",
        "GET /mcp HTTP/9.9\r\n",
        "\u{16}\u{3}\u{1}\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let reply = server.raw(format!("{start}\r\n\r\n").as_bytes()).await;
        assert!(
            matches!(reply.status, 400 | 0 | 505),
            "{start:?}: {reply:?}"
        );
    }
    server.is_well().await;
}
