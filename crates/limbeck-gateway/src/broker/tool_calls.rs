//! Calls of tools that an execution made, counted while they end: a journal of half a gigabyte is not read again for them.

use std::collections::BTreeMap;

use limbeck_domain::text::cut;
use limbeck_domain::{CallError, CallId, HostOp, JournalEntry, ToolId};

/// Calls that are named one by one.
const CALLS_NAMED_MAX: usize = 500;
/// Tools with numbers of their own.
const TOOLS_COUNTED_MAX: usize = 100;
/// Bytes of an error's message.
const MESSAGE_BYTES_MAX: usize = 1024;

/// Calls of tools that reached their servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCalls {
    /// Tools in the order in which their calls ended; the first 500 calls.
    pub made: Vec<ToolId>,
    /// Numbers of each tool, in the order in which a call of each ended first; the first 100 tools.
    pub tools: Vec<ToolCount>,
}

/// Calls of one tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCount {
    /// The tool.
    pub tool: ToolId,
    /// Calls with a result.
    pub succeeded: u64,
    /// Calls with an error.
    pub failed: u64,
    /// Time of all calls, in microseconds.
    pub took_us: u64,
    /// Time of the last call, in microseconds.
    pub last_us: u64,
    /// Message of the last call, when it failed.
    pub last_error: Option<String>,
}

impl ToolCount {
    /// Calls with and without a result.
    pub fn calls(&self) -> u64 {
        self.succeeded + self.failed
    }
}

/// Count of the calls of one execution.
#[derive(Debug, Default)]
pub(super) struct CallTally {
    open: BTreeMap<CallId, ToolId>,
    places: BTreeMap<ToolId, usize>,
    calls: ToolCalls,
}

impl CallTally {
    /// Counts what an entry of the journal says about a call. One that was refused before it left is not counted.
    pub(super) fn note(&mut self, entry: &JournalEntry) {
        match entry {
            JournalEntry::Call {
                call,
                tool: Some(tool),
                sent: true,
                ..
            } if call.op == HostOp::Tool => {
                self.open.insert(call.id, tool.clone());
            }
            JournalEntry::Outcome {
                id,
                result,
                took_us,
                not_sent,
            } => {
                if let Some(tool) = self.open.remove(id).filter(|_| !not_sent) {
                    self.ended(tool, *took_us, result.as_ref().err());
                }
            }
            _ => {}
        }
    }

    fn ended(&mut self, tool: ToolId, took_us: u64, error: Option<&CallError>) {
        if self.calls.made.len() < CALLS_NAMED_MAX {
            self.calls.made.push(tool.clone());
        }
        let tools = &mut self.calls.tools;
        let place = match self.places.get(&tool) {
            Some(place) => *place,
            None if tools.len() == TOOLS_COUNTED_MAX => return,
            None => {
                tools.push(ToolCount {
                    tool: tool.clone(),
                    succeeded: 0,
                    failed: 0,
                    took_us: 0,
                    last_us: 0,
                    last_error: None,
                });
                self.places.insert(tool, tools.len() - 1);
                tools.len() - 1
            }
        };
        if let Some(count) = tools.get_mut(place) {
            match error {
                Some(_) => count.failed += 1,
                None => count.succeeded += 1,
            }
            count.took_us = count.took_us.saturating_add(took_us);
            count.last_us = took_us;
            count.last_error = error.map(|error| cut(&error.message, MESSAGE_BYTES_MAX).to_owned());
        }
    }

    /// The calls that have ended so far.
    pub(super) fn calls(&self) -> ToolCalls {
        self.calls.clone()
    }
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{CallCode, EffectClass, HostCall};

    use super::*;

    fn made(
        tally: &mut CallTally,
        id: u32,
        tool: &str,
        not_sent: bool,
        result: Result<String, CallError>,
    ) {
        let call = HostCall {
            id: CallId(id),
            op: HostOp::Tool,
            head: String::new(),
            body: String::new(),
        };
        tally.note(&JournalEntry::Call {
            call,
            tool: Some(ToolId::new("mail", tool)),
            arguments_removed: None,
            key: None,
            sent_us: None,
            plan_line: None,
            effect: EffectClass::Write,
            sent: true,
        });
        tally.note(&JournalEntry::Outcome {
            id: CallId(id),
            result,
            took_us: 2_500,
            not_sent,
        });
    }

    #[test]
    fn calls_are_counted_by_tool_and_those_that_never_left_are_not() {
        let mut tally = CallTally::default();
        made(&mut tally, 1, "send", false, Ok("1".to_owned()));
        let full = CallError::new(CallCode::ToolFailed, "the mailbox is full");
        made(&mut tally, 2, "send", false, Err(full));
        let refused = CallError::new(CallCode::ServerUnavailable, "gone");
        made(&mut tally, 3, "send", true, Err(refused));
        let calls = tally.calls();
        assert_eq!(
            calls.made,
            [ToolId::new("mail", "send"), ToolId::new("mail", "send")]
        );
        let [count] = &calls.tools[..] else {
            panic!("{calls:?}");
        };
        assert_eq!((count.calls(), count.failed, count.took_us), (2, 1, 5_000));
        assert_eq!(count.last_error.as_deref(), Some("the mailbox is full"));
    }

    #[test]
    fn what_is_kept_of_many_calls_is_bounded() {
        let mut tally = CallTally::default();
        for id in 0..2_000 {
            let long = CallError::new(CallCode::ToolFailed, "x".repeat(100_000));
            made(&mut tally, id, &format!("t{}", id % 150), false, Err(long));
        }
        let calls = tally.calls();
        assert_eq!((calls.made.len(), calls.tools.len()), (500, 100));
        // A tool that has a number has the right one.
        assert_eq!(calls.tools[99].calls(), 13);
        let kept = calls
            .tools
            .iter()
            .filter_map(|tool| tool.last_error.as_ref());
        assert!(kept.map(String::len).sum::<usize>() <= 100 * 1024);
    }
}
