//! `limbeck audit`: the records of what programs, people and the gateway did.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use limbeck_domain::ExecutionId;
use limbeck_domain::text::clean_line;
use limbeck_store::{
    AuditCheck, AuditErasure, AuditFilter, ExtractChain, ExtractCheck, KnownCheckpoints, Store,
    check_extract,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::audit_key::VerifierKey;
use crate::cli::{AuditCommand, AuditEraseArgs, AuditExportArgs, AuditTailArgs, AuditVerifyArgs};
use crate::exit::{CommandError, ExitStatus};
use crate::format::{counted, grouped_digits};
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::table::TextTable;
use crate::wiring;

/// Records that are read at once.
const PAGE: u32 = 1_000;
/// Longest text of a cell, in bytes.
const CELL_BYTES_MAX: usize = 120;

/// Prints records or checks them.
pub(super) async fn audit(
    invocation: &Invocation,
    command: &AuditCommand,
) -> Result<ExitStatus, CommandError> {
    match command {
        AuditCommand::Tail(arguments) => tail(invocation, arguments).await,
        AuditCommand::Verify(arguments) => verify(invocation, arguments).await,
        AuditCommand::Export(arguments) => export(invocation, arguments).await,
        AuditCommand::Erase(arguments) => erase(invocation, arguments).await,
    }
}

async fn tail(
    invocation: &Invocation,
    arguments: &AuditTailArgs,
) -> Result<ExitStatus, CommandError> {
    let store = wiring::open_past(invocation).await?;
    let execution = match &arguments.execution {
        Some(id) => Some(known(&store, id).await?),
        None => None,
    };
    let filter = AuditFilter {
        execution,
        newest: true,
        limit: arguments.lines,
        ..AuditFilter::default()
    };
    let records = store.audit(&filter).await?;
    let printer = &invocation.printer;
    if arguments.json {
        records.iter().for_each(|record| printer.exact_line(record));
        return Ok(ExitStatus::Completed);
    }
    if records.is_empty() {
        printer.note("there are no records; the first execution makes some");
        return Ok(ExitStatus::Completed);
    }
    print(printer, &records);
    Ok(ExitStatus::Completed)
}

/// The id of an execution that is named by its beginning. One that is removed already may still have records.
async fn known(store: &Store, id: &str) -> Result<ExecutionId, CommandError> {
    Ok(match store.execution(id).await? {
        Some(execution) => execution.row.id,
        None => ExecutionId::new(id),
    })
}

fn print(printer: &Printer, records: &[String]) {
    let mut table =
        TextTable::with_header(["seq", "time", "event", "principal", "what"]).right([0]);
    for record in records {
        let record: Value = serde_json::from_str(record).unwrap_or_default();
        let text = |key: &str| match &record[key] {
            Value::String(text) => clean_line(text, CELL_BYTES_MAX),
            Value::Null => String::new(),
            other => clean_line(&other.to_string(), CELL_BYTES_MAX),
        };
        let time = record["time_us"].as_u64().unwrap_or(0);
        table.row([
            text("seq"),
            printer.time(time),
            text("event"),
            text("principal"),
            what(&text),
        ]);
    }
    printer.table(&table);
}

/// The tool, the decision and the end of a record, and of which execution it is.
fn what(text: &impl Fn(&str) -> String) -> String {
    let tool = match (text("server"), text("tool")) {
        (server, tool) if !server.is_empty() => format!("{server}.{tool}"),
        _ => String::new(),
    };
    let call = match text("call") {
        number if !number.is_empty() => format!("#{number}"),
        _ => String::new(),
    };
    // That of a call is always `tool`.
    let operation = match tool.is_empty() {
        true => text("operation"),
        false => String::new(),
    };
    let parts = [
        call,
        tool,
        operation,
        text("class"),
        text("decision"),
        text("approver"),
        text("status"),
        text("code"),
        text("execution"),
    ];
    let parts = parts.iter().filter(|part| !part.is_empty());
    parts.map(String::as_str).collect::<Vec<_>>().join(" ")
}

async fn verify(
    invocation: &Invocation,
    arguments: &AuditVerifyArgs,
) -> Result<ExitStatus, CommandError> {
    let printer = &invocation.printer;
    let Some(path) = &arguments.file else {
        let checkpoints = match (&arguments.anchor, &arguments.key) {
            (Some(anchor), _) => Some(anchor.clone()),
            (None, Some(_)) => Some(notes_file(invocation)?),
            (None, None) => None,
        };
        let known = checkpoints_in(checkpoints.as_deref(), arguments.key.as_deref());
        // Before the store is opened, which may write one.
        let known = known.map_err(CommandError::usage)?;
        let store = wiring::open_past(invocation).await?;
        let checked = printer
            .reporting("checking the audit trail", store.check_audit_with(known))
            .await?;
        if arguments.json {
            printer.json(&checked)?;
        } else {
            report(printer, &checked);
        }
        return Ok(ending(checked.ok));
    };
    let read = File::open(path)
        .and_then(|file| check_extract(BufReader::new(file)))
        .with_context(|| format!("read `{}`", path.display()));
    let mut checked = read.map_err(CommandError::usage)?;
    let unexpected = unexpected(&checked, arguments);
    checked.check.ok &= unexpected.is_empty();
    if arguments.json {
        let found = CheckedExtract {
            checked: &checked,
            unexpected: &unexpected,
        };
        printer.json(&found)?;
        return Ok(ending(checked.check.ok));
    }
    if unexpected.is_empty() || checked.check.first_bad.is_some() {
        report(printer, &checked.check);
    }
    for chain in &checked.chains {
        let principal = clean_line(&chain.principal, CELL_BYTES_MAX);
        let records = counted(chain.records as usize, "record");
        let ExtractChain { from, to, last, .. } = chain;
        printer.data_line(&format!(
            "{principal}: {records}, {from}..{to}, last {last}"
        ));
    }
    for difference in &unexpected {
        printer.error(difference);
    }
    if !unexpected.is_empty() {
        printer.hint("records were cut off, or it is another extract: compare it with an export that you keep elsewhere");
    }
    Ok(ending(checked.check.ok))
}

/// File of the checkpoints beside the state file.
fn notes_file(invocation: &Invocation) -> Result<PathBuf, CommandError> {
    let Some(path) = wiring::state_file(invocation) else {
        let error = anyhow!("the state directory is unknown");
        return Err(CommandError::usage(error).with_hint("set one with `--state-dir DIR`"));
    };
    Ok(limbeck_store::notes_file(&path))
}

/// Reads checkpoints; none where no file is named. Without a key their signatures are not checked.
fn checkpoints_in(file: Option<&Path>, key: Option<&Path>) -> anyhow::Result<KnownCheckpoints> {
    let mut known = KnownCheckpoints::default();
    let Some(file) = file else {
        return Ok(known);
    };
    let key = key.map(VerifierKey::read).transpose()?;
    let verifies = |text: &str, signature: &str| match &key {
        Some(key) => key.verifies(text, signature),
        None => true,
    };
    let read = known.read(file, &verifies);
    read.with_context(|| format!("read checkpoints in `{}`", file.display()))?;
    if known.is_empty() && !known.has_bad() {
        bail!("`{}` has no checkpoint", file.display());
    }
    Ok(known)
}

async fn erase(
    invocation: &Invocation,
    arguments: &AuditEraseArgs,
) -> Result<ExitStatus, CommandError> {
    let store = wiring::open_past(invocation).await?;
    let execution = match &arguments.execution {
        Some(id) => Some(known(&store, id).await?),
        None => None,
    };
    let erased = store.erase_audit(AuditErasure {
        principal: arguments.principal.clone(),
        execution,
        before: arguments.before,
    });
    let erased = erased.await?;
    let printer = &invocation.printer;
    if arguments.json {
        printer.json(&json!({"erased": erased}))?;
    } else {
        let records = counted(usize::try_from(erased).unwrap_or(usize::MAX), "record");
        printer.note(&format!(
            "what {records} committed to is erased; the records stay and still verify"
        ));
    }
    Ok(ExitStatus::Completed)
}

/// What `verify FILE --json` prints.
#[derive(Serialize)]
struct CheckedExtract<'a> {
    #[serde(flatten)]
    checked: &'a ExtractCheck,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    unexpected: &'a [String],
}

fn ending(ok: bool) -> ExitStatus {
    match ok {
        true => ExitStatus::Completed,
        false => ExitStatus::Failed,
    }
}

/// Where the ends of an extract are not those that the user expects, as sentences.
fn unexpected(checked: &ExtractCheck, arguments: &AuditVerifyArgs) -> Vec<String> {
    let mut unexpected = Vec::new();
    if let Some((from, to)) = arguments.expect_seq
        && checked.range() != Some((from, to))
    {
        let found = match checked.range() {
            Some((from, to)) => format!("the records are {from}..{to}"),
            None => "there are no records".to_owned(),
        };
        unexpected.push(format!("{found}, not {from}..{to}"));
    }
    let expected = &arguments.expect_last;
    if expected.is_empty() {
        return unexpected;
    }
    for hash in expected {
        if !checked.chains.iter().any(|chain| chain.last == *hash) {
            let hash = clean_line(hash, CELL_BYTES_MAX);
            unexpected.push(format!("no last record has the hash {hash}"));
        }
    }
    for chain in &checked.chains {
        if !expected.contains(&chain.last) {
            let principal = clean_line(&chain.principal, CELL_BYTES_MAX);
            unexpected.push(format!(
                "the last record of {principal} has a hash that is not expected"
            ));
        }
    }
    unexpected
}

fn report(printer: &Printer, checked: &AuditCheck) {
    let records = counted(checked.records as usize, "record");
    match checked.first_bad {
        None => printer.data_line(&format!("{records}: each is as it was written")),
        Some(fault) => {
            printer.error(&format!(
                "record {} is {}",
                grouped_digits(fault.seq),
                fault.kind.as_str()
            ));
            printer.hint("the records before it are as they were written; compare with an export that you keep elsewhere");
        }
    }
    if let (None, Some(signed)) = (checked.first_bad, checked.signed) {
        printer.note(&format!(
            "the newest checkpoint is of record {}",
            grouped_digits(signed)
        ));
    }
    if let Some(first) = checked.first {
        printer.note(&format!(
            "the oldest record that is kept is {}",
            grouped_digits(first)
        ));
    }
}

async fn export(
    invocation: &Invocation,
    arguments: &AuditExportArgs,
) -> Result<ExitStatus, CommandError> {
    let store = wiring::open_past(invocation).await?;
    let mut filter = AuditFilter {
        after: arguments.after,
        principal: arguments.principal.clone(),
        limit: PAGE,
        ..AuditFilter::default()
    };
    loop {
        let records = store.audit(&filter).await?;
        for record in &records {
            invocation.printer.exact_line(record);
        }
        let last = records.last().and_then(|record| {
            let record: Value = serde_json::from_str(record).ok()?;
            record["seq"].as_u64()
        });
        match last {
            Some(last) if last > filter.after => filter.after = last,
            _ => return Ok(ExitStatus::Completed),
        }
    }
}
