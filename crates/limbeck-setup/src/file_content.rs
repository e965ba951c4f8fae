//! Content of one configuration file: a regular file of bounded size, in UTF-8.
//!
//! A file is opened once and judged by its descriptor, so that it cannot be exchanged between check and use.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use crate::error::{ConfigError, NOT_A_FILE};
use crate::world::World;

/// Byte order mark of UTF-8.
pub(crate) const MARK: &[u8] = &[0xef, 0xbb, 0xbf];

/// Beginning of an exposure that is that of the file's directory.
pub(crate) const OF_DIRECTORY: &str = "is in a directory that ";

/// Content of a file.
pub(crate) struct FileContent {
    /// The text without a byte order mark.
    pub(crate) text: String,
    /// Whether the file begins with a byte order mark.
    pub(crate) has_mark: bool,
    /// Why another user may have written it, a fragment that follows the file's name; `None` when no other
    /// user can.
    pub(crate) exposure: Option<String>,
}

/// Reads `path`, an absolute path of `world`; `Ok(None)` when it does not exist.
///
/// # Errors
///
/// [`ConfigError`] for everything else than a readable text file of at most `bytes_max` bytes.
pub(crate) fn read(
    world: &World,
    path: &Path,
    bytes_max: usize,
) -> Result<Option<FileContent>, ConfigError> {
    read_file(&world.on_disk(path), path, bytes_max)
}

/// Reads the file of a client, whose commands are started without a question: it is also exposed where members of a group can write
/// it, or other users can put another file in its place.
///
/// # Errors
///
/// As [`read`].
pub(crate) fn read_of_user(
    world: &World,
    path: &Path,
    bytes_max: usize,
) -> Result<Option<FileContent>, ConfigError> {
    let on_disk = world.on_disk(path);
    let found = read_judged(&on_disk, path, bytes_max, writers)?;
    let Some(content) = found else {
        return Ok(None);
    };
    // The directory of the name, and that of the file which a link leads to.
    let target = std::fs::canonicalize(&on_disk).ok();
    let directories = [Some(&*on_disk), target.as_deref()];
    let directories = directories.into_iter().flatten().filter_map(Path::parent);
    let mut exposure = content.exposure;
    for directory in directories {
        if exposure.is_some() {
            break;
        }
        let metadata = std::fs::metadata(directory).map_err(|error| unreadable(path, error))?;
        exposure = writers(&metadata).map(|problem| format!("{OF_DIRECTORY}{problem}"));
    }
    Ok(Some(FileContent {
        exposure,
        ..content
    }))
}

/// Reads the file at `on_disk`, which messages call `path`. It is exposed unless it and its directory belong to the user
/// `owner`, and no other user can write to either.
///
/// # Errors
///
/// As [`read`].
pub(crate) fn read_owned(
    on_disk: &Path,
    path: &Path,
    bytes_max: usize,
    owner: u32,
) -> Result<Option<FileContent>, ConfigError> {
    let found = read_judged(on_disk, path, bytes_max, |file| foreign(file, owner))?;
    let Some(content) = found else {
        return Ok(None);
    };
    let directory = on_disk.parent().unwrap_or(on_disk);
    let directory = std::fs::metadata(directory).map_err(|error| unreadable(path, error))?;
    let of_directory = foreign(&directory, owner).map(|problem| format!("its directory {problem}"));
    Ok(Some(FileContent {
        exposure: content.exposure.or(of_directory),
        ..content
    }))
}

/// Reads the file at `on_disk`, which messages call `path`.
pub(crate) fn read_file(
    on_disk: &Path,
    path: &Path,
    bytes_max: usize,
) -> Result<Option<FileContent>, ConfigError> {
    read_judged(on_disk, path, bytes_max, exposure)
}

fn read_judged(
    on_disk: &Path,
    path: &Path,
    bytes_max: usize,
    exposure: impl FnOnce(&std::fs::Metadata) -> Option<String>,
) -> Result<Option<FileContent>, ConfigError> {
    let mut file = match open(on_disk) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(unreadable(path, error)),
    };
    let metadata = file.metadata().map_err(|error| unreadable(path, error))?;
    if !metadata.is_file() {
        return Err(unusable(
            path,
            format!("is {}{NOT_A_FILE}", kind(&metadata)),
        ));
    }
    if metadata.len() > bytes_max as u64 {
        return Err(too_large(path, bytes_max));
    }
    let mut bytes = Vec::new();
    // The file may grow while it is read; one byte more than the bound shows that.
    Read::by_ref(&mut file)
        .take(bytes_max as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(path, error))?;
    if bytes.len() > bytes_max {
        return Err(too_large(path, bytes_max));
    }
    let has_mark = bytes.starts_with(MARK);
    let text = decode(bytes).map_err(|problem| unusable(path, problem))?;
    Ok(Some(FileContent {
        text,
        has_mark,
        exposure: exposure(&metadata),
    }))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn unreadable(path: &Path, source: io::Error) -> ConfigError {
    ConfigError::Unreadable {
        file: path.to_owned(),
        source,
    }
}

fn unusable(path: &Path, problem: impl Into<String>) -> ConfigError {
    ConfigError::Unusable {
        file: path.to_owned(),
        problem: problem.into(),
    }
}

fn too_large(path: &Path, bytes_max: usize) -> ConfigError {
    unusable(path, format!("is larger than {bytes_max} bytes"))
}

fn decode(mut bytes: Vec<u8>) -> Result<String, String> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err("is UTF-16; save it as UTF-8".to_owned());
    }
    if bytes.starts_with(MARK) {
        bytes.drain(..MARK.len());
    }
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(format!("has a NUL character at byte {at}"));
    }
    String::from_utf8(bytes)
        .map_err(|error| format!("is not UTF-8 at byte {}", error.utf8_error().valid_up_to()))
}

/// Opens without waiting: a FIFO without a writer would block forever.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}

#[cfg(unix)]
fn kind(metadata: &std::fs::Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt as _;
    let kind = metadata.file_type();
    if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

/// Configuration starts processes, so the rule is that of `ssh`: the file belongs to the user or the system,
/// and no other user can write to it.
#[cfg(unix)]
fn exposure(metadata: &std::fs::Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let owner = metadata.uid();
    if owner != 0 && owner != rustix::process::geteuid().as_raw() {
        return Some(format!("belongs to user {owner}"));
    }
    (metadata.mode() & 0o002 != 0).then(|| "can be written by every user".to_owned())
}

/// Why another user can write to a file or directory, also by a group that has other members. In a directory with the sticky bit
/// no user replaces a file of another one.
#[cfg(unix)]
fn writers(metadata: &std::fs::Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let is_sticky = metadata.is_dir() && metadata.mode() & 0o1000 != 0;
    let is_foreign = metadata.uid() != 0 && metadata.uid() != rustix::process::geteuid().as_raw();
    let found = exposure(metadata).filter(|_| !is_sticky || is_foreign);
    if found.is_some() || is_sticky || metadata.mode() & 0o020 == 0 {
        return found;
    }
    let group = metadata.gid();
    let is_own = crate::private_group::is_private(group, metadata.uid());
    (!is_own).then(|| format!("can be written by the group {group}"))
}

#[cfg(not(unix))]
fn writers(_: &std::fs::Metadata) -> Option<String> {
    None
}

/// Why another user than `owner` can write to a file or directory.
#[cfg(unix)]
fn foreign(metadata: &std::fs::Metadata, owner: u32) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    if metadata.uid() != owner {
        return Some(format!("belongs to user {}", metadata.uid()));
    }
    (metadata.mode() & 0o022 != 0).then(|| "can be written by other users".to_owned())
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

#[cfg(not(unix))]
fn kind(metadata: &std::fs::Metadata) -> &'static str {
    if metadata.is_dir() {
        "a directory"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn exposure(_: &std::fs::Metadata) -> Option<String> {
    None
}

#[cfg(not(unix))]
fn foreign(_: &std::fs::Metadata, _: u32) -> Option<String> {
    Some("is on a system where its owner is not known".to_owned())
}
