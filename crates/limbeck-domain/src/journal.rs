//! Entries of an execution's journal: everything that entered the guest from outside, in order.
//!
//! [`crate::ProgramStart`] and these entries determine the guest. The rule between them: a
//! [`JournalEntry::Call`] that may write is on disk before the call is sent, and its
//! [`JournalEntry::Outcome`] before the guest gets it with a [`JournalEntry::Delivered`].

use serde::{Deserialize, Serialize};

use crate::{
    ApprovalDecision, ApprovalId, ArtifactId, CallError, CallId, EffectClass, Envelope, HostCall,
    RecordedErasure, Settlement, ToolId, Verdict,
};

/// Delivery of results to the guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivered {
    /// The guest's clock from now on, in microseconds since 1970.
    pub now_us: u64,
    /// Calls whose results are delivered, in this order; empty when only time passed.
    pub calls: Vec<CallId>,
}

/// Text that was removed from a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedText {
    /// Its size.
    pub bytes: usize,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
}

/// One entry. The store keeps their order.
///
/// Tagged from outside (`{"call": {…}}`): an inside tag would make serde buffer bodies of many
/// megabytes, and could not carry the raw JSON of [`Envelope::value`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalEntry {
    /// The worker had the tool calls of the program checked, before the program ran.
    Check {
        /// JSON text of the [`Sites`](crate::Sites) as the worker sent them.
        sites: String,
        /// The answer the worker got.
        verdict: Verdict,
        /// How long the check took, in microseconds.
        took_us: u64,
    },
    /// The types of the program were erased, before it ran.
    Erased(RecordedErasure),
    /// The guest made a host call.
    Call {
        /// The call as the guest made it.
        call: HostCall,
        /// The tool it resolved to; absent when it is not a tool call or was rejected before it was resolved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<ToolId>,
        /// What the arguments were, where retention removed them; the call's body is then empty.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments_removed: Option<RemovedText>,
        /// Idempotency key that is sent with the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// When a call that may write is handed to its server, in microseconds since 1970.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sent_us: Option<u64>,
        /// Line of the program's plan that allowed it, from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan_line: Option<u32>,
        /// Effect of the call; `read` for every call that does not reach a server.
        effect: EffectClass,
        /// Whether it is sent to a server; false for a call that was rejected before.
        sent: bool,
    },
    /// The call ended.
    Outcome {
        /// Id of the call.
        id: CallId,
        /// Result as JSON text, or the error.
        result: Result<String, CallError>,
        /// Duration in microseconds.
        took_us: u64,
        /// Whether the call had no effect at its server after all, such as when the server could not be started.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        not_sent: bool,
    },
    /// The call ended with a part of an artifact: the part that the call asks for. The store keeps the content once, as
    /// long as the journal.
    Part {
        /// Id of the call.
        id: CallId,
        /// The artifact.
        artifact: ArtifactId,
        /// Duration in microseconds.
        took_us: u64,
    },
    /// The call ended with a result that retention removed to make the journal smaller.
    Removed {
        /// Id of the call.
        id: CallId,
        /// What the result was.
        result: RemovedText,
        /// Duration in microseconds.
        took_us: u64,
        /// As in [`JournalEntry::Outcome`].
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        not_sent: bool,
    },
    /// Results were delivered to the guest.
    Delivered(Delivered),
    /// A person is asked about a call, which is not sent before the answer: it represents [`JournalEntry::Call`] until the
    /// intent of the call follows.
    Asked {
        /// The call as the guest made it.
        call: HostCall,
        /// The tool it resolved to.
        tool: ToolId,
        /// The question.
        approval: ApprovalId,
    },
    /// A person is asked about the plan of the program, before its first line runs.
    PlanAsked {
        /// The question.
        approval: ApprovalId,
    },
    /// The program starts, with these lines of its plan accepted.
    PlanSettled {
        /// The question.
        approval: ApprovalId,
        /// Numbers of the lines, from 1.
        lines: Vec<u32>,
    },
    /// A person decided about a call.
    Decided {
        /// The question.
        approval: ApprovalId,
        /// The answer.
        decision: ApprovalDecision,
    },
    /// A person said what happened to a call that was in doubt.
    Settled {
        /// Id of the call.
        call: CallId,
        /// What happened to it.
        how: Settlement,
    },
    /// A process took the execution over, to go on with it.
    Took {
        /// Token of the process.
        owner: String,
        /// Number of the attempt; the first has none, the second 1.
        epoch: u64,
    },
    /// The execution ended.
    Ended {
        /// The whole result.
        envelope: Box<Envelope>,
        /// Whether retention removed the value or printed text from it; its warnings say what.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_cut: bool,
    },
}

/// Start of the record of a check in journals written before [`JournalEntry::Check`] existed.
const CALL_ZERO: &str = r#"{"call":{"call":{"id":0,"#;

/// The parts of a [`CALL_ZERO`] record that are still used.
#[derive(Deserialize)]
struct CallZeroRecord {
    call: CallZeroEntry,
}

#[derive(Deserialize)]
struct CallZeroEntry {
    call: CallZero,
}

#[derive(Deserialize)]
struct CallZero {
    body: String,
}

/// Reads the records of one execution, one at a time and in their order, as they are stored.
///
/// Journals written before [`JournalEntry::Check`] existed have a check as call 0 with `"op": "check"`, its outcome
/// and its delivery. This type is the only place that knows of it: it turns these three records into one
/// [`JournalEntry::Check`], so that such an execution replays. An outcome that is an error becomes the verdict that
/// lets the program run, which is what the worker made of it.
#[derive(Debug, Default)]
pub struct JournalReader {
    /// Body of call 0, kept until its outcome is read.
    sites: String,
}

impl JournalReader {
    /// Reads the next record. `None` for one that is part of another entry.
    ///
    /// # Errors
    ///
    /// When `record` is not a journal entry.
    pub fn read(&mut self, record: &str) -> serde_json::Result<Option<JournalEntry>> {
        if record.starts_with(CALL_ZERO) {
            self.sites = serde_json::from_str::<CallZeroRecord>(record)?
                .call
                .call
                .body;
            return Ok(None);
        }
        Ok(match serde_json::from_str(record)? {
            JournalEntry::Outcome {
                id: CallId(0),
                result,
                took_us,
                ..
            } => Some(JournalEntry::Check {
                sites: std::mem::take(&mut self.sites),
                verdict: result
                    .ok()
                    .and_then(|verdict| serde_json::from_str(&verdict).ok())
                    .unwrap_or_default(),
                took_us,
            }),
            JournalEntry::Delivered(delivered) if delivered.calls == [CallId(0)] => None,
            entry => Some(entry),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EffectClass, HostOp};

    fn read<R: AsRef<str>>(records: &[R]) -> serde_json::Result<Vec<JournalEntry>> {
        let mut reader = JournalReader::default();
        let entries = records
            .iter()
            .filter_map(|record| reader.read(record.as_ref()).transpose());
        entries.collect()
    }

    fn call(id: u32) -> JournalEntry {
        JournalEntry::Call {
            call: HostCall {
                id: CallId(id),
                op: HostOp::Servers,
                head: String::new(),
                body: "{}".to_owned(),
            },
            tool: None,
            arguments_removed: None,
            key: None,
            sent_us: None,
            effect: EffectClass::Read,
            sent: false,
            plan_line: None,
        }
    }

    #[test]
    fn a_check_recorded_as_call_zero_is_read_as_a_check() {
        let records = [
            r#"{"call":{"call":{"id":0,"op":"check","head":"","body":"{\"sites\":[]}"},"effect":"read","sent":false}}"#.to_owned(),
            r#"{"outcome":{"id":0,"result":{"Ok":"{\"warnings\":[\"w\"]}"},"took_us":5}}"#.to_owned(),
            r#"{"delivered":{"now_us":7,"calls":[0]}}"#.to_owned(),
            serde_json::to_string(&call(1)).unwrap(),
            r#"{"delivered":{"now_us":8,"calls":[1]}}"#.to_owned(),
        ];
        let entries = read(&records).unwrap();
        let [
            JournalEntry::Check {
                sites,
                verdict,
                took_us: 5,
            },
            JournalEntry::Call { call, .. },
            JournalEntry::Delivered(delivered),
        ] = entries.as_slice()
        else {
            panic!("{entries:?}")
        };
        assert_eq!(sites, r#"{"sites":[]}"#);
        assert_eq!(verdict.warnings, ["w"]);
        assert_eq!((call.id, delivered.now_us), (CallId(1), 8));
    }

    #[test]
    fn a_check_comes_back_as_it_was_written_and_a_broken_record_is_an_error() {
        let check = JournalEntry::Check {
            sites: r#"{"sites":[]}"#.to_owned(),
            verdict: Verdict::default(),
            took_us: 5,
        };
        let record = serde_json::to_string(&check).unwrap();
        let entries = read(&[record]).unwrap();
        assert!(matches!(entries.as_slice(), [JournalEntry::Check { .. }]));
        assert!(read(&["{}"]).is_err());
    }
}
