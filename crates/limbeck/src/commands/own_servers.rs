//! `limbeck add`, `limbeck remove` and `limbeck import`: the user's own servers, in `~/.config/limbeck/config.toml`.

use std::path::Path;

use anyhow::anyhow;
use limbeck_domain::text::clean_line;
use limbeck_setup::{
    ConfigError, Existing, ImportFailure, ImportedEntry, NewServer, OwnFile, OwnFileError,
};
use serde_json::json;

use crate::cli::{AddArgs, ImportArgs, RemoveArgs};
use crate::exit::{CommandError, ExitStatus};
use crate::invocation::Invocation;
use crate::shell::quoted;
use crate::table::TextTable;

/// Longest command or url of a server in a listing, in bytes.
const TARGET_BYTES_MAX: usize = 200;

/// Adds a server.
pub(super) fn add(
    invocation: &Invocation,
    arguments: &AddArgs,
) -> Result<ExitStatus, CommandError> {
    let server = new_server(arguments)?;
    let own = OwnFile::of(&invocation.world).map_err(failure)?;
    own.add(&arguments.name, &server, existing(arguments.replace))
        .map_err(failure)?;
    let name = clean_line(&arguments.name, TARGET_BYTES_MAX);
    invocation
        .printer
        .note(&format!("server `{name}` is in {}", own.path().display()));
    invocation.printer.hint(&format!(
        "run `limbeck tools {}` to try it",
        quoted(&arguments.name)
    ));
    Ok(ExitStatus::Completed)
}

/// Removes a server.
pub(super) fn remove(
    invocation: &Invocation,
    arguments: &RemoveArgs,
) -> Result<ExitStatus, CommandError> {
    let own = OwnFile::of(&invocation.world).map_err(failure)?;
    own.remove(&arguments.name).map_err(failure)?;
    let name = clean_line(&arguments.name, TARGET_BYTES_MAX);
    invocation.printer.note(&format!(
        "server `{name}` is removed from {}",
        own.path().display()
    ));
    Ok(ExitStatus::Completed)
}

/// Copies the servers of a client's file.
pub(super) fn import(
    invocation: &Invocation,
    arguments: &ImportArgs,
) -> Result<ExitStatus, CommandError> {
    let own = OwnFile::of(&invocation.world).map_err(failure)?;
    let existing = existing(arguments.replace);
    let entries = own
        .import(&arguments.file, existing, arguments.dry_run)
        .map_err(|error| import_failure(error, &arguments.file))?;
    let printer = &invocation.printer;
    if arguments.json {
        let entries: Vec<_> = entries
            .iter()
            .map(|entry| json!({"name": entry.name, "target": entry.target, "left_out": reason(entry)}))
            .collect();
        printer.json(&json!({"file": own.path(), "servers": entries}))?;
    } else {
        let mut table = TextTable::with_header(["server", "state", "command or url"]);
        for entry in &entries {
            let state = match reason(entry) {
                None if arguments.dry_run => "would be imported".to_owned(),
                None => "imported".to_owned(),
                Some(reason) => format!("left out: {reason}"),
            };
            let target = clean_line(&entry.target, TARGET_BYTES_MAX);
            table.row([
                entry.name.as_str(),
                &*clean_line(&state, TARGET_BYTES_MAX),
                &*target,
            ]);
        }
        printer.table(&table);
    }
    let imported = entries.iter().filter(|entry| entry.left_out.is_none());
    if !arguments.dry_run && imported.count() > 0 {
        printer.note(&format!("the servers are in {}", own.path().display()));
        printer.hint(&format!(
            "remove them from {} and add `limbeck serve` there, so that the client starts only Limbeck",
            arguments.file.display()
        ));
    }
    let is_wrong = |entry: &ImportedEntry| matches!(entry.left_out, Some(ImportFailure::Wrong(_)));
    Ok(if entries.iter().any(is_wrong) {
        ExitStatus::Failed
    } else {
        ExitStatus::Completed
    })
}

/// Why an entry was left out, for the user.
fn reason(entry: &ImportedEntry) -> Option<String> {
    Some(match entry.left_out.as_ref()? {
        ImportFailure::Exists => "there is one of this name, use `--replace`".to_owned(),
        ImportFailure::Gateway => "it is a gateway".to_owned(),
        ImportFailure::Wrong(problem) => problem.clone(),
    })
}

fn new_server(arguments: &AddArgs) -> Result<NewServer, CommandError> {
    let wrong = |text: &str, hint: &str| {
        let error = anyhow!("`{}` is not of the accepted form", clean_line(text, 80));
        CommandError::usage(error).with_hint(hint)
    };
    match (&arguments.url, arguments.command.split_first()) {
        (_, Some((command, args))) => {
            let pair = |text: &String| match text.split_once('=') {
                Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
                _ => Err(wrong(text, "write `--env NAME=VALUE`")),
            };
            Ok(NewServer::Stdio {
                command: command.clone(),
                args: args.to_vec(),
                env: arguments.env.iter().map(pair).collect::<Result<_, _>>()?,
                cwd: arguments.cwd.clone(),
            })
        }
        (Some(url), None) if url.starts_with("https://") || url.starts_with("http://") => {
            let pair = |text: &String| match text.split_once(':') {
                Some((name, value)) if !name.is_empty() => {
                    Ok((name.trim().to_owned(), value.trim().to_owned()))
                }
                _ => Err(wrong(text, "write `--header 'NAME: VALUE'`")),
            };
            Ok(NewServer::Http {
                url: url.clone(),
                headers: arguments
                    .header
                    .iter()
                    .map(pair)
                    .collect::<Result<_, _>>()?,
            })
        }
        (Some(word), None) => Err(wrong(
            word,
            &format!(
                "write a command after `--`: `limbeck add {} -- {}`",
                quoted(&arguments.name),
                quoted(word)
            ),
        )),
        (None, None) => Err(wrong("", "give a url, or a command after `--`")),
    }
}

fn existing(replace: bool) -> Existing {
    if replace {
        Existing::Replace
    } else {
        Existing::Keep
    }
}

/// Error of `import`. A missing file is that of a client here, and not one of `--config`.
fn import_failure(error: OwnFileError, file: &Path) -> CommandError {
    match error {
        OwnFileError::Unusable(ConfigError::Missing { .. }) => {
            let file = clean_line(&file.display().to_string(), TARGET_BYTES_MAX);
            CommandError::usage(anyhow!("file `{file}` does not exist")).with_hint(
                "give the path of a client's file, such as `limbeck import ~/.claude.json`",
            )
        }
        error => failure(error),
    }
}

fn failure(error: OwnFileError) -> CommandError {
    let hint = error.hint();
    let mut failure = CommandError::usage(error);
    failure.hint = hint;
    failure
}
