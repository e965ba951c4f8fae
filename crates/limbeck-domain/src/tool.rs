//! Tool definitions, as their servers sent them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ToolId;

/// Effect of a tool call. Unknown counts as write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// Changes nothing; may be repeated after a crash.
    Read,
    /// Changes something.
    Write,
    /// Changes something that cannot be changed back.
    Destructive,
    /// Neither the operator nor a server that the operator trusts said what it does. It may write.
    Unknown,
}

impl EffectClass {
    /// Whether the call may change something, so that it has to be on disk before it is sent.
    pub fn may_write(self) -> bool {
        match self {
            Self::Read => false,
            Self::Write | Self::Destructive | Self::Unknown => true,
        }
    }

    /// The class as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destructive => "destructive",
            Self::Unknown => "unknown",
        }
    }
}

/// The behaviour hints of MCP, decoded leniently: anything but a boolean is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolAnnotations {
    /// `readOnlyHint`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// `destructiveHint`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// `idempotentHint`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
}

/// One tool: the parts of its definition that Limbeck uses, texts already cut and cleaned.
///
/// Made by `upstream` from raw JSON; see `limits` for the bounds on every part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// Server and verbatim name.
    pub id: ToolId,
    /// Human title, when given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description, when given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of the arguments: an object or a boolean.
    pub input_schema: Value,
    /// JSON Schema of `structuredContent`, when declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Behaviour hints.
    #[serde(default)]
    pub annotations: ToolAnnotations,
}

impl ToolDefinition {
    /// Effect class according to the hints; unknown without hints. For listings and warnings: what is sent, recorded and
    /// repeated depends on the class that the policy gives the tool.
    pub fn effect(&self) -> EffectClass {
        match (self.annotations.read_only, self.annotations.destructive) {
            (Some(true), _) => EffectClass::Read,
            (_, Some(true)) => EffectClass::Destructive,
            (Some(false), _) | (None, Some(false)) => EffectClass::Write,
            (None, None) => EffectClass::Unknown,
        }
    }
}
