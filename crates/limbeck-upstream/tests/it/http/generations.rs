//! Protocol generation of a server: how it is found, kept and corrected.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use limbeck_domain::{CallCode, ToolId};
use limbeck_upstream::http::HttpKind;
use limbeck_upstream::{
    CredentialSource, ProtocolGeneration, ServerState, UpstreamError, UpstreamPool,
};
use secrecy::SecretString;
use serde_json::json;
use tokio::sync::mpsc;

use crate::http::fake_server::{
    FakeReply, FakeServer, ReceivedRequest, echo, error, event, legacy, modern, result,
};
use crate::http::support::{call, echoes, http, list, pool, spec, state};

fn generation(pool: &UpstreamPool) -> ProtocolGeneration {
    match state(pool) {
        ServerState::Ready { generation, .. } => generation,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_modern_server_is_asked_without_a_handshake_and_with_routing_headers() {
    let peer = FakeServer::start(modern).await;
    let pool = pool(&peer.url());
    assert_eq!(list(&pool).await.unwrap().tools.len(), 1);
    echoes(&pool, 1).await;
    assert_eq!(generation(&pool), ProtocolGeneration::Modern);
    assert_eq!(
        peer.methods(),
        ["server/discover", "tools/list", "tools/call"]
    );
    for request in peer.seen() {
        assert_eq!(request.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(request.header("mcp-method"), Some(request.rpc()));
        assert_eq!(request.header("mcp-session-id"), None);
        assert_eq!(
            request.header("accept"),
            Some("application/json, text/event-stream")
        );
        let meta = &request.body["params"]["_meta"];
        assert_eq!(
            meta["io.modelcontextprotocol/protocolVersion"],
            "2026-07-28"
        );
    }
    assert_eq!(peer.seen()[2].header("mcp-name"), Some("echo"));
}

#[tokio::test]
async fn a_legacy_server_gets_a_session_that_every_request_names_and_that_ends_with_the_pool() {
    let peer = FakeServer::start(|seen| legacy(seen, "s-1")).await;
    let pool = pool(&peer.url());
    echoes(&pool, 1).await;
    assert_eq!(generation(&pool), ProtocolGeneration::Legacy);
    pool.shutdown().await;
    let seen = peer.seen();
    assert_eq!(seen[0].rpc(), "server/discover");
    assert_eq!(seen[1].rpc(), "initialize");
    assert_eq!(seen[1].header("mcp-protocol-version"), None);
    assert_eq!(seen[1].header("mcp-method"), None);
    assert_eq!(seen[2].rpc(), "notifications/initialized");
    for request in &seen[2..] {
        assert_eq!(request.header("mcp-session-id"), Some("s-1"), "{request:?}");
        assert_eq!(request.header("mcp-protocol-version"), Some("2025-06-18"));
    }
    assert_eq!(peer.count("tools/call"), 1);
    assert_eq!(seen.last().unwrap().method, "DELETE");
}

/// A server of 2024-11-05: `endpoint` is what its stream names.
fn old(endpoint: String) -> impl Fn(&ReceivedRequest) -> FakeReply + Send + Sync {
    let stream: Mutex<Option<mpsc::UnboundedSender<String>>> = Mutex::default();
    move |seen| {
        if seen.method == "GET" {
            let (tx, rx) = mpsc::unbounded_channel();
            tx.send(format!("event: endpoint\ndata: {endpoint}\n\n"))
                .unwrap();
            *stream.lock().unwrap() = Some(tx);
            return FakeReply::Events(rx);
        }
        if !seen.path.starts_with("/messages") {
            return FakeReply::status(405);
        }
        let answer = match seen.rpc() {
            "initialize" => result(
                &seen.id(),
                &json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": {"name": "older"}}),
            ),
            "tools/call" => echo(seen),
            _ => return FakeReply::status(202),
        };
        let tx = stream.lock().unwrap();
        tx.as_ref().unwrap().send(event(&answer)).unwrap();
        FakeReply::typed(202, "text/plain", "Accepted")
    }
}

#[tokio::test]
async fn a_server_without_post_is_asked_for_its_event_stream() {
    for kind in [HttpKind::Auto, HttpKind::Sse] {
        let peer = FakeServer::start(old("/messages?sessionId=7".into())).await;
        let mut entry = http(&peer.url());
        entry.kind = kind;
        let pool = UpstreamPool::new(vec![spec(entry)]);
        echoes(&pool, 1).await;
        echoes(&pool, 2).await;
        let ServerState::Ready { protocol, .. } = state(&pool) else {
            panic!("{:?}", state(&pool));
        };
        assert_eq!(protocol, "2024-11-05");
        let calls: Vec<ReceivedRequest> = peer
            .seen()
            .into_iter()
            .filter(|it| it.rpc() == "tools/call")
            .collect();
        assert_eq!(calls.len(), 2);
        assert_eq!(calls[0].path, "/messages?sessionId=7");
        assert_eq!(peer.count("GET"), 1);
        pool.shutdown().await;
    }
}

#[tokio::test]
async fn messages_are_never_sent_to_another_origin_that_a_stream_names() {
    let elsewhere = FakeServer::start(modern).await;
    let peer = FakeServer::start(old(format!("{}/messages", elsewhere.origin()))).await;
    let mut entry = http(&peer.url());
    entry.kind = HttpKind::Sse;
    let error = list(&UpstreamPool::new(vec![spec(entry)]))
        .await
        .unwrap_err();
    assert!(matches!(error, UpstreamError::NotAllowed { .. }), "{error}");
    assert!(error.had_no_effect());
    assert!(error.to_string().contains("not its own origin"), "{error}");
    assert_eq!(elsewhere.seen().len(), 0);
}

struct CountedTokens {
    signed_in: AtomicBool,
    challenges: Mutex<Vec<String>>,
    may: bool,
}

impl CountedTokens {
    fn new(may: bool) -> Arc<Self> {
        Arc::new(Self {
            signed_in: AtomicBool::new(false),
            challenges: Mutex::default(),
            may,
        })
    }
}

impl CredentialSource for CountedTokens {
    fn authorization(&self) -> BoxFuture<'_, Result<Option<SecretString>, UpstreamError>> {
        let signed_in = self.signed_in.load(Ordering::Relaxed);
        Box::pin(async move { Ok(signed_in.then(|| "Bearer fresh-token".into())) })
    }

    fn refused(
        &self,
        status: u16,
        www_authenticate: Option<&str>,
    ) -> BoxFuture<'_, Result<bool, UpstreamError>> {
        let challenge = format!("{status} {}", www_authenticate.unwrap_or("-"));
        self.challenges.lock().unwrap().push(challenge);
        self.signed_in.store(self.may, Ordering::Relaxed);
        Box::pin(async move { Ok(self.may) })
    }
}

fn guarded(seen: &ReceivedRequest) -> FakeReply {
    let is_signed_in = seen.header("authorization") == Some("Bearer fresh-token");
    if is_signed_in && seen.body["params"]["arguments"]["fail"] == true {
        FakeReply::typed(500, "text/plain", "you are fresh-token")
    } else if is_signed_in {
        modern(seen)
    } else {
        FakeReply::typed(401, "application/json", "{}")
            .with("WWW-Authenticate", "Bearer scope=\"x\"")
    }
}

#[tokio::test]
async fn a_rejection_for_a_missing_token_does_not_decide_the_generation() {
    let peer = FakeServer::start(guarded).await;
    let tokens = CountedTokens::new(true);
    let mut entry = http(&peer.url());
    entry.credentials = Some(tokens.clone());
    let pool = UpstreamPool::new(vec![spec(entry)]);
    echoes(&pool, 1).await;
    assert_eq!(generation(&pool), ProtocolGeneration::Modern);
    assert_eq!(
        peer.methods(),
        ["server/discover", "server/discover", "tools/call"]
    );
    let error = call(&pool, r#"{"fail":true}"#).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server answered with HTTP 500: you are [redacted]"
    );
    assert_eq!(
        *tokens.challenges.lock().unwrap(),
        ["401 Bearer scope=\"x\""]
    );
}

#[tokio::test]
async fn without_a_token_the_sign_in_is_named_and_nothing_else_is_tried() {
    for tokens in [None, Some(CountedTokens::new(false))] {
        let peer = FakeServer::start(guarded).await;
        let mut entry = http(&peer.url());
        entry.credentials = tokens.map(|it| it as Arc<dyn CredentialSource>);
        let pool = UpstreamPool::new(vec![spec(entry)]);
        let error = call(&pool, "{}").await.unwrap_err();
        let UpstreamError::SignInNeeded { url, command } = &error else {
            panic!("{error}");
        };
        assert_eq!(
            (url, command.as_str()),
            (&peer.origin(), "limbeck auth login web")
        );
        assert_eq!(peer.methods(), ["server/discover"]);
    }
}

#[tokio::test]
async fn a_call_that_the_server_answered_with_401_or_403_counts_as_sent() {
    for (status, tokens, calls) in [
        (401, None, 1),
        (401, Some(CountedTokens::new(false)), 1),
        (403, Some(CountedTokens::new(false)), 1),
        // Sent once more with a new token, which the server refuses as well.
        (401, Some(CountedTokens::new(true)), 2),
    ] {
        let peer = FakeServer::start(move |seen| match seen.rpc() {
            "tools/call" => FakeReply::status(status),
            _ => modern(seen),
        })
        .await;
        let mut entry = http(&peer.url());
        entry.credentials = tokens.map(|it| it as Arc<dyn CredentialSource>);
        let pool = UpstreamPool::new(vec![spec(entry)]);
        let error = call(&pool, "{}").await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "the server at {} needs a sign-in; it answered the request with HTTP {status}",
                peer.origin()
            )
        );
        assert!(!error.had_no_effect(), "{error}");
        let read = error.to_call_error(&ToolId::new("web", "echo"));
        assert_eq!(
            (read.code, read.retryable),
            (CallCode::UpstreamError, false)
        );
        let hint = "sign in with `limbeck auth login web`";
        assert_eq!(read.hint.as_deref(), Some(hint));
        assert_eq!(peer.count("tools/call"), calls);
    }
    // The control: a server that refuses the handshake did not receive the call.
    let peer = FakeServer::start(guarded).await;
    let pool = UpstreamPool::new(vec![spec(http(&peer.url()))]);
    let error = call(&pool, "{}").await.unwrap_err();
    assert!(
        matches!(error, UpstreamError::SignInNeeded { .. }),
        "{error}"
    );
    assert!(error.had_no_effect());
    let read = error.to_call_error(&ToolId::new("web", "echo"));
    assert_eq!(read.code, CallCode::ServerUnavailable);
    assert_eq!(peer.count("tools/call"), 0);
}

#[tokio::test]
async fn a_cached_generation_is_used_and_corrected_when_the_server_changes() {
    let is_new = Arc::new(AtomicBool::new(false));
    let peer = FakeServer::start({
        let is_new = is_new.clone();
        move |seen| {
            if !is_new.load(Ordering::Relaxed) {
                return legacy(seen, "s-1");
            }
            // Updated: it no longer knows sessions nor the handshake.
            match seen.rpc() {
                _ if seen.header("mcp-session-id").is_some() => FakeReply::status(404),
                "initialize" => {
                    let refused = error(&seen.id(), -32022, "unsupported version");
                    FakeReply::typed(400, "application/json", &refused.to_string())
                }
                _ => modern(seen),
            }
        }
    })
    .await;
    let pool = pool(&peer.url());
    echoes(&pool, 1).await;
    assert_eq!(generation(&pool), ProtocolGeneration::Legacy);
    is_new.store(true, Ordering::Relaxed);
    let error = call(&pool, "{}").await.unwrap_err();
    assert!(
        matches!(error, UpstreamError::ConnectionLost { .. }),
        "{error}"
    );
    echoes(&pool, 2).await;
    assert_eq!(generation(&pool), ProtocolGeneration::Modern);
    // The cached generation was tried before the negotiation started again.
    assert_eq!(peer.count("initialize"), 2);
    assert_eq!(peer.count("server/discover"), 2);
}

#[tokio::test]
async fn a_server_that_answers_the_probe_with_silence_is_legacy() {
    let peer = FakeServer::start(|seen| match seen.rpc() {
        "server/discover" => FakeReply::Nothing,
        _ => legacy(seen, "s-1"),
    })
    .await;
    let pool = pool(&peer.url());
    echoes(&pool, 1).await;
    assert_eq!(generation(&pool), ProtocolGeneration::Legacy);
    assert_eq!(peer.left(), ["server/discover"]);
}

#[tokio::test]
async fn a_modern_server_that_missed_the_probe_says_so_to_the_handshake_and_stays_modern() {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let peer = FakeServer::start(move |seen| match seen.rpc() {
        "server/discover" if asked.fetch_add(1, Ordering::Relaxed) == 0 => FakeReply::status(500),
        "initialize" => {
            let refused = error(&seen.id(), -32022, "already serving 2026-07-28");
            FakeReply::typed(400, "application/json", &refused.to_string())
        }
        _ => modern(seen),
    })
    .await;
    let pool = pool(&peer.url());
    echoes(&pool, 1).await;
    assert_eq!(generation(&pool), ProtocolGeneration::Modern);
    assert_eq!(
        peer.methods(),
        [
            "server/discover",
            "initialize",
            "server/discover",
            "tools/call"
        ]
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable_and_has_no_verdict() {
    let pool = pool("http://127.0.0.1:9/mcp");
    let error = call(&pool, "{}").await.unwrap_err();
    assert!(
        matches!(error, UpstreamError::Unreachable { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("refused"), "{error}");
}
