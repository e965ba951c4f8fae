//! `limbeck executions`: list of recorded executions, and one execution with its calls.

use std::collections::{HashMap, HashSet};

use limbeck_domain::text::clean_line;
use limbeck_domain::{
    ArtifactId, CallError, CountBasis, EffectClass, Envelope, ExecutionStatus, HostOp, Sandbox,
    TokenUsage, ToolTarget,
};
use limbeck_gateway::{InnerCall, inner_calls, ledger};
use limbeck_store::{
    ExecutionRecord, ExecutionRow, LedgerRow, RemovedExecutions, Store, StoreError,
};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::ledger::{account_json, account_line};
use crate::cli::ExecutionsArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::format::{duration_text, grouped_digits, numbered_lines, utc_time};
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::report::{ProgramSource, print_error, print_value, sandbox_line};
use crate::table::{LastColumn, TextTable};
use crate::wiring;

/// Columns of a terminal from which all columns of the list have room.
const WIDE_COLUMNS: usize = 150;
/// Characters of a date and a time in hours and minutes.
const WITHOUT_SECONDS: usize = "2026-05-09 07:29".len();
/// Least characters of a shortened id.
const ID_CHARS_MIN: usize = 11;
/// Longest title of a program in the list, in characters.
const TITLE_CHARS: usize = 60;
/// Longest name of an unknown tool that is shown, in bytes.
const NAME_BYTES_MAX: usize = 200;

/// Prints the list, or one execution with its calls.
pub(super) async fn executions(
    invocation: &Invocation,
    arguments: &ExecutionsArgs,
) -> Result<ExitStatus, CommandError> {
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
    Ok(ExitStatus::Completed)
}

async fn list(
    printer: &Printer,
    store: &Store,
    arguments: &ExecutionsArgs,
) -> Result<(), CommandError> {
    let rows = store.executions(arguments.limit, None).await?;
    let removed = store.removed().await?;
    if arguments.json {
        return printer.json(&json!({"executions": rows, "removed": removed}));
    }
    for removed in &removed {
        printer.note(&removed_text(removed));
    }
    if rows.is_empty() {
        printer.note("no executions are recorded; run a program with `limbeck run FILE`");
        return Ok(());
    }
    if let Some(width) = printer.width().filter(|width| *width < WIDE_COLUMNS) {
        printer.data(&narrow_list(&rows).text_within(width));
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
    let mut table = TextTable::with_header(header)
        .right([3, 4, 5, 6, 7, 8])
        .last(LastColumn::CutEnd);
    let estimates = token_texts(store, &rows).await?;
    for row in &rows {
        let [tokens, direct] = estimates.get(row.id.as_str()).cloned().unwrap_or_default();
        table.row([
            row.id.to_string(),
            utc_time(row.created_us),
            status_text(row),
            row.took_us.map(duration_text).unwrap_or_default(),
            row.calls.to_string(),
            row.effects.reads.to_string(),
            row.effects.writes.to_string(),
            tokens,
            direct,
            shortened(&row.title),
        ]);
    }
    printer.table(&table);
    Ok(())
}

/// List for a terminal without room for all columns: short ids, times without seconds.
fn narrow_list(rows: &[ExecutionRow]) -> TextTable {
    let header = ["id", "when (UTC)", "status", "calls", "writes", "program"];
    let mut table = TextTable::with_header(header)
        .right([3, 4])
        .last(LastColumn::CutEnd);
    let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    let length = distinct_length(&ids);
    for row in rows {
        let when = utc_time(row.created_us);
        table.row([
            row.id.as_str().chars().take(length).collect(),
            when.chars().take(WITHOUT_SECONDS).collect(),
            status_text(row),
            row.calls.to_string(),
            row.effects.writes.to_string(),
            row.title.clone(),
        ]);
    }
    table
}

/// Number of characters by which all ids differ, with a few more for those that are not listed.
fn distinct_length(ids: &[&str]) -> usize {
    let longest = ids.iter().map(|id| id.len()).max().unwrap_or_default();
    let differ = |length: usize| {
        let beginnings: HashSet<&str> = ids.iter().filter_map(|id| id.get(..length)).collect();
        beginnings.len() == ids.len()
    };
    let length = (ID_CHARS_MIN..longest).find(|length| differ(*length));
    length.map_or(longest, |length| (length + 2).min(longest))
}

/// What retention removed of one principal on one day.
fn removed_text(removed: &RemovedExecutions) -> String {
    let RemovedExecutions {
        principal,
        executions,
        thinned,
        bytes,
        first_us,
        last_us,
    } = removed;
    let principal = clean_line(principal, NAME_BYTES_MAX);
    let (first, last) = (utc_time(*first_us), utc_time(*last_us));
    format!(
        "retention: {executions} executions of `{principal}` from {first} to {last} were removed and {thinned} \
         lost the results of their reads ({} bytes)",
        grouped_digits(*bytes)
    )
}

/// Tokens through Limbeck and with direct calls, by execution; an estimate begins with `~`.
async fn token_texts(
    store: &Store,
    rows: &[ExecutionRow],
) -> Result<HashMap<String, [String; 2]>, CommandError> {
    let Some(oldest) = rows.iter().map(|row| row.created_us).min() else {
        return Ok(HashMap::new());
    };
    let entry = |row: LedgerRow| {
        let account = row.usage_or_estimate();
        let tokens = [account.limbeck(), account.direct()].map(|tokens| match tokens.basis {
            CountBasis::Estimated => format!("~{}", grouped_digits(tokens.count)),
            CountBasis::Measured | CountBasis::Computed => grouped_digits(tokens.count),
        });
        (row.id, tokens)
    };
    let ledger = store.ledger(oldest).await?;
    Ok(ledger.into_iter().map(entry).collect())
}

/// Beginning of a title, so that a row fits on one line.
fn shortened(title: &str) -> String {
    if title.chars().count() <= TITLE_CHARS {
        return title.to_owned();
    }
    let kept: String = title.chars().take(TITLE_CHARS - 1).collect();
    format!("{}…", kept.trim_end())
}

fn status_text(row: &ExecutionRow) -> String {
    match (row.status, row.error) {
        // `failed` alone does not distinguish a wrong program from a limit.
        (ExecutionStatus::Failed, Some(kind)) => format!("failed: {}", kind.as_str()),
        (status, _) => status.as_str().to_owned(),
    }
}

/// Prints the whole value: as `run` does, or as the JSON text that the program returned.
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
) -> Result<(), CommandError> {
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
        let source = ProgramSource {
            name: "program",
            text: &record.start.program,
        };
        print_error(printer, error, source);
    }
    Ok(())
}

fn print_head(printer: &Printer, record: &ExecutionRecord, account: Option<&TokenUsage>) {
    let row = &record.row;
    let took = row
        .took_us
        .map(duration_text)
        .unwrap_or_else(|| "unknown".to_owned());
    let effects = format!("reads {}, writes {}", row.effects.reads, row.effects.writes);
    let mut table = TextTable::default();
    table.row(["id", row.id.as_str()]);
    table.row(["when", &format!("{} UTC", utc_time(row.created_us))]);
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
    printer.data_line(&format!("\n{}", numbered_lines(&record.start.program)));
}

fn print_calls(printer: &Printer, calls: &[InnerCall]) {
    if calls.is_empty() {
        printer.data_line("\nno calls");
        return;
    }
    let header = ["call", "what", "effect", "took", "sent", "got", "outcome"];
    let mut table = TextTable::with_header(header).right([0, 3, 4, 5]);
    for call in calls {
        table.row([
            call.call.id.to_string(),
            what(call),
            effect_text(call),
            call.took_us.map(duration_text).unwrap_or_default(),
            format!("{} B", grouped_digits(call.call.body.len() as u64)),
            got_text(call),
            outcome_text(call),
        ]);
    }
    printer.data_line(&format!("\n{}", table.text()));
}

/// Tool of a call, or the name that the program used when no such tool exists.
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

/// Effect of a call; none when it was not sent.
fn effect_text(call: &InnerCall) -> String {
    if call.sent {
        call.effect.as_str().to_owned()
    } else {
        "none".to_owned()
    }
}

fn got_text(call: &InnerCall) -> String {
    match &call.result {
        Some(Ok(text)) => format!("{} B", grouped_digits(text.len() as u64)),
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
        None if call.part_of.is_some() => "ok".to_owned(),
        // The call was sent and no outcome was recorded, so it may have taken effect.
        None if call.sent && call.effect.may_write() => "in doubt".to_owned(),
        None => "unanswered".to_owned(),
    }
}

/// JSON of `limbeck executions ID --json`.
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

/// JSON of one call, with `arguments` and `result` as they were sent.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    part_of: Option<&'a ArtifactId>,
}

impl<'a> ExecutionJson<'a> {
    fn new(
        record: &'a ExecutionRecord,
        calls: &'a [InnerCall],
        account: Option<&TokenUsage>,
    ) -> Self {
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
            part_of: call.part_of.as_ref(),
        }
    }
}

/// Text as JSON; `None` for arguments of a guest that are not JSON.
fn raw(text: &str) -> Option<&RawValue> {
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_ids_stay_distinct() {
        let ids = [
            "ex_01a202bd838872dbaa931",
            "ex_01a202bd838899dbaa931",
            "ex_02b202bd838872dbaa931",
        ];
        let length = distinct_length(&ids);
        assert_eq!(length, "ex_01a202bd838872d".len());
        assert_eq!(distinct_length(&["ex_1"]), 4);
        assert_eq!(distinct_length(&[]), 0);
        assert_eq!(
            distinct_length(&["ex_01a202bd838872dbaa931"]),
            ID_CHARS_MIN + 2
        );
    }
}
