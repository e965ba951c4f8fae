//! `limbeck call`: one tool, outside of any program.

use anyhow::{Context as _, anyhow};
use limbeck_gateway::CallReport;
use serde::Deserialize;
use serde_json::Value;
use serde_json::map::Map;
use serde_json::value::RawValue;

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

/// The parts of a `CallToolResult` that are shown; the rest stays text, however deep it is nested.
#[derive(Deserialize)]
struct ToolResult<'a> {
    #[serde(borrow, default, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "isError")]
    is_error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct TextBlock {
    text: String,
}

fn print(printer: &Printer, report: &CallReport, arguments: &CallArgs) -> Result<Exit, Failure> {
    if let Some(note) = &report.note {
        printer.note(&format!("note: {note}"));
    }
    let name = format!("{}.{}", arguments.server, arguments.tool);
    let result: ToolResult<'_> = serde_json::from_str(report.result.get())
        .with_context(|| format!("`{name}` answered with something that is no tool result"))
        .map_err(|error| Failure::new(Exit::Failed, error))?;
    let failed = result.is_error.is_some_and(|flag| flag.get() == "true");
    if arguments.json {
        printer.data_line(report.result.get());
        return Ok(if failed {
            Exit::Failed
        } else {
            Exit::Completed
        });
    }
    if failed {
        let text = joined_text(&result).unwrap_or_else(|| "it gave no text".to_owned());
        return Err(Failure::new(
            Exit::Failed,
            anyhow!("`{name}` failed: {text}"),
        ));
    }
    print_result(printer, &result);
    Ok(Exit::Completed)
}

/// The structured value if there is one, else the texts, else the blocks as they came.
fn print_result(printer: &Printer, result: &ToolResult<'_>) {
    let structured = result.structured.filter(|value| value.get() != "null");
    match (structured, joined_text(result), result.content) {
        (Some(value), _, _) => print_value(printer, value.get()),
        (None, Some(text), _) => printer.data_line(&text),
        (None, None, Some(content)) => print_value(printer, content.get()),
        (None, None, None) => {}
    }
}

/// The texts of the blocks, one below the other, when there is nothing but text.
fn joined_text(result: &ToolResult<'_>) -> Option<String> {
    let blocks: Vec<TextBlock> = serde_json::from_str(result.content?.get()).ok()?;
    let texts: Vec<String> = blocks.into_iter().map(|block| block.text).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
