//! Everything that is read from around the process, once.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::Context;

use crate::exit::Failure;

/// Names the home directory.
const HOME: &str = if cfg!(windows) { "USERPROFILE" } else { "HOME" };

/// What the process was started with, besides its arguments.
#[derive(Debug)]
pub(crate) struct Environment {
    /// Home directory, absolute; absent when `HOME` (on Windows `USERPROFILE`) is unset, empty or relative.
    pub(crate) home: Option<PathBuf>,
    /// Working directory.
    pub(crate) cwd: PathBuf,
    /// Variables whose name and value are UTF-8, for expansion in configuration files.
    pub(crate) variables: BTreeMap<String, String>,
    /// Whether a person sits at standard input.
    pub(crate) stdin_is_terminal: bool,
}

impl Environment {
    /// Reads it.
    ///
    /// # Errors
    ///
    /// When there is no working directory any more.
    pub(crate) fn read() -> Result<Self, Failure> {
        let cwd = std::env::current_dir()
            .context("the current directory cannot be read")
            .map_err(|error| {
                Failure::usage(error).with_hint("change into a directory that exists: `cd ~`")
            })?;
        let variables: BTreeMap<String, String> = variables();
        let home = variables
            .get(HOME)
            .map(PathBuf::from)
            .filter(|home| home.is_absolute());
        Ok(Self {
            home,
            cwd,
            variables,
            stdin_is_terminal: std::io::stdin().is_terminal(),
        })
    }

    /// A variable; set to nothing counts as unset.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let value = self.variables.get(name)?;
        (!value.is_empty()).then_some(value)
    }
}

fn variables() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// The executable to start workers and the sample upstream from: this very one.
///
/// On Linux the kernel's own link and not the path behind it. When an update replaces the file while
/// a gateway runs, the path leads to another program, or to none, and a worker must be the gateway's
/// own build: they share a protocol without versions in between and the hash of the guest. The link
/// is followed in the child between fork and exec, where it still means the gateway's executable.
///
/// # Errors
///
/// What the system says when it does not know; on Linux never.
pub(crate) fn own_executable() -> std::io::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        Ok(PathBuf::from("/proc/self/exe"))
    } else {
        std::env::current_exe()
    }
}
