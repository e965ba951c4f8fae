//! Environment of the process, read once: variables, directories, executable.

use std::path::PathBuf;

use anyhow::Context as _;
use limbeck_setup::{OperatingSystem, World};

use crate::exit::CommandError;

/// Reads the [`World`] of this process.
///
/// # Errors
///
/// When the working directory was removed.
pub(crate) fn read_world() -> Result<World, CommandError> {
    let cwd = std::env::current_dir()
        .context("the current directory cannot be read")
        .map_err(|error| {
            CommandError::usage(error).with_hint("change into a directory that exists: `cd ~`")
        })?;
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where the environment is read"
    )]
    let variables = std::env::vars_os()
        // Configuration is UTF-8, so it cannot refer to other names and values.
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    Ok(World {
        executable: own_executable().ok(),
        ..World::new(OperatingSystem::CURRENT, cwd, variables)
    })
}

/// Path of this executable, which workers and the sample server are started from.
///
/// On Linux this is the kernel's link `/proc/self/exe` and not its target. When an update replaces the file while a
/// gateway runs, the target is another build or missing, and a worker must be the gateway's own build: both share the
/// hash of the guest and a protocol without negotiation. The child follows the link between fork and exec, where it
/// still leads to the gateway's executable.
///
/// # Errors
///
/// The system's error when the path is unknown; never on Linux.
pub(crate) fn own_executable() -> std::io::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        Ok(PathBuf::from("/proc/self/exe"))
    } else {
        std::env::current_exe()
    }
}
