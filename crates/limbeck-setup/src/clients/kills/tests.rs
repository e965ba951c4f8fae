//! Setup and its undo, killed by `kill -9` at each of their steps in a process of their own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::{FoundClients, SetupError, SetupRequest, SetupState};
use crate::world::{OperatingSystem, World};

const CURSOR: &str = ".cursor/mcp.json";
const ENTRY: &str = r#"{"mcpServers": {"a": {"command": "a", "env": {"A_TOKEN": "canary"}}}}"#;
/// Names this test to the process that is killed: the root of its machine, what it does, and the step.
const TASK: &str = "LIMBECK_TEST_KILL";

/// Steps that this process has made.
static MADE: AtomicUsize = AtomicUsize::new(0);
/// The step at which it ends; 0 for none.
static LAST: AtomicUsize = AtomicUsize::new(0);

pub(in super::super) fn point() {
    let made = MADE.fetch_add(1, Ordering::Relaxed) + 1;
    if made == LAST.load(Ordering::Relaxed) {
        #[cfg(unix)]
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
            .unwrap();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Setup,
    Undo,
}

struct Machine {
    root: PathBuf,
    world: World,
}

impl Machine {
    fn at(root: &Path) -> Self {
        let variables = [("HOME".to_owned(), "/home/me".to_owned())];
        let world = World {
            root: Some(root.to_owned()),
            ..World::new(OperatingSystem::Linux, "/work", variables.into())
        };
        let root = root.to_owned();
        Self { root, world }
    }

    fn setups(&self) -> SetupState<'_> {
        SetupState::of(&self.world, self.root.join("state"))
    }

    fn setup(&self) {
        self.setups().recover().unwrap();
        let found = FoundClients::read(&self.world, SetupRequest::default()).unwrap();
        let done = self.setups().apply(found.plan(&BTreeMap::new()).unwrap());
        assert_eq!(done.unwrap().failed, []);
    }

    fn undo(&self) {
        match self.setups().undo(None) {
            Ok(_) | Err(SetupError::NothingToUndo { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// Every file in the home directory.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(&self.root.join("home"), Path::new(""), &mut files);
        files.retain(|path, _| !path.ends_with(".gitignore"));
        files
    }

    /// Whether each directory of the records has a record.
    fn has_records_alone(&self) -> bool {
        let setups = fs::read_dir(self.root.join("state/setup")).unwrap();
        let mut setups = setups.map(|setup| setup.unwrap().path());
        setups.all(|path| !path.is_dir() || path.join("record.json").exists())
    }
}

fn collect(root: &Path, below: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    let Ok(entries) = fs::read_dir(root.join(below)) else {
        return;
    };
    for entry in entries {
        let path = below.join(entry.unwrap().file_name());
        match root.join(&path) {
            directory if directory.is_dir() => collect(root, &path, files),
            file => {
                files.insert(path, fs::read(file).unwrap());
            }
        }
    }
}

/// Everything below `from`, with its modes, at `to`.
fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").args(["-a"]).args([from, to]).status();
    assert!(copied.unwrap().success());
}

#[expect(
    clippy::disallowed_methods,
    reason = "the test that starts this process says so what it does"
)]
fn is_task_of_this_process() -> bool {
    let Ok(task) = std::env::var(TASK) else {
        return false;
    };
    let parts: Vec<&str> = task.split('|').collect();
    let machine = Machine::at(Path::new(parts[0]));
    LAST.store(parts[2].parse().unwrap(), Ordering::Relaxed);
    match parts[1] {
        "Setup" => machine.setup(),
        _ => machine.undo(),
    }
    true
}

/// Does `work` in a process that is killed at `step`. Returns whether it came that far.
#[cfg(unix)]
fn is_killed(machine: &Machine, work: Work, step: usize) -> bool {
    use std::os::unix::process::ExitStatusExt as _;
    let name = "clients::kills::tests::what_a_process_leaves_that_is_killed_at_any_step_is_removed";
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(TASK, format!("{}|{work:?}|{step}", machine.root.display()))
        .output()
        .unwrap();
    let is_killed = output.status.signal() == Some(9);
    assert!(is_killed || output.status.success(), "{output:?}");
    is_killed
}

#[cfg(unix)]
#[test]
fn what_a_process_leaves_that_is_killed_at_any_step_is_removed() {
    if is_task_of_this_process() {
        return;
    }
    let before = BTreeMap::from([(Path::new("me").join(CURSOR), ENTRY.into())]);
    for work in [Work::Setup, Work::Undo] {
        let mut leftovers = 0;
        for step in 1.. {
            let directory = tempfile::tempdir().unwrap();
            let machine = Machine::at(&directory.path().join("one"));
            let file = machine.root.join("home/me").join(CURSOR);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, ENTRY).unwrap();
            if work == Work::Undo {
                machine.setup();
            }
            if !is_killed(&machine, work, step) {
                assert!(step > 15, "{work:?} has {step} steps");
                break;
            }
            let left = machine.files();
            leftovers += left
                .keys()
                .filter(|path| path.to_string_lossy().contains("limbeck-setup"))
                .count();
            let other = Machine::at(&directory.path().join("other"));
            copy(&machine.root, &other.root);
            machine.undo();
            assert_eq!(
                machine.files(),
                before,
                "{work:?}, undone after step {step}"
            );
            assert!(machine.has_records_alone(), "{work:?}, step {step}");
            other.setup();
            let after = other.files();
            assert_eq!(
                after.len(),
                3,
                "{work:?}, set up after step {step}: {after:?}"
            );
            assert!(other.has_records_alone(), "{work:?}, step {step}");
            other.undo();
            assert_eq!(other.files(), before, "{work:?}, both after step {step}");
        }
        // The control: such files were there.
        assert!(leftovers >= 5, "{work:?}: {leftovers}");
    }
}
