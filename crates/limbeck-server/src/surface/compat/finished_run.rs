//! A run that has ended, with what the results of the earlier systems say about it.

use limbeck_domain::{Envelope, ErrorKind, ExecutionStatus};
use limbeck_gateway::{ModelCalls, ToolCalls};

/// How a program ended, its calls, and the time it took.
#[derive(Clone, Debug)]
pub(super) struct FinishedRun {
    pub(super) envelope: Envelope,
    pub(super) took_ms: u64,
    /// Time that it was given.
    pub(super) timeout_ms: u64,
    pub(super) calls: ToolCalls,
    /// Its questions to models.
    pub(super) models: ModelCalls,
}

impl FinishedRun {
    /// Whether it ended with what the program returned.
    pub(super) fn succeeded(&self) -> bool {
        self.envelope.error.is_none() && self.envelope.status == ExecutionStatus::Completed
    }

    pub(super) fn error_kind(&self) -> Option<ErrorKind> {
        self.envelope.error.as_ref().map(|error| error.kind)
    }

    /// Whether no line of the program ran because of the request or the gateway, not because of the program.
    pub(super) fn was_refused(&self) -> bool {
        match self.error_kind() {
            // The gateway may also fail while a program runs: then what it printed and called is in the result.
            Some(ErrorKind::Request | ErrorKind::Busy | ErrorKind::Gateway) => {
                let printed = [&self.envelope.stdout, &self.envelope.stderr];
                self.calls.made.is_empty() && printed.iter().all(|text| text.is_empty())
            }
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
                | ErrorKind::Cancelled
                | ErrorKind::ApprovalNeeded
                | ErrorKind::ApprovalExpired
                | ErrorKind::Diverged
                | ErrorKind::WorkerLost,
            )
            | None => false,
        }
    }

    /// The message of a run that did not succeed; a paused one has no error and says what is waited for.
    pub(super) fn message(&self) -> String {
        match &self.envelope.error {
            Some(error) => error.message.clone(),
            None if self.envelope.status == ExecutionStatus::Paused => {
                let next = self.envelope.next_step.as_deref().unwrap_or_default();
                format!(
                    "the execution {} waits until a person has decided about a call. {next}",
                    self.envelope.execution_id
                )
            }
            None => format!("the execution ended as {}", self.envelope.status.as_str()),
        }
    }

    /// The run with its hint in other words.
    pub(super) fn with_hint(mut self, words: impl Fn(&str) -> String) -> Self {
        let hint = self.envelope.error.as_mut();
        if let Some(hint) = hint.and_then(|error| error.hint.as_mut()) {
            *hint = words(hint);
        }
        self
    }

    /// What a reader does about a failure.
    pub(super) fn hint(&self) -> Option<&str> {
        self.envelope.error.as_ref()?.hint.as_deref()
    }

    /// What else a reader has to know: warnings, and parts of the answer that are kept as artifacts.
    pub(super) fn notes(&self) -> Vec<String> {
        let artifacts = self.envelope.artifacts.iter().map(|artifact| {
            format!(
                "{} has {} bytes; a later program reads it with {}",
                artifact.what, artifact.counts.bytes, artifact.open
            )
        });
        let warnings = self.envelope.warnings.iter().cloned();
        warnings.chain(artifacts).collect()
    }

    /// Bytes of the result that the run becomes, where the same text may be in it twice.
    pub(super) fn bytes(&self) -> usize {
        let value = self.envelope.value.as_ref();
        let value = value.map_or(0, |value| value.get().len());
        let printed = self.envelope.stdout.len() + self.envelope.stderr.len();
        let blocks = self.envelope.emitted.iter().map(|emitted| {
            let block = emitted.block.as_ref().map(|block| block.get().len());
            block.unwrap_or_else(|| emitted.text.as_ref().map_or(0, String::len))
        });
        let calls = self.calls.made.iter();
        let calls = calls.map(|tool| tool.server.as_str().len() + tool.tool.len());
        let asked = self.models.calls.iter();
        let asked = asked.map(|call| {
            call.text.len() + call.system_prompt.len() + call.messages.to_string().len()
        });
        2 * (value + printed + calls.sum::<usize>()) + blocks.sum::<usize>() + asked.sum::<usize>()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use limbeck_domain::{ExecutionId, ProgramError, ToolId};
    use limbeck_gateway::ToolCount;
    use serde_json::value::RawValue;

    use super::*;

    /// A run that ended with a value, an error, or neither, and has printed something.
    pub(in super::super) fn run(
        value: Option<&str>,
        (stdout, stderr): (&str, &str),
        error: Option<ProgramError>,
    ) -> FinishedRun {
        let status = match error {
            None => ExecutionStatus::Completed,
            Some(_) => ExecutionStatus::Failed,
        };
        FinishedRun {
            envelope: Envelope {
                value: value.map(|value| RawValue::from_string(value.to_owned()).unwrap()),
                stdout: stdout.to_owned(),
                stderr: stderr.to_owned(),
                error,
                ..Envelope::new(ExecutionId::new("ex_1"), status)
            },
            took_ms: 1_234,
            timeout_ms: 30_000,
            calls: ToolCalls::default(),
            models: ModelCalls::default(),
        }
    }

    /// One call of `mail.send`.
    pub(in super::super) fn one_call() -> ToolCalls {
        let tool = ToolId::new("mail", "send");
        ToolCalls {
            made: vec![tool.clone()],
            tools: vec![ToolCount {
                tool,
                succeeded: 1,
                failed: 0,
                took_us: 2_500,
                last_us: 2_500,
                last_error: None,
            }],
        }
    }

    #[test]
    fn a_gateway_that_fails_while_a_program_runs_has_refused_nothing() {
        let failed = || Some(ProgramError::new(ErrorKind::Gateway, "the disk is full"));
        assert!(run(None, ("", ""), failed()).was_refused());
        assert!(!run(None, ("printed\n", ""), failed()).was_refused());
        let mut called = run(None, ("", ""), failed());
        called.calls = one_call();
        assert!(!called.was_refused());
    }
}
