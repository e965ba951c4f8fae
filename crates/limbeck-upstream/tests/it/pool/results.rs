//! Arguments and results, compared to the byte.

use limbeck_domain::{CallCode, ToolId, limits};
use limbeck_upstream::{UpstreamError, UpstreamPool};

use crate::pool::support::*;

#[tokio::test]
async fn results_and_arguments_pass_in_the_bytes_they_were_written_in() {
    let log = ServerLog::new();
    let pool = UpstreamPool::new(vec![healthy(&["--log", &log.path()])]);
    let result = r#"{"z":1,"content":[{"type":"hologram","x":null}],"messages":[],"isError":"no","n":12345678901234567890.10,"a":{"b":"\u00e9\/"}}"#;
    let arguments = format!(
        r#"{{"result":{},"n":12345678901234567890.10}}"#,
        serde_json::to_string(result).unwrap()
    );
    let got = call(&pool, "healthy", "raw", &arguments).await.unwrap();
    assert_eq!(got.get(), result);
    assert!(log.text().contains(&format!(r#""arguments":{arguments}"#)));
    pool.shutdown().await;
}

#[tokio::test]
async fn a_result_of_ten_megabytes_arrives_whole() {
    let pool = UpstreamPool::new(vec![healthy(&[])]);
    let bytes = 10 << 20;
    let got = call(&pool, "healthy", "big", &format!(r#"{{"bytes":{bytes}}}"#))
        .await
        .unwrap();
    let expected = format!(
        r#"{{"content":[],"structuredContent":{{"s":"{}"}}}}"#,
        "x".repeat(bytes)
    );
    assert!(got.get() == expected);
    pool.shutdown().await;
}

#[tokio::test]
async fn a_result_above_the_limit_fails_its_call_alone() {
    let log = ServerLog::new();
    let pool = UpstreamPool::new(vec![healthy(&["--log", &log.path()])]);
    healthy_answers(&pool).await;
    let large = format!(r#"{{"bytes":{}}}"#, limits::UPSTREAM_LINE_BYTES_MAX);
    let (large, beside) = tokio::join!(
        call(&pool, "healthy", "big", &large),
        call(&pool, "healthy", "echo", r#"{"ms":200}"#)
    );
    let error = large.unwrap_err();
    assert!(matches!(error, UpstreamError::TooLarge { .. }), "{error}");
    let code = error.to_call_error(&ToolId::new("healthy", "big")).code;
    assert_eq!(code, CallCode::LimitExceeded);
    beside.unwrap();
    healthy_answers(&pool).await;
    assert_eq!(log.starts().len(), 1);
    pool.shutdown().await;
}

#[tokio::test]
async fn a_protocol_error_keeps_its_code_and_message() {
    let pool = UpstreamPool::new(vec![healthy(&[])]);
    let error = call(&pool, "healthy", "refuse", "{}").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server answered with error -32602: refused"
    );
    let error = call(&pool, "healthy", "raw", r#"{"result":"[1]"}"#)
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server sent an invalid response: its result is not an object"
    );
    pool.shutdown().await;
}

#[tokio::test]
async fn all_pages_are_listed_with_the_servers_own_description() {
    let pool = UpstreamPool::new(vec![healthy(&[])]);
    let list = list(&pool, "healthy").await.unwrap();
    assert_eq!(
        names(&list),
        ["echo", "peak", "crash", "refuse", "raw", "big"]
    );
    assert_eq!(list.instructions.as_deref(), Some("be kind"));
    assert_eq!(list.server_info.unwrap().name, "healthy");
    assert_eq!(list.tools[0].annotations.read_only, Some(true));
    assert!(list.dropped.is_empty() && list.notes.is_empty());
    pool.shutdown().await;
}
