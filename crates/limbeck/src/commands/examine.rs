//! `limbeck run --check` and `--plan`: examination of a program without running it.

use anyhow::anyhow;
use limbeck_catalog::Finding;
use limbeck_domain::Mode;
use limbeck_gateway::{Examination, ExecuteRequest};

use super::signals::EndSignals;
use crate::cli::RunArgs;
use crate::command_form::option_form;
use crate::exit::{CommandError, ExitStatus};
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::report::{ProgramSource, note_place, print_value};
use crate::wiring::{GatewayLifetime, GatewaySession};

/// Mode of `--check` or `--plan`; `None` when the program runs.
pub(super) fn mode(arguments: &RunArgs) -> Option<Mode> {
    if arguments.check {
        Some(Mode::Check)
    } else {
        arguments.plan.then_some(Mode::Plan)
    }
}

/// Examines the program and prints the findings.
pub(super) async fn run(
    invocation: &Invocation,
    arguments: &RunArgs,
    request: ExecuteRequest,
    mode: Mode,
    source: ProgramSource<'_>,
) -> Result<ExitStatus, CommandError> {
    let mut signals = EndSignals::listen()?;
    let way_in = super::run::way_in(arguments);
    let session =
        GatewaySession::open_serving(invocation, GatewayLifetime::Command, way_in).await?;
    let gateway = &session.gateway;
    let (examined, signal) = signals
        .cancelling(async |cancel| gateway.examine(request, mode, &cancel).await)
        .await;
    session.close().await;
    if let Some(signal) = signal {
        return Err(signal.error());
    }
    let examination = examined.map_err(|error| {
        let message = option_form(&error.message);
        let failure = CommandError::new(ExitStatus::of_error(&error), anyhow!(message));
        match error.hint {
            Some(hint) => failure.with_hint(option_form(&hint)),
            None => failure,
        }
    })?;
    if arguments.json {
        invocation.printer.json(&examination)?;
    } else {
        print(&invocation.printer, &examination, source);
    }
    Ok(if examination.ok {
        ExitStatus::Completed
    } else {
        ExitStatus::Failed
    })
}

fn print(printer: &Printer, examination: &Examination, source: ProgramSource<'_>) {
    let findings = &examination.findings;
    // Errors come last: they are next to the prompt.
    for warning in &findings.warnings {
        printer.warning(&option_form(&warning.message));
        print_rest(printer, warning, source);
    }
    for error in &findings.errors {
        printer.error(&option_form(&error.message));
        print_rest(printer, error, source);
    }
    match &examination.plan {
        // A plan holds strings and numbers only, so it always serializes.
        Some(plan) => print_value(printer, &serde_json::to_string(plan).unwrap_or_default()),
        None if examination.ok => printer.note("no errors"),
        None => {}
    }
}

fn print_rest(printer: &Printer, finding: &Finding, source: ProgramSource<'_>) {
    note_place(printer, source, finding.line, Some(finding.column));
    if let Some(edit) = &finding.edit {
        printer.hint(&format!(
            "write `{}` instead of `{}`",
            edit.with, edit.replace
        ));
    } else if let Some(hint) = &finding.hint {
        printer.hint(&option_form(hint));
    }
}
