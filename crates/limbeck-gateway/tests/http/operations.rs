//! Health, metrics and the end: H17.

use std::time::Duration;

use limbeck_gateway::http::{HttpError, HttpFace, Security, TlsFiles};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use crate::support::{ALICE, Ask, Server, rest_of, until_part};

#[tokio::test]
async fn h17_health_tells_nothing_and_metrics_need_a_token() {
    let server = Server::start().await;
    for (path, body) in [("/health", "ok\n"), ("/ready", "ready\n")] {
        let reply = server.send(&Ask::new("GET", path)).await;
        assert_eq!((reply.status, reply.body.as_str()), (200, body));
        let changed = server.send(&Ask::new("POST", path)).await;
        assert_eq!(changed.status, 405);
    }
    assert_eq!(server.send(&Ask::new("GET", "/metrics")).await.status, 401);
    assert_eq!(server.send(&Ask::get("/metrics", "no")).await.status, 401);
    server.is_well().await;
    let metrics = server.send(&Ask::get("/metrics", ALICE)).await;
    assert_eq!(metrics.status, 200);
    assert!(
        metrics
            .header("content-type")
            .unwrap()
            .starts_with("text/plain; version=0.0.4")
    );
    for name in [
        "limbeck_http_requests_total",
        "limbeck_http_refused_total{reason=\"token\"}",
        "limbeck_executions_running",
        "limbeck_executions_queued",
    ] {
        let line = metrics.body.lines().find(|line| line.starts_with(name));
        assert!(line.is_some(), "no {name} in {}", metrics.body);
    }
    assert!(
        server
            .metric("limbeck_http_refused_total{reason=\"token\"}")
            .await
            >= 2
    );
    assert!(!metrics.body.contains("alice"), "{}", metrics.body);
    // Only an identity provider makes us a resource server.
    let metadata = Ask::new("GET", "/.well-known/oauth-protected-resource");
    assert_eq!(server.send(&metadata).await.status, 404);
}

#[tokio::test]
async fn asked_to_end_it_takes_no_more_and_lets_go_of_streams() {
    let server = Server::start().await;
    let session = server.session(ALICE).await;
    let mut listen = Ask::get("/mcp", ALICE);
    listen
        .set("accept", "text/event-stream")
        .set("mcp-session-id", &session);
    let mut stream = server.connect().await;
    stream
        .write_all(format!("{}\r\n", listen.head(server.address)).as_bytes())
        .await
        .unwrap();
    until_part(&mut stream, "text/event-stream").await;
    server.drain.cancel();
    rest_of(&mut stream).await;
    tokio::time::timeout(Duration::from_secs(10), server.serving)
        .await
        .unwrap()
        .unwrap();
    assert!(
        tokio::net::TcpStream::connect(server.address)
            .await
            .is_err()
    );
}

#[tokio::test]
async fn only_loopback_is_listened_on_in_clear_text() {
    let everywhere = "0.0.0.0:0".parse().unwrap();
    for (security, allowed) in [(Security::Loopback, false), (Security::TlsProxy, true)] {
        // What a server is made of, and not the server itself.
        let gateway = limbeck_testkit::World::new("/nonexistent/worker")
            .start()
            .await;
        let bound = HttpFace::bind(gateway, everywhere, crate::support::options(security)).await;
        match bound {
            Ok(face) => {
                assert!(allowed);
                assert!(face.url().unwrap().starts_with("https://"));
            }
            Err(error) => {
                assert!(
                    !allowed && matches!(error, HttpError::ClearText(_)),
                    "{error}"
                );
                assert!(error.hint().contains("--tls-cert"));
            }
        }
    }
    let gateway = limbeck_testkit::World::new("/nonexistent/worker")
        .start()
        .await;
    let files = TlsFiles {
        certificate: "/nonexistent".into(),
        key: "/nonexistent".into(),
    };
    let error = HttpFace::bind(
        gateway,
        everywhere,
        crate::support::options(Security::Tls(files)),
    )
    .await
    .unwrap_err();
    assert!(
        error.to_string().contains("/nonexistent cannot be read"),
        "{error}"
    );
}

#[tokio::test]
async fn a_server_is_ready_until_it_is_asked_to_end() {
    let server = Server::start().await;
    // A request on a connection that was open before.
    let mut stream = server.connect().await;
    let one = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", server.address);
    stream.write_all(one("/ready").as_bytes()).await.unwrap();
    until_part(&mut stream, "ready\n").await;
    assert_eq!(
        server
            .send(&Ask::modern(ALICE, "tools/list", json!({})))
            .await
            .status,
        200
    );
    server.drain.cancel();
    let text = String::from_utf8(rest_of(&mut stream).await).unwrap();
    assert_eq!(text, "");
}
