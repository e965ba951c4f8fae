//! Reads recorded results off a file.
//!
//! A record is `{"server", "tool", "result"}`; `result` is a `CallToolResult` or what a program got of one. A file
//! holds one record, a list of them, a line each, or what `limbeck executions ID --json` prints.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use limbeck_gateway::domain::limits::RECORDED_FILE_BYTES_MAX;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::exit::Failure;

/// What a record may be made of.
const FORMS: &str = "use records of `{\"server\", \"tool\", \"result\"}`, one a line or in a list, or the output of `limbeck executions ID --json`";
/// Why something in such a file teaches nothing.
const NO_RECORD: &str = "no record with `tool` and `result`";

/// One recorded result.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) server: Option<String>,
    pub(super) tool: String,
    /// `server.tool` in one, where a record names its tool so.
    pub(super) full_name: Option<String>,
    /// The result, or why there is none to learn from.
    pub(super) result: Result<Box<RawValue>, String>,
    /// File, and line or number.
    pub(super) place: String,
}

impl Record {
    fn is_none(&self) -> bool {
        matches!(&self.result, Err(problem) if problem == NO_RECORD)
    }
}

#[derive(Deserialize)]
struct Form<'a> {
    #[serde(default)]
    server: Option<String>,
    #[serde(default)]
    tool: Option<String>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    inner_calls: Option<Vec<InnerCall<'a>>>,
}

#[derive(Deserialize)]
struct InnerCall<'a> {
    op: String,
    call: String,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
}

/// The records of a file.
///
/// # Errors
///
/// A file that is missing, no regular file, too large or no JSON at all. A record that is none is given with its problem.
pub(super) fn read(path: &Path) -> Result<Vec<Record>, Failure> {
    let name = path.display().to_string();
    let text = text_of(path)
        .map_err(|error| Failure::usage(error).with_hint("name a file of recorded results"))?;
    let text = text.trim_start_matches('\u{feff}');
    let mut records = Vec::new();
    let whole: Result<&RawValue, _> = serde_json::from_str(text);
    match whole {
        Ok(whole) if whole.get().starts_with('[') => {
            let items: Vec<&RawValue> = serde_json::from_str(whole.get())
                .context(name.clone())
                .map_err(Failure::usage)?;
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
    if records.is_empty() || records.iter().all(Record::is_none) {
        let error = anyhow!("{name} holds no record");
        return Err(Failure::usage(error).with_hint(FORMS));
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
        return Err(anyhow!("{name} is no regular file"));
    }
    let bytes_max = RECORDED_FILE_BYTES_MAX as u64;
    let mut text = String::new();
    let read = file.take(bytes_max + 1).read_to_string(&mut text);
    let read = read.with_context(|| format!("{name} cannot be read"))?;
    if read as u64 > bytes_max {
        return Err(anyhow!("{name} is larger than {bytes_max} bytes: split it"));
    }
    Ok(text)
}

fn no_record() -> Result<Box<RawValue>, String> {
    Err(NO_RECORD.to_owned())
}

/// Adds what one JSON text holds: a record, or the calls of an execution.
fn push(records: &mut Vec<Record>, text: &str, place: &str) {
    let record = |tool: String, result| Record {
        server: None,
        tool,
        full_name: None,
        result,
        place: place.to_owned(),
    };
    let form: Form<'_> = match serde_json::from_str(text) {
        Ok(form) => form,
        Err(_) => return records.push(record(String::new(), no_record())),
    };
    if let Some(calls) = form.inner_calls {
        for call in calls.into_iter().filter(|call| call.op == "tool") {
            let result = call.result.map(ToOwned::to_owned);
            let result = result.ok_or_else(|| "calls that gave no result".to_owned());
            records.push(Record {
                full_name: Some(call.call),
                ..record(String::new(), result)
            });
        }
        return;
    }
    records.push(match (form.tool, form.result) {
        (Some(tool), Some(result)) => Record {
            server: form.server,
            ..record(tool, Ok(result.to_owned()))
        },
        _ => record(String::new(), no_record()),
    });
}
