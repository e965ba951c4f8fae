//! Runs the benchmarks of `docs/performance.md`.

use std::path::Path;
use std::process::Command;

use crate::command;

/// Which benchmark.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// One of spawn, execution, stdio, calls, journal, json, start, memory, sandbox; all but the last
    /// when absent
    name: Option<String>,
    /// With `sandbox`: how long programs run back to back
    #[arg(long)]
    seconds: Option<u64>,
}

/// Prints medians beside promises.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.args(["bench", "--quiet"]).current_dir(root);
    if args.name.as_deref() == Some("sandbox") {
        // The executable it measures against can leave layers out, and is no `limbeck`.
        cargo.args(["--package", "limbeck-testkit", "--bench", "sandbox"]);
        cargo.args(["--features", "assume-escape", "--"]);
        if let Some(seconds) = args.seconds {
            cargo.args(["--seconds", &seconds.to_string()]);
        }
    } else {
        cargo.args(["--package", "limbeck", "--bench", "gateway", "--"]);
        cargo.args(&args.name);
    }
    command::run(&mut cargo)
}
