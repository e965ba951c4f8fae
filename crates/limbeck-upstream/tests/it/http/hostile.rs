//! The modes of `h26_http_hostile.py`, one test each, always beside a healthy server.

use std::process::Stdio;
use std::time::{Duration, Instant};

use limbeck_upstream::http::HeaderValueSpec;
use limbeck_upstream::{UpstreamError, UpstreamPool};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::http::fake_server::{FakeServer, modern};
use crate::http::support::{call_with, healthy_answers, http, list, spec};

struct HostileServer {
    url: String,
    _child: Child,
}

impl HostileServer {
    async fn start(mode: &str, target: &str) -> Self {
        let script = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/servers/h26_http_hostile.py"
        );
        let mut child = Command::new("python3")
            .args(["-B", script, "0", mode, target])
            .env("HOSTILE_SCALE", "0.05")
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.next_line().await.unwrap().unwrap();
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        Self {
            url: format!("http://127.0.0.1:{}/mcp", line["listening"]),
            _child: child,
        }
    }

    fn pool(&self) -> UpstreamPool {
        let mut entry = http(&self.url);
        entry.headers = vec![(
            "Authorization".into(),
            HeaderValueSpec::parse("Bearer canary-token").unwrap(),
        )];
        let mut spec = spec(entry);
        spec.start_timeout = Duration::from_secs(4);
        spec.call_timeout = Duration::from_secs(4);
        UpstreamPool::new(vec![spec])
    }
}

/// The outcome of a list of tools from a server in `mode`; it ends and leaks nothing.
async fn refusal(mode: &str, target: &str) -> UpstreamError {
    let hostile = HostileServer::start(mode, target).await;
    let pool = hostile.pool();
    let started = Instant::now();
    let error = list(&pool).await.unwrap_err();
    assert!(
        started.elapsed() < Duration::from_secs(60),
        "{mode}: {:?}",
        started.elapsed()
    );
    let text = error.to_string();
    assert!(text.len() < 700, "{mode}: {text}");
    for secret in ["canary-token", "Traceback", "Login"] {
        assert!(!text.contains(secret), "{mode}: {text}");
    }
    pool.shutdown().await;
    healthy_answers().await;
    error
}

fn http_status(error: &UpstreamError) -> Option<u16> {
    match error {
        UpstreamError::Http { status, .. } => Some(*status),
        _ => None,
    }
}

#[tokio::test]
async fn w01_a_redirect_to_a_metadata_address_is_not_followed_and_its_class_is_named() {
    let error = refusal("redirect", "http://169.254.169.254/latest/meta-data/").await;
    assert_eq!(http_status(&error), Some(307));
    assert!(
        error.to_string().contains("a link-local address"),
        "{error}"
    );
}

#[tokio::test]
async fn w02_credentials_never_follow_a_redirect_to_another_origin() {
    let elsewhere = FakeServer::start(modern).await;
    for mode in ["redirect", "crossorigin"] {
        let error = refusal(mode, &elsewhere.url()).await;
        assert!(error.to_string().contains("is not followed"), "{error}");
    }
    assert_eq!(elsewhere.seen().len(), 0);
}

#[tokio::test]
async fn w03_loops_and_other_schemes_are_not_followed() {
    assert_eq!(http_status(&refusal("loop", "-").await), Some(308));
    let error = refusal("scheme", "-").await;
    assert!(error.to_string().contains("`file:`"), "{error}");
}

#[tokio::test]
async fn w04_streams_and_events_without_end_end_by_time_or_size() {
    let error = refusal("sse", "-").await;
    assert!(
        matches!(error, UpstreamError::Unreachable { .. }),
        "{error}"
    );
    refusal("ssebig", "-").await;
}

#[tokio::test]
async fn w05_one_header_byte_a_second_ends_by_time() {
    let error = refusal("slow", "-").await;
    assert!(
        matches!(error, UpstreamError::Unreachable { .. }),
        "{error}"
    );
}

#[tokio::test]
async fn w06_huge_headers_lying_lengths_and_bad_chunks_are_refused() {
    for mode in ["hugeheader", "lyinglength", "badchunk"] {
        let error = refusal(mode, "-").await;
        assert!(
            matches!(error, UpstreamError::Unreachable { .. }),
            "{mode}: {error}"
        );
    }
}

#[tokio::test]
async fn w07_unrequested_compression_is_not_inflated() {
    let error = refusal("gzipbomb", "-").await;
    assert!(error.to_string().contains("encoded as `gzip`"), "{error}");
}

#[tokio::test]
async fn w08_html_pages_give_a_typed_error_without_their_text() {
    let error = refusal("wrongtype", "-").await;
    assert!(error.to_string().contains("invalid HTTP header"), "{error}");
    assert_eq!(http_status(&refusal("http500", "-").await), Some(500));
    assert_eq!(http_status(&refusal("retryafter", "-").await), Some(429));
}

#[tokio::test]
async fn w09_metadata_of_a_refusal_is_not_fetched_by_the_transport() {
    let elsewhere = FakeServer::start(modern).await;
    let error = refusal("unauth", &elsewhere.url()).await;
    assert_eq!(http_status(&error), Some(401));
    assert_eq!(elsewhere.seen().len(), 0);
}

#[tokio::test]
async fn w10_session_ids_that_change_and_trailers_do_no_harm() {
    for mode in ["session", "publiccache", "trailer"] {
        let hostile = HostileServer::start(mode, "-").await;
        let pool = hostile.pool();
        for _ in 0..3 {
            assert_eq!(list(&pool).await.unwrap().tools.len(), 1, "{mode}");
        }
        pool.shutdown().await;
    }
}

#[tokio::test]
async fn a_server_that_echoes_its_headers_does_not_reveal_the_token() {
    let hostile = HostileServer::start("echoauth", "-").await;
    let pool = hostile.pool();
    let cancel = tokio_util::sync::CancellationToken::new();
    let result = call_with(&pool, "fetch", "{}", cancel).await.unwrap();
    assert!(result.get().contains("[redacted]"), "{}", result.get());
    assert!(!result.get().contains("canary-token"), "{}", result.get());
}
