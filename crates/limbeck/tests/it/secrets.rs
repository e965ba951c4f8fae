//! Secrets of the configuration are not in workers, command lines, state files, output or logs.
//!
//! One canary is in the settings of a server, another in the environment of the gateway. Each test also finds them where
//! they belong, which shows that the search works.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use limbeck_wire::WORKER_ARGV0;
use serde_json::json;

use crate::serve::{Client, busy_descendant, descendants};
use crate::world::{LIMBECK, World};

const OF_SERVER: &str = "canary-of-the-server-2f0c9d";
const OF_GATEWAY: &str = "canary-of-the-gateway-71be4a";
/// Bytes of memory that are read at once.
const CHUNK_BYTES: usize = 4 << 20;

fn world() -> World {
    let world = World::empty();
    let entry =
        json!({"command": LIMBECK, "args": ["demo-upstream"], "env": {"API_TOKEN": OF_SERVER}});
    world.file(
        ".mcp.json",
        &json!({"mcpServers": {"shop": entry}}).to_string(),
    );
    world
}

fn command(world: &World, arguments: &[&str]) -> Command {
    let mut command = world.command(arguments);
    command.env("GATEWAY_TOKEN", OF_GATEWAY);
    command
}

/// Whether `bytes` contain a canary.
fn holds_a_canary(bytes: &[u8]) -> bool {
    [OF_SERVER, OF_GATEWAY].iter().any(|canary| {
        let canary = canary.as_bytes();
        bytes.windows(canary.len()).any(|window| window == canary)
    })
}

/// Whether the readable memory of a process contains a canary; `None` when it cannot be read.
fn memory_holds_a_canary(pid: u32) -> Option<bool> {
    let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let regions = maps.lines().filter_map(region);
    let mut buffer = vec![0; CHUNK_BYTES + OF_GATEWAY.len()];
    let mut looked_at = 0;
    for (start, end) in regions {
        for at in (start..end).step_by(CHUNK_BYTES) {
            let bytes = buffer.len().min((end - at) as usize);
            // A region may have been unmapped, and some have no pages.
            if let Ok(read) = memory.read_at(&mut buffer[..bytes], at) {
                looked_at += read;
                if holds_a_canary(&buffer[..read]) {
                    return Some(true);
                }
            }
        }
    }
    assert!(looked_at > 0, "nothing of {pid} could be read");
    Some(false)
}

/// Start and end of a readable region of `/proc/PID/maps`.
fn region(line: &str) -> Option<(u64, u64)> {
    let mut words = line.split(' ');
    let (start, end) = words.next()?.split_once('-')?;
    let readable = words.next()?.starts_with('r');
    let number = |text| u64::from_str_radix(text, 16).ok();
    // These pages belong to the kernel and cannot be read.
    let own_pages = !line.contains("[vvar") && !line.contains("[vsyscall]");
    (readable && own_pages).then_some((number(start)?, number(end)?))
}

fn of_process(pid: u32, file: &str) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default()
}

fn is_worker(pid: &u32) -> bool {
    of_process(*pid, "cmdline").starts_with(WORKER_ARGV0.as_bytes())
}

/// A gateway whose program has called its server and now computes.
fn busy_gateway(world: &World) -> Client {
    let mut client = Client::start(command(world, &["serve"]));
    let code = "await tools.shop.get_customer({id: 'cus_0003'}); while (true) {}";
    let execute = json!({"name": "execute", "arguments": {"code": code}});
    client.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": execute}));
    let begun = Instant::now();
    while !busy_descendant(client.child.id()) {
        let most = Duration::from_secs(60);
        assert!(begun.elapsed() < most, "the program did not begin");
        std::thread::yield_now();
    }
    client
}

#[test]
fn no_worker_holds_a_secret_in_its_memory_or_environment() {
    let world = world();
    let mut client = busy_gateway(&world);
    let gateway = client.child.id();
    let of_gateway = descendants(gateway);
    let (workers, servers): (Vec<u32>, Vec<u32>) = of_gateway.into_iter().partition(is_worker);
    // The zygote, the busy worker and the idle ones.
    assert!(workers.len() >= 2, "{workers:?}");
    let looked: Vec<_> = workers
        .iter()
        .map(|pid| memory_holds_a_canary(*pid))
        .collect();
    let environments = workers.iter().map(|pid| of_process(*pid, "environ"));
    let environments: Vec<_> = environments.collect();
    let controls = [
        memory_holds_a_canary(gateway),
        servers.first().and_then(|pid| memory_holds_a_canary(*pid)),
    ];
    client.child.kill().unwrap();
    client.child.wait().unwrap();

    assert_eq!(controls, [Some(true), Some(true)], "gateway, server");
    let root = fs::metadata("/proc/self").unwrap().uid() == 0;
    for held in looked {
        assert_ne!(held, Some(true));
        // Only root can read the memory of a worker.
        assert!(held == Some(false) || !root);
    }
    for environment in environments {
        assert!(environment.iter().all(|byte| *byte == 0), "{environment:?}");
    }
}

#[test]
fn no_command_line_holds_a_secret() {
    let world = world();
    let mut client = busy_gateway(&world);
    let gateway = client.child.id();
    let mut pids = descendants(gateway);
    pids.push(gateway);
    let lines: Vec<_> = pids.iter().map(|pid| of_process(*pid, "cmdline")).collect();
    client.child.kill().unwrap();
    client.child.wait().unwrap();
    assert!(lines.iter().filter(|line| !line.is_empty()).count() >= 4);
    assert!(!lines.iter().any(|line| holds_a_canary(line)));
}

#[test]
fn no_secret_is_printed_logged_or_kept() {
    let world = world();
    let program = "const c = await tools.shop.get_customer({id: 'cus_0003'}); return c.id";
    let file = world.file("program.ts", program);
    let program = file.to_str().unwrap();
    let broken = "await tools.shop.get_customer({id: 3})";
    let broken = world.file("broken.ts", broken);
    let mut logged = 0;
    for (arguments, code) in [
        (&["run", program, "--json"][..], 0),
        (&["run", broken.to_str().unwrap()], 1),
        (&["tools", "--json"], 0),
        (&["doctor", "--json"], 0),
        (&["executions", "--json"], 0),
    ] {
        let mut command = command(&world, arguments);
        let output = command.args(["--log", "trace"]).output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {output:?}"
        );
        logged += output.stderr.len();
        for printed in [&output.stdout, &output.stderr] {
            assert!(!holds_a_canary(printed), "{arguments:?}");
        }
    }
    assert!(logged > 1_000, "the log is empty");
    let kept = world.home().join(".local/state/limbeck");
    assert!(files(&kept).len() >= 2);
    for file in files(&kept) {
        assert!(
            !holds_a_canary(&fs::read(&file).unwrap()),
            "{}",
            file.display()
        );
    }
    // The control: the same search finds the canary in the configuration.
    let configured = fs::read(world.work().join(".mcp.json")).unwrap();
    assert!(holds_a_canary(&configured));
}

/// Every file below a directory.
fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}
