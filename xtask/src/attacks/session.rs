//! A gateway under attack, and an MCP client of it.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::corpus::{Language, Step};
use super::world::World;

/// Time after a program's time limit after which the gateway counts as hanging.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest line and largest output of the gateway: a value of 256 KiB, escaped at worst six to one.
pub(super) const OUTPUT_BYTES_MAX: u64 = 4 << 20;

impl Language {
    /// Its name in the arguments of `execute`.
    fn name(self) -> &'static str {
        match self {
            Self::Typescript => "typescript",
            Self::Python => "python",
        }
    }

    /// An ordinary program and its value: it shows that pool, upstream and engine work, and that the program before
    /// left nothing behind.
    fn ordinary(self) -> (&'static str, Value) {
        match self {
            Self::Typescript => (
                "const page = await tools.shop.list_customers({ page: 1, page_size: 2 });\n\
                 return [page.items.length, {}.polluted, typeof store.get];",
                json!([2, null, "function"]),
            ),
            Self::Python => (
                "import builtins\n\
                 page = await tools.shop.list_customers(page=1, page_size=2)\n\
                 polluted = getattr(builtins, 'polluted', None)\n\
                 return [len(page['items']), polluted, callable(store.get)]",
                json!([2, null, true]),
            ),
        }
    }
}

/// How a program ended.
pub(super) struct Outcome {
    /// Every message that the client received about it.
    pub(super) output: String,
    /// The envelope in it; absent when the call itself was refused.
    pub(super) envelope: Option<Value>,
    pub(super) is_error: bool,
    pub(super) elapsed: Duration,
}

/// One `limbeck serve` and its end of a connection.
pub(super) struct Session {
    child: Child,
    /// Closing it ends the gateway.
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    log: Option<JoinHandle<String>>,
    last_id: u64,
}

impl Session {
    /// Starts `command` and initializes the session.
    pub(super) fn start(mut command: Command) -> anyhow::Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("start {command:?}"))?;
        let input = child.stdin.take();
        let output = child.stdout.take().expect("it is piped");
        let log = child.stderr.take().expect("it is piped");
        let (send, lines) = mpsc::sync_channel(1);
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(line) = read_line(&mut output) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let mut session = Self {
            child,
            input,
            lines,
            log: Some(thread::spawn(move || read_all(log))),
            last_id: 0,
        };
        session.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "attacks", "version": "1"},
            }),
        )?;
        session.wait(Instant::now() + PATIENCE)?;
        session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(session)
    }

    /// Runs one program to its end.
    pub(super) fn execute(&mut self, step: &Step) -> anyhow::Result<Outcome> {
        let started = Instant::now();
        self.call(step)?;
        let (_, line) = self.wait(started + Duration::from_millis(step.timeout_ms) + PATIENCE)?;
        outcome(line, started)
    }

    /// Runs programs at the same time; the outcomes are in their order.
    pub(super) fn execute_together(&mut self, steps: &[Step]) -> Vec<anyhow::Result<Outcome>> {
        let started = Instant::now();
        let mut ids = Vec::new();
        for step in steps {
            ids.push(self.call(step));
        }
        let longest = steps.iter().map(|step| step.timeout_ms).max().unwrap_or(0);
        let deadline = started + Duration::from_millis(longest) + PATIENCE;
        let mut answers = Vec::new();
        for _ in steps {
            match self.wait(deadline) {
                Ok((id, line)) => answers.push((id, outcome(line, started))),
                Err(error) => answers.push((u64::MAX, Err(error))),
            }
        }
        ids.into_iter()
            .map(|id| {
                let id = id?;
                let at = answers.iter().position(|(answered, _)| *answered == id);
                answers
                    .swap_remove(at.context("a call was not answered")?)
                    .1
            })
            .collect()
    }

    /// Checks that an ordinary program in `language` still returns its value.
    pub(super) fn works(&mut self, language: Language, world: &World) -> anyhow::Result<()> {
        let (program, value) = language.ordinary();
        let arguments = json!({
            "code": program,
            "language": language.name(),
            "timeout_ms": 5_000,
        });
        let started = Instant::now();
        self.request(
            "tools/call",
            &json!({"name": "execute", "arguments": arguments}),
        )?;
        let (_, line) = self.wait(started + PATIENCE)?;
        let leaks = world.facts.leaks(&line);
        ensure!(leaks.is_empty(), "an answer contains {}", leaks.join(", "));
        let envelope = outcome(line, started)?
            .envelope
            .context("an ordinary program was refused")?;
        ensure!(
            envelope["value"] == value,
            "an ordinary program returned {envelope}"
        );
        Ok(())
    }

    /// Ends the gateway and returns what its log contains and must not.
    pub(super) fn close(mut self, world: &World) -> anyhow::Result<Vec<&'static str>> {
        self.input = None;
        let deadline = Instant::now() + PATIENCE;
        while self.child.try_wait()?.is_none() {
            if Instant::now() > deadline {
                anyhow::bail!("the gateway did not end when its client left");
            }
            thread::sleep(Duration::from_millis(5));
        }
        let log = self.log.take().expect("it is taken here alone");
        let log = log.join().expect("reading a log does not panic");
        Ok(world.facts.leaks_of_log(&log))
    }

    fn call(&mut self, step: &Step) -> anyhow::Result<u64> {
        let mut arguments = json!({
            "code": step.program,
            "language": step.language.name(),
            "timeout_ms": step.timeout_ms,
        });
        if let Some(input) = &step.input {
            arguments["input"] = input.clone();
        }
        if let Some(tools) = &step.tools {
            arguments["tools"] = json!(tools);
        }
        self.request(
            "tools/call",
            &json!({"name": "execute", "arguments": arguments}),
        )
    }

    fn request(&mut self, method: &str, params: &Value) -> anyhow::Result<u64> {
        self.last_id += 1;
        let message =
            json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params});
        self.send(&message)?;
        Ok(self.last_id)
    }

    fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        let input = self.input.as_mut().context("the session is closed")?;
        writeln!(input, "{message}").context("the gateway has ended")
    }

    /// The next answer, with the id of what it answers. Notifications are skipped.
    fn wait(&mut self, deadline: Instant) -> anyhow::Result<(u64, String)> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).context("no answer in time")?;
            let message: Value =
                serde_json::from_str(&line).context("an answer that is not JSON")?;
            if let Some(id) = message["id"].as_u64() {
                return Ok((id, line));
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // After `close` the process has ended already, and there is no caller that a failure could be returned to.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn outcome(line: String, started: Instant) -> anyhow::Result<Outcome> {
    let elapsed = started.elapsed();
    let message: Value = serde_json::from_str(&line)?;
    let result = &message["result"];
    if let Some(result) = result.as_object() {
        let known = |name: &String| ["content", "isError", "_meta"].contains(&name.as_str());
        ensure!(
            result.keys().all(known) && result.get("_meta").is_none_or(is_genuine),
            "the result has unknown fields: {:?}",
            result.keys().collect::<Vec<_>>()
        );
    }
    let text = result["content"][0]["text"].as_str();
    let envelope = text.and_then(|text| serde_json::from_str(text).ok());
    let is_error = result["isError"].as_bool().unwrap_or(false);
    Ok(Outcome {
        output: line,
        envelope,
        is_error,
        elapsed,
    })
}

/// The gateway alone fills `_meta`; what a program may put there is recognized by its mark.
fn is_genuine(meta: &Value) -> bool {
    !meta.to_string().contains("forged")
}

fn read_line(output: &mut BufReader<impl Read>) -> Option<String> {
    let mut line = Vec::new();
    let read = output
        .by_ref()
        .take(OUTPUT_BYTES_MAX)
        .read_until(b'\n', &mut line)
        .ok()?;
    (read > 0).then(|| String::from_utf8_lossy(&line).into_owned())
}

/// The beginning of an output. The rest is read and dropped, so that the writer does not block.
pub(super) fn read_all(mut output: impl Read) -> String {
    let mut kept = Vec::new();
    let _ = output
        .by_ref()
        .take(OUTPUT_BYTES_MAX)
        .read_to_end(&mut kept);
    let _ = std::io::copy(&mut output, &mut std::io::sink());
    String::from_utf8_lossy(&kept).into_owned()
}
