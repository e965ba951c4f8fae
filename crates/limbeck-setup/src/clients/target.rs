//! Replacement of one file at once: after a crash it has the old bytes or the new ones.
//!
//! A link stays a link and its target is replaced. Mode and owner stay. A file with several names, and one in a directory
//! that cannot be written, is written in place. What another program wrote meanwhile is not lost: the files are exchanged,
//! and the one that came out is compared with what was read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::kills;
use super::leftovers::FreshFile;
use crate::load::CLIENT_STATE_BYTES_MAX;
use crate::trust::create_directory;
use crate::world::World;

/// Links that are followed to a target that does not exist.
const LINKS_MAX: usize = 16;

/// A file that is going to be replaced.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// The file itself, behind links.
    pub(super) real: PathBuf,
    /// Whether it is written in place.
    pub(super) in_place: bool,
}

/// Why a file was not replaced.
#[derive(Debug)]
pub(super) enum ReplaceError {
    /// Another program wrote it since it was read.
    Changed,
    /// Error of the system.
    Io(io::Error),
}

impl From<io::Error> for ReplaceError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Target {
    /// The file behind `path`, a path of `world`.
    ///
    /// # Errors
    ///
    /// Why it cannot be written, a fragment that follows its name.
    pub(super) fn of(world: &World, path: &Path) -> Result<Self, String> {
        let real = behind_links(world.on_disk(path))?;
        let Some(directory) = real.parent() else {
            return Err("has no directory".to_owned());
        };
        let Ok(found) = fs::metadata(&real) else {
            return if can_create_in(directory) {
                Ok(Self {
                    real,
                    in_place: false,
                })
            } else {
                Err("cannot be created: its directory is read-only".to_owned())
            };
        };
        if !found.is_file() {
            return Err("is not a file".to_owned());
        }
        if is_read_only(&found) || !can_write(&real) {
            return Err("is read-only".to_owned());
        }
        let in_place = has_other_names(&found) || !can_write(directory);
        Ok(Self { real, in_place })
    }

    /// Present bytes; `None` when there is no file.
    pub(super) fn bytes(&self) -> io::Result<Option<Vec<u8>>> {
        read(&self.real)
    }

    /// Replaces `before`, the bytes that were read, by `after`. `None` is a file that does not exist.
    pub(super) fn replace(
        &self,
        before: Option<&[u8]>,
        after: Option<&[u8]>,
    ) -> Result<(), ReplaceError> {
        let directory = self.real.parent().unwrap_or(Path::new("/"));
        let Some(after) = after else {
            self.expect(before)?;
            fs::remove_file(&self.real)?;
            return Ok(sync_directory(directory)?);
        };
        if self.in_place {
            self.expect(before)?;
            return Ok(write_in_place(&self.real, after)?);
        }
        create_directory(directory)?;
        let mut fresh = FreshFile::create(&self.real)?;
        let moved = self.fill(&mut fresh, after);
        let moved = moved
            .map_err(ReplaceError::Io)
            .and_then(|()| self.put(&fresh.whole, before, after));
        if moved.is_err() {
            fresh.remove();
        }
        moved?;
        kills::point();
        Ok(sync_directory(directory)?)
    }

    /// Writes the new bytes, with mode and owner of the old file.
    fn fill(&self, fresh: &mut FreshFile, after: &[u8]) -> io::Result<()> {
        kills::point();
        let (first, rest) = after.split_at(after.len() / 2);
        fresh.file.write_all(first)?;
        kills::point();
        fresh.file.write_all(rest)?;
        keep_owner(&self.real, &fresh.file)?;
        fresh.file.sync_all()?;
        kills::point();
        fresh.complete()?;
        kills::point();
        Ok(())
    }

    /// Puts the file `fresh` in place.
    fn put(&self, fresh: &Path, before: Option<&[u8]>, after: &[u8]) -> Result<(), ReplaceError> {
        self.expect(before)?;
        let Some(before) = before else {
            // Of two programs that create a file, one succeeds.
            match fs::hard_link(fresh, &self.real) {
                Ok(()) => {
                    kills::point();
                    fs::remove_file(fresh)?;
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    return Err(ReplaceError::Changed);
                }
                Err(_) => fs::rename(fresh, &self.real)?,
            }
            return Ok(());
        };
        match exchange(fresh, &self.real) {
            Ok(()) => {
                kills::point();
                if read(fresh)?.as_deref() == Some(before) {
                    fs::remove_file(fresh)?;
                    return Ok(());
                }
                // Another program wrote between the reading and the exchange: its bytes go back.
                exchange(fresh, &self.real)?;
                if read(fresh)?.as_deref() != Some(after) {
                    // It wrote again meanwhile, over the new file: its last bytes stay.
                    exchange(fresh, &self.real)?;
                }
                Err(ReplaceError::Changed)
            }
            // A file system without exchange.
            Err(_) => Ok(fs::rename(fresh, &self.real)?),
        }
    }

    fn expect(&self, before: Option<&[u8]>) -> Result<(), ReplaceError> {
        if self.bytes()?.as_deref() == before {
            Ok(())
        } else {
            Err(ReplaceError::Changed)
        }
    }
}

/// Bytes of a file of bounded size.
pub(super) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    let bytes_max = CLIENT_STATE_BYTES_MAX as u64;
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::other("the file is too large"));
    }
    Ok(Some(bytes))
}

fn write_in_place(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()
}

/// Whether `current` is what a process that was killed leaves of `after` written in place over `before`.
pub(super) fn is_torn(current: &[u8], before: &[u8], after: &[u8]) -> bool {
    let same = |a: &[u8], b: &[u8]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let written = same(current, after);
    let rest = current.get(written..).unwrap_or_default();
    let old = before.get(written.min(before.len())..).unwrap_or_default();
    current != after && current != before && written > 0 && rest == old
}

/// The path that a chain of links leads to, whether it exists or not.
fn behind_links(path: PathBuf) -> Result<PathBuf, String> {
    if let Ok(real) = path.canonicalize() {
        return Ok(real);
    }
    let mut path = path;
    for _ in 0..LINKS_MAX {
        match fs::read_link(&path) {
            Ok(next) => path = path.parent().unwrap_or(Path::new("/")).join(next),
            Err(_) => return Ok(path),
        }
    }
    Err("is a link to itself".to_owned())
}

fn can_create_in(directory: &Path) -> bool {
    let existing = directory.ancestors().find(|above| above.exists());
    existing.is_some_and(can_write)
}

#[cfg(unix)]
fn can_write(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(not(unix))]
fn can_write(_: &Path) -> bool {
    true
}

/// Whether the owner of a file made it read-only, which its mode says also to an administrator.
#[cfg(unix)]
fn is_read_only(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    found.mode() & 0o200 == 0
}

#[cfg(not(unix))]
fn is_read_only(found: &fs::Metadata) -> bool {
    found.permissions().readonly()
}

#[cfg(unix)]
fn has_other_names(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    found.nlink() > 1
}

#[cfg(not(unix))]
fn has_other_names(_: &fs::Metadata) -> bool {
    false
}

/// Gives the new file mode and owner of the old one. A new file is its owner's alone.
#[cfg(unix)]
fn keep_owner(old: &Path, new: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let Ok(old) = fs::metadata(old) else {
        return Ok(());
    };
    let own = new.metadata()?;
    if (old.uid(), old.gid()) != (own.uid(), own.gid()) {
        std::os::unix::fs::fchown(new, Some(old.uid()), Some(old.gid()))?;
    }
    new.set_permissions(fs::Permissions::from_mode(old.mode() & 0o7777))
}

#[cfg(not(unix))]
fn keep_owner(_: &Path, _: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Makes a rename in `directory` durable.
fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}
