//! Benchmarks of the gateway: `cargo xtask bench [NAME]`.
//!
//! Each line is the median of one run beside its promise from `docs/internals/performance.md`. Absolute times on a shared machine
//! vary; the ratios beside them come from the same run.

mod check;
mod ends;
mod governance;
mod memory;
mod paused;
mod redaction;
mod report;
mod served;

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use limbeck_domain::{Language, Tier};
use limbeck_gateway::Gateway;
use limbeck_launcher::{Launcher, PoolSize, WorkerProgram};
use limbeck_store::Store;
use limbeck_testkit::{FakeServer, World, run, value_of};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use report::{Report, median, percentile_90, sampled, shown};

const LIMBECK: &str = env!("CARGO_BIN_EXE_limbeck");
const BIG_ITEMS: u64 = 45_000;

/// A benchmark and its name on the command line.
type Bench = (&'static str, fn(&mut Report));

fn main() {
    let wanted = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let benches: [Bench; 15] = [
        ("spawn", spawn),
        ("execution", execution),
        ("stdio", served::stdio),
        ("calls", calls),
        ("journal", journal),
        ("json", json_10_mb),
        ("start", served::start),
        ("memory", memory::memory),
        ("check", check::check),
        ("cancel", ends::cancel),
        ("limit", ends::limit),
        ("flood", ends::flood),
        ("learning", learning),
        ("governance", governance),
        ("paused", paused::paused),
    ];
    let mut report = Report::default();
    for (name, bench) in benches {
        // It fills a store for minutes.
        let is_quick = name != "paused";
        if wanted.as_deref().map_or(is_quick, |wanted| wanted == name) {
            bench(&mut report);
        }
    }
    report.print();
}

fn governance(report: &mut Report) {
    governance::governance(report);
    redaction::redaction(report);
    paused::questions(report);
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

/// Waits until the pool is refilled, as it is between two calls of a model.
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

/// Time of calls whose results are learnt from, beside calls of a tool that declares its output.
fn learning(report: &mut Report) {
    let runtime = runtime();
    let record: Value = (b'a'..=b't')
        .map(|letter| (format!("field_{}", letter as char), json!("value")))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let (observed, declared) = (record.clone(), record);
    let server = FakeServer::new("t")
        .read("observed", move |_| observed.clone())
        .read("declared", move |_| declared.clone())
        .declaring(json!({"type": "object"}))
        .share();
    let gateway = runtime.block_on(World::new(LIMBECK).server(&server).start());
    let program = |tool: &str| format!("for (let i = 0; i < 250; i++) await tools.t.{tool}({{}})");
    // Interleaved, so that both see the same machine; the first round lists tools and warms up.
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..8 {
        for (times, tool) in times.iter_mut().zip(["observed", "declared"]) {
            let (took, _) = timed(&runtime, &gateway, &program(tool));
            if round > 0 {
                times.push(took);
            }
        }
    }
    let [observed, declared] = times;
    let ratio = median(&observed).as_secs_f64() / median(&declared).as_secs_f64();
    report.time(
        "learning: 250 calls whose results are learnt from",
        &observed,
        None,
        format!("{ratio:.2} times calls with a declared output, 3 promised"),
    );
    runtime.block_on(gateway.shutdown());
}
