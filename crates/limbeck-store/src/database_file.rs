//! The database file: opened only where no other user can have prepared it.
//!
//! The file holds program texts and tool results, so only its owner may read it: mode 0600 in a directory
//! of mode 0700. The checks use the file's name and not a descriptor, because closing any descriptor of a
//! database drops every lock that this process holds on it (POSIX record locks). The directory is checked
//! first and lets no other user replace the name.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::error::StoreError;
use crate::owner_locks::OwnerLocks;
use crate::{private_directory, schema};

/// An open database.
pub(crate) struct OpenDatabase {
    /// The file, links in its directory resolved.
    pub(crate) path: PathBuf,
    pub(crate) owner_locks: OwnerLocks,
    pub(crate) writer: Connection,
    pub(crate) reader: Connection,
}

/// Opens or creates the database at `path`.
///
/// # Errors
///
/// [`StoreError::Unsafe`] for a file or directory that another user could have written, and the errors of
/// [`schema::migrate`].
pub(crate) fn open(path: &Path) -> Result<OpenDatabase, StoreError> {
    let path = in_real_directory(path)?;
    let owner_locks = OwnerLocks::beside(&path)?;
    // Two gateways that start at the same time would both find an empty file and create the tables.
    let _opening = owner_locks.lock_opening()?;
    check_file(&path)?;
    let mut writer = connect(&path)?;
    schema::migrate(&mut writer, &path)?;
    let reader = connect(&path)?;
    reader
        .pragma_update(None, "query_only", true)
        .map_err(|error| StoreError::from_sqlite(&path, schema::BUSY_MS, error))?;
    Ok(OpenDatabase {
        path,
        owner_locks,
        writer,
        reader,
    })
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_EXRESCODE;
    Connection::open_with_flags(path, flags)
        .and_then(|connection| schema::configure(&connection).map(|()| connection))
        .map_err(|error| StoreError::from_sqlite(path, schema::BUSY_MS, error))
}

/// Creates the directory when it is missing and resolves links in its path; the file itself must not be a
/// link.
fn in_real_directory(path: &Path) -> Result<PathBuf, StoreError> {
    let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else {
        return Err(unsafe_file(path, "names a directory"));
    };
    let parent = if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    };
    private_directory::create(parent).map_err(|error| StoreError::io(parent, error))?;
    let parent = fs::canonicalize(parent).map_err(|error| StoreError::io(parent, error))?;
    check_directory(path, &parent)?;
    Ok(parent.join(name))
}

fn unsafe_file(path: &Path, problem: impl Into<String>) -> StoreError {
    StoreError::Unsafe {
        path: path.to_owned(),
        problem: problem.into(),
    }
}

#[cfg(unix)]
fn check_directory(path: &Path, directory: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::MetadataExt as _;
    let found = fs::metadata(directory).map_err(|error| StoreError::io(directory, error))?;
    let user = rustix::process::geteuid().as_raw();
    if found.uid() != user && found.uid() != 0 {
        return Err(unsafe_file(
            path,
            format!("is in a directory of user {}", found.uid()),
        ));
    }
    // In a sticky directory such as /tmp, users can rename only their own files.
    if found.mode() & 0o002 != 0 && found.mode() & 0o1000 == 0 {
        return Err(unsafe_file(
            path,
            "is in a directory that every user can write to",
        ));
    }
    Ok(())
}

#[cfg(unix)]
fn check_file(path: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
    let created = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    match created {
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(StoreError::io(path, error)),
    }
    let found = fs::symlink_metadata(path).map_err(|error| StoreError::io(path, error))?;
    if found.is_symlink() {
        return Err(unsafe_file(path, "is a symbolic link"));
    }
    if !found.is_file() {
        return Err(unsafe_file(path, "is not a regular file"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(unsafe_file(
            path,
            format!("belongs to user {}", found.uid()),
        ));
    }
    if found.mode() & 0o077 != 0 {
        // It may have been copied here with wide permissions. Narrowing them protects what comes next; what
        // other users have read already cannot be taken back.
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))
            .map_err(|error| StoreError::io(path, error))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_directory(_: &Path, _: &Path) -> Result<(), StoreError> {
    Ok(())
}

#[cfg(not(unix))]
fn check_file(path: &Path) -> Result<(), StoreError> {
    let created = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path);
    match created {
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(StoreError::io(path, error)),
    }
    let found = fs::symlink_metadata(path).map_err(|error| StoreError::io(path, error))?;
    if !found.is_file() {
        return Err(unsafe_file(path, "is not a regular file"));
    }
    Ok(())
}
