//! Builds the guests and writes them to `crates/limbeck-guests/artifacts`.
//!
//! The repository has each module, compressed, and a record of the sources and tools that it was built from. A build
//! depends on the sources and the pinned tools alone and on no path or time of the machine, so `--check` can compare
//! hashes on any machine.
//!
//! A rebuild takes minutes. After one that resulted in the committed bytes, `--check` writes a hash of all of its inputs
//! to `NAME.verified`. While the files of the checkout have that hash, a later check compares hashes only. `--rebuild`
//! builds in any case.

mod javascript;
mod python;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

const ZSTD_LEVEL: i32 = 19;

/// Options of a build.
#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Build again and compare with what is committed; change nothing
    #[arg(long)]
    pub(crate) check: bool,
    /// With `--check`: build even if the same files were built and compared before
    #[arg(long, requires = "check")]
    pub(crate) rebuild: bool,
    /// Build this guest alone
    #[arg(value_enum)]
    pub(crate) guest: Option<Which>,
}

/// A guest, by its language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Which {
    Javascript,
    Python,
}

/// Build of one guest.
trait Guest {
    /// Name of its files in the directory of artifacts.
    fn name(&self) -> &'static str;

    /// Directory of its sources.
    fn dir(&self) -> &Path;

    /// Files and directories that the build reads, below [`Guest::dir`].
    fn sources(&self) -> &'static [&'static str];

    /// Tools and packages that it is built with, and their versions.
    fn tools(&self) -> anyhow::Result<Vec<(&'static str, String)>>;

    /// Builds it, with its intermediate files in `scratch`.
    fn build(&self, scratch: &Path) -> anyhow::Result<Vec<u8>>;
}

/// The record beside the module.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// SHA-256 of the module, uncompressed.
    sha256: String,
    /// Size of the module, uncompressed.
    bytes: usize,
    /// [`Guest::tools`].
    #[serde(flatten)]
    tools: Map<String, Value>,
    /// SHA-256 over names and contents of everything in the guest's crate that the build reads.
    sources_sha256: String,
}

/// Builds the guests, then stores or compares them.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    let stored = root.join("crates/limbeck-guests/artifacts");
    let wanted = |which| args.guest.is_none_or(|guest| guest == which);
    let mut guests: Vec<Box<dyn Guest>> = vec![];
    if wanted(Which::Javascript) {
        guests.push(Box::new(javascript::Javascript::locate(root)?));
    }
    if wanted(Which::Python) {
        guests.push(Box::new(python::Python::locate(root)?));
    }
    for guest in guests {
        if args.check {
            check(&*guest, &stored, args.rebuild)?;
        } else {
            store(&*guest, &stored)?;
        }
    }
    Ok(())
}

fn store(guest: &dyn Guest, stored: &Path) -> anyhow::Result<()> {
    let name = guest.name();
    let (module, record) = build(guest, &guest.dir().join("target"))?;
    fs::create_dir_all(stored)?;
    let packed = zstd::encode_all(module.as_slice(), ZSTD_LEVEL)?;
    fs::write(stored.join(format!("{name}.wasm.zst")), &packed)?;
    let mut json = serde_json::to_string_pretty(&record)?;
    json.push('\n');
    fs::write(stored.join(format!("{name}.json")), json)?;
    eprintln!(
        "{name}: {} bytes of wasm, {} compressed, sha256 {}",
        record.bytes,
        packed.len(),
        record.sha256
    );
    Ok(())
}

fn check(guest: &dyn Guest, stored: &Path, rebuild: bool) -> anyhow::Result<()> {
    let name = guest.name();
    let record_text = fs::read(stored.join(format!("{name}.json")))?;
    let record: Record = serde_json::from_slice(&record_text)?;
    let packed = fs::read(stored.join(format!("{name}.wasm.zst")))?;
    let module = zstd::decode_all(packed.as_slice()).context("committed module")?;
    ensure!(
        sha256(&module) == record.sha256,
        "{name}.wasm.zst is not the module that {name}.json describes; run `cargo xtask guests`"
    );
    ensure!(
        sources_sha256(guest)? == record.sources_sha256,
        "the sources of {name} have changed since it was built; run `cargo xtask guests`"
    );

    // The hashes of sources and module were compared with the files of this checkout above. The versions of the tools
    // depend on this machine too.
    ensure!(
        tools(guest)? == record.tools,
        "{name} was built with other tools than those of this machine: {:?}",
        record.tools
    );
    let verified = stored.join(format!("{name}.verified"));
    let inputs = sha256(&record_text);
    if !rebuild && fs::read_to_string(&verified).is_ok_and(|text| text.trim() == inputs) {
        eprintln!(
            "{name}: rebuilt and compared before; its sources, tools and module are the same"
        );
        return Ok(());
    }

    let scratch = guest.dir().join("target/check");
    if scratch.exists() {
        fs::remove_dir_all(&scratch)?;
    }
    let (_, rebuilt) = build(guest, &scratch)?;
    fs::remove_dir_all(&scratch)?;
    if rebuilt != record {
        bail!(
            "{name} does not build to what is committed\ncommitted: {record:#?}\nrebuilt:   {rebuilt:#?}"
        );
    }
    eprintln!(
        "{name}: rebuilt to the same {} bytes, sha256 {}; commit {}",
        record.bytes,
        record.sha256,
        verified.display()
    );
    fs::write(verified, inputs + "\n")?;
    Ok(())
}

fn build(guest: &dyn Guest, scratch: &Path) -> anyhow::Result<(Vec<u8>, Record)> {
    let module = guest.build(scratch)?;
    let record = Record {
        sha256: sha256(&module),
        bytes: module.len(),
        tools: tools(guest)?,
        sources_sha256: sources_sha256(guest)?,
    };
    Ok((module, record))
}

/// [`Guest::tools`] as the record has them.
fn tools(guest: &dyn Guest) -> anyhow::Result<Map<String, Value>> {
    let tools = guest.tools()?.into_iter();
    Ok(tools
        .map(|(name, version)| (name.to_owned(), Value::String(version)))
        .collect())
}

fn sources_sha256(guest: &dyn Guest) -> anyhow::Result<String> {
    let mut files = vec![];
    for name in guest.sources() {
        collect(&guest.dir().join(name), &mut files)?;
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        let name = text(file.strip_prefix(guest.dir())?)?.replace('\\', "/");
        let bytes = fs::read(&file)?;
        hash.update(format!("{name}\n{}\n", bytes.len()));
        hash.update(&bytes);
    }
    Ok(hex(&hash.finalize()))
}

/// Finds all files at and below `path`, except the bytecode that Python writes when it runs.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if path.ends_with("__pycache__") {
        return Ok(());
    }
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

/// `bytes` as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all text");
        text
    })
}
