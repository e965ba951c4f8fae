//! Calls that a person has to approve: over the command line, MCP and HTTP, with a server that records what arrives.

mod budgets;
mod channels;
mod decisions;
mod direct;
mod groups;
mod headless;
mod plan_mutations;
mod plans;
mod reconcile;
mod remembered;
pub(crate) mod terminal;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::world::World;

/// Server of the tools `send`, `list` and `hang`. It appends the line of each call to the file that it is started with before
/// it answers; `hang` answers only when a file with the ending `.answer` is beside that one.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"mail","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"send","inputSchema":{"type":"object"}},{"name":"list","inputSchema":{"type":"object"}},{"name":"hang","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*)
      printf '%s\n' "$line" >> "$1"
      case "$line" in *'"hang"'*) [ -e "$1.answer" ] || continue ;; esac
      result='{"content":[],"structuredContent":{"sent":true}}' ;;
    *'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"; continue ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// The rule of most tests.
const ASK: &str = r#"
[policy]
preset = "observe"

[[policy.rule]]
id = "mail-outside"
effect = "ask"
tools = ["mail.send"]
reason = "mail leaves the company"
"#;

/// A program of one call that is asked about.
const PROGRAM: &str = "return (await tools.mail.send({ to: 'anna@example.org', n: 1 })).sent";

/// A program that returns what it learns about a denial.
const CATCHING: &str = "try { return (await tools.mail.send({ to: 'anna@example.org' })).sent }
catch (error: any) { return [error.code, error.message] }";

/// A world with the server `mail` and rules.
pub(crate) struct Mail {
    pub(crate) world: World,
}

impl Mail {
    pub(crate) fn with(rules: &str) -> Self {
        let world = World::empty();
        let script = world.file("mail.sh", SERVER);
        let calls = world.path().join("calls");
        let directory = world.home().join(".config/limbeck");
        std::fs::create_dir_all(&directory).unwrap();
        let server = format!(
            "[servers.mail]\ncommand = \"sh\"\nargs = [{}, {}]\n",
            json!(script),
            json!(calls)
        );
        std::fs::write(directory.join("config.toml"), server + rules).unwrap();
        Self { world }
    }

    fn calls_file(&self) -> PathBuf {
        self.world.path().join("calls")
    }

    /// Arguments of the calls that reached the server, in order.
    fn calls(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.calls_file()).unwrap_or_default();
        let arguments = |line: &str| {
            let message: Value = serde_json::from_str(line).unwrap();
            message["params"]["arguments"].clone()
        };
        text.lines().map(arguments).collect()
    }

    /// Runs a program that pauses, and returns its envelope.
    pub(crate) fn paused(&self, program: &str) -> Value {
        let run = self.world.limbeck_reading(["run", "-", "--json"], program);
        let envelope = run.ends_with(3).json();
        assert_eq!(envelope["status"], "paused", "{envelope}");
        envelope
    }

    /// `resume --json` of an execution with more arguments.
    pub(crate) fn resume<const N: usize>(
        &self,
        execution: &str,
        more: [&str; N],
    ) -> crate::world::CommandOutcome {
        let arguments = ["resume", execution].into_iter().chain(more);
        let output = self.world.command(arguments.chain(["--json"])).output();
        crate::world::CommandOutcome::of(output.unwrap())
    }

    /// The questions, decided ones too, oldest first.
    fn approvals(&self) -> Vec<Value> {
        let listed = self.world.limbeck(["approvals", "--all", "--json"]);
        let listed = listed.ends_with(0).json();
        listed["approvals"].as_array().unwrap().clone()
    }
}

fn id_of(envelope: &Value) -> String {
    envelope["execution_id"].as_str().unwrap().to_owned()
}

/// Ids of the questions of a paused answer.
fn questions_of(envelope: &Value) -> Vec<String> {
    let pending = envelope["pending"].as_array().unwrap();
    let ids = pending
        .iter()
        .map(|one| one["approval_id"].as_str().unwrap());
    ids.map(str::to_owned).collect()
}
