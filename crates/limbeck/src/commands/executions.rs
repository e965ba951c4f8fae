//! `limbeck executions`: what ran, and what each execution asked for.

use std::collections::HashMap;

use limbeck_gateway::domain::text::clean_line;
use limbeck_gateway::domain::{
    Account, Basis, CallError, EffectClass, Envelope, ExecutionStatus, HostOp, Sandbox, ToolTarget,
};
use limbeck_gateway::store::{ExecutionRecord, ExecutionRow, LedgerRow, Store, StoreError};
use limbeck_gateway::{InnerCall, inner_calls, ledger};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;
use time::OffsetDateTime;
use time::macros::format_description;

use super::Invocation;
use super::ledger::{account_json, account_line};
use crate::cli::ExecutionsArgs;
use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use crate::report::{Source, print_error, print_value, sandbox_line};
use crate::table::{Table, duration, grouped};
use crate::wiring;

/// Characters shown of the line that stands for a program.
const TITLE_CHARS: usize = 60;
/// Bytes shown of a name that a program made up.
const NAME_BYTES_MAX: usize = 200;

/// Prints the list, or one execution with its calls.
pub(super) async fn executions(
    invocation: &Invocation,
    arguments: &ExecutionsArgs,
) -> Result<Exit, Failure> {
    let store = wiring::open_past(invocation).await?;
    let printer = &invocation.printer;
    match &arguments.id {
        None => list(printer, &store, arguments).await?,
        Some(id) => {
            let record = store.execution(id).await?;
            let record = record.ok_or_else(|| StoreError::UnknownExecution { id: id.clone() })?;
            if arguments.value {
                value(printer, &record, arguments.json);
            } else {
                one(printer, &store, &record, arguments.json).await?;
            }
        }
    }
    Ok(Exit::Completed)
}

async fn list(printer: &Printer, store: &Store, arguments: &ExecutionsArgs) -> Result<(), Failure> {
    let rows = store.executions(arguments.limit, None).await?;
    if arguments.json {
        return printer.json(&json!({"executions": rows}));
    }
    if rows.is_empty() {
        printer.note("no executions are recorded; `limbeck run FILE` makes one");
        return Ok(());
    }
    let header = [
        "id",
        "when (UTC)",
        "status",
        "took",
        "calls",
        "reads",
        "writes",
        "tokens",
        "direct",
        "program",
    ];
    let mut table = Table::with_header(header).right([3, 4, 5, 6, 7, 8]);
    let reckoned = reckoned(store, &rows).await?;
    for row in &rows {
        let [tokens, direct] = reckoned.get(row.id.as_str()).cloned().unwrap_or_default();
        table.row([
            row.id.to_string(),
            when(row.created_us),
            status_text(row),
            row.took_us.map(duration).unwrap_or_default(),
            row.calls.to_string(),
            row.effects.reads.to_string(),
            row.effects.writes.to_string(),
            tokens,
            direct,
            shortened(&row.title),
        ]);
    }
    printer.data(&table.text());
    Ok(())
}

/// Tokens through Limbeck and with direct calls, by execution; `~` stands before what was not counted so far.
async fn reckoned(
    store: &Store,
    rows: &[ExecutionRow],
) -> Result<HashMap<String, [String; 2]>, Failure> {
    let Some(oldest) = rows.iter().map(|row| row.created_us).min() else {
        return Ok(HashMap::new());
    };
    let reckoned = |row: LedgerRow| {
        let account = row.reckoned();
        let tokens = [account.limbeck(), account.direct()].map(|tokens| match tokens.basis {
            Basis::Estimated => format!("~{}", grouped(tokens.count)),
            Basis::Measured | Basis::Computed => grouped(tokens.count),
        });
        (row.id, tokens)
    };
    let ledger = store.ledger(oldest).await?;
    Ok(ledger.into_iter().map(reckoned).collect())
}

/// The beginning of a title, so that a row stays a line.
fn shortened(title: &str) -> String {
    if title.chars().count() <= TITLE_CHARS {
        return title.to_owned();
    }
    let kept: String = title.chars().take(TITLE_CHARS - 1).collect();
    format!("{}…", kept.trim_end())
}

fn status_text(row: &ExecutionRow) -> String {
    match (row.status, row.error) {
        (ExecutionStatus::Failed, Some(kind)) => format!("failed: {}", kind.as_str()),
        (status, _) => status.as_str().to_owned(),
    }
}

/// `2026-05-09 07:29:33`; the time of another epoch when the clock was that wrong.
pub(super) fn when(us: u64) -> String {
    let format = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(us) * 1_000)
        .ok()
        .and_then(|time| time.format(format).ok())
        .unwrap_or_else(|| format!("{us} µs"))
}

/// The whole value: for people as `run` prints it, as JSON in the bytes the program gave.
fn value(printer: &Printer, record: &ExecutionRecord, as_json: bool) {
    let envelope = record.envelope.as_ref();
    match envelope.and_then(|envelope| envelope.value.as_ref()) {
        Some(value) if as_json => printer.data_line(value.get()),
        Some(value) => print_value(printer, value.get()),
        None => printer.note(&format!(
            "execution `{}` is {} and returned no value",
            record.row.id,
            record.row.status.as_str()
        )),
    }
}

async fn one(
    printer: &Printer,
    store: &Store,
    record: &ExecutionRecord,
    as_json: bool,
) -> Result<(), Failure> {
    let calls = inner_calls(&store.journal(&record.row.id).await?);
    let account = ledger::entry(store, &record.row.id).await?;
    if as_json {
        return printer.json(&ExecutionJson::new(record, &calls, account.as_ref()));
    }
    print_head(printer, record, account.as_ref());
    print_calls(printer, &calls);
    let error = record
        .envelope
        .as_ref()
        .and_then(|envelope| envelope.error.as_ref());
    if let Some(error) = error {
        let source = Source {
            name: "program",
            text: &record.start.program,
        };
        print_error(printer, error, source);
    }
    Ok(())
}

fn print_head(printer: &Printer, record: &ExecutionRecord, account: Option<&Account>) {
    let row = &record.row;
    let took = row
        .took_us
        .map(duration)
        .unwrap_or_else(|| "unknown".to_owned());
    let effects = format!("reads {}, writes {}", row.effects.reads, row.effects.writes);
    let mut table = Table::default();
    table.row(["id", row.id.as_str()]);
    table.row(["when", &format!("{} UTC", when(row.created_us))]);
    table.row(["status", &status_text(row)]);
    table.row(["took", &took]);
    table.row(["effects", &effects]);
    if let Some(account) = account {
        table.row(["tokens", &account_line(account)]);
    }
    table.row(["asked by", &format!("{}, {}", row.principal, row.origin)]);
    table.row(["guest", &record.guest_hash]);
    if let Some(sandbox) = &record.sandbox {
        table.row(["sandbox", &sandbox_line(sandbox)]);
    }
    printer.data(&table.text());
    printer.data_line(&format!("\n{}", numbered(&record.start.program)));
}

/// A program with its line numbers, which errors name.
pub(crate) fn numbered(program: &str) -> String {
    let lines: Vec<&str> = program.lines().collect();
    let width = lines.len().to_string().len();
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        let line = format!("{:>width$} | {line}", index + 1);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn print_calls(printer: &Printer, calls: &[InnerCall]) {
    if calls.is_empty() {
        printer.data_line("\nno calls");
        return;
    }
    let header = ["call", "what", "effect", "took", "sent", "got", "outcome"];
    let mut table = Table::with_header(header).right([0, 3, 4, 5]);
    for call in calls {
        table.row([
            call.call.id.to_string(),
            what(call),
            effect_text(call),
            call.took_us.map(duration).unwrap_or_default(),
            format!("{} B", grouped(call.call.body.len() as u64)),
            got_text(call),
            outcome_text(call),
        ]);
    }
    printer.data_line(&format!("\n{}", table.text()));
}

/// What was called: the tool it resolved to, or the name the program gave one that is not there.
fn what(call: &InnerCall) -> String {
    if call.tool.is_some() || call.call.op != HostOp::Tool {
        return call.label();
    }
    match serde_json::from_str::<ToolTarget>(&call.call.head) {
        Ok(ToolTarget {
            server: Some(server),
            tool,
            ..
        }) => clean_line(&format!("{server}.{tool}"), NAME_BYTES_MAX),
        Ok(ToolTarget { tool, .. }) => clean_line(&tool, NAME_BYTES_MAX),
        Err(_) => call.label(),
    }
}

/// What a call may have done; one that did not leave did nothing.
fn effect_text(call: &InnerCall) -> String {
    if call.sent {
        call.effect.as_str().to_owned()
    } else {
        "none".to_owned()
    }
}

fn got_text(call: &InnerCall) -> String {
    match &call.result {
        Some(Ok(text)) => format!("{} B", grouped(text.len() as u64)),
        Some(Err(_)) | None => String::new(),
    }
}

fn outcome_text(call: &InnerCall) -> String {
    match &call.result {
        Some(Ok(_)) => "ok".to_owned(),
        Some(Err(error)) => {
            let message = error.message.lines().next().unwrap_or_default();
            format!("{}: {message}", error.code.as_str())
        }
        None if call.sent && call.effect.may_write() => "in doubt".to_owned(),
        None => "unanswered".to_owned(),
    }
}

/// `executions ID --json`.
#[derive(Serialize)]
struct ExecutionJson<'a> {
    #[serde(flatten)]
    row: &'a ExecutionRow,
    guest_hash: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<&'a Sandbox>,
    program: &'a str,
    input: &'a RawValue,
    wall_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    envelope: Option<&'a Envelope>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<serde_json::Value>,
    inner_calls: Vec<InnerCallJson<'a>>,
}

/// One call of it; `arguments` and `result` are JSON as it passed.
#[derive(Serialize)]
struct InnerCallJson<'a> {
    id: u32,
    op: &'static str,
    call: String,
    effect: EffectClass,
    sent: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    took_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a CallError>,
}

impl<'a> ExecutionJson<'a> {
    fn new(record: &'a ExecutionRecord, calls: &'a [InnerCall], account: Option<&Account>) -> Self {
        Self {
            row: &record.row,
            guest_hash: &record.guest_hash,
            sandbox: record.sandbox.as_ref(),
            program: &record.start.program,
            input: raw(&record.start.input).unwrap_or(RawValue::NULL),
            wall_ms: record.start.limits.wall_ms,
            envelope: record.envelope.as_ref(),
            tokens: account.map(account_json),
            inner_calls: calls.iter().map(InnerCallJson::new).collect(),
        }
    }
}

impl<'a> InnerCallJson<'a> {
    fn new(call: &'a InnerCall) -> Self {
        let result = call.result.as_ref();
        Self {
            id: call.call.id.0,
            op: call.call.op.as_str(),
            call: what(call),
            effect: call.effect,
            sent: call.sent,
            took_us: call.took_us,
            arguments: raw(&call.call.body),
            result: result.and_then(|result| raw(result.as_ref().ok()?)),
            error: result.and_then(|result| result.as_ref().err()),
        }
    }
}

/// Text as JSON; a guest may have sent arguments that are none.
fn raw(text: &str) -> Option<&RawValue> {
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_utc_and_a_broken_clock_does_not_panic() {
        assert_eq!(when(1_778_311_773_000_000), "2026-05-09 07:29:33");
        assert_eq!(when(u64::MAX), format!("{} µs", u64::MAX));
    }

    #[test]
    fn a_program_is_numbered_from_one_with_aligned_numbers() {
        let program = "a\n\n".repeat(5);
        let text = numbered(&program);
        assert!(text.starts_with(" 1 | a\n 2 |\n"));
        assert!(text.ends_with("10 |\n"));
    }
}
