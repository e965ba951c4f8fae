//! The package for Debian and Ubuntu: executable, manual pages, completions, a unit for the user's service manager, and
//! the AppArmor profile that Ubuntu needs.

use std::path::PathBuf;
use std::process::Command;

use anyhow::ensure;

use super::system::oldest_glibc;
use super::{REPOSITORY, Release, SUMMARY, VERSION, make_executable};
use crate::command;

/// Builds it.
///
/// # Errors
///
/// When the system is not Linux, or `dpkg-deb` or `gzip` is missing.
pub(super) fn build(release: &Release<'_>) -> anyhow::Result<Vec<PathBuf>> {
    ensure!(release.system.is_linux(), "Debian is a Linux");
    release.copy_executable("usr/bin/limbeck")?;
    for page in release.write_manual("usr/share/man/man1")? {
        command::run(Command::new("gzip").args(["-9", "-n"]).arg(page))?;
    }
    for (shell, path) in [
        ("bash", "bash-completion/completions/limbeck"),
        ("zsh", "zsh/vendor-completions/_limbeck"),
        ("fish", "fish/vendor_completions.d/limbeck.fish"),
    ] {
        release.write(&format!("usr/share/{path}"), release.completions(shell)?)?;
    }
    release.copy("packaging/debian/apparmor", "usr/share/limbeck/apparmor")?;
    release.copy(
        "packaging/debian/limbeck.service",
        "usr/lib/systemd/user/limbeck.service",
    )?;
    release.write("usr/share/doc/limbeck/copyright", copyright())?;
    for script in ["postinst", "postrm"] {
        let name = format!("DEBIAN/{script}");
        release.copy(&format!("packaging/debian/{script}"), &name)?;
        make_executable(&release.work.join(name))?;
    }
    release.write("DEBIAN/control", control(release)?)?;

    let file = format!("limbeck_{VERSION}_{}.deb", release.system.debian);
    let package = release.packages.join(file);
    // It says on its standard output what it builds, where the names of the packages are expected alone.
    command::output(
        Command::new("dpkg-deb")
            // xz takes a minute longer for 7 % less. Debian 12 and Ubuntu 21.10 read zstd.
            .args(["--root-owner-group", "-Zzstd", "-z9", "--build"])
            .arg(&release.work)
            .arg(&package),
    )?;
    Ok(vec![package])
}

fn control(release: &Release<'_>) -> anyhow::Result<String> {
    let (major, minor) = oldest_glibc(&release.executable)?;
    let bytes = std::fs::metadata(&release.executable)?.len();
    Ok(format!(
        "Package: limbeck\nVersion: {VERSION}\nArchitecture: {}\nMaintainer: The Limbeck project <limbeck@users.noreply.github.com>\n\
         Section: utils\nPriority: optional\nInstalled-Size: {}\n\
         Depends: libc6 (>= {major}.{minor}), libgcc-s1\nHomepage: {REPOSITORY}\nDescription: {SUMMARY}\n \
         Limbeck connects an AI client to all of its MCP servers. The model writes a\n \
         TypeScript or Python program, which calls tools in a sandbox, and reads its result.\n",
        release.system.debian,
        bytes.div_ceil(1024),
    ))
}

fn copyright() -> String {
    format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: limbeck\n\
         Source: {REPOSITORY}\n\nFiles: *\nCopyright: The Limbeck project\nLicense: MIT or Apache-2.0\n \
         The text of the Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0.\n"
    )
}
