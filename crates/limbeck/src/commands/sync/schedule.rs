//! `limbeck sync --install` and `--uninstall`: the system runs sync in the background.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow};
use limbeck_setup::{ScheduleFile, schedule as files_of, schedule_commands};
use serde_json::json;

use super::super::setup::failure;
use crate::cli::SyncArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::invocation::Invocation;

/// Writes the files and has the system take them up, or the reverse.
pub(super) fn schedule(
    invocation: &Invocation,
    arguments: &SyncArgs,
) -> Result<ExitStatus, CommandError> {
    let world = &invocation.world;
    let files = files_of(world).map_err(failure)?;
    let commands = schedule_commands(world, arguments.install).map_err(failure)?;
    let lines: Vec<String> = commands.iter().map(|words| words.join(" ")).collect();
    if arguments.dry_run {
        return print(invocation, arguments, &files, &lines);
    }
    let mut is_taken_up = true;
    if arguments.install {
        for file in &files {
            write(&world.on_disk(&file.path), &file.text)
                .with_context(|| format!("{} cannot be written", file.path.display()))
                .map_err(|error| CommandError::new(ExitStatus::Failed, error))?;
        }
        is_taken_up = commands.iter().all(|words| run(words));
    } else {
        // What was not taken up is let go without success, which changes nothing.
        let was_let_go = commands.iter().all(|words| run(words));
        let mut was_there = false;
        for file in &files {
            match std::fs::remove_file(world.on_disk(&file.path)) {
                Ok(()) => was_there = true,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let error = anyhow!("{} cannot be removed: {error}", file.path.display());
                    return Err(CommandError::new(ExitStatus::Failed, error));
                }
            }
        }
        is_taken_up &= was_let_go || !was_there;
    }
    let paths: Vec<&Path> = files.iter().map(|file| file.path.as_path()).collect();
    if arguments.json {
        let report = json!({
            "installed": arguments.install,
            "files": paths,
            "commands": lines,
            "taken_up": is_taken_up,
        });
        invocation.printer.json(&report)?;
    } else {
        let done = if arguments.install {
            "written"
        } else {
            "removed"
        };
        for path in paths {
            invocation
                .printer
                .note(&format!("{}: {done}", path.display()));
        }
    }
    if is_taken_up {
        return Ok(ExitStatus::Completed);
    }
    let error = anyhow!(
        "the system's scheduler did not answer, so only the files are {}",
        if arguments.install {
            "written"
        } else {
            "removed"
        }
    );
    let hint = format!("run `{}` in your session", lines.join(" && "));
    Err(CommandError::new(ExitStatus::Failed, error).with_hint(hint))
}

fn print(
    invocation: &Invocation,
    arguments: &SyncArgs,
    files: &[ScheduleFile],
    lines: &[String],
) -> Result<ExitStatus, CommandError> {
    let printer = &invocation.printer;
    if arguments.json {
        let files = files.iter();
        let files = files.map(|file| json!({"path": file.path, "text": file.text}));
        printer.json(&json!({"files": files.collect::<Vec<_>>(), "commands": lines}))?;
        return Ok(ExitStatus::Completed);
    }
    for file in files {
        printer.data(&format!("# {}\n{}\n", file.path.display(), file.text));
    }
    for line in lines {
        printer.note(&format!("then `{line}` runs"));
    }
    Ok(ExitStatus::Completed)
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    std::fs::write(path, text)
}

/// Runs a command of the system; `false` when it is not there or fails.
fn run(words: &[String]) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
