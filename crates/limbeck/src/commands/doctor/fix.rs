//! `limbeck doctor --fix CODE`: does the remedy of each finding with the code.

use std::path::PathBuf;

use anyhow::anyhow;
use limbeck_setup::{
    ClientFinding, FindingFix, FoundClients, SetupRequest, SetupState, SetupSteps, SyncRequest,
    shown_path,
};

use super::clients::print_one;
use crate::cli::DoctorArgs;
use crate::commands::setup::{failure, probe, state_directory};
use crate::exit::{CommandError, ExitStatus};
use crate::invocation::Invocation;

/// Does the remedies, and prints what is left.
pub(super) async fn fix(
    invocation: &Invocation,
    arguments: &DoctorArgs,
    code: &str,
) -> Result<ExitStatus, CommandError> {
    let state = SetupState::of(&invocation.world, state_directory(invocation)?);
    let is_wanted = |finding: &ClientFinding| {
        let client = finding.client.unwrap_or_default();
        let is_named = |id: &String| id == client;
        finding.code.eq_ignore_ascii_case(code) && arguments.client.as_ref().is_none_or(is_named)
    };
    let findings = || {
        let findings = state.findings().into_iter();
        findings.filter(&is_wanted).collect::<Vec<ClientFinding>>()
    };
    let found = findings();
    if found.is_empty() {
        invocation
            .printer
            .note(&format!("there is no finding {code}, so nothing is done"));
        return Ok(ExitStatus::Completed);
    }
    for finding in &found {
        match &finding.fix {
            None => {}
            Some(FindingFix::Sync) => {
                let clients = finding.client.into_iter().map(str::to_owned).collect();
                let request = SyncRequest {
                    clients,
                    ..SyncRequest::default()
                };
                state.repair(&request).map_err(failure)?;
            }
            Some(FindingFix::Install) => {
                set_up(invocation, &state, finding, SetupSteps::InstallOnly).await?;
            }
            Some(FindingFix::Setup) => {
                set_up(invocation, &state, finding, SetupSteps::All).await?;
            }
            Some(FindingFix::Restrict(paths)) => restrict(invocation, paths)?,
        }
    }
    let left = findings();
    for finding in &found {
        if !left.contains(finding) {
            let text = format!("done: {} ({})", finding.finding, finding.code);
            invocation.printer.note(&text);
        }
    }
    for finding in &left {
        print_one(&invocation.printer, finding);
    }
    Ok(match left.is_empty() {
        true => ExitStatus::Completed,
        false => ExitStatus::Failed,
    })
}

async fn set_up(
    invocation: &Invocation,
    state: &SetupState<'_>,
    finding: &ClientFinding,
    steps: SetupSteps,
) -> Result<(), CommandError> {
    let request = SetupRequest {
        clients: finding.client.into_iter().map(str::to_owned).collect(),
        steps,
        ..SetupRequest::default()
    };
    state.recover().map_err(failure)?;
    let found = FoundClients::read(&invocation.world, request).map_err(failure)?;
    let outcomes = probe::outcomes(invocation, &found.candidates()).await?;
    let plan = found.plan(&outcomes).map_err(failure)?;
    let done = state.apply(plan).map_err(failure)?;
    if let Some(id) = done.id {
        invocation
            .printer
            .hint(&format!("take it back with `limbeck setup --undo {id}`"));
    }
    Ok(())
}

/// Takes the rights of other users away, and only to write where a client's file is one that they may read.
#[cfg(unix)]
fn restrict(invocation: &Invocation, paths: &[PathBuf]) -> Result<(), CommandError> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let config = invocation.world.config_directory();
    let own = config.map(|config| config.join("limbeck"));
    let state = state_directory(invocation)?;
    for path in paths {
        let is_own =
            own.as_ref().is_some_and(|own| path.starts_with(own)) || path.starts_with(&state);
        let taken = if is_own { 0o077 } else { 0o022 };
        let failed = |error: std::io::Error| {
            let error = anyhow!(
                "the rights of {} cannot be changed: {error}",
                shown_path(path)
            );
            CommandError::new(ExitStatus::Failed, error)
        };
        let found = std::fs::symlink_metadata(path).map_err(failed)?;
        if found.is_symlink() || found.uid() != rustix::process::geteuid().as_raw() {
            let error = anyhow!(
                "the rights of {} are not changed: it is a link, or belongs to another user",
                shown_path(path)
            );
            return Err(CommandError::new(ExitStatus::Failed, error));
        }
        let mode = found.permissions().mode();
        let mode = std::fs::Permissions::from_mode(mode & !taken & 0o7777);
        std::fs::set_permissions(path, mode).map_err(failed)?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn restrict(_: &Invocation, _: &[PathBuf]) -> Result<(), CommandError> {
    let error = anyhow!("rights are not changed on this system");
    Err(CommandError::new(ExitStatus::Failed, error))
}
