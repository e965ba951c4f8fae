//! Memory of an idle gateway and of one live execution.

use std::sync::{Arc, Mutex};

use limbeck_testkit::{FakeServer, World};
use serde_json::Value;

use crate::report::Report;
use crate::served::Served;
use crate::{LIMBECK, runtime, timed};

pub(crate) fn memory(report: &mut Report) {
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
            seen.lock()
                .expect("no thread panics while it holds the lock")
                .extend(measured);
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
    let measured = live
        .lock()
        .expect("no thread panics while it holds the lock");
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

pub(crate) fn status_kb(pid: u32, field: &str) -> u64 {
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
