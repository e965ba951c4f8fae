//! `limbeck skills`: functions and programs that are kept for later programs.

use anyhow::anyhow;
use limbeck_domain::skill::SKILL_SOURCE_BYTES_MAX;
use limbeck_domain::text::{clean, clean_line};
use limbeck_domain::{Language, SkillForm};
use limbeck_gateway::skills::{SkillError, SkillHealth, SkillToolState};
use limbeck_gateway::{Gateway, LOCAL_PRINCIPAL};
use limbeck_store::StoredSkill;
use serde_json::{Value, json};

use super::signals::EndSignals;
use super::tools::STARTING;
use crate::cli::{SkillSaveArgs, SkillsArgs, SkillsCommand};
use crate::exit::{CommandError, ExitStatus};
use crate::format::counted;
use crate::invocation::Invocation;
use crate::output_files;
use crate::printer::Printer;
use crate::table::{LastColumn, TextTable};
use crate::wiring::{GatewayLifetime, GatewaySession};

/// Bytes of a name or a line in a list.
const LINE_BYTES_MAX: usize = 300;

pub(super) async fn skills(
    invocation: &Invocation,
    arguments: &SkillsArgs,
) -> Result<ExitStatus, CommandError> {
    if let Some(SkillsCommand::Test { names, json }) = &arguments.command {
        return test(invocation, names, *json).await;
    }
    let session = GatewaySession::open_past(invocation).await?;
    let printer = &invocation.printer;
    let gateway = &session.gateway;
    let done = match (&arguments.command, &arguments.name) {
        (None, None) => list(printer, gateway, arguments.json).await,
        (None, Some(name)) => show(printer, gateway, name, arguments.json).await,
        (Some(SkillsCommand::List { json }), _) => list(printer, gateway, *json).await,
        (Some(SkillsCommand::Show { name, json }), _) => show(printer, gateway, name, *json).await,
        (Some(SkillsCommand::Save(arguments)), _) => save(printer, gateway, arguments).await,
        (Some(SkillsCommand::Accept { names }), _) => accept(printer, gateway, names).await,
        (Some(SkillsCommand::Remove { names }), _) => remove(printer, gateway, names).await,
        (Some(SkillsCommand::Export { names, output }), _) => {
            let found = named(gateway, names).await;
            match (found, output) {
                (Err(error), _) => Err(error),
                (Ok(found), Some(directory)) => export(printer, &found, directory),
                (Ok(found), None) => {
                    let skills: Vec<Value> = found.iter().map(|one| view(one, true)).collect();
                    printer.json(&json!({ "skills": skills }))
                }
            }
        }
        (Some(SkillsCommand::Test { .. }), _) => Ok(()),
    };
    session.close().await;
    done.map(|()| ExitStatus::Completed)
}

async fn all(gateway: &Gateway) -> Result<Vec<StoredSkill>, CommandError> {
    Ok(gateway.skills(Some(LOCAL_PRINCIPAL)).await?)
}

/// Skills with these names, or all.
async fn named(gateway: &Gateway, names: &[String]) -> Result<Vec<StoredSkill>, CommandError> {
    let all = all(gateway).await?;
    for name in names {
        if !all.iter().any(|one| one.skill.name == *name) {
            return Err(unknown(name));
        }
    }
    let is_named = |one: &StoredSkill| names.is_empty() || names.contains(&one.skill.name);
    Ok(all.into_iter().filter(is_named).collect())
}

fn unknown(name: &str) -> CommandError {
    let error = anyhow!("there is no skill `{}`", clean_line(name, LINE_BYTES_MAX));
    CommandError::usage(error).with_hint("`limbeck skills` lists them")
}

async fn list(printer: &Printer, gateway: &Gateway, as_json: bool) -> Result<(), CommandError> {
    let all = all(gateway).await?;
    if as_json {
        let skills: Vec<Value> = all.iter().map(|one| view(one, false)).collect();
        return printer.json(&json!({ "skills": skills }));
    }
    if all.is_empty() {
        printer.note("no skill is kept");
        printer.hint(
            "a program keeps a function with `skills.save(function)`; `limbeck skills save NAME EXECUTION` keeps the program of an execution",
        );
        return Ok(());
    }
    let header = ["name", "version", "language", "tools", "what it is for"];
    let mut table = TextTable::with_header(header).last(LastColumn::CutEnd);
    for one in &all {
        let skill = &one.skill;
        let version = match one.is_proposed {
            true => format!("{} (waits for you)", skill.version),
            false => skill.version.to_string(),
        };
        table.row([
            skill.name.clone(),
            version,
            skill.language.as_str().to_owned(),
            tools_text(one),
            clean_line(&skill.description, LINE_BYTES_MAX),
        ]);
    }
    printer.table(&table);
    if all.iter().any(|one| one.is_proposed) {
        printer.hint(
            "`limbeck skills NAME` shows one, `limbeck skills accept NAME` lets programs call it",
        );
    }
    Ok(())
}

fn tools_text(one: &StoredSkill) -> String {
    let tools = one.skill.tools.iter();
    let mut names: Vec<String> = tools
        .map(|tool| format!("{}.{}", tool.server, tool.tool))
        .collect();
    if one.skill.calls_more {
        names.push("others".to_owned());
    }
    clean_line(&names.join(", "), LINE_BYTES_MAX)
}

fn view(one: &StoredSkill, is_whole: bool) -> Value {
    let skill = &one.skill;
    let mut view = json!({
        "name": skill.name,
        "version": skill.version,
        "state": if one.is_proposed { "proposed" } else { "kept" },
        "language": skill.language,
        "form": skill.form,
        "description": skill.description,
        "call": format!("skills.{}", skill.name),
        "signature": skill.signature,
        "tools": skill.tools,
        "calls_more": skill.calls_more,
        "writes": skill.may_write(),
        "execution_id": skill.execution,
        "saved_us": skill.saved_us,
    });
    if is_whole {
        view["source"] = skill.text().into();
    }
    view
}

async fn show(
    printer: &Printer,
    gateway: &Gateway,
    name: &str,
    as_json: bool,
) -> Result<(), CommandError> {
    let found = named(gateway, &[name.to_owned()]).await?;
    if as_json {
        // What is in use; what waits for a person where nothing is.
        let mut views = found.iter().map(|one| view(one, true));
        let mut first = views.next().unwrap_or_default();
        if let Some(proposed) = views.next() {
            first["proposed"] = proposed;
        }
        return printer.json(&first);
    }
    for one in &found {
        let skill = &one.skill;
        printer.data_line(&format!(
            "{}\n  version {}{}, {}",
            clean_line(&skill.signature, 2 * LINE_BYTES_MAX),
            skill.version,
            if one.is_proposed {
                ", waits for you"
            } else {
                ""
            },
            match (skill.form, skill.language) {
                (SkillForm::Function, Language::Python) => "a Python function",
                (SkillForm::Function, Language::Typescript) => "a TypeScript function",
                (SkillForm::Program, Language::Python) => "a Python program",
                (SkillForm::Program, Language::Typescript) => "a TypeScript program",
            },
        ));
        if !skill.description.is_empty() {
            printer.data_line(&format!("  {}", clean_line(&skill.description, 2_000)));
        }
        if !skill.tools.is_empty() || skill.calls_more {
            printer.data_line(&format!("  calls {}", tools_text(one)));
        }
        if let Some(execution) = &skill.execution {
            printer.data_line(&format!("  from execution {execution}"));
        }
        printer.data_line("");
        printer.data_line(&clean(skill.text(), SKILL_SOURCE_BYTES_MAX));
        if one.is_proposed {
            printer.hint(&format!(
                "`limbeck skills accept {}` lets programs call it, `limbeck skills remove {0}` drops it",
                skill.name
            ));
        }
    }
    Ok(())
}

async fn save(
    printer: &Printer,
    gateway: &Gateway,
    arguments: &SkillSaveArgs,
) -> Result<(), CommandError> {
    let saved = gateway
        .save_skill(
            LOCAL_PRINCIPAL,
            &arguments.name,
            &arguments.execution,
            arguments.description.clone(),
            arguments.if_version,
        )
        .await
        .map_err(failure)?;
    if arguments.json {
        return printer.json(&saved);
    }
    printer.note(&match saved.unchanged {
        true => format!(
            "`{}` is kept already, as version {}",
            saved.name, saved.version
        ),
        false => format!("`{}` is kept as version {}", saved.name, saved.version),
    });
    Ok(())
}

fn failure(error: SkillError) -> CommandError {
    match error {
        SkillError::Store(error) => error.into(),
        SkillError::UnknownExecution(_) => CommandError::usage(error)
            .with_hint("run `limbeck executions` to list the recorded ones"),
        SkillError::Conflict { ref name, .. } => {
            let hint = format!("`limbeck skills {name}` shows the version that is there");
            CommandError::usage(error).with_hint(hint)
        }
        SkillError::Full => {
            CommandError::usage(error).with_hint("`limbeck skills remove NAME` removes one")
        }
        SkillError::Name(_)
        | SkillError::NotCompleted { .. }
        | SkillError::NoProgram(_)
        | SkillError::TooLong { .. } => CommandError::usage(error),
    }
}

async fn accept(
    printer: &Printer,
    gateway: &Gateway,
    names: &[String],
) -> Result<(), CommandError> {
    named(gateway, names).await?;
    for name in names {
        match gateway.store().accept_skill(LOCAL_PRINCIPAL, name).await? {
            Some(version) => {
                printer.note(&format!("programs can call `{name}`, version {version}"))
            }
            None => printer.note(&format!("nothing waits under the name `{name}`")),
        }
    }
    Ok(())
}

async fn remove(
    printer: &Printer,
    gateway: &Gateway,
    names: &[String],
) -> Result<(), CommandError> {
    named(gateway, names).await?;
    for name in names {
        let removed = gateway.store().remove_skill(LOCAL_PRINCIPAL, name, None);
        if matches!(removed.await?, Ok(Some(_))) {
            printer.note(&format!("`{name}` is removed"));
        }
    }
    Ok(())
}

fn export(
    printer: &Printer,
    found: &[StoredSkill],
    directory: &std::path::Path,
) -> Result<(), CommandError> {
    let in_use: Vec<&StoredSkill> = found.iter().filter(|one| !one.is_proposed).collect();
    for one in &in_use {
        let skill = &one.skill;
        let (suffix, sign) = match skill.language {
            Language::Typescript => ("ts", "//"),
            Language::Python => ("py", "#"),
        };
        let heads = [&*skill.signature, &*skill.description];
        let heads = heads.into_iter().filter(|head| !head.is_empty());
        let heads: String = heads
            .map(|head| format!("{sign} {}\n", clean_line(head, 2_000)))
            .collect();
        let text = format!(
            "{heads}{sign} version {}\n{}\n",
            skill.version,
            skill.text()
        );
        output_files::write(directory, &format!("{}.{suffix}", skill.name), &text)?;
    }
    printer.note(&format!(
        "wrote {} to {}",
        counted(in_use.len(), "skill"),
        directory.display()
    ));
    Ok(())
}

async fn test(
    invocation: &Invocation,
    names: &[String],
    as_json: bool,
) -> Result<ExitStatus, CommandError> {
    let mut signals = EndSignals::listen()?;
    let session = GatewaySession::open(invocation, GatewayLifetime::Command).await?;
    let printer = &invocation.printer;
    let tested = async {
        let mut healths = Vec::new();
        for one in named(&session.gateway, names).await? {
            if !one.is_proposed {
                healths.push(
                    session
                        .gateway
                        .test_skill(LOCAL_PRINCIPAL, &one.skill)
                        .await,
                );
            }
        }
        Ok::<_, CommandError>(healths)
    };
    let tested = signals
        .interrupting(printer.reporting(STARTING, tested))
        .await;
    session.close().await;
    let healths = tested??;
    let is_ok = healths.iter().all(|health| health.ok);
    if as_json {
        printer.json(&json!({ "ok": is_ok, "skills": healths }))?;
    } else if healths.is_empty() {
        printer.note("no skill is kept");
    } else {
        healths
            .iter()
            .for_each(|health| print_health(printer, health));
    }
    Ok(if is_ok {
        ExitStatus::Completed
    } else {
        ExitStatus::Failed
    })
}

fn print_health(printer: &Printer, health: &SkillHealth) {
    let word = if health.ok { "ok" } else { "broken" };
    printer.data_line(&format!(
        "{} (version {}): {word}",
        health.name, health.version
    ));
    for tool in &health.tools {
        let state = match tool.state {
            SkillToolState::Same => continue,
            SkillToolState::Changed => "is defined in another way than when the skill was kept",
            SkillToolState::Missing => "does not exist any more",
            SkillToolState::Unknown => "is of a server whose tools are not known",
        };
        let name = clean_line(&format!("{}.{}", tool.server, tool.tool), LINE_BYTES_MAX);
        printer.data_line(&format!("  {name} {state}"));
    }
    for error in &health.errors {
        printer.data_line(&format!(
            "  line {}: {}",
            error.line,
            clean_line(&error.message, 2 * LINE_BYTES_MAX)
        ));
    }
    if let Some(run) = &health.run {
        let first = match run.identical {
            Some(true) => format!("  its recorded run {} is the same again", run.execution_id),
            Some(false) => format!("  its recorded run {} is different", run.execution_id),
            None => format!("  its recorded run {} was not repeated", run.execution_id),
        };
        printer.data_line(&first);
        for difference in &run.differences {
            printer.data_line(&format!("    {}", clean_line(difference, LINE_BYTES_MAX)));
        }
    }
}
