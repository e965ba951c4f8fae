//! Benchmark of the strict tier: `cargo xtask bench sandbox [--seconds N]`.
//!
//! It compares workers with every layer and with none, in turns in one run, because only the ratio is meaningful on a
//! shared machine. This executable is its own worker program, so that no build of `limbeck` can leave a layer out.

use std::fs;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use limbeck_domain::{Language, Layer, Sandbox, Tier};
use limbeck_gateway::{AdmissionSize, Bounds, Gateway};
use limbeck_launcher::inside::{self, WorkerMain, WorkerMainError};
use limbeck_launcher::{Launcher, PoolSize, WorkerProgram};
use limbeck_testkit::{FakeServer, World, request, run, value_of};
use limbeck_wire::WorkerChannel;
use limbeck_worker::{ArmedWorker, PreparedWorker};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// Programs measured on each side.
const SAMPLES: usize = 400;
/// Workers started on each side.
const SPAWNS: usize = 200;
/// Default duration of the sustained run; `--seconds` sets another one.
const SECONDS: u64 = 10;
/// Clients of the sustained run.
const CLIENTS: usize = 4;
/// Executions that wait at the same time.
const LIVE: usize = 1_000;
/// Program of a few lines with types, as a model sends.
const TYPESCRIPT: &str = "interface Row { id: number; name: string }
const rows: Row[] = Array.from({ length: 20 }, (_, id) => ({ id, name: `row ${id}` }));
return rows.filter((row: Row) => row.id % 2 === 0).map(row => row.name).length as number";

fn main() -> ExitCode {
    if inside::is_worker() {
        return inside::main(|language| Ok(EngineMain(PreparedWorker::load(language)?)));
    }
    let runtime = Runtime::new().expect("a runtime can be made");
    println_row(["benchmark", "strict", "no layer", "promise", "notes"].map(str::to_owned));
    spawns(
        &runtime,
        "spawn to ready",
        [true, false].map(launcher),
        "10 ms",
    );
    // Both with every layer: the first column is with a memory control group, the second without.
    let sides = [false, true].map(launcher_without_memory_group);
    spawns(
        &runtime,
        "spawn in a memory group, and not",
        sides,
        "1.05 times",
    );
    pooled(&runtime);
    runtime.block_on(sustained(seconds()));
    runtime.block_on(live());
    ExitCode::SUCCESS
}

/// Language engine of a worker, as in `limbeck` itself.
struct EngineMain(PreparedWorker);

impl WorkerMain for EngineMain {
    type Armed = ArmedWorker;

    fn arm(self) -> Result<ArmedWorker, WorkerMainError> {
        Ok(self.0.arm()?)
    }

    fn serve(armed: ArmedWorker, channel: WorkerChannel, sandbox: Sandbox) -> ExitCode {
        armed.serve(channel, sandbox)
    }
}

fn seconds() -> u64 {
    let mut args = std::env::args().skip_while(|arg| arg != "--seconds");
    let seconds = args.nth(1).map(|seconds| seconds.parse());
    seconds.map_or(SECONDS, |seconds| {
        seconds.expect("--seconds takes a number")
    })
}

fn println_row(cells: [String; 5]) {
    let [name, strict, none, promise, notes] = cells;
    #[expect(
        clippy::print_stdout,
        reason = "a benchmark's only output is its table"
    )]
    {
        println!("{name:<34}  {strict:<10}  {none:<10}  {promise:<14}  {notes}");
    }
}

/// Launcher of this executable, with every layer or with none.
fn launcher(strict: bool) -> Launcher {
    let path = std::env::current_exe().expect("the system knows what runs");
    let mut program = WorkerProgram::new(path);
    if strict {
        return Launcher::new(program, Tier::Strict);
    }
    program.without = Layer::ALL.to_vec();
    Launcher::new(program, Tier::Wasm)
}

/// Launcher of this executable, with every layer, and without a memory control group or with one.
fn launcher_without_memory_group(without: bool) -> Launcher {
    let path = std::env::current_exe().expect("the system knows what runs");
    let mut program = WorkerProgram::new(path);
    program.without_memory_group = without;
    Launcher::new(program, Tier::Strict)
}

fn spawns(runtime: &Runtime, name: &str, sides: [Launcher; 2], promise: &str) {
    let mut times = [Vec::new(), Vec::new()];
    for number in 0..=SPAWNS {
        for (launcher, times) in sides.iter().zip(&mut times) {
            let begun = Instant::now();
            let worker = runtime.block_on(launcher.launch(Language::Typescript));
            let took = begun.elapsed();
            runtime.block_on(worker.expect("a worker starts").kill());
            // The first launch starts the zygote.
            if number > 0 {
                times.push(took);
            }
        }
    }
    for launcher in &sides {
        runtime.block_on(launcher.shutdown());
    }
    compare(name, times, promise);
}

fn pooled(runtime: &Runtime) {
    let size = PoolSize {
        ready: 4,
        starting: 1,
    };
    let start = |strict| World::new("").launcher(launcher(strict)).pool(size).start();
    let sides = [true, false].map(|strict| runtime.block_on(start(strict)));
    let mut times = [Vec::new(), Vec::new()];
    for number in 0..SAMPLES + 20 {
        for (gateway, times) in sides.iter().zip(&mut times) {
            // Waits until the pool is full, as between two programs of a model.
            std::thread::sleep(Duration::from_millis(12));
            let begun = Instant::now();
            let envelope = runtime.block_on(run(gateway, "return 1 + 1"));
            let took = begun.elapsed();
            assert_eq!(value_of(&envelope), 2);
            if number >= 20 {
                times.push(took);
            }
        }
    }
    for gateway in &sides {
        runtime.block_on(gateway.shutdown());
    }
    compare("return 1 + 1, pooled", times, "1.15 times");
}

fn compare(name: &str, mut times: [Vec<Duration>; 2], promise: &str) {
    times.iter_mut().for_each(|times| times.sort_unstable());
    let [strict, none] = times.each_ref().map(|times| times[times.len() / 2]);
    let p90 = times[0][times[0].len() * 9 / 10];
    let ratio = strict.as_secs_f64() / none.as_secs_f64();
    println_row([
        name.to_owned(),
        format!("{strict:.2?}"),
        format!("{none:.2?}"),
        promise.to_owned(),
        format!("{ratio:.2} times; p90 {p90:.2?}"),
    ]);
}

/// Executions a second over the duration, and the growth of memory and descriptors.
async fn sustained(seconds: u64) {
    let gateway = World::new("").launcher(launcher(true)).start().await;
    let time = Duration::from_secs(seconds);
    executions(&gateway, Duration::from_secs(2)).await;
    let before = Held::now();
    let count = executions(&gateway, time).await;
    let after = Held::now();
    println_row([
        format!("TypeScript executions, {seconds} s"),
        format!("{:.0} /s", count as f64 / time.as_secs_f64()),
        String::new(),
        "500 /s".to_owned(),
        format!("{CLIENTS} clients; gateway and zygote before {before}, after {after}"),
    ]);
    gateway.shutdown().await;
}

async fn executions(gateway: &Gateway, time: Duration) -> usize {
    let until = Instant::now() + time;
    let clients = (0..CLIENTS).map(|_| {
        let gateway = gateway.clone();
        tokio::spawn(async move {
            let mut count = 0;
            while Instant::now() < until {
                assert_eq!(value_of(&run(&gateway, TYPESCRIPT).await), 10);
                count += 1;
            }
            count
        })
    });
    let counts = futures::future::join_all(clients).await;
    let counts = counts
        .into_iter()
        .map(|count| count.expect("a client ends"));
    counts.sum()
}

/// Memory and descriptors of the gateway and its zygotes.
struct Held {
    resident_kb: u64,
    descriptors: usize,
}

impl Held {
    fn now() -> Self {
        let mut processes = children(std::process::id());
        processes.push(std::process::id());
        Self {
            resident_kb: processes
                .iter()
                .map(|pid| kb(*pid, "status", "VmRSS:"))
                .sum(),
            descriptors: processes.iter().map(|pid| descriptors(*pid)).sum(),
        }
    }
}

impl std::fmt::Display for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let megabytes = self.resident_kb as f64 / 1024.0;
        write!(f, "{megabytes:.1} MB and {} descriptors", self.descriptors)
    }
}

/// Executions that wait for a call, and their total memory.
async fn live() {
    let bounds = Bounds {
        admission: AdmissionSize {
            running: LIVE,
            running_each: LIVE,
            ..AdmissionSize::default()
        },
        ..Bounds::default()
    };
    let waits = FakeServer::new("waits")
        .tool("wait", Some(true), |_| Box::pin(std::future::pending()))
        .share();
    let world = World::new("").server(&waits).bounds(bounds);
    let gateway = world.launcher(launcher(true)).start().await;
    let cancel = CancellationToken::new();
    let begun = Instant::now();
    let running: Vec<_> = (0..LIVE)
        .map(|_| {
            let (gateway, cancel) = (gateway.clone(), cancel.clone());
            let program = "const rows = Array.from({ length: 100 }, (_, id) => ({ id })); await tools.waits.wait({}); return rows";
            tokio::spawn(async move { gateway.execute(request(program), cancel).await })
        })
        .collect();
    while waits.calls().len() < LIVE {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{} calls",
            waits.calls().len()
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let started = begun.elapsed();
    let workers: Vec<u32> = children(std::process::id())
        .into_iter()
        .flat_map(children)
        .collect();
    let sum: u64 = workers
        .iter()
        .map(|pid| kb(*pid, "smaps_rollup", "Pss:"))
        .sum();
    let tables: u64 = workers.iter().map(|pid| kb(*pid, "status", "VmPTE:")).sum();
    let gigabytes = |kb: u64| kb as f64 / f64::from(1 << 20);
    println_row([
        format!("{LIVE} executions waiting for a call"),
        format!("{:.2} GiB", gigabytes(sum)),
        String::new(),
        "4 GiB".to_owned(),
        format!(
            "proportional; page tables {:.2} GiB more; all there after {started:.1?}",
            gigabytes(tables)
        ),
    ]);
    cancel.cancel();
    futures::future::join_all(running).await;
    gateway.shutdown().await;
}

/// Child processes by their parent id, because the list of a thread may miss some.
fn children(parent: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("procfs is there").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| kb(*pid, "status", "PPid:") == u64::from(parent))
        .collect()
}

fn descriptors(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

/// Number in a file of a process; 0 when it is missing.
fn kb(pid: u32, file: &str, field: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(field));
    line.and_then(|line| line.split_ascii_whitespace().nth(1)?.parse().ok())
        .unwrap_or(0)
}
