//! `limbeck tools`: configured servers, their source, state and tools.

use std::time::Duration;

use limbeck_domain::limits::{UPSTREAM_LIST_MS, UPSTREAM_START_MS};
use limbeck_domain::text::clean_line;
use limbeck_gateway::{ServerReport, ToolReport};
use limbeck_setup::World;
use serde_json::json;

use super::signals::EndSignals;
use crate::cli::ToolsArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::format::counted;
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::shell::quoted;
use crate::table::{LastColumn, TextTable, Tone};
use crate::wiring::{GatewayLifetime, GatewaySession, short_place};

/// Time for a server to start and list its tools, so that every server has a result.
pub(super) const LIST_TIMEOUT: Duration =
    Duration::from_millis(UPSTREAM_START_MS + UPSTREAM_LIST_MS);
/// Time after which the servers that have not answered are named.
const AWAITED_AFTER: Duration = Duration::from_secs(5);
/// What a command that lists all servers waits for.
pub(super) const STARTING: &str =
    "starting servers to list their tools; the first start of a package may download it";
/// Columns of a terminal from which on the table of servers has all of its columns.
const ALL_COLUMNS_MIN: usize = 60;
/// Transport of a server whose entry cannot be used.
const NO_TRANSPORT: &str = "none";
/// Cell of what is not known of a server.
const UNKNOWN: &str = "-";
/// Most lines shown of the standard error of a failed server, and of tools that cannot be used.
const DETAILS_MAX: usize = 8;
/// Longest such line, and longest tool description, in bytes.
const LINE_BYTES_MAX: usize = 400;

/// Prints all servers, or one server with its tools.
pub(super) async fn tools(
    invocation: &Invocation,
    arguments: &ToolsArgs,
) -> Result<ExitStatus, CommandError> {
    // A signal stops the servers that were started.
    let mut signals = EndSignals::listen()?;
    let session = GatewaySession::open(invocation, GatewayLifetime::Command).await?;
    for note in &session.notes {
        invocation.printer.note(&format!("note: {note}"));
    }
    let server = arguments.server.as_deref();
    let printed = match listed(invocation, arguments, &session, &mut signals).await {
        Ok(reports) => {
            // The entry of another server says nothing about the one that was named.
            let is_whole = server.is_some() || !session.is_configuration_broken;
            // Of the one server that was asked for nothing is listed.
            let is_held_back = server.is_some() && reports.iter().any(waits_for_trust);
            let exit = if reports.iter().all(works) && is_whole && !is_held_back {
                ExitStatus::Completed
            } else {
                ExitStatus::Failed
            };
            let printed = if arguments.json {
                invocation.printer.json(&json!({"servers": reports}))
            } else {
                print(
                    &invocation.printer,
                    &invocation.world,
                    &reports,
                    server.is_some(),
                );
                session.note_if_empty(&invocation.printer);
                Ok(())
            };
            printed.map(|()| exit)
        }
        Err(error) => Err(error),
    };
    session.close().await;
    printed
}

/// Lists the servers. When a signal ends the command, prints those that answered and names the others.
async fn listed(
    invocation: &Invocation,
    arguments: &ToolsArgs,
    session: &GatewaySession,
    signals: &mut EndSignals,
) -> Result<Vec<ServerReport>, CommandError> {
    let server = arguments.server.as_deref();
    let now = || {
        let mut now = session.gateway.servers_now();
        now.retain(|report| server.is_none_or(|name| report.name == name));
        now
    };
    let listing = session.gateway.servers(server, LIST_TIMEOUT);
    let listing = naming_awaited(invocation, now, listing);
    tokio::select! {
        listed = listing => listed.map_err(|error| session.call_error(&error)),
        signal = signals.received() => {
            if !arguments.json {
                print_so_far(&invocation.printer, &invocation.world, now());
            }
            Err(signal.error())
        }
    }
}

/// Awaits `listing`. On a terminal a long wait is explained, and then the servers are named that have not answered; `now`
/// gives their states.
pub(super) async fn naming_awaited<T>(
    invocation: &Invocation,
    now: impl Fn() -> Vec<ServerReport>,
    listing: impl Future<Output = T>,
) -> T {
    let printer = &invocation.printer;
    let mut listing = std::pin::pin!(printer.reporting(STARTING, listing));
    tokio::select! {
        listed = &mut listing => return listed,
        () = tokio::time::sleep(AWAITED_AFTER) => {}
    }
    if let Some(names) = awaited(&now()) {
        printer.progress(&format!("waiting for {names} …"));
    }
    listing.await
}

/// Names of the servers that have not answered; `None` when all have.
fn awaited(reports: &[ServerReport]) -> Option<String> {
    let awaited = reports.iter().filter(|report| is_awaited(report));
    let names: Vec<String> = awaited.map(|report| format!("`{}`", report.name)).collect();
    (!names.is_empty()).then(|| clean_line(&names.join(", "), LINE_BYTES_MAX))
}

fn is_awaited(report: &ServerReport) -> bool {
    ["not_started", "starting"].contains(&report.state)
}

/// Prints the servers that answered, and names the others.
pub(super) fn print_so_far(printer: &Printer, world: &World, reports: Vec<ServerReport>) {
    let awaited = awaited(&reports);
    let listed: Vec<ServerReport> = reports
        .into_iter()
        .filter(|report| !is_awaited(report))
        .collect();
    print(printer, world, &listed, false);
    if let Some(names) = awaited {
        printer.note(&format!("not answered yet: {names}"));
    }
}

fn waits_for_trust(server: &ServerReport) -> bool {
    server.state == "untrusted"
}

/// Whether a server is in a state that needs no repair: ready, disabled, unsupported, or waiting for trust.
pub(super) fn works(server: &ServerReport) -> bool {
    ["ready", "disabled", "unsupported", "untrusted"].contains(&server.state)
}

/// Prints a table of servers, then the problems of each server.
pub(super) fn print(printer: &Printer, world: &World, reports: &[ServerReport], with_tools: bool) {
    if reports.is_empty() {
        return;
    }
    let is_narrow = printer.width().is_some_and(|width| width < ALL_COLUMNS_MIN);
    let table = if is_narrow {
        TextTable::with_header(["server", "state", "tools", "source"]).right([2])
    } else {
        TextTable::with_header([
            "server",
            "state",
            "transport",
            "protocol",
            "tools",
            "source",
        ])
        .right([4])
    };
    let mut table = table.tones(1, state_tone).last(LastColumn::CutStart);
    for report in reports {
        let mut row = vec![report.name.clone(), report.state.to_owned()];
        if !is_narrow {
            let transport = Some(report.transport).filter(|transport| *transport != NO_TRANSPORT);
            row.push(transport.unwrap_or(UNKNOWN).to_owned());
            row.push(
                report
                    .protocol
                    .clone()
                    .unwrap_or_else(|| UNKNOWN.to_owned()),
            );
        }
        // A server that was not listed may have any number of tools.
        let is_listed = report.state == "ready" || !report.tools.is_empty();
        row.push(if is_listed {
            report.tools.len().to_string()
        } else {
            UNKNOWN.to_owned()
        });
        row.push(short_place(world, &report.source));
        table.row_of(row);
    }
    printer.table(&table);
    if with_tools {
        for report in reports {
            print_tools(printer, &report.tools);
        }
    }
    for report in reports {
        print_problems(printer, report);
    }
}

fn state_tone(state: &str) -> Tone {
    match state {
        "ready" => Tone::Good,
        "failed" | "backing_off" => Tone::Bad,
        "untrusted" | "unsupported" => Tone::Attention,
        _ => Tone::Plain,
    }
}

fn print_tools(printer: &Printer, tools: &[ToolReport]) {
    for tool in tools {
        let description = clean_line(&tool.description, LINE_BYTES_MAX);
        let effect = tool.effect.as_str();
        printer.data_line(&format!("\n{}  {effect}  {description}", tool.name));
        printer.data_line(&format!("    {}", tool.signature));
        if let Some(changed_us) = tool.changed_us {
            let when = printer.time(changed_us);
            printer.data_line(&format!("    its definition changed on {when}"));
        }
        if tool.contradictions > 0 {
            printer.data_line(&format!(
                "    results that did not match its output schema: {}",
                tool.contradictions
            ));
        }
    }
}

/// Prints the problems of a server and the next step.
pub(super) fn print_problems(printer: &Printer, report: &ServerReport) {
    let name = &report.name;
    if !report.dropped.is_empty() {
        printer.warning(&format!("server `{name}`: some tools cannot be used"));
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
            "server `{name}`: {} with a definition that changed since it was first seen: {}",
            counted(changed.len(), "tool"),
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
            "server `{name}`: {} with results that did not match the output schema: {}",
            counted(contradicted.len(), "tool"),
            contradicted.join(", ")
        ));
    }
    if !report.switched_off.is_empty() {
        let tools = clean_line(&report.switched_off.join(", "), LINE_BYTES_MAX);
        printer.note(&format!(
            "server `{name}`: switched off by its entry: {tools}"
        ));
    }
    if !report.held.is_empty() {
        let tools = clean_line(&report.held.join(", "), LINE_BYTES_MAX);
        printer.warning(&format!(
            "server `{name}`: held, because their definitions are not those that were accepted: {tools}"
        ));
        printer.hint(&format!(
            "see what changed with `limbeck pins diff {}`",
            quoted(name)
        ));
    }
    if report.queued > 0 {
        printer.note(&format!(
            "server `{name}`: {} in flight, {} waiting",
            counted(report.in_flight, "call"),
            report.queued
        ));
    }
    let Some(error) = &report.error else {
        return;
    };
    if ["ready", "not_started", "starting"].contains(&report.state) {
        printer.note(&format!("note: last error of server `{name}`: {error}"));
        return;
    }
    printer.error(&format!("server `{name}`: {error}"));
    // The error message contains the last lines already.
    let lines = report
        .stderr
        .lines()
        // Substring match, because the message has the lines cleaned and joined.
        .filter(|line| !error.contains(line.trim()));
    let lines: Vec<&str> = lines.collect();
    let last = lines.len().saturating_sub(DETAILS_MAX);
    print_some(printer, "standard error: ", &lines[last..]);
    printer.note(&format!("  entry: {}", report.source));
    let next_step = report.next_step.as_deref();
    if let Some(next_step) = next_step.and_then(|step| without_this_command(step, name)) {
        printer.hint(next_step);
    } else if report.state != "unsupported" {
        let quoted = quoted(name);
        // Without a transport nothing was started, so that the log has no more to say.
        let log = if report.transport == NO_TRANSPORT {
            ""
        } else {
            " --log debug"
        };
        printer.hint(&format!(
            "correct its entry, then run `limbeck tools {quoted}{log}`"
        ));
    }
}

/// `next_step` up to the words that lead to this command, which the user has just run; `None` when it has no others.
fn without_this_command<'t>(next_step: &'t str, server: &str) -> Option<&'t str> {
    let this = format!("`limbeck tools {server}`");
    let before = next_step
        .split_once(&this)
        .map_or(next_step, |(before, _)| {
            before.trim_end_matches([' ', ';', ':'])
        });
    (!before.is_empty()).then_some(before)
}

/// Prints the first details, one a line, and the number of the others.
pub(super) fn print_some(printer: &Printer, label: &str, details: &[impl AsRef<str>]) {
    for detail in details.iter().take(DETAILS_MAX) {
        let detail = clean_line(detail.as_ref(), LINE_BYTES_MAX);
        printer.note(&format!("  {label}{detail}"));
    }
    if let Some(more @ 1..) = details.len().checked_sub(DETAILS_MAX) {
        printer.note(&format!("  … and {more} more, shown with `--json`"));
    }
}
