//! The Python guest, from `crates/limbeck-guest-py`: CPython and its library from `componentize-py`,
//! Limbeck's prelude, and the time zones.
//!
//! `componentize/` of that crate runs Python up to the point where it receives a program, in an environment that is the
//! same on every machine. Its output depends on its input files alone, so they are copied to a directory without other
//! files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use serde::Deserialize;

use super::{Guest, collect, sha256};
use crate::command;

/// Modules of Limbeck that Python imports.
const MODULES: [&str; 3] = ["app.py", "preload.py", "limbeck_guest"];
/// Packages of PyPI, with their hashes.
const REQUIREMENTS: &str = "requirements.txt";

/// Variables that the cargo which runs `xtask` sets. A build script of the tool watches them and would run again after
/// every build that was started in another way.
const OF_OUR_CARGO: [&str; 7] = [
    "CARGO_MANIFEST_DIR",
    "CARGO_MANIFEST_LINKS",
    "CARGO_PKG_NAME",
    "CARGO_PKG_VERSION_MAJOR",
    "CARGO_PKG_VERSION_MINOR",
    "CARGO_PKG_VERSION_PATCH",
    "CARGO_PKG_VERSION_PRE",
];

/// Directories of the guest's sources and tools.
pub(super) struct Python {
    /// The crate.
    dir: PathBuf,
    /// Directory of the installed tools.
    tools: PathBuf,
    /// Directory of the packages of [`REQUIREMENTS`].
    packages: PathBuf,
}

impl Python {
    /// Finds the sources and installs missing packages.
    pub(super) fn locate(root: &Path) -> anyhow::Result<Self> {
        let dir = root.join("crates/limbeck-guest-py");
        let tools = root.join(".tools");
        Ok(Self {
            packages: install_packages(&dir.join(REQUIREMENTS), &tools)?,
            dir,
            tools,
        })
    }

    /// Copies Limbeck's modules to a directory without other files.
    fn stage(&self, into: &Path) -> anyhow::Result<()> {
        if into.exists() {
            fs::remove_dir_all(into)?;
        }
        let mut files = vec![];
        for name in MODULES {
            collect(&self.dir.join(name), &mut files)?;
        }
        for file in files {
            let to = into.join(file.strip_prefix(&self.dir)?);
            fs::create_dir_all(to.parent().context("a file has a directory")?)?;
            fs::copy(&file, to)?;
        }
        Ok(())
    }

    /// Builds the tool. Only the first build takes long, because it contains an engine and a compiler.
    fn componentizer(&self) -> anyhow::Result<PathBuf> {
        let target = self.tools.join("componentize");
        let mut cargo = Command::new("cargo");
        cargo
            .args(["build", "--release", "--locked", "--target-dir"])
            .arg(&target)
            .current_dir(self.dir.join("componentize"));
        for name in OF_OUR_CARGO {
            cargo.env_remove(name);
        }
        command::run(&mut cargo)?;
        let name = format!("limbeck-componentize{}", std::env::consts::EXE_SUFFIX);
        Ok(target.join("release").join(name))
    }
}

impl Guest for Python {
    fn name(&self) -> &'static str {
        "guest-py"
    }

    fn dir(&self) -> &Path {
        &self.dir
    }

    fn sources(&self) -> &'static [&'static str] {
        &[
            "world.wit",
            "app.py",
            "preload.py",
            "limbeck_guest",
            REQUIREMENTS,
            "componentize/Cargo.toml",
            "componentize/Cargo.lock",
            "componentize/src",
        ]
    }

    fn tools(&self) -> anyhow::Result<Vec<(&'static str, String)>> {
        let requirements = fs::read_to_string(self.dir.join(REQUIREMENTS))?;
        let tzdata = requirements
            .lines()
            .find_map(|line| line.strip_prefix("tzdata=="))
            .and_then(|rest| rest.split_whitespace().next())
            .context("no version of `tzdata`")?;
        Ok(vec![
            ("componentize_py", self.componentize_py()?),
            ("tzdata", tzdata.to_owned()),
        ])
    }

    fn build(&self, scratch: &Path) -> anyhow::Result<Vec<u8>> {
        let modules = scratch.join("modules");
        self.stage(&modules)?;
        let component = scratch.join("guest.wasm");
        command::run(
            Command::new(self.componentizer()?)
                .arg(self.dir.join("world.wit"))
                .arg(&component)
                .arg(&modules)
                .arg(&self.packages),
        )?;
        Ok(fs::read(component)?)
    }
}

impl Python {
    /// Version of `componentize-py` in the tool's lock file.
    fn componentize_py(&self) -> anyhow::Result<String> {
        #[derive(Deserialize)]
        struct Metadata {
            packages: Vec<Package>,
        }
        #[derive(Deserialize)]
        struct Package {
            name: String,
            version: String,
        }
        let mut cargo = Command::new("cargo");
        cargo
            .args(["metadata", "--locked", "--format-version", "1"])
            .current_dir(self.dir.join("componentize"));
        let metadata: Metadata = serde_json::from_str(&command::output(&mut cargo)?)?;
        let mut packages = metadata.packages.into_iter();
        let package = packages.find(|package| package.name == "componentize-py");
        Ok(package
            .context("no `componentize-py` in the lock file")?
            .version)
    }
}

/// Installs the packages, unless the same are there; returns their directory.
fn install_packages(requirements: &Path, tools: &Path) -> anyhow::Result<PathBuf> {
    let hash = sha256(&fs::read(requirements)?);
    let environment = tools.join(format!("guest-py-{}", &hash[..16]));
    let packages = environment.join("packages");
    let done = environment.join("installed");
    if !done.exists() {
        command::run(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(&environment),
        )?;
        let python = environment.join(if cfg!(windows) {
            "Scripts/python.exe"
        } else {
            "bin/python"
        });
        command::run(
            Command::new(python)
                .args([
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--no-deps",
                    "--no-compile",
                ])
                .args(["--only-binary", ":all:", "--require-hashes", "--target"])
                .arg(&packages)
                .arg("--requirement")
                .arg(requirements),
        )?;
        fs::write(done, "")?;
    }
    Ok(packages)
}
