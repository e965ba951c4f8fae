//! Installs what the tests against real servers and clients and the benchmarks beside other engines need,
//! under `.tools` at the root of the repository.
//!
//! Everything is an npm or PyPI package, pinned by the `package-lock.json` and `requirements.txt` of the
//! directory that needs it: `tests/real`, `tests/clients`, `tests/fleet`, `tests/packages`, `benches/python`, `benches/tokens` and
//! `benches/search`. A stamp in each installation, written last, has the hash of its lock files and interpreters: with
//! the same hash nothing is installed, and an installation that was interrupted is repeated.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use sha2::{Digest as _, Sha256};

use crate::command::{output, run};

/// Name of the stamp in an installation.
const STAMP: &str = ".installed";

/// Program that the machine must have: how its presence is tested, and the packages that contain it.
struct Prerequisite {
    name: &'static str,
    /// Program and arguments that succeed when it is there.
    probe: &'static [&'static str],
    /// Packages of Debian.
    debian: &'static [&'static str],
    /// Package of Homebrew.
    homebrew: &'static str,
}

const PREREQUISITES: [Prerequisite; 4] = [
    Prerequisite {
        name: "python3 3.11 or newer with venv",
        probe: &[
            "python3",
            "-c",
            "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))",
        ],
        debian: &["python3", "python3-venv"],
        homebrew: "python3",
    },
    Prerequisite {
        name: "node 20 or newer",
        probe: &[
            "node",
            "-e",
            "process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)",
        ],
        debian: &["nodejs"],
        homebrew: "node",
    },
    Prerequisite {
        name: "npm",
        probe: &["npm", "--version"],
        debian: &["npm"],
        homebrew: "node",
    },
    Prerequisite {
        name: "git",
        probe: &["git", "--version"],
        debian: &["git"],
        homebrew: "git",
    },
];

/// Installs what the tests need and is not installed yet, and returns the Python that runs them.
///
/// # Errors
///
/// When a prerequisite is missing and cannot be installed, with the command that would; when npm or
/// pip fails.
pub(crate) fn install(root: &Path) -> anyhow::Result<PathBuf> {
    require()?;
    let [real, clients, conformance, fleet] =
        ["real", "clients", "conformance", "fleet"].map(|tests| root.join("tests").join(tests));
    let tools = root.join(".tools");
    install_node(&real, &tools.join("node"))?;
    install_node(&clients, &tools.join("clients"))?;
    install_node(&conformance, &tools.join("conformance"))?;
    install_packer(root)?;
    install_packaging(root)?;
    install_node(&fleet, &tools.join("fleet/node"))?;
    install_venv(&fleet, &tools.join("fleet/venv"))?;
    install_venv(&root.join("benches/tokens"), &tools.join("tokens/venv"))?;
    install_venv(&real, &tools.join("venv"))
}

/// Installs the other engines that `cargo xtask bench python` measures and returns their `node_modules`.
///
/// # Errors
///
/// As [`install`].
pub(crate) fn install_engines(root: &Path) -> anyhow::Result<PathBuf> {
    require()?;
    let into = root.join(".tools/engines");
    install_node(&root.join("benches/python"), &into)?;
    Ok(into.join("node_modules"))
}

/// Installs the Python packages that build and check packages, and returns their Python.
///
/// # Errors
///
/// As [`install`].
pub(crate) fn install_packaging(root: &Path) -> anyhow::Result<PathBuf> {
    install_venv(
        &root.join("tests/packages"),
        &root.join(".tools/packages/venv"),
    )
}

/// Installs the packer of bundles for desktop clients, and returns its script.
///
/// # Errors
///
/// As [`install`].
pub(crate) fn install_packer(root: &Path) -> anyhow::Result<PathBuf> {
    let into = root.join(".tools/packages/node");
    install_node(&root.join("tests/packages"), &into)?;
    Ok(into.join("node_modules/@anthropic-ai/mcpb/dist/cli/cli.js"))
}

/// Installs fuse.js, which `cargo xtask eval search` compares with, and returns the script that queries it.
///
/// # Errors
///
/// As [`install`].
pub(crate) fn install_fuse(root: &Path) -> anyhow::Result<PathBuf> {
    require()?;
    let (pinned, into) = (root.join("benches/search"), root.join(".tools/search"));
    install_node(&pinned, &into)?;
    // Beside the packages it imports.
    let script = into.join("fuse.mjs");
    fs::copy(pinned.join("fuse.mjs"), &script)?;
    Ok(script)
}

/// Installs the npm packages that are pinned in the directory `pinned`.
fn install_node(pinned: &Path, into: &Path) -> anyhow::Result<()> {
    let locks = ["package.json", "package-lock.json"];
    let stamp = stamp(
        pinned,
        &locks,
        &output(Command::new("node").arg("--version"))?,
    )?;
    if is_installed(into, &stamp) {
        return Ok(());
    }
    eprintln!("installing npm packages into {}", into.display());
    fs::create_dir_all(into)?;
    for name in locks {
        fs::copy(pinned.join(name), into.join(name))?;
    }
    // Packages are pinned, and their install scripts are not run.
    run(Command::new("npm")
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(into))?;
    mark_installed(into, &stamp)
}

fn install_venv(tests: &Path, into: &Path) -> anyhow::Result<PathBuf> {
    let python = into.join(if cfg!(windows) {
        "Scripts/python.exe"
    } else {
        "bin/python"
    });
    // An environment contains absolute paths: its own and that of its interpreter.
    let interpreter = output(
        Command::new("python3").args(["-c", "import sys; print(sys.base_prefix, sys.version)"]),
    )?;
    let place = format!("{interpreter} {}", into.display());
    let stamp = stamp(tests, &["requirements.txt"], &place)?;
    if is_installed(into, &stamp) {
        return Ok(python);
    }
    eprintln!("installing Python packages into {}", into.display());
    run(Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(into))?;
    run(Command::new(&python)
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--requirement",
        ])
        .arg(tests.join("requirements.txt")))?;
    mark_installed(into, &stamp)?;
    Ok(python)
}

/// Hash of the lock files and of the interpreters that installed them.
fn stamp(directory: &Path, files: &[&str], with: &str) -> anyhow::Result<String> {
    let mut hash = Sha256::new();
    for name in files {
        let path = directory.join(name);
        let content = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
        hash.update(format!("{name} {}\n", content.len()));
        hash.update(content);
    }
    hash.update(with);
    Ok(hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

fn is_installed(directory: &Path, stamp: &str) -> bool {
    fs::read_to_string(directory.join(STAMP)).is_ok_and(|installed| installed == stamp)
}

fn mark_installed(directory: &Path, stamp: &str) -> anyhow::Result<()> {
    fs::write(directory.join(STAMP), stamp)?;
    Ok(())
}

/// Checks everything in [`PREREQUISITES`], and installs what is missing where the user may.
fn require() -> anyhow::Result<()> {
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    if is_debian() && is_root() {
        let packages = missing.iter().flat_map(|prerequisite| prerequisite.debian);
        run(Command::new("apt-get").arg("update"))?;
        run(Command::new("apt-get")
            .args(["install", "--yes", "--no-install-recommends"])
            .args(packages)
            .env("DEBIAN_FRONTEND", "noninteractive"))?;
    } else {
        bail!("{} missing; {}", names(&missing), advice(&missing));
    }
    let still = self::missing();
    ensure!(
        still.is_empty(),
        "{} still missing: the packages of this system are too old; install it by other means and put it first in PATH",
        names(&still)
    );
    Ok(())
}

fn missing() -> Vec<&'static Prerequisite> {
    let missing = PREREQUISITES.iter().filter(|prerequisite| {
        let [program, arguments @ ..] = prerequisite.probe else {
            return true;
        };
        output(Command::new(program).args(arguments)).is_err()
    });
    missing.collect()
}

fn names(prerequisites: &[&Prerequisite]) -> String {
    let names: Vec<&str> = prerequisites
        .iter()
        .map(|prerequisite| prerequisite.name)
        .collect();
    names.join(", ")
}

/// The command that installs what is missing.
fn advice(missing: &[&Prerequisite]) -> String {
    if is_debian() {
        let packages: Vec<&str> = missing
            .iter()
            .flat_map(|prerequisite| prerequisite.debian)
            .copied()
            .collect();
        format!(
            "run: sudo apt-get update && sudo apt-get install {}",
            packages.join(" ")
        )
    } else if cfg!(target_os = "macos") {
        let packages: Vec<&str> = missing
            .iter()
            .map(|prerequisite| prerequisite.homebrew)
            .collect();
        format!("run: brew install {}", packages.join(" "))
    } else {
        "install it with this system's package manager".to_owned()
    }
}

fn is_debian() -> bool {
    Path::new("/etc/debian_version").exists()
}

fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_ok_and(|id| id == "0")
}

/// A profile that the workspace is built with.
#[derive(Clone, Copy)]
pub(crate) enum Profile {
    /// Profile of the tests.
    Dev,
    /// Profile of the product, which benchmarks measure and attacks attack.
    Release,
}

/// Path of an executable of the workspace, in any target directory.
pub(crate) fn built(profile: Profile, name: &str) -> anyhow::Result<PathBuf> {
    let directory = match profile {
        Profile::Dev => "debug",
        Profile::Release => "release",
    };
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    Ok(target()?.join(directory).join(name))
}

/// The target directory, which has this executable in a directory of its own.
pub(crate) fn target() -> anyhow::Result<PathBuf> {
    let xtask = std::env::current_exe().context("path of this executable")?;
    // Cargo puts the executables of tests into a directory below that of the others.
    let mut directories = xtask.ancestors().skip(1);
    let target = directories
        .find(|directory| !directory.ends_with("deps"))
        .and_then(Path::parent)
        .context("this executable is not in a target directory")?;
    Ok(target.to_owned())
}
