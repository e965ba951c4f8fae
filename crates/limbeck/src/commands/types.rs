//! `limbeck types`: type declarations of every tool, for editors and type checkers.

use std::path::Path;
use std::time::Duration;

use anyhow::anyhow;
use limbeck_catalog::{ServerTools, declarations};
use limbeck_domain::{Language, ServerName};
use limbeck_gateway::ServerReport;
use limbeck_upstream::{Direction, PoolEvent};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::signals::EndSignals;
use super::tools::{LIST_TIMEOUT, STARTING, print_problems};
use crate::cli::TypesArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::format::counted;
use crate::invocation::Invocation;
use crate::output_files;
use crate::printer::Printer;
use crate::wiring::{GatewayLifetime, GatewaySession};

/// Time after an event in which further ones belong to the same change.
const SETTLE: Duration = Duration::from_millis(200);

/// Prints or writes the declarations of all servers or of one.
pub(super) async fn types(
    invocation: &Invocation,
    arguments: &TypesArgs,
) -> Result<ExitStatus, CommandError> {
    let language = Language::from(arguments.language);
    if language == Language::Python && arguments.output.is_none() {
        let error = anyhow!("Python stubs consist of several files");
        return Err(
            CommandError::usage(error).with_hint("set a directory for them with `-o typings`")
        );
    }
    let mut signals = EndSignals::listen()?;
    let session = GatewaySession::open(invocation, GatewayLifetime::Command).await?;
    let listing = session
        .gateway
        .servers(arguments.server.as_deref(), LIST_TIMEOUT);
    let listing = invocation.printer.reporting(STARTING, listing);
    // Before the listing: what changes during it is not missed.
    let mut changes = session.gateway.upstream_events();
    let mut done = match signals.interrupting(listing).await {
        Ok(Ok(reports)) => {
            session.note_if_empty(&invocation.printer);
            render(invocation, &session, &reports, arguments)
        }
        Ok(Err(error)) => Err(session.call_error(&error)),
        Err(interrupted) => Err(interrupted),
    };
    if arguments.watch && done.is_ok() {
        let watching = watch(invocation, &session, &mut changes, arguments);
        done = match signals.interrupting(watching).await {
            Ok(done) => done,
            // A signal is how it ends.
            Err(_) => Ok(ExitStatus::Completed),
        };
    }
    session.close().await;
    done
}

/// Writes the files again whenever tools changed. Ends when the servers do.
async fn watch(
    invocation: &Invocation,
    session: &GatewaySession,
    changes: &mut Receiver<PoolEvent>,
    arguments: &TypesArgs,
) -> Result<ExitStatus, CommandError> {
    invocation
        .printer
        .note("watching the servers; Ctrl-C ends it");
    loop {
        match changes.recv().await {
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return Ok(ExitStatus::Completed),
        }
        // One change of a server is several events.
        tokio::time::sleep(SETTLE).await;
        while changes.try_recv().is_ok() {}
        let listing = session
            .gateway
            .servers(arguments.server.as_deref(), LIST_TIMEOUT);
        if let Ok(reports) = listing.await {
            render(invocation, session, &reports, arguments)?;
            while changes.try_recv().is_ok() {}
        }
    }
}

fn render(
    invocation: &Invocation,
    session: &GatewaySession,
    reports: &[ServerReport],
    arguments: &TypesArgs,
) -> Result<ExitStatus, CommandError> {
    let printer = &invocation.printer;
    let catalog = session.gateway.catalog();
    let named = reports.iter().map(|report| ServerName::from(&*report.name));
    let named: Vec<ServerName> = named.collect();
    let servers: Vec<&ServerTools> = named
        .iter()
        .filter_map(|name| catalog.server(name))
        .filter(|server| !server.tools().is_empty())
        .collect();
    let files = declarations::render(&servers, arguments.language.into());
    match &arguments.output {
        Some(directory) if arguments.check => {
            return Ok(check(printer, directory, &files));
        }
        Some(directory) => {
            let stale = stale(directory, &files);
            if arguments.watch && stale.is_empty() {
                return Ok(ExitStatus::Completed);
            }
            for (path, text) in &files {
                let text = invocation.redaction.text(Direction::ToModel, text);
                output_files::write(directory, path, &text)?;
            }
            let tools: usize = servers.iter().map(|server| server.tools().len()).sum();
            printer.note(&format!(
                "wrote {} of {} to {}",
                counted(tools, "tool"),
                counted(servers.len(), "server"),
                directory.display()
            ));
        }
        None => files.iter().for_each(|(_, text)| printer.data(text)),
    }
    Ok(problems(printer, reports))
}

/// Names of the files that are not what they would be now, or do not exist.
fn stale<'f>(directory: &Path, files: &'f [(String, String)]) -> Vec<&'f str> {
    let differs = |(path, text): &&(String, String)| {
        let written = std::fs::read_to_string(directory.join(path));
        written.ok().as_deref() != Some(text)
    };
    let stale = files.iter().filter(differs);
    stale.map(|(path, _)| path.as_str()).collect()
}

/// Says which files are not those of now.
fn check(printer: &Printer, directory: &Path, files: &[(String, String)]) -> ExitStatus {
    let stale = stale(directory, files);
    if stale.is_empty() {
        printer.note(&format!("{} is up to date", directory.display()));
        return ExitStatus::Completed;
    }
    for path in stale {
        printer.error(&format!(
            "{} is not up to date",
            directory.join(path).display()
        ));
    }
    printer.hint("the same command without `--check` writes it");
    ExitStatus::Failed
}

/// Prints why servers without tools have none.
fn problems(printer: &Printer, reports: &[ServerReport]) -> ExitStatus {
    let mut exit = ExitStatus::Completed;
    // Servers with tools are declared even when their last refresh failed.
    for report in reports.iter().filter(|report| report.tools.is_empty()) {
        print_problems(printer, report);
        // A server with an unsupported transport would make the command fail every time.
        if report.error.is_some() && report.state != "unsupported" {
            exit = ExitStatus::Failed;
        }
    }
    exit
}
