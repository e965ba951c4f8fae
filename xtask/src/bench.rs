//! Runs the benchmarks of `docs/performance.md`.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use crate::{command, tools};

/// Which benchmark.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// One of spawn, execution, stdio, calls, journal, json, start, memory, sandbox, python, http,
    /// search; all but the last four when absent
    name: Option<String>,
    /// With `sandbox`: how long programs run back to back
    #[arg(long)]
    seconds: Option<u64>,
    /// With `http`: how many programs are sent
    #[arg(long)]
    requests: Option<u64>,
}

/// Prints medians beside promises.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    if args.name.as_deref() == Some("python") {
        return python(root);
    }
    let mut cargo = Command::new("cargo");
    cargo.args(["bench", "--quiet"]).current_dir(root);
    if args.name.as_deref() == Some("sandbox") {
        // The executable it measures against can leave layers out, and is no `limbeck`.
        cargo.args(["--package", "limbeck-testkit", "--bench", "sandbox"]);
        cargo.args(["--features", "assume-escape", "--"]);
        if let Some(seconds) = args.seconds {
            cargo.args(["--seconds", &seconds.to_string()]);
        }
    } else if args.name.as_deref() == Some("search") {
        cargo.args(["--package", "limbeck-catalog", "--bench", "search"]);
    } else if args.name.as_deref() == Some("http") {
        cargo.args(["--package", "limbeck", "--bench", "http", "--"]);
        if let Some(requests) = args.requests {
            cargo.args(["--requests", &requests.to_string()]);
        }
    } else {
        cargo.args(["--package", "limbeck", "--bench", "gateway", "--"]);
        cargo.args(&args.name);
    }
    command::run(&mut cargo)
}

/// Prints what Python costs, beside CPython, Pyodide and TypeScript in the same run.
fn python(root: &Path) -> anyhow::Result<()> {
    let engines = tools::install_engines(root)?;
    let mut build = Command::new("cargo");
    build.args(["build", "--release", "--package", "limbeck"]);
    command::run(build.current_dir(root))?;
    // It lies beside ours, wherever the target directory is.
    let limbeck = std::env::current_exe()
        .context("path of this executable")?
        .with_file_name(format!("limbeck{}", std::env::consts::EXE_SUFFIX));
    let mut bench = Command::new("python3");
    bench.arg(root.join("benches/python")).arg(limbeck);
    command::run(bench.arg(engines))
}
