//! Everything CI runs, in the order in which it fails fastest.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::Context as _;

use crate::{attacks, command, docs, guests, portable, test};

/// Runs all checks, stopping at the first that fails.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    step("formatting", || format(root))?;
    step("dependencies", || {
        cargo(root, "deny check bans licenses sources")
    })?;
    step("lints", || {
        cargo(
            root,
            "clippy --release --workspace --all-targets -- -D warnings",
        )?;
        cargo(
            root,
            "clippy --release -p limbeck-launcher --features assume-escape --all-targets -- -D warnings",
        )
    })?;
    step("tests", || test::run(root))?;
    step("attacks", || attacks::run(root, &attacks::Args::default()))?;
    step("documents", || docs::run(root))?;
    step("other systems", || {
        portable::run(root, &portable::Args::default())
    })?;
    step("guests are what their sources build", || {
        let args = guests::Args {
            check: true,
            ..guests::Args::default()
        };
        guests::run(root, &args)
    })
}

fn format(root: &Path) -> anyhow::Result<()> {
    cargo(root, "fmt --all --check")?;
    cargo(&root.join("crates/limbeck-guest-js"), "fmt --check")?;
    let componentize = root.join("crates/limbeck-guest-py/componentize");
    cargo(&componentize, "fmt --check")?;
    cargo(&root.join("fuzz"), "fmt --check")
}

fn step(name: &str, run: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    eprintln!("== {name}");
    let started = Instant::now();
    run().with_context(|| format!("check failed: {name}"))?;
    eprintln!("== {name}: passed in {} s", started.elapsed().as_secs());
    Ok(())
}

fn cargo(dir: &Path, line: &str) -> anyhow::Result<()> {
    command::run(Command::new("cargo").args(line.split(' ')).current_dir(dir))
}
