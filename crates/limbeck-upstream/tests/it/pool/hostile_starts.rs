//! Hostile servers that attack through their start or handshake, each beside a healthy server.

use std::time::Duration;

use limbeck_upstream::{ProtocolGeneration, ServerState, UpstreamError, UpstreamPool};

use crate::pool::support::*;

const LEGACY: (&str, &str) = ("HOSTILE_ERA", "legacy");

fn hostile(script: &str, args: &[&str], env: &[(&str, &str)]) -> UpstreamPool {
    let env = [env, &[("HOSTILE_SCALE", "0.05")]].concat();
    let mut spec = with_call_timeout(server("hostile", script, args, &env), 2_000);
    spec.start_timeout = Duration::from_millis(1_500);
    UpstreamPool::new(vec![spec, healthy(&[])])
}

#[tokio::test]
async fn h14_a_server_that_dies_in_the_handshake_is_reported_with_its_status() {
    let pool = hostile("h14_crash_mid_call.py", &["before"], &[LEGACY]);
    let error = list(&pool, "hostile").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server ended while starting (exit status: 3)"
    );
    healthy_answers(&pool).await;
    pool.shutdown().await;
}

#[tokio::test]
async fn h17_a_handshake_that_is_never_answered_times_out() {
    let pool = hostile("h17_hang_and_slow.py", &["init"], &[LEGACY]);
    let (listed, ()) = tokio::join!(list(&pool, "hostile"), healthy_answers(&pool));
    assert_eq!(
        listed.unwrap_err().to_string(),
        "the server did not answer within 1500 ms of its start"
    );
    pool.shutdown().await;
}

#[tokio::test]
async fn h21_unsupported_versions_are_rejected_by_name() {
    let cases = [
        ("future", "`2999-01-01`"),
        ("past", "`2023-01-01`"),
        ("garbage", "`'; drop`"),
        ("number", "`5`"),
        ("huge", "`9999999999"),
    ];
    for (mode, version) in cases {
        let pool = hostile("h21_version_and_capability_games.py", &[mode], &[LEGACY]);
        let error = list(&pool, "hostile").await.unwrap_err();
        assert!(matches!(error, UpstreamError::Handshake { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(version) && text.len() < 300, "{text}");
        healthy_answers(&pool).await;
        pool.shutdown().await;
    }
}

#[tokio::test]
async fn h21_odd_handshakes_are_repaired_where_possible() {
    for (mode, env, era) in [
        ("nocaps", LEGACY, ProtocolGeneration::Legacy),
        ("twice", LEGACY, ProtocolGeneration::Legacy),
        ("lie", LEGACY, ProtocolGeneration::Legacy),
        ("notjson", LEGACY, ProtocolGeneration::Legacy),
        ("discoverlie", ("X", "x"), ProtocolGeneration::Modern),
    ] {
        let pool = hostile("h21_version_and_capability_games.py", &[mode], &[env]);
        assert_eq!(
            list(&pool, "hostile").await.unwrap().tools.len(),
            1,
            "{mode}"
        );
        let result = call(&pool, "hostile", "echo", r#"{"a":1}"#).await.unwrap();
        assert_eq!(first_text(&result), r#"{"a": 1}"#);
        let state = pool.state(&"hostile".into());
        assert!(
            matches!(state, ServerState::Ready { generation: e, .. } if e == era),
            "{mode} {state:?}"
        );
        let traffic = pool.report(&"hostile".into()).traffic;
        match mode {
            "twice" => assert_eq!(traffic.stray_answers, 1),
            "notjson" => assert_eq!(traffic.junk_lines, 400),
            _ => assert_eq!(
                (traffic.stray_answers, traffic.junk_lines),
                (0, 0),
                "{mode}"
            ),
        }
        pool.shutdown().await;
    }
}

#[tokio::test]
async fn h14_a_server_that_crashes_after_every_start_backs_off() {
    let pool = hostile("h14_crash_mid_call.py", &["afterlist"], &[]);
    // The first crash is free, the second is not.
    for _ in 0..2 {
        list(&pool, "hostile").await.unwrap();
        eventually("it crashes", || {
            !matches!(pool.state(&"hostile".into()), ServerState::Ready { .. })
        })
        .await;
    }
    let error = list(&pool, "hostile").await.unwrap_err();
    assert!(matches!(error, UpstreamError::BackingOff { .. }), "{error}");
    assert!(error.to_string().contains("exit status: 4"), "{error}");
    healthy_answers(&pool).await;
    pool.shutdown().await;
}

#[tokio::test]
async fn h15_a_flood_on_standard_error_neither_blocks_nor_leaks_control_characters() {
    let pool = hostile("h15_stderr_flood.py", &[], &[]);
    for _ in 0..20 {
        call(&pool, "hostile", "echo", r#"{"a":1}"#).await.unwrap();
        healthy_answers(&pool).await;
    }
    eventually("the flood is seen", || {
        !pool.report(&"hostile".into()).stderr_tail.is_empty()
    })
    .await;
    let tail = pool.report(&"hostile".into()).stderr_tail;
    assert!(tail.len() <= 8 << 10);
    assert!(!tail.contains(['\u{1b}', '\u{7}']));
    pool.shutdown().await;
}

#[tokio::test]
async fn h19_a_child_sees_only_its_own_environment() {
    let pool = hostile("h19_env_and_fd_snoop.py", &[], &[("MINE", "yes")]);
    let result = call(&pool, "hostile", "snoop", "{}").await.unwrap();
    let value: serde_json::Value = serde_json::from_str(result.get()).unwrap();
    let seen = &value["structuredContent"];
    let mut names: Vec<_> = seen["env"].as_object().unwrap().keys().collect();
    names.sort();
    // Python itself adds LC_CTYPE when it finds the C locale.
    names.retain(|name| *name != "LC_CTYPE");
    assert_eq!(names, ["HOSTILE_SCALE", "MINE", "PATH"]);
    assert_eq!(seen["env"]["MINE"], "yes");
    assert_eq!(seen["pgid"], seen["pid"], "it leads its own group");
    for fd in ["0", "1", "2"] {
        let target = seen["fds"][fd][1].as_str().unwrap();
        assert!(target.starts_with("pipe:"), "{fd} {target}");
    }
    healthy_answers(&pool).await;
    pool.shutdown().await;
}
