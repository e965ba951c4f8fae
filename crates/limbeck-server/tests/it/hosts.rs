//! Hosts, origins and paths: H01, H02, H12, H13, H14.

use serde_json::json;

use crate::support::{ALICE, Ask, BOB, Server};

fn list() -> Ask {
    Ask::modern(ALICE, "tools/list", json!({}))
}

#[tokio::test]
async fn h01_an_unknown_host_is_rejected_before_the_body() {
    let server = Server::with(|options| options.allow_hosts = vec!["mcp.example".to_owned()]).await;
    let port = server.address.port();
    let ours = [
        format!("127.0.0.1:{port}"),
        format!("LocalHost:{port}"),
        format!("[::1]:{port}"),
        "mcp.example".to_owned(),
    ];
    for host in ours {
        let reply = server.send(list().set("host", &host)).await;
        assert_eq!(reply.status, 200, "{host}: {reply:?}");
    }
    let foreign = [
        "attacker.example".to_owned(),
        format!("attacker.example:{port}"),
        "127.0.0.1".to_owned(),
        format!("127.0.0.1:{}", port ^ 1),
        format!("127.0.0.1.attacker.example:{port}"),
        format!("0.0.0.0:{port}"),
    ];
    for host in foreign {
        // The response arrives although the body is never sent.
        let reply = server
            .send(list().set("host", &host).set("content-length", "999999"))
            .await;
        assert_eq!(reply.status, 403, "{host}: {reply:?}");
        assert_eq!(reply.header("connection"), Some("close"));
        assert!(!reply.body.contains("attacker"), "{reply:?}");
    }
    for host in ["", "a b", "u@127.0.0.1", "127.0.0.1:x"] {
        assert_eq!(
            server.send(list().set("host", host)).await.status,
            400,
            "{host}"
        );
    }
    server.is_well().await;
}

#[tokio::test]
async fn h01_no_host_two_hosts_and_another_authority_in_the_target_are_refused() {
    let server = Server::start().await;
    let address = server.address;
    let head = |target: &str, hosts: &str| {
        format!(
            "GET {target} HTTP/1.1\r\n{hosts}authorization: Bearer {ALICE}\r\nconnection: close\r\n\r\n"
        )
    };
    let host = format!("host: {address}\r\n");
    let metrics = |target: &str| format!("http://{target}/metrics");
    for (target, hosts, status) in [
        ("/metrics".to_owned(), host.clone(), 200),
        (metrics(&address.to_string()), host.clone(), 200),
        ("/metrics".to_owned(), String::new(), 400),
        ("/metrics".to_owned(), host.repeat(2), 400),
        (metrics("attacker.example"), host.clone(), 400),
        (
            metrics("attacker.example"),
            "host: attacker.example\r\n".to_owned(),
            403,
        ),
    ] {
        let reply = server.raw(head(&target, &hosts).as_bytes()).await;
        assert_eq!(reply.status, status, "{target} {hosts}: {reply:?}");
    }
}

#[tokio::test]
async fn h02_an_origin_that_was_not_allowed_is_refused_and_nothing_is_granted() {
    let server =
        Server::with(|options| options.allow_origins = vec!["https://app.example".to_owned()])
            .await;
    let allowed = server
        .send(list().set("origin", "https://app.example"))
        .await;
    assert_eq!(allowed.status, 200);
    let itself = format!("http://{}", server.address);
    for origin in [
        "https://attacker.example",
        "null",
        "http://localhost.attacker.example",
        "HTTPS://APP.EXAMPLE",
        "https://app.example:8443",
        &itself,
        "",
    ] {
        let reply = server.send(list().set("origin", origin)).await;
        assert_eq!(reply.status, 403, "{origin}: {reply:?}");
    }
    let twice = server
        .send(
            list()
                .set("origin", "https://app.example")
                .add("origin", "https://app.example"),
        )
        .await;
    assert_eq!(twice.status, 403);
    let mut preflight = Ask::new("OPTIONS", "/mcp");
    preflight
        .set("origin", "https://app.example")
        .set("access-control-request-method", "POST");
    let preflight = server.send(&preflight).await;
    assert_eq!(preflight.status, 405);
    for reply in [&allowed, &preflight] {
        let granted = reply
            .headers
            .iter()
            .any(|(name, _)| name.starts_with("access-control"));
        assert!(!granted, "{reply:?}");
    }
}

#[tokio::test]
async fn h12_a_rebound_page_fails_by_its_host_alone_and_by_its_origin_alone() {
    let server = Server::start().await;
    let port = server.address.port();
    let by_host = server
        .send(list().set("host", &format!("attacker.example:{port}")))
        .await;
    assert_eq!(by_host.status, 403);
    let by_origin = server
        .send(list().set("origin", &format!("http://attacker.example:{port}")))
        .await;
    assert_eq!(by_origin.status, 403);
    server.is_well().await;
}

#[tokio::test]
async fn h13_a_path_is_compared_byte_by_byte() {
    let server = Server::start().await;
    for path in [
        "/mcp/..;/admin",
        "//mcp",
        "/mcp/",
        "/%6dcp",
        "/x/%2e%2e/mcp",
        "/x/../mcp",
        "/MCP",
        "/mcp?x",
        "/mcp?token=x",
        "/mcp?",
        "/",
        "/admin",
        "/health/",
        "/metrics?x=1",
        "*",
    ] {
        let mut ask = list();
        ask.target = path.to_owned();
        assert_eq!(server.send(&ask).await.status, 404, "{path}");
    }
    let mut long = list();
    long.target = format!("/{}", "x".repeat(64 << 10));
    let status = server.send(&long).await.status;
    assert!(matches!(status, 414 | 431), "{status}");
    server.is_well().await;
}

#[tokio::test]
async fn h14_forwarded_headers_change_nothing() {
    let server = Server::start().await;
    let mut ask = Ask::get("/mcp", BOB);
    ask.set("host", "attacker.example")
        .set("x-forwarded-host", &server.address.to_string());
    assert_eq!(server.send(&ask).await.status, 403);
    let mut forged = list();
    forged
        .set("x-forwarded-for", "10.0.0.1")
        .set("x-forwarded-host", "attacker.example")
        .set("x-forwarded-proto", "https")
        .set("forwarded", "for=1.2.3.4;host=attacker.example");
    assert_eq!(server.send(&forged).await.status, 200);
    forged
        .set("authorization", "Bearer no")
        .set("x-forwarded-user", "alice");
    assert_eq!(server.send(&forged).await.status, 401);
}
