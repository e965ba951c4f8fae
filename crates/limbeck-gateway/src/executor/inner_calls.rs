//! Calls of an execution, read from its journal.

use std::collections::BTreeMap;

use limbeck_domain::{
    ArtifactId, CallError, CallId, EffectClass, HostCall, JournalEntry, RemovedText, ToolId,
};
use serde::Serialize;

/// One host call and how it ended.
#[derive(Clone, Debug, Serialize)]
pub struct InnerCall {
    /// The call as the guest made it.
    pub call: HostCall,
    /// The tool it resolved to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolId>,
    /// Size and hash of the arguments, where retention removed them; the call's body is then empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments_removed: Option<RemovedText>,
    /// What it may have done.
    pub effect: EffectClass,
    /// Whether it left for an upstream.
    pub sent: bool,
    /// The answer; absent when the gateway died before it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Result<String, CallError>>,
    /// The artifact that the answer is a part of, where that is recorded instead of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part_of: Option<ArtifactId>,
    /// The answer's size and hash, where retention removed the answer itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<RemovedText>,
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

/// The calls in the order the guest made them.
pub fn inner_calls(journal: &[JournalEntry]) -> Vec<InnerCall> {
    let mut calls: BTreeMap<CallId, InnerCall> = BTreeMap::new();
    for entry in journal {
        match entry {
            JournalEntry::Call {
                call,
                tool,
                arguments_removed,
                effect,
                sent,
                ..
            } => {
                calls.insert(
                    call.id,
                    InnerCall {
                        call: call.clone(),
                        tool: tool.clone(),
                        arguments_removed: arguments_removed.clone(),
                        effect: *effect,
                        sent: *sent,
                        result: None,
                        part_of: None,
                        removed: None,
                        took_us: None,
                    },
                );
            }
            JournalEntry::Outcome {
                id,
                result,
                took_us,
                not_sent,
            } => {
                if let Some(call) = calls.get_mut(id) {
                    call.result = Some(result.clone());
                    call.took_us = Some(*took_us);
                    call.sent &= !not_sent;
                }
            }
            JournalEntry::Part {
                id,
                artifact,
                took_us,
            } => {
                if let Some(call) = calls.get_mut(id) {
                    call.part_of = Some(artifact.clone());
                    call.took_us = Some(*took_us);
                }
            }
            JournalEntry::Removed {
                id,
                result,
                took_us,
                not_sent,
            } => {
                if let Some(call) = calls.get_mut(id) {
                    call.removed = Some(result.clone());
                    call.took_us = Some(*took_us);
                    call.sent &= !not_sent;
                }
            }
            JournalEntry::Check { .. }
            | JournalEntry::Erased(_)
            | JournalEntry::Delivered(_)
            | JournalEntry::Asked { .. }
            | JournalEntry::PlanAsked { .. }
            | JournalEntry::PlanSettled { .. }
            | JournalEntry::Decided { .. }
            | JournalEntry::Settled { .. }
            | JournalEntry::Took { .. }
            | JournalEntry::Ended { .. } => {}
        }
    }
    calls.into_values().collect()
}
