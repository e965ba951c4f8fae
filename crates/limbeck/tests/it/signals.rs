//! Signals end a command with their own exit code, and leave no server behind.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::world::{CommandOutcome, LIMBECK, World, processes_in};

/// Waits for a file that a server creates when it starts.
fn wait_for(file: &Path) {
    let begun = Instant::now();
    while !file.exists() {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{} is missing",
            file.display()
        );
        std::thread::yield_now();
    }
}

fn start(world: &World, arguments: &[&str]) -> Child {
    let mut command = world.command(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

#[test]
fn a_signal_during_a_listing_leaves_no_server_behind() {
    for (command, signal, code) in [
        ("tools", "-INT", 130),
        ("tools", "-TERM", 143),
        ("doctor", "-INT", 130),
    ] {
        let world = World::empty();
        // Ignores the end of its input and SIGTERM, and never answers.
        let script = "trap '' TERM; touch started; while :; do sleep 1; done";
        let stub = json!({"command": "sh", "args": ["-c", script]});
        world.file(
            ".mcp.json",
            &json!({"mcpServers": {"stub": stub}}).to_string(),
        );
        let child = start(&world, &[command]);
        wait_for(&world.work().join("started"));
        assert_ne!(processes_in(&world.work()), [child.id()]);
        send(signal, &child);
        let outcome = CommandOutcome::of(child.wait_with_output().unwrap()).ends_with(code);
        assert!(outcome.stderr.contains("error: interrupted"), "{outcome:?}");
        let awaited = "not answered yet: `stub`\n";
        assert!(outcome.stderr.contains(awaited), "{outcome:?}");
        // What is known by then.
        let has_report = outcome.stdout.contains("minimum tier   strict");
        assert_eq!(has_report, command == "doctor", "{outcome:?}");
        assert_eq!(processes_in(&world.work()), [] as [u32; 0], "{signal}");
    }
}

#[test]
fn ctrl_c_ends_a_program_with_130_and_records_it() {
    let world = World::empty();
    let script = "touch started; exec \"$0\" demo-upstream";
    let shop = json!({"command": "sh", "args": ["-c", script, LIMBECK]});
    world.file(
        ".mcp.json",
        &json!({"mcpServers": {"shop": shop}}).to_string(),
    );
    world.file(
        "slow.ts",
        "await tools.shop.list_customers({}); await new Promise(done => setTimeout(done, 50_000));",
    );
    let child = start(&world, &["run", "slow.ts"]);
    wait_for(&world.work().join("started"));
    send("-INT", &child);
    let outcome = CommandOutcome::of(child.wait_with_output().unwrap()).ends_with(130);
    assert!(outcome.stderr.contains("error: interrupted"), "{outcome:?}");
    assert_eq!(processes_in(&world.work()), [] as [u32; 0]);
    let listed = world.limbeck(["executions", "--json"]).ends_with(0).json();
    assert_eq!(listed["executions"][0]["status"], "cancelled", "{listed}");
    // The control: a program that ends by itself ends with its own code.
    world.file("quick.ts", "return 1");
    world.limbeck(["run", "quick.ts"]).ends_with(0);
}

#[test]
fn ctrl_c_ends_a_sign_in_with_130() {
    let world = World::empty();
    // Accepts connections and never answers.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let servers = json!({"mcpServers": {"docs": {"type": "http", "url": url}}});
    std::fs::write(world.home().join(".claude.json"), servers.to_string()).unwrap();
    let child = start(&world, &["auth", "login", "docs", "--no-browser"]);
    let connection = listener.accept().unwrap();
    send("-INT", &child);
    let outcome = CommandOutcome::of(child.wait_with_output().unwrap()).ends_with(130);
    assert!(outcome.stderr.contains("error: interrupted"), "{outcome:?}");
    drop(connection);
}
