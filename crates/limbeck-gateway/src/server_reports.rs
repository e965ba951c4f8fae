//! Reports on upstream servers and their tools, for users.

use limbeck_catalog::Tool;
use limbeck_domain::{EffectClass, Language};
use serde::Serialize;

/// Report on one server and its tools.
#[derive(Clone, Debug, Serialize)]
pub struct ServerReport {
    /// Key of its entry.
    pub name: String,
    /// File and place of its entry.
    pub source: String,
    /// `ready`, `not_started`, `starting`, `backing_off`, `failed`, `disabled`, `untrusted`, `unsupported`,
    /// `stopped`.
    pub state: &'static str,
    /// How it is reached: `stdio`, `in-process`, `none` when it cannot be.
    pub transport: &'static str,
    /// Generation of the protocol, once connected: `legacy` or `modern`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<&'static str>,
    /// Protocol revision agreed on, once connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Requests in flight.
    pub in_flight: usize,
    /// Requests in the queue.
    pub queued: usize,
    /// Why it is not ready, or its last error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Next step for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
    /// End of its standard error, when it failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// Its tools, in its own order.
    pub tools: Vec<ToolReport>,
    /// Rejected tools, with reasons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<String>,
    /// Tools that its entry switches off.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub switched_off: Vec<String>,
    /// Tools that are held, because their definition is not one that was accepted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<String>,
}

/// Report on one tool.
#[derive(Clone, Debug, Serialize)]
pub struct ToolReport {
    /// Name the server gave it.
    pub name: String,
    /// Exact callable expression.
    pub call: String,
    /// TypeScript signature.
    pub signature: String,
    /// First sentence of its description.
    pub description: String,
    /// What a call may do.
    pub effect: EffectClass,
    /// Time of the last change of its definition, in microseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_us: Option<u64>,
    /// Number of results that did not match the declared output schema.
    #[serde(skip_serializing_if = "is_zero")]
    pub contradictions: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl ToolReport {
    pub(crate) fn of(tool: &Tool, changed_us: Option<u64>) -> Self {
        Self {
            name: tool.id().tool.to_string(),
            call: tool.call_expression(),
            signature: tool.signature(Language::Typescript).to_owned(),
            description: tool.summary(),
            effect: tool.effect(),
            changed_us,
            contradictions: tool
                .observed()
                .map_or(0, |observed| observed.contradictions),
        }
    }
}
