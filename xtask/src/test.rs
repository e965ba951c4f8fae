//! `cargo xtask test`: every test there is, as CI runs them.

use std::path::Path;
use std::process::Command;

use anyhow::bail;

use crate::{bench, command, tools};

/// Release of the test runner; the newest that builds with the pinned toolchain.
const NEXTEST_VERSION: &str = "0.9.143";

/// One kind of tests: its name in the summary, and how it is run.
type Stage<'a> = (&'static str, &'a dyn Fn() -> anyhow::Result<()>);

/// Installs what tests need, builds everything and runs all tests; a stage that fails does not keep
/// the next from running.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let python = tools::install(root)?;
    install_nextest(root)?;
    command::run(cargo(root).args(["build", "--release", "--workspace"]))?;

    let stages: [Stage<'_>; 12] = [
        ("unit and integration tests", &|| {
            command::run(cargo(root).args(["nextest", "run", "--release", "--workspace"]))
        }),
        ("the lockdown, each layer on and off", &|| {
            let package = ["-p", "limbeck-launcher", "--features", "assume-escape"];
            command::run(
                cargo(root)
                    .args(["nextest", "run", "--release"])
                    .args(package),
            )
        }),
        ("documentation tests", &|| {
            command::run(cargo(root).args(["test", "--release", "--doc", "--workspace"]))
        }),
        ("declarations before type checkers", &|| {
            // Of the whole workspace: one package alone would have other features built for it.
            let tests = ["--workspace", "--test", "checkers"];
            command::run(
                cargo(root)
                    .args(["nextest", "run", "--release"])
                    .args(tests)
                    .args(["--run-ignored", "only", "--success-output", "final"]),
            )
        }),
        ("the Python prelude, natively", &|| {
            pytest(root, &python, "crates/limbeck-guest-py/tests")
        }),
        ("the corpus of Python programs", &|| {
            pytest(root, &python, "tests/python")
        }),
        ("tests against real servers", &|| {
            pytest(root, &python, "tests/real")
        }),
        ("docs/benchmarks.md is what a fresh run says", &|| {
            bench::tokens(root, &python, true)
        }),
        ("hostile servers and clients", &|| {
            pytest(root, &python, "tests/hostile")
        }),
        ("the official conformance suite", &|| {
            pytest(root, &python, "tests/conformance")
        }),
        ("real clients", &|| pytest(root, &python, "tests/clients")),
        ("two dozen servers at once", &|| {
            pytest(root, &python, "tests/fleet")
        }),
    ];
    let mut failed = Vec::new();
    for (name, stage) in stages {
        eprintln!("\n── {name}");
        if let Err(error) = stage() {
            eprintln!("error: {error:#}");
            failed.push(name);
        }
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

/// Runs a directory of tests; each has modules of its own, so each gets a process.
fn pytest(root: &Path, python: &Path, tests: &str) -> anyhow::Result<()> {
    command::run(
        Command::new(python)
            .args(["-m", "pytest", tests])
            .env("LIMBECK_BIN", tools::built("limbeck")?)
            .current_dir(root),
    )
}

fn install_nextest(root: &Path) -> anyhow::Result<()> {
    if command::output(cargo(root).args(["nextest", "--version"])).is_ok() {
        return Ok(());
    }
    let package = format!("cargo-nextest@{NEXTEST_VERSION}");
    command::run(cargo(root).args(["install", "--locked", &package]))
}

fn cargo(root: &Path) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(root);
    cargo
}
