//! `limbeck policy budgets`: what is left of budgets and rates; `policy explain`, `policy check` and `doctor` show it too.

use limbeck_catalog::Catalog;
use limbeck_domain::text::clean_line;
use limbeck_domain::{EffectClass, ToolId};
use limbeck_gateway::BudgetLeft;
use limbeck_policy::budget::{Bound, Budget};
use limbeck_policy::{Policy, Requester};
use serde_json::{Value, json};

use crate::cli::PolicyBudgetsArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::format::grouped_digits;
use crate::printer::Printer;
use crate::table::TextTable;
use crate::wiring::GatewaySession;

/// Longest name in a cell, in bytes.
const NAME_BYTES_MAX: usize = 60;

/// Prints what is left of all budgets.
pub(super) async fn budgets(
    session: &GatewaySession,
    printer: &Printer,
    policy: &Policy,
    arguments: &PolicyBudgetsArgs,
) -> Result<ExitStatus, CommandError> {
    let left = session.gateway.budgets_left().await?;
    if arguments.json {
        let budgets = policy.budgets.all().iter().map(|budget| {
            json!({
                "id": budget.id,
                "allows": budget.phrase(),
                "on_exceed": budget.on_exceed.as_str(),
                "layer": budget.layer.as_str(),
                "origin": budget.origin,
            })
        });
        printer.json(&json!({
            "budgets": budgets.collect::<Vec<_>>(),
            "left": left.iter().map(BudgetLeft::json).collect::<Vec<_>>(),
        }))?;
        return Ok(ExitStatus::Completed);
    }
    if left.is_empty() {
        printer.note("no file has a `[[budget]]`: calls are not counted");
        return Ok(ExitStatus::Completed);
    }
    print(printer, &left);
    Ok(ExitStatus::Completed)
}

/// A table of what is left.
pub(super) fn print(printer: &Printer, left: &[BudgetLeft]) {
    let header = ["BUDGET", "ALLOWS", "COUNTER", "LEFT", "MORE AT"];
    let mut table = TextTable::with_header(header).right([3]);
    for one in left {
        table.row([
            clean_line(&one.budget.id, NAME_BYTES_MAX),
            clean_line(&one.budget.phrase(), NAME_BYTES_MAX),
            clean_line(&counter(one), NAME_BYTES_MAX),
            amount(one),
            one.resets().unwrap_or_default(),
        ]);
    }
    printer.table(&table);
}

/// One line for each counter, for `doctor`.
pub(in crate::commands) fn line(left: &BudgetLeft) -> String {
    let counter = match counter(left) {
        text if text.is_empty() => String::new(),
        text => format!(" for {}", clean_line(&text, NAME_BYTES_MAX)),
    };
    let more = match left.resets() {
        Some(at) => format!(", more at {at}"),
        None => String::new(),
    };
    let id = clean_line(&left.budget.id, NAME_BYTES_MAX);
    let phrase = left.budget.phrase();
    format!("{id}: {} left of {phrase}{counter}{more}", amount(left))
}

fn amount(left: &BudgetLeft) -> String {
    match (&left.budget.bound, left.unit) {
        (Bound::Total { limits, .. }, Some(unit)) if limits.len() > 1 => {
            format!("{} {}", grouped_digits(left.left), unit.as_str())
        }
        _ => grouped_digits(left.left),
    }
}

fn counter(left: &BudgetLeft) -> String {
    let of = |(dimension, name): (&String, &Value)| {
        let name = name.as_str().unwrap_or_default();
        match dimension.as_str() {
            "principal" => format!("user:{name}"),
            "class" => format!("class {name}"),
            _ => name.to_owned(),
        }
    };
    let names = left.subject.iter().map(of);
    names
        .chain(left.execution.clone())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Budgets about calls of a tool, each with what is left of the counter of such a call.
pub(super) async fn about(
    session: &GatewaySession,
    policy: &Policy,
    (tool, class): (&ToolId, EffectClass),
    principal: &str,
) -> Result<Vec<BudgetLeft>, CommandError> {
    let requester = Requester::of_principal(principal);
    let about = policy.budgets.about(tool, class, &requester.names());
    if about.is_empty() {
        return Ok(Vec::new());
    }
    let all = session.gateway.budgets_left().await?;
    let mut left = Vec::new();
    for budget in about {
        let subject = budget.subject(principal, Some((tool, class)));
        let is_of = |one: &&BudgetLeft| one.budget.id == budget.id && one.execution.is_none();
        let mut used = all.iter().filter(is_of);
        let same = used.clone().filter(|one| {
            let shown = Value::Object(one.subject.clone()).to_string();
            shown == subject
        });
        let same: Vec<_> = same.cloned().collect();
        match (same.is_empty(), used.next()) {
            (false, _) => left.extend(same),
            // Nothing was used of this counter: what another shows is the limit.
            (true, Some(other)) => left.push(BudgetLeft {
                left: other.limit,
                subject: serde_json::from_str(&subject).unwrap_or_default(),
                ..other.clone()
            }),
            (true, None) => {}
        }
    }
    Ok(left)
}

/// What is odd about budgets, given the tools that are known: origin, id and finding.
pub(super) fn findings(policy: &Policy, catalog: &Catalog) -> Vec<(String, String, &'static str)> {
    let budgets = policy.budgets.all().iter();
    let odd = budgets.filter_map(|budget| {
        let finding = finding(budget, catalog)?;
        Some((budget.origin.clone(), budget.id.clone(), finding))
    });
    odd.collect()
}

fn finding(budget: &Budget, catalog: &Catalog) -> Option<&'static str> {
    if budget.tools.is_everything() {
        return None;
    }
    let reached = || {
        let servers = catalog.servers().map(|server| server.name());
        servers.filter(|server| budget.tools.reaches(server.as_str()))
    };
    if reached().next().is_none() {
        return Some("is about no server of the configuration");
    }
    let is_covered = catalog.tools().any(|tool| {
        let is_excepted = budget
            .except
            .as_ref()
            .is_some_and(|it| it.covers(tool.id()));
        budget.tools.covers(tool.id()) && !is_excepted
    });
    // The list of a server that was never started is not known.
    let all_listed = reached().all(|server| !catalog.tools_of(server).is_empty());
    let is_dead = !is_covered && all_listed && !super::rule_is_of_methods(&budget.tools);
    is_dead.then_some("matches no tool of its servers")
}
