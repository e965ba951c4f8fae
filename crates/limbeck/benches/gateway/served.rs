//! Benchmarks of `limbeck serve` over standard input and output.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::LIMBECK;
use crate::report::{Report, percentile_90, sampled, shown};

/// A `limbeck serve` process and its MCP client, one request at a time.
pub(crate) struct Served {
    pub(crate) child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: u64,
}

impl Served {
    pub(crate) fn start(dir: &std::path::Path) -> Self {
        let mut child = Command::new(LIMBECK)
            .args(["serve", "--no-discover", "--state-dir"])
            .arg(dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the gateway starts");
        let input = child.stdin.take().expect("its input is a pipe");
        let output = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        Self {
            child,
            input,
            output,
            id: 0,
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.id += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params});
        writeln!(self.input, "{request}").expect("the gateway reads");
        let mut line = String::new();
        self.output
            .read_line(&mut line)
            .expect("the gateway answers");
        serde_json::from_str(&line).expect("an answer is JSON")
    }

    pub(crate) fn initialize(&mut self) -> Value {
        let answer = self.ask(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}),
        );
        let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        writeln!(self.input, "{note}").expect("the gateway reads");
        answer
    }

    pub(crate) fn execute(&mut self, code: &str) -> Value {
        self.ask(
            "tools/call",
            &json!({"name": "execute", "arguments": {"code": code}}),
        )
    }

    pub(crate) fn stop(mut self) {
        drop(self.input);
        self.child.wait().expect("the gateway ends with its input");
    }
}

pub(crate) fn stdio(report: &mut Report) {
    let dir = tempfile::tempdir().expect("a state directory");
    let mut served = Served::start(dir.path());
    served.initialize();
    let samples = sampled(200, || {
        // As in `execution`: a model does not send programs back to back.
        std::thread::sleep(Duration::from_millis(15));
        let started = Instant::now();
        let answer = served.execute("return 1 + 1");
        let took = started.elapsed();
        assert!(answer.to_string().contains("completed"), "{answer}");
        took
    });
    served.stop();
    report.time(
        "stdio: return 1 + 1, pooled, journal on disk",
        &samples,
        Some(Duration::from_micros(1_500)),
        format!("p90 {}", shown(percentile_90(&samples))),
    );
}

pub(crate) fn start(report: &mut Report) {
    let dir = tempfile::tempdir().expect("a state directory");
    let samples = sampled(30, || {
        let started = Instant::now();
        let mut served = Served::start(dir.path());
        let answer = served.initialize();
        let took = started.elapsed();
        assert!(answer.get("result").is_some(), "{answer}");
        served.stop();
        took
    });
    report.time(
        "start: spawn to first answer",
        &samples,
        Some(Duration::from_millis(30)),
        format!("no servers; p90 {}", shown(percentile_90(&samples))),
    );
}
