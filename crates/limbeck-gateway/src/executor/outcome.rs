//! Outcome of a run, and the envelope that is kept of it.

use std::time::Duration;

use limbeck_domain::limits::LOG_BYTES_MAX;
use limbeck_domain::text::cut;
use limbeck_domain::{
    ApprovalId, Effects, Emitted, Envelope, ErrorKind, ExecutionId, ExecutionStatus, Language,
    ProgramError,
};
use limbeck_wire::LogStream;
use serde_json::value::RawValue;

/// How a run ended and what it left.
#[derive(Debug)]
pub(super) struct RunOutcome {
    /// JSON text of the value; `None` for `undefined`.
    pub(super) result: Result<Option<String>, ProgramError>,
    pub(super) printed: Printed,
    pub(super) warnings: Vec<String>,
    pub(super) effects: Effects,
    pub(super) emitted: Vec<Emitted>,
    pub(super) calls: u32,
    /// Rounds of tool calls: the longest chain of calls that waited for one another.
    pub(super) rounds: u32,
    /// The language that the program is written in, when it is not the one that it was sent as. It was not run then.
    pub(super) written_in: Option<Language>,
    /// The worker was killed from outside before it sent a frame. The run has had no effect then, so the program
    /// may be given to another worker.
    pub(super) worker_lost_silent: bool,
    /// Processor time of its worker.
    pub(super) cpu: Duration,
    /// Set when the run waits for people and has not ended.
    pub(super) paused: Option<PausedRun>,
}

/// A run that waits for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PausedRun {
    /// Wall-clock time that it has left, in milliseconds.
    pub(super) wall_left_ms: u64,
    /// When its earliest timer is due, in microseconds since 1970.
    pub(super) wake_us: Option<u64>,
    /// The questions that it waits for.
    pub(super) questions: Vec<ApprovalId>,
}

impl RunOutcome {
    /// The outcome of a program that never started.
    pub(super) fn not_started(error: ProgramError) -> Self {
        Self {
            result: Err(error),
            ..Self::empty()
        }
    }

    /// The outcome of a program that did nothing yet.
    pub(super) fn empty() -> Self {
        Self {
            result: Ok(None),
            printed: Printed::default(),
            warnings: Vec::new(),
            effects: Effects::default(),
            emitted: Vec::new(),
            calls: 0,
            rounds: 0,
            written_in: None,
            worker_lost_silent: false,
            cpu: Duration::ZERO,
            paused: None,
        }
    }
}

/// What a program printed, at most [`LOG_BYTES_MAX`] of it.
#[derive(Debug, Default)]
pub(super) struct Printed {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) dropped: u64,
}

impl Printed {
    pub(super) fn is_empty(&self) -> bool {
        self.stdout.is_empty() && self.stderr.is_empty()
    }

    /// Adds one `console` call. The wire holds a worker to the bound; this holds the gateway to it.
    pub(super) fn push(&mut self, stream: LogStream, text: &str) {
        let room = LOG_BYTES_MAX.saturating_sub(self.stdout.len() + self.stderr.len());
        let kept = cut(text, room);
        let into = match stream {
            LogStream::Stdout => &mut self.stdout,
            LogStream::Stderr => &mut self.stderr,
        };
        into.push_str(kept);
        into.push('\n');
        self.dropped += (text.len() - kept.len()) as u64;
    }
}

impl RunOutcome {
    /// The whole envelope.
    pub(super) fn envelope(self, id: ExecutionId) -> Envelope {
        let Self {
            result,
            printed,
            mut warnings,
            effects,
            emitted,
            calls: _,
            rounds: _,
            written_in: _,
            worker_lost_silent: _,
            cpu: _,
            paused,
        } = self;
        let (value, error) = match result.map(|value| value.map(RawValue::from_string).transpose())
        {
            Ok(Ok(value)) => (value, None),
            Ok(Err(_)) => (None, Some(invalid_json())),
            Err(error) => (None, Some(error)),
        };
        if printed.dropped > 0 {
            warnings.push(format!(
            "{} bytes of the printed text were left out between its beginning and its end, {LOG_BYTES_MAX} are kept; return data instead of printing it",
            printed.dropped
        ));
        }
        Envelope {
            status: match paused {
                Some(_) => ExecutionStatus::Paused,
                None => status_of(error.as_ref()),
            },
            execution_id: id,
            value,
            stdout: printed.stdout,
            stderr: printed.stderr,
            printed_left_out: printed.dropped,
            error,
            warnings,
            effects: (effects != Effects::default()).then_some(effects),
            artifacts: Vec::new(),
            emitted,
            pending: Vec::new(),
            next_step: None,
        }
    }
}

/// Status of a run that ended with `error`.
fn status_of(error: Option<&ProgramError>) -> ExecutionStatus {
    match error.map(|error| error.kind) {
        None => ExecutionStatus::Completed,
        Some(ErrorKind::Cancelled | ErrorKind::ApprovalExpired) => ExecutionStatus::Cancelled,
        Some(
            ErrorKind::Syntax
            | ErrorKind::Contract
            | ErrorKind::Exception
            | ErrorKind::Timeout
            | ErrorKind::CpuLimit
            | ErrorKind::MemoryLimit
            | ErrorKind::StackLimit
            | ErrorKind::OutputLimit
            | ErrorKind::CallLimit
            | ErrorKind::NeverSettles
            | ErrorKind::ApprovalNeeded
            | ErrorKind::Diverged
            | ErrorKind::Busy
            | ErrorKind::Request
            | ErrorKind::WorkerLost
            | ErrorKind::Gateway,
        ) => ExecutionStatus::Failed,
    }
}

fn invalid_json() -> ProgramError {
    ProgramError::new(
        ErrorKind::WorkerLost,
        "the worker sent a value that is not JSON",
    )
    .with_hint("run the program again; the worker was discarded")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn returned(value: String) -> RunOutcome {
        RunOutcome {
            result: Ok(Some(value)),
            ..RunOutcome::not_started(invalid_json())
        }
    }

    #[test]
    fn printed_text_is_kept_up_to_the_bound_and_the_rest_counted() {
        let mut printed = Printed::default();
        printed.push(LogStream::Stdout, "out");
        printed.push(LogStream::Stderr, "err");
        assert_eq!(
            (printed.stdout.as_str(), printed.stderr.as_str()),
            ("out\n", "err\n")
        );
        printed.push(LogStream::Stdout, &"x".repeat(LOG_BYTES_MAX));
        assert_eq!(printed.dropped, 8);
    }

    #[test]
    fn a_value_that_is_not_json_is_a_lost_worker() {
        let envelope = returned("{".to_owned()).envelope(ExecutionId::new("ex_1"));
        assert_eq!(envelope.error.unwrap().kind, ErrorKind::WorkerLost);
    }
}
