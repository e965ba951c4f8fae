//! Secrets of the configuration are not in workers, command lines, state files, output or logs.
//!
//! One canary is in the settings of a server, another in the environment of the gateway. Each test also finds them where
//! they belong, which shows that the search works.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use limbeck_wire::WORKER_ARGV0;
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_res_gid, set_thread_res_uid};
use serde_json::json;

use crate::serve::{Client, busy_descendant, descendants};
use crate::world::{LIMBECK, World};

const OF_SERVER: &str = "canary-of-the-server-2f0c9d";
const OF_GATEWAY: &str = "canary-of-the-gateway-71be4a";
/// A user without privileges.
const USER: u32 = 65_534;
/// Bytes of memory that are read at once.
const CHUNK_BYTES: usize = 4 << 20;

fn world() -> World {
    let world = World::empty();
    configure(&world, Path::new(LIMBECK));
    world
}

/// Configures the sample server, with a canary.
fn configure(world: &World, executable: &Path) {
    let entry =
        json!({"command": executable, "args": ["demo-upstream"], "env": {"API_TOKEN": OF_SERVER}});
    world.file(
        ".mcp.json",
        &json!({"mcpServers": {"shop": entry}}).to_string(),
    );
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
fn busy_gateway(serve: Command) -> Client {
    let mut client = Client::start(serve);
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

/// What is found in the processes of a busy gateway: of memory, whether a canary is in it, if it can be read.
struct Found {
    gateway: Option<bool>,
    server: Option<bool>,
    /// The zygote, the busy worker and the idle ones.
    workers: Vec<Option<bool>>,
    environments: Vec<Vec<u8>>,
}

impl Found {
    /// Starts a gateway and looks, as `reader`; as the user of this process without one.
    fn in_processes_of(serve: Command, reader: Option<u32>) -> Self {
        let mut client = busy_gateway(serve);
        let gateway = client.child.id();
        let (workers, servers): (Vec<u32>, Vec<u32>) =
            descendants(gateway).into_iter().partition(is_worker);
        let look = || Self {
            gateway: memory_holds_a_canary(gateway),
            server: servers.first().and_then(|pid| memory_holds_a_canary(*pid)),
            workers: workers
                .iter()
                .map(|pid| memory_holds_a_canary(*pid))
                .collect(),
            environments: workers
                .iter()
                .map(|pid| of_process(*pid, "environ"))
                .collect(),
        };
        let found = match reader {
            Some(id) => as_user(id, look),
            None => look(),
        };
        client.child.kill().unwrap();
        client.child.wait().unwrap();
        assert!(found.workers.len() >= 2, "{workers:?}");
        found
    }

    fn assert_no_environment(&self) {
        for environment in &self.environments {
            assert!(environment.iter().all(|byte| *byte == 0), "{environment:?}");
        }
    }
}

/// Does `work` in a thread of another user, as which root reads and no capability helps.
fn as_user<T: Send>(id: u32, work: impl FnOnce() -> T + Send) -> T {
    let work = || {
        let (group, user) = (Gid::from_raw(id), Uid::from_raw(id));
        set_thread_res_gid(group, group, group).unwrap();
        set_thread_res_uid(user, user, user).unwrap();
        work()
    };
    std::thread::scope(|scope| scope.spawn(work).join().unwrap())
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Gives the world to a user without privileges, and returns the command of a gateway of that user in it. The executable is in the world too:
/// where the tests were built another user may not look.
fn serve_without_privileges(world: &World) -> Command {
    let executable = world.path().join("limbeck");
    if fs::hard_link(LIMBECK, &executable).is_err() {
        fs::copy(LIMBECK, &executable).unwrap();
    }
    configure(world, &executable);
    let inside = files(world.path())
        .into_iter()
        .filter(|file| *file != executable);
    for path in inside.chain([world.path().to_owned(), world.home(), world.work()]) {
        chown(path, Some(USER), Some(USER)).unwrap();
    }
    let mut serve = world.command_of(&executable, ["serve"]);
    serve.env("GATEWAY_TOKEN", OF_GATEWAY).gid(USER).uid(USER);
    serve
}

#[test]
fn no_worker_holds_a_secret_in_its_memory_or_environment() {
    if !is_root() {
        // Only root can read the memory of a worker; the next test is for every user.
        return;
    }
    let (of_root, of_user) = (world(), world());
    let gateways = [
        command(&of_root, &["serve"]),
        serve_without_privileges(&of_user),
    ];
    for serve in gateways {
        let found = Found::in_processes_of(serve, None);
        let controls = [found.gateway, found.server];
        assert_eq!(controls, [Some(true), Some(true)], "gateway, server");
        let clean = found.workers.iter().all(|held| *held == Some(false));
        assert!(clean, "{:?}", found.workers);
        found.assert_no_environment();
    }
}

#[test]
fn the_user_of_a_gateway_cannot_read_its_memory_nor_that_of_a_locked_worker() {
    let world = world();
    let found = if is_root() {
        Found::in_processes_of(serve_without_privileges(&world), Some(USER))
    } else {
        Found::in_processes_of(command(&world, &["serve"]), None)
    };
    // The control: this user can read the memory of its other processes.
    assert_eq!([found.gateway, found.server], [None, Some(true)]);
    // That of the zygote may be readable, and it has nothing.
    assert!(!found.workers.contains(&Some(true)), "{:?}", found.workers);
    let unreadable = found.workers.iter().filter(|held| held.is_none());
    assert!(unreadable.count() >= 1, "{:?}", found.workers);
    found.assert_no_environment();
}

#[test]
fn no_command_line_holds_a_secret() {
    let world = world();
    let mut client = busy_gateway(command(&world, &["serve"]));
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
