//! Hostile servers that attack through `tools/list`, each beside a healthy server.

use std::time::{Duration, Instant};

use limbeck_domain::limits;
use limbeck_upstream::{ToolList, UpstreamError, UpstreamPool};

use crate::pool::support::*;

async fn list_hostile(script: &str, args: &[&str], scale: &str) -> Result<ToolList, UpstreamError> {
    let hostile = server("hostile", script, args, &[("HOSTILE_SCALE", scale)]);
    let pool = UpstreamPool::new(vec![hostile, healthy(&[])]);
    let (listed, ()) = tokio::join!(list(&pool, "hostile"), healthy_answers(&pool));
    healthy_answers(&pool).await;
    pool.shutdown().await;
    listed
}

#[tokio::test]
async fn h01_a_giant_list_is_refused_while_it_is_read() {
    let error = list_hostile("h01_giant_tools_list.py", &[], "0.5")
        .await
        .unwrap_err();
    let UpstreamError::TooLarge { bytes, limit } = error else {
        panic!("{error}");
    };
    assert_eq!(limit, limits::UPSTREAM_LINE_BYTES_MAX as u64);
    assert!(bytes > limit);
    // The control: a quarter of it is listed, every part within its bound.
    let list = list_hostile("h01_giant_tools_list.py", &[], "0.1")
        .await
        .unwrap();
    assert_eq!(list.tools.len(), 4);
    let description = list.tools[0].description.as_ref().unwrap();
    assert_eq!(description.len(), limits::DESCRIPTION_BYTES_MAX);
}

#[tokio::test]
async fn h02_too_many_tools_are_cut_and_the_cut_is_reported() {
    let list = list_hostile("h02_many_tools.py", &[], "0.05")
        .await
        .unwrap();
    assert_eq!(list.tools.len(), limits::TOOLS_PER_SERVER_MAX);
    assert_eq!(
        list.dropped,
        ["the server offers more than 2000 tools: the rest was left out"]
    );
}

#[tokio::test]
async fn h03_pages_without_end_are_cut_and_the_cut_is_reported() {
    let cases = [
        (
            "same",
            2,
            "page 2 ends in a cursor that was used before: the rest was left out",
        ),
        (
            "grow",
            64,
            "the list has more than 64 pages: the rest was left out",
        ),
        (
            "empty",
            0,
            "the list has more than 64 pages: the rest was left out",
        ),
        (
            "huge",
            1,
            "page 1 ends in a cursor of 104859 bytes: the rest was left out",
        ),
    ];
    for (mode, tools, reason) in cases {
        let started = Instant::now();
        let list = list_hostile("h03_endless_cursor.py", &[mode], "0.1")
            .await
            .unwrap();
        assert_eq!(list.tools.len(), tools, "{mode}");
        assert_eq!(list.dropped, [reason]);
        assert!(started.elapsed() < Duration::from_secs(60));
    }
}

#[tokio::test]
async fn h04_names_are_verbatim_under_the_servers_own_key_and_doubles_are_dropped() {
    let list = list_hostile("h04_duplicate_and_shadow_names.py", &[], "1")
        .await
        .unwrap();
    assert_eq!(
        names(&list)
            .iter()
            .filter(|name| **name == "read_file")
            .count(),
        1
    );
    assert!(names(&list).contains(&"mcp__filesystem__read_file"));
    assert!(
        list.tools
            .iter()
            .all(|tool| tool.id.server.as_str() == "hostile")
    );
    assert_eq!(
        list.dropped,
        ["tool 2: `read_file` was listed before; only the first one is used"]
    );
}

#[tokio::test]
async fn h05_unusable_names_are_dropped_and_the_good_tool_stays() {
    let list = list_hostile("h05_bad_names.py", &[], "1").await.unwrap();
    let names = names(&list);
    assert!(names.contains(&"good_tool") && names.contains(&"no_schema"));
    for name in &names {
        assert!(name.chars().count() <= limits::TOOL_NAME_CHARS_MAX);
        assert!(
            !name
                .chars()
                .any(|c| c.is_control() || c == '\u{202e}' || c == '\u{feff}')
        );
    }
    let dropped = list.dropped.join("\n");
    assert!(dropped.contains("characters, more than 128"));
    assert!(dropped.contains("a\\u{1b}[31mb"), "{dropped}");
    assert!(!dropped.contains('\u{1b}'));
}

#[tokio::test]
async fn h17_a_list_that_never_comes_times_out() {
    let mut hostile = server("hostile", "h17_hang_and_slow.py", &["list"], &[]);
    hostile.list_timeout = Duration::from_millis(400);
    let pool = UpstreamPool::new(vec![hostile, healthy(&[])]);
    let (listed, ()) = tokio::join!(list(&pool, "hostile"), healthy_answers(&pool));
    let error = listed.unwrap_err().to_string();
    assert_eq!(error, "tools were not listed within 400 ms");
    pool.shutdown().await;
}
