//! `limbeck search`: tools by what they do.

use limbeck_gateway::search::{Detail, HitReport, QueryReport, SearchReport, SearchRequest};

use super::Invocation;
use crate::cli::SearchArgs;
use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use crate::table::Table;
use crate::wiring::{Lifetime, Session, call_failure};

/// Searches and prints what was found, query by query.
pub(super) async fn search(
    invocation: &Invocation,
    arguments: SearchArgs,
) -> Result<Exit, Failure> {
    let request = SearchRequest {
        queries: arguments.queries,
        server: arguments.server,
        limit: arguments.limit.map(usize::from),
        detail: arguments.detail.into(),
        cursor: arguments.cursor,
        language: arguments.language.into(),
    };
    let session = Session::open(invocation, Lifetime::Command).await?;
    let report = session.gateway.search(&request).await;
    let printed = match report {
        Ok(report) if arguments.json => invocation.printer.json(&report),
        Ok(report) => {
            print(&invocation.printer, &report);
            session.say_if_empty(&invocation.printer);
            Ok(())
        }
        Err(error) => Err(call_failure(&error)),
    };
    session.close().await;
    printed.map(|()| Exit::Completed)
}

fn print(printer: &Printer, report: &SearchReport) {
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
            "`--cursor {cursor}` with the same queries shows more"
        ));
    }
    if !report.starting.is_empty() {
        printer.warning(&format!(
            "still starting, so not searched: {}",
            report.starting.join(", ")
        ));
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
            printer.note(&format!("nearest: {}", query.nearest.join(", ")));
        }
    } else if query.tools.is_empty() {
        printer.note(&format!("all {} shown before", query.total));
    } else if query.from > 0 {
        printer.note(&format!("{first} to {last} of {} shown", query.total));
    } else if last < query.total {
        printer.note(&format!("{last} of {} shown", query.total));
    }
}

fn hit_text(hit: &HitReport, detail: Detail) -> String {
    let mut table = Table::default();
    let name = format!("{}.{}", hit.server, hit.tool);
    table.row([name.as_str(), hit.effect.as_str(), &hit.description]);
    let told = match (detail, &hit.declaration) {
        (Detail::Brief, _) => return table.text(),
        (Detail::Full, Some(declaration)) => declaration,
        (Detail::Signature | Detail::Full, _) => &hit.signature,
    };
    let told = told.replace('\n', "\n    ");
    format!("{}    {told}\n", table.text())
}
