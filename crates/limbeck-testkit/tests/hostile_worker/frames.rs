//! X01, X02, X03, X05 and X10: bytes that are no frame, frames out of turn, and more than is allowed.

use limbeck_gateway::domain::ErrorKind;
use serde_json::json;

use crate::{Arena, memory_for};

/// Memory the gateway may take for a few executions: buffers of a read, the records it writes.
const FEW_BYTES: usize = 8 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn lengths_that_lie_end_the_worker_and_cost_no_memory() {
    let arena = Arena::new().await;
    arena.is_well().await;
    let took = memory_for(async {
        arena.is_caught("length-zero", "frame of 0 bytes").await;
        arena
            .is_caught("length-sign", "frame of 2147483648 bytes")
            .await;
        arena
            .is_caught("length-all-ones", "frame of 4294967295 bytes")
            .await;
        arena
            .is_caught("length-over-kind", "frame of 8388608 bytes")
            .await;
        arena
            .is_caught("text-past-the-frame", "malformed frame body")
            .await;
        arena
            .is_caught("list-past-the-frame", "malformed frame body")
            .await;
        // Here the gateway waits for what was announced, as long as the program has time.
        arena
            .fails(
                "half-a-frame",
                300,
                ErrorKind::Timeout,
                "longer than 300 ms",
            )
            .await;
    })
    .await;
    assert!(took < FEW_BYTES, "{took} bytes for seven lies");
    arena.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_takes_no_more_memory_than_it_has_bytes() {
    let arena = Arena::new().await;
    arena.is_well().await;
    // Eight million empty texts in a frame of 8 MiB; as a list they would take 192 MiB.
    let took = memory_for(arena.is_caught("list-of-nothing", "malformed frame body")).await;
    assert!(took < 4 * FEW_BYTES, "{took} bytes for a frame of 8 MiB");
    arena.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_and_bodies_that_do_not_decode_end_the_worker() {
    let arena = Arena::new().await;
    arena
        .is_caught("kind-unknown", "unknown frame kind 99")
        .await;
    arena
        .is_caught("kind-of-the-gateway", "unknown frame kind 1")
        .await;
    for program in [
        "body-missing",
        "trailing-byte",
        "log-not-utf8",
        "head-not-utf8",
        "value-not-utf8",
    ] {
        arena.is_caught(program, "malformed frame body").await;
    }
    arena.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_out_of_turn_end_the_worker() {
    let arena = Arena::new().await;
    for (program, says) in [
        ("ready-again", "worker sent `ready` while running"),
        ("idle-twice", "worker sent `idle` while idle"),
        ("call-while-idle", "worker sent `call` while idle"),
        ("done-while-idle", "worker sent `done` while idle"),
    ] {
        arena.is_caught(program, says).await;
    }
    assert!(arena.server.calls().is_empty());
    arena.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_follows_an_end_is_not_read() {
    let arena = Arena::new().await;
    assert_eq!(arena.value("done-twice").await, json!(1));
    arena.is_well().await;
    arena.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn call_ids_are_the_next_one_or_the_end() {
    let arena = Arena::new().await;
    for (program, says) in [
        ("call-zero", "worker sent call #0, the next one is #1"),
        ("call-skips", "worker sent call #2, the next one is #1"),
        (
            "call-last",
            "worker sent call #4294967295, the next one is #1",
        ),
        ("call-again", "worker sent call #1, the next one is #2"),
        ("calls-over", "worker made calls over its bound of 10000"),
    ] {
        arena.is_caught(program, says).await;
    }
    arena.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_text_is_held_to_its_bound() {
    let arena = Arena::new().await;
    for (program, says) in [
        ("head-over", "worker sent names of a call of 4097 bytes"),
        ("value-over", "worker sent a value of 16777217 bytes"),
        (
            "message-over",
            "worker sent an error message of 61440 bytes",
        ),
        ("warnings-over", "malformed frame body"),
        ("warning-over", "worker sent a warning of 2048 bytes"),
    ] {
        arena.is_caught(program, says).await;
    }
    arena.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_printing_ends_at_its_bound_and_leaves_no_more_than_that() {
    let arena = Arena::new().await;
    // The vocabulary that counts tokens is loaded once in a process, and is no trace of a flood.
    assert_eq!(limbeck_gateway::tokens::count(""), 0);
    for program in ["log-flood", "line-flood"] {
        let says = "worker printed over its bound of 65536 bytes";
        let took = memory_for(arena.is_caught(program, says)).await;
        assert!(took < 2 * FEW_BYTES, "{program}: {took} bytes");
        let printed = arena.play(program, 60_000).await;
        assert!(printed.stdout.len() + printed.stderr.len() <= 64 << 10);
    }
    arena.gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_is_no_json_or_nests_too_deep_is_none() {
    let arena = Arena::new().await;
    arena
        .fails("value-not-json", 60_000, ErrorKind::WorkerLost, "no JSON")
        .await;
    arena
        .fails(
            "value-deep",
            60_000,
            ErrorKind::OutputLimit,
            "deeper than 128",
        )
        .await;
    arena.gateway.shutdown().await;
}
