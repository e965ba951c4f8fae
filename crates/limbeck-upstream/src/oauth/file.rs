//! Owner-only files with atomic replacement.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::error::OAuthError;
use super::random::random_word;

/// Longest token file: two large JWTs and the other fields.
const FILE_BYTES_MAX: u64 = 256 << 10;
/// Longest wait for a lock: one refresh with its discovery, and a reserve.
const LOCK_WAIT: Duration = Duration::from_secs(60);
/// Pause between two attempts to lock.
const LOCK_POLL: Duration = Duration::from_millis(20);

/// Reads `path`; `None` when there is no file.
///
/// A symbolic link is an error. A file that others may read is restricted to its owner first: it was probably
/// copied or restored, and rejecting it would not make it secret again.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, OAuthError> {
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(OAuthError::file(path, error)),
    };
    let content = restrict(&file).and_then(|()| bounded(file));
    let content = content.map_err(|error| OAuthError::file(path, error))?;
    content.map(Some).ok_or_else(|| OAuthError::Content {
        path: path.to_owned(),
        reason: format!("it has more than {FILE_BYTES_MAX} bytes"),
    })
}

/// Reads a file of another program: links are followed, permissions unchanged.
pub(super) fn read_foreign(path: &Path) -> Option<Vec<u8>> {
    bounded(File::open(path).ok()?).ok().flatten()
}

/// Identity of a file, which changes whenever [`write`] replaces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileStamp {
    modified: Option<SystemTime>,
    length: u64,
    number: u64,
}

/// Returns the stamp of the file at `path`; `None` when it cannot be read.
pub(super) fn stamp(path: &Path) -> Option<FileStamp> {
    let metadata = fs::symlink_metadata(path).ok()?;
    Some(FileStamp {
        modified: metadata.modified().ok(),
        length: metadata.len(),
        number: number(&metadata),
    })
}

#[cfg(unix)]
fn number(metadata: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    metadata.ino()
}

#[cfg(not(unix))]
fn number(_metadata: &fs::Metadata) -> u64 {
    0
}

fn bounded(file: File) -> io::Result<Option<Vec<u8>>> {
    let mut content = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut content)?;
    Ok((content.len() as u64 <= FILE_BYTES_MAX).then_some(content))
}

#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    // `NONBLOCK`: opening a FIFO in place of the file must not hang.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a file"))
    }
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    if fs::symlink_metadata(path)?.is_symlink() {
        return Err(io::Error::other("it is a link"));
    }
    File::open(path)
}

#[cfg(unix)]
fn restrict(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = file.metadata()?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!(
            "a token file was readable by others (mode {:03o}); its permissions are owner-only now",
            mode & 0o777
        );
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn restrict(_file: &File) -> io::Result<()> {
    Ok(())
}

/// Creates `directory`, owner-only, and its parents with default permissions.
pub(super) fn make_directory(directory: &Path) -> Result<(), OAuthError> {
    let made =
        fs::create_dir_all(directory.parent().unwrap_or(directory)).and_then(|()| match only_ours(
            directory,
        ) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => close(directory),
            made => made,
        });
    made.map_err(|error| OAuthError::file(directory, error))
}

#[cfg(unix)]
fn only_ours(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().mode(0o700).create(directory)
}

#[cfg(unix)]
fn close(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = fs::symlink_metadata(directory)?;
    if !metadata.is_dir() {
        return Err(io::Error::other("it is not a directory"));
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn only_ours(directory: &Path) -> io::Result<()> {
    fs::create_dir(directory)
}

#[cfg(not(unix))]
fn close(_directory: &Path) -> io::Result<()> {
    Ok(())
}

/// Replaces the content of `path`: writes a new file beside it, syncs and renames it. A reader sees the old
/// content or the new.
pub(super) fn write(path: &Path, content: &[u8]) -> Result<(), OAuthError> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.new", random_word()));
    let fresh = PathBuf::from(name);
    let written = new_file(&fresh)
        .and_then(|mut file| {
            file.write_all(content)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&fresh, path));
    if let Err(error) = written {
        let _ = fs::remove_file(&fresh);
        return Err(OAuthError::file(path, error));
    }
    // Sync the rename. A file system that does not support this can lose only the rename.
    if let Some(Ok(directory)) = path.parent().map(File::open) {
        let _ = directory.sync_all();
    }
    Ok(())
}

#[cfg(unix)]
fn owner_only(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.mode(0o600)
}

#[cfg(not(unix))]
fn owner_only(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

fn new_file(path: &Path) -> io::Result<File> {
    owner_only(OpenOptions::new().write(true).create_new(true)).open(path)
}

/// Removes `path`, if it exists.
pub(super) fn remove(path: &Path) -> Result<(), OAuthError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(OAuthError::file(path, error)),
        _ => Ok(()),
    }
}

/// Waits for the lock on `path`, which is created when missing. The lock is held until the file is dropped.
///
/// Excludes other processes only: tasks of one process hold a mutex first.
pub(super) async fn lock(path: &Path) -> Result<File, OAuthError> {
    let failed = |error| OAuthError::file(path, error);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let file = owner_only(&mut options).open(path).map_err(failed)?;
    let until = tokio::time::Instant::now() + LOCK_WAIT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            // Polling instead of a blocking lock, which could not be cancelled.
            Err(TryLockError::WouldBlock) if tokio::time::Instant::now() < until => {
                tokio::time::sleep(LOCK_POLL).await;
            }
            Err(TryLockError::WouldBlock) => {
                return Err(OAuthError::Locked {
                    path: path.to_owned(),
                    seconds: LOCK_WAIT.as_secs(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
    }
}
