//! Processes below the test process, found by their parents. Each test runs in its own process.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Process id with the start time, which distinguishes it from a later process with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    parent: u32,
    started: u64,
}

impl Process {
    fn read(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name of the executable may contain spaces and parentheses.
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

    /// Kills the process and waits until its parent has reaped it. Until then one of its threads may keep the channel
    /// open, and the pool would take the worker for a live one.
    pub(crate) fn kill(self) {
        self.signal("KILL");
        while Self::read(self.pid) == Some(self) {
            std::thread::yield_now();
        }
    }

    /// Number of open descriptors.
    pub(crate) fn descriptors(self) -> usize {
        descriptors(Path::new(&format!("/proc/{}/fd", self.pid)))
    }
}

/// Number of open descriptors of this process, including the one that reads the list.
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

/// Child processes of this one: zygotes.
pub(crate) fn zygotes() -> Vec<Process> {
    children(&all(), std::process::id())
}

/// Children of the zygotes: running and idle workers.
pub(crate) fn workers() -> Vec<Process> {
    let all = all();
    let zygotes = children(&all, std::process::id());
    let workers = zygotes.iter().map(|zygote| children(&all, zygote.pid));
    workers.flatten().collect()
}
