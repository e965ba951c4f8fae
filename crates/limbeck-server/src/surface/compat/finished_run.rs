//! A run that has ended, with what the results of the earlier systems say about it.

use std::collections::BTreeMap;

use limbeck_domain::{Envelope, ErrorKind, ExecutionStatus, HostOp, ToolId};
use limbeck_gateway::InnerCall;

/// Calls that are named one by one.
const CALLS_NAMED_MAX: usize = 500;
/// Tools with numbers of their own.
const TOOLS_COUNTED_MAX: usize = 100;

/// How a program ended, its calls, and the time it took.
#[derive(Clone, Debug)]
pub(super) struct FinishedRun {
    pub(super) envelope: Envelope,
    pub(super) took_ms: u64,
    /// Time that it was given.
    pub(super) timeout_ms: u64,
    pub(super) calls: ToolCalls,
}

/// Calls of tools that reached their servers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ToolCalls {
    /// Full names in the order of the calls, at most [`CALLS_NAMED_MAX`].
    pub(super) made: Vec<String>,
    /// Numbers of each tool, in the order of their first calls, at most [`TOOLS_COUNTED_MAX`].
    pub(super) tools: Vec<ToolCount>,
}

/// Calls of one tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ToolCount {
    /// `mcp__server__tool`
    pub(super) name: String,
    pub(super) succeeded: u64,
    pub(super) failed: u64,
    pub(super) took_us: u64,
    pub(super) last_us: u64,
    /// Message of the last call, when it failed.
    pub(super) last_error: Option<String>,
}

impl ToolCalls {
    /// Calls that were refused before they left are not counted.
    pub(super) fn of(calls: &[InnerCall]) -> Self {
        let mut all = Self::default();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for call in calls {
            let (HostOp::Tool, true, Some(tool)) = (call.call.op, call.sent, &call.tool) else {
                continue;
            };
            let name = full_name(tool);
            if all.made.len() < CALLS_NAMED_MAX {
                all.made.push(name.clone());
            }
            let count = all.tools.len();
            let place = *places.entry(name.clone()).or_insert(count);
            if place == count && count < TOOLS_COUNTED_MAX {
                all.tools.push(ToolCount::new(name));
            }
            if let Some(tool) = all.tools.get_mut(place) {
                tool.add(call);
            }
        }
        all
    }
}

impl ToolCount {
    fn new(name: String) -> Self {
        Self {
            name,
            succeeded: 0,
            failed: 0,
            took_us: 0,
            last_us: 0,
            last_error: None,
        }
    }

    fn add(&mut self, call: &InnerCall) {
        self.last_us = call.took_us.unwrap_or_default();
        self.took_us = self.took_us.saturating_add(self.last_us);
        self.last_error = match &call.result {
            Some(Err(error)) => Some(error.message.clone()),
            Some(Ok(_)) | None => None,
        };
        match self.last_error {
            Some(_) => self.failed += 1,
            None => self.succeeded += 1,
        }
    }

    pub(super) fn calls(&self) -> u64 {
        self.succeeded + self.failed
    }
}

/// The name by which clients list a server's tool.
fn full_name(tool: &ToolId) -> String {
    format!("mcp__{}__{}", tool.server, tool.tool)
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
            Some(ErrorKind::Request | ErrorKind::Busy | ErrorKind::Gateway) => true,
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
        let calls = self.calls.made.iter().map(String::len);
        2 * (value + printed + calls.sum::<usize>()) + blocks.sum::<usize>()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use limbeck_domain::{
        CallCode, CallError, CallId, EffectClass, ExecutionId, HostCall, ProgramError,
    };
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
        }
    }

    /// One call of `mail.send`.
    pub(in super::super) fn call(sent: bool, result: Result<String, CallError>) -> InnerCall {
        InnerCall {
            call: HostCall {
                id: CallId::default(),
                op: HostOp::Tool,
                head: String::new(),
                body: String::new(),
            },
            tool: Some(ToolId::new("mail", "send")),
            arguments_removed: None,
            effect: EffectClass::Write,
            sent,
            result: Some(result),
            part_of: None,
            removed: None,
            took_us: Some(2_500),
        }
    }

    #[test]
    fn calls_are_counted_by_tool_and_refused_ones_are_not() {
        let failed = CallError::new(CallCode::ToolFailed, "the mailbox is full");
        let refused = CallError::new(CallCode::Denied, "no");
        let calls = ToolCalls::of(&[
            call(true, Ok("1".to_owned())),
            call(true, Err(failed)),
            call(false, Err(refused)),
        ]);
        assert_eq!(calls.made, ["mcp__mail__send", "mcp__mail__send"]);
        let [tool] = &calls.tools[..] else {
            panic!("{calls:?}");
        };
        assert_eq!((tool.calls(), tool.failed, tool.took_us), (2, 1, 5_000));
        assert_eq!(tool.last_error.as_deref(), Some("the mailbox is full"));
    }

    #[test]
    fn what_is_named_of_many_calls_is_bounded() {
        let calls: Vec<InnerCall> = (0..2_000)
            .map(|n| InnerCall {
                tool: Some(ToolId::new("s", format!("t{}", n % 150))),
                ..call(true, Ok(String::new()))
            })
            .collect();
        let calls = ToolCalls::of(&calls);
        assert_eq!((calls.made.len(), calls.tools.len()), (500, 100));
        // The tools that have a number have the right one.
        assert_eq!(calls.tools[99].calls(), 13);
    }
}
