//! Builds the JavaScript guest from `crates/limbeck-guest-js` and hands it to the worker.
//!
//! What is committed is the module, compressed, and a record of what it was made from. The build is a
//! function of the sources, the Rust toolchain and the pinned C compiler alone: no path of this
//! machine and no time enters it, so `--check` on any machine can compare hashes.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::command;

/// Release of the `ziglang` package on PyPI: the C compiler, the same on every host.
const ZIG_VERSION: &str = "0.17.0";
const TARGET: &str = "wasm32-unknown-unknown";
/// Linear memory kept for the stack; `src/engine.rs` of the guest says the same.
const STACK_BYTES: usize = (4 << 20) + (512 << 10);
/// Instructions both compilers may use. Every one is on by default in Wasmtime.
const CPU: &str =
    "-mcpu=generic+bulk_memory+multivalue+mutable_globals+nontrapping_fptoint+sign_ext+simd128";
const ZSTD_LEVEL: i32 = 19;

/// What a build may be asked for.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Build again and compare with what is committed; change nothing
    #[arg(long)]
    pub(crate) check: bool,
}

/// The record beside the module, `guest-js.json`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// SHA-256 of the module, uncompressed.
    sha256: String,
    /// Size of the module, uncompressed.
    bytes: usize,
    rustc: String,
    zig: String,
    rquickjs: String,
    /// SHA-256 over names and contents of everything in the guest's crate that the build reads.
    sources_sha256: String,
}

/// Builds the guest, then stores it or compares it.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    let guest = Guest::locate(root)?;
    let stored = root.join("crates/limbeck-worker/guests");
    if args.check {
        check(&guest, &stored)
    } else {
        store(&guest, &stored)
    }
}

fn store(guest: &Guest, stored: &Path) -> anyhow::Result<()> {
    let (module, record) = guest.build(&guest.dir.join("target"))?;
    fs::create_dir_all(stored)?;
    let packed = zstd::encode_all(module.as_slice(), ZSTD_LEVEL)?;
    fs::write(stored.join("guest-js.wasm.zst"), &packed)?;
    let mut json = serde_json::to_string_pretty(&record)?;
    json.push('\n');
    fs::write(stored.join("guest-js.json"), json)?;
    eprintln!(
        "guest-js: {} bytes of wasm, {} compressed, sha256 {}",
        record.bytes,
        packed.len(),
        record.sha256
    );
    Ok(())
}

fn check(guest: &Guest, stored: &Path) -> anyhow::Result<()> {
    let record: Record = serde_json::from_slice(&fs::read(stored.join("guest-js.json"))?)?;
    let packed = fs::read(stored.join("guest-js.wasm.zst"))?;
    let module = zstd::decode_all(packed.as_slice()).context("committed module")?;
    ensure!(
        sha256(&module) == record.sha256,
        "guest-js.wasm.zst is not the module that guest-js.json describes; run `cargo xtask guests`"
    );
    ensure!(
        guest.sources_sha256()? == record.sources_sha256,
        "the guest's sources have changed since it was built; run `cargo xtask guests`"
    );

    let scratch = guest.dir.join("target/check");
    if scratch.exists() {
        fs::remove_dir_all(&scratch)?;
    }
    let (_, rebuilt) = guest.build(&scratch)?;
    fs::remove_dir_all(&scratch)?;
    if rebuilt != record {
        bail!(
            "the guest does not build to what is committed\ncommitted: {record:#?}\nrebuilt:   {rebuilt:#?}"
        );
    }
    eprintln!(
        "guest-js: rebuilt to the same {} bytes, sha256 {}",
        record.bytes, record.sha256
    );
    Ok(())
}

/// Where the guest's sources and tools are.
struct Guest {
    /// The crate.
    dir: PathBuf,
    /// Python with the pinned `ziglang`.
    python: PathBuf,
    /// Where the C compiler keeps what it compiled before.
    zig_cache: PathBuf,
    /// Where cargo unpacks the crates of the registry.
    registry: PathBuf,
    rquickjs: String,
}

impl Guest {
    /// Finds the sources and installs what is missing of the tools: the target of the Rust toolchain,
    /// and the C compiler in `.tools`.
    fn locate(root: &Path) -> anyhow::Result<Self> {
        let dir = root.join("crates/limbeck-guest-js");
        add_target(&dir)?;
        let tools = root.join(".tools");
        let (rquickjs, registry) = locate_rquickjs(&dir)?;
        Ok(Self {
            python: install_zig(&tools)?,
            zig_cache: tools.join("zig-cache"),
            registry,
            rquickjs,
            dir,
        })
    }

    /// Builds into `target_dir`; returns the module and its record.
    fn build(&self, target_dir: &Path) -> anyhow::Result<(Vec<u8>, Record)> {
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
            .env("LIMBECK_ZIG_PYTHON", &self.python)
            .env("ZIG_GLOBAL_CACHE_DIR", &self.zig_cache)
            .env("ZIG_LOCAL_CACHE_DIR", &self.zig_cache)
            .env_remove("RUSTC_WRAPPER")
            .env_remove("RUSTC_WORKSPACE_WRAPPER");
        command::run(&mut cargo)?;

        let module = fs::read(
            target_dir
                .join(TARGET)
                .join("release/limbeck_guest_js.wasm"),
        )?;
        let record = Record {
            sha256: sha256(&module),
            bytes: module.len(),
            rustc: command::output(
                Command::new("rustc")
                    .arg("--version")
                    .current_dir(&self.dir),
            )?,
            zig: ZIG_VERSION.to_owned(),
            rquickjs: self.rquickjs.clone(),
            sources_sha256: self.sources_sha256()?,
        };
        Ok((module, record))
    }

    fn rust_flags(&self, target_dir: &Path) -> anyhow::Result<Vec<String>> {
        let mut flags = vec![
            "-Ctarget-feature=+simd128".to_owned(),
            format!("-Clink-arg=-zstack-size={STACK_BYTES}"),
        ];
        // rustc takes the last prefix that fits: the target directory lies inside the crate.
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

    fn sources_sha256(&self) -> anyhow::Result<String> {
        let mut files = vec![];
        for name in [
            "Cargo.toml",
            "Cargo.lock",
            "stack.h",
            "wcc",
            "war",
            "src",
            "prelude",
        ] {
            collect(&self.dir.join(name), &mut files)?;
        }
        files.sort();
        let mut hash = Sha256::new();
        for file in files {
            let name = text(file.strip_prefix(&self.dir)?)?.replace('\\', "/");
            let bytes = fs::read(&file)?;
            hash.update(format!("{name}\n{}\n", bytes.len()));
            hash.update(&bytes);
        }
        Ok(hex(&hash.finalize()))
    }
}

fn add_target(dir: &Path) -> anyhow::Result<()> {
    let sysroot = command::output(
        Command::new("rustc")
            .args(["--print", "sysroot"])
            .current_dir(dir),
    )?;
    if Path::new(&sysroot)
        .join("lib/rustlib")
        .join(TARGET)
        .exists()
    {
        return Ok(());
    }
    command::run(
        Command::new("rustup")
            .args(["target", "add", TARGET])
            .current_dir(dir),
    )
}

/// Makes a virtual environment with the pinned compiler, unless there is one; returns its Python.
fn install_zig(tools: &Path) -> anyhow::Result<PathBuf> {
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
    Ok(python)
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

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), files)?;
        }
    } else {
        files.push(path.to_owned());
    }
    Ok(())
}

fn text(path: &Path) -> anyhow::Result<&str> {
    path.to_str()
        .with_context(|| format!("{} is not UTF-8", path.display()))
}

fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all text");
        text
    })
}
