//! Questions to a person before a call is sent, and their answers.
//!
//! An [`Approval`] is asked for exact bytes: it names the call, the tool, its pin and the SHA-256 of the arguments as they
//! will be sent. It is answered once and spent once, in the transaction that writes the intent of the call.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AcceptedLines, CallId, EffectClass, ExecutionId, RememberChoice, RememberOffer, ToolId,
};

/// Id of an approval: `ap_` and 32 hexadecimal digits, which are random.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ApprovalId(Arc<str>);

impl ApprovalId {
    /// Takes any text; whether an approval of this id exists shows only when it is looked up.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// State of an approval. It goes from pending to one of the others, and from approved to spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// No person has decided.
    Pending,
    /// A person allowed the call. It was not sent yet.
    Approved,
    /// A person refused the call.
    Denied,
    /// No person decided in time.
    Expired,
    /// The execution ended, or the call was asked about again, before any person decided.
    Withdrawn,
    /// The call was sent.
    Spent,
}

impl ApprovalState {
    /// Every state.
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::Approved,
        Self::Denied,
        Self::Expired,
        Self::Withdrawn,
        Self::Spent,
    ];

    /// The state as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
            Self::Spent => "spent",
        }
    }

    /// The state of a name that [`ApprovalState::as_str`] returned; `None` for any other text.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }
}

/// Way by which a person is asked and answers. The order is from the weakest to the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalChannel {
    /// The model itself, with the tool `resume`.
    Model,
    /// The client, which vouches that a person answered.
    Client,
    /// A terminal of the user who runs the gateway.
    Cli,
    /// A page that the person opened after signing in.
    Browser,
}

impl ApprovalChannel {
    /// Every channel.
    pub const ALL: [Self; 4] = [Self::Model, Self::Client, Self::Cli, Self::Browser];

    /// The channel as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Client => "client",
            Self::Cli => "cli",
            Self::Browser => "browser",
        }
    }

    /// The channel of a name that [`ApprovalChannel::as_str`] returned; `None` for any other text.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|channel| channel.as_str() == name)
    }
}

/// A question about one call, and its answer once there is one. A question about the [plan](crate::plan) of a program is one
/// about the call [`PLAN_CALL`](crate::PLAN_CALL): its tool is that of the first line, its class that of the most harmful one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// Id.
    pub id: ApprovalId,
    /// Execution that made the call.
    pub execution: ExecutionId,
    /// The call.
    pub call: CallId,
    /// Principal of the execution.
    pub principal: String,
    /// Where the execution was requested from.
    pub origin: String,
    /// The tool.
    pub tool: ToolId,
    /// SHA-256 of the tool's definition, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
    /// JSON text of the arguments, byte for byte as they will be sent.
    pub arguments: String,
    /// SHA-256 of `arguments`, in hexadecimal.
    pub sha256: String,
    /// Class of the tool.
    pub class: EffectClass,
    /// Whose word the class is.
    pub class_from: String,
    /// Rule that asks; absent when the preset does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Preset that asks; absent when a rule does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Reason that the rule gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How the definition of the tool differs from the one that was accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Line of the call in the program, from 1, where the check found one call of this tool alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Where the arguments come from, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub origins: BTreeMap<String, Vec<ArgumentOrigin>>,
    /// Who may decide and how.
    pub terms: ApprovalTerms,
    /// When it was asked, in microseconds since 1970.
    pub created_us: u64,
    /// When it expires, in microseconds since 1970.
    pub expires_us: u64,
    /// Its state.
    pub state: ApprovalState,
    /// The decisions so far, oldest first: several where several people have to approve.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<ApprovalDecision>,
}

/// Where the value of an argument, or a part of it, comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentOrigin {
    /// A constant of the program.
    WrittenAt {
        /// Line of the call, from 1.
        line: u32,
    },
    /// The input of the execution.
    Input,
    /// The program made it from something that is not known.
    Computed,
    /// It has text of the result of a call.
    FromCall {
        /// The call.
        call: CallId,
        /// Its tool.
        tool: ToolId,
        /// How many bytes of the value are in the result.
        bytes: usize,
    },
}

/// Who may decide about a call and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalTerms {
    /// Channels that an approval may come by. A denial may come by any.
    pub channels: Vec<ApprovalChannel>,
    /// Who may approve, as `user:NAME` and `group:NAME`: a person of every list; without lists any person whom a channel lets in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<Vec<String>>,
    /// How many people have to approve.
    pub quorum: u32,
    /// Whether the principal of the execution may not approve.
    pub not_requester: bool,
    /// Arguments that a person may change; `*` for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edit: Vec<String>,
    /// Who may read the values of the arguments, as `user:NAME` and `group:NAME`: a person of every list; without lists every
    /// person who may see the question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub view_arguments: Vec<Vec<String>>,
    /// Calls for which a person may let the answer count too; absent where it counts for this one alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer: Option<Box<RememberOffer>>,
    /// Whether the program receives a denial when no person decides in time; otherwise the execution ends.
    pub deny_on_expiry: bool,
}

/// What one person decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalDecision {
    /// Whether the call may be sent.
    pub approve: bool,
    /// Who decided, from the credential of the channel: `user:NAME`.
    pub by: String,
    /// Way by which the answer came.
    pub channel: ApprovalChannel,
    /// Why, for the program and the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// JSON text of the arguments to send instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<String>,
    /// What is accepted of a plan, where the question is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<AcceptedLines>,
    /// Whether a denial ends the program too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop: bool,
    /// For how long the answer counts for calls that are alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<RememberChoice>,
    /// The remembered choice that this decision was made by, which the person had made with an earlier question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered: Option<String>,
    /// When, in microseconds since 1970.
    pub at_us: u64,
}

/// What happened to a call that was in doubt, by the word of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// It happened. The result is the `CallToolResult` as JSON text, where the person has it.
    Happened {
        /// JSON text of the `CallToolResult`.
        result: Option<String>,
    },
    /// It did not happen. The program may make it again.
    DidNotHappen,
    /// It is decided again and sent again.
    Retry,
    /// No person knows. The program receives an error.
    GiveUp,
}

/// A pending approval as the answer of a paused execution shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingApproval {
    /// Id of the approval.
    pub approval_id: ApprovalId,
    /// Server of the tool.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// Class of the tool.
    pub class: EffectClass,
    /// Line of the call in the program, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Rule that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Reason that the rule gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The arguments of the call, where they are short: they say what is asked. Numbers may lose digits here; the
    /// question itself has the exact bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// Number of the lines of a plan, where the question is about that: tool and line are those of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_lines: Option<u32>,
    /// When it expires, RFC 3339 in UTC.
    pub expires_at: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_and_channels_are_read_back_from_their_names() {
        for state in ApprovalState::ALL {
            assert_eq!(ApprovalState::from_name(state.as_str()), Some(state));
            let json = serde_json::to_value(state).unwrap();
            assert_eq!(json, state.as_str());
        }
        for channel in ApprovalChannel::ALL {
            assert_eq!(ApprovalChannel::from_name(channel.as_str()), Some(channel));
            let json = serde_json::to_value(channel).unwrap();
            assert_eq!(json, channel.as_str());
        }
        assert_eq!(ApprovalState::from_name("Pending"), None);
        assert!(ApprovalChannel::Model < ApprovalChannel::Browser);
    }
}
