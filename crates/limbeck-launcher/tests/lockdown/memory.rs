//! The memory control group: a bound on memory that no limit of a process counts.
//!
//! Not every machine gives this process a place for a group. There these tests see that a reason is
//! given, and `users.rs` runs them where there is one for certain.

use std::fs;
use std::path::PathBuf;

use limbeck_domain::{Language, Layer, Tier};
use limbeck_launcher::{Exit, Launcher, MemoryBound, ProbeOutcome, WorkerError, WorkerProgram};

use crate::escapee;

/// Layers each of which denies a file in memory.
const WITHOUT: [Layer; 2] = [Layer::ResourceLimits, Layer::Seccomp];
/// MiB that are more than a worker and its zygote may hold together, and no more than a machine has.
const MUCH: u16 = 1024;
/// MiB that they may hold.
const LITTLE: u16 = 64;
/// Set where a group must be there.
pub(crate) const NEEDED: &str = "LIMBECK_MEMORY_GROUP_NEEDED";

fn launcher(without_memory_group: bool) -> Launcher {
    let mut program = WorkerProgram::new(escapee());
    program.without = WITHOUT.to_vec();
    program.without_memory_group = without_memory_group;
    Launcher::new(program, Tier::Wasm)
}

/// The group of a launcher's workers; `None` where this process has no place for one.
#[expect(
    clippy::disallowed_methods,
    reason = "a test that starts itself as another user has no other way to tell it so"
)]
async fn group(launcher: &Launcher) -> Option<PathBuf> {
    match launcher.memory_bound(Language::Typescript).await.unwrap() {
        MemoryBound::Group { path } => Some(path.into()),
        MemoryBound::Absent { reason } => {
            assert!(std::env::var_os(NEEDED).is_none(), "{reason}");
            assert!(!reason.is_empty());
            None
        }
    }
}

/// Where this process may make groups, if anywhere.
pub(crate) async fn place() -> Option<PathBuf> {
    let launcher = launcher(false);
    let group = group(&launcher).await;
    launcher.shutdown().await;
    Some(group?.parent().unwrap().to_owned())
}

#[tokio::test]
async fn memory_that_no_limit_of_a_process_counts_ends_at_the_group() {
    let bounded = launcher(false);
    if group(&bounded).await.is_some() {
        let much = bounded.fill_memory_file(MUCH).await;
        let for_memory = |error: &WorkerError| match error {
            WorkerError::Ended { exit } => *exit == Exit::OutOfMemory,
            _ => false,
        };
        assert!(much.as_ref().is_err_and(for_memory), "{much:?}");
        // The zygote has survived it, and what fits is let through.
        let little = bounded.fill_memory_file(LITTLE).await.unwrap();
        assert!(matches!(little, ProbeOutcome::Reached { .. }), "{little:?}");
    }
    bounded.shutdown().await;

    // The control: nothing else counts it.
    let unbounded = launcher(true);
    let much = unbounded.fill_memory_file(MUCH).await.unwrap();
    assert!(matches!(much, ProbeOutcome::Reached { .. }), "{much:?}");
    unbounded.shutdown().await;
}

#[tokio::test]
async fn workers_are_in_the_group_and_its_directory_ends_with_them() {
    let launcher = launcher(false);
    let Some(group) = group(&launcher).await else {
        return;
    };
    let worker = launcher.launch(Language::Typescript).await.unwrap();
    let inside = fs::read_to_string(group.join("cgroup.procs")).unwrap();
    let holds = |pid: u32| inside.lines().any(|line| line == pid.to_string());
    assert!(holds(worker.pid()), "{inside}");
    assert!(!holds(std::process::id()), "{inside}");
    // A worker is still alive.
    launcher.shutdown().await;
    assert!(!group.exists());
    drop(worker);
}

#[tokio::test]
async fn the_group_of_a_gateway_that_was_killed_is_removed_by_the_next_one() {
    let first = launcher(false);
    let Some(group) = group(&first).await else {
        return;
    };
    let name = group.file_name().unwrap().to_str().unwrap();
    let namespace = name.split('-').nth(1).unwrap();
    let parent = group.parent().unwrap();
    let left = parent.join(format!("limbeck-{namespace}-{}-1-0", u32::MAX));
    fs::create_dir(&left).unwrap();

    let second = launcher(false);
    let other = self::group(&second).await.unwrap();

    assert!(!left.exists());
    assert!(group.exists() && other.exists() && group != other);
    first.shutdown().await;
    second.shutdown().await;
}
