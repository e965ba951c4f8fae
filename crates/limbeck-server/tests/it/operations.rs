//! Health, metrics and shutdown: H17.

use std::time::Duration;

use limbeck_server::http::{HttpError, HttpServer, Security, TlsFiles};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use crate::support::{ALICE, Ask, Server, rest_of, until_part};

#[tokio::test]
async fn h17_health_reveals_nothing_and_metrics_need_a_token() {
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
        "limbeck_executions_total{status=\"completed\"} 0",
        "limbeck_calls_total{outcome=\"ok\"} 0",
        "limbeck_execution_seconds_bucket{le=\"0.01\"} 0",
        "limbeck_execution_seconds_bucket{le=\"+Inf\"} 0",
        "limbeck_execution_seconds_sum 0",
        "limbeck_call_seconds_count 0",
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
    // Protected resource metadata exists only with an issuer.
    let metadata = Ask::new("GET", "/.well-known/oauth-protected-resource");
    assert_eq!(server.send(&metadata).await.status, 404);
}

#[tokio::test]
async fn after_drain_no_request_is_accepted_and_streams_end() {
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
    tokio::time::timeout(Duration::from_secs(60), server.serving)
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
async fn without_tls_only_loopback_addresses_are_bound() {
    let everywhere = "0.0.0.0:0".parse().unwrap();
    for (security, allowed) in [(Security::Loopback, false), (Security::TlsProxy, true)] {
        // Another gateway with the same settings.
        let gateway = limbeck_testkit::World::new("/nonexistent/worker")
            .start()
            .await;
        let bound = HttpServer::bind(gateway, everywhere, crate::support::options(security)).await;
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
    let error = HttpServer::bind(
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
async fn a_server_is_ready_until_drain() {
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
