//! Operations on the journal of one execution.
//!
//! They are an enum, unlike other writes, because the writer treats them differently: it claims an owner
//! lock for the first, rejects entries after a gap, and forgets the gap at the end.

use limbeck_domain::{CallId, Envelope, ExecutionId, JournalEntry, Settlement};
use serde::Serialize;

use crate::apply::Apply;
use crate::error::StoreError;
use crate::journal_room::Queued;
use crate::records::{self, ExecutionSummary, NewExecution};
use crate::tables::journal::{self, CallMarks, EncodedStart, EndedExecution};

/// One operation on a journal.
pub(crate) enum JournalOperation {
    /// Records an execution as running.
    Begin(Box<NewExecution>),
    /// Adds an entry.
    Append {
        id: ExecutionId,
        entry: Box<JournalEntry>,
    },
    /// Adds the last entry and moves the execution to its final status.
    Finish {
        id: ExecutionId,
        envelope: Box<Envelope>,
        summary: ExecutionSummary,
        /// What the execution has in the queue; `None` for one that did not begin in this process.
        queued: Option<Queued>,
    },
}

/// The execution of a [`JournalOperation`], and which operation it is.
#[derive(Clone, Debug)]
pub(crate) struct JournalTarget {
    pub(crate) id: ExecutionId,
    pub(crate) step: JournalStep,
}

/// Kind of a [`JournalOperation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JournalStep {
    Begin,
    Append,
    Finish,
}

impl JournalTarget {
    /// Whether the journal has a gap when this operation is not stored.
    pub(crate) fn leaves_gap(&self) -> bool {
        match self.step {
            JournalStep::Begin | JournalStep::Append => true,
            // Nothing follows the end, and recovery ends what has no end.
            JournalStep::Finish => false,
        }
    }

    /// Whether it adds an entry to the journal.
    pub(crate) fn adds_entry(&self) -> bool {
        match self.step {
            JournalStep::Append | JournalStep::Finish => true,
            JournalStep::Begin => false,
        }
    }
}

impl JournalOperation {
    pub(crate) fn target(&self) -> JournalTarget {
        let (id, step) = match self {
            Self::Begin(new) => (&new.id, JournalStep::Begin),
            Self::Append { id, .. } => (id, JournalStep::Append),
            Self::Finish { id, .. } => (id, JournalStep::Finish),
        };
        JournalTarget {
            id: id.clone(),
            step,
        }
    }

    /// Bytes of its texts.
    pub(crate) fn text_bytes(&self) -> usize {
        match self {
            Self::Begin(new) => {
                new.start.program.len() + new.start.input.len() + new.start.servers.len()
            }
            Self::Append { entry, .. } => entry_bytes(entry),
            Self::Finish { envelope, .. } => envelope_bytes(envelope),
        }
    }

    /// Writes the JSON and returns the statements that store it; `owner` is the token of this process.
    pub(crate) fn encode(self, owner: &str) -> Result<Apply, StoreError> {
        Ok(match self {
            Self::Begin(new) => {
                let start = EncodedStart {
                    start: encode(&new.start)?,
                    sandbox: encode(&new.sandbox)?,
                    title: records::title(&new.start.program),
                };
                let owner = owner.to_owned();
                Box::new(move |transaction| journal::begin(transaction, &owner, &new, &start))
            }
            Self::Append { id, entry } => {
                let marks = marks(&entry);
                let held = match &*entry {
                    JournalEntry::Part { artifact, .. } => Some(artifact.clone()),
                    JournalEntry::Check { .. }
                    | JournalEntry::Call { .. }
                    | JournalEntry::Outcome { .. }
                    | JournalEntry::Removed { .. }
                    | JournalEntry::Delivered(_)
                    | JournalEntry::Asked { .. }
                    | JournalEntry::Decided { .. }
                    | JournalEntry::Settled { .. }
                    | JournalEntry::Took { .. }
                    | JournalEntry::Ended { .. } => None,
                };
                let entry = encode(&entry)?;
                Box::new(move |transaction| {
                    let added = journal::append(transaction, &id, marks, &entry)?;
                    if let (Ok(()), Some(artifact)) = (&added, &held) {
                        journal::hold(transaction, &id, artifact)?;
                    }
                    Ok(added)
                })
            }
            Self::Finish {
                id,
                envelope,
                summary,
                queued,
            } => {
                let ended = EndedExecution {
                    status: envelope.status.as_str(),
                    error: envelope.error.as_ref().map(|error| error.kind.as_str()),
                    effects: envelope.effects.unwrap_or_default(),
                    summary,
                };
                let entry = encode(&JournalEntry::Ended {
                    envelope,
                    is_cut: false,
                })?;
                Box::new(move |transaction| {
                    let finished = journal::finish(transaction, &id, &ended, &entry);
                    // What is read of the file from now on has it.
                    drop(queued);
                    finished
                })
            }
        })
    }
}

fn encode(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::encode(&error))
}

fn entry_bytes(entry: &JournalEntry) -> usize {
    match entry {
        JournalEntry::Check { sites, verdict, .. } => {
            let errors = verdict.errors.iter().map(|error| error.message.len());
            let warnings = verdict.warnings.iter().map(String::len);
            sites.len() + errors.chain(warnings).sum::<usize>()
        }
        JournalEntry::Call { call, .. } => call.head.len() + call.body.len(),
        JournalEntry::Outcome { result, .. } => match result {
            Ok(text) => text.len(),
            Err(error) => error.message.len(),
        },
        JournalEntry::Part { artifact, .. } => artifact.as_str().len(),
        JournalEntry::Removed { result, .. } => result.sha256.len(),
        JournalEntry::Delivered(delivered) => delivered.calls.len() * size_of::<CallId>(),
        JournalEntry::Asked { call, .. } => call.head.len() + call.body.len(),
        JournalEntry::Decided { decision, .. } => {
            decision.reason.as_ref().map_or(0, String::len)
                + decision.edited.as_ref().map_or(0, String::len)
        }
        JournalEntry::Settled { how, .. } => match how {
            Settlement::Happened { result } => result.as_ref().map_or(0, String::len),
            Settlement::DidNotHappen | Settlement::Retry | Settlement::GiveUp => 0,
        },
        JournalEntry::Took { owner, .. } => owner.len(),
        JournalEntry::Ended { envelope, .. } => envelope_bytes(envelope),
    }
}

pub(crate) fn envelope_bytes(envelope: &Envelope) -> usize {
    envelope.value.as_ref().map_or(0, |value| value.get().len())
        + envelope.stdout.len()
        + envelope.stderr.len()
}

fn marks(entry: &JournalEntry) -> CallMarks {
    match entry {
        JournalEntry::Call {
            call, effect, sent, ..
        } => CallMarks {
            doubt: (*sent && effect.may_write()).then_some(call.id.0),
            outcome: None,
        },
        JournalEntry::Outcome { id, .. }
        | JournalEntry::Part { id, .. }
        | JournalEntry::Removed { id, .. } => CallMarks {
            doubt: None,
            outcome: Some(id.0),
        },
        JournalEntry::Check { .. }
        | JournalEntry::Delivered(_)
        | JournalEntry::Asked { .. }
        | JournalEntry::Decided { .. }
        | JournalEntry::Settled { .. }
        | JournalEntry::Took { .. }
        | JournalEntry::Ended { .. } => CallMarks::default(),
    }
}
