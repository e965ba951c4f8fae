//! `limbeck setup`: moves the servers of clients into Limbeck's own configuration, and takes that back.

mod print;
pub(super) mod probe;

use std::path::PathBuf;

use anyhow::anyhow;
use limbeck_setup::{
    ClientAction, FoundClients, ProbeOutcomes, SetupError, SetupPlan, SetupRequest, SetupState,
    SetupSteps, UndoneState,
};
use serde_json::json;

use super::own_servers::note_reload;
use super::signals::EndSignals;
use super::trust::is_confirmed;
use crate::cli::SetupArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::terminal::Terminal;
use crate::wiring;

/// Variable that our container images set.
const CONTAINER: &str = "LIMBECK_CONTAINER";

/// Moves servers, shows what would be moved, or takes a setup back.
pub(super) async fn setup(
    invocation: &Invocation,
    arguments: &SetupArgs,
) -> Result<ExitStatus, CommandError> {
    if invocation.world.nonempty_variable(CONTAINER).is_some() {
        let error = anyhow!("no client of yours is in this container");
        return Err(CommandError::usage(error).with_hint(
            "add servers to /config/limbeck/config.toml, and run `limbeck setup` where your clients are",
        ));
    }
    let state = SetupState::of(&invocation.world, state_directory(invocation)?);
    if let Some(id) = &arguments.undo {
        return undo(invocation, arguments, &state, id.as_deref());
    }
    let may_write = !arguments.dry_run && (arguments.yes || can_ask(invocation, arguments));
    if may_write {
        if let Some(id) = state.recover().map_err(failure)? {
            invocation.printer.note(&format!(
                "setup {id} was ended before it was done; what it had changed was taken back first"
            ));
        }
    } else if state.is_unfinished() {
        invocation.printer.note(
            "an earlier setup was ended before it was done; the next one takes it back first",
        );
    }
    let found = FoundClients::read(&invocation.world, request(arguments)).map_err(failure)?;
    let is_probed = may_write && !arguments.no_probe;
    // With `--no-probe` they move without a start.
    let unstarted: Vec<String> = match is_probed || arguments.no_probe {
        true => Vec::new(),
        false => {
            let candidates = found.candidates().into_iter();
            candidates.map(|server| server.name.to_string()).collect()
        }
    };
    let outcomes = if is_probed {
        probe::outcomes(invocation, &found.candidates()).await?
    } else {
        ProbeOutcomes::new()
    };
    let mut plan = found.plan(&outcomes).map_err(failure)?;
    plan.explain(&outcomes);
    let blocked = plan
        .clients
        .iter()
        .any(|client| matches!(client.action, ClientAction::Refuse | ClientAction::Print));
    let exit = if blocked {
        ExitStatus::Failed
    } else {
        ExitStatus::Completed
    };
    if may_write && plan.is_empty() {
        state.note(&plan).map_err(failure)?;
    }
    if !may_write || plan.is_empty() {
        return show(invocation, arguments, &plan, &unstarted, exit);
    }
    if !arguments.yes {
        print::plan(invocation, &plan, &unstarted);
        if !is_confirmed_here(&invocation.printer, "write these files?").await? {
            return Err(CommandError::new(
                ExitStatus::Failed,
                anyhow!("nothing is written"),
            ));
        }
    } else if !arguments.json {
        print::plan(invocation, &plan, &unstarted);
    }
    let shown = plan.clone();
    let done = state.apply(plan).map_err(failure)?;
    if arguments.json {
        let mut report = print::report(&shown);
        report["id"] = json!(done.id);
        report["undo"] = json!(done.id.as_ref().map(|id| undo_command(id)));
        report["failed"] = done
            .failed
            .iter()
            .map(|(path, reason)| json!({"path": path, "reason": reason}))
            .collect();
        invocation.printer.json(&report)?;
    } else {
        print::done(invocation, &shown, &done);
        note_reload(&invocation.printer);
        if let Some(id) = &done.id {
            invocation
                .printer
                .hint(&format!("take it back with `{}`", undo_command(id)));
        }
    }
    Ok(if done.failed.is_empty() {
        exit
    } else {
        ExitStatus::Failed
    })
}

/// Whether a person can be asked. With `--json` no plan is shown to anyone.
fn can_ask(invocation: &Invocation, arguments: &SetupArgs) -> bool {
    invocation.stdin_is_terminal && !arguments.json
}

fn undo_command(id: &str) -> String {
    format!("limbeck setup --undo {id}")
}

/// Shows a plan that is not carried out.
fn show(
    invocation: &Invocation,
    arguments: &SetupArgs,
    plan: &SetupPlan,
    unstarted: &[String],
    exit: ExitStatus,
) -> Result<ExitStatus, CommandError> {
    if arguments.json {
        invocation.printer.json(&print::report(plan))?;
    } else {
        print::plan(invocation, plan, unstarted);
    }
    if arguments.dry_run || plan.is_empty() {
        if plan.is_empty() && !arguments.json {
            invocation.printer.note("nothing is to be written");
        }
        return Ok(exit);
    }
    let error = anyhow!("nothing is written, because no question could be asked");
    Err(CommandError::usage(error).with_hint("do it with `limbeck setup --yes`"))
}

fn undo(
    invocation: &Invocation,
    arguments: &SetupArgs,
    state: &SetupState<'_>,
    id: Option<&str>,
) -> Result<ExitStatus, CommandError> {
    let (id, files) = state.undo(id).map_err(failure)?;
    let is_conflict = |state: &UndoneState| matches!(state, UndoneState::Conflict(_));
    let exit = if files.iter().any(|file| is_conflict(&file.state)) {
        ExitStatus::Failed
    } else {
        ExitStatus::Completed
    };
    if arguments.json {
        let files: Vec<_> = files.iter().map(print::undone_report).collect();
        invocation
            .printer
            .json(&json!({"id": id, "files": files}))?;
    } else {
        print::undone(invocation, &id, &files);
        if exit == ExitStatus::Failed {
            invocation.printer.hint(&format!(
                "correct the files in conflict, then run `{}` again",
                undo_command(&id)
            ));
        }
    }
    Ok(exit)
}

fn request(arguments: &SetupArgs) -> SetupRequest {
    SetupRequest {
        clients: arguments.client.clone(),
        secrets: arguments.secrets.into(),
        steps: if arguments.import_only {
            SetupSteps::ImportOnly
        } else if arguments.install_only {
            SetupSteps::InstallOnly
        } else {
            SetupSteps::All
        },
    }
}

pub(super) fn state_directory(invocation: &Invocation) -> Result<PathBuf, CommandError> {
    let file = wiring::state_file(invocation);
    let directory = file.and_then(|file| Some(file.parent()?.to_owned()));
    directory.ok_or_else(|| {
        let error = anyhow!(
            "the state directory is unknown: {}",
            invocation.world.home_problem()
        );
        CommandError::usage(error).with_hint("set one with `--state-dir DIR`")
    })
}

pub(super) fn failure(error: SetupError) -> CommandError {
    let hint = error.hint();
    let mut failure = match error {
        SetupError::LaterSetups { .. }
        | SetupError::Overtaken { .. }
        | SetupError::Unrecovered { .. } => CommandError::new(ExitStatus::Failed, error),
        SetupError::NoHome
        | SetupError::UnknownClient { .. }
        | SetupError::Program { .. }
        | SetupError::OwnFile { .. }
        | SetupError::Records { .. }
        | SetupError::NothingToUndo { .. } => CommandError::usage(error),
    };
    failure.hint = hint;
    failure
}

/// Asks on the terminal. Ctrl-C ends the command: after the servers were tried it is the command's own to handle.
async fn is_confirmed_here(printer: &Printer, question: &str) -> Result<bool, CommandError> {
    let is_seen = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let Some(terminal) = Terminal::open().filter(|_| is_seen) else {
        return is_confirmed(printer, question);
    };
    let failed =
        |error: std::io::Error| CommandError::usage(anyhow!("the answer cannot be read: {error}"));
    // An answer to a question that was not asked yet accepts nothing.
    terminal.discard_typed_input().map_err(failed)?;
    printer.prompt(&format!("{question} [y/N] "));
    let line = EndSignals::listen()?.interrupting(terminal.line()).await?;
    let line = line.map_err(failed)?.unwrap_or_default();
    let answer = line.trim().to_ascii_lowercase();
    Ok(matches!(answer.as_str(), "y" | "yes"))
}
