//! Licences, bans and sources of the dependencies, checked by `cargo deny`.
//!
//! The check is offline, and its result depends on its inputs alone: the lock file, which has a checksum of every
//! crate, the manifests, `deny.toml` and its version. After a check that passed, their hash is written to
//! `.config/deny.verified`. While the files of the checkout have that hash, a later check compares hashes only, because
//! the tool takes minutes to install.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};

use crate::{command, guests};

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
    let inputs = hash(root)?;
    let verified = root.join(VERIFIED);
    if fs::read_to_string(&verified).is_ok_and(|text| text.trim() == inputs) {
        eprintln!("the same dependencies passed before");
        return Ok(());
    }
    install(root)?;
    command::run(Command::new("cargo").args(CHECKS).current_dir(root))?;
    fs::write(&verified, inputs + "\n")?;
    eprintln!("passed; commit {VERIFIED}");
    Ok(())
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

/// SHA-256 over names and contents of the inputs.
fn hash(root: &Path) -> anyhow::Result<String> {
    let mut hash = Sha256::new();
    hash.update(format!("{VERSION} {}\n", CHECKS.join(" ")));
    for name in inputs(root)? {
        let bytes =
            fs::read(root.join(&name)).with_context(|| format!("read {}", name.display()))?;
        hash.update(format!("{}\n{}\n", name.display(), bytes.len()));
        hash.update(&bytes);
    }
    Ok(guests::hex(&hash.finalize()))
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
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::hash;

    #[test]
    fn the_hash_changes_with_every_input_and_with_nothing_else() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path();
        let inputs = [
            "Cargo.lock",
            "Cargo.toml",
            "crates/a/Cargo.toml",
            "deny.toml",
            "rust-toolchain.toml",
            "xtask/Cargo.toml",
        ];
        for name in inputs {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a directory")).expect("created");
            fs::write(path, "").expect("written");
        }
        let mut seen = vec![hash(root).expect("every file is there")];
        fs::write(root.join("crates/a/lib.rs"), "code").expect("written");
        assert_eq!(hash(root).expect("every file is there"), seen[0]);
        for name in inputs {
            fs::write(root.join(name), "changed").expect("written");
            let next = hash(root).expect("every file is there");
            assert!(!seen.contains(&next), "{name}");
            seen.push(next);
        }
        fs::remove_file(root.join("deny.toml")).expect("removed");
        assert!(hash(root).is_err());
    }
}
