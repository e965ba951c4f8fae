//! `limbeck sync`: compares the files of clients with what setup wrote, and repairs Limbeck's entry.

mod schedule;

use limbeck_domain::text::clean_line;
use limbeck_setup::{
    ClientAction, Drift, DriftAction, FoundClients, SetupRequest, SetupState, SyncDone, SyncRequest,
};
use serde_json::{Value, json};

use super::setup::{failure, probe, state_directory};
use crate::cli::SyncArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::invocation::Invocation;
use crate::wiring::short_place;

/// Longest path or reason in a message, in bytes.
const TEXT_BYTES_MAX: usize = 600;

/// Reports what drifted, repairs it with `--apply`, or has the system do so.
pub(super) async fn sync(
    invocation: &Invocation,
    arguments: &SyncArgs,
) -> Result<ExitStatus, CommandError> {
    if arguments.install || arguments.uninstall {
        return schedule::schedule(invocation, arguments);
    }
    let state = SetupState::of(&invocation.world, state_directory(invocation)?);
    if state.is_unfinished() {
        invocation
            .printer
            .note("a setup was ended before it was done; the next `limbeck setup` takes it back");
    }
    let request = SyncRequest {
        clients: arguments.client.clone(),
        adoption: arguments.adopt.into(),
        is_background: arguments.background,
    };
    let mut done = if arguments.apply {
        state.repair(&request).map_err(failure)?
    } else {
        let plan = state.drift(&request).map_err(failure)?;
        SyncDone {
            plan,
            ..SyncDone::default()
        }
    };
    let adopted = match arguments.apply {
        true => adopt(invocation, &state, &mut done).await?,
        false => Vec::new(),
    };
    if arguments.json {
        invocation
            .printer
            .json(&report(arguments, &done, &adopted))?;
    } else {
        print(invocation, arguments, &done, &adopted);
    }
    let is_open = |drift: &Drift| match drift.action {
        DriftAction::Respect => false,
        // In the background no person reads an exit code, and what only a person can decide is no failure of the run.
        DriftAction::Report => !arguments.background,
        DriftAction::Repair => !done.written.contains(&drift.path),
        DriftAction::Adopt => !adopted.contains(&drift.id),
        DriftAction::Stop => true,
    };
    let is_ok = done.failed.is_empty() && !done.plan.drift.iter().any(is_open);
    Ok(match is_ok {
        true => ExitStatus::Completed,
        false => ExitStatus::Failed,
    })
}

/// Moves the new servers that sync found, client by client, as setup does: a server that does not start stays. Returns the
/// clients that no such server is left in.
async fn adopt(
    invocation: &Invocation,
    state: &SetupState<'_>,
    done: &mut SyncDone,
) -> Result<Vec<&'static str>, CommandError> {
    let is_adopted = |drift: &&Drift| drift.action == DriftAction::Adopt;
    let clients: Vec<&'static str> = done
        .plan
        .drift
        .iter()
        .filter(is_adopted)
        .map(|drift| drift.id)
        .collect();
    if clients.is_empty() {
        return Ok(clients);
    }
    let request = SetupRequest {
        clients: clients.iter().map(|&id| id.to_owned()).collect(),
        ..SetupRequest::default()
    };
    let found = FoundClients::read(&invocation.world, request).map_err(failure)?;
    let outcomes = probe::outcomes(invocation, &found.candidates()).await?;
    let plan = found.plan(&outcomes).map_err(failure)?;
    let blocked: Vec<&str> = plan
        .clients
        .iter()
        .filter(|client| matches!(client.action, ClientAction::Refuse | ClientAction::Print))
        .map(|client| client.id)
        .collect();
    let wrote = state.apply(plan).map_err(failure)?;
    done.written.extend(wrote.written);
    done.failed.extend(wrote.failed);
    let is_done = |id: &&'static str| !blocked.contains(id);
    Ok(clients.into_iter().filter(is_done).collect())
}

fn report(arguments: &SyncArgs, done: &SyncDone, adopted: &[&str]) -> Value {
    let drift = done.plan.drift.iter().map(|drift| {
        json!({
            "client": drift.id,
            "path": drift.path,
            "kind": drift.kind.word(),
            "servers": drift.servers,
            "action": drift.action.word(),
            "finding": drift.finding,
            "remedy": drift.remedy,
            "done": done.written.contains(&drift.path) || adopted.contains(&drift.id),
        })
    });
    let failed = done.failed.iter();
    let failed = failed.map(|(path, reason)| json!({"path": path, "reason": reason}));
    json!({
        "applied": arguments.apply,
        "has_setup": done.plan.has_setup,
        "files_read": done.plan.files_read,
        "drift": drift.collect::<Vec<_>>(),
        "written": done.written,
        "failed": failed.collect::<Vec<_>>(),
    })
}

fn print(invocation: &Invocation, arguments: &SyncArgs, done: &SyncDone, adopted: &[&str]) {
    let printer = &invocation.printer;
    let short = |path: &std::path::Path| {
        let path = short_place(&invocation.world, &path.display().to_string());
        clean_line(&path, TEXT_BYTES_MAX)
    };
    if !done.plan.has_setup {
        printer.note("there is no setup to compare with");
        printer.hint("run `limbeck setup` first");
        return;
    }
    for drift in &done.plan.drift {
        let text = format!(
            "{} ({})",
            clean_line(&drift.finding, TEXT_BYTES_MAX),
            short(&drift.path)
        );
        let is_done = match drift.action {
            DriftAction::Repair => done.written.contains(&drift.path),
            DriftAction::Adopt => adopted.contains(&drift.id),
            DriftAction::Respect => true,
            DriftAction::Stop | DriftAction::Report => false,
        };
        if is_done {
            let after = match drift.action {
                DriftAction::Repair => "; it is written again",
                DriftAction::Adopt => "; those that start are moved",
                _ => "",
            };
            printer.note(&format!("{text}{after}"));
            continue;
        }
        printer.warning(&text);
        if let Some(remedy) = &drift.remedy {
            printer.hint(&match remedy.strip_prefix("limbeck ") {
                Some(_) => format!("run `{remedy}`"),
                None => clean_line(remedy, TEXT_BYTES_MAX),
            });
        }
    }
    for (path, reason) in &done.failed {
        let reason = clean_line(reason, TEXT_BYTES_MAX);
        printer.error(&format!("{} is not changed: {reason}", short(path)));
    }
    if done.plan.is_clean() && !arguments.background {
        printer.note("the files of your clients are as setup left them, or as you decided");
    }
}
