//! Why there are no vectors, and what to do about it.

/// Why an endpoint gave no vectors. No variant holds any part of the key.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EmbeddingsError {
    /// The key could not be looked up; nothing was sent.
    #[error("the key cannot be had: {reason}")]
    Key {
        /// Why, without any part of it.
        reason: String,
    },
    /// No connection, or one that broke; the address may be one that is not asked.
    #[error("{reason}")]
    Unreachable {
        /// What happened, the endpoint's origin included.
        reason: String,
    },
    /// No whole answer in time.
    #[error("`{origin}` took longer than {ms} ms")]
    Late {
        /// Scheme, host and port.
        origin: String,
        /// The limit.
        ms: u64,
    },
    /// It sends us elsewhere.
    #[error("`{origin}` answered with a redirect, which is not followed")]
    Redirected {
        /// Scheme, host and port.
        origin: String,
    },
    /// It does not want to.
    #[error("`{origin}` answered HTTP {status}{said}")]
    Refused {
        /// Scheme, host and port.
        origin: String,
        /// The status.
        status: u16,
        /// Its reason behind a colon, cleaned and cut; or nothing.
        said: String,
    },
    /// What came is no answer to what was asked.
    #[error("`{origin}` answered with {problem}")]
    Answer {
        /// Scheme, host and port.
        origin: String,
        /// What is wrong with it, in words of ours.
        problem: String,
    },
}

impl EmbeddingsError {
    /// One next step for a person.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Key { .. } => "correct `key` of [search.embeddings], or set what it names",
            Self::Unreachable { .. } => {
                "start what serves the embeddings, or correct `url` of [search.embeddings]"
            }
            Self::Late { .. } => {
                "look at what serves the embeddings; a model that is being loaded answers later"
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
