//! Files of secrets: what other users of the machine can do with one, and new ones that only their owner can read.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Takes the permissions to read away from others, as for files of sign-ins. One that others may change is left for
/// its reader to refuse.
#[cfg(unix)]
pub(super) fn close_to_group(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let readable = std::fs::File::open(path).and_then(|file| Ok((exposure(&file)?, file)));
    if let Ok((FileExposure::Readable { .. }, file)) = readable {
        // When it fails, the next read logs a warning.
        let _ = file.set_permissions(std::fs::Permissions::from_mode(0o600));
    }
}

#[cfg(not(unix))]
pub(super) fn close_to_group(_: &Path) {}

/// What other users of the machine can do with a file of secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileExposure {
    /// Nothing, or it is a pipe (`/dev/fd/63`), whose permission bits mean nothing.
    Private,
    /// Its group or every user may read it, or its group may change it.
    Readable {
        /// Its permission bits.
        mode: u32,
    },
    /// Every user may change it.
    Writable {
        /// Its permission bits.
        mode: u32,
    },
}

#[cfg(unix)]
pub(super) fn exposure(file: &std::fs::File) -> io::Result<FileExposure> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = file.metadata()?;
    let mode = metadata.mode() & 0o777;
    Ok(match mode {
        _ if !metadata.is_file() => FileExposure::Private,
        mode if mode & 0o002 != 0 => FileExposure::Writable { mode },
        mode if mode & 0o064 != 0 => FileExposure::Readable { mode },
        _ => FileExposure::Private,
    })
}

#[cfg(not(unix))]
pub(super) fn exposure(_: &std::fs::File) -> io::Result<FileExposure> {
    Ok(FileExposure::Private)
}

/// Creates a file with owner-only permissions from the start. Fails when the file exists.
pub(super) fn write_owner_only(path: &Path, token: &str) -> io::Result<()> {
    let mut directories = DirBuilder::new();
    directories.recursive(true);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
        directories.mode(0o700);
        options.mode(0o600);
    }
    if let Some(directory) = path.parent() {
        directories.create(directory)?;
    }
    let mut file = options.open(path)?;
    file.write_all(token.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()
}
