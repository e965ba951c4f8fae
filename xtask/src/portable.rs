//! Checks that the product compiles for systems that CI does not have.
//!
//! `cargo check` and not `cargo build`: a linker for those systems needs their libraries. Build scripts
//! run nevertheless, so Zig's C compiler compiles SQLite for the target, and the engine's compiler the guests.
//!
//! macOS on aarch64 is not among them, because a build contains the compiler of guests for its own processor only.
//!
//! It shares `target/` with every other build, so the engine's compiler, which takes the longest to build and runs on
//! this machine, is there already.

use std::path::Path;
use std::process::Command;

use crate::command;
use crate::toolchain::{Zig, add_target};

/// Options of a check.
#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Check for this target alone, by its name in Rust
    #[arg(long)]
    target: Option<String>,
}

/// A system that the product must compile for.
struct Target {
    /// Its name in Rust.
    rust: &'static str,
    /// Its name in Zig.
    zig: &'static str,
}

const TARGETS: [Target; 2] = [
    Target {
        rust: "x86_64-apple-darwin",
        zig: "x86_64-macos",
    },
    Target {
        rust: "x86_64-pc-windows-gnu",
        zig: "x86_64-windows-gnu",
    },
];

/// Checks for every target, or the one that is named.
///
/// # Errors
///
/// When a target is unknown, a compiler cannot be installed, or something does not compile.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    let wanted = |target: &&Target| {
        args.target
            .as_deref()
            .is_none_or(|name| name == target.rust)
    };
    let targets: Vec<&Target> = TARGETS.iter().filter(wanted).collect();
    anyhow::ensure!(
        !targets.is_empty(),
        "no such target; there are {}",
        TARGETS.map(|target| target.rust).join(", ")
    );
    let scripts = root.join("xtask/zig");
    let mut cargo = Command::new("cargo");
    cargo
        .args(["check", "--locked", "-p", "limbeck"])
        .current_dir(root);
    for target in targets {
        add_target(root, target.rust)?;
        let variable = |name: &str| format!("{name}_{}", target.rust.replace('-', "_"));
        cargo
            .args(["--target", target.rust])
            .env(variable("CC"), scripts.join("cc"))
            .env(variable("AR"), scripts.join("ar"))
            // The result is not run, so the libraries in C are compiled as fast as possible.
            .env(variable("CFLAGS"), format!("-target {} -O0", target.zig));
    }
    Zig::install(root)?.provide(&mut cargo);
    // All at once: each has long stretches that keep one core busy alone.
    command::run(&mut cargo)
}
