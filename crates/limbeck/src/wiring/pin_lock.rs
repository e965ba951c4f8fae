//! The lock file of the repository, `mcp.lock` in the working directory.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use limbeck_gateway::{LOCK_BYTES_MAX, PinLock};

use crate::invocation::Invocation;

/// Name of the file.
const NAME: &str = "mcp.lock";

/// Its path. Files of the working directory are not searched with `--no-discover`.
pub(crate) fn pin_lock_file(invocation: &Invocation) -> Option<PathBuf> {
    let cwd = &invocation.world.cwd;
    (!invocation.global.no_discover).then(|| cwd.join(NAME))
}

/// Reads the lock file; one that does not exist locks nothing.
///
/// # Errors
///
/// It cannot be read, or it is not a lock file.
pub(crate) fn read_pin_lock(invocation: &Invocation) -> anyhow::Result<PinLock> {
    let Some(path) = pin_lock_file(invocation) else {
        return Ok(PinLock::default());
    };
    let Some(text) = read(&path)? else {
        return Ok(PinLock::default());
    };
    PinLock::parse(&text).with_context(|| format!("{NAME} cannot be used"))
}

/// [`read_pin_lock`] for a gateway: a stranger's file that cannot be read is reported and locks nothing.
pub(crate) fn pin_lock(invocation: &Invocation) -> PinLock {
    read_pin_lock(invocation).unwrap_or_else(|error| {
        invocation.printer.warning(&format!(
            "{error:#}; it holds no tool until it is corrected"
        ));
        PinLock::default()
    })
}

fn read(path: &Path) -> anyhow::Result<Option<String>> {
    let unreadable = || format!("{NAME} cannot be read");
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => {}
        // A pipe could be read for ever.
        Ok(_) => return Err(anyhow!("{NAME} is not a file")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(unreadable),
    }
    let file = std::fs::File::open(path).with_context(unreadable)?;
    let mut text = String::new();
    // One byte more than may be, so that a longer file is noticed.
    let mut file = file.take(LOCK_BYTES_MAX as u64 + 1);
    file.read_to_string(&mut text).with_context(unreadable)?;
    Ok(Some(text))
}
