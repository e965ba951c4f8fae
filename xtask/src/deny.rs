//! Licences, bans and sources of the dependencies, checked by `cargo deny`.
//!
//! The check is offline, and its result depends on its inputs alone: the lock file, which has a checksum of every
//! crate, the manifests, `deny.toml` and its version. After a check that passed, their hash is written to
//! `.config/deny.verified`. While the files of the checkout have that hash, a later check compares hashes only, because
//! the tool takes minutes to install.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::verified::Inputs;

/// Release of cargo-deny.
const VERSION: &str = "0.20.2";
/// What is checked. Advisories need a database from the network.
const CHECKS: [&str; 5] = ["deny", "check", "bans", "licenses", "sources"];
/// The hash of the inputs of the last check that passed.
const VERIFIED: &str = ".config/deny.verified";

/// Checks the dependencies, unless the same were checked before.
///
/// # Errors
///
/// When the tool cannot be installed, or a dependency violates `deny.toml`.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let what = format!("{VERSION} {}", CHECKS.join(" "));
    let inputs = Inputs::read(root, VERIFIED, &what, inputs(root)?)?;
    if inputs.passed_before(root) {
        eprintln!("the same dependencies passed before");
        return Ok(());
    }
    install(root)?;
    command::run(Command::new("cargo").args(CHECKS).current_dir(root))?;
    inputs.passed(root)
}

fn install(root: &Path) -> anyhow::Result<()> {
    let mut version = Command::new("cargo");
    version.args(["deny", "--version"]).current_dir(root);
    if command::output(&mut version).is_ok() {
        return Ok(());
    }
    // It reads one lock file, so a debug build is fast enough, and takes a third of the time to build.
    let mut install = Command::new("cargo");
    install
        .args(["install", "--locked", "--debug", "cargo-deny"])
        .args(["--version", VERSION])
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .current_dir(root);
    command::run(&mut install)
}

/// The files that the result depends on, relative to `root`: those of the workspace and the manifests of its members.
fn inputs(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut names: Vec<PathBuf> = [
        "Cargo.lock",
        "Cargo.toml",
        "deny.toml",
        "rust-toolchain.toml",
        "xtask/Cargo.toml",
    ]
    .map(PathBuf::from)
    .into();
    for entry in fs::read_dir(root.join("crates"))? {
        let manifest = Path::new("crates")
            .join(entry?.file_name())
            .join("Cargo.toml");
        if root.join(&manifest).exists() {
            names.push(manifest);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::inputs;

    #[test]
    fn every_manifest_is_an_input_and_no_code() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path();
        fs::create_dir_all(root.join("crates/a")).expect("created");
        fs::create_dir_all(root.join("crates/no-crate")).expect("created");
        fs::write(root.join("crates/a/Cargo.toml"), "").expect("written");
        fs::write(root.join("crates/a/lib.rs"), "").expect("written");
        let expected = [
            "Cargo.lock",
            "Cargo.toml",
            "deny.toml",
            "rust-toolchain.toml",
            "xtask/Cargo.toml",
            "crates/a/Cargo.toml",
        ];
        let found = inputs(root).expect("the directories can be read");
        assert_eq!(found, expected.map(PathBuf::from));
    }
}
