//! Runs an execution again from its journal, with no upstream, and compares.
//!
//! The guest is given what it was given then, in the same order, with the same time. What it asks
//! for is compared with what it asked for, and what it returns and prints with what came back. A
//! run that was ended from outside (time, memory, cancel) must be where it was when that happened.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use limbeck_domain::limits::WALL_GRACE_MS;
use limbeck_domain::{
    CallError, CallId, Delivered, Effects, Envelope, ErrorKind, ExecutionId, HostCall, HostOp,
    JournalEntry, ProgramError, ProgramStart,
};
use limbeck_launcher::{Worker, WorkerError};
use limbeck_store::StoreError;
use limbeck_wire::{CallResult, Delivery, FromWorker, ToWorker};
use tokio::time::{Instant, timeout_at};

use super::drive::Ended;
use super::output::{self, Printed};
use super::words;
use crate::Gateway;

/// Why an execution cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The store does not know it.
    #[error("no execution `{id}`")]
    Unknown {
        /// What was asked for.
        id: String,
    },
    /// It has not ended.
    #[error("execution `{id}` has not ended")]
    NotEnded {
        /// What was asked for.
        id: ExecutionId,
    },
    /// It ran in another guest.
    #[error("execution `{id}` ran in guest {recorded}, this is guest {ours}")]
    Guest {
        /// What was asked for.
        id: ExecutionId,
        /// Hash in the journal.
        recorded: String,
        /// Hash of the guest of this build.
        ours: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No worker.
    #[error(transparent)]
    Worker(#[from] WorkerError),
}

/// What a replay gave.
#[derive(Debug)]
pub struct ReplayReport {
    /// What came back this time.
    pub envelope: Envelope,
    /// Host calls the program made this time; what was asked about it before it ran is none.
    pub calls: usize,
    /// Where the two runs differ; empty when they do not.
    pub differences: Vec<String>,
}

impl Gateway {
    /// Runs an ended execution again from its journal alone.
    ///
    /// # Errors
    ///
    /// [`ReplayError`]; differences between the two runs are in the report.
    pub async fn replay(&self, id: &str) -> Result<ReplayReport, ReplayError> {
        let record = self.shared.store.execution(id).await?;
        let record = record.ok_or_else(|| ReplayError::Unknown { id: id.to_owned() })?;
        let id = record.row.id.clone();
        let journal = self.shared.store.journal(&id).await?;
        let Some(recorded) = record.envelope else {
            return Err(ReplayError::NotEnded { id });
        };
        let worker = self.shared.workers.take(record.start.language).await?;
        let ours = &worker.ready().guest_hash;
        if *ours != record.guest_hash {
            return Err(ReplayError::Guest {
                id,
                recorded: record.guest_hash,
                ours: ours.clone(),
            });
        }
        let tape = Tape::read(journal);
        let ended = tape
            .play(worker, record.start, recorded.error.as_ref())
            .await?;
        let (ended, made) = ended;
        let envelope = output::envelope(id, ended);
        let differences = compare(&recorded, &envelope, &tape.calls, &made);
        Ok(ReplayReport {
            envelope,
            calls: made.iter().filter(|call| call.op != HostOp::Check).count(),
            differences,
        })
    }
}

/// A journal, sorted for playing.
struct Tape {
    calls: BTreeMap<CallId, HostCall>,
    outcomes: BTreeMap<CallId, Result<String, CallError>>,
    delivered: VecDeque<Delivered>,
}

impl Tape {
    fn read(journal: Vec<JournalEntry>) -> Self {
        let mut tape = Self {
            calls: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            delivered: VecDeque::new(),
        };
        for entry in journal {
            match entry {
                JournalEntry::Call { call, .. } => {
                    tape.calls.insert(call.id, call);
                }
                JournalEntry::Outcome { id, result, .. } => {
                    tape.outcomes.insert(id, result);
                }
                JournalEntry::Delivered(delivered) => tape.delivered.push_back(delivered),
                JournalEntry::Ended { .. } => {}
            }
        }
        tape
    }

    /// Plays the tape to a fresh worker. `then` is how the recorded run ended, for the point where
    /// the tape is over and the guest still waits.
    async fn play(
        &self,
        mut worker: Worker,
        start: ProgramStart,
        then: Option<&ProgramError>,
    ) -> Result<(Ended, Vec<HostCall>), WorkerError> {
        let limits = start.limits;
        let deadline = Instant::now() + Duration::from_millis(limits.wall_ms + WALL_GRACE_MS);
        let mut delivered = self.delivered.iter();
        let mut made = Vec::new();
        let mut ended = Ended {
            result: Ok(None),
            printed: Printed::default(),
            warnings: Vec::new(),
            effects: Effects::default(),
            emitted: Vec::new(),
            calls: 0,
            rounds: 0,
            unheard: false,
        };
        // Of executions recorded before workers asked about their programs.
        let mut unrecorded_check = false;
        let begun_us = start.now_us;
        let start = ToWorker::Start(Box::new(start));
        worker.send(&start, &limits).await?;
        ended.result = loop {
            let frame = match timeout_at(deadline, worker.receive()).await {
                Ok(frame) => frame,
                Err(_) => break Err(ended_outside(then)),
            };
            match frame {
                Ok(FromWorker::Call(call))
                    if call.id == CallId::CHECK && !self.calls.contains_key(&call.id) =>
                {
                    unrecorded_check = true;
                }
                Ok(FromWorker::Call(call)) => made.push(call),
                Ok(FromWorker::Idle(_)) if unrecorded_check => {
                    unrecorded_check = false;
                    let frame = ToWorker::Deliver(let_run(begun_us));
                    worker.send(&frame, &limits).await?;
                }
                Ok(FromWorker::Log(line)) => ended.printed.push(line.stream, &line.text),
                Ok(FromWorker::Idle(_)) => match delivered.next() {
                    Some(next) => {
                        let frame = ToWorker::Deliver(self.delivery(next));
                        worker.send(&frame, &limits).await?;
                    }
                    None => break Err(ended_outside(then)),
                },
                Ok(FromWorker::Done(done)) => {
                    ended.warnings = done.warnings;
                    ended.printed.dropped = done.log_bytes_dropped;
                    break done.result.map_err(ProgramError::from);
                }
                Ok(FromWorker::Ready(_)) | Err(_) => break Err(ended_outside(then)),
            }
        };
        worker.kill().await;
        Ok((ended, made))
    }

    fn delivery(&self, delivered: &Delivered) -> Delivery {
        let results = delivered.calls.iter().filter_map(|id| {
            let result = self.outcomes.get(id)?;
            Some(CallResult {
                id: *id,
                result: result
                    .clone()
                    .map_err(|error| serde_json::to_string(&error).unwrap_or_default()),
            })
        });
        Delivery {
            now_us: delivered.now_us,
            results: results.collect(),
        }
    }
}

/// The answer to a check that lets the program run.
fn let_run(now_us: u64) -> Delivery {
    Delivery {
        now_us,
        results: vec![CallResult {
            id: CallId::CHECK,
            result: Ok("{}".to_owned()),
        }],
    }
}

/// The end of a run that did not end by itself: the recorded one when it was of that kind too.
fn ended_outside(then: Option<&ProgramError>) -> ProgramError {
    match then {
        Some(error)
            if matches!(
                error.kind,
                ErrorKind::Timeout
                    | ErrorKind::CpuLimit
                    | ErrorKind::MemoryLimit
                    | ErrorKind::CallLimit
                    | ErrorKind::NeverSettles
                    | ErrorKind::Cancelled
                    | ErrorKind::WorkerLost
            ) =>
        {
            error.clone()
        }
        Some(_) | None => words::never_settles(),
    }
}

fn compare(
    recorded: &Envelope,
    replayed: &Envelope,
    calls: &BTreeMap<CallId, HostCall>,
    made: &[HostCall],
) -> Vec<String> {
    let mut differences = Vec::new();
    let value = |envelope: &Envelope| envelope.value.as_ref().map(|value| value.get().to_owned());
    if value(recorded) != value(replayed) {
        differences.push("the value differs".to_owned());
    }
    if recorded.stdout != replayed.stdout || recorded.stderr != replayed.stderr {
        differences.push("the printed text differs".to_owned());
    }
    let error = |envelope: &Envelope| {
        envelope
            .error
            .as_ref()
            .map(|error| (error.kind, error.message.clone(), error.line))
    };
    if error(recorded) != error(replayed) {
        differences.push("the error differs".to_owned());
    }
    let first = calls.values().zip(made).find(|(then, now)| then != now);
    if let Some((then, _)) = first {
        differences.push(format!("call {} differs", then.id));
    } else if calls.len() != made.len() {
        differences.push(format!(
            "{} calls were made, {} are in the journal",
            made.len(),
            calls.len()
        ));
    }
    differences
}
