//! `limbeck serve` with a client on standard input and output.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{LIMBECK, World, processes_in};

/// Time after which a process counts as one that does not end.
const HANG: Duration = Duration::from_secs(60);

/// MCP client of revision 2025-06-18.
pub(crate) struct Client {
    pub(crate) child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Client {
    pub(crate) fn connect(world: &World, arguments: &[&str]) -> Self {
        Self::start(world.command(arguments))
    }

    /// Starts a command that serves, and makes the handshake.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut client = Self::silent(command.stderr(Stdio::null()));
        client.shake_hands();
        client
    }

    /// Makes the handshake.
    pub(crate) fn shake_hands(&mut self) {
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}});
        let answer = self.ask(1, "initialize", &hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], "limbeck");
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    /// Starts a command that serves, without a handshake.
    pub(crate) fn silent(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = child.stdin.take();
        let from = BufReader::new(child.stdout.take().unwrap());
        Self { child, to, from }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        writeln!(self.to.as_mut().unwrap(), "{message}").unwrap();
    }

    /// Writes bytes as they are.
    pub(crate) fn write(&mut self, text: &str) {
        self.to
            .as_mut()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
    }

    /// Sends a request and reads its response, which must be the next line but for news of lists, which come at any time.
    pub(crate) fn ask(&mut self, id: u32, method: &str, params: &Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let is_news = |message: &Value| {
            let method = message["method"].as_str();
            method.is_some_and(|method| method.ends_with("/list_changed"))
        };
        let answer = loop {
            let message = self.next();
            if !is_news(&message) {
                break message;
            }
        };
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The next message of the server.
    pub(crate) fn next(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    pub(crate) fn execute(&mut self, id: u32, code: &str) -> Value {
        let answer = self.ask(
            id,
            "tools/call",
            &json!({"name": "execute", "arguments": {"code": code}}),
        );
        let text = answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"));
        serde_json::from_str(text).unwrap()
    }

    /// Closes the process's standard input, as a client that leaves, and returns it.
    pub(crate) fn left(mut self) -> Child {
        drop(self.to.take());
        self.child
    }

    /// Waits for the process to end and gives its exit code; fails when it takes longer than [`HANG`].
    fn exit_code(mut self) -> Option<i32> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            if started.elapsed() > HANG {
                self.child.kill().unwrap();
                panic!("still running after {HANG:?}");
            }
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_client_lists_and_executes_and_leaves_nothing_running() {
    let world = World::with_shop();
    let mut client = Client::connect(&world, &[]);
    let tools = client.ask(2, "tools/list", &json!({}));
    let names: Vec<_> = tools["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["name"])
        .collect();
    assert_eq!(names, ["search", "execute"]);
    let envelope = client.execute(
        3,
        "return (await tools.shop.get_customer({id: 'cus_0003'})).id",
    );
    assert_eq!(envelope["value"], "cus_0003");
    drop(client.to.take());
    assert_eq!(client.exit_code(), Some(0));
    assert_eq!(processes_in(&world.work()), [] as [u32; 0]);
}

#[test]
fn a_signal_ends_it_and_its_servers() {
    for signal in ["TERM", "INT"] {
        let world = World::with_shop();
        let mut client = Client::connect(&world, &["serve"]);
        client.execute(2, "return await tools.shop.get_customer({id: 'cus_0003'})");
        assert!(
            processes_in(&world.work()).len() > 1,
            "the server is running"
        );
        let pid = client.child.id().to_string();
        Command::new("kill")
            .args(["-s", signal, &pid])
            .status()
            .unwrap();
        assert_eq!(client.exit_code(), Some(0), "{signal}");
        assert_eq!(processes_in(&world.work()), [] as [u32; 0], "{signal}");
    }
}

#[test]
fn a_signal_ends_a_program_that_never_would_and_its_worker() {
    let world = World::empty();
    let mut client = Client::connect(&world, &["serve"]);
    let endless =
        json!({"name": "execute", "arguments": {"code": "store.set('k', 1); while (true) {}"}});
    client.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": endless}));
    let pid = client.child.id();
    // The call shows that the program has begun; then its worker computes forever.
    let begun = Instant::now();
    while !busy_descendant(pid) {
        assert!(begun.elapsed() < HANG, "the program did not begin");
        std::thread::yield_now();
    }
    let workers = descendants(pid);
    let terminate = ["-s", "TERM", &pid.to_string()];
    Command::new("kill").args(terminate).status().unwrap();
    assert_eq!(client.exit_code(), Some(0));
    // The kernel may still clean up a killed worker when its parent has ended.
    let ended = Instant::now();
    while workers.iter().any(|worker| is_running(*worker)) {
        assert!(ended.elapsed() < HANG, "a worker is left");
        std::thread::yield_now();
    }
}

/// All descendants of a process, from the lists in procfs.
pub(crate) fn descendants(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return found;
    };
    for task in tasks.flatten() {
        let list = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for child in list.split_ascii_whitespace() {
            let child = child.parse::<u32>().unwrap();
            found.push(child);
            found.extend(descendants(child));
        }
    }
    found
}

/// Whether a descendant has used 20 ticks of user time, a fifth of a second.
pub(crate) fn busy_descendant(pid: u32) -> bool {
    descendants(pid)
        .into_iter()
        .any(|child| stat(child, 13).is_some_and(|ticks| ticks.parse::<u64>().unwrap() >= 20))
}

fn is_running(pid: u32) -> bool {
    stat(pid, 2).is_some_and(|state| state != "Z")
}

/// Field of `/proc/PID/stat`, counted from 0. The names of our executables contain no spaces.
fn stat(pid: u32, field: usize) -> Option<String> {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    line.split(' ').nth(field).map(str::to_owned)
}

#[test]
fn two_gateways_share_one_state_directory() {
    let world = World::empty();
    let alone = ["serve", "--no-share"];
    let mut first = Client::connect(&world, &alone);
    let mut second = Client::connect(&world, &alone);
    first.execute(2, "await store.set('k', 7)");
    let read = second.execute(2, "return await store.get('k')");
    assert_eq!(read["value"], 7);
    let listed = world.limbeck(["executions", "--json"]).ends_with(0).json();
    assert_eq!(listed["executions"].as_array().unwrap().len(), 2);
    for client in [first, second] {
        let mut client = client;
        drop(client.to.take());
        assert_eq!(client.exit_code(), Some(0));
    }
}

/// Starts the command in a shell that leaves a descriptor open, as terminals and editors do.
#[test]
fn what_was_left_open_to_it_does_not_reach_its_servers() {
    let world = World::empty();
    let list = world.work().join("descriptors");
    // The server is a shell that lists its descriptors and ends.
    let script = format!("ls -l /proc/$$/fd > {}", list.display());
    let server = json!({"command": "sh", "args": ["-c", script]});
    let config = world.file(
        "servers.json",
        &json!({"mcpServers": {"lister": server}}).to_string(),
    );
    let open = "exec 9</dev/zero; exec \"$0\" \"$@\"";
    let status = std::process::Command::new("sh")
        .args(["-c", open, LIMBECK, "tools", "--no-discover", "--config"])
        .arg(config)
        .env("HOME", world.home())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.code().is_some());
    let listed = std::fs::read_to_string(list).unwrap();
    assert!(listed.contains("pipe:"), "{listed}");
    assert!(!listed.contains("/dev/zero"), "{listed}");
}

/// Standard error of a gateway with one server, that ends after `until` returned while a client searches.
fn stderr_of_an_ordinary_end(script: &str, until: impl FnOnce(&World, &mut Client)) -> String {
    let world = World::empty();
    let servers = json!({"mcpServers": {"s": {"command": "sh", "args": ["-c", script]}}});
    world.file(".mcp.json", &servers.to_string());
    let mut client = Client::silent(world.command(["serve"]).stderr(Stdio::piped()));
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}});
    client.ask(1, "initialize", &hello);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let search = json!({"name": "search", "arguments": {"queries": ["anything"]}});
    client.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": search}));
    until(&world, &mut client);
    let stderr = client.child.stderr.take().unwrap();
    let terminate = ["-s", "TERM", &client.child.id().to_string()];
    Command::new("kill").args(terminate).status().unwrap();
    assert_eq!(client.exit_code(), Some(0));
    std::io::read_to_string(stderr).unwrap()
}

#[test]
fn an_ordinary_end_is_no_failure_of_a_server() {
    let until_asked = |world: &World, _: &mut Client| {
        let begun = Instant::now();
        while !world.work().join("asked").exists() {
            assert!(begun.elapsed() < HANG, "the server is not asked");
            std::thread::yield_now();
        }
    };
    // One does not answer the handshake, the other not the request for its tools.
    let starting = "read -r line; touch asked; cat > /dev/null";
    let ordinary = stderr_of_an_ordinary_end(starting, until_asked);
    assert!(!ordinary.contains("listed"), "{ordinary}");
    let of_list = "*'\"tools/list\"'*)";
    let listing =
        crate::learn::SERVER.replace(of_list, &format!("{of_list} touch asked; continue;"));
    assert_ne!(listing, crate::learn::SERVER);
    let ordinary = stderr_of_an_ordinary_end(&listing, until_asked);
    assert!(!ordinary.contains("listed"), "{ordinary}");
    // The control: a server that ends by itself is logged.
    let logged = stderr_of_an_ordinary_end("exit 3", |_, client| {
        client.from.read_line(&mut String::new()).unwrap();
    });
    assert!(logged.contains("tools could not be listed"), "{logged}");
}

#[test]
fn a_store_that_fails_is_named_by_its_path_in_the_log_and_not_to_a_client() {
    let world = World::empty();
    let mut client = Client::silent(world.command(["serve"]).stderr(Stdio::piped()));
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}});
    client.ask(1, "initialize", &hello);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let program = "try { return [await store.get('k')] } catch (error: any) { return [error.code, error.message, error.hint] }";
    // The control: a store that works.
    let envelope = client.execute(2, program);
    assert_eq!(envelope["value"], json!([null]), "{envelope}");
    let failed = "the state file cannot be read or written";
    assert!(!envelope.to_string().contains(failed), "{envelope}");

    let file = world.home().join(".local/state/limbeck/state.db");
    let other = rusqlite::Connection::open(&file).unwrap();
    other
        .execute_batch("DROP TABLE kv; DROP TABLE journal;")
        .unwrap();
    let envelope = client.execute(3, program);
    assert_eq!(envelope["value"][0], "gateway_fault", "{envelope}");
    // The call failed, and the end of the execution could not be recorded.
    for part in ["value", "warnings"] {
        assert!(envelope[part].to_string().contains(failed), "{envelope}");
    }
    let answer = envelope.to_string();
    assert!(!answer.contains("state.db"), "{answer}");
    assert!(
        !answer.contains(&*world.path().to_string_lossy()),
        "{answer}"
    );

    let stderr = client.child.stderr.take().unwrap();
    let terminate = ["-s", "TERM", &client.child.id().to_string()];
    Command::new("kill").args(terminate).status().unwrap();
    client.exit_code();
    let log = std::io::read_to_string(stderr).unwrap();
    assert!(log.contains("state.db"), "{log}");
    assert!(log.contains("no such table: kv"), "{log}");
}

/// Server whose tool `ask` asks the user before it answers with what it received.
const ASKING: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"ask","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*)
      printf '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}}\n'
      read -r reply
      action=$(printf '%s' "$reply" | sed -n 's/.*"action":"\([a-z]*\)".*/\1/p')
      result='{"content":[{"type":"text","text":"user said '$action'"}]}' ;;
    *'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"; continue ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

#[test]
fn that_no_client_could_be_asked_is_a_warning() {
    let world = World::empty();
    let servers = json!({"mcpServers": {"s": {"command": "sh", "args": ["-c", ASKING]}}});
    world.file(".mcp.json", &servers.to_string());
    let program = "return await tools.s.ask({})";
    let envelope = world.envelope(program);
    assert_eq!(envelope["value"], "user said decline", "{envelope}");
    let warnings = envelope["warnings"].to_string();
    assert!(
        warnings.contains("server `s` asked a question (`elicitation/create`)"),
        "{envelope}"
    );
    assert!(warnings.contains("no client could be asked"), "{envelope}");

    // The control: a client that can be asked is asked, and nothing has to be said.
    let mut client = Client::silent(world.command(["serve"]).stderr(Stdio::null()));
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "test", "version": "0"}});
    client.ask(1, "initialize", &hello);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let execute = json!({"name": "execute", "arguments": {"code": program}});
    client.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": execute}));
    let envelope = loop {
        let mut line = String::new();
        client.from.read_line(&mut line).unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        if message["method"] == "elicitation/create" {
            let answer = json!({"action": "accept", "content": {}});
            client.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": answer}));
        } else if message["id"] == 2 {
            let text = message["result"]["content"][0]["text"].as_str().unwrap();
            break serde_json::from_str::<Value>(text).unwrap();
        }
    };
    assert_eq!(envelope["value"], "user said accept", "{envelope}");
    assert_eq!(envelope["warnings"], Value::Null, "{envelope}");
}
