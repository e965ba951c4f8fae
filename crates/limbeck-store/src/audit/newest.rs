//! The newest record, noted in a file beside the store, so that records that were cut off at the end are missed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::chain::{Link, hex, link_of_hex};
use super::checkpoint::{CheckpointFiles, Checkpoints};
use crate::tables::timestamp::now_us;

/// Records after which the file is written again.
const RECORDS_BETWEEN: u64 = 1_000;
/// Time after which the file is written again when there are new records.
const TIME_BETWEEN: Duration = Duration::from_secs(10);
/// Longest file that is read: it has one number and one hash.
const FILE_BYTES_MAX: u64 = 4_096;

/// Number and hash of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Newest {
    pub(crate) seq: u64,
    pub(crate) hash: Link,
}

/// The file's contents.
#[derive(Serialize, Deserialize)]
struct Contents {
    seq: u64,
    hash: String,
}

/// The file of one writer, and what was written to it last.
pub(crate) struct NewestFile {
    path: PathBuf,
    written: Option<(u64, Instant)>,
    /// What is newer than the file.
    unwritten: Option<Newest>,
    checkpoints: Option<CheckpointFiles>,
}

impl NewestFile {
    /// The file that belongs to a store.
    pub(crate) fn of(store: &Path) -> PathBuf {
        store.with_extension("audit.json")
    }

    pub(crate) fn new(store: &Path, checkpoints: Option<Checkpoints>) -> Self {
        Self {
            path: Self::of(store),
            written: None,
            unwritten: None,
            checkpoints: checkpoints.map(|checkpoints| CheckpointFiles::new(checkpoints, store)),
        }
    }

    /// Notes the newest committed record, and writes the file when that is due.
    pub(crate) fn advance(&mut self, newest: Newest) {
        self.unwritten = Some(newest);
        let is_due = self.written.is_none_or(|(seq, at)| {
            newest.seq.saturating_sub(seq) >= RECORDS_BETWEEN || at.elapsed() >= TIME_BETWEEN
        });
        if is_due {
            self.write();
        }
    }

    /// Writes what is newer than the file.
    pub(crate) fn write(&mut self) {
        let Some(newest) = self.unwritten.take() else {
            return;
        };
        self.written = Some((newest.seq, Instant::now()));
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.write(&newest, now_us());
        }
        if let Err(error) = write(&self.path, &newest) {
            tracing::warn!(
                path = %self.path.display(),
                error = &error as &dyn std::error::Error,
                "the newest record of the audit trail could not be noted"
            );
        }
    }
}

/// Replaces the file, so that a process that ends while it writes leaves the old one.
fn write(path: &Path, newest: &Newest) -> io::Result<()> {
    let contents = Contents {
        seq: newest.seq,
        hash: hex(&newest.hash),
    };
    let scratch = path.with_extension(format!("{}.new", std::process::id()));
    fs::write(&scratch, serde_json::to_string(&contents)? + "\n")?;
    fs::rename(&scratch, path)
}

/// What the file of `store` says; `None` without a file.
///
/// # Errors
///
/// A file that cannot be read, or has something else.
pub(super) fn read(store: &Path) -> io::Result<Option<Newest>> {
    let path = NewestFile::of(store);
    match fs::metadata(&path) {
        Ok(found) if found.len() > FILE_BYTES_MAX => Err(io::ErrorKind::InvalidData.into()),
        Ok(_) => {
            let contents: Contents = serde_json::from_str(&fs::read_to_string(&path)?)?;
            let hash = link_of_hex(&contents.hash).ok_or(io::ErrorKind::InvalidData)?;
            let seq = contents.seq;
            Ok(Some(Newest { seq, hash }))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
