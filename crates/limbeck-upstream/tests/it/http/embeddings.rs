//! An embedding endpoint: what is sent to it, and that nothing it answers does harm.

use std::sync::Arc;
use std::time::Duration;

use limbeck_upstream::embeddings::{
    EMBEDDINGS_BATCH_MAX, EMBEDDINGS_TEXT_BYTES_MAX, Embedder, EmbeddingsError, EmbeddingsSpec,
};
use limbeck_upstream::http::{LocalSecrets, SecretReference};
use serde_json::{Value, json};

use crate::http::fake_server::{FakeReply, FakeServer, ReceivedRequest};

const LIMIT: Duration = Duration::from_secs(10);
const KEY: &str = "s3cret-value";

/// A vector for each text: its length and a one; last text first.
fn lengths(seen: &ReceivedRequest) -> FakeReply {
    let texts = seen.body["input"].as_array().unwrap().iter().enumerate();
    let data: Vec<Value> = texts
        .rev()
        .map(
            |(index, text)| json!({"index": index, "embedding": [text.as_str().unwrap().len(), 1]}),
        )
        .collect();
    FakeReply::json(&json!({"data": data}))
}

fn embedder(url: &str) -> Embedder {
    let mut spec = EmbeddingsSpec::new(url, "a-model").unwrap();
    spec.key = Some(SecretReference::parse("env:KEY").unwrap().unwrap());
    spec.secrets = Arc::new(LocalSecrets::new(vec![("KEY".into(), KEY.into())]));
    assert!(!format!("{spec:?}").contains("s3cret"), "{spec:?}");
    Embedder::new(spec).unwrap()
}

/// The error of asking a peer that answers like this, which must not hold the key.
async fn refusal(
    answer: impl Fn(&ReceivedRequest) -> FakeReply + Send + Sync + 'static,
) -> EmbeddingsError {
    let peer = FakeServer::start(answer).await;
    let error = embedder(&peer.origin()).embed(&["a", "b"], LIMIT).await;
    let error = error.unwrap_err();
    assert!(
        !format!("{error} {error:?}").contains("s3cret"),
        "{error:?}"
    );
    assert!(!error.hint().is_empty());
    error
}

#[tokio::test]
async fn texts_go_in_batches_cut_with_the_key_and_vectors_come_back_in_order() {
    let peer = FakeServer::start(lengths).await;
    let embedder = embedder(&format!("{}/v1/?version=1", peer.origin()));
    let long = "ä".repeat(EMBEDDINGS_TEXT_BYTES_MAX);
    let texts: Vec<String> = (0..EMBEDDINGS_BATCH_MAX + 2)
        .map(|n| if n == 1 { long.clone() } else { "x".repeat(n) })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = embedder.embed(&texts, LIMIT).await.unwrap();
    for (place, vector) in vectors.iter().enumerate() {
        // Of the long one half the letters are sent, of two bytes each.
        let length = if place == 1 {
            EMBEDDINGS_TEXT_BYTES_MAX
        } else {
            place
        };
        assert_eq!(vector, &[length as f32, 1.0]);
    }
    let seen = peer.seen();
    let sizes = seen
        .iter()
        .map(|it| it.body["input"].as_array().unwrap().len());
    assert_eq!(sizes.collect::<Vec<_>>(), [EMBEDDINGS_BATCH_MAX, 2]);
    for request in seen {
        assert_eq!(
            (&*request.method, &*request.path),
            ("POST", "/v1/embeddings?version=1")
        );
        assert_eq!(request.header("authorization"), Some("Bearer s3cret-value"));
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!(request.body["model"], "a-model");
        assert_eq!(request.body["encoding_format"], "float");
    }
}

#[tokio::test]
async fn without_a_key_none_is_sent_and_no_texts_are_no_request() {
    let peer = FakeServer::start(lengths).await;
    let spec = EmbeddingsSpec::new(&peer.origin(), "m").unwrap();
    let embedder = Embedder::new(spec).unwrap();
    embedder.embed(&["a"], LIMIT).await.unwrap();
    assert_eq!(embedder.embed(&[], LIMIT).await.unwrap().len(), 0);
    let seen = peer.seen();
    assert_eq!((seen.len(), seen[0].header("authorization")), (1, None));
}

#[tokio::test]
async fn a_key_that_the_endpoint_sends_back_is_in_no_error() {
    for status in [400, 401, 500] {
        let error = refusal(move |seen| {
            let sent = seen.header("authorization").unwrap();
            let said = json!({"error": {"message": format!("bad key {sent}")}});
            FakeReply::typed(status, "application/json", &said.to_string())
        })
        .await;
        let text = error.to_string();
        let end = format!("answered HTTP {status}: bad key [redacted]");
        assert!(text.ends_with(&end), "{text}");
    }
    // So long that cutting it would leave half of the key.
    let error = refusal(|seen| {
        let sent = seen.header("authorization").unwrap();
        FakeReply::typed(500, "text/plain", &format!("{}{sent}", "x".repeat(185)))
    })
    .await;
    assert!(error.to_string().len() < 300, "{error}");
    // In headers that errors tell of.
    let error = refusal(|seen| {
        lengths(seen).with("Content-Encoding", seen.header("authorization").unwrap())
    })
    .await;
    assert!(error.to_string().contains("[redacted]"), "{error}");
    let error =
        refusal(|seen| FakeReply::json(&json!({"data": seen.header("authorization")}))).await;
    assert!(matches!(error, EmbeddingsError::Answer { .. }), "{error:?}");
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_the_key_stays_here() {
    let other = FakeServer::start(lengths).await;
    let to = format!("{}/s3cret", other.origin());
    let error = refusal(move |_| FakeReply::status(307).with("Location", &to)).await;
    assert!(
        matches!(error, EmbeddingsError::Redirected { .. }),
        "{error:?}"
    );
    assert_eq!(other.seen().len(), 0);
}

#[tokio::test]
async fn invalid_responses_are_rejected_and_large_ones_while_they_are_read() {
    for body in [
        "",
        "null",
        "<html>",
        r#"{"data": []}"#,
        r#"{"data": [{"embedding": [1]}]}"#,
    ] {
        let error = refusal(move |_| FakeReply::typed(200, "application/json", body)).await;
        assert!(matches!(error, EmbeddingsError::Answer { .. }), "{error:?}");
    }
    let error = refusal(|_| FakeReply::typed(200, "application/json", &" ".repeat(8 << 20))).await;
    assert!(error.to_string().contains("has more than"), "{error}");
    let error = refusal(|_| FakeReply::Raw(b"no http\r\n\r\n".to_vec())).await;
    assert!(
        matches!(error, EmbeddingsError::Unreachable { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn an_endpoint_that_hangs_costs_no_more_than_the_limit() {
    let peer = FakeServer::start(|_| FakeReply::Nothing).await;
    let limit = Duration::from_millis(200);
    let error = embedder(&peer.origin())
        .embed(&["a"], limit)
        .await
        .unwrap_err();
    assert!(
        matches!(error, EmbeddingsError::Late { ms: 200, .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_key_that_was_refused_is_looked_up_again_and_one_that_is_not_there_sends_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("key");
    let peer = FakeServer::start(|seen| match seen.header("authorization") {
        Some("Bearer second-key") => lengths(seen),
        _ => FakeReply::status(401),
    })
    .await;
    let mut spec = EmbeddingsSpec::new(&peer.origin(), "m").unwrap();
    let reference = format!("file:{}", file.display());
    spec.key = Some(SecretReference::parse(&reference).unwrap().unwrap());
    let embedder = Embedder::new(spec).unwrap();

    let error = embedder.embed(&["a"], LIMIT).await.unwrap_err();
    assert!(matches!(error, EmbeddingsError::Key { .. }), "{error:?}");
    assert_eq!(peer.seen().len(), 0);
    std::fs::write(&file, "first-key\n").unwrap();
    let error = embedder.embed(&["a"], LIMIT).await.unwrap_err();
    assert!(error.hint().contains("`key`"), "{error:?}");
    std::fs::write(&file, "second-key\n").unwrap();
    embedder.embed(&["a"], LIMIT).await.unwrap();
}

#[test]
fn addresses_are_checked_like_those_of_servers_and_spaces_differ_by_url_and_model() {
    let new = |url| Embedder::new(EmbeddingsSpec::new(url, "m").unwrap());
    for url in [
        "http://169.254.169.254/v1",
        "http://example.com/v1",
        "http://me:pw@127.0.0.1/",
    ] {
        let error = new(url).unwrap_err();
        assert!(
            matches!(error, EmbeddingsError::Unreachable { .. }),
            "{error:?}"
        );
        assert!(!error.to_string().contains("pw"), "{error}");
    }
    assert!(EmbeddingsSpec::new("file:///etc/passwd", "m").is_err());
    let space = |url, model| {
        let spec = EmbeddingsSpec::new(url, model).unwrap();
        Embedder::new(spec).unwrap().space()
    };
    let one = space("https://example.com/v1", "m");
    assert_eq!(one, space("https://example.com/v1/", "m"));
    assert_ne!(one, space("https://example.com/v2", "m"));
    assert_ne!(one, space("https://example.com/v1", "n"));
    assert!(!one.contains("example"));
}
