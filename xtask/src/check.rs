//! All checks of CI, and the subset that takes about a minute.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::background::Background;
use crate::stages::Stages;
use crate::{
    attacks, circles, command, crates, deny, dist, docs, guests, portable, references, test, words,
};

/// What to check.
#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Check only formatting, words, lints and unit tests, the last two of the crates that changed
    #[arg(long)]
    fast: bool,
    /// With `--fast`: the commit that changes are counted from
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    base: String,
}

/// Runs all checks, the quickest first. Only a failure to build ends the run early.
///
/// # Errors
///
/// When a check failed, with the names of all that did.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    let mut stages = Stages::new(None);
    stages.run("formatting", || format(root));
    stages.run("words", || words::run(root));
    stages.run("files and tests that documents name", || {
        references::run(root)
    });
    stages.run("crates and circles", || {
        crates::run(root)?;
        circles::run(root)
    });
    if args.fast {
        let changed = changed_crates(root, &args.base)?;
        if !changed.is_empty() {
            stages.run("lints of changed crates", || lint(root, &changed));
            stages.run("unit tests of changed crates", || {
                test::unit_tests(root, &changed)
            });
        }
        return stages.finish();
    }
    let installation = test::install(root);
    stages.run("dependencies", || deny::run(root));
    stages.run("lints", || lint_all(root));
    let mut product = None;
    let begin_product = || product = Some(dist::begin(root));
    if test::run_stages(root, &mut stages, installation, begin_product) {
        let built = stages.run(
            "build of the product, begun beside the Python tests",
            || {
                eprintln!("waiting for the end of the build that was begun");
                product.into_iter().for_each(Background::wait);
                dist::run(root)
            },
        );
        if built {
            stages.run("attacks", || attacks::run(root, &attacks::Args::default()));
            stages.run("documents", || docs::run(root));
        } else {
            stages.skip("attacks, documents", "the product was not built");
        }
    } else {
        stages.skip("tests, attacks, documents", "the tests were not built");
    }
    stages.run("other systems", || {
        portable::run(root, &portable::Args::default())
    });
    stages.run("guests are what their sources build", || {
        let args = guests::Args {
            check: true,
            ..guests::Args::default()
        };
        guests::run(root, &args)
    });
    stages.finish()
}

fn format(root: &Path) -> anyhow::Result<()> {
    cargo(root, "fmt --all --check")?;
    for workspace in [
        "crates/limbeck-guest-js",
        "crates/limbeck-guest-py/componentize",
        "crates/limbeck-guests/compiler",
        "fuzz",
    ] {
        cargo(&root.join(workspace), "fmt --check")?;
    }
    Ok(())
}

fn lint_all(root: &Path) -> anyhow::Result<()> {
    cargo(root, "clippy --workspace --all-targets -- -D warnings")?;
    let mut clippy = Command::new("cargo");
    clippy.arg("clippy").args(test::LOCKDOWN).current_dir(root);
    command::run(clippy.args(["--", "-D", "warnings"]))
}

fn lint(root: &Path, crates: &BTreeSet<String>) -> anyhow::Result<()> {
    let mut clippy = Command::new("cargo");
    clippy.args(["clippy", "--all-targets"]).current_dir(root);
    for name in crates {
        clippy.args(["--package", name]);
    }
    command::run(clippy.args(["--", "-D", "warnings"]))
}

/// Names of the workspace's crates with files that differ from `base` or are untracked.
fn changed_crates(root: &Path, base: &str) -> anyhow::Result<BTreeSet<String>> {
    let git = |args: &[&str]| command::output(Command::new("git").args(args).current_dir(root));
    let changed = git(&["diff", "--name-only", base])?;
    let untracked = git(&["ls-files", "--others", "--exclude-standard"])?;
    let members = members(root)?;
    let crates = changed.lines().chain(untracked.lines()).filter_map(|path| {
        let name = path
            .strip_prefix("crates/")
            .and_then(|path| path.split('/').next())
            .or_else(|| path.starts_with("xtask/").then_some("xtask"))?;
        members.contains(name).then(|| name.to_owned())
    });
    Ok(crates.collect())
}

/// Names of the workspace's packages. Each is also the name of its directory.
fn members(root: &Path) -> anyhow::Result<BTreeSet<String>> {
    #[derive(serde::Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    #[derive(serde::Deserialize)]
    struct Package {
        name: String,
    }
    let mut cargo = Command::new("cargo");
    cargo
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root);
    let metadata: Metadata = serde_json::from_str(&command::output(&mut cargo)?)?;
    Ok(metadata
        .packages
        .into_iter()
        .map(|package| package.name)
        .collect())
}

fn cargo(dir: &Path, line: &str) -> anyhow::Result<()> {
    command::run(Command::new("cargo").args(line.split(' ')).current_dir(dir))
}
