//! A real gateway with workers that an attacker controls.
//!
//! Each test names a behaviour of the worker (`src/bin/fake-worker`), asserts how the execution ends, and then runs an
//! honest program on the same gateway: a worker can fail its own execution only. The X numbers are those of
//! `docs/internals/bad-inputs.md`.

mod calls;
mod ends;
mod frames;
mod starts;
mod time;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use limbeck_domain::{Envelope, ErrorKind, ExecutionStatus};
use limbeck_gateway::Gateway;
use limbeck_testkit::{FakeServer, World, request, run, value_of};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Bytes of the result of tool `big`.
const BIG_BYTES: usize = 4 << 20;

/// Time beyond its limit after which an execution counts as one that does not end.
const HANG: Duration = Duration::from_secs(30);

/// Time limit of programs that must end for another reason.
const LONG_MS: u64 = 60_000;

fn fake_worker() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_fake-worker"))
}

/// Tools that return at once, with a large result, and never.
fn server() -> Arc<FakeServer> {
    FakeServer::new("t")
        .read("echo", |arguments| arguments)
        .read_text("big", &format!(r#"{{"x":"{}"}}"#, "x".repeat(BIG_BYTES)))
        .tool("stuck", Some(false), |_| Box::pin(std::future::pending()))
        .share()
}

/// A gateway whose workers are the fake one.
struct FakeWorkerGateway {
    gateway: Gateway,
    server: Arc<FakeServer>,
}

impl FakeWorkerGateway {
    async fn new() -> Self {
        let server = server();
        let world = World::new(fake_worker()).server(&server).silent("silent");
        let gateway = world.start().await;
        Self { gateway, server }
    }

    async fn execute(&self, program: &str, wall_ms: u64) -> Envelope {
        let mut bounded = request(program);
        bounded.timeout_ms = Some(wall_ms);
        self.gateway
            .execute(bounded, CancellationToken::new())
            .await
    }

    /// Asserts that `program` fails with `kind` within its time limit, and that the next program works.
    async fn fails(&self, program: &str, wall_ms: u64, kind: ErrorKind, message: &str) -> Envelope {
        let begun = Instant::now();
        let envelope = self.execute(program, wall_ms).await;
        let took = begun.elapsed();
        let error = envelope.error.as_ref();
        let error = error.unwrap_or_else(|| panic!("{program}: {envelope:?}"));
        assert_eq!(error.kind, kind, "{program}: {error:?}");
        assert!(error.message.contains(message), "{program}: {error:?}");
        assert_eq!(envelope.status, ExecutionStatus::Failed, "{program}");
        assert!(envelope.value.is_none(), "{program}");
        assert!(
            took < Duration::from_millis(wall_ms) + HANG,
            "{program} took {took:?}"
        );
        self.runs_honest_program().await;
        envelope
    }

    /// Asserts that the worker is killed for what it sent, long before the time limit of `program`.
    async fn is_killed(&self, program: &str, message: &str) {
        let begun = Instant::now();
        let message = format!("violated the frame protocol and was killed: {message}");
        self.fails(program, LONG_MS, ErrorKind::WorkerLost, &message)
            .await;
        let took = begun.elapsed();
        assert!(
            took < Duration::from_millis(LONG_MS),
            "{program} took {took:?}"
        );
    }

    /// Asserts that a program of an honest worker completes.
    async fn runs_honest_program(&self) {
        let envelope = run(&self.gateway, "anything honest").await;
        assert_eq!(value_of(&envelope), json!(2));
    }

    /// The value of a program that completes.
    async fn value(&self, program: &str) -> Value {
        value_of(&run(&self.gateway, program).await)
    }
}

/// Peak of this process's resident memory in bytes, since the kernel was last asked to reset it.
fn peak_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.unwrap().split_ascii_whitespace().nth(1).unwrap();
    kib.parse::<usize>().unwrap() << 10
}

/// Growth of this process's peak memory while `work` runs, in bytes.
async fn memory_for(work: impl Future<Output = ()>) -> usize {
    // 5 resets the peak to what there is now.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = peak_memory();
    work.await;
    peak_memory() - before
}

/// Child processes of all threads of `pid`; empty once it has ended.
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

/// Waits until a condition holds; fails after [`HANG`].
async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let limit = Instant::now() + HANG;
    while !condition() {
        assert!(Instant::now() < limit, "{what} did not happen");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
