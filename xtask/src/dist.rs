//! `cargo xtask dist`: the executable as it is installed, with its debug information beside it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::background::Background;
use crate::command;
use crate::tools::{self, Profile};

/// Bound of the stripped executable in bytes, so that a growth is noticed: users download it for each version. It has
/// 102.2 MiB, 5.4 more than before skills, models, budgets, pins, redaction and the shared gateway; some 49 are machine code of
/// the guests. The goal is 90 MiB.
const EXECUTABLE_BYTES_MAX: u64 = 104 << 20;

/// Builds the product.
const BUILD: [&str; 6] = [
    "cargo",
    "build",
    "--release",
    "--locked",
    "--package",
    "limbeck",
];

/// Begins the build of [`run`], which then finds what is built already.
pub(crate) fn begin(root: &Path) -> Background {
    Background::start(root, &BUILD)
}

/// Builds the product and writes `target/dist/limbeck` and `target/dist/limbeck.debug`.
///
/// # Errors
///
/// When it does not build, `objcopy` of GNU binutils is missing, or the executable is larger than its bound.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    command::run(Command::new(BUILD[0]).args(&BUILD[1..]).current_dir(root))?;

    let built = tools::built(Profile::Release, "limbeck")?;
    let release = built.parent().context("directory of the executable")?;
    let dist = release.with_file_name("dist");
    fs::create_dir_all(&dist)?;
    let (stripped, debug) = (dist.join("limbeck"), dist.join("limbeck.debug"));
    // Debuggers find the debug file by its link when both are in one directory. The link has a checksum of the debug
    // file, so that is written first.
    command::run(
        Command::new("objcopy")
            .arg("--only-keep-debug")
            .arg(&built)
            .arg(&debug),
    )?;
    command::run(
        Command::new("objcopy")
            .arg("--strip-all")
            .arg("--add-gnu-debuglink=limbeck.debug")
            .arg(&built)
            .arg(&stripped)
            .current_dir(&dist),
    )?;

    let bytes = fs::metadata(&stripped)?.len();
    eprintln!(
        "{}: {:.1} MiB, of at most {:.1} MiB; debug information in {}",
        stripped.display(),
        mebibytes(bytes),
        mebibytes(EXECUTABLE_BYTES_MAX),
        debug.display()
    );
    ensure!(
        bytes <= EXECUTABLE_BYTES_MAX,
        "the executable has {bytes} bytes, more than {EXECUTABLE_BYTES_MAX}"
    );
    let version = command::output(Command::new(&stripped).arg("--version"))?;
    eprintln!("{version}");
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a size to read, with one digit")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
