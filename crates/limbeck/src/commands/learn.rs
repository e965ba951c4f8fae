//! `limbeck learn`: output types of tools, learned from recorded results.

mod records;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use limbeck_catalog::Observed;
use limbeck_domain::{CallForm, ServerName, ToolId, ToolTarget};
use limbeck_gateway::{ImportSummary, SkippedRecordError};
use serde::Serialize;
use serde_json::json;

use super::signals::EndSignals;
use super::tools::{LIST_TIMEOUT, STARTING};
use crate::cli::LearnArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::wiring::{GatewayLifetime, GatewaySession};
use records::{RecordedResult, read};

/// Most files that are read from a directory.
const FILES_MAX: usize = 1_000;
/// Most reasons for skipped records that are printed.
const REASONS_MAX: usize = 20;
/// Extensions of the files that are read from a directory.
const ENDINGS: [&str; 3] = ["json", "jsonl", "ndjson"];

/// Records that were skipped for the same reason.
#[derive(Debug, Serialize)]
struct SkippedRecords {
    reason: String,
    records: u64,
    /// Place of the first one: file, and line or item number.
    first: String,
}

/// Observations and skipped records of all files so far.
#[derive(Debug, Default)]
struct ImportState {
    learned: BTreeMap<(String, String), (ToolId, Observed)>,
    skipped: Vec<SkippedRecords>,
    unlisted_reasons: u64,
}

impl ImportState {
    fn skip(&mut self, reason: String, first: &str) {
        if let Some(same) = self.skipped.iter_mut().find(|same| same.reason == reason) {
            same.records += 1;
        } else if self.skipped.len() < REASONS_MAX {
            self.skipped.push(SkippedRecords {
                reason,
                records: 1,
                first: first.to_owned(),
            });
        } else {
            self.unlisted_reasons += 1;
        }
    }
}

/// Reads recorded results, stores the observed types and prints them.
pub(super) async fn learn(
    invocation: &Invocation,
    arguments: &LearnArgs,
) -> Result<ExitStatus, CommandError> {
    let path = invocation.world.cwd.join(&arguments.path);
    let files = files(&path, &arguments.path)?;
    let mut signals = EndSignals::listen()?;
    let session = GatewaySession::open(invocation, GatewayLifetime::Command).await?;
    let learning = learn_from(invocation, &session, arguments, &files);
    let learning = invocation.printer.reporting(STARTING, learning);
    let done = signals.interrupting(learning).await.and_then(|done| done);
    // Closed on errors as well, so that servers that were started for their lists end.
    session.close().await;
    done
}

async fn learn_from(
    invocation: &Invocation,
    session: &GatewaySession,
    arguments: &LearnArgs,
    files: &[PathBuf],
) -> Result<ExitStatus, CommandError> {
    let printer = &invocation.printer;
    session.note_if_empty(printer);
    let mut state = ImportState::default();
    for file in files {
        let mut problem = None;
        // One file at a time, so that only the types and not the results stay in memory.
        let records = match read(file) {
            Ok(records) => records,
            Err(error) if files.len() == 1 => return Err(error),
            Err(error) => {
                problem = Some(format!("{:#}", error.error));
                Vec::new()
            }
        };
        if let Some(problem) = problem {
            state.skip(problem, &file.display().to_string());
        }
        for record in records {
            observe(session, arguments, &record, &mut state).await;
        }
    }
    let mut learned = Vec::new();
    for (id, observed) in std::mem::take(&mut state.learned).into_values() {
        learned.extend(session.gateway.learn(&id, &observed).await?);
    }
    if arguments.json {
        let unlisted = state.unlisted_reasons;
        printer.json(
            &json!({"learned": learned, "skipped": state.skipped, "skipped_for_other_reasons": unlisted}),
        )?;
    } else {
        print(printer, &learned, &state);
    }
    Ok(if learned.is_empty() {
        ExitStatus::Failed
    } else {
        ExitStatus::Completed
    })
}

/// Observes one record, or counts it as skipped.
async fn observe(
    session: &GatewaySession,
    arguments: &LearnArgs,
    record: &RecordedResult,
    state: &mut ImportState,
) {
    let result = match &record.result {
        Ok(result) => result,
        Err(problem) => return state.skip(problem.clone(), &record.place),
    };
    let target = ToolTarget {
        server: record.server.clone().or_else(|| {
            // A record with `server.tool` in one text names its server.
            record
                .full_name
                .is_none()
                .then(|| arguments.server.clone())?
        }),
        tool: record
            .full_name
            .clone()
            .unwrap_or_else(|| record.tool.clone()),
        form: CallForm::Value,
    };
    let wanted = |server: &str| {
        arguments
            .server
            .as_deref()
            .is_none_or(|only| only == server)
    };
    if !target.server.as_deref().is_none_or(wanted) {
        return state.skip("the record is of another server".to_owned(), &record.place);
    }
    let mut observed = session.gateway.observed_type(&target, result);
    if let Err(SkippedRecordError::UnknownTool { .. }) = &observed
        && list_unknown(session, target.server.as_deref()).await
    {
        observed = session.gateway.observed_type(&target, result);
    }
    match observed {
        Ok((id, _)) if !wanted(id.server.as_str()) => {
            state.skip("the record is of another server".to_owned(), &record.place);
        }
        Ok((id, observed)) => {
            let key = (id.server.to_string(), id.tool.to_string());
            let (_, all) = state
                .learned
                .entry(key)
                .or_insert_with(|| (id, Observed::default()));
            all.add(&observed);
        }
        Err(reason) => state.skip(reason.to_string(), &record.place),
    }
}

/// Lists the tools of a server, or of all servers, when they are unknown. Returns whether that may have added tools.
async fn list_unknown(session: &GatewaySession, server: Option<&str>) -> bool {
    let catalog = session.gateway.catalog();
    let unknown = match server {
        Some(name) => catalog.tools_of(&ServerName::from(name)).is_empty(),
        None => catalog.servers().any(|server| server.tools().is_empty()),
    };
    unknown && session.gateway.servers(server, LIST_TIMEOUT).await.is_ok()
}

/// The file, or the files of a directory in the order of their names.
fn files(path: &Path, named: &Path) -> Result<Vec<PathBuf>, CommandError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path)
        .with_context(|| format!("{} cannot be read", named.display()))
        .map_err(|error| {
            CommandError::usage(error).with_hint("use a directory that you can read")
        })?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let ending = path.extension().and_then(|ending| ending.to_str());
            ending.is_some_and(|ending| ENDINGS.contains(&ending)) && path.is_file()
        })
        .collect();
    files.sort();
    if files.is_empty() || files.len() > FILES_MAX {
        let error = match files.len() {
            0 => anyhow!("{} contains no file of recorded results", named.display()),
            count => anyhow!(
                "{} contains {count} files; at most {FILES_MAX} are accepted",
                named.display()
            ),
        };
        let hint = "use a file, or a directory of files that end in .json, .jsonl or .ndjson";
        return Err(CommandError::usage(error).with_hint(hint));
    }
    Ok(files)
}

fn print(printer: &Printer, learned: &[ImportSummary], state: &ImportState) {
    for one in learned {
        let what = match (one.changed, one.calls == one.results) {
            (true, true) => "new type",
            (true, false) => "wider type",
            (false, _) => "no change",
        };
        printer.data_line(&format!(
            "{}.{}: {what} from {}",
            one.server,
            one.tool,
            counted(one.results, "result")
        ));
        printer.data_line(&format!("    {}", one.signature));
    }
    for skipped in &state.skipped {
        printer.note(&format!(
            "skipped {}: {} (first: {})",
            counted(skipped.records, "record"),
            skipped.reason,
            skipped.first
        ));
    }
    if state.unlisted_reasons > 0 {
        let more = counted(state.unlisted_reasons, "record");
        printer.note(&format!("skipped {more} for other reasons"));
    }
    if learned.is_empty() {
        printer.error("no record could be used");
        printer.hint("write records as `{\"server\": …, \"tool\": …, \"result\": …}`; run `limbeck tools` to list the names");
    }
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
