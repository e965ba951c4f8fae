//! `limbeck search`: tools by what they do.

use limbeck_gateway::search::{HitReport, QueryReport, SearchReport, SearchRequest};

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
        print_query(printer, query);
    }
    if !report.starting.is_empty() {
        printer.warning(&format!(
            "still starting, so not searched: {}",
            report.starting.join(", ")
        ));
    }
}

fn print_query(printer: &Printer, query: &QueryReport) {
    for hit in &query.tools {
        printer.data(&hit_text(hit));
    }
    if query.tools.is_empty() {
        printer.note(&format!("no tool matches `{}`", query.query));
        if !query.nearest.is_empty() {
            printer.note(&format!("nearest: {}", query.nearest.join(", ")));
        }
    } else if query.tools.len() < query.total {
        printer.note(&format!(
            "{} of {} shown; `--limit N` shows more",
            query.tools.len(),
            query.total
        ));
    }
}

fn hit_text(hit: &HitReport) -> String {
    let mut table = Table::default();
    let name = format!("{}.{}", hit.server, hit.tool);
    table.row([name.as_str(), hit.effect.as_str(), &hit.description]);
    format!("{}    {}\n", table.text(), hit.signature)
}
