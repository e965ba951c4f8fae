//! `limbeck approvals remembered` and `limbeck approvals forget`: answers that count for more calls than one.

use anyhow::anyhow;
use limbeck_domain::text::clean_line;
use limbeck_domain::{ApprovalId, Remembered};
use limbeck_gateway::{Gateway, remember_covers};
use serde_json::{Value, json};

use super::approvals::call_text;
use super::questions::decider;
use crate::cli::RememberedCommand;
use crate::exit::CommandError;
use crate::printer::Printer;
use crate::table::{LastColumn, TextTable};

/// Longest text about what is covered, in bytes.
const COVERED_BYTES_MAX: usize = 2_000;
/// Longest id in a message, in bytes.
const ID_BYTES_MAX: usize = 80;

pub(super) async fn remembered(
    printer: &Printer,
    gateway: &Gateway,
    command: &RememberedCommand,
) -> Result<(), CommandError> {
    match command {
        RememberedCommand::Remembered { json } => list(printer, gateway, *json).await,
        RememberedCommand::Forget { ids } => forget(printer, gateway, ids).await,
    }
}

async fn list(printer: &Printer, gateway: &Gateway, as_json: bool) -> Result<(), CommandError> {
    let all = gateway.remembered(None).await?;
    if as_json {
        let remembered: Vec<Value> = all.iter().map(view).collect();
        return printer.json(&json!({ "remembered": remembered }));
    }
    if all.is_empty() {
        printer.note("no answer is remembered");
        return Ok(());
    }
    let zone = printer.zone();
    let expires = format!("expires ({})", zone.name());
    let header = ["id", "for", &expires, "by", "call", "with"];
    let mut table = TextTable::with_header(header).last(LastColumn::CutEnd);
    for one in &all {
        let decisions = one.approval.decisions.iter().filter(|it| it.approve);
        let by: Vec<&str> = decisions.map(|it| it.by.as_str()).collect();
        table.row([
            one.id.clone(),
            lasts(one),
            zone.time(one.expires_us),
            clean_line(&by.join(", "), ID_BYTES_MAX),
            call_text(&one.approval),
            covered(one),
        ]);
    }
    printer.table(&table);
    printer.hint("`limbeck approvals forget ID` makes such calls be asked about again");
    Ok(())
}

/// How long, and for how many more calls.
fn lasts(one: &Remembered) -> String {
    let left = one.left.map(|left| format!(", {left} more"));
    let run = one.run().map(|run| format!(" {run}"));
    let until = one.choice.until;
    format!(
        "{until}{}{}",
        run.unwrap_or_default(),
        left.unwrap_or_default()
    )
}

/// The arguments that are the same, with their values, and the names of the others.
fn covered(one: &Remembered) -> String {
    let Some(offer) = &one.approval.terms.offer else {
        return String::new();
    };
    let names = remember_covers(&offer.same, &offer.any);
    let values = clean_line(&one.approval.arguments, COVERED_BYTES_MAX);
    format!("{names}: {values}")
}

fn view(one: &Remembered) -> Value {
    let offer = one.approval.terms.offer.as_deref();
    let decisions = one.approval.decisions.iter().filter(|it| it.approve);
    json!({
        "id": one.id,
        "until": one.choice.until,
        "execution_id": one.run(),
        "left": one.left,
        "principal": one.approval.principal,
        "server": one.approval.tool.server,
        "tool": one.approval.tool.tool,
        "class": one.approval.class,
        "rule": one.approval.rule,
        "preset": one.approval.preset,
        "same": offer.map(|offer| &offer.same),
        "any": offer.map(|offer| &offer.any),
        "arguments": serde_json::from_str::<Value>(&one.approval.arguments).ok(),
        "by": decisions.map(|it| it.by.as_str()).collect::<Vec<_>>(),
        "expires_us": one.expires_us,
    })
}

async fn forget(printer: &Printer, gateway: &Gateway, ids: &[String]) -> Result<(), CommandError> {
    let all = gateway.remembered(None).await?;
    let mut found = Vec::new();
    for id in ids {
        let shown = clean_line(id, ID_BYTES_MAX);
        if id.starts_with("ap_") {
            let denied = ApprovalId::new(id.as_str());
            if gateway.forget_denial(&denied, &decider()).await? {
                printer.note(&format!("the denial with `{shown}` is forgotten"));
            } else {
                printer.note(&format!("no denial with `{shown}` counts any more"));
            }
            continue;
        }
        let mut named = all
            .iter()
            .filter(|one| !id.is_empty() && one.id.starts_with(id));
        match (named.next(), named.next()) {
            (Some(one), None) => found.push(one),
            (Some(_), Some(_)) => {
                let error = anyhow!("`{shown}` is the beginning of several ids");
                return Err(CommandError::usage(error).with_hint("write more of the id"));
            }
            (None, _) => {
                let error = anyhow!("no remembered answer has the id `{shown}`");
                let hint = "`limbeck approvals remembered` lists them";
                return Err(CommandError::usage(error).with_hint(hint));
            }
        }
    }
    for one in found {
        gateway.forget(&one.id, &decider()).await?;
        printer.note(&format!("`{}` is forgotten", one.id));
    }
    Ok(())
}
