//! Property tests of replay, shared by both languages: random programs are run and replayed.

use std::sync::Arc;
use std::time::Duration;

use limbeck_gateway::{ExecuteRequest, Gateway};
use limbeck_testkit::{FakeServer, World};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::gateway::worker;

/// Number of random programs.
const CASES: u32 = 96;

/// Server whose tools return at once, late, or an error.
pub(crate) fn server() -> Arc<FakeServer> {
    FakeServer::new("t")
        .read("echo", |arguments| arguments)
        .tool("slow", Some(true), |arguments| {
            Box::pin(async move {
                let ms = arguments["ms"].as_u64().unwrap_or_default();
                tokio::time::sleep(Duration::from_millis(ms)).await;
                json!({"content": [], "structuredContent": arguments})
            })
        })
        .tool("fail", Some(true), |arguments| {
            Box::pin(async move {
                let text = format!("failed on {arguments}");
                json!({"content": [{"type": "text", "text": text}], "isError": true})
            })
        })
        .share()
}

/// Asserts that replays of [`CASES`] `programs` have the same value, output and calls.
pub(crate) fn replays_alike(
    programs: &impl Strategy<Value = String>,
    request: impl Fn(&str) -> ExecuteRequest,
) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let t = server();
    let gateway = runtime.block_on(World::new(worker()).server(&t).start());
    let mut runner = TestRunner::new(Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    });
    let result = runner.run(programs, |program| {
        runtime.block_on(live_and_replayed(&gateway, request(&program)))
    });
    runtime.block_on(gateway.shutdown());
    result.unwrap();
    assert!(!t.calls().is_empty(), "the programs called the server");
}

async fn live_and_replayed(
    gateway: &Gateway,
    request: ExecuteRequest,
) -> Result<(), TestCaseError> {
    let program = request.program.clone();
    let live = gateway.execute(request, CancellationToken::new()).await;
    prop_assert!(live.error.is_none(), "{program}\n{live:?}");
    let report = gateway
        .replay(live.execution_id.as_str())
        .await
        .map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert!(
        report.differences.is_empty(),
        "{program}\n{:?}\nlive {live:?}\nreplayed {:?}",
        report.differences,
        report.envelope
    );
    Ok(())
}
