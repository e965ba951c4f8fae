//! Cross compilers: targets of the Rust toolchain, and Zig's C compiler.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;

/// Release of the `ziglang` package on PyPI: the C compiler, the same on every host.
pub(crate) const ZIG_VERSION: &str = "0.17.0";

/// An installed C compiler.
pub(crate) struct Zig {
    /// Python with the pinned `ziglang`.
    python: PathBuf,
    /// Its cache of compiled libraries.
    cache: PathBuf,
}

impl Zig {
    /// Installs it in `.tools` at the root of the repository, unless it is installed.
    ///
    /// # Errors
    ///
    /// When Python or the registry fails.
    pub(crate) fn install(root: &Path) -> anyhow::Result<Self> {
        let tools = root.join(".tools");
        let environment = tools.join(format!("ziglang-{ZIG_VERSION}"));
        let python = environment.join(if cfg!(windows) {
            "Scripts/python.exe"
        } else {
            "bin/python"
        });
        let done = environment.join("installed");
        if !done.exists() {
            command::run(
                Command::new("python3")
                    .args(["-m", "venv", "--clear"])
                    .arg(&environment),
            )?;
            let package = format!("ziglang=={ZIG_VERSION}");
            command::run(Command::new(&python).args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-deps",
                &package,
            ]))?;
            fs::write(done, "")?;
        }
        Ok(Self {
            python,
            cache: tools.join("zig-cache"),
        })
    }

    /// Sets the variables that the scripts which start the compiler read.
    pub(crate) fn provide(&self, command: &mut Command) {
        command
            .env("LIMBECK_ZIG_PYTHON", &self.python)
            .env("ZIG_GLOBAL_CACHE_DIR", &self.cache)
            .env("ZIG_LOCAL_CACHE_DIR", &self.cache);
    }
}

/// Adds `target` to the Rust toolchain that is used in `dir`, unless it is there.
///
/// # Errors
///
/// When the toolchain has no such target.
pub(crate) fn add_target(dir: &Path, target: &str) -> anyhow::Result<()> {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "sysroot"]).current_dir(dir);
    let sysroot = command::output(&mut rustc)?;
    let installed = Path::new(&sysroot).join("lib/rustlib").join(target);
    if installed.exists() {
        return Ok(());
    }
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add", target]).current_dir(dir);
    command::run(&mut rustup)
}
