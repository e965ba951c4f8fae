//! `limbeck replay`: repetition of an execution from its journal.

use anyhow::anyhow;
use limbeck_domain::Envelope;
use limbeck_gateway::direct::called_tool;
use limbeck_gateway::{ReplayError, ReplayReport, sandbox};
use limbeck_launcher::WorkerError;
use serde::Serialize;

use crate::cli::ReplayArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::report::{ProgramSource, print_envelope};
use crate::wiring::GatewaySession;

/// Replays an execution, prints its envelope, and compares it with the recorded one.
pub(super) async fn replay(
    invocation: &Invocation,
    arguments: &ReplayArgs,
) -> Result<ExitStatus, CommandError> {
    let session = GatewaySession::open_past(invocation).await?;
    let replayed = replay_and_print(&session, invocation, arguments).await;
    session.close().await;
    replayed
}

async fn replay_and_print(
    session: &GatewaySession,
    invocation: &Invocation,
    arguments: &ReplayArgs,
) -> Result<ExitStatus, CommandError> {
    let printer = &invocation.printer;
    let record = session.gateway.store().execution(&arguments.id).await?;
    if let Some(record) = record
        && called_tool(&record.row.origin, &record.start.program).is_some()
    {
        let error = anyhow!("no program ran, so there is nothing to replay");
        return Err(CommandError::usage(error).with_hint(format!(
            "`limbeck executions {}` shows the direct call",
            record.row.id
        )));
    }
    let report = session
        .gateway
        .replay(&arguments.id)
        .await
        .map_err(failure)?;
    let identical = report.differences.is_empty();
    if arguments.json {
        printer.json(&ReplayJson {
            identical,
            calls: report.calls,
            differences: &report.differences,
            envelope: &report.envelope,
        })?;
    } else {
        let id = report.envelope.execution_id.as_str();
        let record = session.gateway.store().execution(id).await?;
        let program = record
            .map(|record| record.start.program)
            .unwrap_or_default();
        let source = ProgramSource {
            name: "program",
            text: &program,
        };
        print_envelope(printer, &report.envelope, source);
        print_verdict(printer, &report);
    }
    Ok(if identical {
        ExitStatus::Completed
    } else {
        ExitStatus::Failed
    })
}

/// A report as `--json` prints it. The envelope is written as it is: its value is the text that a program returned.
#[derive(Serialize)]
struct ReplayJson<'r> {
    identical: bool,
    calls: usize,
    differences: &'r [String],
    envelope: &'r Envelope,
}

fn print_verdict(printer: &Printer, report: &ReplayReport) {
    let calls = match report.calls {
        1 => "1 call".to_owned(),
        calls => format!("{calls} calls"),
    };
    if report.differences.is_empty() {
        printer.note(&format!("replayed {calls}: identical"));
        return;
    }
    printer.note(&format!("replayed {calls}: different"));
    for difference in &report.differences {
        printer.note(&format!("  {difference}"));
    }
}

fn failure(error: ReplayError) -> CommandError {
    match error {
        ReplayError::Unknown { .. } => CommandError::usage(error)
            .with_hint("run `limbeck executions` to list the recorded ones"),
        ReplayError::NotEnded { .. } => CommandError::usage(error),
        ReplayError::Incomplete { .. } => CommandError::usage(error)
            .with_hint("`limbeck executions ID` shows what is left of it: its calls and its value"),
        ReplayError::Guest(guest) => {
            let hint = guest.hint();
            CommandError::usage(guest).with_hint(hint)
        }
        ReplayError::Store(error) => error.into(),
        ReplayError::Worker(WorkerError::Tier { sandbox, minimum }) => {
            let refusal = sandbox::refusal(&sandbox, &minimum);
            let failure = CommandError::fault(anyhow!(refusal.message));
            match refusal.hint {
                Some(hint) => failure.with_hint(hint),
                None => failure,
            }
        }
        ReplayError::Worker(error) => CommandError::fault(error),
    }
}
