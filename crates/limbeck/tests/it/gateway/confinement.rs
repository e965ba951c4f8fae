//! Confinement of a live worker, seen from outside through procfs.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

use limbeck_domain::Tier;
use limbeck_testkit::{World, request};
use tokio_util::sync::CancellationToken;

use crate::gateway::worker;

/// Text that only the program holds: the control of the search.
const OF_THE_PROGRAM: &str = "held-by-the-program-7c1f";
/// Text that the gateway holds like a credential.
const OF_THE_GATEWAY: &str = "held-by-the-gateway-93d2";

/// Fields of `/proc/PID/status`.
fn status(pid: u32) -> BTreeMap<String, String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    fields
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect()
}

/// Workers below this process: grandchildren that are process 1 of their namespace.
fn workers() -> Vec<u32> {
    let all: Vec<(u32, BTreeMap<String, String>)> = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .map(|pid| (pid, status(pid)))
        .collect();
    let children = |parent: u32| {
        let parent = parent.to_string();
        all.iter()
            .filter(move |(_, status)| status.get("PPid") == Some(&parent))
    };
    children(std::process::id())
        .flat_map(|(zygote, _)| children(*zygote))
        .filter(|(_, status)| status["NSpid"].ends_with("\t1"))
        .map(|(pid, _)| *pid)
        .collect()
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Whether memory that a process has written contains `needle`.
fn holds(pid: u32, needle: &str) -> bool {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let mut memory = fs::File::open(format!("/proc/{pid}/mem")).unwrap();
    maps.lines().any(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (range, flags) = (fields.next().unwrap(), fields.next().unwrap());
        let (from, to) = range.split_once('-').unwrap();
        let from = u64::from_str_radix(from, 16).unwrap();
        let bytes = u64::from_str_radix(to, 16).unwrap() - from;
        // Larger regions are reservations without content.
        if !flags.starts_with("rw") || bytes > 512 << 20 {
            return false;
        }
        let mut page = vec![0; usize::try_from(bytes).unwrap()];
        let read =
            memory.seek(SeekFrom::Start(from)).is_ok() && memory.read_exact(&mut page).is_ok();
        let needle = needle.as_bytes();
        read && page.windows(needle.len()).any(|window| window == needle)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_worker_has_nothing_and_holds_no_secret_of_the_gateway() {
    let secret = OF_THE_GATEWAY.to_owned();
    let gateway = World::new(worker()).silent("silent").start().await;
    let cancel = CancellationToken::new();
    let program =
        format!("const mine = '{OF_THE_PROGRAM}'; await tools.silent.wait({{}}); return mine");
    let running = tokio::spawn({
        let (gateway, cancel) = (gateway.clone(), cancel.clone());
        async move { gateway.execute(request(&program), cancel).await }
    });
    assert_eq!(gateway.sandbox().await.unwrap().tier, Tier::Strict);
    let seen = loop {
        let seen = workers();
        if !is_root() && !seen.is_empty() {
            break seen;
        }
        if is_root() && seen.iter().any(|pid| holds(*pid, OF_THE_PROGRAM)) {
            break seen;
        }
        tokio::task::yield_now().await;
    };
    for pid in seen {
        let status = status(pid);
        let Some(name) = status.get("Name") else {
            // A worker of the pool that was still starting and has been replaced.
            continue;
        };
        for sets in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            assert_eq!(status[sets], "0000000000000000", "{sets} of {name}");
        }
        assert_eq!((&*status["NoNewPrivs"], &*status["Seccomp"]), ("1", "2"));
        assert_eq!(status["Threads"], "2");
        assert!(!status["Uid"].split('\t').any(|id| id == "0"));
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let terminal = stat.rsplit(") ").next().unwrap().split(' ').nth(4);
        assert_eq!(terminal, Some("0"));
        let directory = |name: &str| PathBuf::from(format!("/proc/{pid}/{name}"));
        if !is_root() {
            // Even its own user cannot read more.
            assert!(fs::read_dir(directory("fd")).is_err());
            assert!(fs::File::open(directory("mem")).is_err());
            continue;
        }
        assert_eq!(fs::read(directory("environ")).unwrap(), b"");
        let arguments = fs::read(directory("cmdline")).unwrap();
        assert_eq!(arguments, b"limbeck-worker\0typescript\0");
        let mut descriptors: Vec<_> = fs::read_dir(directory("fd"))
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| {
                let target = fs::read_link(entry.path()).unwrap();
                (entry.file_name().into_string().unwrap(), target)
            })
            .collect();
        descriptors.sort();
        assert_eq!(descriptors.len(), 4, "{descriptors:?}");
        assert!(descriptors[..3].iter().all(|(_, to)| to.ends_with("null")));
        assert!(descriptors[3].1.to_string_lossy().starts_with("socket:"));
        assert_eq!(fs::read_dir(directory("root")).unwrap().count(), 0);
        assert!(
            !holds(pid, &secret),
            "a worker holds what the gateway holds"
        );
    }
    if is_root() {
        assert!(holds(std::process::id(), &secret));
    }
    cancel.cancel();
    running.await.unwrap();
    gateway.shutdown().await;
    assert_eq!(workers(), [] as [u32; 0]);
}
