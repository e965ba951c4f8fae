//! `limbeck replay`: an execution again, from its journal alone.

use anyhow::anyhow;
use limbeck_gateway::launcher::WorkerError;
use limbeck_gateway::{ReplayError, ReplayReport, sandbox};
use serde_json::json;

use super::Invocation;
use crate::cli::ReplayArgs;
use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use crate::report::{Source, print_envelope};
use crate::wiring::Session;

/// Replays, prints what came back, and says whether it is what came back then.
pub(super) async fn replay(
    invocation: &Invocation,
    arguments: &ReplayArgs,
) -> Result<Exit, Failure> {
    let session = Session::open_past(invocation).await?;
    let replayed = replay_and_print(&session, invocation, arguments).await;
    session.close().await;
    replayed
}

async fn replay_and_print(
    session: &Session,
    invocation: &Invocation,
    arguments: &ReplayArgs,
) -> Result<Exit, Failure> {
    let printer = &invocation.printer;
    let report = session
        .gateway
        .replay(&arguments.id)
        .await
        .map_err(failure)?;
    let identical = report.differences.is_empty();
    if arguments.json {
        printer.json(&json!({
            "identical": identical,
            "calls": report.calls,
            "differences": report.differences,
            "envelope": report.envelope,
        }))?;
    } else {
        let id = report.envelope.execution_id.as_str();
        let record = session.gateway.store().execution(id).await?;
        let program = record
            .map(|record| record.start.program)
            .unwrap_or_default();
        let source = Source {
            name: "program",
            text: &program,
        };
        print_envelope(printer, &report.envelope, source);
        print_verdict(printer, &report);
    }
    Ok(if identical {
        Exit::Completed
    } else {
        Exit::Failed
    })
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

fn failure(error: ReplayError) -> Failure {
    match error {
        ReplayError::Unknown { .. } => {
            Failure::usage(error).with_hint("`limbeck executions` lists the ones that are kept")
        }
        ReplayError::NotEnded { .. } => Failure::usage(error),
        ReplayError::Guest { .. } => {
            Failure::usage(error).with_hint("replay it with the version of limbeck that ran it")
        }
        ReplayError::Store(error) => error.into(),
        ReplayError::Worker(WorkerError::Tier { sandbox, minimum }) => {
            let refusal = sandbox::refusal(&sandbox, minimum);
            let failure = Failure::fault(anyhow!(refusal.message));
            match refusal.hint {
                Some(hint) => failure.with_hint(hint),
                None => failure,
            }
        }
        ReplayError::Worker(error) => Failure::fault(error),
    }
}
