//! Requests for resources, prompts and completions of a server.

use serde::{Deserialize, Serialize};

/// Method of a request that reads from a server without calling a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ReadMethod {
    /// Params: `{"cursor"?: string}`.
    #[serde(rename = "resources/list")]
    ListResources,
    /// Params: `{"cursor"?: string}`.
    #[serde(rename = "resources/templates/list")]
    ListResourceTemplates,
    /// Params: `{"uri": string}`.
    #[serde(rename = "resources/read")]
    ReadResource,
    /// Params: `{"cursor"?: string}`.
    #[serde(rename = "prompts/list")]
    ListPrompts,
    /// Params: `{"name": string, "arguments"?: {[name: string]: string}}`.
    #[serde(rename = "prompts/get")]
    GetPrompt,
    /// Params: `{"ref": object, "argument": object, "context"?: object}`.
    #[serde(rename = "completion/complete")]
    Complete,
}

impl ReadMethod {
    /// Name of the method in MCP; scopes and journals use the same name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ListResources => "resources/list",
            Self::ListResourceTemplates => "resources/templates/list",
            Self::ReadResource => "resources/read",
            Self::ListPrompts => "prompts/list",
            Self::GetPrompt => "prompts/get",
            Self::Complete => "completion/complete",
        }
    }
}

impl std::fmt::Display for ReadMethod {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}
