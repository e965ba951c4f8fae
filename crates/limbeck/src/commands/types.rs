//! `limbeck types`: type declarations of every tool, for editors and type checkers.

use anyhow::anyhow;
use limbeck_catalog::{ServerTools, declarations};
use limbeck_domain::{Language, ServerName};
use limbeck_gateway::ServerReport;

use super::signals::EndSignals;
use super::tools::{LIST_TIMEOUT, STARTING, print_problems};
use crate::cli::TypesArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::format::counted;
use crate::invocation::Invocation;
use crate::output_files;
use crate::wiring::{GatewayLifetime, GatewaySession};

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
    let done = match signals.interrupting(listing).await {
        Ok(Ok(reports)) => {
            session.note_if_empty(&invocation.printer);
            render(invocation, &session, &reports, arguments)
        }
        Ok(Err(error)) => Err(session.call_error(&error)),
        Err(interrupted) => Err(interrupted),
    };
    session.close().await;
    done
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
        Some(directory) => {
            for (path, text) in &files {
                output_files::write(directory, path, text)?;
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
    let mut exit = ExitStatus::Completed;
    // Servers with tools are declared even when their last refresh failed.
    for report in reports.iter().filter(|report| report.tools.is_empty()) {
        print_problems(printer, report);
        // A server with an unsupported transport would make the command fail every time.
        if report.error.is_some() && report.state != "unsupported" {
            exit = ExitStatus::Failed;
        }
    }
    Ok(exit)
}
