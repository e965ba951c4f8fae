//! Pins of tools, with a server that changes: governance 27, 41, 49 (pins) and 74, security S65.

mod approvals;
mod decisions;
mod lock;
mod rows;
mod served;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::world::{CommandOutcome, World};

/// A server whose tools are those of a file at the time of each list. It appends each call to another file, and announces a
/// change before it answers a call of `announce`.
const SERVER: &str = r#"
import json, sys
tools, calls = sys.argv[1:3]
def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if number is None:
        continue
    if method == "initialize":
        revision = message["params"]["protocolVersion"]
        result = {"protocolVersion": revision, "capabilities": {"tools": {"listChanged": True}},
                  "serverInfo": {"name": "notes", "version": "1"}}
    elif method == "tools/list":
        with open(tools) as file:
            result = {"tools": json.load(file)}
    elif method == "tools/call":
        with open(calls, "a") as file:
            file.write(json.dumps(message["params"]) + "\n")
        if message["params"]["name"] == "announce":
            send({"method": "notifications/tools/list_changed"})
        result = {"content": [], "structuredContent": {"done": True}}
    else:
        send({"id": number, "error": {"code": -32601, "message": "no"}})
        continue
    send({"id": number, "result": result})
"#;

/// A world with servers that list what the test says.
pub(crate) struct Notes {
    pub(crate) world: World,
}

/// A tool with an open schema.
pub(crate) fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object"}})
}

impl Notes {
    /// The servers `names`, and `policy` after them in the user's file.
    pub(crate) fn with(names: &[&str], policy: &str) -> Self {
        let world = World::empty();
        let script = world.path().join("server.py");
        std::fs::write(&script, SERVER).unwrap();
        let notes = Self { world };
        let mut text = String::new();
        for name in names {
            let arguments = json!([script, notes.tools_file(name), notes.calls_file(name)]);
            text.push_str(&format!(
                "[servers.{name}]\ncommand = 'python3'\nargs = {arguments}\n"
            ));
            notes.lists(name, &[]);
        }
        let directory = notes.world.home().join(".config/limbeck");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("config.toml"), text + policy).unwrap();
        notes
    }

    /// The server `notes` under a preset.
    pub(crate) fn under(preset: &str) -> Self {
        Self::with(&["notes"], &format!("[policy]\npreset = '{preset}'\n"))
    }

    fn tools_file(&self, server: &str) -> PathBuf {
        self.world.path().join(format!("{server}.json"))
    }

    fn calls_file(&self, server: &str) -> PathBuf {
        self.world.path().join(format!("{server}.calls"))
    }

    /// What a server lists from now on.
    pub(crate) fn lists(&self, server: &str, tools: &[Value]) {
        // In one step: a gateway may ask at any time.
        let fresh = self.world.path().join("fresh");
        std::fs::write(&fresh, json!(tools).to_string()).unwrap();
        std::fs::rename(fresh, self.tools_file(server)).unwrap();
    }

    /// Names of the tools whose calls reached a server.
    pub(crate) fn calls(&self, server: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.calls_file(server)).unwrap_or_default();
        let name = |line: &str| {
            let call: Value = serde_json::from_str(line).unwrap();
            call["name"].as_str().unwrap().to_owned()
        };
        text.lines().map(name).collect()
    }

    /// Has the servers asked for their lists.
    pub(crate) fn listed(&self) {
        self.world.limbeck(["tools"]).ends_with(0);
    }

    /// `pins --json`.
    pub(crate) fn pins(&self) -> Vec<Value> {
        let pins = self.world.limbeck(["pins", "--json"]).ends_with(0).json();
        pins["pins"].as_array().unwrap().clone()
    }

    /// The pin of one tool.
    pub(crate) fn pin(&self, server: &str, tool: &str) -> Value {
        let pins = self.pins();
        let mut found = pins
            .iter()
            .filter(|pin| pin["server"] == server && pin["tool"] == tool);
        found
            .next()
            .unwrap_or_else(|| panic!("{tool}: {pins:?}"))
            .clone()
    }

    /// `pins` with arguments.
    pub(crate) fn pins_of<const N: usize>(&self, arguments: [&str; N]) -> CommandOutcome {
        let arguments = ["pins"].into_iter().chain(arguments);
        CommandOutcome::of(self.world.command(arguments).output().unwrap())
    }
}

/// Code, message and hint of what a call of each tool of `notes` threw, or `null`.
pub(crate) fn calling(tools: &[&str]) -> String {
    format!(
        "const seen = {{}}; for (const name of {}) {{
            try {{ await tools.notes[name]({{}}); seen[name] = null }}
            catch (error) {{ seen[name] = [error.code, error.message, error.hint] }}
        }} return seen",
        json!(tools)
    )
}
