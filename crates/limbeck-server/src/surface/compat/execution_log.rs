//! The log of executions that users of S0 turn on by `ENABLE_AUDIT_LOG`: a JSON line for each call of its tools that run
//! programs, also for one that was refused, with the fields that its readers know.
//!
//! It has for users of S0 what it had before. What can be verified is the audit trail of the store.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use limbeck_domain::Language;
use limbeck_domain::text::cut;
use limbeck_gateway::artifacts::when;
use limbeck_gateway::clock::now_us;
use limbeck_upstream::{Direction, Redaction};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::finished_run::FinishedRun;
use super::s0_results::full_name;

/// Bytes of an error in a line.
const ERROR_BYTES_MAX: usize = 4_096;
/// Patterns of `allowedTools` in a line.
const PATTERNS_MAX: usize = 500;
/// Bytes of one of them.
const PATTERN_BYTES_MAX: usize = 512;

/// Where lines are appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutionLog {
    path: Arc<Path>,
}

/// What a line says about the call; the rest is how it ended.
#[derive(Clone, Debug)]
pub(super) struct LoggedCall {
    code_hash: String,
    code_bytes: usize,
    executor: &'static str,
    allowed_tools: Vec<String>,
}

impl ExecutionLog {
    /// A log in a file, which is made with the first line, with its directory, for its owner alone.
    pub fn new(path: PathBuf) -> Self {
        Self { path: path.into() }
    }

    /// Appends the line of a call. A line that cannot be written is a line of the gateway's log: the program's result
    /// counts, as it did.
    pub(super) async fn append(&self, call: &LoggedCall, end: Value, redaction: &Redaction) {
        let mut line = json!({
            "timestamp": when(now_us()),
            "codeHash": call.code_hash,
            "codeLength": call.code_bytes,
            "executor": call.executor,
            "allowedTools": call.allowed_tools,
            "clientId": "default",
            // It was the memory of the process that served, which ran the programs too.
            "memoryUsage": null,
        });
        if let (Value::Object(line), Value::Object(end)) = (&mut line, end) {
            line.extend(end);
        }
        let line = line.to_string();
        let line = redaction.json(Direction::Logs, &line);
        let (path, line) = (Arc::clone(&self.path), format!("{line}\n"));
        let written = tokio::task::spawn_blocking(move || write(&path, line.as_bytes())).await;
        let error = match written {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        tracing::warn!(path = %self.path.display(), error, "the execution log could not be written");
    }
}

impl LoggedCall {
    /// Reads the arguments of a call, which may be wrong.
    pub(super) fn of(arguments: &serde_json::Map<String, Value>, language: Language) -> Self {
        let code = arguments.get("code").and_then(Value::as_str);
        let code = code.unwrap_or_default();
        let allowed = arguments.get("allowedTools").and_then(Value::as_array);
        let allowed = allowed.into_iter().flatten().filter_map(Value::as_str);
        let allowed = allowed.map(|pattern| cut(pattern, PATTERN_BYTES_MAX).to_owned());
        Self {
            code_hash: hex(&Sha256::digest(code)),
            code_bytes: code.len(),
            executor: match language {
                Language::Typescript => "typescript",
                Language::Python => "python",
            },
            allowed_tools: allowed.take(PATTERNS_MAX).collect(),
        }
    }
}

/// How a program ended.
pub(super) fn ended(run: &FinishedRun) -> Value {
    let made = run.calls.made.iter().map(full_name);
    let mut end = json!({
        "toolsCalled": made.collect::<Vec<_>>(),
        "executionTimeMs": run.took_ms,
        "success": run.succeeded(),
    });
    if !run.succeeded() {
        end["error"] = cut(&run.message(), ERROR_BYTES_MAX).into();
    }
    end
}

/// A call that was refused before its program ran.
pub(super) fn refused(error: &str) -> Value {
    json!({
        "toolsCalled": [],
        "executionTimeMs": 0,
        "success": false,
        "error": cut(error, ERROR_BYTES_MAX),
    })
}

/// Appends a whole line at once, so that the lines of two gateways do not mix.
fn write(path: &Path, line: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    let mut directory = std::fs::DirBuilder::new();
    directory.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
        options.mode(0o600);
        directory.mode(0o700);
    }
    if let Some(parent) = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    {
        directory.create(parent)?;
    }
    options.open(path)?.write_all(line)
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
