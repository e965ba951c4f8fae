//! Calls of tools in the journals, with what was decided about each when it was made.

use std::collections::{HashMap, HashSet};

use limbeck_domain::{CallCode, CallId, EffectClass, JournalEntry, JournalReader, ToolId};

use super::timestamp::to_stored;
use crate::error::StoreError;
use crate::reader::Reader;

/// A call of a tool, and what was decided about it.
#[derive(Clone, Copy, Debug)]
pub struct RecordedCall<'a> {
    /// Id of the execution.
    pub execution: &'a str,
    /// Principal of the execution.
    pub principal: &'a str,
    /// Number of the call.
    pub id: CallId,
    /// The tool.
    pub tool: &'a ToolId,
    /// Its class at that time.
    pub class: EffectClass,
    /// The arguments; `None` where retention removed them.
    pub arguments: Option<&'a str>,
    /// What was decided.
    pub decision: RecordedDecision<'a>,
}

/// What was decided about a recorded call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedDecision<'a> {
    /// It was sent and no person was asked.
    Allowed,
    /// A person was asked about it or about the plan that has it, or had answered such a question before.
    Asked,
    /// It was not sent, with this message.
    Denied(&'a str),
}

/// Executions since a time, the oldest first.
const EXECUTIONS: &str =
    "SELECT row, id, principal FROM execution WHERE created_us >= ?1 ORDER BY created_us, id";

/// Entries about calls and questions, and answers that are errors: other answers may have many megabytes and say nothing
/// about the decision.
const ENTRIES: &str = r#"SELECT entry FROM journal
     WHERE execution = ?1
       AND (substr(entry, 1, 8) = '{"call":' OR substr(entry, 1, 9) = '{"asked":'
            OR (outcome IS NOT NULL AND instr(substr(entry, 1, 64), '"result":{"Err":') > 0))
     ORDER BY row"#;

struct Call {
    id: CallId,
    tool: ToolId,
    class: EffectClass,
    arguments: Option<String>,
    is_sent: bool,
    by_plan: bool,
}

/// What the entries of one execution say about its calls.
#[derive(Default)]
struct Made {
    calls: Vec<Call>,
    asked: HashSet<CallId>,
    denied: HashMap<CallId, String>,
}

impl Made {
    fn add(&mut self, entry: JournalEntry) {
        match entry {
            JournalEntry::Call {
                call,
                tool: Some(tool),
                arguments_removed,
                plan_line,
                effect,
                sent,
                ..
            } => {
                if self.asked.contains(&call.id) {
                    // The question about the call represented it until here.
                    self.calls.retain(|earlier| earlier.id != call.id);
                }
                self.calls.push(Call {
                    id: call.id,
                    tool,
                    class: effect,
                    arguments: arguments_removed.is_none().then_some(call.body),
                    is_sent: sent,
                    by_plan: plan_line.is_some(),
                });
            }
            JournalEntry::Asked { call, tool, .. } if self.asked.insert(call.id) => {
                self.calls.push(Call {
                    id: call.id,
                    tool,
                    class: EffectClass::Unknown,
                    arguments: Some(call.body),
                    is_sent: false,
                    by_plan: false,
                });
            }
            JournalEntry::Outcome {
                id,
                result: Err(error),
                ..
            } if error.code == CallCode::Denied => {
                self.denied.insert(id, error.message);
            }
            _ => {}
        }
    }

    fn decision_of(&self, call: &Call) -> Option<RecordedDecision<'_>> {
        if call.by_plan || self.asked.contains(&call.id) {
            return Some(RecordedDecision::Asked);
        }
        if call.is_sent {
            return Some(RecordedDecision::Allowed);
        }
        let message = self.denied.get(&call.id)?;
        Some(RecordedDecision::Denied(message))
    }
}

/// Gives each call of a tool of executions since `since_us` to `each`, the calls of an execution one after the other. A call
/// that failed before anything was decided about it, such as one with invalid arguments, is left out.
pub(crate) fn each(
    reader: &Reader<'_>,
    since_us: u64,
    mut each: impl FnMut(RecordedCall<'_>),
) -> Result<(), StoreError> {
    let prepare = |sql| {
        let statement = reader.connection.prepare_cached(sql);
        statement.map_err(|error| reader.error(error))
    };
    let (mut executions, mut entries) = (prepare(EXECUTIONS)?, prepare(ENTRIES)?);
    let mut rows = executions
        .query([to_stored(since_us)])
        .map_err(|error| reader.error(error))?;
    while let Some(row) = rows.next().map_err(|error| reader.error(error))? {
        let columns: rusqlite::Result<(i64, String, String)> = row.try_into();
        let (row, execution, principal) = columns.map_err(|error| reader.error(error))?;
        let made = made(reader, &mut entries, row)?;
        for call in &made.calls {
            let Some(decision) = made.decision_of(call) else {
                continue;
            };
            each(RecordedCall {
                execution: &execution,
                principal: &principal,
                id: call.id,
                tool: &call.tool,
                class: call.class,
                arguments: call.arguments.as_deref(),
                decision,
            });
        }
    }
    Ok(())
}

fn made(
    reader: &Reader<'_>,
    entries: &mut rusqlite::Statement<'_>,
    execution: i64,
) -> Result<Made, StoreError> {
    let mut rows = entries
        .query([execution])
        .map_err(|error| reader.error(error))?;
    let mut made = Made::default();
    let mut records = JournalReader::default();
    while let Some(row) = rows.next().map_err(|error| reader.error(error))? {
        let entry = row
            .get_ref(0)
            .and_then(|entry| Ok(entry.as_str()?))
            .map_err(|error| reader.error(error))?;
        let entry = records.read(entry);
        if let Some(entry) = entry.map_err(|error| reader.damaged("journal", &error))? {
            made.add(entry);
        }
    }
    Ok(made)
}
