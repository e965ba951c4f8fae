//! Leftovers of executions: processes, descriptors, files and memory before and after a thousand of them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use limbeck_domain::{Envelope, ErrorKind};
use limbeck_gateway::Gateway;
use limbeck_store::Store;
use limbeck_testkit::{FakeServer, World, request};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::gateway::processes::{own_descriptors, own_resident, workers, zygotes};
use crate::gateway::worker;

const EXECUTIONS: usize = 1_000;
const SIDE_BY_SIDE: usize = 8;
/// Growth of memory that is allowed: the allocator keeps pages that were used once.
const GROWTH_BYTES: usize = 32 << 20;

/// Everything an execution could leave behind.
#[derive(Debug, PartialEq, Eq)]
struct Count {
    zygotes: usize,
    workers: usize,
    descriptors: usize,
    of_the_zygote: usize,
    calls: usize,
    files: usize,
    cgroups: usize,
}

/// Calls in flight, counted by their server.
#[derive(Clone, Default)]
struct Calls(Arc<AtomicUsize>);

struct Call(Arc<AtomicUsize>);

impl Calls {
    fn begin(&self) -> Call {
        self.0.fetch_add(1, Ordering::SeqCst);
        Call(Arc::clone(&self.0))
    }

    fn under_way(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn count(calls: &Calls, state: &Path) -> Count {
    let zygotes = zygotes();
    Count {
        zygotes: zygotes.len(),
        workers: workers().len(),
        descriptors: own_descriptors(),
        of_the_zygote: zygotes.iter().map(|zygote| zygote.descriptors()).sum(),
        calls: calls.under_way(),
        files: entries(state) + limbecks(&std::env::temp_dir()) + limbecks(Path::new("/dev/shm")),
        cgroups: own_cgroup().map_or(0, |path| entries(Path::new(&path))),
    }
}

fn entries(directory: &Path) -> usize {
    std::fs::read_dir(directory).map_or(0, Iterator::count)
}

/// Temporary files with the name of Limbeck.
fn limbecks(directory: &Path) -> usize {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.contains("limbeck")).count()
}

/// Control groups below the one of this process.
fn own_cgroup() -> Option<String> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(format!("/sys/fs/cgroup{path}"))
}

/// Counts until the count is `expected`, for at most thirty seconds.
async fn settled(calls: &Calls, state: &Path, expected: impl Fn(&Count) -> bool) -> Count {
    let given_up = Instant::now() + Duration::from_secs(30);
    loop {
        let now = count(calls, state);
        if expected(&now) || Instant::now() > given_up {
            return now;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Runs execution `number` of a mixture; returns whether it ended as expected.
async fn one(gateway: &Gateway, number: usize) -> Result<(), Envelope> {
    let cancel = CancellationToken::new();
    let (program, timeout_ms, kind) = match number % 20 {
        0 if number.is_multiple_of(100) => (
            "const all = []; for (;;) all.push(new Array(1e5).fill(0))",
            60_000,
            Some(ErrorKind::MemoryLimit),
        ),
        0..4 => ("for (;;) {}", 50, Some(ErrorKind::Timeout)),
        4..7 => ("await tools.t.hang({})", 50, Some(ErrorKind::Timeout)),
        7..10 => {
            let cancel = cancel.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(20)).await;
                cancel.cancel();
            });
            ("await tools.t.hang({})", 60_000, Some(ErrorKind::Cancelled))
        }
        10..14 => (
            "throw new Error('as it should')",
            60_000,
            Some(ErrorKind::Exception),
        ),
        14..17 => ("return await tools.t.get({})", 60_000, None),
        _ => ("return 1 + 1", 60_000, None),
    };
    let mut request = request(program);
    request.timeout_ms = Some(timeout_ms);
    let envelope = gateway.execute(request, cancel).await;
    let found = envelope.error.as_ref().map(|error| error.kind);
    if found == kind { Ok(()) } else { Err(envelope) }
}

async fn many(gateway: &Gateway, count: usize) {
    futures::stream::iter(0..count)
        .map(|number| one(gateway, number))
        .buffer_unordered(SIDE_BY_SIDE)
        .for_each(async |result| result.unwrap())
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_executions_of_every_kind_leave_nothing_behind() {
    let calls = Calls::default();
    let hanging = calls.clone();
    let t = FakeServer::new("t")
        .read("get", |_| json!(1))
        .tool("hang", Some(true), move |_| {
            let call = hanging.begin();
            Box::pin(async move {
                let _call = call;
                std::future::pending().await
            })
        })
        .share();
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path();
    let store = Store::open(&state.join("state.db")).unwrap();
    let gateway = World::new(worker()).server(&t).store(store).start().await;
    many(&gateway, 100).await;

    let mut before = settled(&calls, state, |now| (now.workers, now.calls) == (2, 0)).await;
    // Connections and files that are opened once are open by now; the descriptors of a worker close after its end.
    before = settled(&calls, state, |now| *now == before).await;
    let resident = own_resident();
    many(&gateway, EXECUTIONS).await;
    let after = settled(&calls, state, |now| *now == before).await;
    assert_eq!(before, after);
    assert_eq!((after.zygotes, after.workers, after.calls), (1, 2, 0));
    let growth = own_resident().saturating_sub(resident);
    assert!(growth < GROWTH_BYTES, "{growth} bytes more than before");

    gateway.shutdown().await;
    assert_eq!(workers(), []);
    assert_eq!(zygotes(), []);
}
