//! Parser of files with recorded results.
//!
//! A record is `{"server", "tool", "result"}`; `result` is a `CallToolResult` or the value that a program received. A
//! file contains one record, a list of records, one record a line, or the output of `limbeck executions ID --json`.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use limbeck_domain::limits::RECORDED_FILE_BYTES_MAX;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::exit::CommandError;

/// Hint with the accepted forms.
const FORMS: &str = "use records of `{\"server\", \"tool\", \"result\"}`, one a line or in a list, or the output of `limbeck executions ID --json`";
/// Reason to skip JSON that is not a record.
const NO_RECORD: &str = "the record has no `tool` and `result`";

/// One recorded result.
#[derive(Debug)]
pub(super) struct RecordedResult {
    pub(super) server: Option<String>,
    pub(super) tool: String,
    /// `server.tool`, where a record names both in one text.
    pub(super) full_name: Option<String>,
    /// Result, or the reason to skip the record.
    pub(super) result: Result<Box<RawValue>, String>,
    /// File, and line or item number.
    pub(super) place: String,
}

impl RecordedResult {
    fn is_not_a_record(&self) -> bool {
        matches!(&self.result, Err(problem) if problem == NO_RECORD)
    }
}

#[derive(Deserialize)]
struct RecordForm<'a> {
    #[serde(default)]
    server: Option<String>,
    #[serde(default)]
    tool: Option<String>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    inner_calls: Option<Vec<RecordedCall<'a>>>,
}

#[derive(Deserialize)]
struct RecordedCall<'a> {
    op: String,
    call: String,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
}

/// Reads the records of a file.
///
/// # Errors
///
/// A file that is missing, too large, not a regular file or not JSON. An invalid record is returned with the reason.
pub(super) fn read(path: &Path) -> Result<Vec<RecordedResult>, CommandError> {
    let name = path.display().to_string();
    let text = text_of(path).map_err(|error| {
        CommandError::usage(error)
            .with_hint("give the path of a file or a directory of recorded results")
    })?;
    let text = text.trim_start_matches('\u{feff}');
    let mut records = Vec::new();
    let whole: Result<&RawValue, _> = serde_json::from_str(text);
    match whole {
        Ok(whole) if whole.get().starts_with('[') => {
            let items: Vec<&RawValue> = serde_json::from_str(whole.get())
                .context(name.clone())
                .map_err(CommandError::usage)?;
            for (at, item) in (1..).zip(items) {
                push(&mut records, item.get(), &format!("{name} item {at}"));
            }
        }
        Ok(whole) => push(&mut records, whole.get(), &name),
        Err(_) => {
            for (at, line) in (1..).zip(text.lines()) {
                if !line.trim().is_empty() {
                    push(&mut records, line, &format!("{name}:{at}"));
                }
            }
        }
    }
    if records.is_empty() || records.iter().all(RecordedResult::is_not_a_record) {
        let error = anyhow!("{name} contains no record");
        return Err(CommandError::usage(error).with_hint(FORMS));
    }
    Ok(records)
}

fn text_of(path: &Path) -> anyhow::Result<String> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("{name} cannot be read"))?;
    let metadata = file
        .metadata()
        .with_context(|| format!("{name} cannot be read"))?;
    if !metadata.is_file() {
        return Err(anyhow!("{name} is not a regular file"));
    }
    let bytes_max = RECORDED_FILE_BYTES_MAX as u64;
    let mut text = String::new();
    let read = file.take(bytes_max + 1).read_to_string(&mut text);
    let read = read.with_context(|| format!("{name} cannot be read"))?;
    if read as u64 > bytes_max {
        return Err(anyhow!("{name} is larger than {bytes_max} bytes; split it"));
    }
    Ok(text)
}

fn no_record() -> Result<Box<RawValue>, String> {
    Err(NO_RECORD.to_owned())
}

/// Adds the record in one JSON text, or the records of the calls of an execution.
fn push(records: &mut Vec<RecordedResult>, text: &str, place: &str) {
    let record = |tool: String, result| RecordedResult {
        server: None,
        tool,
        full_name: None,
        result,
        place: place.to_owned(),
    };
    let form: RecordForm<'_> = match serde_json::from_str(text) {
        Ok(form) => form,
        Err(_) => return records.push(record(String::new(), no_record())),
    };
    if let Some(calls) = form.inner_calls {
        for call in calls.into_iter().filter(|call| call.op == "tool") {
            let result = call.result.map(ToOwned::to_owned);
            let result = result.ok_or_else(|| "the call has no result".to_owned());
            records.push(RecordedResult {
                full_name: Some(call.call),
                ..record(String::new(), result)
            });
        }
        return;
    }
    records.push(match (form.tool, form.result) {
        (Some(tool), Some(result)) => RecordedResult {
            server: form.server,
            ..record(tool, Ok(result.to_owned()))
        },
        _ => record(String::new(), no_record()),
    });
}
