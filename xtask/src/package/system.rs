//! Systems that packages are built for, and their names in each package manager.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::command;

/// A system.
pub(super) struct System {
    /// Its name in Rust.
    pub(super) rust: &'static str,
    /// Its operating system in Node (`process.platform`).
    pub(super) node_os: &'static str,
    /// Its processor in Node (`process.arch`).
    pub(super) node_cpu: &'static str,
    /// Its processor in a wheel's name.
    pub(super) wheel_cpu: &'static str,
    /// Its processor in Debian.
    pub(super) debian: &'static str,
}

/// Every system. Linux builds need glibc: Limbeck was never run with another C library.
pub(super) const SYSTEMS: [System; 5] = [
    System {
        rust: "x86_64-unknown-linux-gnu",
        node_os: "linux",
        node_cpu: "x64",
        wheel_cpu: "x86_64",
        debian: "amd64",
    },
    System {
        rust: "aarch64-unknown-linux-gnu",
        node_os: "linux",
        node_cpu: "arm64",
        wheel_cpu: "aarch64",
        debian: "arm64",
    },
    System {
        rust: "x86_64-apple-darwin",
        node_os: "darwin",
        node_cpu: "x64",
        wheel_cpu: "x86_64",
        debian: "",
    },
    System {
        rust: "aarch64-apple-darwin",
        node_os: "darwin",
        node_cpu: "arm64",
        wheel_cpu: "arm64",
        debian: "",
    },
    System {
        rust: "x86_64-pc-windows-msvc",
        node_os: "win32",
        node_cpu: "x64",
        wheel_cpu: "amd64",
        debian: "",
    },
];

impl System {
    /// The system with this name in Rust.
    ///
    /// # Errors
    ///
    /// When there is no such system.
    pub(super) fn named(target: &str) -> anyhow::Result<&'static Self> {
        let Some(system) = SYSTEMS.iter().find(|system| system.rust == target) else {
            let known = SYSTEMS.map(|system| system.rust).join(", ");
            bail!("{target} is not a system that packages are built for: {known}");
        };
        Ok(system)
    }

    /// The system of this machine.
    ///
    /// # Errors
    ///
    /// When the compiler is missing, or none is built for it.
    pub(super) fn of_this_machine() -> anyhow::Result<&'static Self> {
        let version = command::output(Command::new("rustc").arg("-vV"))?;
        let host = version
            .lines()
            .find_map(|line| line.strip_prefix("host: "))
            .context("rustc does not name its host")?;
        Self::named(host)
    }

    /// Whether it is Linux.
    pub(super) fn is_linux(&self) -> bool {
        self.node_os == "linux"
    }

    /// Name of the executable.
    pub(super) fn executable_name(&self) -> &'static str {
        if self.node_os == "win32" {
            "limbeck.exe"
        } else {
            "limbeck"
        }
    }

    /// The system as npm packages and bundles name it, such as `linux-x64`.
    pub(super) fn node(&self) -> String {
        format!("{}-{}", self.node_os, self.node_cpu)
    }
}

/// The oldest version of glibc with which `executable` runs: the newest among the versions of its symbols.
///
/// # Errors
///
/// When `objdump` of GNU binutils is missing, or the executable uses no glibc.
pub(super) fn oldest_glibc(executable: &Path) -> anyhow::Result<(u32, u32)> {
    let symbols = command::output(
        Command::new("objdump")
            .arg("--dynamic-syms")
            .arg(executable),
    )?;
    newest_version(&symbols).with_context(|| format!("{} uses no glibc", executable.display()))
}

/// The newest version of the symbols in a listing of `objdump --dynamic-syms`.
fn newest_version(symbols: &str) -> Option<(u32, u32)> {
    symbols
        .split("(GLIBC_")
        .skip(1)
        .filter_map(|rest| {
            let version = rest.split(')').next()?;
            let mut numbers = version.split('.').map(str::parse);
            Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
        })
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_counts_by_number() {
        let symbols = "0000 DF *UND* 0000 (GLIBC_2.2.5) read\n0000 DF *UND* 0000 (GLIBC_2.34) dlsym\n0000 DF *UND* (GLIBC_2.9) pipe2\n0000 DF *UND* (GCC_3.0) _Unwind\n";
        assert_eq!(newest_version(symbols), Some((2, 34)));
        assert_eq!(newest_version("0000 DF *UND* (GCC_3.0) _Unwind"), None);
    }
}
