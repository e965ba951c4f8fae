//! Runs the benchmarks of `docs/performance.md`.

use std::path::Path;
use std::process::Command;

use crate::command;

/// Which benchmark.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// One of spawn, execution, stdio, calls, journal, json, start, memory; all when absent
    name: Option<String>,
}

/// Prints medians beside promises.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    let mut cargo = Command::new("cargo");
    cargo
        .args([
            "bench",
            "--quiet",
            "--package",
            "limbeck",
            "--bench",
            "gateway",
            "--",
        ])
        .args(&args.name)
        .current_dir(root);
    command::run(&mut cargo)
}
