//! The JavaScript guest, from `crates/limbeck-guest-js`: Rust, with QuickJS in C.
//!
//! The build is a function of the sources, the Rust toolchain and the pinned C compiler alone.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use super::{Guest, text};
use crate::command;
use crate::toolchain::{ZIG_VERSION, Zig, add_target};

const TARGET: &str = "wasm32-unknown-unknown";
/// Linear memory reserved for the stack, the same as in `src/engine.rs` of the guest.
const STACK_BYTES: usize = (4 << 20) + (512 << 10);
/// Instructions that both compilers may use. Wasmtime enables all of them by default.
const CPU: &str =
    "-mcpu=generic+bulk_memory+multivalue+mutable_globals+nontrapping_fptoint+sign_ext+simd128";

/// Directories of the guest's sources and tools.
pub(super) struct Javascript {
    /// The crate.
    dir: PathBuf,
    zig: Zig,
    /// Directory into which cargo unpacks the crates of the registry.
    registry: PathBuf,
    rquickjs: String,
}

impl Javascript {
    /// Finds the sources and installs missing tools: the target of the Rust toolchain, and the C compiler in `.tools`.
    pub(super) fn locate(root: &Path) -> anyhow::Result<Self> {
        let dir = root.join("crates/limbeck-guest-js");
        add_target(&dir, TARGET)?;
        let (rquickjs, registry) = locate_rquickjs(&dir)?;
        Ok(Self {
            zig: Zig::install(root)?,
            registry,
            rquickjs,
            dir,
        })
    }

    fn rust_flags(&self, target_dir: &Path) -> anyhow::Result<Vec<String>> {
        let mut flags = vec![
            "-Ctarget-feature=+simd128".to_owned(),
            format!("-Clink-arg=-zstack-size={STACK_BYTES}"),
        ];
        // rustc uses the last matching prefix, and the target directory is inside of the crate.
        for (from, to) in [
            (&*self.registry, "registry"),
            (&self.dir, "guest"),
            (target_dir, "target"),
        ] {
            flags.push(format!("--remap-path-prefix={}={to}", text(from)?));
        }
        Ok(flags)
    }

    fn c_flags(&self, target_dir: &Path) -> anyhow::Result<String> {
        let mut flags = format!("{CPU} -include {}", text(&self.dir.join("stack.h"))?);
        for (from, to) in [
            (&*self.registry, "registry"),
            (&self.dir, "guest"),
            (target_dir, "target"),
        ] {
            let from = text(from)?;
            ensure!(
                !from.contains(' '),
                "the build passes `{from}` to a C compiler, which spaces break"
            );
            write!(flags, " -ffile-prefix-map={from}={to}")?;
        }
        Ok(flags)
    }
}

impl Guest for Javascript {
    fn name(&self) -> &'static str {
        "guest-js"
    }

    fn dir(&self) -> &Path {
        &self.dir
    }

    fn sources(&self) -> &'static [&'static str] {
        &[
            "Cargo.toml",
            "Cargo.lock",
            "stack.h",
            "wcc",
            "war",
            "src",
            "prelude",
        ]
    }

    fn tools(&self) -> anyhow::Result<Vec<(&'static str, String)>> {
        let mut rustc = Command::new("rustc");
        rustc.arg("--version").current_dir(&self.dir);
        Ok(vec![
            ("rustc", command::output(&mut rustc)?),
            ("zig", ZIG_VERSION.to_owned()),
            ("rquickjs", self.rquickjs.clone()),
        ])
    }

    fn build(&self, target_dir: &Path) -> anyhow::Result<Vec<u8>> {
        let mut cargo = Command::new("cargo");
        cargo
            .args([
                "build",
                "--release",
                "--locked",
                "--target",
                TARGET,
                "--target-dir",
            ])
            .arg(target_dir)
            .current_dir(&self.dir)
            .env("CC_wasm32_unknown_unknown", self.dir.join("wcc"))
            .env("AR_wasm32_unknown_unknown", self.dir.join("war"))
            .env("CFLAGS_wasm32_unknown_unknown", self.c_flags(target_dir)?)
            .env(
                "CARGO_ENCODED_RUSTFLAGS",
                self.rust_flags(target_dir)?.join("\x1f"),
            )
            .env_remove("RUSTC_WRAPPER")
            .env_remove("RUSTC_WORKSPACE_WRAPPER");
        self.zig.provide(&mut cargo);
        command::run(&mut cargo)?;

        Ok(fs::read(
            target_dir
                .join(TARGET)
                .join("release/limbeck_guest_js.wasm"),
        )?)
    }
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    manifest_path: PathBuf,
}

/// Version of `rquickjs` in the guest's lock file, and the directory its source was unpacked into.
fn locate_rquickjs(dir: &Path) -> anyhow::Result<(String, PathBuf)> {
    let mut cargo = Command::new("cargo");
    cargo
        .args([
            "metadata",
            "--locked",
            "--format-version",
            "1",
            "--filter-platform",
            TARGET,
        ])
        .current_dir(dir);
    let metadata: Metadata = serde_json::from_str(&command::output(&mut cargo)?)?;
    let package = metadata
        .packages
        .into_iter()
        .find(|package| package.name == "rquickjs")
        .context("no `rquickjs` in the guest's lock file")?;
    let registry = package
        .manifest_path
        .ancestors()
        .nth(2)
        .context("path of `rquickjs`")?;
    Ok((package.version, registry.to_owned()))
}
