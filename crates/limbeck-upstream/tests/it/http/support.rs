//! Specs, permits and waiting.

use std::time::{Duration, Instant};

use limbeck_domain::{CompactArguments, EffectClass, ServerName, ToolId};
use limbeck_policy::{Facts, Policy, Scope, ToolCall, decide};
use limbeck_upstream::http::{HttpSpec, NetworkRules};
use limbeck_upstream::{
    CallContext, RawToolResult, ServerSpec, ServerState, ToolList, TransportSpec, UpstreamError,
    UpstreamPool,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::http::fake_server::{FakeServer, modern};

/// Spec of a server at `url` named `web`.
pub(crate) fn spec(http: HttpSpec) -> ServerSpec {
    let mut spec = ServerSpec::new("web", TransportSpec::Http(Box::new(http)));
    spec.start_timeout = Duration::from_secs(20);
    spec.call_timeout = Duration::from_secs(10);
    spec
}

pub(crate) fn http(url: &str) -> HttpSpec {
    let mut http = HttpSpec::new(url).unwrap();
    http.network = NetworkRules::default();
    http
}

pub(crate) fn pool(url: &str) -> UpstreamPool {
    UpstreamPool::new(vec![spec(http(url))])
}

pub(crate) async fn call(
    pool: &UpstreamPool,
    arguments: &str,
) -> Result<RawToolResult, UpstreamError> {
    call_with(pool, "echo", arguments, CancellationToken::new()).await
}

pub(crate) async fn call_with(
    pool: &UpstreamPool,
    tool: &str,
    arguments: &str,
    cancel: CancellationToken,
) -> Result<RawToolResult, UpstreamError> {
    call_in(pool, tool, arguments, CallContext::new(cancel)).await
}

pub(crate) async fn call_in(
    pool: &UpstreamPool,
    tool: &str,
    arguments: &str,
    context: CallContext,
) -> Result<RawToolResult, UpstreamError> {
    let scope = Scope::everything();
    let facts = Facts {
        scope: &scope,
        policy: &Policy::default(),
        who: &[],
        now_us: 0,
    };
    let call = ToolCall {
        tool: ToolId::new("web", tool),
        arguments: CompactArguments::parse(arguments).unwrap().0,
        effect: EffectClass::Unknown,
    };
    let permit = decide(call, &facts).unwrap();
    pool.call(permit, context).await
}

/// Calls `echo` and checks that its own arguments came back.
pub(crate) async fn echoes(pool: &UpstreamPool, n: u64) {
    let result = call(pool, &format!("{{\"n\":{n}}}")).await.unwrap();
    let value: Value = serde_json::from_str(result.get()).unwrap();
    assert_eq!(value["structuredContent"]["n"], n);
}

/// A pool with a healthy server, called: the control beside every denial.
pub(crate) async fn healthy_answers() {
    let peer = FakeServer::start(modern).await;
    let pool = pool(&peer.url());
    echoes(&pool, 1).await;
    pool.shutdown().await;
}

pub(crate) async fn list(pool: &UpstreamPool) -> Result<ToolList, UpstreamError> {
    pool.list_tools(&ServerName::from("web")).await
}

pub(crate) fn state(pool: &UpstreamPool) -> ServerState {
    pool.state(&ServerName::from("web"))
}

/// Waits for a condition, at most ten seconds.
pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
