//! The calls of an execution, put together from its journal.

use std::collections::BTreeMap;

use limbeck_domain::{CallError, CallId, EffectClass, HostCall, HostOp, JournalEntry, ToolId};
use serde::Serialize;

/// One host call and how it ended.
#[derive(Clone, Debug, Serialize)]
pub struct InnerCall {
    /// The call as the guest made it.
    pub call: HostCall,
    /// The tool it resolved to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolId>,
    /// What it may have done.
    pub effect: EffectClass,
    /// Whether it left for an upstream.
    pub sent: bool,
    /// The answer; absent when the gateway died before it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Result<String, CallError>>,
    /// How long it took, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_us: Option<u64>,
}

impl InnerCall {
    /// What was called, for people: `server.tool`, or the kind of call.
    pub fn label(&self) -> String {
        match &self.tool {
            Some(tool) => tool.to_string(),
            None => self.call.op.as_str().to_owned(),
        }
    }
}

/// The calls in the order the guest made them. What the gateway was asked about the program before it ran is no
/// call of the program's.
pub fn inner_calls(journal: &[JournalEntry]) -> Vec<InnerCall> {
    let mut calls: BTreeMap<CallId, InnerCall> = BTreeMap::new();
    for entry in journal {
        match entry {
            JournalEntry::Call {
                call,
                tool,
                effect,
                sent,
            } => {
                if call.op == HostOp::Check {
                    continue;
                }
                calls.insert(
                    call.id,
                    InnerCall {
                        call: call.clone(),
                        tool: tool.clone(),
                        effect: *effect,
                        sent: *sent,
                        result: None,
                        took_us: None,
                    },
                );
            }
            JournalEntry::Outcome {
                id,
                result,
                took_us,
            } => {
                if let Some(call) = calls.get_mut(id) {
                    call.result = Some(result.clone());
                    call.took_us = Some(*took_us);
                }
            }
            JournalEntry::Delivered(_) | JournalEntry::Ended { .. } => {}
        }
    }
    calls.into_values().collect()
}
