//! Headers of an entry, and their secrets.

use std::sync::Arc;

use limbeck_upstream::http::{HeaderValueSpec, LocalSecrets};
use limbeck_upstream::{UpstreamError, UpstreamPool};
use serde_json::json;

use crate::http::fake_server::{FakeReply, FakeServer, modern, result};
use crate::http::support::{call, echoes, http, spec};

fn with_token(peer: &FakeServer) -> UpstreamPool {
    let mut entry = http(&peer.url());
    entry.headers = vec![
        (
            "Authorization".into(),
            HeaderValueSpec::parse("Bearer env:TOKEN").unwrap(),
        ),
        ("X-Team".into(), HeaderValueSpec::parse("platform").unwrap()),
    ];
    entry.secrets = Arc::new(LocalSecrets::new(vec![(
        "TOKEN".into(),
        "s3cret-value".into(),
    )]));
    assert!(!format!("{entry:?}").contains("s3cret"), "{entry:?}");
    UpstreamPool::new(vec![spec(entry)])
}

#[tokio::test]
async fn headers_of_the_entry_are_sent_with_their_secrets_filled_in() {
    let peer = FakeServer::start(modern).await;
    let pool = with_token(&peer);
    echoes(&pool, 1).await;
    for request in peer.seen() {
        assert_eq!(request.header("authorization"), Some("Bearer s3cret-value"));
        assert_eq!(request.header("x-team"), Some("platform"));
    }
}

#[tokio::test]
async fn a_secret_that_a_server_sends_back_is_redacted() {
    let peer = FakeServer::start(|seen| {
        let token = seen.header("authorization").unwrap_or("-").to_owned();
        match (seen.rpc(), seen.body["params"]["arguments"]["as"].as_str()) {
            ("tools/call", Some("result")) => {
                let content = json!([{"type": "text", "text": format!("you sent {token}")}]);
                FakeReply::json(&result(&seen.id(), &json!({"resultType": "complete", "content": content})))
            }
            ("tools/call", Some("error")) => {
                let error = json!({"jsonrpc": "2.0", "id": seen.id(), "error": {"code": -1, "message": token}});
                FakeReply::json(&error)
            }
            ("tools/call", _) => FakeReply::typed(500, "text/plain", &token),
            _ => modern(seen),
        }
    })
    .await;
    let pool = with_token(&peer);
    let result = call(&pool, r#"{"as":"result"}"#).await.unwrap();
    assert!(
        result.get().contains("you sent Bearer [redacted]"),
        "{}",
        result.get()
    );
    for arguments in [r#"{"as":"error"}"#, r#"{"as":"status"}"#] {
        let error = call(&pool, arguments).await.unwrap_err().to_string();
        assert!(
            error.contains("[redacted]") && !error.contains("s3cret"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_secret_that_cannot_be_looked_up_is_named_and_nothing_is_sent() {
    let peer = FakeServer::start(modern).await;
    let mut entry = http(&peer.url());
    entry.headers = vec![(
        "X-Key".into(),
        HeaderValueSpec::parse("env:NOT_SET").unwrap(),
    )];
    let error = call(&UpstreamPool::new(vec![spec(entry)]), "{}")
        .await
        .unwrap_err();
    assert!(matches!(error, UpstreamError::Secret { .. }));
    assert_eq!(
        error.to_string(),
        "the value of header `X-Key` cannot be read: the environment variable `NOT_SET` is not set"
    );
    assert_eq!(peer.seen().len(), 0);
}
