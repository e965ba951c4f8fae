//! The processes below this one, by their parents: each test is a process of its own.

use std::fs;
use std::path::Path;
use std::process::Command;

/// A process, told from a later one of the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    parent: u32,
    started: u64,
}

impl Process {
    fn read(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name may hold anything.
        let (_, fields) = stat.rsplit_once(") ")?;
        let mut fields = fields.split(' ').skip(1);
        Some(Self {
            pid,
            parent: fields.next()?.parse().ok()?,
            started: fields.nth(17)?.parse().ok()?,
        })
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(self, name: &str) {
        let status = Command::new("kill")
            .args(["-s", name, &self.pid.to_string()])
            .status();
        assert!(status.is_ok());
    }

    /// Kills it and waits until its parent has reaped it. Before that one of its threads may still
    /// hold the channel open, and it looks alive to whoever takes it.
    pub(crate) fn kill(self) {
        self.signal("KILL");
        while Self::read(self.pid) == Some(self) {
            std::thread::yield_now();
        }
    }

    /// Open descriptors.
    pub(crate) fn descriptors(self) -> usize {
        descriptors(Path::new(&format!("/proc/{}/fd", self.pid)))
    }
}

/// Open descriptors of this process, the one that counts among them.
pub(crate) fn own_descriptors() -> usize {
    descriptors(Path::new("/proc/self/fd"))
}

fn descriptors(directory: &Path) -> usize {
    fs::read_dir(directory).map_or(0, Iterator::count)
}

/// Resident memory of this process in bytes.
pub(crate) fn own_resident() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

fn all() -> Vec<Process> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(Process::read).collect()
}

fn children(all: &[Process], parent: u32) -> Vec<Process> {
    let children = all.iter().filter(|process| process.parent == parent);
    children.copied().collect()
}

/// The processes this one has started: zygotes.
pub(crate) fn zygotes() -> Vec<Process> {
    children(&all(), std::process::id())
}

/// What zygotes have cloned: the worker that runs a program, those that wait for one.
pub(crate) fn workers() -> Vec<Process> {
    let all = all();
    let zygotes = children(&all, std::process::id());
    let workers = zygotes.iter().map(|zygote| children(&all, zygote.pid));
    workers.flatten().collect()
}
