//! Opens the state file so that nobody else can have prepared it.
//!
//! The file holds program texts and tool results, so it is its owner's alone: 0600 in a directory
//! 0700. The checks go by name, not by descriptor, and must: closing any descriptor of a database
//! drops every lock this process holds on it (POSIX record locks), and the directory, checked first,
//! lets no one else swap the name.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::error::StoreError;
use crate::owner::Owners;
use crate::schema;

/// Opens or creates the database at `path`: one connection to write with, one to read with.
///
/// # Errors
///
/// [`StoreError::Unsafe`] for a file or directory others could have written, and whatever
/// [`schema::migrate`] refuses.
pub(crate) fn open(path: &Path) -> Result<(PathBuf, Owners, Connection, Connection), StoreError> {
    let path = in_real_directory(path)?;
    let owners = Owners::beside(&path)?;
    // Two gateways that start at once would both find an empty file; one at a time makes the tables.
    let _opening = owners.opening()?;
    check_file(&path)?;
    let mut writer = connect(&path)?;
    schema::migrate(&mut writer, &path)?;
    let reader = connect(&path)?;
    reader
        .pragma_update(None, "query_only", true)
        .map_err(|error| StoreError::from_sqlite(&path, schema::BUSY_MS, error))?;
    Ok((path, owners, writer, reader))
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

/// Makes the directory when it is missing and resolves links in it; the file itself may not be one.
fn in_real_directory(path: &Path) -> Result<PathBuf, StoreError> {
    let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else {
        return Err(not_usable(path, "names a directory"));
    };
    let parent = if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    };
    make_directory(parent).map_err(|error| StoreError::io(parent, error))?;
    let parent = fs::canonicalize(parent).map_err(|error| StoreError::io(parent, error))?;
    check_directory(path, &parent)?;
    Ok(parent.join(name))
}

fn not_usable(path: &Path, problem: impl Into<String>) -> StoreError {
    StoreError::Unsafe {
        path: path.to_owned(),
        problem: problem.into(),
    }
}

/// Creates `directory` and what leads to it for its owner alone; one that exists is left as it is.
#[cfg(unix)]
pub(crate) fn make_directory(directory: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

#[cfg(unix)]
fn check_directory(path: &Path, directory: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::MetadataExt as _;
    let found = fs::metadata(directory).map_err(|error| StoreError::io(directory, error))?;
    let us = rustix::process::geteuid().as_raw();
    if found.uid() != us && found.uid() != 0 {
        return Err(not_usable(
            path,
            format!("is in a directory of user {}", found.uid()),
        ));
    }
    // Sticky directories such as /tmp let nobody rename what is not theirs.
    if found.mode() & 0o002 != 0 && found.mode() & 0o1000 == 0 {
        return Err(not_usable(path, "is in a directory everybody can write to"));
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
        return Err(not_usable(path, "is a symbolic link"));
    }
    if !found.is_file() {
        return Err(not_usable(path, "is not a regular file"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(not_usable(path, format!("belongs to user {}", found.uid())));
    }
    if found.mode() & 0o077 != 0 {
        // It may have been copied here; what others could read before cannot be taken back.
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))
            .map_err(|error| StoreError::io(path, error))?;
    }
    Ok(())
}

/// Elsewhere the profile directory's own access list has to do; only links are refused.
#[cfg(not(unix))]
pub(crate) fn make_directory(directory: &Path) -> std::io::Result<()> {
    fs::create_dir_all(directory)
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
        return Err(not_usable(path, "is not a regular file"));
    }
    Ok(())
}
