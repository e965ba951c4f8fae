//! `cargo xtask package NAME`: the executable as the package managers want it, in `target/packages`.
//!
//! A package is made of an executable that is built already, so that a release builds once for each system, and on that
//! system. Texts that no machine makes are in `packaging/`. `tests/packages` installs each package where nothing else is.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use clap::ValueEnum;

use crate::tools::{self, Profile};
use crate::{command, dist};

mod archive;
mod debian;
mod homebrew;
mod image;
mod mcpb;
mod npm;
mod registry;
mod system;
mod wheel;

use system::System;

/// Version of every package, which is that of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// One line about the product.
const SUMMARY: &str = "One MCP server in front of all the others: programs instead of tool calls";

/// Home of the project.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// Name in the registry of MCP servers. Packages on npm and PyPI repeat it as the proof that they belong to it.
const REGISTRY_NAME: &str = "io.github.limbeck/limbeck";

/// Options of a package.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Packages to build
    #[arg(required = true)]
    names: Vec<Name>,
    /// Executable to package [default: target/dist/limbeck, built first]
    #[arg(long)]
    executable: Option<PathBuf>,
    /// System that the executable is for, as Rust names it [default: this machine's]
    #[arg(long)]
    target: Option<String>,
}

/// A kind of package.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Name {
    /// limbeck-VERSION-TARGET.tar.gz, for cargo binstall, Homebrew and by hand
    Archive,
    /// The package for npm, and that of this system
    Npm,
    /// The wheel for PyPI
    Wheel,
    /// The package for Debian and Ubuntu
    Deb,
    /// The bundle for desktop clients
    Mcpb,
    /// What a container image is built of, with its definitions and profiles
    Image,
    /// The formula for Homebrew, of the archives that are there
    Homebrew,
    /// server.json for the registry of MCP servers, of the bundles that are there
    Registry,
}

/// What a package is made of.
struct Release<'a> {
    root: &'a Path,
    /// Without symbols.
    executable: PathBuf,
    system: &'static System,
    /// Where packages are written to.
    packages: PathBuf,
    /// Empty directory for a package's files.
    work: PathBuf,
}

/// Builds the packages that are named.
///
/// # Errors
///
/// When the executable does not build, or a tool of a package manager is missing or refuses.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    let system = match &args.target {
        Some(target) => System::named(target)?,
        None => System::of_this_machine()?,
    };
    let packages = tools::target()?.join("packages");
    fs::create_dir_all(&packages)?;
    let work = tempfile::tempdir_in(&packages)?;
    // The formula and server.json are made of packages alone.
    let needs_executable = |name: &Name| !matches!(name, Name::Homebrew | Name::Registry);
    let executable = if args.names.iter().any(needs_executable) {
        stripped(root, args, work.path(), system)?
    } else {
        PathBuf::new()
    };
    for name in &args.names {
        let directory = tempfile::tempdir_in(&packages)?;
        let release = Release {
            root,
            executable: executable.clone(),
            system,
            packages: packages.clone(),
            work: directory.path().to_owned(),
        };
        let files = match name {
            Name::Archive => archive::build(&release),
            Name::Npm => npm::build(&release),
            Name::Wheel => wheel::build(&release),
            Name::Deb => debian::build(&release),
            Name::Mcpb => mcpb::build(&release),
            Name::Image => image::build(&release),
            Name::Homebrew => homebrew::build(&release),
            Name::Registry => registry::build(&release),
        }?;
        for file in files {
            writeln!(std::io::stdout(), "{}", file.display())?;
        }
    }
    Ok(())
}

/// The executable without symbols: that of `cargo xtask dist`, or a copy of the named one.
fn stripped(root: &Path, args: &Args, work: &Path, system: &System) -> anyhow::Result<PathBuf> {
    let Some(executable) = &args.executable else {
        dist::run(root)?;
        let release = tools::built(Profile::Release, "limbeck")?;
        let directory = release.parent().context("directory of the executable")?;
        return Ok(directory.with_file_name("dist").join("limbeck"));
    };
    ensure!(
        executable.is_file(),
        "{} is not a file",
        executable.display()
    );
    let copy = work.join(system.executable_name());
    fs::copy(executable, &copy).with_context(|| format!("copy {}", executable.display()))?;
    if system.is_linux() {
        command::run(Command::new("strip").arg("--strip-all").arg(&copy))?;
    }
    Ok(copy)
}

impl Release<'_> {
    /// Writes `text` to the file `name` of the package, in directories that are made for it.
    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> anyhow::Result<PathBuf> {
        let path = self.work.join(name);
        fs::create_dir_all(path.parent().context("directory of a file")?)?;
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
        Ok(path)
    }

    /// Copies the file `from` of the repository to `name` in the package.
    fn copy(&self, from: &str, name: &str) -> anyhow::Result<()> {
        let text = fs::read(self.root.join(from)).with_context(|| format!("read {from}"))?;
        self.write(name, text).map(drop)
    }

    /// Copies the executable to `name` in the package.
    fn copy_executable(&self, name: &str) -> anyhow::Result<()> {
        let path = self.work.join(name);
        fs::create_dir_all(path.parent().context("directory of the executable")?)?;
        fs::copy(&self.executable, &path)?;
        make_executable(&path)
    }

    /// Writes the manual pages to the directory `name` of the package.
    fn write_manual(&self, name: &str) -> anyhow::Result<Vec<PathBuf>> {
        let directory = self.work.join(name);
        fs::create_dir_all(&directory)?;
        command::run(self.limbeck().arg("man").arg(&directory))?;
        let mut pages = fs::read_dir(&directory)?
            .map(|entry| Ok(entry?.path()))
            .collect::<anyhow::Result<Vec<_>>>()?;
        pages.sort();
        Ok(pages)
    }

    /// The script that completes commands in `shell`.
    fn completions(&self, shell: &str) -> anyhow::Result<String> {
        command::output(self.limbeck().args(["completions", shell]))
    }

    /// The executable as a command. It reads no configuration for what it is asked here.
    fn limbeck(&self) -> Command {
        let mut limbeck = Command::new(&self.executable);
        limbeck.env_clear();
        limbeck
    }

    /// Packages in `target/packages` whose name begins and ends so, in order.
    fn built(&self, prefix: &str, suffix: &str) -> anyhow::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.packages)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(prefix) && name.ends_with(suffix) {
                found.push(entry.path());
            }
        }
        if found.is_empty() {
            bail!(
                "{} has no {prefix}*{suffix}: build that package first",
                self.packages.display()
            );
        }
        found.sort();
        Ok(found)
    }
}

#[cfg(unix)]
fn make_executable(path: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(fs::set_permissions(
        path,
        fs::Permissions::from_mode(0o755),
    )?)
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "as where files have modes")]
fn make_executable(_path: &Path) -> anyhow::Result<()> {
    Ok(())
}

/// SHA-256 of a file, in hexadecimal digits.
fn sha256(path: &Path) -> anyhow::Result<String> {
    use sha2::Digest as _;
    use std::fmt::Write as _;
    let bytes = fs::read(path).with_context(|| format!("read {}", path.display()))?;
    let mut text = String::new();
    for byte in sha2::Sha256::digest(bytes) {
        write!(text, "{byte:02x}")?;
    }
    Ok(text)
}
