//! `limbeck call`: one tool, outside of any program.

use anyhow::{Context as _, anyhow};
use limbeck_gateway::CallReport;
use serde_json::Value;
use serde_json::map::Map;

use super::{Invocation, signals::EndSignals};
use crate::cli::CallArgs;
use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use crate::report::print_value;
use crate::wiring::{Lifetime, Session, call_failure};

/// Calls the tool and prints its result.
pub(super) async fn call(invocation: &Invocation, arguments: &CallArgs) -> Result<Exit, Failure> {
    serde_json::from_str::<Map<String, Value>>(&arguments.arguments)
        .context("the arguments are not a JSON object")
        .map_err(|error| {
            Failure::usage(error).with_hint(format!(
                "quote them for the shell: `limbeck call {} {} '{{\"key\": 1}}'`",
                arguments.server, arguments.tool
            ))
        })?;
    let signals = EndSignals::listen()?;
    let session = Session::open(invocation, Lifetime::Command).await?;
    let CallArgs { server, tool, .. } = arguments;
    let called = signals
        .cancelling(async |cancel| {
            let json = &arguments.arguments;
            session.gateway.call(server, tool, json, cancel).await
        })
        .await;
    let exit = match called {
        Ok(report) => print(&invocation.printer, &report, arguments),
        Err(error) => Err(call_failure(&error)),
    };
    session.close().await;
    exit
}

fn print(printer: &Printer, report: &CallReport, arguments: &CallArgs) -> Result<Exit, Failure> {
    if let Some(note) = &report.note {
        printer.note(&format!("note: {note}"));
    }
    if let Some(how) = &report.contradiction {
        printer.warning(&format!(
            "the result does not fit the output schema the server declares: {how}"
        ));
    }
    if arguments.json {
        printer.data_line(report.result.get());
        return Ok(match report.value {
            Ok(_) => Exit::Completed,
            Err(_) => Exit::Failed,
        });
    }
    match &report.value {
        // A result without content has nothing to print.
        Ok(value) if value == "null" => Ok(Exit::Completed),
        Ok(value) => {
            print_value(printer, value);
            Ok(Exit::Completed)
        }
        Err(error) => {
            let name = format!("{}.{}", arguments.server, arguments.tool);
            let failure = anyhow!("`{name}` failed: {}", error.message);
            Err(Failure::new(Exit::Failed, failure))
        }
    }
}
