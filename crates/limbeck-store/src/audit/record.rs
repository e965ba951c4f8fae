//! One record: the line of JSON that is chained.

use limbeck_domain::text::cut;
use limbeck_domain::{
    Approval, ApprovalDecision, JournalEntry, PinFacts, ProgramStart, Settlement,
};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::chain::hex;
use super::noted::AuditEvent;

/// Longest text from outside in a record, in bytes: names, reasons and codes are shorter.
const TEXT_BYTES_MAX: usize = 500;

/// A commitment to bytes that the record does not show.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Commitment {
    /// SHA-256 of the record's salt and the bytes.
    sha256: String,
    bytes: usize,
}

impl Commitment {
    pub(super) fn new(salt: &[u8], text: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(salt);
        hash.update(text.as_bytes());
        Self {
            sha256: hex(&hash.finalize()),
            bytes: text.len(),
        }
    }
}

/// What a record says of a pin.
pub(super) struct PinRow {
    pub(super) tool: String,
    pub(super) pinned_sha256: Option<String>,
    pub(super) current_sha256: String,
    pub(super) facts: PinFacts,
}

/// Where a record is in the chains, and what is said of each.
#[derive(Serialize)]
pub(super) struct Head<'a> {
    /// Format of the line.
    pub(super) v: u8,
    pub(super) seq: u64,
    pub(super) time_us: u64,
    pub(super) principal: &'a str,
    /// Number among the records of the principal, from 1.
    pub(super) pseq: u64,
    /// Hash of the principal's record before it.
    pub(super) pprev: &'a str,
}

/// A line: the head, then the event.
#[derive(Serialize)]
pub(super) struct Line<'a> {
    #[serde(flatten)]
    pub(super) head: Head<'a>,
    #[serde(flatten)]
    pub(super) event: &'a Event,
}

/// What happened. Only what an event has is written.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Event {
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    execution: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    program_sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    program_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    /// Lines of a plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approver: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<&'static str>,
    /// Words of a person; the text can be erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Commitment>,
    #[serde(skip)]
    reason_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Commitment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Commitment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    /// Tools in the first list of a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<u64>,
    /// SHA-256 of the accepted definition of a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pinned: Option<String>,
    /// SHA-256 of the definition that its server lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<String>,
    /// Code of an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    took_us: Option<u64>,
    /// Records that were left out before this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped: Option<u64>,
}

impl Event {
    fn new(event: &'static str, execution: &str) -> Self {
        Self {
            event,
            execution: Some(execution.to_owned()),
            ..Self::default()
        }
    }

    /// The definition of a tool changed, or a person said something about it.
    pub(super) fn pin(change: &str, server: &str, pin: &PinRow) -> Self {
        let decided = match change {
            "accepted" => pin.facts.accepted.as_ref(),
            "rejected" => pin.facts.rejected.as_ref(),
            _ => None,
        };
        Self {
            event: "pin",
            status: Some(bounded(change)),
            server: Some(bounded(server)),
            tool: Some(bounded(&pin.tool)),
            pinned: pin.pinned_sha256.as_deref().map(bounded),
            current: Some(bounded(&pin.current_sha256)),
            approver: decided.map(|decided| bounded(&decided.by)),
            channel: decided.map(|_| "cli"),
            ..Self::default()
        }
    }

    /// The first list of a server was taken as what is right.
    pub(super) fn baseline(server: &str, tools: u64) -> Self {
        Self {
            event: "pin",
            status: Some("baseline".to_owned()),
            server: Some(bounded(server)),
            tools: Some(tools),
            ..Self::default()
        }
    }

    /// Pins were forgotten: those of `server`, or of one tool, as `server.tool`.
    pub(super) fn pins_forgotten(server: &str) -> Self {
        Self {
            event: "pin",
            status: Some("forgotten".to_owned()),
            server: Some(bounded(server)),
            ..Self::default()
        }
    }

    /// Something that this version does not know.
    pub(super) fn unknown(kind: &str) -> Self {
        Self {
            status: Some(bounded(kind)),
            event: "unknown",
            ..Self::default()
        }
    }

    /// What belongs to no execution.
    pub(super) fn noted(noted: &AuditEvent, salt: &[u8]) -> Self {
        let text = |text: &Option<String>| text.as_deref().map(bounded);
        Self {
            event: noted.event.as_str(),
            client: text(&noted.client),
            operation: text(&noted.operation),
            server: text(&noted.server),
            tool: text(&noted.tool),
            code: text(&noted.code),
            status: text(&noted.status),
            arguments: noted
                .arguments
                .as_deref()
                .map(|arguments| Commitment::new(salt, arguments)),
            dropped: Some(noted.dropped).filter(|dropped| *dropped > 0),
            ..Self::default()
        }
    }

    /// Whether a salt is needed to check it.
    pub(super) fn has_commitment(&self) -> bool {
        self.arguments.is_some() || self.result.is_some() || self.reason.is_some()
    }

    /// The texts that it commits to and that are kept beside it, as JSON.
    pub(super) fn detail(&self) -> Option<String> {
        let reason = self.reason_text.as_ref()?;
        Some(serde_json::json!({"reason": reason}).to_string())
    }

    /// An execution began.
    pub(super) fn start(execution: &str, client: &str, start: Option<&ProgramStart>) -> Self {
        let program = start.map(|start| start.program.as_str());
        Self {
            client: Some(bounded(client)),
            language: start.and_then(|start| name_of(&start.language)),
            program_sha256: program.map(|program| hex(&Sha256::digest(program))),
            program_bytes: program.map(str::len),
            ..Self::new("start", execution)
        }
    }

    /// A process gave an execution up or took it.
    pub(super) fn lease(event: &'static str, execution: &str, epoch: u64) -> Self {
        Self {
            epoch: Some(epoch),
            ..Self::new(event, execution)
        }
    }

    /// An execution ended.
    pub(super) fn end(
        execution: &str,
        status: &str,
        code: Option<String>,
        calls: Option<u32>,
        took_us: Option<u64>,
    ) -> Self {
        Self {
            status: Some(status.to_owned()),
            code,
            calls,
            took_us,
            ..Self::new("end", execution)
        }
    }

    /// What an entry of a journal says; `None` where it says nothing of its own.
    pub(super) fn entry(execution: &str, entry: &JournalEntry, salt: &[u8]) -> Option<Self> {
        Some(match entry {
            JournalEntry::Call {
                call,
                tool,
                effect,
                sent,
                ..
            } => Self {
                call: Some(call.id.0),
                operation: name_of(&call.op),
                server: tool.as_ref().map(|tool| bounded(tool.server.as_str())),
                tool: tool.as_ref().map(|tool| bounded(&tool.tool)),
                class: Some(effect.as_str()),
                arguments: Some(Commitment::new(salt, &call.body)),
                ..Self::new(if *sent { "intent" } else { "call" }, execution)
            },
            JournalEntry::Outcome {
                id,
                result,
                took_us,
                not_sent,
            } => Self {
                call: Some(id.0),
                result: result.as_ref().ok().map(|text| Commitment::new(salt, text)),
                code: result.as_ref().err().and_then(|error| name_of(&error.code)),
                status: not_sent.then(|| "not_sent".to_owned()),
                took_us: Some(*took_us),
                ..Self::new("outcome", execution)
            },
            JournalEntry::Asked {
                call,
                tool,
                approval,
            } => Self {
                call: Some(call.id.0),
                server: Some(bounded(tool.server.as_str())),
                tool: Some(bounded(&tool.tool)),
                approval: Some(approval.to_string()),
                arguments: Some(Commitment::new(salt, &call.body)),
                ..Self::new("ask", execution)
            },
            JournalEntry::Decided { approval, decision } => Self {
                approval: Some(approval.to_string()),
                ..Self::decided(execution, decision, salt)
            },
            JournalEntry::Settled { call, how } => Self {
                call: Some(call.0),
                decision: Some(match how {
                    Settlement::Happened { .. } => "happened",
                    Settlement::DidNotHappen => "did_not_happen",
                    Settlement::Retry => "retry",
                    Settlement::GiveUp => "give_up",
                }),
                ..Self::new("settle", execution)
            },
            JournalEntry::PlanAsked { approval } => Self {
                approval: Some(approval.to_string()),
                ..Self::new("ask", execution)
            },
            JournalEntry::PlanSettled { approval, lines } => Self {
                approval: Some(approval.to_string()),
                lines: Some(lines.clone()),
                ..Self::new("grant", execution)
            },
            JournalEntry::Check { .. }
            | JournalEntry::Erased(_)
            | JournalEntry::Part { .. }
            | JournalEntry::Removed { .. }
            | JournalEntry::Delivered(_)
            | JournalEntry::Took { .. }
            | JournalEntry::Ended { .. } => return None,
        })
    }

    fn decided(execution: &str, decision: &ApprovalDecision, salt: &[u8]) -> Self {
        let reason = decision.reason.as_deref().map(bounded);
        Self {
            decision: Some(if decision.approve { "approve" } else { "deny" }),
            approver: Some(bounded(&decision.by)),
            channel: Some(decision.channel.as_str()),
            reason: reason
                .as_deref()
                .map(|reason| Commitment::new(salt, reason)),
            reason_text: reason,
            arguments: decision
                .edited
                .as_deref()
                .map(|edited| Commitment::new(salt, edited)),
            ..Self::new("decide", execution)
        }
    }

    /// The state of a question changed otherwise than by a decision.
    pub(super) fn approval(event: &'static str, execution: &str, approval: &Approval) -> Self {
        Self {
            call: Some(approval.call.0),
            server: Some(bounded(approval.tool.server.as_str())),
            tool: Some(bounded(&approval.tool.tool)),
            class: Some(approval.class.as_str()),
            approval: Some(approval.id.to_string()),
            rule: approval.rule.as_deref().map(bounded),
            ..Self::new(event, execution)
        }
    }
}

/// The name that a value without contents has in JSON.
fn name_of(value: &impl Serialize) -> Option<String> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => Some(name),
        Ok(_) | Err(_) => None,
    }
}

fn bounded(text: &str) -> String {
    cut(text, TEXT_BYTES_MAX).to_owned()
}
