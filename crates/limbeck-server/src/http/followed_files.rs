//! Files of the operator that are read again when they change: certificate and key, bearer tokens.
//!
//! A change is noticed by looking every few seconds, which also works on file systems without notifications and for
//! a file that is replaced through a link.

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Interval of looks.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// What distinguishes one content of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileStamp {
    modified: SystemTime,
    bytes: u64,
    /// Inode; 0 where the system has none.
    number: u64,
}

/// Stamp of a file; `None` when there is no regular file at `path`. Opening something else, such as a pipe, could block.
pub(super) fn stamp(path: &Path) -> Option<FileStamp> {
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
pub(super) async fn follow<T: PartialEq>(mut seen: T, look: impl Fn() -> T, changed: impl Fn()) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let now = look();
        if now != seen {
            seen = now;
            changed();
        }
    }
}
