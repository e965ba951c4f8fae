//! X04, X05 and X08: names and arguments of calls, and claims of results.

use limbeck_domain::{Envelope, ErrorKind};
use limbeck_policy::Scope;
use limbeck_testkit::{request, value_of};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{FakeWorkerGateway, LONG_MS};

/// Makes a call with this head and body, with only `t.echo` in scope. Returns the outcome and the envelope.
async fn call(hostile: &FakeWorkerGateway, head: &str, body: &str) -> (Value, Envelope) {
    let mut scoped = request("call");
    scoped.input = json!({"head": head, "body": body}).to_string();
    scoped.scope = Scope::parse(["t.echo"]).unwrap();
    let envelope = hostile
        .gateway
        .execute(scoped, CancellationToken::new())
        .await;
    (value_of(&envelope), envelope)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_name_in_a_call_is_checked_by_the_gateway() {
    let hostile = FakeWorkerGateway::new().await;
    let (outcome, _) = call(&hostile, r#"{"server":"t","tool":"echo"}"#, r#"{"a":1}"#).await;
    assert_eq!(outcome, json!({"ok": true, "answer": {"a": 1}}));
    let before = hostile.server.calls();
    assert_eq!(before, ["echo"]);

    let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
    for (head, body, code) in [
        (r#"{"server":"t","tool":"big"}"#, "{}", "denied"),
        (r#"{"tool":"mcp__t__big"}"#, "{}", "denied"),
        (r#"{"server":"t","tool":"echo\u0000"}"#, "{}", "denied"),
        (r#"{"server":"t","tool":"ec\u200bho"}"#, "{}", "denied"),
        (r#"{"server":"t\u001b[2J","tool":"echo"}"#, "{}", "denied"),
        // A parser that accepts duplicate names would use the second one.
        (
            r#"{"server":"t","tool":"big","tool":"echo"}"#,
            "{}",
            "unknown_tool",
        ),
        (
            r#"{"server":"t","tool":"echo","form":"admin"}"#,
            "{}",
            "unknown_tool",
        ),
        (
            r#"{"server":"t","tool":"echo","permit":true}"#,
            "{}",
            "unknown_tool",
        ),
        (r#"{"server":"t","tool":"echo"} {}"#, "{}", "unknown_tool"),
        ("", "{}", "unknown_tool"),
        ("null", "{}", "unknown_tool"),
        (deep.get(..4_000).unwrap(), "{}", "unknown_tool"),
        (r#"{"server":"t","tool":"echo"}"#, "{", "invalid_arguments"),
        (r#"{"server":"t","tool":"echo"}"#, "[]", "invalid_arguments"),
        (
            r#"{"server":"t","tool":"echo"}"#,
            &deep,
            "invalid_arguments",
        ),
    ] {
        let (outcome, envelope) = call(&hostile, head, body).await;
        assert_eq!(outcome["ok"], json!(false), "{head}: {outcome}");
        assert_eq!(outcome["answer"]["code"], json!(code), "{head}: {outcome}");
        let text = outcome.to_string();
        assert!(
            !text.contains('\u{1b}') && !text.contains("\\u001b"),
            "{text}"
        );
        assert!(envelope.effects.is_none(), "{head}");
    }
    assert_eq!(
        hostile.server.calls(),
        before,
        "nothing else reached the server"
    );
    hostile.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_in_a_result_are_data_and_the_gateway_reports_what_it_measured() {
    let hostile = FakeWorkerGateway::new().await;
    let envelope = hostile.execute("claims", LONG_MS).await;
    let value = value_of(&envelope);
    assert_eq!(value["effects"], json!({"writes": 9}), "it is data");
    assert!(envelope.effects.is_none(), "and nothing was called");
    assert!(envelope.error.is_none() && envelope.stdout.is_empty());
    hostile.runs_honest_program().await;
    hostile.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_of_calls_in_flight_share_one_bound() {
    let hostile = FakeWorkerGateway::new().await;
    let message = "the arguments of waiting calls have more than 67108864 bytes";
    let envelope = hostile
        .fails("arguments-pile-up", LONG_MS, ErrorKind::CallLimit, message)
        .await;
    // The calls were cancelled; each may have written.
    let [warning] = &envelope.warnings[..] else {
        panic!("{:?}", envelope.warnings);
    };
    assert!(warning.contains("may have written: `t.stuck`"), "{warning}");
    hostile.gateway.shutdown().await;
}
