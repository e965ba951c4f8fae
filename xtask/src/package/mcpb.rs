//! The bundle that desktop clients install by a double click. One for each system: with the executables of five it would
//! have half a gigabyte.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::{REPOSITORY, Release, SUMMARY, VERSION};
use crate::tools;

/// Builds it.
///
/// # Errors
///
/// When npm is missing, or the packer refuses the manifest.
pub(super) fn build(release: &Release<'_>) -> anyhow::Result<Vec<PathBuf>> {
    let executable = format!("server/{}", release.system.executable_name());
    release.copy_executable(&executable)?;
    release.copy("LICENSE-APACHE", "LICENSE-APACHE")?;
    release.copy("LICENSE-MIT", "LICENSE-MIT")?;
    let manifest = json!({
        "manifest_version": "0.3",
        "name": "limbeck",
        "display_name": "Limbeck",
        "version": VERSION,
        "description": SUMMARY,
        "author": { "name": "The Limbeck project", "url": REPOSITORY },
        "repository": { "type": "git", "url": format!("{REPOSITORY}.git") },
        "license": "MIT OR Apache-2.0",
        "server": {
            "type": "binary",
            "entry_point": executable,
            "mcp_config": {
                "command": format!("${{__dirname}}/{executable}"),
                "args": ["serve"],
                "env": {},
            },
        },
        "compatibility": { "platforms": [release.system.node_os] },
    });
    release.write("manifest.json", format!("{manifest:#}\n"))?;

    let packer = tools::install_packer(release.root)?;
    let file = format!("limbeck-{VERSION}-{}.mcpb", release.system.node());
    let bundle = release.packages.join(file);
    let packed = Command::new("node")
        .arg(packer)
        .arg("pack")
        .arg(&release.work)
        .arg(&bundle)
        .output()?;
    anyhow::ensure!(
        packed.status.success(),
        "the bundle was refused: {}{}",
        String::from_utf8_lossy(&packed.stdout),
        String::from_utf8_lossy(&packed.stderr)
    );
    Ok(vec![bundle])
}
