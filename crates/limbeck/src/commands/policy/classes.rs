//! `limbeck policy classes`: the class of each known tool and whose word it is, with a suggestion for those without one.
//!
//! A suggestion is made of the name of a tool and counts for nothing. With `--write` the user confirms those that are printed,
//! and they are written into the user's own file as the operator's word.

use anyhow::anyhow;
use limbeck_catalog::{Catalog, Tool};
use limbeck_domain::text::clean_line;
use limbeck_domain::{EffectClass, ToolId};
use limbeck_policy::{ClassSource, Policy, Scope, ToolClass};
use limbeck_setup::OwnFile;
use serde_json::json;

use super::NAME_BYTES_MAX;
use super::verbs::suggested;
use crate::cli::PolicyClassesArgs;
use crate::commands::trust::is_confirmed;
use crate::exit::{CommandError, ExitStatus};
use crate::format::counted;
use crate::invocation::Invocation;
use crate::table::TextTable;
use crate::wiring::short_place;

/// One known tool.
struct Row<'a> {
    tool: &'a ToolId,
    class: ToolClass,
    suggestion: Option<EffectClass>,
}

pub(super) fn classes(
    invocation: &Invocation,
    policy: &Policy,
    catalog: &Catalog,
    arguments: &PolicyClassesArgs,
) -> Result<ExitStatus, CommandError> {
    let printer = &invocation.printer;
    let scope = match arguments.tools.as_slice() {
        [] => Scope::everything(),
        patterns => Scope::parse(patterns.iter().map(String::as_str))
            .map_err(|error| CommandError::usage(anyhow!("{error}")))?,
    };
    let tools = catalog.tools().map(|tool| &**tool);
    let rows: Vec<Row<'_>> = tools
        .filter(|tool| scope.covers(tool.id()))
        .map(|tool| row(policy, tool))
        .collect();
    let suggestions: Vec<(ToolId, EffectClass)> = rows
        .iter()
        .filter_map(|row| Some((row.tool.clone(), row.suggestion?)))
        .collect();
    if !arguments.json {
        print(invocation, &rows);
    }
    let written = match arguments.write {
        true => write(invocation, arguments, &suggestions)?,
        false => 0,
    };
    if arguments.json {
        let rows = rows.iter().map(|row| {
            json!({
                "tool": row.tool.to_string(),
                "class": row.class.class.as_str(),
                "class_from": row.class.source.as_str(),
                "suggestion": row.suggestion.map(EffectClass::as_str),
            })
        });
        printer.json(&json!({ "classes": rows.collect::<Vec<_>>(), "written": written }))?;
    } else if !arguments.write && !suggestions.is_empty() {
        printer.hint("confirm the suggestions that are right with `limbeck policy classes --write`; `server.tool` patterns before it choose some");
    }
    Ok(ExitStatus::Completed)
}

fn row<'a>(policy: &Policy, tool: &'a Tool) -> Row<'a> {
    let hinted = tool.effect();
    let class = policy.classes.of(tool.id(), hinted);
    let suggestion = match class.source {
        ClassSource::Operator | ClassSource::TrustedServer => None,
        ClassSource::Server | ClassSource::Unknown => {
            suggested(tool.id()).map(|suggested| more_harmful(suggested, hinted))
        }
    };
    Row {
        tool: tool.id(),
        class,
        suggestion,
    }
}

/// What a server says of its own tool only tightens.
fn more_harmful(suggested: EffectClass, hinted: EffectClass) -> EffectClass {
    match (suggested, hinted) {
        (_, EffectClass::Destructive) => EffectClass::Destructive,
        (EffectClass::Read, EffectClass::Write) => EffectClass::Write,
        (suggested, EffectClass::Read | EffectClass::Write | EffectClass::Unknown) => suggested,
    }
}

fn print(invocation: &Invocation, rows: &[Row<'_>]) {
    if rows.is_empty() {
        let note = "no such tool is known; `limbeck tools` asks the servers for theirs";
        return invocation.printer.note(note);
    }
    let mut table = TextTable::with_header(["TOOL", "CLASS", "FROM", "SUGGESTION"]);
    for Row {
        tool,
        class,
        suggestion,
    } in rows
    {
        let from = match class.source {
            ClassSource::Operator => "configuration",
            ClassSource::TrustedServer => "its server, trusted",
            ClassSource::Server => "its server",
            ClassSource::Unknown => "-",
        };
        table.row([
            clean_line(&tool.to_string(), NAME_BYTES_MAX),
            class.class.as_str().to_owned(),
            from.to_owned(),
            suggestion.map_or("-", EffectClass::as_str).to_owned(),
        ]);
    }
    invocation.printer.table(&table);
}

/// Writes the suggestions, once the user has confirmed them.
fn write(
    invocation: &Invocation,
    arguments: &PolicyClassesArgs,
    suggestions: &[(ToolId, EffectClass)],
) -> Result<usize, CommandError> {
    let printer = &invocation.printer;
    if suggestions.is_empty() {
        printer.note("nothing is to be written: no tool without a class has a suggestion");
        return Ok(0);
    }
    let own = OwnFile::of(&invocation.world).map_err(|error| failed(&error))?;
    let file = short_place(&invocation.world, &own.path().display().to_string());
    let count = counted(suggestions.len(), "line");
    if !arguments.yes {
        if !invocation.stdin_is_terminal || arguments.json {
            let error = anyhow!("nothing is written, because no question could be asked");
            let hint = "look at the suggestions, then run it with `--write --yes`";
            return Err(CommandError::usage(error).with_hint(hint));
        }
        // The lines as they will be in the file, whole: a table may be narrower.
        printer.data("\n");
        for (tool, class) in suggestions {
            printer.data_line(&format!("\"{tool}\" = \"{}\"", class.as_str()));
        }
        let question = format!("write {count} into {file}, as your word about these tools?");
        if !is_confirmed(printer, &question)? {
            let error = anyhow!("nothing is written");
            return Err(CommandError::new(ExitStatus::Failed, error));
        }
    }
    let written = own.classify(suggestions).map_err(|error| failed(&error))?;
    printer.note(&format!(
        "{} written into {file}; gateways that run take them up within seconds",
        counted(written, "line")
    ));
    Ok(written)
}

fn failed(error: &limbeck_setup::OwnFileError) -> CommandError {
    let failure = CommandError::new(ExitStatus::Failed, anyhow!("{error}"));
    match error.hint() {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}
