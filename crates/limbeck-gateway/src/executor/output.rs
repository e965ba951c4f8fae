//! What a run left, as the envelope that is kept.

use limbeck_domain::limits::LOG_BYTES_MAX;
use limbeck_domain::text::cut;
use limbeck_domain::{Effects, Envelope, ErrorKind, ExecutionId, ProgramError};
use limbeck_wire::LogStream;
use serde_json::value::RawValue;

use super::drive::Ended;
use super::status_of;

/// What a program printed, at most [`LOG_BYTES_MAX`] of it.
#[derive(Debug, Default)]
pub(super) struct Printed {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) dropped: u64,
}

impl Printed {
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

/// The whole envelope of an ended run.
pub(super) fn envelope(id: ExecutionId, ended: Ended) -> Envelope {
    let Ended {
        result,
        printed,
        mut warnings,
        effects,
        emitted,
        calls: _,
        rounds: _,
        unheard: _,
    } = ended;
    let (value, error) = match result.map(|value| value.map(RawValue::from_string).transpose()) {
        Ok(Ok(value)) => (value, None),
        Ok(Err(_)) => (None, Some(no_json())),
        Err(error) => (None, Some(error)),
    };
    if printed.dropped > 0 {
        warnings.push(format!(
            "{} bytes of output were dropped, {LOG_BYTES_MAX} are kept; return data instead of printing it",
            printed.dropped
        ));
    }
    Envelope {
        status: status_of(error.as_ref()),
        execution_id: id,
        value,
        stdout: printed.stdout,
        stderr: printed.stderr,
        error,
        warnings,
        effects: (effects != Effects::default()).then_some(effects),
        artifacts: Vec::new(),
        emitted,
    }
}

fn no_json() -> ProgramError {
    ProgramError::new(
        ErrorKind::WorkerLost,
        "the worker sent a value that is no JSON",
    )
    .with_hint("run the program again; the worker was discarded")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(value: String) -> Ended {
        Ended {
            result: Ok(Some(value)),
            ..Ended::before_start(no_json())
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
    fn a_value_that_is_no_json_is_a_lost_worker() {
        let envelope = envelope(ExecutionId::new("ex_1"), ended("{".to_owned()));
        assert_eq!(envelope.error.unwrap().kind, ErrorKind::WorkerLost);
    }
}
