//! The formula for a tap of Homebrew, with the address and hash of each archive.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::system::System;
use super::{REPOSITORY, Release, SUMMARY, VERSION, sha256};

/// Writes it.
///
/// # Errors
///
/// When no archive was built.
pub(super) fn build(release: &Release<'_>) -> anyhow::Result<Vec<PathBuf>> {
    let prefix = format!("limbeck-{VERSION}-");
    let mut formula = format!(
        "class Limbeck < Formula\n  desc \"{SUMMARY}\"\n  homepage \"{REPOSITORY}\"\n  version \"{VERSION}\"\n  \
         license any_of: [\"MIT\", \"Apache-2.0\"]\n"
    );
    for archive in release.built(&prefix, ".tar.gz")? {
        let name = file_name(&archive)?;
        let target = name.trim_start_matches(&prefix).trim_end_matches(".tar.gz");
        // A container image lies beside the archives.
        if target.starts_with("image-") {
            continue;
        }
        write_source(
            &mut formula,
            System::named(target)?,
            name,
            &sha256(&archive)?,
        )?;
    }
    formula.push_str(
        "\n  def install\n    bin.install \"limbeck\"\n    man1.install Dir[\"man/*.1\"]\n    \
         bash_completion.install \"completions/limbeck.bash\" => \"limbeck\"\n    \
         zsh_completion.install \"completions/_limbeck\"\n    fish_completion.install \"completions/limbeck.fish\"\n  end\n\n  \
         test do\n    assert_match version.to_s, shell_output(\"#{bin}/limbeck --version\")\n  end\nend\n",
    );
    let path = release.packages.join("limbeck.rb");
    std::fs::write(&path, formula)?;
    Ok(vec![path])
}

/// Adds where the archive of `system` is. Homebrew has no Windows.
fn write_source(
    formula: &mut String,
    system: &System,
    archive: &str,
    hash: &str,
) -> anyhow::Result<()> {
    let os = match system.node_os {
        "linux" => "on_linux",
        "darwin" => "on_macos",
        _ => return Ok(()),
    };
    let cpu = if system.node_cpu == "arm64" {
        "on_arm"
    } else {
        "on_intel"
    };
    writeln!(
        formula,
        "\n  {os} do\n    {cpu} do\n      url \"{REPOSITORY}/releases/download/v{VERSION}/{archive}\"\n      \
         sha256 \"{hash}\"\n    end\n  end"
    )?;
    Ok(())
}

fn file_name(path: &Path) -> anyhow::Result<&str> {
    path.file_name()
        .and_then(|name| name.to_str())
        .with_context(|| format!("name of {}", path.display()))
}
