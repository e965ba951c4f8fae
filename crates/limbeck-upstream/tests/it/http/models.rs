//! A provider of models: what is sent to it in each format, and that nothing it answers does harm.

use std::sync::Arc;
use std::time::Duration;

use limbeck_domain::CompactArguments;
use limbeck_policy::{
    DecidedModel, Facts, ModelAction, ModelPermit, ModelRequest, Policy, Scope, decide_model_or_ask,
};
use limbeck_upstream::http::{LocalSecrets, SecretReference};
use limbeck_upstream::models::{
    ModelError, ModelPrompt, ModelProvider, ProviderKind, ProviderSpec, Speaker,
};
use serde_json::json;

use crate::http::fake_server::{FakeReply, FakeServer, ReceivedRequest};

const KEY: &str = "s3cret-value";

fn permit() -> ModelPermit {
    let request = ModelRequest {
        action: ModelAction::Ask,
        arguments: CompactArguments::parse("{}").unwrap().0,
    };
    let facts = Facts {
        scope: &Scope::everything(),
        policy: &Policy::default(),
        who: &[],
        now_us: 0,
    };
    match decide_model_or_ask(request, &facts).unwrap() {
        DecidedModel::Permit(permit) => permit,
        DecidedModel::Ask(question) => panic!("{question:?}"),
    }
}

fn provider(kind: ProviderKind, url: &str) -> ModelProvider {
    let mut spec = ProviderSpec::new(kind, Some(url), Some("m")).unwrap();
    spec.key = Some(SecretReference::parse("env:KEY").unwrap().unwrap());
    spec.secrets = Arc::new(LocalSecrets::new(vec![("KEY".into(), KEY.into())]));
    spec.timeout = Duration::from_secs(20);
    assert!(!format!("{spec:?}").contains("s3cret"), "{spec:?}");
    ModelProvider::new(spec).unwrap()
}

fn prompt() -> ModelPrompt {
    ModelPrompt {
        model: "m".to_owned(),
        system: None,
        messages: vec![(Speaker::User, "hi".to_owned())],
        max_tokens: 9,
    }
}

fn stream(kind: ProviderKind) -> FakeReply {
    let pieces: &[&str] = match kind {
        ProviderKind::Anthropic => &[
            "data: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"he",
            "llo\"}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n",
            "data: {\"type\":\"message_stop\"}\n\n",
        ],
        ProviderKind::Gemini => &[
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"he",
            "llo\"}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"candidatesTokenCount\":2}}\n\n",
        ],
        _ => &[
            "data: {\"choices\":[{\"delta\":{\"content\":\"he",
            "llo\"},\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"completion_tokens\":2}}\n\n",
            "data: [DONE]\n\n",
        ],
    };
    let pieces: Vec<String> = pieces.iter().map(|piece| (*piece).to_owned()).collect();
    FakeReply::events(&pieces)
}

#[tokio::test]
async fn each_provider_is_asked_in_its_format_with_its_key_in_its_header() {
    for (kind, path, header, value) in [
        (
            ProviderKind::Anthropic,
            "/v1/messages",
            "x-api-key",
            KEY.to_owned(),
        ),
        (
            ProviderKind::Gemini,
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            "x-goog-api-key",
            KEY.to_owned(),
        ),
        (
            ProviderKind::OpenAi,
            "/chat/completions",
            "authorization",
            format!("Bearer {KEY}"),
        ),
        (
            ProviderKind::Grok,
            "/chat/completions",
            "authorization",
            format!("Bearer {KEY}"),
        ),
        (
            ProviderKind::Perplexity,
            "/chat/completions",
            "authorization",
            format!("Bearer {KEY}"),
        ),
    ] {
        let peer = FakeServer::start(move |_| stream(kind)).await;
        let answer = provider(kind, &peer.origin())
            .ask(&permit(), &prompt())
            .await;
        let answer = answer.unwrap();
        assert_eq!(
            (&*answer.text, answer.output_tokens),
            ("hello", Some(2)),
            "{kind:?}"
        );
        assert_eq!(answer.stop_reason.as_deref(), Some("endTurn"));
        let [request] = &peer.seen()[..] else {
            panic!("{kind:?}");
        };
        assert_eq!((&*request.method, &*request.path), ("POST", path));
        assert_eq!(request.header(header), Some(&*value));
        assert!(!request.path.contains(KEY));
    }
}

/// The error of asking a peer that answers like this, which must not hold the key.
async fn refusal(
    answer: impl Fn(&ReceivedRequest) -> FakeReply + Send + Sync + 'static,
) -> ModelError {
    let peer = FakeServer::start(answer).await;
    let provider = provider(ProviderKind::OpenAiCompatible, &peer.origin());
    let error = provider.ask(&permit(), &prompt()).await.unwrap_err();
    let shown = format!("{error} {error:?} {:?}", error.to_call_error());
    assert!(!shown.contains("s3cret"), "{shown}");
    assert!(!error.hint().is_empty());
    error
}

#[tokio::test]
async fn a_key_that_the_provider_sends_back_is_in_no_error_and_no_answer() {
    for status in [400, 401, 404, 429, 500] {
        let error = refusal(move |seen| {
            let sent = seen.header("authorization").unwrap();
            let said = json!({"error": {"message": format!("bad key {sent}")}});
            FakeReply::typed(status, "application/json", &said.to_string())
        })
        .await;
        assert!(
            error.to_string().ends_with("bad key Bearer [redacted]"),
            "{error}"
        );
    }
    let moved = refusal(|seen| {
        let sent = seen.header("authorization").unwrap();
        FakeReply::status(302).with("location", &format!("http://127.0.0.1:1/{sent}"))
    });
    assert!(matches!(moved.await, ModelError::Redirected { .. }));
    let reported = refusal(|seen| {
        let sent = seen.header("authorization").unwrap();
        let event = json!({"error": {"message": format!("no {sent}")}});
        FakeReply::typed(200, "text/event-stream", &format!("data: {event}\n\n"))
    });
    assert!(matches!(reported.await, ModelError::Reported { .. }));
    let peer = FakeServer::start(|seen: &ReceivedRequest| {
        let sent = seen.header("authorization").unwrap();
        FakeReply::json(&json!({"choices": [{"message": {"content": sent}}]}))
    })
    .await;
    let provider = provider(ProviderKind::OpenAiCompatible, &peer.origin());
    let answer = provider.ask(&permit(), &prompt()).await.unwrap();
    assert_eq!(answer.text, "Bearer [redacted]");
}

#[tokio::test]
async fn an_answer_that_breaks_off_or_is_none_is_an_error() {
    let half = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 500\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"he\"}}]}\n\n";
    let cut = refusal(move |_| FakeReply::Raw(half.as_bytes().to_vec())).await;
    assert!(
        matches!(
            cut,
            ModelError::Cut {
                answer_bytes: 2,
                ..
            }
        ),
        "{cut:?}"
    );
    for body in ["<html>", "[]", "{}", "data: x\n\n"] {
        let odd = refusal(move |_| FakeReply::typed(200, "text/html", body)).await;
        assert!(
            matches!(odd, ModelError::Answer { .. } | ModelError::Cut { .. }),
            "{body}: {odd:?}"
        );
    }
    let spec = ProviderSpec::new(ProviderKind::OpenAi, Some("http://127.0.0.1:1"), None).unwrap();
    let provider = ModelProvider::new(spec).unwrap();
    let error = provider.ask(&permit(), &prompt()).await.unwrap_err();
    assert!(!error.was_sent(), "{error:?}");
}

#[tokio::test]
async fn an_answer_that_takes_too_long_is_given_up() {
    let peer = FakeServer::start(|_| FakeReply::Nothing).await;
    let mut spec = ProviderSpec::new(ProviderKind::OpenAi, Some(&peer.origin()), None).unwrap();
    spec.timeout = Duration::from_millis(50);
    let provider = ModelProvider::new(spec).unwrap();
    let error = provider.ask(&permit(), &prompt()).await.unwrap_err();
    assert!(
        matches!(error, ModelError::Late { ms: 50, .. }),
        "{error:?}"
    );
    assert!(error.was_sent());
}
