//! `limbeck learn`: what results of tools look like, from results that were recorded.

mod records;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use limbeck_gateway::catalog::Observed;
use limbeck_gateway::domain::{CallForm, ServerName, ToolId, ToolTarget};
use limbeck_gateway::{Learnt, NoLesson};
use serde::Serialize;
use serde_json::json;

use super::Invocation;
use super::tools::PATIENCE;
use crate::cli::LearnArgs;
use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use crate::wiring::{Lifetime, Session};
use records::{Record, read};

/// Files read of a directory.
const FILES_MAX: usize = 1_000;
/// Different reasons for leaving records out that are told.
const REASONS_MAX: usize = 20;
/// Endings of the files of a directory that are read.
const ENDINGS: [&str; 3] = ["json", "jsonl", "ndjson"];

/// Records that taught nothing, for one reason.
#[derive(Debug, Serialize)]
struct Skipped {
    reason: String,
    records: u64,
    /// The first of them: a file, and a line or the number of an item.
    first: String,
}

/// What the records are, put together.
#[derive(Debug, Default)]
struct Gathered {
    learnt: BTreeMap<(String, String), (ToolId, Observed)>,
    skipped: Vec<Skipped>,
    unlisted_reasons: u64,
}

impl Gathered {
    fn skip(&mut self, reason: String, first: &str) {
        if let Some(same) = self.skipped.iter_mut().find(|same| same.reason == reason) {
            same.records += 1;
        } else if self.skipped.len() < REASONS_MAX {
            self.skipped.push(Skipped {
                reason,
                records: 1,
                first: first.to_owned(),
            });
        } else {
            self.unlisted_reasons += 1;
        }
    }
}

/// Reads the records, keeps what they teach and says what that is.
pub(super) async fn learn(invocation: &Invocation, arguments: &LearnArgs) -> Result<Exit, Failure> {
    let path = invocation.environment.cwd.join(&arguments.path);
    let files = files(&path, &arguments.path)?;
    let session = Session::open(invocation, Lifetime::Command).await?;
    let done = learn_from(invocation, &session, arguments, &files).await;
    session.close().await;
    done
}

async fn learn_from(
    invocation: &Invocation,
    session: &Session,
    arguments: &LearnArgs,
    files: &[PathBuf],
) -> Result<Exit, Failure> {
    let printer = &invocation.printer;
    session.say_if_empty(printer);
    let mut gathered = Gathered::default();
    for file in files {
        let mut problem = None;
        // Records are read one file at a time; the result of each is dropped once its shape is known.
        let records = match read(file) {
            Ok(records) => records,
            Err(error) if files.len() == 1 => return Err(error),
            Err(error) => {
                problem = Some(format!("{:#}", error.error));
                Vec::new()
            }
        };
        if let Some(problem) = problem {
            gathered.skip(problem, &file.display().to_string());
        }
        for record in records {
            take(session, arguments, &record, &mut gathered).await;
        }
    }
    let mut learnt = Vec::new();
    for (id, observed) in std::mem::take(&mut gathered.learnt).into_values() {
        learnt.extend(session.gateway.learn(&id, &observed).await?);
    }
    if arguments.json {
        let unlisted = gathered.unlisted_reasons;
        printer.json(
            &json!({"learnt": learnt, "skipped": gathered.skipped, "skipped_otherwise": unlisted}),
        )?;
    } else {
        print(printer, &learnt, &gathered);
    }
    Ok(if learnt.is_empty() {
        Exit::Failed
    } else {
        Exit::Completed
    })
}

/// Takes one record in, or notes why not.
async fn take(session: &Session, arguments: &LearnArgs, record: &Record, gathered: &mut Gathered) {
    let result = match &record.result {
        Ok(result) => result,
        Err(problem) => return gathered.skip(problem.clone(), &record.place),
    };
    let target = ToolTarget {
        server: record.server.clone().or_else(|| {
            // `server.tool` in one text names its own.
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
        return gathered.skip("records of another server".to_owned(), &record.place);
    }
    let mut lesson = session.gateway.lesson(&target, result);
    if let Err(NoLesson::UnknownTool { .. }) = &lesson
        && ask(session, target.server.as_deref()).await
    {
        lesson = session.gateway.lesson(&target, result);
    }
    match lesson {
        Ok((id, _)) if !wanted(id.server.as_str()) => {
            gathered.skip("records of another server".to_owned(), &record.place);
        }
        Ok((id, observed)) => {
            let key = (id.server.to_string(), id.tool.to_string());
            let (_, all) = gathered
                .learnt
                .entry(key)
                .or_insert_with(|| (id, Observed::default()));
            all.add(&observed);
        }
        Err(reason) => gathered.skip(reason.to_string(), &record.place),
    }
}

/// Asks a server, or all of them, whose tools are not known for its list; whether anything may be known now.
async fn ask(session: &Session, server: Option<&str>) -> bool {
    let catalog = session.gateway.catalog();
    let unknown = match server {
        Some(name) => catalog.tools_of(&ServerName::from(name)).is_empty(),
        None => catalog.servers().any(|server| server.tools().is_empty()),
    };
    unknown && session.gateway.servers(server, PATIENCE).await.is_ok()
}

/// The file, or those of a directory by their names.
fn files(path: &Path, named: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path)
        .with_context(|| format!("{} cannot be read", named.display()))
        .map_err(|error| Failure::usage(error).with_hint("name a directory you may read"))?;
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
            0 => anyhow!("{} holds no file to learn from", named.display()),
            count => anyhow!(
                "{} holds {count} files, at most {FILES_MAX} are read",
                named.display()
            ),
        };
        let hint = "name a file, or a directory of files that end in .json, .jsonl or .ndjson";
        return Err(Failure::usage(error).with_hint(hint));
    }
    Ok(files)
}

fn print(printer: &Printer, learnt: &[Learnt], gathered: &Gathered) {
    for one in learnt {
        let what = match (one.changed, one.calls == one.results) {
            (true, true) => "a type",
            (true, false) => "a wider type",
            (false, _) => "nothing new",
        };
        printer.data_line(&format!(
            "{}.{}: {what} from {}",
            one.server,
            one.tool,
            counted(one.results, "result")
        ));
        printer.data_line(&format!("    {}", one.signature));
    }
    for skipped in &gathered.skipped {
        printer.note(&format!(
            "left out {}: {} (first: {})",
            counted(skipped.records, "record"),
            skipped.reason,
            skipped.first
        ));
    }
    if gathered.unlisted_reasons > 0 {
        let more = counted(gathered.unlisted_reasons, "record");
        printer.note(&format!("left out {more} for other reasons"));
    }
    if learnt.is_empty() {
        printer.error("nothing was learnt");
        printer.hint("a record is `{\"server\": …, \"tool\": …, \"result\": …}`; `limbeck tools` lists the names");
    }
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
