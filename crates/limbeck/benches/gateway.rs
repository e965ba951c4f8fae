//! What the gateway costs: `cargo xtask bench [NAME]`.
//!
//! Each line is a median of one run beside its promise from `docs/performance.md`. Absolute times on
//! a shared machine are noise; the ratios beside them come from the same run.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use limbeck_gateway::Gateway;
use limbeck_gateway::catalog::{Caller, Catalog, ServerTools};
use limbeck_gateway::domain::{Language, Mode, Tier};
use limbeck_gateway::launcher::{Launcher, PoolSize, WorkerProgram};
use limbeck_gateway::store::Store;
use limbeck_testkit::catalogues::captures;
use limbeck_testkit::{FakeServer, World, python, request, run, value_of};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

const LIMBECK: &str = env!("CARGO_BIN_EXE_limbeck");
const BIG_ITEMS: u64 = 45_000;

/// A benchmark and the name it is asked for by.
type Bench = (&'static str, fn(&mut Report));

fn main() {
    let wanted = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let benches: [Bench; 9] = [
        ("spawn", spawn),
        ("execution", execution),
        ("stdio", stdio),
        ("calls", calls),
        ("journal", journal),
        ("json", json_10_mb),
        ("start", start),
        ("memory", memory),
        ("check", check),
    ];
    let mut report = Report::default();
    for (name, bench) in benches {
        if wanted.as_deref().is_none_or(|wanted| wanted == name) {
            bench(&mut report);
        }
    }
    report.print();
}

#[derive(Default)]
struct Report {
    rows: Vec<[String; 4]>,
}

impl Report {
    fn row(&mut self, name: &str, value: String, promise: &str, note: String) {
        self.rows
            .push([name.to_owned(), value, promise.to_owned(), note]);
    }

    fn time(&mut self, name: &str, samples: &[Duration], promise: Option<Duration>, note: String) {
        let median = median(samples);
        let (bound, ratio) = match promise {
            Some(promise) => (
                shown(promise),
                format!(
                    "{:.2} of the promise; ",
                    median.as_secs_f64() / promise.as_secs_f64()
                ),
            ),
            None => (String::new(), String::new()),
        };
        self.row(name, shown(median), &bound, format!("{ratio}{note}"));
    }

    fn print(&self) {
        let width = |column: usize| {
            self.rows
                .iter()
                .map(|row| row[column].chars().count())
                .max()
        };
        let widths: Vec<usize> = (0..4)
            .map(|column| width(column).unwrap_or(0).max(8))
            .collect();
        let heads = ["benchmark", "median", "promise", "notes"].map(str::to_owned);
        for row in std::iter::once(&heads).chain(&self.rows) {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:<width$}"))
                .collect();
            #[expect(
                clippy::print_stdout,
                reason = "a benchmark's only output is its table"
            )]
            {
                println!("{}", cells.join("  ").trim_end());
            }
        }
    }
}

fn median(samples: &[Duration]) -> Duration {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

fn percentile_90(samples: &[Duration]) -> Duration {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() * 9 / 10]
}

fn shown(time: Duration) -> String {
    let us = time.as_secs_f64() * 1e6;
    if us < 1_000.0 {
        format!("{us:.0} µs")
    } else {
        format!("{:.2} ms", us / 1e3)
    }
}

fn sampled(count: usize, mut sample: impl FnMut() -> Duration) -> Vec<Duration> {
    (0..count).map(|_| sample()).collect()
}

fn timed(runtime: &Runtime, gateway: &Gateway, program: &str) -> (Duration, Value) {
    let started = Instant::now();
    let envelope = runtime.block_on(run(gateway, program));
    (started.elapsed(), value_of(&envelope))
}

fn runtime() -> Runtime {
    Runtime::new().expect("a runtime can be made")
}

fn launcher() -> Launcher {
    Launcher::new(WorkerProgram::new(LIMBECK), Tier::Strict)
}

fn spawn(report: &mut Report) {
    let runtime = runtime();
    let samples = sampled(60, || {
        let started = Instant::now();
        let worker = runtime
            .block_on(launcher().launch(Language::Typescript))
            .expect("a worker starts");
        let took = started.elapsed();
        runtime.block_on(worker.kill());
        took
    });
    report.time(
        "worker: spawn to ready",
        &samples,
        Some(Duration::from_millis(10)),
        format!("p90 {}", shown(percentile_90(&samples))),
    );
}

fn execution(report: &mut Report) {
    let runtime = runtime();
    let pooled = runtime.block_on(
        World::new(LIMBECK)
            .pool(PoolSize {
                ready: 8,
                starting: 2,
            })
            .start(),
    );
    let samples = sampled(200, || {
        wait_for_pool(&runtime);
        let (took, value) = timed(&runtime, &pooled, "return 1 + 1");
        assert_eq!(value, json!(2));
        took
    });
    report.time(
        "execution: return 1 + 1, pooled",
        &samples,
        Some(Duration::from_micros(500)),
        format!("p90 {}", shown(percentile_90(&samples))),
    );
    let fresh = sampled(60, || {
        let started = Instant::now();
        let gateway = runtime.block_on(
            World::new(LIMBECK)
                .pool(PoolSize {
                    ready: 1,
                    starting: 1,
                })
                .start(),
        );
        let value = value_of(&runtime.block_on(run(&gateway, "return 1 + 1")));
        let took = started.elapsed();
        assert_eq!(value, json!(2));
        runtime.block_on(gateway.shutdown());
        took
    });
    report.time(
        "execution: return 1 + 1, no worker ready",
        &fresh,
        None,
        format!(
            "{:.0} times the pooled one",
            median(&fresh).as_secs_f64() / median(&samples).as_secs_f64()
        ),
    );
    let burst = 400;
    let started = Instant::now();
    for _ in 0..burst {
        timed(&runtime, &pooled, "return 1 + 1");
    }
    let rate = f64::from(burst) / started.elapsed().as_secs_f64();
    report.row(
        "execution: sustained rate, one client",
        format!("{rate:.0} /s"),
        "500 /s",
        String::new(),
    );
    runtime.block_on(pooled.shutdown());
}

/// Lets the refill get ahead, as it does between two calls of a model.
fn wait_for_pool(runtime: &Runtime) {
    runtime.block_on(async { tokio::time::sleep(Duration::from_millis(15)).await });
}

fn calls(report: &mut Report) {
    let runtime = runtime();
    let t = kilobyte_server();
    let gateway = runtime.block_on(World::new(LIMBECK).server(&t).start());
    let sequential = "let n = 0; for (let i = 0; i < 1000; i++) n += (await tools.t.get({ i }) as any).items.length; return n";
    let parallel = "const all = await Promise.all(Array.from({ length: 1000 }, (_, i) => tools.t.get({ i }))); return all.reduce((n, r: any) => n + r.items.length, 0)";
    timed(&runtime, &gateway, sequential);
    let samples = sampled(7, || timed(&runtime, &gateway, sequential).0);
    let per_call = median(&samples).as_secs_f64() / 1_000.0 * 1e6;
    report.time(
        "calls: 1,000 reads of 1 KB, one after another",
        &samples,
        Some(Duration::from_millis(150)),
        format!("{per_call:.0} µs a call, 150 µs promised"),
    );
    let samples = sampled(7, || timed(&runtime, &gateway, parallel).0);
    report.time(
        "calls: 1,000 reads of 1 KB, in parallel",
        &samples,
        Some(Duration::from_millis(150)),
        String::new(),
    );
    runtime.block_on(gateway.shutdown());
}

fn kilobyte_server() -> Arc<FakeServer> {
    let item = |i: u64| json!({"id": i, "name": format!("item number {i}"), "tags": ["a", "b"], "active": true, "score": 0.5, "note": "lorem ipsum dolor sit"});
    let items: Vec<Value> = (0..10).map(item).collect();
    let result = json!({ "items": items });
    let written = result.clone();
    FakeServer::new("t")
        .read("get", move |_| result.clone())
        .write("put", move |_| written.clone())
        .share()
}

fn journal(report: &mut Report) {
    let runtime = runtime();
    let dir = tempfile::tempdir().expect("a directory for the journal");
    let store = Store::open(&dir.path().join("state.db")).expect("a store on disk");
    let t = kilobyte_server();
    let gateway = runtime.block_on(World::new(LIMBECK).server(&t).store(store.clone()).start());
    let programs = [
        (
            "reads, one after another",
            "for (let i = 0; i < 200; i++) await tools.t.get({ i }); return 1",
        ),
        (
            "writes, one after another",
            "for (let i = 0; i < 200; i++) await tools.t.put({ i }); return 1",
        ),
        (
            "writes, in parallel",
            "await Promise.all(Array.from({ length: 200 }, (_, i) => tools.t.put({ i }))); return 1",
        ),
    ];
    for (name, program) in programs {
        timed(&runtime, &gateway, program);
        let before = store.stats();
        let samples = sampled(5, || timed(&runtime, &gateway, program).0);
        let synced = (store.stats().synced - before.synced) as f64 / (5.0 * 200.0);
        report.time(
            &format!("journal on disk: 200 {name}"),
            &samples,
            None,
            format!("{synced:.2} syncs a call"),
        );
    }
    runtime.block_on(gateway.shutdown());
}

fn json_10_mb(report: &mut Report) {
    let record = |i: u64| json!({"id": i, "name": format!("customer record number {i:06}"), "email": format!("user{i}@example.com"), "active": i.is_multiple_of(2), "score": (i % 100) as f64 + 0.25, "city": "Springfield", "tags": ["alpha", "beta", "gamma"], "address": format!("{i} Long Street Name, Some Town, ZZ 12345")});
    let records: Vec<Value> = (0..BIG_ITEMS).map(record).collect();
    let big = Value::Array(records);
    let big = big.to_string();
    let bytes = big.len();
    let dir = tempfile::tempdir().expect("a directory for the data");
    let file = dir.path().join("big.json");
    std::fs::write(&file, &big).expect("the data can be written");
    let t = FakeServer::new("t").read_text("all", &big).share();
    let runtime = runtime();
    let gateway = runtime.block_on(World::new(LIMBECK).server(&t).start());
    let program = "const all = await tools.t.all({}) as any[]; return all.filter(r => r.active && r.score > 50).map(r => r.id).length";
    timed(&runtime, &gateway, program);
    let samples = sampled(5, || timed(&runtime, &gateway, program).0);
    let node = node_filter(&file);
    let note = match node {
        Some(node) => format!(
            "{:.2} times Node doing the same ({}), 2 promised; {bytes} bytes",
            median(&samples).as_secs_f64() / node.as_secs_f64(),
            shown(node)
        ),
        None => format!("Node is not here to compare; {bytes} bytes"),
    };
    report.time(
        "json: 10 MB result delivered and filtered",
        &samples,
        Some(Duration::from_millis(500)),
        note,
    );
    runtime.block_on(gateway.shutdown());
}

/// Node reading the same bytes from a pipe, parsing and filtering: median of five.
fn node_filter(file: &std::path::Path) -> Option<Duration> {
    let script = r#"
        const fs = require("fs");
        const times = [];
        for (let i = 0; i < 5; i++) {
          const t = process.hrtime.bigint();
          const all = JSON.parse(fs.readFileSync(process.argv[1], "utf8"));
          const n = all.filter(r => r.active && r.score > 50).map(r => r.id).length;
          if (n < 1) throw new Error("nothing found");
          times.push(Number(process.hrtime.bigint() - t) / 1e3);
        }
        times.sort((a, b) => a - b);
        console.log(Math.round(times[2]));
    "#;
    let output = Command::new("node")
        .args(["-e", script])
        .arg(file)
        .output()
        .ok()?;
    let micros = String::from_utf8(output.stdout).ok()?.trim().parse().ok()?;
    Some(Duration::from_micros(micros))
}

/// A `limbeck serve` that is spoken to by hand.
struct Served {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: u64,
}

impl Served {
    fn start(dir: &std::path::Path) -> Self {
        let mut child = Command::new(LIMBECK)
            .args(["serve", "--no-discover", "--state-dir"])
            .arg(dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the gateway starts");
        let input = child.stdin.take().expect("its input is a pipe");
        let output = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        Self {
            child,
            input,
            output,
            id: 0,
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.id += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params});
        writeln!(self.input, "{request}").expect("the gateway reads");
        let mut line = String::new();
        self.output
            .read_line(&mut line)
            .expect("the gateway answers");
        serde_json::from_str(&line).expect("an answer is JSON")
    }

    fn initialize(&mut self) -> Value {
        let answer = self.ask(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}),
        );
        let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        writeln!(self.input, "{note}").expect("the gateway reads");
        answer
    }

    fn execute(&mut self, code: &str) -> Value {
        self.ask(
            "tools/call",
            &json!({"name": "execute", "arguments": {"code": code}}),
        )
    }

    fn stop(mut self) {
        drop(self.input);
        self.child.wait().expect("the gateway ends with its input");
    }
}

fn stdio(report: &mut Report) {
    let dir = tempfile::tempdir().expect("a state directory");
    let mut served = Served::start(dir.path());
    served.initialize();
    let samples = sampled(200, || {
        // As in `execution`: a model does not send programs back to back.
        std::thread::sleep(Duration::from_millis(15));
        let started = Instant::now();
        let answer = served.execute("return 1 + 1");
        let took = started.elapsed();
        assert!(answer.to_string().contains("completed"), "{answer}");
        took
    });
    served.stop();
    report.time(
        "stdio: return 1 + 1, pooled, journal on disk",
        &samples,
        Some(Duration::from_micros(1_500)),
        format!("p90 {}", shown(percentile_90(&samples))),
    );
}

fn start(report: &mut Report) {
    let dir = tempfile::tempdir().expect("a state directory");
    let samples = sampled(30, || {
        let started = Instant::now();
        let mut served = Served::start(dir.path());
        let answer = served.initialize();
        let took = started.elapsed();
        assert!(answer.get("result").is_some(), "{answer}");
        served.stop();
        took
    });
    report.time(
        "start: spawn to first answer",
        &samples,
        Some(Duration::from_millis(30)),
        format!("no servers; p90 {}", shown(percentile_90(&samples))),
    );
}

fn memory(report: &mut Report) {
    let dir = tempfile::tempdir().expect("a state directory");
    let mut served = Served::start(dir.path());
    served.initialize();
    served.execute("return 1 + 1");
    let pid = served.child.id();
    report.row(
        "memory: idle gateway, resident",
        megabytes(status_kb(pid, "VmRSS:")),
        "60 MB",
        "after one execution".to_owned(),
    );
    served.stop();

    let runtime = runtime();
    let live = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&live);
    let t = FakeServer::new("t")
        .read("measure", move |_| {
            let workers = children_of(std::process::id());
            let measured = workers.map(|pid| (private_kb(pid), status_kb(pid, "VmRSS:")));
            seen.lock().expect("nobody panics with it").extend(measured);
            Value::Null
        })
        .share();
    let gateway = runtime.block_on(World::new(LIMBECK).server(&t).start());
    timed(
        &runtime,
        &gateway,
        "const held = Array.from({ length: 1000 }, (_, i) => ({ i })); await tools.t.measure({}); return held.length",
    );
    runtime.block_on(gateway.shutdown());
    let measured = live.lock().expect("nobody panics with it");
    let (private, resident) = measured.iter().max().copied().unwrap_or_default();
    report.row(
        "memory: one live TypeScript execution, private",
        megabytes(private),
        "3 MB",
        format!(
            "{} workers alive; resident with shared pages {}",
            measured.len(),
            megabytes(resident)
        ),
    );
}

/// Functions of the program that is checked, ten lines each.
const CHECKED_FUNCTIONS: usize = 19;

/// A program of 200 lines with 57 calls, and one of a single call.
fn checked_programs(language: Language) -> (String, String) {
    let mut lines = vec![
        match language {
            Language::Typescript => "interface Entity { name: string; observations: string[] }",
            Language::Python => "import asyncio",
        }
        .to_owned(),
    ];
    for n in 0..CHECKED_FUNCTIONS {
        let function = match language {
            Language::Typescript => TYPESCRIPT_FUNCTION,
            Language::Python => PYTHON_FUNCTION,
        };
        lines.extend(
            function
                .lines()
                .map(|line| line.replace("NUMBER", &n.to_string())),
        );
    }
    let (opens, closes, call) = match language {
        Language::Typescript => (
            "const all = await Promise.all([",
            "]);\nreturn all.flat().length;",
            "await tools.memory.search_nodes({ query: \"a\" })",
        ),
        Language::Python => (
            "found = await asyncio.gather(",
            ")\nreturn sum(len(names) for names in found)",
            "await tools.memory.search_nodes(query=\"a\")",
        ),
    };
    lines.push(opens.to_owned());
    lines.extend((0..6).map(|n| format!("    report{n}(\"octo\"),")));
    lines.extend(closes.lines().map(str::to_owned));
    assert_eq!(lines.len(), 200);
    (lines.join("\n"), call.to_owned())
}

const TYPESCRIPT_FUNCTION: &str = r#"async function reportNUMBER(owner: string): Promise<string[]> {
  const found = await tools.memory.search_nodes({ query: "topic NUMBER" });
  const names = found.entities.map((entity: Entity) => entity.name);
  const pages = await Promise.all(
    names.map((name) => tools.filesystem.read_text_file({ path: `notes/${name}.md`, head: 20 })),
  );
  const issues: any = await tools.github.list_issues({ owner, repo: "site", perPage: 50 });
  console.log(owner, pages.length, issues);
  return names;
}"#;

const PYTHON_FUNCTION: &str = r#"async def reportNUMBER(owner):
    found = await tools.memory.search_nodes(query="topic NUMBER")
    names = [entity["name"] for entity in found["entities"]]
    pages = await asyncio.gather(
        *[tools.filesystem.read_text_file(path=f"notes/{name}.md", head=20) for name in names],
    )
    issues = await tools.github.list_issues(owner=owner, repo="site", perPage=50)
    print(owner, len(pages), issues)
    return names

"#;

const LANGUAGES: [(&str, Language); 2] = [
    ("TypeScript", Language::Typescript),
    ("Python", Language::Python),
];

/// What it takes to judge a program before it runs, with the tools of every captured server.
fn check(report: &mut Report) {
    let promise = Some(Duration::from_millis(2));
    let captures = captures();
    let servers = captures.iter();
    let servers = servers.map(|one| ServerTools::new(one.name(), one.definitions(), None));
    let catalog = Catalog::new(servers.collect());
    let tools = catalog.tools().count();
    for (name, language) in LANGUAGES {
        let (program, _) = checked_programs(language);
        let caller = Caller {
            language,
            mode: Mode::Run,
            refuses: &|_| None,
        };
        let samples = sampled(200, || {
            let started = Instant::now();
            let sites = limbeck_worker::call_sites(language, &program);
            let sites = sites.expect("the program can be read");
            let findings = catalog.judge(&sites, &caller);
            let took = started.elapsed();
            assert_eq!((sites.sites.len(), findings.errors), (57, Vec::new()));
            took
        });
        report.time(
            &format!("check: 200 lines of {name} read and judged"),
            &samples,
            promise,
            format!("p90 {}; {tools} tools", shown(percentile_90(&samples))),
        );
    }

    let runtime = runtime();
    let mut world = World::new(LIMBECK).pool(PoolSize {
        ready: 8,
        starting: 2,
    });
    for capture in &captures {
        world = world.server(&FakeServer::captured(capture).share());
    }
    let gateway = runtime.block_on(world.start());
    for (name, language) in LANGUAGES {
        let (program, one_call) = checked_programs(language);
        let examine = |program: &str| {
            wait_for_pool(&runtime);
            examined(&runtime, &gateway, language, program)
        };
        // The first makes the gateway list the servers.
        examine(&program);
        let least = median(&sampled(200, || examine(&one_call)));
        let samples = sampled(200, || examine(&program));
        let beyond = median(&samples).saturating_sub(least);
        report.time(
            &format!("check: 200 lines of {name} examined by a worker"),
            &samples,
            None,
            format!(
                "p90 {}; {} beyond one call",
                shown(percentile_90(&samples)),
                shown(beyond)
            ),
        );
    }
    runtime.block_on(gateway.shutdown());
}

fn examined(runtime: &Runtime, gateway: &Gateway, language: Language, program: &str) -> Duration {
    let request = match language {
        Language::Typescript => request(program),
        Language::Python => python(program),
    };
    let cancel = CancellationToken::new();
    let started = Instant::now();
    let examined = runtime.block_on(gateway.examine(request, Mode::Check, &cancel));
    let took = started.elapsed();
    let examined = examined.expect("a worker reads the program");
    assert!(examined.ok, "{:?}", examined.findings);
    took
}

fn children_of(parent: u32) -> impl Iterator<Item = u32> {
    let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).expect("procfs is there");
    tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|pids| {
            let pids = pids
                .split_ascii_whitespace()
                .filter_map(|pid| pid.parse().ok());
            pids.collect::<Vec<u32>>()
        })
}

fn megabytes(kb: u64) -> String {
    format!("{:.1} MB", kb as f64 / 1024.0)
}

fn status_kb(pid: u32, field: &str) -> u64 {
    field_kb(&format!("/proc/{pid}/status"), field)
}

fn private_kb(pid: u32) -> u64 {
    let rollup = format!("/proc/{pid}/smaps_rollup");
    field_kb(&rollup, "Private_Dirty:") + field_kb(&rollup, "Private_Clean:")
}

fn field_kb(path: &str, field: &str) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(field));
    line.and_then(|line| line.split_ascii_whitespace().nth(1)?.parse().ok())
        .unwrap_or(0)
}
