//! Load test of `limbeck serve --http`: `cargo xtask bench http [--requests N]`.
//!
//! 200 clients of four principals send programs, each on its own connection and all with the same JSON-RPC id. Every
//! value is compared with the expected one. Then follow pairs of programs of which the later one is answered first.
//! Memory and descriptors of the gateway after the first tenth are compared with those at the end
//! ([`GROWTH_KIB_MAX`], [`DESCRIPTORS_MAX`]). The benchmark fails on a wrong value, on growth, and after its time limit.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use limbeck_testkit::http_load::{self, LoadOutcome, LoadSpec};

const LIMBECK: &str = env!("CARGO_BIN_EXE_limbeck");
const CLIENTS: usize = 200;
const PRINCIPALS: usize = 4;
const REQUESTS: usize = 50_000;
const PAIRS: usize = 1_000;
/// Growth that caches and the allocator may cause: a third of a KiB for each of 50,000 requests, less than one leaked
/// request takes.
const GROWTH_KIB_MAX: u64 = 16 << 10;
/// Descriptors of connections that are being closed during the measurement.
const DESCRIPTORS_MAX: usize = 16;
/// Time limit for each request: ten times its duration on two cores.
const TIME_PER_REQUEST: Duration = Duration::from_millis(20);

fn main() -> ExitCode {
    let state = tempfile::tempdir().expect("a place for the state");
    let tokens: Vec<String> = (0..PRINCIPALS)
        .map(|number| format!("{number:064x}"))
        .collect();
    let lines: Vec<String> = tokens
        .iter()
        .enumerate()
        .map(|(number, token)| format!("p{number} {token}"))
        .collect();
    let file = state.path().join("tokens");
    std::fs::write(&file, lines.join("\n")).expect("the tokens are written");
    let mut gateway = Command::new(LIMBECK)
        .args([
            "serve",
            "--http",
            "127.0.0.1:0",
            "--no-discover",
            "--token-file",
        ])
        .arg(&file)
        .arg("--state-dir")
        .arg(state.path())
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("limbeck starts");
    let address = address_of(&mut gateway);
    let asked = asked();
    let load = |requests| LoadSpec {
        address,
        tokens: tokens.clone(),
        clients: CLIENTS,
        requests,
    };
    let first = http_load::run(&load(asked / 10));
    let before = Size::of(&gateway);
    let rest = http_load::run(&load(asked - asked / 10));
    let pairs = http_load::interleaved(&load(0), PAIRS);
    let after = Size::of(&gateway);
    let _ = gateway.kill();
    let _ = gateway.wait();
    print(&first, "first tenth");
    print(&rest, "the rest");
    print(&pairs, "interleaved pairs");
    say(&format!("gateway: {before}, then {after}"));
    let right = first.right + rest.right;
    for wrong in [&first, &rest, &pairs].iter().flat_map(|part| &part.wrong) {
        say(&format!("wrong: {wrong}"));
    }
    let in_time = first.took + rest.took <= TIME_PER_REQUEST * u32::try_from(asked).unwrap_or(0);
    if !in_time {
        say("it took too long");
    }
    let has_grown = after.has_grown(&before);
    if has_grown {
        say("memory or descriptors have grown");
    }
    match right == asked && pairs.right == PAIRS && in_time && !has_grown {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn asked() -> usize {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--requests");
    let number = arguments.nth(1).and_then(|number| number.parse().ok());
    number.unwrap_or(REQUESTS)
}

/// Where it says it listens. What else it says is read to its end, so that it never waits for us.
fn address_of(gateway: &mut Child) -> SocketAddr {
    let stderr = gateway.stderr.take().expect("it was piped");
    let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
    let line = lines.find(|line| line.starts_with("serving MCP at "));
    std::thread::spawn(move || lines.for_each(drop));
    let line = line.expect("it says where it listens");
    let address = line.split('/').nth(2).expect("a URL has a host");
    address.parse().expect("which is an address")
}

fn print(outcome: &LoadOutcome, what: &str) {
    let count = outcome.times.len();
    let at = |share: f64| outcome.times.get((count as f64 * share) as usize);
    let ms = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1e3);
    say(&format!(
        "{what}: {} of {count} right in {:.1} s, {:.0} a second; median {:.1} ms, p99 {:.1} ms",
        outcome.right,
        outcome.took.as_secs_f64(),
        count as f64 / outcome.took.as_secs_f64(),
        ms(at(0.5)),
        ms(at(0.99)),
    ));
}

#[expect(clippy::print_stdout, reason = "a benchmark's only output")]
fn say(text: &str) {
    println!("{text}");
}

/// What a process has.
struct Size {
    resident_kib: u64,
    descriptors: usize,
}

impl Size {
    fn of(process: &Child) -> Self {
        let base = format!("/proc/{}", process.id());
        let status = std::fs::read_to_string(format!("{base}/status")).unwrap_or_default();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident = resident.and_then(|line| line.trim().split(' ').next()?.parse().ok());
        let descriptors = std::fs::read_dir(format!("{base}/fd")).map(Iterator::count);
        Self {
            resident_kib: resident.unwrap_or(0),
            descriptors: descriptors.unwrap_or(0),
        }
    }

    /// Beyond what a cache or an allocator takes in passing.
    fn has_grown(&self, before: &Self) -> bool {
        self.resident_kib > before.resident_kib + GROWTH_KIB_MAX
            || self.descriptors > before.descriptors + DESCRIPTORS_MAX
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mib = self.resident_kib as f64 / 1024.0;
        write!(f, "{mib:.1} MiB and {} descriptors", self.descriptors)
    }
}
