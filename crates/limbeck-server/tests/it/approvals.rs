//! `/approvals`, H18: what is refused before the gateway is asked anything. Decisions are tested with the executable, in
//! `crates/limbeck/tests/it/approvals`.

use crate::support::{ALICE, Ask, Server};

const ID: &str = "/approvals/ap_0123456789abcdef0123456789abcdef";

/// A decision in a request with every header that it needs.
fn decision(target: &str, body: &str) -> Ask {
    let mut ask = Ask::get(target, ALICE);
    ask.method = "POST";
    ask.set("content-type", "application/json");
    ask.body = body.as_bytes().to_vec();
    ask
}

#[tokio::test]
async fn h18_questions_need_a_token_and_their_own_methods() {
    let server = Server::start().await;
    for target in ["/approvals", ID] {
        let nameless = server.send(&Ask::new("GET", target)).await;
        assert_eq!(nameless.status, 401, "{nameless:?}");
        assert!(nameless.header("www-authenticate").is_some());
        let wrong = server.send(&Ask::get(target, "no")).await;
        assert_eq!(wrong.status, 401, "{wrong:?}");
        assert_eq!(wrong.header("cache-control"), Some("no-store"));
    }
    for (method, target, allowed) in [
        ("POST", "/approvals", "GET"),
        ("HEAD", "/approvals", "GET"),
        ("DELETE", ID, "GET, POST"),
        // No page of another origin is allowed anything: there is no answer to a preflight request.
        ("OPTIONS", ID, "GET, POST"),
    ] {
        let mut ask = Ask::get(target, ALICE);
        ask.method = method;
        let refused = server.send(&ask).await;
        assert_eq!(refused.status, 405, "{method} {target}");
        assert_eq!(refused.header("allow"), Some(allowed));
        let cors = refused.headers.iter();
        assert!(
            !cors
                .clone()
                .any(|(name, _)| name.starts_with("access-control"))
        );
    }
    server.is_well().await;
}

#[tokio::test]
async fn h18_a_decision_is_json_of_a_known_form_and_about_an_id() {
    let server = Server::start().await;
    let approve = r#"{"decision":"approve"}"#;
    for media_type in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
    ] {
        let mut ask = decision(ID, approve);
        ask.set("content-type", media_type);
        assert_eq!(server.send(&ask).await.status, 415, "{media_type}");
    }
    let mut bare = decision(ID, approve);
    bare.remove("content-type");
    assert_eq!(server.send(&bare).await.status, 415);
    for body in [
        "",
        "approve",
        "{}",
        r#"{"decision":"maybe"}"#,
        r#"{"decision":"approve","by":"user:token:bob"}"#,
        r#"{"decision":"deny","edited":{}}"#,
    ] {
        let refused = server.send(&decision(ID, body)).await;
        assert_eq!(refused.status, 400, "{body}");
        assert!(
            refused.json()["error"]["message"].is_string(),
            "{refused:?}"
        );
        assert_eq!(refused.header("cache-control"), Some("no-store"));
    }
    let long = format!(r#"{{"decision":"deny","reason":"{}"}}"#, "x".repeat(1_025));
    let refused = server.send(&decision(ID, &long)).await;
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("1025 bytes"), "{refused:?}");
    for target in [
        "/approvals/",
        "/approvals/ap_1",
        "/approvals/ex_0123456789abcdef0123456789abcdef",
        "/approvals/ap_0123456789abcdef0123456789abcdef/decide",
        "/approvals/ap_0123456789abcdef0123456789abcde%66",
    ] {
        let unknown = server.send(&Ask::get(target, ALICE)).await;
        assert_eq!(unknown.status, 404, "{target}");
        assert_eq!(server.send(&decision(target, approve)).await.status, 404);
    }
    // Paths take no query.
    let query = server.send(&Ask::get("/approvals?all=1", ALICE)).await;
    assert_eq!(query.status, 404);
    server.is_well().await;
}

#[tokio::test]
async fn h18_a_page_of_another_origin_reaches_no_question() {
    let server = Server::start().await;
    let mut foreign = Ask::get(ID, ALICE);
    foreign.set("origin", "https://evil.example");
    assert_eq!(server.send(&foreign).await.status, 403);
    let mut foreign = decision(ID, r#"{"decision":"approve"}"#);
    foreign.set("origin", "https://evil.example");
    assert_eq!(server.send(&foreign).await.status, 403);
    server.is_well().await;
}
