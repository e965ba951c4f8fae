//! Memory control group of a zygote and its workers: a bound on memory that no limit of a process
//! counts, such as shared memory, files in memory and the page cache.
//!
//! The zygote is moved into the group before it clones, so each worker is in it from its first
//! instruction. One group for all workers of a language, because the kernel takes 12 ms to move a
//! process and a worker starts in less; a zygote is moved once. The group may hold what its workers may
//! hold together, and follows their number.
//!
//! Where the system gives this process no place for a group, workers have the limits of a process alone.

mod owner;
mod place;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use limbeck_domain::limits::{GUEST_MEMORY_BYTES, WORKER_OVERHEAD_BYTES};

use owner::Owner;
use place::{Place, Version};

/// What one worker adds to the limit: the resident size that the gateway allows it, and 32 MiB for what
/// the kernel holds for it (page tables, its channel).
const WORKER_BYTES: u64 = (GUEST_MEMORY_BYTES + WORKER_OVERHEAD_BYTES) as u64 + (32 << 20);
/// Allowance for the zygote, whose pages the workers share, and for pages of the executable.
const ZYGOTE_BYTES: u64 = 128 << 20;
/// Time for the last worker to leave the group after its zygote was killed, and between two looks.
const REMOVE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_millis(2));
/// Largest counter file that is read.
const COUNTERS_BYTES_MAX: usize = 1024;

/// Groups that this process has made, for their names.
static MADE: AtomicU32 = AtomicU32::new(0);

/// A group with a zygote in it. Dropping it removes the directory, if the processes have ended.
#[derive(Debug)]
pub(crate) struct MemoryGroup {
    path: PathBuf,
    files: Files,
    limit: AtomicU64,
}

/// Open files of a group. Each is read and written from its start.
#[derive(Debug)]
struct Files {
    limit: File,
    /// Version 1: limit of memory and swap together; absent where the kernel does not count swap.
    limit_with_swap: Option<File>,
    used: File,
    /// The file with the line `oom_kill`.
    events: File,
}

impl MemoryGroup {
    /// Makes a group and moves the zygote `pid` into it; removes groups that killed gateways left.
    ///
    /// # Errors
    ///
    /// The reason why there is no group, for people.
    pub(crate) fn around(pid: u32) -> Result<Self, String> {
        let place = Place::find()?;
        let failed = |error: io::Error| format!("{}: {error}", place.parent.display());
        owner::sweep(&place.parent);
        let owner = Owner::this_process().map_err(failed)?;
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let group = Self::make(place.version, place.parent.join(owner.name(number)));
        let group = group.map_err(failed)?;
        let processes = group.path.join("cgroup.procs");
        fs::write(processes, pid.to_string()).map_err(failed)?;
        Ok(group)
    }

    fn make(version: Version, path: PathBuf) -> io::Result<Self> {
        fs::create_dir(&path)?;
        match Files::open(version, &path) {
            Ok(files) => Ok(Self {
                path,
                files,
                limit: AtomicU64::new(limit_of(0)),
            }),
            Err(error) => {
                // Nothing is in it. Another gateway removes it once this one has ended.
                let _ = fs::remove_dir(&path);
                Err(error)
            }
        }
    }

    /// Its directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Sets the limit to what the zygote and `workers` may hold together. Calls must not overlap.
    ///
    /// It is not lowered while more is in use: to enforce that the kernel would look for pages to take, and
    /// kill a process. A later change lowers it.
    pub(crate) fn allow(&self, workers: usize) {
        let (old, new) = (self.limit.load(Ordering::Relaxed), limit_of(workers));
        if new == old || (new < old && self.files.used().is_none_or(|used| used >= new)) {
            return;
        }
        match self.files.set_limit(new, new > old) {
            Ok(()) => self.limit.store(new, Ordering::Relaxed),
            Err(error) => {
                tracing::warn!(%error, path = %self.path.display(), "the memory of workers has an old limit");
            }
        }
    }

    /// How many of its processes the kernel has killed for want of memory.
    pub(crate) fn kills(&self) -> u64 {
        let counters = read(&self.files.events).unwrap_or_default();
        counter(&counters, "oom_kill").unwrap_or(0)
    }

    /// Removes the directory once every process in it has ended, which was killed before.
    pub(crate) async fn remove(&self) {
        let (most, pause) = REMOVE;
        let removing = async {
            while fs::remove_dir(&self.path)
                .is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy)
            {
                tokio::time::sleep(pause).await;
            }
        };
        if tokio::time::timeout(most, removing).await.is_err() {
            // The next gateway tries again, when this one has ended.
            tracing::warn!(path = %self.path.display(), "the group of ended workers is not empty");
        }
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // The zygote may still end, or the directory be gone. The next gateway removes what is left.
        let _ = fs::remove_dir(&self.path);
    }
}

impl Files {
    /// Opens them in a new group, and limits it.
    fn open(version: Version, group: &Path) -> io::Result<Self> {
        let write = |name: &str| File::options().write(true).open(group.join(name));
        let read = |name: &str| File::open(group.join(name));
        let files = match version {
            Version::One => Self {
                limit: write("memory.limit_in_bytes")?,
                limit_with_swap: present(write("memory.memsw.limit_in_bytes"))?,
                used: read("memory.usage_in_bytes")?,
                events: read("memory.oom_control")?,
            },
            Version::Two => {
                if let Some(swap) = present(write("memory.swap.max"))? {
                    set(&swap, 0)?;
                }
                Self {
                    limit: write("memory.max")?,
                    limit_with_swap: None,
                    used: read("memory.current")?,
                    events: read("memory.events")?,
                }
            }
        };
        // From no limit to the first, the order is that of lowering.
        files.set_limit(limit_of(0), false)?;
        Ok(files)
    }

    /// The limit of memory is never above that of memory and swap: the kernel refuses it.
    fn set_limit(&self, bytes: u64, raised: bool) -> io::Result<()> {
        let with_swap = self.limit_with_swap.as_ref();
        let with_swap = || with_swap.map_or(Ok(()), |file| set(file, bytes));
        if raised {
            with_swap()?;
        }
        set(&self.limit, bytes)?;
        if raised { Ok(()) } else { with_swap() }
    }

    fn used(&self) -> Option<u64> {
        read(&self.used).ok()?.trim_ascii_end().parse().ok()
    }
}

/// What a zygote and `workers` may hold together.
fn limit_of(workers: usize) -> u64 {
    WORKER_BYTES
        .saturating_mul(workers as u64)
        .saturating_add(ZYGOTE_BYTES)
}

/// `None` for a file that this kernel does not have.
fn present(file: io::Result<File>) -> io::Result<Option<File>> {
    match file {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn set(file: &File, bytes: u64) -> io::Result<()> {
    file.write_all_at(bytes.to_string().as_bytes(), 0)
}

fn read(file: &File) -> io::Result<String> {
    let mut bytes = [0; COUNTERS_BYTES_MAX];
    let length = file.read_at(&mut bytes, 0)?;
    Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

/// The number behind `name` at the start of a line.
fn counter(counters: &str, name: &str) -> Option<u64> {
    counters.lines().find_map(|line| {
        let (key, number) = line.split_once(' ')?;
        (key == name).then(|| number.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A group as the kernel makes it, of files.
    fn group(version: Version, files: &[(&str, &str)]) -> (tempfile::TempDir, MemoryGroup) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_owned();
        for (name, text) in files {
            fs::write(path.join(name), text).unwrap();
        }
        let group = MemoryGroup {
            files: Files::open(version, &path).unwrap(),
            path,
            limit: AtomicU64::new(limit_of(0)),
        };
        (directory, group)
    }

    fn bytes(group: &MemoryGroup, name: &str) -> u64 {
        let text = fs::read_to_string(group.path.join(name)).unwrap();
        text.trim_end_matches('\n').parse().unwrap()
    }

    const VERSION_2: &[(&str, &str)] = &[
        ("memory.max", ""),
        ("memory.swap.max", ""),
        ("memory.current", "4096\n"),
        (
            "memory.events",
            "low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\noom_group_kill 0\n",
        ),
    ];

    #[test]
    fn a_group_of_version_2_is_limited_without_swap_and_follows_the_number_of_workers() {
        let (_directory, group) = group(Version::Two, VERSION_2);
        assert_eq!(bytes(&group, "memory.max"), ZYGOTE_BYTES);
        assert_eq!(bytes(&group, "memory.swap.max"), 0);
        group.allow(2);
        assert_eq!(bytes(&group, "memory.max"), ZYGOTE_BYTES + 2 * WORKER_BYTES);
        assert_eq!(group.kills(), 1);
    }

    #[test]
    fn the_limit_is_lowered_when_less_is_used_and_stays_while_more_is() {
        let (_directory, group) = group(Version::Two, VERSION_2);
        group.allow(12);
        let high = bytes(&group, "memory.max");
        let used = (ZYGOTE_BYTES + 11 * WORKER_BYTES).to_string();
        fs::write(group.path.join("memory.current"), used).unwrap();
        group.allow(11);
        assert_eq!(bytes(&group, "memory.max"), high);
        fs::write(group.path.join("memory.current"), "4096\n").unwrap();
        group.allow(11);
        assert_eq!(bytes(&group, "memory.max"), high - WORKER_BYTES);
    }

    #[test]
    fn a_group_of_version_1_counts_swap_where_the_kernel_does() {
        let files = &[
            ("memory.limit_in_bytes", ""),
            ("memory.usage_in_bytes", "4096\n"),
            (
                "memory.oom_control",
                "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
            ),
            ("memory.memsw.limit_in_bytes", ""),
        ];
        for files in [&files[..], &files[..3]] {
            let (_directory, group) = group(Version::One, files);
            group.allow(1);
            for (name, _) in files.iter().filter(|(name, _)| name.contains("limit")) {
                assert_eq!(bytes(&group, name), ZYGOTE_BYTES + WORKER_BYTES, "{name}");
            }
            assert_eq!(group.kills(), 3);
        }
    }

    #[test]
    fn a_group_without_a_limit_is_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("group");
        let made = MemoryGroup::make(Version::Two, path.clone());
        assert_eq!(made.unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(!path.exists());
    }
}
