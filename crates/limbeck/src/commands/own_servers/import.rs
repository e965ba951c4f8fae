//! `limbeck import`: the servers of a client's file.
//!
//! Imported servers are the user's own and are not asked about again. So the definitions in a file that is no client's
//! own, such as a project's, whose author may be a stranger, are shown as `limbeck trust` shows them, and copied after the
//! user has accepted them.

use std::path::Path;

use anyhow::anyhow;
use limbeck_domain::text::clean_line;
use limbeck_setup::{
    ConfigError, DefinitionText, FoundServers, ImportFailure, ImportedEntry, OwnFile, OwnFileError,
    Transport,
};
use serde_json::{Map, Value, json};

use super::{TARGET_BYTES_MAX, existing, failure, note_reload, paths, program_problem, warn};
use crate::cli::ImportArgs;
use crate::commands::trust::{is_confirmed, print_definition};
use crate::exit::{CommandError, ExitStatus};
use crate::format::counted;
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::shell::quoted;
use crate::table::TextTable;
use crate::wiring;

/// Names of imported servers in the last hint, in bytes.
const NAMES_BYTES_MAX: usize = 400;

/// Copies the servers of a client's file.
pub(crate) fn import(
    invocation: &Invocation,
    arguments: &ImportArgs,
) -> Result<ExitStatus, CommandError> {
    let Some(file) = arguments.file.as_deref() else {
        return Err(no_file(invocation));
    };
    let own = OwnFile::of(&invocation.world).map_err(failure)?;
    let found = own
        .find_servers(file)
        .map_err(|error| import_failure(invocation, error, file))?;
    let printer = &invocation.printer;
    let is_of_project = found.workspace().is_some();
    if is_of_project {
        if !arguments.json {
            show(printer, &found);
        }
        if !arguments.dry_run && !arguments.yes {
            accept(invocation, arguments, file, &found)?;
        }
    }
    let mut entries = own
        .import(found, existing(arguments.replace), arguments.dry_run)
        .map_err(|error| import_failure(invocation, error, file))?;
    for entry in entries.iter_mut().filter(|entry| entry.left_out.is_none()) {
        let start = entry.cwd.as_deref().map(Path::new);
        let start = start.or(invocation.world.home.as_deref());
        let transport = entry.transport.as_ref();
        let problem = transport.and_then(|transport| program_problem(transport, start));
        entry.warnings.extend(problem);
        let relative = relative_arguments(entry);
        entry.warnings.extend(relative);
    }
    if arguments.json {
        let servers: Vec<_> = entries
            .iter()
            .map(|entry| report(entry, is_of_project))
            .collect();
        printer.json(&json!({"file": own.path(), "servers": servers}))?;
    } else {
        print(printer, &entries, file, arguments);
    }
    let imported: Vec<&str> = entries
        .iter()
        .filter(|entry| entry.left_out.is_none())
        .map(|entry| entry.name.as_str())
        .collect();
    if !arguments.dry_run && !imported.is_empty() {
        let names: Vec<String> = imported.iter().map(|name| format!("`{name}`")).collect();
        printer.note(&format!("the servers are in {}", own.path().display()));
        note_reload(printer);
        // Entries that were left out are nowhere else.
        printer.hint(&format!(
            "remove {} from {} and add `limbeck serve` there, so that the client starts only Limbeck",
            clean_line(&names.join(", "), NAMES_BYTES_MAX),
            file.display()
        ));
    }
    let is_wrong = |entry: &ImportedEntry| matches!(entry.left_out, Some(ImportFailure::Wrong(_)));
    Ok(if entries.iter().any(is_wrong) {
        ExitStatus::Failed
    } else {
        ExitStatus::Completed
    })
}

/// Warning of arguments of a user's entry without `cwd` that its client looked for in the directory of each project.
fn relative_arguments(entry: &ImportedEntry) -> Option<String> {
    let Some(Transport::Stdio {
        args, cwd: None, ..
    }) = &entry.transport
    else {
        return None;
    };
    let argument = args.iter().find(|argument| paths::is_relative(argument))?;
    entry.cwd.is_none().then(|| {
        format!(
            "its argument `{}` is looked for in the home directory, where it starts; set `cwd` or write an absolute path",
            clean_line(argument, TARGET_BYTES_MAX)
        )
    })
}

/// Prints the whole definitions of servers that would be imported, as they are in the file.
fn show(printer: &Printer, found: &FoundServers) {
    for entry in importable(found) {
        let text = &entry.definition;
        let name = format!("`{}`", clean_line(entry.name.as_str(), TARGET_BYTES_MAX));
        print_definition(printer, &text.name, &name, text);
        if let Some(cwd) = &entry.cwd {
            let cwd = clean_line(cwd, TARGET_BYTES_MAX);
            printer.note(&format!("server {name} starts in {cwd}"));
        }
    }
}

fn importable(found: &FoundServers) -> impl Iterator<Item = &ImportedEntry> {
    found.entries().filter(|entry| entry.left_out.is_none())
}

/// Asks whether to copy the definitions that were shown: from then on they are trusted.
fn accept(
    invocation: &Invocation,
    arguments: &ImportArgs,
    file: &Path,
    found: &FoundServers,
) -> Result<(), CommandError> {
    let count = importable(found).count();
    if count == 0 {
        return Ok(());
    }
    // With `--json` no definition was shown.
    if !invocation.stdin_is_terminal || arguments.json {
        let error = anyhow!(
            "nothing is imported, because the file may be a stranger's and no question could be asked"
        );
        let file = quoted(&file.display().to_string());
        return Err(CommandError::usage(error).with_hint(format!(
            "review the definitions with `limbeck import {file} --dry-run`, then run it with `--yes`"
        )));
    }
    let question = format!(
        "import and trust {} of this file?",
        counted(count, "server")
    );
    if is_confirmed(&invocation.printer, &question)? {
        return Ok(());
    }
    Err(CommandError::new(
        ExitStatus::Failed,
        anyhow!("nothing is imported"),
    ))
}

fn print(printer: &Printer, entries: &[ImportedEntry], file: &Path, arguments: &ImportArgs) {
    if entries.is_empty() {
        let file = clean_line(&file.display().to_string(), TARGET_BYTES_MAX);
        printer.note(&format!("{file} has no servers"));
        return;
    }
    // Of an entry that was left out the reason is of more use than its command, and two long columns fit no terminal.
    let mut table = TextTable::with_header(["server", "state", "command, url or reason"]);
    for entry in entries {
        let reason = reason(entry);
        let state = match &reason {
            None if arguments.dry_run => "would be imported",
            None => "imported",
            Some(_) => "left out",
        };
        let what = reason.as_deref().unwrap_or(&entry.target);
        table.row([
            entry.name.as_str(),
            state,
            &*clean_line(what, TARGET_BYTES_MAX),
        ]);
    }
    printer.table(&table);
    for entry in entries {
        let name = clean_line(entry.name.as_str(), TARGET_BYTES_MAX);
        warn(printer, &name, &entry.warnings);
    }
}

fn report(entry: &ImportedEntry, with_definition: bool) -> Value {
    json!({
        "name": entry.name,
        "target": entry.target,
        "definition": with_definition.then(|| definition(&entry.definition)),
        "cwd": entry.cwd,
        "warnings": entry.warnings,
        "left_out": reason(entry),
    })
}

fn definition(text: &DefinitionText) -> Map<String, Value> {
    let lines = text.lines.iter();
    lines
        .map(|(label, line)| (label.clone(), line.clone().into()))
        .collect()
}

/// Why an entry was left out, for the user.
fn reason(entry: &ImportedEntry) -> Option<String> {
    Some(match entry.left_out.as_ref()? {
        ImportFailure::Exists { is_same: true } => {
            "there is one of this name, and it is the same".to_owned()
        }
        ImportFailure::Exists { is_same: false } => {
            "there is one of this name, and it differs; use `--replace`".to_owned()
        }
        ImportFailure::Gateway => "it is a gateway".to_owned(),
        ImportFailure::OfProject(directory) => {
            format!("it is for the project {directory} alone")
        }
        ImportFailure::Wrong(problem) => problem.clone(),
    })
}

/// Error of `import` without a file: the hint names the files of clients that have servers.
fn no_file(invocation: &Invocation) -> CommandError {
    let found: Vec<String> = wiring::importable(&invocation.world)
        .iter()
        .map(|file| format!("`limbeck import {file}`"))
        .collect();
    let hint = if found.is_empty() {
        "give its path, such as `limbeck import ~/.cursor/mcp.json`; no file with servers was found"
            .to_owned()
    } else {
        format!("servers were found: {}", found.join(", "))
    };
    CommandError::usage(anyhow!("no file of a client is given")).with_hint(hint)
}

/// Error of `import`. A missing file is that of a client here, and not one of `--config`; the hint names a file that is
/// there, where a client has one.
fn import_failure(invocation: &Invocation, error: OwnFileError, file: &Path) -> CommandError {
    match error {
        OwnFileError::Unusable(ConfigError::Missing { .. }) => {
            let found = wiring::importable(&invocation.world).into_iter().next();
            let hint = match found {
                Some(found) => format!("`limbeck import {found}` finds servers"),
                None if file.ends_with(".claude.json") => {
                    "give the path of a client's file, such as `~/.codex/config.toml`, `~/.cursor/mcp.json` or `.vscode/mcp.json`".to_owned()
                }
                None => "give the path of a client's file, such as `limbeck import ~/.claude.json`".to_owned(),
            };
            let file = clean_line(&file.display().to_string(), TARGET_BYTES_MAX);
            CommandError::usage(anyhow!("file `{file}` does not exist")).with_hint(hint)
        }
        error => failure(error),
    }
}
