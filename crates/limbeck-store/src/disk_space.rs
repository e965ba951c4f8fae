//! Free space of the file system that the state file is in.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use limbeck_domain::limits::DISK_FREE_BYTES_MIN;

use crate::error::StoreError;

/// Bytes of the index of a write-ahead log, and of a page of it.
const BESIDE_BYTES: u64 = 64 << 10;

/// Least free space, and where it is measured.
#[derive(Debug)]
pub(crate) struct DiskFloor {
    /// `None` for a store in memory.
    file: Option<PathBuf>,
    bytes_min: AtomicU64,
    /// Whether less was free at the last check.
    is_low: AtomicBool,
}

impl DiskFloor {
    pub(crate) fn new(file: Option<&Path>) -> Self {
        Self {
            file: file.map(Path::to_owned),
            bytes_min: AtomicU64::new(DISK_FREE_BYTES_MIN),
            is_low: AtomicBool::new(false),
        }
    }

    pub(crate) fn set(&self, bytes_min: u64) {
        self.bytes_min.store(bytes_min, Ordering::Relaxed);
    }

    /// Free space above the least; `None` for a store in memory, and where the file system gives no number.
    pub(crate) fn free_above(&self) -> Option<u64> {
        let free = free_bytes(self.file.as_ref()?)?;
        Some(free.saturating_sub(self.bytes_min.load(Ordering::Relaxed)))
    }

    /// Fails when less than the least space is free. A file system that gives no number counts as large.
    ///
    /// The log gets one line for each time that space becomes scarce, and not one for each caller: the log may be on the
    /// same disk.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let bytes_min = self.bytes_min.load(Ordering::Relaxed);
        match free_bytes(file) {
            Some(free) if free < bytes_min => {
                let error = StoreError::DiskLow {
                    path: file.clone(),
                    free_mib: free >> 20,
                    floor_mib: bytes_min >> 20,
                };
                if !self.is_low.swap(true, Ordering::Relaxed) {
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "the disk is nearly full, so programs are refused"
                    );
                }
                Err(error)
            }
            Some(_) | None => {
                self.is_low.store(false, Ordering::Relaxed);
                Ok(())
            }
        }
    }
}

/// Whether the file system of `file` has no room for what SQLite keeps beside a database.
pub(crate) fn is_full(file: &Path) -> bool {
    free_bytes(file).is_some_and(|free| free < BESIDE_BYTES)
}

#[cfg(unix)]
fn free_bytes(file: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(file.parent()?).ok()?;
    // A network file system may report no size at all.
    (found.f_blocks > 0).then(|| found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_than_the_floor_is_refused_and_a_store_in_memory_never_is() {
        let directory = tempfile::tempdir().unwrap();
        let floor = DiskFloor::new(Some(&directory.path().join("state.db")));
        floor.set(0);
        floor.check().unwrap();
        floor.set(u64::MAX);
        let error = floor.check().unwrap_err();
        assert!(matches!(error, StoreError::DiskLow { .. }) && error.hint().is_some());
        let memory = DiskFloor::new(None);
        memory.set(u64::MAX);
        memory.check().unwrap();
    }
}
