//! Specs, permits and waiting.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use limbeck_domain::{CompactArguments, EffectClass, ServerName, ToolId};
use limbeck_policy::{Facts, Permit, Policy, Scope, ToolCall, decide};
use limbeck_upstream::{
    CallContext, RawToolResult, ServerSpec, StdioSpec, ToolList, TransportSpec, UpstreamError,
    UpstreamPool,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Where `python3` is looked for: fixed, so that a test does not depend on who runs it.
pub(crate) const PATH: &str = "/usr/bin:/usr/local/bin:/opt/homebrew/bin:/bin";

/// A server made of one of the scripts.
pub(crate) fn server(name: &str, script: &str, args: &[&str], env: &[(&str, &str)]) -> ServerSpec {
    let script: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests/servers", script]
        .iter()
        .collect();
    let mut words = vec!["-B".to_owned(), script.display().to_string()];
    words.extend(args.iter().map(|arg| (*arg).to_owned()));
    let mut variables = vec![("PATH".to_owned(), PATH.to_owned())];
    variables.extend(env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
    let stdio = StdioSpec {
        command: "python3".into(),
        args: words,
        env: variables,
        cwd: None,
    };
    ServerSpec::new(name, TransportSpec::Stdio(stdio))
}

/// The healthy server, named `healthy`.
pub(crate) fn healthy(args: &[&str]) -> ServerSpec {
    server("healthy", "healthy.py", args, &[])
}

pub(crate) fn with_call_timeout(mut spec: ServerSpec, ms: u64) -> ServerSpec {
    spec.call_timeout = Duration::from_millis(ms);
    spec
}

pub(crate) fn permit(server: &str, tool: &str, arguments: &str) -> Permit {
    let scope = Scope::everything();
    let facts = Facts {
        scope: &scope,
        policy: &Policy::default(),
        who: &[],
        now_us: 0,
    };
    let call = ToolCall {
        tool: ToolId::new(server, tool),
        arguments: CompactArguments::parse(arguments).unwrap().0,
        effect: EffectClass::Unknown,
    };
    decide(call, &facts).unwrap()
}

/// Calls and waits.
pub(crate) async fn call(
    pool: &UpstreamPool,
    server: &str,
    tool: &str,
    arguments: &str,
) -> Result<RawToolResult, UpstreamError> {
    pool.call(
        permit(server, tool, arguments),
        CallContext::new(CancellationToken::new()),
    )
    .await
}

/// Calls the healthy server of the pool and checks its answer: the control beside every denial.
pub(crate) async fn healthy_answers(pool: &UpstreamPool) {
    let result = call(pool, "healthy", "echo", r#"{"n":1}"#)
        .await
        .expect("healthy answers");
    let value: Value = serde_json::from_str(result.get()).unwrap();
    assert_eq!(value["structuredContent"]["n"], 1);
}

pub(crate) async fn list(pool: &UpstreamPool, server: &str) -> Result<ToolList, UpstreamError> {
    pool.list_tools(&ServerName::from(server)).await
}

pub(crate) fn names(list: &ToolList) -> Vec<&str> {
    list.tools.iter().map(|tool| &*tool.id.tool).collect()
}

/// The first text block of a result.
pub(crate) fn first_text(result: &RawToolResult) -> String {
    let value: Value = serde_json::from_str(result.get()).unwrap();
    value["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// Waits for a condition, at most ten seconds.
pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The log of a healthy server.
pub(crate) struct ServerLog {
    directory: tempfile::TempDir,
}

impl ServerLog {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self) -> String {
        self.directory.path().join("log").display().to_string()
    }

    pub(crate) fn text(&self) -> String {
        std::fs::read_to_string(self.path()).unwrap_or_default()
    }

    /// Pids of the processes that started, in order.
    pub(crate) fn starts(&self) -> Vec<u32> {
        self.text()
            .lines()
            .filter_map(|line| line.strip_prefix("start ")?.parse().ok())
            .collect()
    }
}

/// Whether a process is there and not a zombie.
pub(crate) fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(')')
        .next()
        .and_then(|rest| rest.split_whitespace().next());
    !matches!(state, None | Some("Z" | "X"))
}
