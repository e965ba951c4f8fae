//! Host calls of a guest, and their errors.

use serde::{Deserialize, Serialize};

use crate::CallId;

/// Kind of a host call. The number is the one the guest passes to its `host.call` import; 7 is retired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum HostOp {
    /// Call one tool of one upstream. Head: [`ToolTarget`]. Body: the arguments, a JSON object.
    Tool = 1,
    /// Search the catalog. Body: `{"query": string, "limit"?: number, "server"?: string, "detail"?: string}`.
    Search = 2,
    /// Describe a server or a tool. Body: `{"server": string, "tool"?: string}`.
    Describe = 3,
    /// List the servers with their state, or with the body `{"budgets": true}` what is left of the budgets.
    Servers = 4,
    /// Read a key of the principal's store. Body: `{"key": string}`.
    StoreGet = 5,
    /// Write a key of the principal's store. Body: `{"key": string, "value": any}`; null deletes.
    StoreSet = 6,
    /// Read what a server offers besides tools. Body: `{"server": string, "method": string, "params"?: object}`,
    /// the method a [`crate::ReadMethod`].
    Read = 8,
    /// Read, list or keep artifacts of the principal. Body: `{"do": string, "id"?: string, "from"?: number,
    /// "path"?: string, "value"?: any, "name"?: string}`.
    Artifact = 9,
    /// Give the client a content block beside the result. Body: `{"block": any}`.
    Emit = 10,
    /// Keep, find, list or remove skills of the principal. Body: `{"do": "save" | "get" | "find" | "list" | "remove", ...}`.
    Skill = 20,
    /// Read, write, list or remove files of the principal's workspace. Body: `{"do": "list" | "read" | "write" | "remove",
    /// "path"?: string, "text"?: string, "base64"?: string}`.
    Workspace = 21,
    /// Put a question to a model. Body: `{"do": "ask", "prompt": string}` or `{"do": "think", "messages": [{"role": string,
    /// "content": string | blocks}]}`, with `"systemPrompt"?: string, "maxTokens"?: number, "model"?: string, "schema"?: object`.
    Llm = 11,
}

impl HostOp {
    /// Reads the number the guest sent; anything unknown is `None`.
    pub fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            1 => Self::Tool,
            2 => Self::Search,
            3 => Self::Describe,
            4 => Self::Servers,
            5 => Self::StoreGet,
            6 => Self::StoreSet,
            8 => Self::Read,
            9 => Self::Artifact,
            10 => Self::Emit,
            20 => Self::Skill,
            21 => Self::Workspace,
            11 => Self::Llm,
            _ => return None,
        })
    }

    /// Word used in listings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Search => "search",
            Self::Describe => "describe",
            Self::Servers => "servers",
            Self::StoreGet => "store.get",
            Self::StoreSet => "store.set",
            Self::Read => "read",
            Self::Artifact => "artifact",
            Self::Emit => "emit",
            Self::Skill => "skill",
            Self::Workspace => "workspace",
            Self::Llm => "llm",
        }
    }
}

/// Form of a call's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum CallForm {
    /// `tools.s.t(args)`: the unwrapped value; an upstream's `isError` throws.
    #[default]
    Value,
    /// `tools.s.t.raw(args)` and the `callMCPTool` forms: the whole `CallToolResult`, `isError` included.
    Raw,
}

/// Tool that a program named. Untrusted: it is looked up, never interpolated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolTarget {
    /// Server as the program wrote it; absent when `tool` is a full name `mcp__server__tool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Tool as the program wrote it: original name, alias or full name.
    pub tool: String,
    /// Form of the result.
    #[serde(default)]
    pub form: CallForm,
}

/// One host call as it left the guest, its JSON still unparsed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCall {
    /// Number of the call in its execution.
    pub id: CallId,
    /// Kind of the call.
    pub op: HostOp,
    /// JSON text: for [`HostOp::Tool`] a [`ToolTarget`], otherwise empty.
    pub head: String,
    /// JSON text of the arguments.
    pub body: String,
}

/// Stable code of a failed host call, as the program sees it in `error.code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallCode {
    /// No such server is configured.
    UnknownServer,
    /// The server has no such tool.
    UnknownTool,
    /// The arguments do not match the tool's schema; nothing was sent.
    InvalidArguments,
    /// The execution's `tools` patterns or policy do not allow the call; nothing was sent.
    Denied,
    /// The server could not be started or reached.
    ServerUnavailable,
    /// The server did not answer in time. A write may still have happened.
    Timeout,
    /// The connection to the server was lost while the call was in flight. A write may have happened.
    ConnectionLost,
    /// The server returned a protocol error.
    UpstreamError,
    /// The tool ran and returned `isError`.
    ToolFailed,
    /// The server requested input first, and no client could provide it.
    InputRequired,
    /// Result, arguments or number of calls above a limit.
    LimitExceeded,
    /// The execution was cancelled.
    Cancelled,
    /// A person has to approve the call first, and this caller cannot ask. It was not sent.
    ApprovalRequired,
    /// It is not known whether the call happened.
    InDoubt,
    /// The call was in doubt, and a person found that it did not happen.
    NotSent,
    /// There is nothing here that could answer, such as no model.
    Unsupported,
    /// An error of the gateway itself; the message says how to find the details.
    GatewayFault,
}

impl CallCode {
    /// The code as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownServer => "unknown_server",
            Self::UnknownTool => "unknown_tool",
            Self::InvalidArguments => "invalid_arguments",
            Self::Denied => "denied",
            Self::ServerUnavailable => "server_unavailable",
            Self::Timeout => "timeout",
            Self::ConnectionLost => "connection_lost",
            Self::UpstreamError => "upstream_error",
            Self::ToolFailed => "tool_failed",
            Self::InputRequired => "input_required",
            Self::LimitExceeded => "limit_exceeded",
            Self::Cancelled => "cancelled",
            Self::ApprovalRequired => "approval_required",
            Self::InDoubt => "in_doubt",
            Self::NotSent => "not_sent",
            Self::Unsupported => "unsupported",
            Self::GatewayFault => "gateway_fault",
        }
    }
}

/// Error of a host call, as the program sees it (`ToolError`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct CallError {
    /// Stable code.
    pub code: CallCode,
    /// Server, when one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Tool, when one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What happened, a lowercase fragment that carries the values.
    pub message: String,
    /// Next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whether the same call may succeed later, unchanged, without repeating an effect.
    #[serde(default)]
    pub retryable: bool,
}

impl CallError {
    /// An error with a code and a message; the rest is added with the `with_` methods.
    pub fn new(code: CallCode, message: impl Into<String>) -> Self {
        Self {
            code,
            server: None,
            tool: None,
            message: message.into(),
            hint: None,
            retryable: false,
        }
    }

    /// Names the tool the call was for.
    #[must_use]
    pub fn with_target(mut self, server: impl Into<String>, tool: impl Into<String>) -> Self {
        self.server = Some(server.into());
        self.tool = Some(tool.into());
        self
    }

    /// Adds the next step.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Marks the call as safe to retry.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }
}
