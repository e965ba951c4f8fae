//! A real gateway and a worker that somebody else owns.
//!
//! Each test names what the worker does (`src/bin/fake-worker`), says how the execution must end, and
//! then runs an honest program on the same gateway: whatever a worker does costs its own execution.
//! The numbers are those of bad-inputs.md §8.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails with the place"
)]

mod calls;
mod ends;
mod frames;
mod starts;
mod time;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use limbeck_gateway::Gateway;
use limbeck_gateway::domain::{Envelope, ErrorKind, ExecutionStatus};
use limbeck_testkit::{FakeServer, World, request, run, value_of};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Bytes of the answer of tool `big`.
const BIG_BYTES: usize = 4 << 20;

/// How much longer an execution may take than its time: its calls are given two seconds to be
/// cancelled in, and the machine may be busy.
const LATE_MS: u64 = 4_000;

fn fake_worker() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_fake-worker"))
}

/// Tools that answer at once, with much, and never.
fn server() -> Arc<FakeServer> {
    FakeServer::new("t")
        .read("echo", |arguments| arguments)
        .read_text("big", &format!(r#"{{"x":"{}"}}"#, "x".repeat(BIG_BYTES)))
        .tool("stuck", Some(false), |_| Box::pin(std::future::pending()))
        .share()
}

/// A gateway whose workers are the fake one.
struct Arena {
    gateway: Gateway,
    server: Arc<FakeServer>,
}

impl Arena {
    async fn new() -> Self {
        let server = server();
        let gateway = World::new(fake_worker()).server(&server).start().await;
        Self { gateway, server }
    }

    async fn play(&self, program: &str, wall_ms: u64) -> Envelope {
        let mut bounded = request(program);
        bounded.timeout_ms = Some(wall_ms);
        self.gateway
            .execute(bounded, CancellationToken::new())
            .await
    }

    /// `program` fails as told and not much later than its time, and the next one works.
    async fn fails(&self, program: &str, wall_ms: u64, kind: ErrorKind, says: &str) -> Envelope {
        let begun = Instant::now();
        let envelope = self.play(program, wall_ms).await;
        let took = begun.elapsed();
        let error = envelope.error.as_ref();
        let error = error.unwrap_or_else(|| panic!("{program}: {envelope:?}"));
        assert_eq!(error.kind, kind, "{program}: {error:?}");
        assert!(error.message.contains(says), "{program}: {error:?}");
        assert_eq!(envelope.status, ExecutionStatus::Failed, "{program}");
        assert!(envelope.value.is_none(), "{program}");
        assert!(
            took < Duration::from_millis(wall_ms + LATE_MS),
            "{program} took {took:?}"
        );
        self.is_well().await;
        envelope
    }

    /// `program` is killed for what it sent, long before its time is up.
    async fn is_caught(&self, program: &str, says: &str) {
        let begun = Instant::now();
        let says = format!("broke the rules of its channel and was killed: {says}");
        self.fails(program, 60_000, ErrorKind::WorkerLost, &says)
            .await;
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(10), "{program} took {took:?}");
    }

    /// An honest program works.
    async fn is_well(&self) {
        let envelope = run(&self.gateway, "anything honest").await;
        assert_eq!(value_of(&envelope), json!(2));
    }

    /// The value of a program that completes.
    async fn value(&self, program: &str) -> Value {
        value_of(&run(&self.gateway, program).await)
    }
}

/// Bytes of memory this process has had at most, since it was last asked to forget.
fn most_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.unwrap().split_ascii_whitespace().nth(1).unwrap();
    kib.parse::<usize>().unwrap() << 10
}

/// How much more memory this process has at most while `work` is done.
async fn memory_for(work: impl Future<Output = ()>) -> usize {
    // 5 resets the peak to what there is now.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = most_memory();
    work.await;
    most_memory() - before
}

/// Children of `pid`, those of all its threads; none once it is gone.
fn children_of(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
    tasks
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|pids| {
            pids.split_ascii_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<u32>>()
        })
        .collect()
}

/// Waits for a condition, and fails when it does not come.
async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let limit = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < limit, "{what} did not happen");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
