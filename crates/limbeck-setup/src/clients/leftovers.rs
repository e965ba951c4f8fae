//! Files beside a client's file that a process left there which was killed: recognized by their names and bytes, and removed.
//!
//! The new bytes of a file are written into `.NAME.limbeck-setupN.part`, which is only ever this program's. Complete, it
//! becomes `.NAME.limbeck-setupN` and is exchanged with the file, so afterwards it has what was in the file: the bytes that the
//! record names, or those that another program wrote in that moment. The latter go back into the file.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::record::{RecordedFile, digest};
use super::target::{self, Target};

/// Numbers of such files beside one file.
const NUMBERS_MAX: u32 = 8;
/// Ending of one that is not complete.
const PART: &str = ".part";

/// A new file beside another one, which this process is writing.
pub(super) struct FreshFile {
    /// Its path while it is written.
    part: PathBuf,
    /// Its path when it is complete.
    pub(super) whole: PathBuf,
    /// It is locked as long as its process lives.
    pub(super) file: File,
}

impl FreshFile {
    /// Creates one beside `real`, where a rename is possible.
    pub(super) fn create(real: &Path) -> io::Result<Self> {
        for number in 0..NUMBERS_MAX {
            let (part, whole) = paths(real, number);
            if fs::symlink_metadata(&whole).is_ok() {
                continue;
            }
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            match options.open(&part) {
                Ok(file) => {
                    // Where a file system has no locks, a change at the same time from another state directory may fail.
                    let _ = file.lock();
                    return Ok(Self { part, whole, file });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("files of earlier changes are beside it"))
    }

    /// Says that it is complete.
    pub(super) fn complete(&self) -> io::Result<()> {
        fs::rename(&self.part, &self.whole)
    }

    /// Removes it.
    pub(super) fn remove(&self) {
        let _ = fs::remove_file(&self.part);
        let _ = fs::remove_file(&self.whole);
    }
}

/// Removes what a killed process left beside the file `target`, whose record is `recorded` with `before` and `after`.
pub(super) fn sweep(
    target: &Target,
    recorded: &RecordedFile,
    before: &[u8],
    after: &[u8],
) -> io::Result<()> {
    for number in 0..NUMBERS_MAX {
        let (part, whole) = paths(&target.real, number);
        if is_own_file(&part) && is_abandoned(&part)? {
            fs::remove_file(&part)?;
        }
        if !is_own_file(&whole) {
            continue;
        }
        let Some(bytes) = target::read(&whole)? else {
            continue;
        };
        let found = digest(&bytes);
        let replaced = recorded.replacing.as_ref();
        let is_known = [before, after]
            .iter()
            .any(|known| known.starts_with(&bytes))
            || replaced.is_some_and(|replaced| replaced.contains(&found));
        if is_known {
            fs::remove_file(&whole)?;
            continue;
        }
        let present = target.bytes()?.map(|bytes| digest(&bytes));
        if present.is_some() && present.as_ref() == replaced.map(|[_, new]| new) {
            // Another program wrote the file in the moment of the exchange: its bytes are the last ones.
            fs::rename(&whole, &target.real)?;
        }
    }
    Ok(())
}

fn paths(real: &Path, number: u32) -> (PathBuf, PathBuf) {
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    let whole = format!(".{name}.limbeck-setup{number}");
    (
        real.with_file_name(format!("{whole}{PART}")),
        real.with_file_name(whole),
    )
}

/// Whether there is a file at `path`, and not a link or a directory.
fn is_own_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}

/// Whether no process is writing the file any more.
fn is_abandoned(part: &Path) -> io::Result<bool> {
    let locked = OpenOptions::new().write(true).open(part)?.try_lock();
    Ok(!matches!(locked, Err(TryLockError::WouldBlock)))
}
