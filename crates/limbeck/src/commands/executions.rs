//! `limbeck executions`: list of recorded executions, and one execution with its calls.

mod list;

use std::collections::HashMap;

use limbeck_domain::text::clean_line;
use limbeck_domain::{
    ArtifactId, CallError, EffectClass, Envelope, ExecutionStatus, HostOp, RemovedText, Sandbox,
    TokenUsage, ToolTarget,
};
use limbeck_gateway::direct::called_tool;
use limbeck_gateway::{InnerCall, inner_calls, ledger};
use limbeck_store::{ApprovalFilter, ExecutionRecord, ExecutionRow, Store, StoreError};
use serde::Serialize;
use serde_json::value::RawValue;

use self::list::RowJson;
use super::ledger::{account_json, account_line};
use crate::cli::ExecutionsArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::format::{counted, duration_text, grouped_digits, numbered_lines};
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::report::{ProgramSource, print_error, print_value, sandbox_line};
use crate::table::{TextTable, Tone};
use crate::wiring;

/// Longest name of an unknown tool that is shown, in bytes.
const NAME_BYTES_MAX: usize = 200;
/// Questions of one execution that are counted.
const QUESTIONS_COUNTED_MAX: u32 = 1_000;

/// Prints the list, or one execution with its calls.
pub(super) async fn executions(
    invocation: &Invocation,
    arguments: &ExecutionsArgs,
) -> Result<ExitStatus, CommandError> {
    let store = wiring::open_past(invocation).await?;
    let printer = &invocation.printer;
    match &arguments.id {
        None => list::list(printer, &store, arguments).await?,
        Some(id) => {
            let record = store.execution(id).await?;
            let record = record.ok_or_else(|| StoreError::UnknownExecution { id: id.clone() })?;
            if arguments.value {
                return Ok(value(printer, &record, arguments.json));
            }
            one(printer, &store, &record, arguments.json).await?;
        }
    }
    Ok(ExitStatus::Completed)
}

/// Principal, and the way its request came.
fn asked_by(row: &ExecutionRow) -> String {
    clean_line(
        &format!("{}, {}", row.principal, row.origin),
        NAME_BYTES_MAX,
    )
}

/// What a client's direct call called; `None` for a program.
fn direct_call(origin: &str, program: &str) -> Option<String> {
    let tool = called_tool(origin, program)?;
    let name = clean_line(&tool.to_string(), NAME_BYTES_MAX);
    Some(format!("direct call of {name}"))
}

/// Tone of a status as [`status_text`] writes it.
fn status_tone(status: &str) -> Tone {
    match status.split(':').next().unwrap_or_default() {
        "completed" => Tone::Good,
        "failed" => Tone::Bad,
        "cancelled" | "needs_reconciliation" | "paused" => Tone::Attention,
        _ => Tone::Plain,
    }
}

/// Status of an execution; `waiting` are the questions that wait, by execution.
fn status_text(row: &ExecutionRow, waiting: &Waiting) -> String {
    match (row.status, row.error) {
        // `failed` alone does not distinguish a wrong program from a limit.
        (ExecutionStatus::Failed, Some(kind)) => format!("failed: {}", kind.as_str()),
        (ExecutionStatus::Paused, _) => match waiting.get(row.id.as_str()) {
            Some(count) => format!("paused: {}", counted(*count, "question")),
            None => "paused: interrupted".to_owned(),
        },
        (status, _) => status.as_str().to_owned(),
    }
}

/// Numbers of the questions that wait, by execution.
type Waiting = HashMap<String, usize>;

/// Counts the questions that wait for the paused executions among `rows`.
async fn waiting(store: &Store, rows: &[&ExecutionRow]) -> Result<Waiting, CommandError> {
    let mut waiting = Waiting::new();
    let paused = rows
        .iter()
        .filter(|row| row.status == ExecutionStatus::Paused);
    for row in paused {
        let filter = ApprovalFilter {
            execution: Some(row.id.clone()),
            only_pending: true,
            limit: QUESTIONS_COUNTED_MAX,
            ..ApprovalFilter::default()
        };
        let pending = store.approvals(filter).await?.len();
        if pending > 0 {
            waiting.insert(row.id.to_string(), pending);
        }
    }
    Ok(waiting)
}

/// Prints the whole value: as `run` does, or as the JSON text that the program returned. An execution that did not complete
/// has none, so that a script which reads it fails.
fn value(printer: &Printer, record: &ExecutionRecord, as_json: bool) -> ExitStatus {
    let envelope = record.envelope.as_ref();
    match envelope.and_then(|envelope| envelope.value.as_ref()) {
        Some(value) if as_json => printer.data_line(value.get()),
        Some(value) => print_value(printer, value.get()),
        None => {
            printer.note(&format!(
                "execution `{}` returned no value; its status is `{}`",
                record.row.id,
                record.row.status.as_str()
            ));
            if record.row.status != ExecutionStatus::Completed {
                return ExitStatus::Failed;
            }
        }
    }
    ExitStatus::Completed
}

async fn one(
    printer: &Printer,
    store: &Store,
    record: &ExecutionRecord,
    as_json: bool,
) -> Result<(), CommandError> {
    let calls = inner_calls(&store.journal(&record.row.id).await?);
    let account = ledger::entry(store, &record.row.id).await?;
    let waiting = waiting(store, &[&record.row]).await?;
    if as_json {
        let json = ExecutionJson::new(record, &calls, account.as_ref(), &waiting);
        return printer.json(&json);
    }
    print_head(printer, record, &calls, account.as_ref(), &waiting);
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

fn print_head(
    printer: &Printer,
    record: &ExecutionRecord,
    calls: &[InnerCall],
    account: Option<&TokenUsage>,
    waiting: &Waiting,
) {
    let row = &record.row;
    let took = row
        .took_us
        .map(duration_text)
        .unwrap_or_else(|| "unknown".to_owned());
    let effects = format!("reads {}, writes {}", row.effects.reads, row.effects.writes);
    let mut table = TextTable::default().tones(1, status_tone);
    table.row(["id", row.id.as_str()]);
    table.row(["when", &printer.time(row.created_us)]);
    table.row(["status", &status_text(row, waiting)]);
    table.row(["took", &took]);
    table.row(["effects", &effects]);
    if let Some(account) = account {
        table.row(["tokens", &account_line(account)]);
    }
    table.row(["asked by", &asked_by(row)]);
    table.row(["guest", &record.guest_hash]);
    let program = &record.start.program;
    let direct_call = direct_call(&row.origin, program);
    if direct_call.is_some() {
        table.row(["sandbox", "none: a direct call"]);
    } else if let Some(sandbox) = &record.sandbox {
        table.row(["sandbox", &sandbox_line(sandbox)]);
    }
    printer.table(&table);
    match direct_call {
        // The program was made for the record; what the client sent are the arguments.
        Some(call) => {
            let removed = calls
                .iter()
                .find_map(|call| call.arguments_removed.as_ref());
            if let Some(RemovedText { bytes, sha256 }) = removed {
                printer.data_line(&format!(
                    "\n{call}; its arguments were removed to save space: {bytes} bytes, SHA-256 {sha256}"
                ));
            } else {
                printer.data_line(&format!("\n{call} with the arguments"));
                print_value(printer, &record.start.input);
            }
        }
        None => printer.data_line(&format!("\n{}", numbered_lines(program))),
    }
}

fn print_calls(printer: &Printer, calls: &[InnerCall]) {
    if calls.is_empty() {
        printer.data_line("\nno calls");
        return;
    }
    let header = ["call", "what", "effect", "took", "sent", "got", "outcome"];
    let mut table = TextTable::with_header(header)
        .right([0, 3, 4, 5])
        .tones(6, outcome_tone);
    for call in calls {
        table.row([
            call.call.id.to_string(),
            what(call),
            effect_text(call),
            call.took_us.map(duration_text).unwrap_or_default(),
            sent_text(call),
            got_text(call),
            outcome_text(call),
        ]);
    }
    printer.data("\n");
    printer.table(&table);
}

/// Tone of an outcome as [`outcome_text`] writes it.
fn outcome_tone(outcome: &str) -> Tone {
    match outcome {
        "ok" => Tone::Good,
        "in doubt" | "unanswered" => Tone::Attention,
        _ => Tone::Bad,
    }
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

/// Size of the arguments of a call, also where they were removed.
fn sent_text(call: &InnerCall) -> String {
    let removed = call.arguments_removed.as_ref();
    let bytes = removed.map_or(call.call.body.len(), |removed| removed.bytes);
    format!("{} B", grouped_digits(bytes as u64))
}

fn got_text(call: &InnerCall) -> String {
    match &call.result {
        Some(Ok(text)) => format!("{} B", grouped_digits(text.len() as u64)),
        Some(Err(_)) => String::new(),
        None => match &call.removed {
            Some(removed) => format!("{} B", grouped_digits(removed.bytes as u64)),
            None => String::new(),
        },
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
        None if call.removed.is_some() => "ok (the result was removed to save space)".to_owned(),
        // The call was sent and no outcome was recorded, so it may have taken effect.
        None if call.sent && call.effect.may_write() => "in doubt".to_owned(),
        None => "unanswered".to_owned(),
    }
}

/// JSON of `limbeck executions ID --json`.
#[derive(Serialize)]
struct ExecutionJson<'a> {
    #[serde(flatten)]
    row: RowJson<'a>,
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
    arguments_removed: Option<&'a RemovedText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a CallError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part_of: Option<&'a ArtifactId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    removed: Option<&'a RemovedText>,
}

impl<'a> ExecutionJson<'a> {
    fn new(
        record: &'a ExecutionRecord,
        calls: &'a [InnerCall],
        account: Option<&TokenUsage>,
        waiting: &Waiting,
    ) -> Self {
        Self {
            row: RowJson::new(&record.row, waiting),
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
            arguments_removed: call.arguments_removed.as_ref(),
            result: result.and_then(|result| raw(result.as_ref().ok()?)),
            error: result.and_then(|result| result.as_ref().err()),
            part_of: call.part_of.as_ref(),
            removed: call.removed.as_ref(),
        }
    }
}

/// Text as JSON; `None` for arguments of a guest that are not JSON.
fn raw(text: &str) -> Option<&RawValue> {
    serde_json::from_str(text).ok()
}
