//! `cargo xtask test`: all tests, as CI runs them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::anyhow;

use crate::stages::Stages;
use crate::tools::Profile;
use crate::{bench, command, junit, tools};

/// Release of the test runner; the newest that builds with the pinned toolchain.
const NEXTEST_VERSION: &str = "0.9.143";

/// Selects the lockdown's tests, whose worker can leave layers out. With `--workspace`, because the package alone would
/// be built with other features of its dependencies.
pub(crate) const LOCKDOWN: [&str; 7] = [
    "--workspace",
    "--features",
    "limbeck-launcher/assume-escape",
    "--test",
    "lockdown",
    "--bin",
    "escapee",
];

/// Which tests.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only the stages whose name contains S, after building everything
    #[arg(long, value_name = "S")]
    only: Option<String>,
}

/// Installs what tests need, builds everything and runs all tests.
///
/// # Errors
///
/// When something cannot be installed, and when a stage failed, with the names of all that did.
pub(crate) fn run(root: &Path, args: Args) -> anyhow::Result<()> {
    let mut stages = Stages::new(args.only);
    run_stages(root, &mut stages, install(root), || {});
    stages.finish()
}

/// Test tools that are being installed: npm and pip wait for the network while compilers compute.
pub(crate) struct Installation(thread::JoinHandle<anyhow::Result<PathBuf>>);

/// Begins to install the tools of the tests.
pub(crate) fn install(root: &Path) -> Installation {
    let root = root.to_owned();
    Installation(thread::spawn(move || {
        let python = tools::install(&root)?;
        install_nextest(&root)?;
        Ok(python)
    }))
}

/// Runs the stages of [`run`] and returns whether the tests could be built. Calls `before_python` when only tests in
/// Python are left: they start executables and wait for them, and leave about half of two cores idle.
pub(crate) fn run_stages(
    root: &Path,
    stages: &mut Stages,
    installation: Installation,
    before_python: impl FnOnce(),
) -> bool {
    let built = stages.run("build of executables", || {
        // The Python tests start them, and a build of tests alone leaves some out.
        command::run(cargo(root).args(["build", "--workspace"]))
    });
    let mut python = None;
    let installed = stages.run("installation of test tools, begun earlier", || {
        let result = installation.0.join();
        python = Some(result.map_err(|_| anyhow!("the installation panicked"))??);
        Ok(())
    });
    let (true, true, Some(python)) = (built, installed, python) else {
        return false;
    };
    let built = stages.run("build of tests", || {
        command::run(cargo(root).args(["nextest", "run", "--workspace", "--no-run"]))
    });
    if !built {
        return false;
    }
    stages.run_if_wanted("unit and integration tests", || {
        nextest(cargo(root).args(["nextest", "run", "--workspace"]))
    });
    stages.run_if_wanted("the lockdown, each layer on and off", || {
        nextest(cargo(root).args(["nextest", "run"]).args(LOCKDOWN))
    });
    stages.run_if_wanted("documentation tests", || {
        command::run(cargo(root).args(["test", "--doc", "--workspace"]))
    });
    stages.run_if_wanted("declarations before type checkers", || {
        // With `--workspace`, because the package alone would be built with other features of its dependencies.
        let tests = ["--workspace", "-E", "test(/^checkers::/)"];
        let shown = ["--run-ignored", "only", "--success-output", "final"];
        nextest(cargo(root).args(["nextest", "run"]).args(tests).args(shown))
    });
    before_python();
    let pytest = |tests: &str| pytest(root, &python, tests);
    stages.run_if_wanted("the Python prelude, natively", || {
        pytest("crates/limbeck-guest-py/tests")
    });
    stages.run_if_wanted("the corpus of Python programs", || pytest("tests/python"));
    stages.run_if_wanted("tests against real servers", || pytest("tests/real"));
    stages.run_if_wanted("users of earlier systems", || pytest("tests/successors"));
    stages.run_if_wanted("token benchmarks match their page", || {
        bench::tokens(root, &python, Profile::Dev, true)
    });
    stages.run_if_wanted("hostile servers and clients", || pytest("tests/hostile"));
    stages.run_if_wanted("the official conformance suite", || {
        pytest("tests/conformance")
    });
    stages.run_if_wanted("real clients", || pytest("tests/clients"));
    stages.run_if_wanted("two dozen servers at once", || pytest("tests/fleet"));
    stages.run_if_wanted("packages, installed", || {
        let packaging = tools::install_packaging(root)?;
        self::pytest(root, &packaging, "tests/packages")
    });
    true
}

/// Runs the unit tests of `crates`, which are beside the code and need no other process.
///
/// # Errors
///
/// When one fails, or does not build.
pub(crate) fn unit_tests(root: &Path, crates: &BTreeSet<String>) -> anyhow::Result<()> {
    install_nextest(root)?;
    let mut tests = cargo(root);
    tests.args(["nextest", "run", "--bins", "--no-tests", "pass"]);
    // Cargo refuses `--lib` when none of the packages has a library.
    let has_library = |name: &String| root.join("crates").join(name).join("src/lib.rs").exists();
    if crates.iter().any(has_library) {
        tests.arg("--lib");
    }
    for name in crates {
        tests.args(["--package", name]);
    }
    nextest(&mut tests)
}

/// Runs nextest, which writes the report that `.config/nextest.toml` names.
fn nextest(tests: &mut Command) -> anyhow::Result<()> {
    let report = tools::target()?.join("nextest/default/junit.xml");
    junit::run(tests, &report, None)
}

/// Runs a directory of tests. Each has modules of its own, so each gets its own process.
fn pytest(root: &Path, python: &Path, tests: &str) -> anyhow::Result<()> {
    let report = tools::target()?.join("pytest.xml");
    junit::run(
        Command::new(python)
            .args(["-m", "pytest", tests])
            // Of the two forms of a report the one that has the file of each test.
            .args(["-o", "junit_family=xunit1", "--junit-xml"])
            .arg(&report)
            .env("LIMBECK_BIN", tools::built(Profile::Dev, "limbeck")?)
            .current_dir(root),
        &report,
        Some(tests),
    )
}

fn install_nextest(root: &Path) -> anyhow::Result<()> {
    if command::output(cargo(root).args(["nextest", "--version"])).is_ok() {
        return Ok(());
    }
    let package = format!("cargo-nextest@{NEXTEST_VERSION}");
    // Without self-update, probes, optimisation and debug information, so that it builds fast.
    let install = ["install", "--locked", "--debug", "--no-default-features"];
    command::run(
        cargo(root)
            .args(install)
            .arg(&package)
            .env("CARGO_PROFILE_DEV_DEBUG", "false"),
    )
}

fn cargo(root: &Path) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(root);
    cargo
}
