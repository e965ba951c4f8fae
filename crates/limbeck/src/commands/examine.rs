//! `limbeck run --check` and `--plan`: what can be said of a program without running it.

use anyhow::anyhow;
use limbeck_gateway::catalog::Finding;
use limbeck_gateway::domain::Mode;
use limbeck_gateway::{Examination, ExecuteRequest};

use super::{Invocation, signals::EndSignals};
use crate::cli::RunArgs;
use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use crate::report::{Source, note_place, print_value};
use crate::wiring::{Lifetime, Session};

/// What `--check` or `--plan` ask for; `None` when the program is to run.
pub(super) fn mode(arguments: &RunArgs) -> Option<Mode> {
    if arguments.check {
        Some(Mode::Check)
    } else {
        arguments.plan.then_some(Mode::Plan)
    }
}

/// Examines the program and prints what was found.
pub(super) async fn run(
    invocation: &Invocation,
    arguments: &RunArgs,
    request: ExecuteRequest,
    mode: Mode,
    source: Source<'_>,
) -> Result<Exit, Failure> {
    let signals = EndSignals::listen()?;
    let session = Session::open(invocation, Lifetime::Command).await?;
    let gateway = &session.gateway;
    let examined = signals
        .cancelling(async |cancel| gateway.examine(request, mode, &cancel).await)
        .await;
    session.close().await;
    let examination = examined.map_err(|error| {
        let failure = Failure::new(Exit::of_error(&error), anyhow!("{}", error.message));
        match error.hint {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    })?;
    if arguments.json {
        invocation.printer.json(&examination)?;
    } else {
        print(&invocation.printer, &examination, source);
    }
    Ok(if examination.ok {
        Exit::Completed
    } else {
        Exit::Failed
    })
}

fn print(printer: &Printer, examination: &Examination, source: Source<'_>) {
    let findings = &examination.findings;
    for warning in &findings.warnings {
        printer.warning(&warning.message);
        print_rest(printer, warning, source);
    }
    for error in &findings.errors {
        printer.error(&error.message);
        print_rest(printer, error, source);
    }
    match &examination.plan {
        // Names and strings, numbers: there is nothing in it that JSON cannot say.
        Some(plan) => print_value(printer, &serde_json::to_string(plan).unwrap_or_default()),
        None if examination.ok => printer.note("no errors"),
        None => {}
    }
}

fn print_rest(printer: &Printer, finding: &Finding, source: Source<'_>) {
    note_place(printer, source, finding.line, Some(finding.column));
    if let Some(edit) = &finding.edit {
        printer.hint(&format!(
            "write `{}` instead of `{}`",
            edit.with, edit.replace
        ));
    } else if let Some(hint) = &finding.hint {
        printer.hint(hint);
    }
}
