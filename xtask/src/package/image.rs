//! `limbeck-VERSION-image-SYSTEM.tar.gz`: what a container image is built of, with or without Node and uv. An engine builds it, and
//! people choose its base.

use std::path::PathBuf;
use std::process::Command;

use anyhow::ensure;

use super::{Release, VERSION};
use crate::command;

/// Files of `packaging/container`.
const FILES: [&str; 6] = [
    "Containerfile",
    "Containerfile.runtimes",
    "README.md",
    "apparmor",
    "compose.yaml",
    "limbeck-seccomp.json",
];

/// Builds it.
///
/// # Errors
///
/// When the system is not Linux, or `tar` is missing.
pub(super) fn build(release: &Release<'_>) -> anyhow::Result<Vec<PathBuf>> {
    ensure!(release.system.is_linux(), "images are of Linux");
    let name = format!("limbeck-{VERSION}-image-{}", release.system.node());
    release.copy_executable(&format!("{name}/limbeck"))?;
    for file in FILES {
        release.copy(
            &format!("packaging/container/{file}"),
            &format!("{name}/{file}"),
        )?;
    }
    for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
        release.copy(file, &format!("{name}/{file}"))?;
    }
    // An image keeps the owner of an empty directory only if it is copied from one with a file.
    release.write(&format!("{name}/data/README"), "State of Limbeck.\n")?;
    release.write(&format!("{name}/config/limbeck/config.toml"), CONFIG)?;
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

/// The configuration that the compose file mounts.
const CONFIG: &str = "\
# Servers of the container. Secrets are variables of the container (limbeck.env), or mounted files.
#
# [servers.github]
# url = \"https://api.githubcopilot.com/mcp/\"
# headers = { Authorization = \"Bearer ${GITHUB_TOKEN}\" }
";
