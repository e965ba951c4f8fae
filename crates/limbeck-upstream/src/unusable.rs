//! Configured servers that must not be connected.

/// Reason why a configured server must not be connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusableServer {
    /// Kind of the reason.
    pub kind: UnusableKind,
    /// Reason as a lowercase fragment.
    pub reason: String,
    /// Next step for the user, where the reason does not say it.
    pub next_step: Option<String>,
}

/// Kind of reason why a server must not be connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnusableKind {
    /// This build does not support its transport.
    Unsupported,
    /// Its configuration entry is invalid.
    Invalid,
    /// A repository added it and the user has not accepted it.
    Untrusted,
}
