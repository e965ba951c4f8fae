//! Runs an execution again from its journal, with no upstream, and compares.
//!
//! The guest is given what it was given then, in the same order, with the same time. What it asks
//! for is compared with what it asked for, and what it returns and prints with what came back. A
//! run that was ended from outside (time, memory, cancel) must be where it was when that happened.

use std::time::Duration;

use limbeck_domain::limits::WALL_GRACE_MS;
use limbeck_domain::{Envelope, ErrorKind, ExecutionId, HostCall, ProgramError, ProgramStart};
use limbeck_launcher::{Worker, WorkerError};
use limbeck_store::StoreError;
use limbeck_wire::{CheckRequest, FromWorker, Start, ToWorker};
use tokio::time::{Instant, timeout_at};

use super::handle::Executor;
use super::messages;
use super::other_guest::OtherGuest;
use super::outcome::RunOutcome;
use super::playback::Playback;
use super::returned::ended;

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
    /// Its journal lacks results or arguments of calls.
    #[error("results or arguments of execution `{id}` were removed from its journal to save space")]
    Incomplete {
        /// What was asked for.
        id: ExecutionId,
    },
    /// It ran in a guest that this executable does not have.
    #[error(transparent)]
    Guest(#[from] OtherGuest),
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
    /// Host calls the program made this time.
    pub calls: usize,
    /// Where the two runs differ; empty when they do not.
    pub differences: Vec<String>,
}

impl Executor {
    /// Runs an ended execution again from its journal alone.
    ///
    /// # Errors
    ///
    /// [`ReplayError`]; differences between the two runs are in the report.
    pub(crate) async fn replay(&self, id: &str) -> Result<ReplayReport, ReplayError> {
        let record = self.broker.store.execution(id).await?;
        let record = record.ok_or_else(|| ReplayError::Unknown { id: id.to_owned() })?;
        let id = record.row.id.clone();
        let journal = self.broker.store.journal(&id).await?;
        let Some(recorded) = record.envelope else {
            return Err(ReplayError::NotEnded { id });
        };
        let worker = self.workers.take(record.start.language).await?;
        OtherGuest::check(
            &record.start,
            &record.guest_hash,
            &worker.ready().guest_hash,
        )?;
        let mut playback = Playback::read(journal);
        let store = &self.broker.store;
        if !playback.read_artifacts(store, &id).await? {
            return Err(ReplayError::Incomplete { id });
        }
        let (outcome, made) = playback
            .play(worker, record.start, recorded.error.as_ref())
            .await?;
        let envelope = outcome.envelope(id);
        let differences = compare(&recorded, &envelope, &playback, &made);
        Ok(ReplayReport {
            envelope,
            calls: made.calls.len(),
            differences,
        })
    }
}

impl Playback {
    /// Plays the journal to a fresh worker. `then` is how the recorded run ended: it becomes the end of this one when
    /// the journal has no further delivery and the guest still waits.
    async fn play(
        &self,
        mut worker: Worker,
        start: ProgramStart,
        then: Option<&ProgramError>,
    ) -> Result<(RunOutcome, Made), WorkerError> {
        let limits = start.limits;
        let deadline = Instant::now() + Duration::from_millis(limits.wall_ms + WALL_GRACE_MS);
        let mut delivered = self.delivered.iter();
        let mut made = Made::default();
        let mut outcome = RunOutcome::empty();
        let start = ToWorker::Start(Box::new(Start {
            program: start,
            recorded: self.program(),
        }));
        worker.send(&start, &limits).await?;
        outcome.result = loop {
            let frame = match timeout_at(deadline, worker.receive()).await {
                Ok(frame) => frame,
                Err(_) => break Err(ended_outside(then)),
            };
            match frame {
                Ok(FromWorker::Check(check)) => {
                    made.check = Some(check);
                    // The program was refused by a person, or ended while the person thought.
                    if let Some(then) = then.filter(|_| !self.has_started()) {
                        break Err(then.clone());
                    }
                    worker.send(&self.verdict(), &limits).await?;
                }
                // The journal has none: it is of an earlier release.
                Ok(FromWorker::Erased(_)) => {}
                Ok(FromWorker::Call(call)) => made.calls.push(call),
                Ok(FromWorker::Log(line)) => outcome.printed.push(line.stream, &line.text),
                Ok(FromWorker::Idle(_)) => match delivered.next() {
                    Some(next) => {
                        let frame = ToWorker::Deliver(self.delivery(next));
                        worker.send(&frame, &limits).await?;
                    }
                    None => break Err(ended_outside(then)),
                },
                Ok(FromWorker::Done(done)) => {
                    outcome.warnings = done.warnings;
                    outcome.printed.dropped = done.log_bytes_dropped;
                    break ended(done.result, made.calls.len());
                }
                Ok(FromWorker::Ready(_)) | Err(_) => break Err(ended_outside(then)),
            }
        };
        worker.kill().await;
        Ok((outcome, made))
    }
}

/// What the program asked for this time.
#[derive(Debug, Default)]
struct Made {
    check: Option<CheckRequest>,
    calls: Vec<HostCall>,
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
        Some(_) | None => messages::never_settles(),
    }
}

fn compare(
    recorded: &Envelope,
    replayed: &Envelope,
    playback: &Playback,
    made: &Made,
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
    // Executions recorded before programs were checked have no check to compare with.
    if let Some((then, _)) = &playback.check
        && made.check.as_ref() != Some(then)
    {
        differences.push("the calls found in the program differ".to_owned());
    }
    let (calls, made) = (&playback.calls, &made.calls);
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
