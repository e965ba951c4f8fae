//! Operations on the journal of one execution.
//!
//! They are an enum, unlike other writes, because the writer treats them differently: it claims an owner
//! lock for the first, rejects entries after a gap, and forgets the gap at the end. Each of them but the first changes only an
//! execution that this process has.

use limbeck_domain::{CallId, Envelope, ExecutionId, JournalEntry, Settlement};
use rusqlite::Transaction;
use serde::Serialize;

use crate::apply::{Applied, Apply};
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
    /// Any other change of an execution that this process has, or takes.
    Change(JournalChange),
}

/// Statements of a [`JournalOperation::Change`]. They get the token of this process.
pub(crate) type ApplyAsOwner = Box<dyn FnOnce(&Transaction<'_>, &str) -> Applied + Send>;

/// A change that the writer applies without looking into it.
pub(crate) struct JournalChange {
    pub(crate) target: JournalTarget,
    /// Bytes of the texts that `apply` has.
    pub(crate) text_bytes: usize,
    pub(crate) apply: ApplyAsOwner,
}

/// The execution of a [`JournalOperation`], and which operation it is.
#[derive(Clone, Debug)]
pub(crate) struct JournalTarget {
    pub(crate) id: ExecutionId,
    pub(crate) step: JournalStep,
    /// Entries that it adds to the journal.
    pub(crate) entries: u64,
}

/// Kind of a [`JournalOperation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JournalStep {
    Begin,
    Append,
    /// The caller waits for its end, and what it could not write is not relied on.
    Change,
    /// A change that makes this process the owner.
    Take,
    Finish,
}

impl JournalTarget {
    /// Whether the journal has a gap when this operation was not stored because of `error`.
    pub(crate) fn leaves_gap(&self, error: &StoreError) -> bool {
        match self.step {
            // The journal of another process has no gap.
            JournalStep::Begin | JournalStep::Append => !matches!(error, StoreError::Lost { .. }),
            JournalStep::Change | JournalStep::Take => false,
            // Nothing follows the end, and recovery ends what has no end.
            JournalStep::Finish => false,
        }
    }

    /// Whether it is refused when the journal has a gap.
    pub(crate) fn needs_whole(&self) -> bool {
        match self.step {
            JournalStep::Append | JournalStep::Change => true,
            JournalStep::Begin | JournalStep::Take | JournalStep::Finish => false,
        }
    }
}

impl JournalOperation {
    pub(crate) fn target(&self) -> JournalTarget {
        let (id, step, entries) = match self {
            Self::Begin(new) => (&new.id, JournalStep::Begin, 0),
            Self::Append { id, .. } => (id, JournalStep::Append, 1),
            Self::Finish { id, .. } => (id, JournalStep::Finish, 1),
            Self::Change(change) => return change.target.clone(),
        };
        JournalTarget {
            id: id.clone(),
            step,
            entries,
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
            Self::Change(change) => change.text_bytes,
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
                    | JournalEntry::Erased(_)
                    | JournalEntry::Delivered(_)
                    | JournalEntry::Asked { .. }
                    | JournalEntry::PlanAsked { .. }
                    | JournalEntry::PlanSettled { .. }
                    | JournalEntry::Decided { .. }
                    | JournalEntry::Settled { .. }
                    | JournalEntry::Took { .. }
                    | JournalEntry::Ended { .. } => None,
                };
                let entry = encode(&entry)?;
                let owner = owner.to_owned();
                Box::new(move |transaction| {
                    let added = journal::append(transaction, &owner, &id, marks, &entry)?;
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
                let owner = owner.to_owned();
                Box::new(move |transaction| {
                    let finished = journal::finish(transaction, &owner, &id, &ended, &entry);
                    // What is read of the file from now on has it.
                    drop(queued);
                    finished
                })
            }
            Self::Change(change) => {
                let owner = owner.to_owned();
                Box::new(move |transaction| (change.apply)(transaction, &owner))
            }
        })
    }
}

pub(crate) fn encode(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::encode(&error))
}

fn entry_bytes(entry: &JournalEntry) -> usize {
    match entry {
        JournalEntry::Check { sites, verdict, .. } => {
            let errors = verdict.errors.iter().map(|error| error.message.len());
            let warnings = verdict.warnings.iter().map(String::len);
            sites.len() + errors.chain(warnings).sum::<usize>()
        }
        JournalEntry::Erased(program) => program.bytes(),
        JournalEntry::Call { call, .. } => call.head.len() + call.body.len(),
        JournalEntry::Outcome { result, .. } => match result {
            Ok(text) => text.len(),
            Err(error) => error.message.len(),
        },
        JournalEntry::Part { artifact, .. } => artifact.as_str().len(),
        JournalEntry::Removed { result, .. } => result.sha256.len(),
        JournalEntry::Delivered(delivered) => delivered.calls.len() * size_of::<CallId>(),
        JournalEntry::Asked { call, .. } => call.head.len() + call.body.len(),
        JournalEntry::PlanAsked { approval } => approval.as_str().len(),
        JournalEntry::PlanSettled { approval, lines } => {
            approval.as_str().len() + lines.len() * size_of::<u32>()
        }
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

/// Columns of an entry.
pub(crate) fn marks(entry: &JournalEntry) -> CallMarks {
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
        // The doubt about the call ends with it; when the call is made again, a later entry has the next one.
        JournalEntry::Settled { call, .. } => CallMarks {
            doubt: None,
            outcome: Some(call.0),
        },
        JournalEntry::Check { .. }
        | JournalEntry::Erased(_)
        | JournalEntry::Delivered(_)
        | JournalEntry::Asked { .. }
        | JournalEntry::PlanAsked { .. }
        | JournalEntry::PlanSettled { .. }
        | JournalEntry::Decided { .. }
        | JournalEntry::Took { .. }
        | JournalEntry::Ended { .. } => CallMarks::default(),
    }
}
