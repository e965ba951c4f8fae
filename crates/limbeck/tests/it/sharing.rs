//! One gateway for the clients of several `serve` processes.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::serve::Client;
use crate::world::{LIMBECK, World};

/// Time after which a condition counts as one that does not come true.
const HANG: Duration = Duration::from_secs(60);
/// A program that calls the server.
const CALL: &str = "return (await tools.shop.get_customer({id: 'cus_0003'})).id";

/// A world whose own configuration has the server `shop`, with these lines.
fn world_with(lines: &str) -> World {
    let world = World::empty();
    let directory = world.home().join(".config/limbeck");
    std::fs::create_dir_all(&directory).unwrap();
    let entry =
        format!("[servers.shop]\ncommand = '{LIMBECK}'\nargs = ['demo-upstream']\n{lines}\n");
    std::fs::write(directory.join("config.toml"), entry).unwrap();
    world
}

fn serving(world: &World, arguments: &[&str]) -> Command {
    let mut command = world.command([&["serve"], arguments].concat());
    // Repositories add nothing here, and the clients do not differ by this.
    command.env_remove("LIMBECK_TRUST_PROJECT");
    command
}

/// Processes of the server `shop`, which start in the home directory.
fn servers(world: &World) -> Vec<u32> {
    let home = world.home().canonicalize().unwrap();
    let is_server = |pid: &u32| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains("demo-upstream")
    };
    let mut found = crate::world::processes_in(&home);
    found.retain(is_server);
    found
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < HANG, "not within {HANG:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether `pid` is a gateway: it has processes of workers or servers below it.
fn is_gateway(client: &Client) -> bool {
    let pid = client.child.id();
    let children = format!("/proc/{pid}/task");
    let threads = std::fs::read_dir(children).unwrap();
    let mut children = threads.flatten().map(|thread| {
        let path = thread.path().join("children");
        std::fs::read_to_string(path).unwrap_or_default()
    });
    children.any(|children| !children.trim().is_empty())
}

fn calls(client: &mut Client, id: u32) {
    let envelope = client.execute(id, CALL);
    assert_eq!(envelope["value"], "cus_0003", "{envelope}");
}

#[test]
fn five_clients_have_one_set_of_servers_and_the_next_call_works_after_a_kill() {
    let world = world_with("");
    let mut clients: Vec<Client> = (0..5)
        .map(|_| Client::start(serving(&world, &[])))
        .collect();
    for client in &mut clients {
        calls(client, 2);
    }
    assert_eq!(servers(&world).len(), 1, "one set of servers");
    let gateways: Vec<usize> = (0..5).filter(|at| is_gateway(&clients[*at])).collect();
    assert_eq!(gateways, [0], "the first is the gateway");

    let mut killed = clients.remove(0);
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    for client in &mut clients {
        calls(client, 3);
        // The session is the one that it was: the client made no other handshake.
        let listed = client.ask(4, "tools/list", &json!({}));
        assert_eq!(listed["result"]["tools"][0]["name"], "search");
    }
    until("one set of servers again", || servers(&world).len() == 1);
    assert_eq!(
        clients.iter().filter(|client| is_gateway(client)).count(),
        1
    );

    // It ends with its last client, however the gateway's own client has left before.
    let gateway = clients.iter().position(is_gateway).unwrap();
    let gateway = clients.remove(gateway);
    let pid = gateway.child.id();
    let mut gateway = gateway.left();
    calls(&mut clients[0], 5);
    assert!(gateway.try_wait().unwrap().is_none(), "{pid} serves others");
    for client in clients {
        assert_eq!(client.left().wait().unwrap().code(), Some(0));
    }
    assert_eq!(gateway.wait().unwrap().code(), Some(0));
    assert_eq!(servers(&world), [] as [u32; 0]);
}

#[test]
fn without_sharing_each_client_has_its_own_servers() {
    let world = world_with("");
    let mut clients: Vec<Client> = (0..2)
        .map(|_| Client::start(serving(&world, &["--no-share"])))
        .collect();
    clients.iter_mut().for_each(|client| calls(client, 2));
    assert_eq!(servers(&world).len(), 2);
    drop(clients);

    // The same by the user's file.
    let world = world_with("[serve]\nshare = false");
    let mut clients: Vec<Client> = (0..2)
        .map(|_| Client::start(serving(&world, &[])))
        .collect();
    clients.iter_mut().for_each(|client| calls(client, 2));
    assert_eq!(servers(&world).len(), 2);
}

#[test]
fn a_client_whose_configuration_differs_is_served_by_its_own_gateway() {
    let world = world_with("env = { REGION = '${REGION:-none}' }");
    let elsewhere = world.path().join("elsewhere");
    let repository = world.path().join("repository");
    for directory in [&elsewhere, &repository] {
        std::fs::create_dir(directory).unwrap();
    }
    std::fs::write(
        repository.join("limbeck.toml"),
        "[servers.other]\ncommand = 'nothing'\n",
    )
    .unwrap();
    let start = |directory: &Path, variables: &[(&str, &str)]| {
        let mut command = serving(&world, &[]);
        command
            .current_dir(directory)
            .envs(variables.iter().copied());
        let mut client = Client::start(command);
        calls(&mut client, 2);
        client
    };
    let first = start(&world.work(), &[]);
    assert!(is_gateway(&first));
    // The control: another directory and a variable that decide nothing.
    let same = start(&elsewhere, &[("UNRELATED", "1"), ("TERM", "dumb")]);
    assert!(!is_gateway(&same));
    assert_eq!(servers(&world).len(), 1);
    let other_variable = start(&elsewhere, &[("REGION", "eu")]);
    assert!(is_gateway(&other_variable));
    let other_directory = start(&repository, &[]);
    assert!(is_gateway(&other_directory));
    assert_eq!(servers(&world).len(), 3);

    // What the pipe's directory adds later counts as well.
    let mut same = same;
    std::fs::copy(
        repository.join("limbeck.toml"),
        elsewhere.join("limbeck.toml"),
    )
    .unwrap();
    until("the pipe has left the gateway", || is_gateway(&same));
    calls(&mut same, 3);
}

#[test]
fn a_pipe_answers_all_that_is_piped_in_and_then_ends() {
    let world = world_with("");
    let mut first = Client::start(serving(&world, &[]));
    calls(&mut first, 2);
    let requests = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "execute", "arguments": {"code": CALL}}}),
    ];
    let mut text = requests.map(|request| request.to_string()).join("\n");
    text.insert_str(0, "not json\n");
    let path = world.path().join("requests");
    std::fs::write(&path, text).unwrap();
    let piped = serving(&world, &[])
        .stdin(std::fs::File::open(path).unwrap())
        .stderr(Stdio::null())
        .output()
        .unwrap();
    assert!(piped.status.success());
    let lines = String::from_utf8(piped.stdout).unwrap();
    let ids: Vec<serde_json::Value> = lines
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter(|message| message.get("method").is_none())
        .map(|message| message["id"].clone())
        .collect();
    assert_eq!(ids, [json!(null), json!(1), json!(2)], "{lines}");
    assert!(lines.contains("cus_0003"));
    assert_eq!(servers(&world).len(), 1);
}
