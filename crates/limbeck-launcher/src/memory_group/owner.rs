//! Names of groups, which say whose they are, and removal of those whose gateway is gone.

use std::fs;
use std::io;
use std::path::Path;

/// How the names of all groups of Limbeck begin.
const PREFIX: &str = "limbeck-";
/// Entries of a directory that are looked at.
const ENTRIES_MAX: usize = 10_000;
/// Fields of `/proc/PID/stat` between the name in brackets and the time of the start.
const FIELDS_BEFORE_START: usize = 19;

/// The process that made a group: its PID namespace, its id there, and when it started, because ids
/// come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    namespace: u64,
    pid: u32,
    started: u64,
}

impl Owner {
    pub(super) fn this_process() -> io::Result<Self> {
        let pid = std::process::id();
        Ok(Self {
            namespace: own_namespace()?,
            pid,
            started: started(pid).ok_or(io::ErrorKind::NotFound)?,
        })
    }

    /// Name of its group of this number.
    pub(super) fn name(self, number: u32) -> String {
        let Self {
            namespace,
            pid,
            started,
        } = self;
        format!("{PREFIX}{namespace}-{pid}-{started}-{number}")
    }

    fn of_name(name: &str) -> Option<Self> {
        let mut numbers = name.strip_prefix(PREFIX)?.split('-');
        let owner = Self {
            namespace: numbers.next()?.parse().ok()?,
            pid: numbers.next()?.parse().ok()?,
            started: numbers.next()?.parse().ok()?,
        };
        let _number: u32 = numbers.next()?.parse().ok()?;
        numbers.next().is_none().then_some(owner)
    }

    /// Whether it has ended. Of other PID namespaces this is not known.
    fn is_gone(self, namespace: u64) -> bool {
        self.namespace == namespace && started(self.pid) != Some(self.started)
    }
}

/// Removes groups in `parent` whose gateway was killed. The kernel keeps those that are not empty.
pub(super) fn sweep(parent: &Path) {
    let (Ok(namespace), Ok(entries)) = (own_namespace(), fs::read_dir(parent)) else {
        return;
    };
    for entry in entries.flatten().take(ENTRIES_MAX) {
        let owner = entry.file_name().to_str().and_then(Owner::of_name);
        if owner.is_some_and(|owner| owner.is_gone(namespace)) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Number of this process's PID namespace.
fn own_namespace() -> io::Result<u64> {
    let link = fs::read_link("/proc/self/ns/pid")?;
    let number = link.to_str().and_then(|link| {
        let number = link.strip_prefix("pid:[")?.strip_suffix(']')?;
        number.parse().ok()
    });
    number.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// When a process started, in ticks of the kernel; `None` when the process does not exist.
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split_ascii_whitespace();
    fields.nth(FIELDS_BEFORE_START)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_whose_group_it_is() {
        let owner = Owner::this_process().unwrap();
        assert_eq!(Owner::of_name(&owner.name(3)), Some(owner));
        for other in [
            "limbeck",
            "limbeck-1-2-3",
            "limbeck-1-2-3-4-5",
            "x-1-2-3-4",
            "limbeck-1-2-x-4",
        ] {
            assert_eq!(Owner::of_name(other), None, "{other}");
        }
    }

    #[test]
    fn groups_of_ended_gateways_are_removed_and_no_others() {
        let parent = tempfile::tempdir().unwrap();
        let ours = Owner::this_process().unwrap();
        let reused = Owner {
            started: ours.started + 1,
            ..ours
        };
        let ended = Owner {
            pid: u32::MAX,
            ..ours
        };
        let elsewhere = Owner {
            namespace: ours.namespace + 1,
            ..ended
        };
        let names = [
            ours.name(0),
            elsewhere.name(0),
            reused.name(0),
            ended.name(1),
        ];
        for name in names
            .iter()
            .map(String::as_str)
            .chain(["limbeck-notes", "other"])
        {
            fs::create_dir(parent.path().join(name)).unwrap();
        }
        // The kernel refuses to remove a group with processes, as any directory that is not empty.
        let held = parent.path().join(ended.name(2));
        fs::create_dir_all(held.join("in use")).unwrap();

        sweep(parent.path());

        let stays = |name: &str| parent.path().join(name).exists();
        assert_eq!(
            names.each_ref().map(|name| stays(name)),
            [true, true, false, false]
        );
        assert!(stays("limbeck-notes") && stays("other") && held.exists());
    }
}
