//! Provides the guests as machine code for the target.
//!
//! `compiler/` is a workspace of its own, built in release mode into `TARGET_DIR/guest-compiler` in
//! every profile of this build. Its output is kept in `TARGET_DIR/guests/NAME-KEY`, where KEY is a hash
//! of everything it was made from. So a checkout compiles each guest once for a target, and not once for
//! each profile, `cargo check` and `cargo clippy`, which takes minutes; a change of one guest does not
//! compile the other. A directory is used only while it is as it was when it was made, see `seal.rs`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

mod seal;

/// Everything the machine code depends on beside the guest itself and the target.
const COMPILER_SOURCES: [&str; 4] = [
    "compiler/Cargo.toml",
    "compiler/Cargo.lock",
    "compiler/src",
    "src/engine_config.rs",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=seal.rs");
    for input in COMPILER_SOURCES {
        println!("cargo::rerun-if-changed={input}");
    }
    let target_dir = target_dir();
    for (guest, variable) in [("guest-js", "GUEST_JS_DIR"), ("guest-py", "GUEST_PY_DIR")] {
        let dir = compiled(guest, &target_dir);
        println!("cargo::rerun-if-changed=artifacts/{guest}.wasm.zst");
        println!("cargo::rerun-if-changed=artifacts/{guest}.json");
        // The directory of guests may be deleted on its own.
        println!("cargo::rerun-if-changed={}", dir.display());
        println!("cargo::rustc-env={variable}={}", dir.display());
    }
}

/// Returns the directory with the machine code of `guest`, which is compiled unless it is there.
fn compiled(guest: &str, target_dir: &Path) -> PathBuf {
    let target = variable("TARGET");
    let guests = target_dir.join("guests");
    let key = key(guest, &target);
    let dir = guests.join(format!("{guest}-{target}-{key}"));
    if seal::holds(&dir, &key) {
        return dir;
    }
    // It is removed with those of earlier versions.
    if dir.exists() {
        println!(
            "cargo::warning={} is not as it was made, and is made again",
            dir.display()
        );
    }
    fs::create_dir_all(&guests).expect("the target directory is writable");
    remove_outdated(&guests, &format!("{guest}-{target}-"));
    // Compiled beside its place and renamed: another build that runs at the same time sees all of it or
    // none.
    let scratch = guests.join(format!("unfinished-{guest}-{}", std::process::id()));
    fs::create_dir_all(&scratch).expect("the target directory is writable");
    run_compiler(guest, &target, target_dir, &scratch);
    seal::write(&scratch, &key).expect("this build made the directory");
    if let Err(error) = fs::rename(&scratch, &dir) {
        assert!(seal::holds(&dir, &key), "{}: {error}", dir.display());
        fs::remove_dir_all(&scratch).expect("this build made the directory");
    }
    dir
}

fn run_compiler(guest: &str, target: &str, target_dir: &Path, out: &Path) {
    let manifest_dir = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .args(["run", "--quiet", "--release", "--locked", "--manifest-path"])
        .arg(manifest_dir.join("compiler/Cargo.toml"))
        .arg("--target-dir")
        .arg(target_dir.join("guest-compiler"))
        .args(["--", guest, target, &variable("CARGO_CFG_TARGET_OS")])
        .arg(manifest_dir.join("artifacts"))
        .arg(out);
    // Set by the outer cargo for its own target, flags and lints; the compiler runs on this machine.
    for name in [
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_BUILD_TARGET",
        "RUSTFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "CLIPPY_ARGS",
    ] {
        cargo.env_remove(name);
    }
    let status = cargo.status().expect("cargo can be started");
    assert!(status.success(), "the guest compiler failed on {guest}");
}

/// Hash of what the machine code of `guest` is made from.
fn key(guest: &str, target: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(target);
    for extension in ["wasm.zst", "json"] {
        hash_files(
            &mut hash,
            Path::new(&format!("artifacts/{guest}.{extension}")),
        );
    }
    for input in COMPILER_SOURCES {
        hash_files(&mut hash, Path::new(input));
    }
    seal::hex(&hash.finalize()[..12])
}

/// Adds name, length and content of the file at `path`, or of all files below it in the order of names.
fn hash_files(hash: &mut Sha256, path: &Path) {
    if path.is_dir() {
        let entries = fs::read_dir(path).expect("the directory is readable");
        let mut paths: Vec<_> = entries
            .map(|entry| entry.expect("the directory is readable").path())
            .collect();
        paths.sort();
        for path in paths {
            hash_files(hash, &path);
        }
    } else {
        let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        hash.update(format!("{}\n{}\n", path.display(), bytes.len()));
        hash.update(&bytes);
    }
}

/// Removes what was compiled from earlier versions; each is some 50 MB.
fn remove_outdated(guests: &Path, prefix: &str) {
    for entry in fs::read_dir(guests).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            // Another build may be removing it too; what is left costs only space.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// The target directory of this build. `OUT_DIR` is `TARGET_DIR/PROFILE/build/PACKAGE/out`, with the target's
/// name before the profile where cargo was given `--target`.
fn target_dir() -> PathBuf {
    let out = PathBuf::from(variable("OUT_DIR"));
    let profile = out.ancestors().find(|dir| dir.ends_with("build"));
    let dir = profile
        .and_then(|build| build.ancestors().nth(2))
        .expect("cargo lays out a target directory so");
    let is_for_target = dir.ends_with(variable("TARGET"));
    let dir = if is_for_target {
        dir.parent()
    } else {
        Some(dir)
    };
    dir.expect("a directory of cargo has a parent").to_owned()
}

#[expect(
    clippy::disallowed_methods,
    reason = "cargo passes settings to a build script in its environment"
)]
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|error| panic!("{name}: {error}"))
}
