//! `limbeck-VERSION-TARGET.tar.gz`: the executable, its manual pages and completions, for `cargo binstall`, Homebrew and
//! installations by hand.

use std::path::PathBuf;
use std::process::Command;

use super::{Release, VERSION};
use crate::command;

/// Builds it.
///
/// # Errors
///
/// When the executable does not run here, or `tar` is missing.
pub(super) fn build(release: &Release<'_>) -> anyhow::Result<Vec<PathBuf>> {
    let name = format!("limbeck-{VERSION}-{}", release.system.rust);
    release.copy_executable(&format!("{name}/{}", release.system.executable_name()))?;
    release.write_manual(&format!("{name}/man"))?;
    for (shell, file) in [
        ("bash", "limbeck.bash"),
        ("zsh", "_limbeck"),
        ("fish", "limbeck.fish"),
    ] {
        release.write(
            &format!("{name}/completions/{file}"),
            release.completions(shell)?,
        )?;
    }
    for file in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "SECURITY.md"] {
        release.copy(file, &format!("{name}/{file}"))?;
    }
    let archive = release.packages.join(format!("{name}.tar.gz"));
    command::run(
        Command::new("tar")
            .args(["--create", "--gzip", "--file"])
            .arg(&archive)
            .arg("--directory")
            .arg(&release.work)
            .arg(&name),
    )?;
    Ok(vec![archive])
}
