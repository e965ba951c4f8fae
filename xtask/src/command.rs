//! Runs other programs and waits for their end.

use std::process::Command;

use anyhow::{Context as _, ensure};

/// Runs `command` with the input and outputs of this process.
///
/// # Errors
///
/// When it cannot be started, and when it ends without success.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command
        .status()
        .with_context(|| format!("start {command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}

/// Runs `command` and returns its standard output, trimmed.
///
/// # Errors
///
/// As [`run`], with the text of standard error.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    let output = command
        .output()
        .with_context(|| format!("start {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?} ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
