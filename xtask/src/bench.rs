//! Runs the benchmarks of `docs/internals/performance.md`.

use std::path::Path;
use std::process::Command;

use crate::tools::Profile;
use crate::{command, tools};

/// Which benchmark.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// One of spawn, execution, stdio, calls, journal, json, start, memory, check, cancel, limit, flood, learning,
    /// governance, paused, sandbox, python, http, tokens, search; all but the last six when absent
    name: Option<String>,
    /// With `sandbox`: how long programs run back to back
    #[arg(long)]
    seconds: Option<u64>,
    /// With `http`: how many programs are sent
    #[arg(long)]
    requests: Option<u64>,
    /// With `tokens`: compare with docs/internals/benchmarks.md instead of writing it
    #[arg(long)]
    check: bool,
}

/// Prints medians beside the promised figures.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    if args.name.as_deref() == Some("python") {
        return python(root);
    }
    if args.name.as_deref() == Some("tokens") {
        let interpreter = tools::install(root)?;
        build(root)?;
        return tokens(root, &interpreter, Profile::Release, args.check);
    }
    let mut cargo = Command::new("cargo");
    cargo.args(["bench", "--quiet"]).current_dir(root);
    if args.name.as_deref() == Some("sandbox") {
        // Not `limbeck`: its own executable can also leave layers out.
        cargo.args(["--package", "limbeck-testkit", "--bench", "sandbox"]);
        cargo.args(["--features", "assume-escape", "--"]);
        if let Some(seconds) = args.seconds {
            cargo.args(["--seconds", &seconds.to_string()]);
        }
    } else if args.name.as_deref() == Some("search") {
        cargo.args(["--package", "limbeck-search", "--bench", "search"]);
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

/// Prints the cost of Python programs, beside CPython, Pyodide and TypeScript in the same run.
fn python(root: &Path) -> anyhow::Result<()> {
    let engines = tools::install_engines(root)?;
    build(root)?;
    let mut bench = Command::new("python3");
    bench
        .arg(root.join("benches/python"))
        .arg(tools::built(Profile::Release, "limbeck")?);
    command::run(bench.arg(engines))
}

/// Counts the tokens of catalogs and tasks, and writes `docs/internals/benchmarks.md` or compares with it.
pub(crate) fn tokens(
    root: &Path,
    interpreter: &Path,
    profile: Profile,
    check: bool,
) -> anyhow::Result<()> {
    let mut bench = Command::new(interpreter);
    bench
        .arg(root.join("benches/tokens"))
        .args(check.then_some("--check"))
        .env("LIMBECK_BIN", tools::built(profile, "limbeck")?);
    command::run(&mut bench)
}

fn build(root: &Path) -> anyhow::Result<()> {
    let mut build = Command::new("cargo");
    build.args(["build", "--release", "--package", "limbeck"]);
    command::run(build.current_dir(root))
}
