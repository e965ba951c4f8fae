//! `limbeck search`: search for tools by what they do.

use limbeck_domain::CallError;
use limbeck_domain::text::clean_line;
use limbeck_gateway::search::{Detail, HitReport, QueryReport, SearchReport, SearchRequest};

use super::signals::EndSignals;
use super::tools::{STARTING, print_some};
use crate::cli::SearchArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::table::TextTable;
use crate::wiring::{GatewayLifetime, GatewaySession};

/// Bytes of a line about a skill.
const SKILL_LINE_BYTES_MAX: usize = 300;

/// Searches and prints the tools found for each query.
pub(super) async fn search(
    invocation: &Invocation,
    arguments: SearchArgs,
) -> Result<ExitStatus, CommandError> {
    let request = SearchRequest {
        queries: arguments.queries,
        server: arguments.server,
        limit: arguments.limit.map(usize::from),
        detail: arguments.detail.into(),
        cursor: arguments.cursor,
        language: arguments.language.into(),
    };
    let mut signals = EndSignals::listen()?;
    let session = GatewaySession::open(invocation, GatewayLifetime::Command).await?;
    let search = session.gateway.search(&request);
    let search = invocation.printer.reporting(STARTING, search);
    let printed = match signals.interrupting(search).await {
        Ok(Ok(report)) if arguments.json => invocation.printer.json(&report),
        Ok(Ok(report)) => {
            print(&invocation.printer, &report, &session);
            session.note_if_empty(&invocation.printer);
            Ok(())
        }
        Ok(Err(error)) => Err(session.call_error(&naming_option(error))),
        Err(interrupted) => Err(interrupted),
    };
    session.close().await;
    printed.map(|()| ExitStatus::Completed)
}

/// Names the option where an error of a cursor names the argument of `search`, which a model sends.
fn naming_option(mut error: CallError) -> CallError {
    let option = |text: &str| text.replace("`cursor`", "`--cursor`");
    if let Some(hint) = error
        .hint
        .take_if(|hint| hint.ends_with("without `cursor`"))
    {
        error.hint = Some(option(&hint));
        error.message = option(&error.message);
    }
    error
}

fn print(printer: &Printer, report: &SearchReport, session: &GatewaySession) {
    for skill in &report.skills {
        let description = clean_line(&skill.description, SKILL_LINE_BYTES_MAX);
        let signature = clean_line(&skill.signature, SKILL_LINE_BYTES_MAX);
        printer.data_line(&format!("{signature}  skill, {}", skill.language.as_str()));
        if !description.is_empty() {
            printer.data_line(&format!("  {description}"));
        }
    }
    let headed = report.queries.len() > 1;
    for (index, query) in report.queries.iter().enumerate() {
        if headed {
            let gap = if index > 0 { "\n" } else { "" };
            printer.data_line(&format!("{gap}{}", query.query));
        }
        print_query(printer, query, report.detail);
    }
    if let Some(cursor) = &report.cursor {
        printer.note(&format!(
            "more results: repeat the command with `--cursor {cursor}`"
        ));
    }
    for notice in &report.notices {
        // Findings about configuration files were printed when they were read.
        if !session.notices.contains(notice) {
            printer.note(&format!("note: {notice}"));
        }
    }
    if !report.incomplete.is_empty() {
        printer.warning(&format!(
            "not all tools can be searched: {}",
            report.incomplete.join("; ")
        ));
    }
    if !report.starting.is_empty() {
        printer.warning(&format!(
            "not searched, because they are still starting: {}",
            report.starting.join(", ")
        ));
    }
    if !report.unavailable.is_empty() {
        printer.warning(&format!(
            "not searched, because {} not work:",
            if report.unavailable.len() == 1 {
                "it does"
            } else {
                "they do"
            }
        ));
        print_some(printer, "", &report.unavailable);
        printer.hint("run `limbeck tools` to see the next step for each");
    }
}

fn print_query(printer: &Printer, query: &QueryReport, detail: Detail) {
    for hit in &query.tools {
        printer.data(&hit_text(hit, detail));
    }
    let (first, last) = (query.from + 1, query.from + query.tools.len());
    if query.total == 0 {
        printer.note(&format!("no tool matches `{}`", query.query));
        if !query.nearest.is_empty() {
            printer.note(&format!("similar tools: {}", query.nearest.join(", ")));
        }
    } else if query.tools.is_empty() {
        printer.note(&format!("all {} results were shown before", query.total));
    } else if query.from > 0 {
        printer.note(&format!("results {first} to {last} of {}", query.total));
    } else if last < query.total {
        printer.note(&format!("results 1 to {last} of {}", query.total));
    }
}

fn hit_text(hit: &HitReport, detail: Detail) -> String {
    let mut table = TextTable::default();
    let name = format!("{}.{}", hit.server, hit.tool);
    let effect = match &hit.policy {
        Some(note) => format!("{}, {note}", hit.effect.as_str()),
        None => hit.effect.as_str().to_owned(),
    };
    table.row([name.as_str(), &effect, &hit.description]);
    let declaration = match (detail, &hit.declaration) {
        (Detail::Brief, _) => return table.text(),
        (Detail::Full, Some(declaration)) => declaration,
        (Detail::Signature | Detail::Full, _) => &hit.signature,
    };
    let declaration = declaration.replace('\n', "\n    ");
    format!("{}    {declaration}\n", table.text())
}
