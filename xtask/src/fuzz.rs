//! Fuzzes what a hostile worker sends: bytes on its channel, and frames in any order.
//!
//! The targets are in `fuzz/`, which is no member of the workspace. What they check is test code of
//! `limbeck-wire`, and `cargo xtask check` runs it on the seeds.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use crate::command;

/// Release of cargo-fuzz.
const CARGO_FUZZ_VERSION: &str = "0.13.2";

/// A target, and the largest piece of memory its inputs may ask for at once, in MiB.
const TARGETS: [(&str, u32); 2] = [("frame_decoder", 2), ("conversation", 8)];

/// Options of `cargo xtask fuzz`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Seconds for each target
    #[arg(long, default_value_t = 300)]
    seconds: u32,
    /// Write the inputs to begin from, and fuzz nothing
    #[arg(long, conflicts_with = "seconds")]
    seeds: bool,
}

/// Runs every target for its time, or writes the seeds.
///
/// New inputs are kept in `fuzz/corpus`, which is not under version control.
///
/// # Errors
///
/// When something does not hold: the input is in `fuzz/artifacts` then. Put it beside the seeds, and
/// the tests try it from then on.
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
            // Counting what code was reached is a flag of nightly compilers. It is only for this.
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
