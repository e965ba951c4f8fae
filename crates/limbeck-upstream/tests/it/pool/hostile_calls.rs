//! Hostile servers that attack through results of calls, each beside a healthy server.

use std::time::{Duration, Instant};

use limbeck_domain::{CallCode, ToolId};
use limbeck_upstream::{CallContext, UpstreamError, UpstreamPool};
use tokio_util::sync::CancellationToken;

use crate::pool::support::*;

fn hostile(script: &str, args: &[&str], scale: &str, call_ms: u64) -> UpstreamPool {
    let spec = server("hostile", script, args, &[("HOSTILE_SCALE", scale)]);
    UpstreamPool::new(vec![with_call_timeout(spec, call_ms), healthy(&[])])
}

/// The part of a result that tests look at; the rest may be numbers that fit no type.
#[derive(serde::Deserialize)]
struct FirstBlock {
    content: Vec<Block>,
}

#[derive(serde::Deserialize)]
struct Block {
    #[serde(default)]
    text: String,
}

/// Outcome of one call, in a word.
async fn outcome(pool: &UpstreamPool, arguments: &str) -> String {
    match call(pool, "hostile", "echo", arguments).await {
        Ok(result) => {
            let block = serde_json::from_str::<FirstBlock>(result.get()).unwrap();
            format!(
                "ok {}",
                block.content.first().map_or("", |block| &block.text)
            )
        }
        Err(UpstreamError::CallTimeout { .. }) => "timeout".to_owned(),
        Err(UpstreamError::InvalidAnswer { .. }) => "invalid".to_owned(),
        Err(UpstreamError::TooLarge { .. }) => "too large".to_owned(),
        Err(error) => error.to_string(),
    }
}

async fn outcomes(pool: &UpstreamPool, count: usize) -> Vec<String> {
    let mut seen = Vec::new();
    for _ in 0..count {
        seen.push(outcome(pool, "{}").await);
        healthy_answers(pool).await;
    }
    seen
}

#[tokio::test]
async fn h10_an_answer_that_is_too_large_fails_its_call_and_the_next_one_is_read() {
    for (mode, scale, expected) in [
        ("line", "0.1", "too large"),
        ("blob", "0.2", "too large"),
        ("many", "0.1", "ok i"),
        ("keys", "0.02", "ok "),
        ("endless", "0.002", "timeout"),
    ] {
        let pool = hostile("h10_oversize_result.py", &[mode], scale, 3_000);
        let (seen, ()) = tokio::join!(outcomes(&pool, 1), healthy_answers(&pool));
        assert_eq!(seen, [expected], "{mode}");
        if mode != "endless" {
            assert_eq!(outcomes(&pool, 1).await, [expected], "{mode} again");
        }
        pool.shutdown().await;
    }
}

#[tokio::test]
async fn h11_bytes_that_are_not_utf8_are_refused_and_the_connection_stays() {
    let pool = hostile("h11_invalid_utf8.py", &[], "1", 2_000);
    let seen = outcomes(&pool, 11).await;
    let invalid = ["invalid"; 6];
    assert_eq!(seen[..5], invalid[..5]);
    assert_eq!(seen[5], "invalid", "a control character must be escaped");
    assert_eq!(seen[6], "invalid");
    assert_eq!(seen[7], "ok \u{fffd}", "half a character is repaired");
    assert_eq!(seen[8], "ok \u{fffd}\u{fffd}");
    assert_eq!(seen[9], "invalid");
    assert_eq!(seen[10], "ok \u{feff}");
    assert!(pool.report(&"hostile".into()).traffic.junk_lines >= 8);
    pool.shutdown().await;
}

#[tokio::test]
async fn h11_junk_around_the_handshake_is_skipped() {
    let env = [("HOSTILE_ERA", "legacy")];
    let pool = UpstreamPool::new(vec![server("hostile", "h11_invalid_utf8.py", &[], &env)]);
    assert_eq!(list(&pool, "hostile").await.unwrap().tools.len(), 1);
    assert!(pool.report(&"hostile".into()).traffic.junk_lines >= 2);
    pool.shutdown().await;
}

#[tokio::test]
async fn h12_json_that_parsers_disagree_on_is_refused_and_the_next_call_works() {
    let pool = hostile("h12_json_tricks.py", &[], "0.01", 700);
    let seen = outcomes(&pool, 25).await;
    let (ok, invalid, timeout) = ("ok ", "invalid", "timeout");
    let expected = [
        invalid, invalid, invalid, // too deep, too deep, unfinished
        invalid, // repeated keys
        invalid, invalid, // NaN, Infinity
        ok, ok, ok, // numbers beyond every type, kept as text
        invalid, invalid, invalid, invalid, // comments, single quotes, 01, a raw tab
        invalid, // two values on a line
        ok,      // a batch
        timeout, // one message over several lines
        timeout, timeout, // something before the message
        ok,      // an escaped __proto__
        timeout, timeout, timeout, timeout, timeout, timeout,
    ];
    for (n, (seen, expected)) in seen.iter().zip(expected).enumerate() {
        assert_eq!(seen, expected, "case {n}");
    }
    pool.shutdown().await;
}

#[tokio::test]
async fn h13_a_response_reaches_only_the_call_whose_id_it_carries() {
    let pool = hostile("h13_id_confusion.py", &[], "1", 500);
    let seen = outcomes(&pool, 6).await;
    assert_eq!(
        seen,
        [
            "timeout",
            "timeout",
            "ok own answer",
            "ok first answer",
            "timeout",
            "the server answered with error -1: BOTH"
        ]
    );
    // Two calls at once: the server swaps the texts, but each call gets the response with its own id.
    let (a, b) = tokio::join!(outcome(&pool, r#"{"n":1}"#), outcome(&pool, r#"{"n":2}"#));
    assert!(
        a.starts_with("ok SWAPPED") && b.starts_with("ok SWAPPED"),
        "{a} {b}"
    );
    // A request of the server under our id is no answer; what ends the call is the server's error.
    let refused = "the server answered with error -32601: method not found";
    assert_eq!(outcome(&pool, "{}").await, refused);
    assert!(pool.report(&"hostile".into()).traffic.stray_answers >= 9);
    pool.shutdown().await;
}

#[tokio::test]
async fn h14_a_crash_during_a_call_is_reported_at_once_and_the_call_is_not_retried() {
    for (mode, status) in [
        ("exit0", "exit status: 0"),
        ("exit1", "exit status: 1"),
        ("kill", "signal: 9 (SIGKILL)"),
        ("half", "exit status: 1"),
    ] {
        let pool = hostile("h14_crash_mid_call.py", &[mode], "1", 20_000);
        list(&pool, "hostile").await.unwrap();
        let error = call(&pool, "hostile", "echo", "{}").await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("the connection to the server was lost during the call ({status})")
        );
        let reported = error.to_call_error(&ToolId::new("hostile", "echo"));
        assert_eq!(
            (reported.code, reported.retryable),
            (CallCode::ConnectionLost, false)
        );
        healthy_answers(&pool).await;
        pool.shutdown().await;
    }
}

#[tokio::test]
async fn h16_a_flood_of_notifications_is_dropped_and_calls_are_served() {
    let pool = hostile("h16_notification_flood.py", &[], "0.05", 10_000);
    for _ in 0..10 {
        let (seen, ()) = tokio::join!(outcome(&pool, "{}"), healthy_answers(&pool));
        assert_eq!(seen, "ok {}");
    }
    assert_eq!(list(&pool, "hostile").await.unwrap().tools.len(), 50);
    assert!(pool.report(&"hostile".into()).traffic.notifications > 100);
    pool.shutdown().await;
}

#[tokio::test]
async fn h17_calls_that_never_end_time_out_whatever_keeps_them_alive() {
    for mode in ["call", "drip", "progress"] {
        let pool = hostile("h17_hang_and_slow.py", &[mode], "1", 700);
        list(&pool, "hostile").await.unwrap();
        let (seen, ()) = tokio::join!(outcome(&pool, "{}"), healthy_answers(&pool));
        assert_eq!(seen, "timeout", "{mode}");
        pool.shutdown().await;
    }
}

#[tokio::test]
async fn h17_a_server_that_stops_reading_is_ended_and_started_again() {
    let pool = hostile("h17_hang_and_slow.py", &["deaf"], "1", 300);
    list(&pool, "hostile").await.unwrap();
    // More than a pipe holds, so that it cannot be written.
    let large = format!(r#"{{"a":"{}"}}"#, "x".repeat(1 << 20));
    let (seen, ()) = tokio::join!(outcome(&pool, &large), healthy_answers(&pool));
    assert_eq!(seen, "timeout");
    eventually("the connection is given up", || {
        let report = pool.report(&"hostile".into());
        report.last_error.is_some()
    })
    .await;
    // The fresh process reads; what it does not know it answers with an error.
    eventually_started(&pool).await;
    pool.shutdown().await;
}

async fn eventually_started(pool: &UpstreamPool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while let Err(error) = call(pool, "hostile", "echo", "{}").await {
        let waits = matches!(error, UpstreamError::CallTimeout { .. });
        assert!(waits && Instant::now() < deadline, "{error}");
        if waits {
            return;
        }
    }
}

#[tokio::test]
async fn h23_late_answers_are_dropped_and_counted() {
    let pool = hostile("h23_progress_and_cancel_abuse.py", &[], "1", 20_000);
    list(&pool, "hostile").await.unwrap();
    let cancel = CancellationToken::new();
    let given_up = pool.call(
        permit("hostile", "echo", "{}"),
        CallContext::new(cancel.clone()),
    );
    let (given_up, ()) = tokio::join!(given_up, async {
        tokio::task::yield_now().await;
        cancel.cancel();
    });
    assert!(matches!(given_up.unwrap_err(), UpstreamError::Cancelled));
    // Two answers under its own id and an error under the next one.
    eventually("strays are counted", || {
        pool.report(&"hostile".into()).traffic.stray_answers == 3
    })
    .await;
    // The control: a call that is waited for gets its answer, late as it is.
    assert_eq!(outcome(&pool, "{}").await, "ok LATE-ANSWER");
    healthy_answers(&pool).await;
    pool.shutdown().await;
}

#[tokio::test]
async fn h29_framing_tricks_cost_their_own_calls_and_the_stream_is_found_again() {
    let pool = hostile("h29_batch_and_framing.py", &[], "1", 500);
    let seen = outcomes(&pool, 9).await;
    assert_eq!(
        seen,
        [
            "ok framed", // a batch; the second answer is for no call
            "timeout",   // a header, and no newline at the end
            "timeout",   // glued to the line before
            "invalid",   // two messages on a line
            "ok framed", // in two halves, with a pause
            "timeout",   // separated by zero bytes, and no newline
            "ok framed", // after many empty lines
            "timeout",   // over two lines
            "ok framed", // after a request under our id
        ]
    );
    pool.shutdown().await;
}
