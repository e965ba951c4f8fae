//! The journal of an execution: everything that entered it from outside, in order.
//!
//! [`crate::ProgramStart`] and these entries determine the guest. The rule between them: a
//! [`JournalEntry::Call`] that may write is durable before the call leaves, its
//! [`JournalEntry::Outcome`] before the guest hears of it in a [`JournalEntry::Delivered`].

use serde::{Deserialize, Serialize};

use crate::{CallError, CallId, EffectClass, Envelope, HostCall, ToolId};

/// One thing handed to the guest: a call's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivered {
    /// The guest's clock from now on, in microseconds since 1970.
    pub now_us: u64,
    /// The calls answered, in the order the guest hears of them; empty when only time passed.
    pub calls: Vec<CallId>,
}

/// One record. Its place in the order is the store's.
///
/// Tagged from outside (`{"call": {…}}`): an inside tag would make serde buffer bodies of many
/// megabytes, and could not carry the raw JSON of [`Envelope::value`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalEntry {
    /// The guest asked for something.
    Call {
        /// The call as the guest made it.
        call: HostCall,
        /// The tool it resolved to; absent when it is not a tool call or was refused before resolving.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<ToolId>,
        /// What the call may do; `read` for everything that does not reach an upstream.
        effect: EffectClass,
        /// Whether it leaves for an upstream. A call that was refused beforehand did not.
        sent: bool,
    },
    /// The call ended.
    Outcome {
        /// Which call.
        id: CallId,
        /// The answer as JSON text, or why there is none.
        result: Result<String, CallError>,
        /// How long it took, in microseconds.
        took_us: u64,
    },
    /// The guest heard something.
    Delivered(Delivered),
    /// The execution ended.
    Ended {
        /// What came back, whole.
        envelope: Box<Envelope>,
    },
}
