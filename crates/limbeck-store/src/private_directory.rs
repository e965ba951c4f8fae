//! Directories that only their owner may enter.

use std::fs;
use std::io;
use std::path::Path;

/// Creates `directory` and its missing parents for their owner alone; an existing one is left as it is.
#[cfg(unix)]
pub(crate) fn create(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

/// Creates `directory` and its missing parents. Where there are no Unix modes, the access list of the
/// user's profile directory protects it.
#[cfg(not(unix))]
pub(crate) fn create(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)
}
