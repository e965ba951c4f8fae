//! A client on standard input and output.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{World, processes_in};

/// A client that speaks the handshake of revision 2025-06-18.
struct Client {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Client {
    fn connect(world: &World, arguments: &[&str]) -> Self {
        let mut child = world
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let to = child.stdin.take();
        let from = BufReader::new(child.stdout.take().unwrap());
        let mut client = Self { child, to, from };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}});
        let answer = client.ask(1, "initialize", &hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], "limbeck");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.to.as_mut().unwrap(), "{message}").unwrap();
    }

    /// Sends a request and reads its answer, which is the next line: nothing else may be on the stream.
    fn ask(&mut self, id: u32, method: &str, params: &Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        let answer: Value =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    fn execute(&mut self, id: u32, code: &str) -> Value {
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

    /// Waits for the process to end; fails when it takes longer than `most`.
    fn ended_within(mut self, most: Duration) -> Option<i32> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            if started.elapsed() > most {
                self.child.kill().unwrap();
                panic!("still running after {most:?}");
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
    assert_eq!(client.ended_within(Duration::from_secs(5)), Some(0));
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
        assert_eq!(
            client.ended_within(Duration::from_secs(5)),
            Some(0),
            "{signal}"
        );
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
    // The call shows that the program has begun; from then on its worker computes for ever.
    let begun = Instant::now();
    while !busy_children(pid) {
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "the program did not begin"
        );
        std::thread::yield_now();
    }
    let workers = children(pid);
    let terminate = ["-s", "TERM", &pid.to_string()];
    Command::new("kill").args(terminate).status().unwrap();
    assert_eq!(client.ended_within(Duration::from_secs(5)), Some(0));
    // Killed is killed, but the kernel may still be cleaning up when its parent is gone.
    let ended = Instant::now();
    while workers.iter().any(|worker| is_running(*worker)) {
        assert!(ended.elapsed() < Duration::from_secs(5), "a worker is left");
        std::thread::yield_now();
    }
}

/// Children of a process, from the kernel's list.
fn children(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))
        .unwrap()
        .flatten()
    {
        let list = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(
            list.split_ascii_whitespace()
                .map(|pid| pid.parse::<u32>().unwrap()),
        );
    }
    found
}

/// Whether one of them has computed for a fifth of a second: 20 ticks of user time.
fn busy_children(pid: u32) -> bool {
    children(pid)
        .into_iter()
        .any(|child| stat(child, 13).is_some_and(|ticks| ticks.parse::<u64>().unwrap() >= 20))
}

fn is_running(pid: u32) -> bool {
    stat(pid, 2).is_some_and(|state| state != "Z")
}

/// One field of `/proc/PID/stat`, counted from 0. Our names have no spaces in them.
fn stat(pid: u32, field: usize) -> Option<String> {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    line.split(' ').nth(field).map(str::to_owned)
}

#[test]
fn two_gateways_share_one_state_directory() {
    let world = World::empty();
    let mut first = Client::connect(&world, &["serve"]);
    let mut second = Client::connect(&world, &["serve"]);
    first.execute(2, "await store.set('k', 7)");
    let read = second.execute(2, "return await store.get('k')");
    assert_eq!(read["value"], 7);
    let listed = world.limbeck(["executions", "--json"]).ends_with(0).json();
    assert_eq!(listed["executions"].as_array().unwrap().len(), 2);
    for client in [first, second] {
        let mut client = client;
        drop(client.to.take());
        assert_eq!(client.ended_within(Duration::from_secs(5)), Some(0));
    }
}
