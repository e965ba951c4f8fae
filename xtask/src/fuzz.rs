//! Fuzzes the messages of a hostile worker: bytes on its channel, and frames in any order.
//!
//! The targets are in `fuzz/`, a workspace of its own. Their checks are test code of `limbeck-wire`, which
//! `cargo xtask check` runs on the seeds.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use crate::command;

/// Release of cargo-fuzz.
const CARGO_FUZZ_VERSION: &str = "0.13.2";

/// Name of a target, and the largest allocation of one input in MiB.
const TARGETS: [(&str, u32); 2] = [("frame_decoder", 2), ("conversation", 8)];

/// Options of `cargo xtask fuzz`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Seconds for each target
    #[arg(long, default_value_t = 300)]
    seconds: u32,
    /// Write the seeds without fuzzing
    #[arg(long, conflicts_with = "seconds")]
    seeds: bool,
}

/// Runs every target for its time, or writes the seeds.
///
/// New inputs are kept in `fuzz/corpus`, which is not under version control.
///
/// # Errors
///
/// When an input violates a property. It is in `fuzz/artifacts` then; a copy beside the seeds makes the tests run it.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    if args.seeds {
        return write_seeds(root);
    }
    install(root)?;
    for (target, memory_mib) in TARGETS {
        eprintln!("== {target}, {} s", args.seconds);
        let corpus = format!("fuzz/corpus/{target}");
        fs::create_dir_all(root.join(&corpus)).with_context(|| format!("create {corpus}"))?;
        let mut fuzz = cargo(root);
        fuzz.args(["fuzz", "run", target, &corpus])
            .arg(format!("fuzz/seeds/{target}"))
            .arg("--")
            .arg(format!("-max_total_time={}", args.seconds))
            .arg(format!("-malloc_limit_mb={memory_mib}"))
            .args(["-max_len=4096", "-print_final_stats=1"])
            // Coverage needs a flag of nightly compilers, which is used for fuzzing alone.
            .env("RUSTC_BOOTSTRAP", "1");
        command::run(&mut fuzz)?;
    }
    Ok(())
}

fn write_seeds(root: &Path) -> anyhow::Result<()> {
    let test = [
        "test",
        "--release",
        "--package",
        "limbeck-wire",
        "--test",
        "fuzz",
        "the_seeds",
    ];
    command::run(cargo(root).args(test).env("LIMBECK_WRITE_SEEDS", "1"))
}

fn install(root: &Path) -> anyhow::Result<()> {
    if command::output(cargo(root).args(["fuzz", "--version"])).is_ok() {
        return Ok(());
    }
    let package = format!("cargo-fuzz@{CARGO_FUZZ_VERSION}");
    command::run(cargo(root).args(["install", "--locked", &package]))
}

fn cargo(root: &Path) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(root);
    cargo
}
