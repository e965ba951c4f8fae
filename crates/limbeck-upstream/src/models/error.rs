//! Errors of a provider of models, each with a hint for the user.

use limbeck_domain::{CallCode, CallError};

/// Failure to get an answer of a model. No variant holds any part of the key.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ModelError {
    /// The API key could not be looked up; nothing was sent.
    #[error("the key of the provider cannot be read: {reason}")]
    Key {
        /// Reason, without any part of the key.
        reason: String,
    },
    /// The connection failed, or the address is not allowed.
    #[error("{reason}")]
    Unreachable {
        /// Reason, including the provider's origin.
        reason: String,
    },
    /// The answer was not complete in time.
    #[error("`{origin}` took longer than {ms} ms")]
    Late {
        /// Scheme, host and port.
        origin: String,
        /// Time limit in milliseconds.
        ms: u64,
    },
    /// The answer ended before its end.
    #[error("the answer of `{origin}` was cut off: {reason}")]
    Cut {
        /// Scheme, host and port.
        origin: String,
        /// How it ended.
        reason: String,
        /// Bytes of the answer's text that had arrived.
        answer_bytes: usize,
    },
    /// The provider answered with a redirect.
    #[error("`{origin}` answered with a redirect, which is not followed")]
    Redirected {
        /// Scheme, host and port.
        origin: String,
    },
    /// The provider answered with an error status.
    #[error("`{origin}` answered HTTP {status}{said}")]
    Refused {
        /// Scheme, host and port.
        origin: String,
        /// HTTP status.
        status: u16,
        /// Reason of the provider after a colon, cleaned and cut; empty without one.
        said: String,
    },
    /// The provider reported an error inside of its answer.
    #[error("`{origin}` reported an error in its answer{said}")]
    Reported {
        /// Scheme, host and port.
        origin: String,
        /// Its words after a colon, cleaned and cut; empty without any.
        said: String,
    },
    /// The answer is not one of a model.
    #[error("`{origin}` answered with {problem}")]
    Answer {
        /// Scheme, host and port.
        origin: String,
        /// What is wrong, without quoting the answer.
        problem: String,
    },
}

impl ModelError {
    /// Whether the provider may have got the question.
    pub fn was_sent(&self) -> bool {
        match self {
            Self::Key { .. } | Self::Unreachable { .. } => false,
            Self::Late { .. }
            | Self::Cut { .. }
            | Self::Redirected { .. }
            | Self::Refused { .. }
            | Self::Reported { .. }
            | Self::Answer { .. } => true,
        }
    }

    /// The error as a program reads it.
    pub fn to_call_error(&self) -> CallError {
        let (code, is_retryable) = match self {
            Self::Key { .. } => (CallCode::ServerUnavailable, false),
            Self::Unreachable { .. } => (CallCode::ServerUnavailable, true),
            Self::Late { .. } => (CallCode::Timeout, true),
            Self::Cut { .. } => (CallCode::ConnectionLost, true),
            Self::Refused { status, .. } => {
                (CallCode::UpstreamError, *status == 429 || *status >= 500)
            }
            Self::Reported { .. } => (CallCode::UpstreamError, true),
            Self::Redirected { .. } | Self::Answer { .. } => (CallCode::UpstreamError, false),
        };
        let error = CallError::new(code, self.to_string()).with_hint(self.hint());
        if is_retryable {
            error.retryable()
        } else {
            error
        }
    }

    /// One next step for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Key { .. } => "correct `key` of [llm], or set the secret that it refers to",
            Self::Unreachable { .. } => {
                "check that the provider is reachable, or correct `url` of [llm]"
            }
            Self::Late { .. } => "ask for fewer tokens, or raise `timeout_ms` of [llm]",
            Self::Cut { .. } => "ask again",
            Self::Redirected { .. } => "put the address it redirects to into `url` of [llm]",
            Self::Refused {
                status: 401 | 403, ..
            } => "correct `key` of [llm]",
            Self::Refused { status: 429, .. } => "wait, then ask again, or ask for less",
            Self::Refused { status: 404, .. } => "correct `model` and `url` of [llm]",
            Self::Refused { .. } | Self::Reported { .. } => {
                "read what the provider says; a shorter question or another model may work"
            }
            Self::Answer { .. } => {
                "correct `provider` and `url` of [llm]: the answer has another format"
            }
        }
    }
}
