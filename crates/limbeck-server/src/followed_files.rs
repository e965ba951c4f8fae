//! Files of the operator that are read again when they change: certificate and key, bearer tokens, configuration.
//!
//! A change is noticed by looking every few seconds, which also works on file systems without notifications and for
//! a file that is replaced through a link.

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Interval of looks.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Looks after which a change is reported although each look found another one.
const UNSETTLED_LOOKS_MAX: u32 = 5;

/// What distinguishes one content of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    modified: SystemTime,
    bytes: u64,
    /// Inode; 0 where the system has none.
    number: u64,
}

/// Stamp of a file; `None` when there is no regular file at `path`. Opening something else, such as a pipe, could block.
pub fn stamp(path: &Path) -> Option<FileStamp> {
    let stamp = || -> io::Result<Option<FileStamp>> {
        let metadata = std::fs::metadata(path)?;
        Ok(match metadata.is_file() {
            true => Some(FileStamp {
                modified: metadata.modified()?,
                bytes: metadata.len(),
                number: number(&metadata),
            }),
            false => None,
        })
    };
    stamp().ok().flatten()
}

#[cfg(unix)]
fn number(metadata: &std::fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    metadata.ino()
}

#[cfg(not(unix))]
fn number(_: &std::fs::Metadata) -> u64 {
    0
}

/// Calls `changed` whenever `look` returns something new; never returns.
pub(crate) async fn follow<T: PartialEq>(mut seen: T, look: impl Fn() -> T, changed: impl Fn()) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let now = look();
        if now != seen {
            seen = now;
            changed();
        }
    }
}

/// Waits until `look` returns something else than `seen`, and then until two looks in a row return the same, so that a file
/// is not read while it is written. What changes at every look is returned after [`UNSETTLED_LOOKS_MAX`] of them.
pub async fn settled_change<T: PartialEq>(seen: &T, every: Duration, look: impl Fn() -> T) -> T {
    let mut changed: Option<T> = None;
    let mut looks = 0;
    loop {
        tokio::time::sleep(every).await;
        let now = look();
        if now == *seen {
            // It was changed and changed back, or not at all.
            (changed, looks) = (None, 0);
            continue;
        }
        looks += 1;
        if changed.as_ref() == Some(&now) || looks >= UNSETTLED_LOOKS_MAX {
            return now;
        }
        changed = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// What is returned when the looks find `contents`, one after the other, and how many looks were made.
    async fn settled(contents: &[u32]) -> (u32, usize) {
        let looks = Cell::new(0);
        let look = || {
            let at = looks.get();
            looks.set(at + 1);
            contents[at.min(contents.len() - 1)]
        };
        let found = settled_change(&0, Duration::from_millis(1), look).await;
        (found, looks.get())
    }

    #[tokio::test]
    async fn a_change_is_reported_when_two_looks_in_a_row_find_it() {
        assert_eq!(settled(&[0, 0, 1, 1]).await, (1, 4));
        // The first content was there while the file was written.
        assert_eq!(settled(&[1, 2, 2]).await, (2, 3));
        assert_eq!(settled(&[1, 0, 2, 2]).await, (2, 4));
        assert_eq!(settled(&[1, 2, 3, 4, 5, 6]).await, (5, 5));
    }
}
