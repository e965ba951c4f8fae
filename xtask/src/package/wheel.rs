//! The wheel for PyPI, with the executable as its only script: `uvx limbeck`, `pipx run limbeck`.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;

use super::system::oldest_glibc;
use super::{REGISTRY_NAME, REPOSITORY, Release, SUMMARY, VERSION};
use crate::{command, tools};

/// Builds it.
///
/// # Errors
///
/// When Python or `wheel` is missing, or refuses.
pub(super) fn build(release: &Release<'_>) -> anyhow::Result<Vec<PathBuf>> {
    let python = tools::install_packaging(release.root)?;
    let name = format!("limbeck-{VERSION}");
    let executable = release.system.executable_name();
    release.copy_executable(&format!("wheel/{name}.data/scripts/{executable}"))?;
    let info = format!("wheel/{name}.dist-info");
    release.write(&format!("{info}/METADATA"), metadata(release)?)?;
    for license in ["LICENSE-APACHE", "LICENSE-MIT"] {
        release.copy(license, &format!("{info}/licenses/{license}"))?;
    }
    let wheel = format!(
        "Wheel-Version: 1.0\nGenerator: limbeck xtask\nRoot-Is-Purelib: false\nTag: py3-none-{}\n",
        platform(release)?
    );
    release.write(&format!("{info}/WHEEL"), wheel)?;
    // It writes the list of files with their hashes.
    let output = command::output(
        Command::new(&python)
            .args(["-m", "wheel", "pack", "--dest-dir"])
            .arg(&release.packages)
            .arg(release.work.join("wheel")),
    )?;
    let file = format!("{name}-py3-none-{}.whl", platform(release)?);
    let path = release.packages.join(file);
    anyhow::ensure!(
        path.is_file(),
        "`wheel pack` wrote no {}: {output}",
        path.display()
    );
    Ok(vec![path])
}

/// The platform of the wheel's name. That of Linux names the oldest glibc that has all the executable needs, so that pip
/// refuses it where it would not start.
fn platform(release: &Release<'_>) -> anyhow::Result<String> {
    let cpu = release.system.wheel_cpu;
    Ok(match release.system.node_os {
        "linux" => {
            let (major, minor) = oldest_glibc(&release.executable)?;
            format!("manylinux_{major}_{minor}_{cpu}")
        }
        "darwin" => format!("macosx_11_0_{cpu}"),
        _ => format!("win_{cpu}"),
    })
}

fn metadata(release: &Release<'_>) -> anyhow::Result<String> {
    let readme = std::fs::read_to_string(release.root.join("packaging/pypi.md"))
        .context("read packaging/pypi.md")?;
    Ok(format!(
        "Metadata-Version: 2.4\nName: limbeck\nVersion: {VERSION}\nSummary: {SUMMARY}\n\
         License-Expression: MIT OR Apache-2.0\nLicense-File: LICENSE-APACHE\nLicense-File: LICENSE-MIT\n\
         Project-URL: Repository, {REPOSITORY}\nRequires-Python: >=3.8\n\
         Description-Content-Type: text/markdown\n\n{readme}\n\nmcp-name: {REGISTRY_NAME}\n"
    ))
}
