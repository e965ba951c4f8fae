//! Checks that the product compiles for systems that CI does not have.
//!
//! `cargo check` and not `cargo build`: a linker for those systems needs their libraries. Build scripts
//! run nevertheless, so Zig's C compiler compiles SQLite for the target, and the engine's compiler the guests.
//!
//! macOS on aarch64 is not among them, because a build contains the compiler of guests for its own processor only.
//!
//! It shares `target/` with every other build, so the engine's compiler, which takes the longest to build and runs on
//! this machine, is there already.
//!
//! The result depends on the product's files and the pinned compilers alone. After a check of all targets that passed,
//! their hash is written to `.config/portable.verified`, and for the same files a later check compares hashes only.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::toolchain::{Zig, add_target};
use crate::verified::Inputs;

/// The hash of the inputs of the last check of all targets that passed.
const VERIFIED: &str = ".config/portable.verified";

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
    let inputs = Inputs::read(root, VERIFIED, "portable", inputs(root)?)?;
    if args.target.is_none() && inputs.passed_before(root) {
        eprintln!("the same files passed before");
        return Ok(());
    }
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
    command::run(&mut cargo)?;
    if args.target.is_none() {
        inputs.passed(root)?;
    }
    Ok(())
}

/// The files that the result depends on, relative to `root`, as git lists them: all that is compiled, with the manifests, the
/// compilers' versions and this check. Tests and documents are not compiled.
fn inputs(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .args([
            "-z",
            "--",
            "Cargo.toml",
            "Cargo.lock",
            "rust-toolchain.toml",
        ])
        .args([".cargo", "crates", "xtask/zig"])
        .args(["xtask/src/portable.rs", "xtask/src/toolchain.rs"])
        .current_dir(root);
    let listed = command::output(&mut git)?;
    let names = listed.split('\0').filter(|name| !name.is_empty());
    Ok(names
        .map(PathBuf::from)
        .filter(|name| is_compiled(name) && root.join(name).exists())
        .collect())
}

fn is_compiled(name: &Path) -> bool {
    let is_test = name
        .iter()
        .any(|part| part == "tests" || part == "tests.rs" || part == "benches");
    !is_test && name.extension().is_none_or(|extension| extension != "md")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::inputs;

    #[test]
    fn all_that_is_compiled_is_an_input_and_no_test_or_document() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .expect("xtask is in the workspace");
        let names: BTreeSet<PathBuf> = inputs(root).expect("git runs").into_iter().collect();
        for name in [
            "Cargo.lock",
            "crates/limbeck/src/main.rs",
            "crates/limbeck/Cargo.toml",
            "crates/limbeck-guests/build.rs",
            "xtask/zig/cc",
        ] {
            assert!(names.contains(Path::new(name)), "{name}");
        }
        for name in ["crates/limbeck/tests/it/main.rs", "README.md"] {
            assert!(root.join(name).exists(), "{name}");
            assert!(!names.contains(Path::new(name)), "{name}");
        }
    }
}
