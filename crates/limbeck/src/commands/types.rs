//! `limbeck types`: declarations of every tool, for editors and type checkers.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use limbeck_gateway::ServerReport;
use limbeck_gateway::catalog::{ServerTools, declarations};
use limbeck_gateway::domain::{Language, ServerName};

use super::Invocation;
use super::tools::{PATIENCE, print_problems};
use crate::cli::TypesArgs;
use crate::exit::{Exit, Failure};
use crate::wiring::{Lifetime, Session, call_failure};

/// Prints or writes the declarations of every server, or of one.
pub(super) async fn types(invocation: &Invocation, arguments: &TypesArgs) -> Result<Exit, Failure> {
    let language = Language::from(arguments.language);
    if language == Language::Python && arguments.output.is_none() {
        let error = anyhow!("Python stubs are several files");
        return Err(Failure::usage(error).with_hint("name a directory for them: `-o typings`"));
    }
    let session = Session::open(invocation, Lifetime::Command).await?;
    let reports = session
        .gateway
        .servers(arguments.server.as_deref(), PATIENCE)
        .await;
    let done = match reports {
        Ok(reports) => {
            session.say_if_empty(&invocation.printer);
            render(invocation, &session, &reports, arguments)
        }
        Err(error) => Err(call_failure(&error)),
    };
    session.close().await;
    done
}

fn render(
    invocation: &Invocation,
    session: &Session,
    reports: &[ServerReport],
    arguments: &TypesArgs,
) -> Result<Exit, Failure> {
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
                write(&directory.join(path), text)?;
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
    let mut exit = Exit::Completed;
    for report in reports.iter().filter(|report| report.tools.is_empty()) {
        print_problems(printer, report);
        // What Limbeck cannot speak to is no reason to fail every time.
        if report.error.is_some() && report.state != "unsupported" {
            exit = Exit::Failed;
        }
    }
    Ok(exit)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let directory = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(path, text))
        .with_context(|| format!("{} cannot be written", path.display()))
        .map_err(|error| Failure::usage(error).with_hint("name another directory with `-o`"))
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
