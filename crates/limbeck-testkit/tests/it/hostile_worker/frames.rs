//! X01, X02, X03, X05 and X10: malformed frames, frames out of order, and frames over their bounds.

use limbeck_domain::ErrorKind;
use serde_json::json;

use super::{FakeWorkerGateway, LONG_MS, memory_for};

/// Memory the gateway may take for a few executions: buffers of a read, the records it writes.
const FEW_BYTES: usize = 8 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn lengths_that_lie_end_the_worker_and_cost_no_memory() {
    let hostile = FakeWorkerGateway::new().await;
    hostile.runs_honest_program().await;
    let took = memory_for(async {
        hostile.is_killed("length-zero", "frame of 0 bytes").await;
        hostile
            .is_killed("length-sign", "frame of 2147483648 bytes")
            .await;
        hostile
            .is_killed("length-all-ones", "frame of 4294967295 bytes")
            .await;
        hostile
            .is_killed("length-over-kind", "frame of 8388608 bytes")
            .await;
        hostile
            .is_killed("text-past-the-frame", "malformed frame body")
            .await;
        hostile
            .is_killed("list-past-the-frame", "malformed frame body")
            .await;
        // The gateway waits for the announced bytes until the time limit of the program.
        hostile
            .fails(
                "half-a-frame",
                300,
                ErrorKind::Timeout,
                "longer than 300 ms",
            )
            .await;
    })
    .await;
    assert!(took < FEW_BYTES, "{took} bytes for seven false lengths");
    hostile.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_takes_no_more_memory_than_it_has_bytes() {
    let hostile = FakeWorkerGateway::new().await;
    hostile.runs_honest_program().await;
    // Eight million empty texts in a frame of 8 MiB; as a list they would take 192 MiB.
    let took = memory_for(hostile.is_killed("list-of-nothing", "malformed frame body")).await;
    assert!(took < 4 * FEW_BYTES, "{took} bytes for a frame of 8 MiB");
    hostile.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_and_bodies_that_do_not_decode_end_the_worker() {
    let hostile = FakeWorkerGateway::new().await;
    hostile
        .is_killed("kind-unknown", "unknown frame kind 99")
        .await;
    hostile
        .is_killed("kind-of-the-gateway", "unknown frame kind 1")
        .await;
    for program in [
        "body-missing",
        "trailing-byte",
        "log-not-utf8",
        "head-not-utf8",
        "value-not-utf8",
    ] {
        hostile.is_killed(program, "malformed frame body").await;
    }
    hostile.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_out_of_turn_end_the_worker() {
    let hostile = FakeWorkerGateway::new().await;
    for (program, message) in [
        ("ready-again", "worker sent `ready` while running"),
        ("idle-twice", "worker sent `idle` while idle"),
        ("call-while-idle", "worker sent `call` while idle"),
        ("done-while-idle", "worker sent `done` while idle"),
    ] {
        hostile.is_killed(program, message).await;
    }
    assert!(hostile.server.calls().is_empty());
    hostile.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_follows_an_end_is_not_read() {
    let hostile = FakeWorkerGateway::new().await;
    assert_eq!(hostile.value("done-twice").await, json!(1));
    hostile.runs_honest_program().await;
    hostile.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_comes_once_and_first_and_is_waited_for() {
    let hostile = FakeWorkerGateway::new().await;
    for (program, says) in [
        ("check-twice", "worker sent `check` while checking"),
        ("call-while-checking", "worker sent `call` while checking"),
        (
            "check-after-call",
            "worker sent a second check, or a check after the program or a call",
        ),
    ] {
        hostile.is_killed(program, says).await;
    }
    hostile.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn call_ids_are_the_next_one_or_the_end() {
    let hostile = FakeWorkerGateway::new().await;
    for (program, message) in [
        ("call-zero", "worker sent call #0, the next one is #1"),
        ("call-skips", "worker sent call #2, the next one is #1"),
        (
            "call-last",
            "worker sent call #4294967295, the next one is #1",
        ),
        ("call-again", "worker sent call #1, the next one is #2"),
        ("calls-over", "worker made calls over its bound of 10000"),
    ] {
        hostile.is_killed(program, message).await;
    }
    hostile.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_text_has_a_bound() {
    let hostile = FakeWorkerGateway::new().await;
    for (program, message) in [
        ("head-over", "worker sent names of a call of 4097 bytes"),
        ("value-over", "worker sent a value of 16777217 bytes"),
        (
            "message-over",
            "worker sent an error message of 61440 bytes",
        ),
        ("warnings-over", "malformed frame body"),
        ("warning-over", "worker sent a warning of 2048 bytes"),
    ] {
        hostile.is_killed(program, message).await;
    }
    hostile.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_printing_ends_at_its_bound_and_leaves_no_more_than_that() {
    let hostile = FakeWorkerGateway::new().await;
    // Loads the vocabulary of the token counter, which a process does once, before memory is measured.
    assert_eq!(limbeck_gateway::tokens::count("a"), 1);
    for program in ["log-flood", "line-flood"] {
        let message = "worker printed over its bound of 65536 bytes";
        let took = memory_for(hostile.is_killed(program, message)).await;
        assert!(took < 2 * FEW_BYTES, "{program}: {took} bytes");
        let printed = hostile.execute(program, LONG_MS).await;
        assert!(printed.stdout.len() + printed.stderr.len() <= 64 << 10);
    }
    hostile.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_is_not_json_or_nested_too_deep_is_rejected() {
    let hostile = FakeWorkerGateway::new().await;
    // A Python program can replace the encoder of its guest, so such a value is the program's fault.
    hostile
        .fails("value-not-json", LONG_MS, ErrorKind::Exception, "not JSON")
        .await;
    hostile
        .fails(
            "value-deep",
            LONG_MS,
            ErrorKind::OutputLimit,
            "deeper than 128",
        )
        .await;
    hostile.gateway.shutdown().await;
}
