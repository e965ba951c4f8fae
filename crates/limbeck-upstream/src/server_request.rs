//! Requests of a server to the client: their kinds, and which of them a client can answer.

use limbeck_domain::{ExecutionId, ServerName};
use serde_json::value::RawValue;

/// Requests of a server that a client can answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ClientCapabilities {
    /// `elicitation/create` with a form.
    pub elicitation_form: bool,
    /// `elicitation/create` with a url to open.
    pub elicitation_url: bool,
    /// `sampling/createMessage`.
    pub sampling: bool,
    /// `roots/list`.
    pub roots: bool,
}

impl ClientCapabilities {
    /// No requests.
    pub const NONE: Self = Self {
        elicitation_form: false,
        elicitation_url: false,
        sampling: false,
        roots: false,
    };

    /// All requests.
    pub const ALL: Self = Self {
        elicitation_form: true,
        elicitation_url: true,
        sampling: true,
        roots: true,
    };

    /// Requests that both can answer.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            elicitation_form: self.elicitation_form && other.elicitation_form,
            elicitation_url: self.elicitation_url && other.elicitation_url,
            sampling: self.sampling && other.sampling,
            roots: self.roots && other.roots,
        }
    }

    /// Whether a request of this kind can be answered.
    pub fn can(self, kind: ServerRequestKind) -> bool {
        match kind {
            ServerRequestKind::ElicitationForm => self.elicitation_form,
            ServerRequestKind::ElicitationUrl => self.elicitation_url,
            ServerRequestKind::Sampling => self.sampling,
            ServerRequestKind::Roots => self.roots,
        }
    }
}

/// Kind of a server's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServerRequestKind {
    /// The user fills in a form.
    ElicitationForm,
    /// The user opens a url.
    ElicitationUrl,
    /// The client's model completes a conversation.
    Sampling,
    /// The client lists its workspace folders.
    Roots,
}

impl ServerRequestKind {
    /// Method name in the protocol.
    pub fn method(self) -> &'static str {
        match self {
            Self::ElicitationForm | Self::ElicitationUrl => "elicitation/create",
            Self::Sampling => "sampling/createMessage",
            Self::Roots => "roots/list",
        }
    }
}

/// Request of a server during a call.
#[derive(Clone, Debug)]
pub struct ServerRequest {
    /// Server that sent it. The client must show it to the user.
    pub server: ServerName,
    /// Kind of the request.
    pub kind: ServerRequestKind,
    /// Key of the request in an `input_required` result (SEP-2322).
    pub key: Option<String>,
    /// Number of requests sent together, this one included.
    pub together: usize,
    /// Execution that a question of the gateway itself is about. It waits also when the client answers after a restart; a
    /// server's question does not.
    pub execution: Option<ExecutionId>,
    /// `params` of the request, a JSON object, as the server sent it: at most
    /// [`limbeck_domain::limits::UPSTREAM_LINE_BYTES_MAX`] bytes.
    pub params: Box<RawValue>,
}

/// Reason why a server's request was not answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct DeclinedError {
    /// Lowercase fragment that is sent to the server.
    pub reason: String,
    /// Whether the client does not know the request, and not that it refused or failed.
    pub is_unsupported: bool,
}

impl DeclinedError {
    /// Creates an error with `reason`.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            is_unsupported: false,
        }
    }

    /// Creates the error of a client that does not know the request.
    pub fn unsupported(reason: impl Into<String>) -> Self {
        Self {
            is_unsupported: true,
            ..Self::new(reason)
        }
    }
}
