//! How a run ends: by its program, by a limit, or because all that is open waits for people.

use std::time::Duration;

use limbeck_domain::limits::WORKER_OVERHEAD_BYTES;
use limbeck_domain::{ErrorKind, ProgramError};
use limbeck_launcher::WorkerError;
use limbeck_wire::{Done, Start, ToWorker};
use tokio::time::Instant;

use super::{Next, Run, RunEnd};
use crate::broker::Shows;
use crate::executor::call_ends::ShownText;
use crate::executor::in_flight_calls::CallSummary;
use crate::executor::outcome::{PausedRun, RunOutcome};
use crate::executor::returned::{ended, is_empty};
use crate::executor::{messages, signals};

impl Run {
    /// Runs until the program, a limit or the client ends it. The worker is killed.
    pub(in crate::executor) async fn finish(mut self) -> RunOutcome {
        let continued = self.continued.as_ref();
        let start = ToWorker::Start(Box::new(Start {
            program: self.start.clone(),
            recorded: continued.and_then(|continued| continued.playback().program()),
        }));
        let end = match self.send(&start, self.deadline).await {
            Ok(()) => self.handle_events().await,
            Err(error) => RunEnd::Ended(Err(error)),
        };
        let result = match end {
            RunEnd::Ended(result) => result,
            RunEnd::Paused => return self.paused(),
        };
        let cpu = self
            .worker
            .usage()
            .map_or(Duration::ZERO, |usage| usage.cpu);
        // The process is not waited for; if this task is dropped, the worker is killed as well.
        tokio::spawn(self.worker.kill());
        // A check that waits for its turn leaves the queue.
        self.check = None;
        for call in std::mem::take(&mut self.emitted_before) {
            self.broker.emit_again(&call).await;
        }
        // A program that returned has its writes finished. One that failed or was cancelled has them cancelled.
        let language = self.written_in.unwrap_or(self.start.language);
        let CallSummary {
            effects,
            rounds,
            warnings,
            wrote,
            failed,
            ignored,
        } = match &result {
            Ok(_) => self.calls.finish(self.deadline, language).await,
            Err(_) => self.calls.cancel().await,
        };
        self.warnings.extend(warnings);
        let result = result.map_err(|error| ProgramError {
            code: failed.code_of(&error),
            ..error
        });
        match &result {
            Ok(value) => {
                let shown = ShownText {
                    value: value.as_deref().unwrap_or_default(),
                    printed: [&self.printed.stdout, &self.printed.stderr],
                };
                self.warnings.extend(ignored.warning(&shown));
            }
            Err(error) => {
                self.warnings.extend(wrote.warning());
                if is_endless(error.kind) {
                    let answers = self.broker.answers_of_endless();
                    let new = answers
                        .into_iter()
                        .filter(|answer| !self.warnings.contains(answer));
                    let new: Vec<String> = new.collect();
                    self.warnings.extend(new);
                } else {
                    self.warnings.extend(self.broker.answers_of_failed());
                }
            }
        }
        RunOutcome {
            result,
            printed: self.printed,
            warnings: self.warnings,
            effects,
            emitted: self.broker.emissions().take(),
            calls: self.calls_made,
            rounds,
            written_in: self.written_in,
            worker_lost_silent: self.killed && !self.has_sent,
            cpu,
            paused: None,
        }
    }

    /// The outcome of a run that waits for people. Its calls wait for answers and have done nothing, so they are dropped.
    fn paused(self) -> RunOutcome {
        let cpu = self
            .worker
            .usage()
            .map_or(Duration::ZERO, |usage| usage.cpu);
        tokio::spawn(self.worker.kill());
        let since = self.quiet_since.unwrap_or_else(Instant::now);
        let wall_left = self.deadline.saturating_duration_since(since);
        let paused = PausedRun {
            wall_left_ms: u64::try_from(wall_left.as_millis()).unwrap_or(u64::MAX),
            wake_us: self.wake_at_us,
            questions: self.broker.asks.pending(),
        };
        let CallSummary {
            effects, warnings, ..
        } = self.calls.drop_waiting();
        RunOutcome {
            printed: self.printed,
            warnings: self.warnings.into_iter().chain(warnings).collect(),
            effects,
            calls: self.calls_made,
            cpu,
            paused: Some(paused),
            ..RunOutcome::empty()
        }
    }

    pub(super) fn end(&mut self, done: Done) -> Next {
        if let Some(continued) = self.continued.take()
            && let Err(error) = continued.check_end()
        {
            return Next::End(Err(error));
        }
        let Done {
            result,
            written_in,
            warnings,
            given_up,
            log_bytes_dropped,
            memory_bytes: _,
        } = done;
        // A worker that made a call before it says so is not believed: a run is repeated only when it did nothing.
        self.written_in = written_in.filter(|_| result.is_err() && self.calls_made == 0);
        self.warnings.extend(warnings);
        self.calls.give_up(given_up);
        let shows = match &result {
            Ok(Some(value)) if is_empty(value) => Some(Shows::EmptyValue),
            // The value of a field that is not there.
            Ok(None)
                if self.printed.is_empty()
                    && self.broker.emissions().is_empty()
                    && self.emitted_before.is_empty() =>
            {
                Some(Shows::Nothing)
            }
            Ok(_) => Some(Shows::Something),
            Err(_) => None,
        };
        if let Some(shows) = shows {
            self.warnings
                .extend(self.broker.answers(self.calls_made, shows));
        }
        let dropped = &mut self.printed.dropped;
        *dropped = dropped.saturating_add(log_bytes_dropped);
        Next::End(ended(result, self.calls_made as usize))
    }

    /// Ends the run when the disk is nearly full, when the journals of its principal have their share of the disk, or when
    /// the worker uses more than the limits allow. The worker limits itself; this holds when the guest has taken it over.
    pub(super) fn check_usage(&self) -> Next {
        let store = &self.broker.context().store;
        if let Err(error) = store.check_disk() {
            return Next::End(Err(messages::disk_low(&error)));
        }
        if let Err(error) = store.check_share(self.broker.principal()) {
            return Next::End(Err(messages::no_room(&error)));
        }
        let limit = self.start.limits.memory_bytes;
        let allowed = (limit + WORKER_OVERHEAD_BYTES) as u64;
        let cpu_ms = self.start.limits.cpu_ms;
        match self.worker.usage() {
            Some(usage) if usage.resident_bytes > allowed => {
                Next::End(Err(messages::memory_limit(usage.resident_bytes, allowed)))
            }
            Some(usage) if usage.cpu > Duration::from_millis(cpu_ms) => {
                Next::End(Err(messages::cpu_limit(cpu_ms)))
            }
            Some(_) | None => Next::Continue,
        }
    }

    pub(super) fn lost(&mut self, error: &WorkerError) -> ProgramError {
        self.killed = match error {
            WorkerError::Ended { exit } => signals::was_killed(*exit),
            WorkerError::Gone | WorkerError::Channel(_) => true,
            WorkerError::Spawn { .. }
            | WorkerError::NotReady { .. }
            | WorkerError::Version { .. }
            | WorkerError::Zygote { .. }
            | WorkerError::Closed
            | WorkerError::Failing(_)
            | WorkerError::Tier { .. }
            | WorkerError::Wire(_)
            | WorkerError::Protocol(_) => false,
        };
        messages::lost(error)
    }

    pub(super) fn out_of_time(&self) -> ProgramError {
        let check = self.check.as_ref();
        let check = check.map(|_| "the check of its calls".to_owned());
        let waiting = check.or_else(|| self.calls.names());
        messages::out_of_time(self.start.limits.wall_ms, waiting)
    }
}

/// Whether a program was ended that would have gone on, and may never have ended.
fn is_endless(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Timeout | ErrorKind::CpuLimit | ErrorKind::CallLimit
    )
}
