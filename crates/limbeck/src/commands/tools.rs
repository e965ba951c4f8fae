//! `limbeck tools`: what is configured, where it comes from and how it is doing.

use std::time::Duration;

use limbeck_gateway::domain::limits::{UPSTREAM_LIST_MS, UPSTREAM_START_MS};
use limbeck_gateway::domain::text::clean_line;
use limbeck_gateway::{ServerReport, ToolReport};
use serde_json::json;

use super::Invocation;
use super::executions::when;
use crate::cli::ToolsArgs;
use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use crate::table::Table;
use crate::wiring::{Lifetime, Session, call_failure};
use crate::words::quoted;

/// As long as a server may take to start and list, so that every one has its answer.
pub(super) const PATIENCE: Duration = Duration::from_millis(UPSTREAM_START_MS + UPSTREAM_LIST_MS);
/// Lines shown of what a failed server wrote to standard error, and of tools that were left out.
const DETAILS_MAX: usize = 8;
/// Bytes shown of one such line, and of a tool's description.
const LINE_BYTES_MAX: usize = 400;

/// Prints every server, or the tools of one.
pub(super) async fn tools(invocation: &Invocation, arguments: &ToolsArgs) -> Result<Exit, Failure> {
    let session = Session::open(invocation, Lifetime::Command).await?;
    for note in &session.notes {
        invocation.printer.note(&format!("note: {note}"));
    }
    let server = arguments.server.as_deref();
    let reports = session.gateway.servers(server, PATIENCE).await;
    let printed = match reports {
        Ok(reports) if arguments.json => invocation.printer.json(&json!({"servers": reports})),
        Ok(reports) => {
            print(&invocation.printer, &reports, server.is_some());
            session.say_if_empty(&invocation.printer);
            Ok(())
        }
        Err(error) => Err(call_failure(&error)),
    };
    session.close().await;
    printed.map(|()| Exit::Completed)
}

/// The servers as a table, then what is wrong with which.
pub(super) fn print(printer: &Printer, reports: &[ServerReport], with_tools: bool) {
    if reports.is_empty() {
        return;
    }
    let mut table = Table::with_header([
        "server",
        "state",
        "transport",
        "protocol",
        "tools",
        "source",
    ])
    .right([4]);
    for report in reports {
        let tools = report.tools.len().to_string();
        let protocol = protocol(report);
        table.row([
            &*report.name,
            report.state,
            report.transport,
            &*protocol,
            &*tools,
            &*report.source,
        ]);
    }
    printer.data(&table.text());
    if with_tools {
        for report in reports {
            print_tools(printer, &report.tools);
        }
    }
    for report in reports {
        print_problems(printer, report);
    }
}

/// Era and revision of a connected server: `legacy 2025-11-25`.
fn protocol(report: &ServerReport) -> String {
    match (report.era, &report.protocol) {
        (Some(era), Some(protocol)) => format!("{era} {protocol}"),
        (Some(era), None) => era.to_owned(),
        (None, _) => String::new(),
    }
}

fn print_tools(printer: &Printer, tools: &[ToolReport]) {
    for tool in tools {
        let description = clean_line(&tool.description, LINE_BYTES_MAX);
        let effect = tool.effect.as_str();
        printer.data_line(&format!("\n{}  {effect}  {description}", tool.name));
        printer.data_line(&format!("    {}", tool.signature));
        if let Some(changed_us) = tool.changed_us {
            let when = when(changed_us);
            printer.data_line(&format!("    its definition changed on {when}"));
        }
        if tool.contradictions > 0 {
            printer.data_line(&format!(
                "    results that did not fit its output schema: {}",
                tool.contradictions
            ));
        }
    }
}

/// What is wrong with a server, and what to do about it.
pub(super) fn print_problems(printer: &Printer, report: &ServerReport) {
    let name = &report.name;
    if !report.dropped.is_empty() {
        printer.warning(&format!("server `{name}`: not every tool is usable"));
        print_some(printer, "", &report.dropped);
    }
    let changed: Vec<&str> = report
        .tools
        .iter()
        .filter(|tool| tool.changed_us.is_some())
        .map(|tool| &*tool.name)
        .collect();
    if !changed.is_empty() {
        printer.warning(&format!(
            "server `{name}`: {} tools are not what they were when first seen: {}",
            changed.len(),
            changed.join(", ")
        ));
    }
    let contradicted: Vec<&str> = report
        .tools
        .iter()
        .filter(|tool| tool.contradictions > 0)
        .map(|tool| &*tool.name)
        .collect();
    if !contradicted.is_empty() {
        printer.warning(&format!(
            "server `{name}`: results of {} tools did not fit the output schemas they declare: {}",
            contradicted.len(),
            contradicted.join(", ")
        ));
    }
    if report.queued > 0 {
        printer.note(&format!(
            "server `{name}`: {} calls under way, {} waiting",
            report.under_way, report.queued
        ));
    }
    let Some(error) = &report.error else {
        return;
    };
    if ["ready", "not_started", "starting"].contains(&report.state) {
        printer.note(&format!("note: server `{name}` last failed with: {error}"));
        return;
    }
    printer.error(&format!("server `{name}`: {error}"));
    // The last lines are part of the reason already.
    let lines = report
        .stderr
        .lines()
        .filter(|line| !error.contains(line.trim()));
    let lines: Vec<&str> = lines.collect();
    let last = lines.len().saturating_sub(DETAILS_MAX);
    print_some(printer, "it wrote: ", &lines[last..]);
    printer.note(&format!("  its entry: {}", report.source));
    if let Some(next_step) = &report.next_step {
        printer.hint(next_step);
    } else if report.state != "unsupported" {
        let quoted = quoted(name);
        printer.hint(&format!(
            "correct its entry, then `limbeck tools {quoted} --log debug`"
        ));
    }
}

/// The first of some details, a line each, and how many more there are.
fn print_some(printer: &Printer, label: &str, details: &[impl AsRef<str>]) {
    for detail in details.iter().take(DETAILS_MAX) {
        let detail = clean_line(detail.as_ref(), LINE_BYTES_MAX);
        printer.note(&format!("  {label}{detail}"));
    }
    if let Some(more @ 1..) = details.len().checked_sub(DETAILS_MAX) {
        printer.note(&format!("  … and {more} more: `--json` has all"));
    }
}
