//! `limbeck call`: one tool call outside of any program.

use anyhow::{Context as _, anyhow};
use limbeck_domain::CallError;
use limbeck_domain::text::clean_line;
use limbeck_gateway::CallReport;
use serde_json::Value;
use serde_json::map::Map;

use super::signals::{EndSignal, EndSignals};
use crate::cli::CallArgs;
use crate::command_form::command_form;
use crate::exit::{CommandError, ExitStatus};
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::report::print_value;
use crate::shell::quoted;
use crate::wiring::{GatewayLifetime, GatewaySession};

/// Longest name of a server in a message, in bytes.
const NAME_BYTES_MAX: usize = 80;

/// Calls a tool and prints its result.
pub(super) async fn call(
    invocation: &Invocation,
    arguments: &CallArgs,
) -> Result<ExitStatus, CommandError> {
    // Checked before servers are started, so that a typo of the shell quoting fails at once.
    serde_json::from_str::<Map<String, Value>>(&arguments.arguments)
        .context("the arguments are not a JSON object")
        .map_err(|error| {
            CommandError::usage(error).with_hint(format!(
                "quote the JSON for the shell: `limbeck call {} {} '{{\"key\": 1}}'`",
                quoted(&arguments.server),
                quoted(&arguments.tool)
            ))
        })?;
    let mut signals = EndSignals::listen()?;
    let session = GatewaySession::open(invocation, GatewayLifetime::Command).await?;
    let CallArgs { server, tool, .. } = arguments;
    let waits_for = format!(
        "waiting for server `{}`",
        clean_line(server, NAME_BYTES_MAX)
    );
    let (called, signal) = signals
        .cancelling(async |cancel| {
            let call = session
                .gateway
                .call(server, tool, &arguments.arguments, cancel);
            invocation.printer.reporting(&waits_for, call).await
        })
        .await;
    let exit = match called {
        Ok(report) => print(&invocation.printer, &report, arguments),
        Err(error) => Err(signal.map_or_else(|| failure(&session, &error), EndSignal::error)),
    };
    // Servers must be stopped on errors as well, so the session is closed before the result is returned.
    session.close().await;
    exit
}

/// Error of a call, with its next step as a command.
fn failure(session: &GatewaySession, error: &CallError) -> CommandError {
    let mut failure = session.call_error(error);
    failure.hint = failure.hint.map(|hint| command_form(&hint));
    failure
}

fn print(
    printer: &Printer,
    report: &CallReport,
    arguments: &CallArgs,
) -> Result<ExitStatus, CommandError> {
    if let Some(note) = &report.note {
        printer.note(&format!("note: {note}"));
    }
    if let Some(how) = &report.contradiction {
        printer.warning(&format!(
            "the result does not match the output schema of the tool; by that schema: {how}"
        ));
    }
    if arguments.json {
        printer.data_line(report.result.get());
        return Ok(match report.value {
            Ok(_) => ExitStatus::Completed,
            Err(_) => ExitStatus::Failed,
        });
    }
    match &report.value {
        // A result without content has no value.
        Ok(value) if value == "null" => Ok(ExitStatus::Completed),
        Ok(value) => {
            print_value(printer, value);
            Ok(ExitStatus::Completed)
        }
        Err(error) => {
            let name = format!("{}.{}", arguments.server, arguments.tool);
            let failure = anyhow!("`{name}` failed: {}", error.message);
            Err(CommandError::new(ExitStatus::Failed, failure))
        }
    }
}
