//! X04, X05 and X08: what a call names, what it brings along, and what a result says of itself.

use limbeck_gateway::domain::{Envelope, ErrorKind};
use limbeck_gateway::policy::Scope;
use limbeck_testkit::{request, value_of};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::Arena;

/// Calls with this head and body, allowed to use `t.echo` alone, and gives what was answered.
async fn call(arena: &Arena, head: &str, body: &str) -> (Value, Envelope) {
    let mut scoped = request("call");
    scoped.input = json!({"head": head, "body": body}).to_string();
    scoped.scope = Scope::parse(["t.echo"]).unwrap();
    let envelope = arena
        .gateway
        .execute(scoped, CancellationToken::new())
        .await;
    (value_of(&envelope), envelope)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_answered_by_the_gateways_rules_whatever_it_names() {
    let arena = Arena::new().await;
    let (told, _) = call(&arena, r#"{"server":"t","tool":"echo"}"#, r#"{"a":1}"#).await;
    assert_eq!(told, json!({"ok": true, "said": {"a": 1}}));
    let before = arena.server.calls();
    assert_eq!(before, ["echo"]);

    let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
    for (head, body, code) in [
        (r#"{"server":"t","tool":"big"}"#, "{}", "denied"),
        (r#"{"tool":"mcp__t__big"}"#, "{}", "denied"),
        (
            r#"{"server":"t","tool":"echo\u0000"}"#,
            "{}",
            "unknown_tool",
        ),
        (
            r#"{"server":"t","tool":"ec\u200bho"}"#,
            "{}",
            "unknown_tool",
        ),
        (
            r#"{"server":"t\u001b[2J","tool":"echo"}"#,
            "{}",
            "unknown_server",
        ),
        // The second name would be the one that counts, if names could be given twice.
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
        let (told, envelope) = call(&arena, head, body).await;
        assert_eq!(told["ok"], json!(false), "{head}: {told}");
        assert_eq!(told["said"]["code"], json!(code), "{head}: {told}");
        let said = told.to_string();
        assert!(
            !said.contains('\u{1b}') && !said.contains("\\u001b"),
            "{said}"
        );
        assert!(envelope.effects.is_none(), "{head}");
    }
    assert_eq!(
        arena.server.calls(),
        before,
        "nothing else reached the server"
    );
    arena.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_says_what_it_likes_and_the_gateway_what_it_measured() {
    let arena = Arena::new().await;
    let envelope = arena.play("claims", 60_000).await;
    let value = value_of(&envelope);
    assert_eq!(value["effects"], json!({"writes": 9}), "it is data");
    assert!(envelope.effects.is_none(), "and nothing was called");
    assert!(envelope.error.is_none() && envelope.stdout.is_empty());
    arena.is_well().await;
    arena.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_under_way_are_held_to_their_bound_together() {
    let arena = Arena::new().await;
    let says = "the arguments of waiting calls are over 67108864 bytes";
    let envelope = arena
        .fails("arguments-pile-up", 60_000, ErrorKind::CallLimit, says)
        .await;
    // They were cancelled; each may have written.
    assert!(envelope.warnings.is_empty(), "{:?}", envelope.warnings);
    arena.gateway.shutdown().await;
}
