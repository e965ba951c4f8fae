//! Errors of an embeddings endpoint, each with a hint for the user.

/// Failure to get vectors from an endpoint. No variant holds any part of the key.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EmbeddingsError {
    /// The API key could not be looked up; nothing was sent.
    #[error("the key cannot be read: {reason}")]
    Key {
        /// Reason, without any part of the key.
        reason: String,
    },
    /// The connection failed or broke, or the address is not allowed.
    #[error("{reason}")]
    Unreachable {
        /// Reason, including the endpoint's origin.
        reason: String,
    },
    /// The response was not complete in time.
    #[error("`{origin}` took longer than {ms} ms")]
    Late {
        /// Scheme, host and port.
        origin: String,
        /// Time limit in milliseconds.
        ms: u64,
    },
    /// The endpoint answered with a redirect.
    #[error("`{origin}` answered with a redirect, which is not followed")]
    Redirected {
        /// Scheme, host and port.
        origin: String,
    },
    /// The endpoint answered with an error status.
    #[error("`{origin}` answered HTTP {status}{said}")]
    Refused {
        /// Scheme, host and port.
        origin: String,
        /// HTTP status.
        status: u16,
        /// Reason of the endpoint after a colon, cleaned and cut; empty without one.
        said: String,
    },
    /// The response is not a valid embeddings response.
    #[error("`{origin}` answered with {problem}")]
    Answer {
        /// Scheme, host and port.
        origin: String,
        /// What is wrong, without quoting the response.
        problem: String,
    },
}

impl EmbeddingsError {
    /// One next step for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Key { .. } => {
                "correct `key` of [search.embeddings], or set the secret it refers to"
            }
            Self::Unreachable { .. } => {
                "start the embeddings server, or correct `url` of [search.embeddings]"
            }
            Self::Late { .. } => {
                "check the embeddings server; while it loads a model, responses take longer"
            }
            Self::Redirected { .. } => {
                "put the address it redirects to into `url` of [search.embeddings]"
            }
            Self::Refused {
                status: 401 | 403, ..
            } => "correct `key` of [search.embeddings]",
            Self::Refused { .. } => {
                "correct `model` and `url` of [search.embeddings]; the url ends before `/embeddings`, often with `/v1`"
            }
            Self::Answer { .. } => {
                "correct `url` of [search.embeddings]: an endpoint with the interface of OpenAI's embeddings"
            }
        }
    }
}
