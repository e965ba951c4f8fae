//! Who makes a call: when to give up, whom to tell how it goes, and whom to ask when the server asks back.
//!
//! A server may report progress of a call, and may need something before it can finish it: an answer
//! of the user (elicitation), a completion of the client's model (sampling), the client's workspace folders
//! (roots). The pool has neither user nor model, so it passes both on to the [`Caller`] the call came with.
//!
//! Values pass as the raw JSON text of the peer, so the pool adds no opinion about them.

use std::sync::Arc;

use futures::future::BoxFuture;
use limbeck_domain::ServerName;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

/// How one call is made.
#[derive(Clone)]
pub struct CallContext {
    /// Cancelling ends the wait with [`crate::UpstreamError::Cancelled`] and tells the server.
    pub cancel: CancellationToken,
    /// Who made the call. Without one, progress is dropped and whatever the server asks is declined.
    pub caller: Option<Arc<dyn Caller>>,
    /// Whose call it is; absent, that of the user who runs us. A sign-in is used for its owner alone.
    pub principal: Option<Arc<str>>,
}

impl CallContext {
    /// A call of the user who runs us, that nobody listens to and nobody can be asked about.
    pub fn new(cancel: CancellationToken) -> Self {
        Self {
            cancel,
            caller: None,
            principal: None,
        }
    }

    /// The same for somebody else.
    #[must_use]
    pub fn with_principal(mut self, principal: Option<Arc<str>>) -> Self {
        self.principal = principal;
        self
    }

    /// The same with somebody who listens.
    #[must_use]
    pub fn with_caller(mut self, caller: Option<Arc<dyn Caller>>) -> Self {
        self.caller = caller;
        self
    }
}

impl From<CancellationToken> for CallContext {
    fn from(cancel: CancellationToken) -> Self {
        Self::new(cancel)
    }
}

impl std::fmt::Debug for CallContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallContext")
            .field("cancelled", &self.cancel.is_cancelled())
            .field("caller", &self.caller.is_some())
            .field("principal", &self.principal)
            .finish()
    }
}

/// Who made a call: hears its progress, and may answer what the server asks while it is under way.
///
/// Called from the task that serves the server's connection, so both methods return at once; what takes
/// time belongs into the future of [`Caller::ask`].
pub trait Caller: Send + Sync + 'static {
    /// One `notifications/progress` of the call. At most [`PROGRESS_PER_SECOND`] a second reach it, and
    /// `progress` only grows.
    fn progress(&self, progress: Progress);

    /// What this caller can answer at all. The pool declines everything else by itself.
    fn answers(&self) -> Answers;

    /// Puts the server's question to whoever can answer it. The pool drops the future when the call ends or
    /// the time to answer is over.
    ///
    /// # Errors
    ///
    /// [`Declined`] with a reason the server may read.
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Result<Box<RawValue>, Declined>>;

    /// Least severe log messages that the caller wants of a server that sends them only when asked for
    /// (revision 2026-07-28): a level of RFC 5424. Nothing by default.
    fn log_level(&self) -> Option<&'static str> {
        None
    }

    /// `params` of one `notifications/message` that can only be about this call. They count against the
    /// rate of [`Caller::progress`].
    fn log(&self, params: &RawValue) {
        let _ = params;
    }
}

/// Progress notifications of one call that reach its [`Caller`] in a second; more are dropped.
pub const PROGRESS_PER_SECOND: u32 = 20;

/// How far a call is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Finite, larger than in the notification before.
    pub progress: f64,
    /// What it grows to, when the server knows; finite.
    pub total: Option<f64>,
    /// What the server does just now, cleaned and cut.
    pub message: Option<String>,
}

/// Kinds of questions that somebody can answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Answers {
    /// `elicitation/create` with a form.
    pub elicitation_form: bool,
    /// `elicitation/create` with an address to open.
    pub elicitation_url: bool,
    /// `sampling/createMessage`.
    pub sampling: bool,
    /// `roots/list`.
    pub roots: bool,
}

impl Answers {
    /// None of them.
    pub const NONE: Self = Self {
        elicitation_form: false,
        elicitation_url: false,
        sampling: false,
        roots: false,
    };

    /// All of them.
    pub const ALL: Self = Self {
        elicitation_form: true,
        elicitation_url: true,
        sampling: true,
        roots: true,
    };

    /// What both can answer.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            elicitation_form: self.elicitation_form && other.elicitation_form,
            elicitation_url: self.elicitation_url && other.elicitation_url,
            sampling: self.sampling && other.sampling,
            roots: self.roots && other.roots,
        }
    }

    /// Whether a question of this kind can be answered.
    pub fn can(self, kind: AskKind) -> bool {
        match kind {
            AskKind::ElicitationForm => self.elicitation_form,
            AskKind::ElicitationUrl => self.elicitation_url,
            AskKind::Sampling => self.sampling,
            AskKind::Roots => self.roots,
        }
    }
}

/// What a server asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AskKind {
    /// An answer of the user to a form.
    ElicitationForm,
    /// The user's visit to an address.
    ElicitationUrl,
    /// A completion of the client's model.
    Sampling,
    /// The client's workspace folders.
    Roots,
}

impl AskKind {
    /// The method of the request in the protocol.
    pub fn method(self) -> &'static str {
        match self {
            Self::ElicitationForm | Self::ElicitationUrl => "elicitation/create",
            Self::Sampling => "sampling/createMessage",
            Self::Roots => "roots/list",
        }
    }
}

/// A question of a server about a call that is under way.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Who asks. A person who is asked must be told.
    pub server: ServerName,
    /// What it asks for.
    pub kind: AskKind,
    /// Its name among the questions of one answer, when the server gave it one (SEP-2322).
    pub key: Option<String>,
    /// Questions that were asked together with this one, itself included.
    pub together: usize,
    /// `params` of the request, a JSON object, as the server sent it: at most
    /// [`limbeck_domain::limits::UPSTREAM_LINE_BYTES_MAX`] bytes.
    pub params: Box<RawValue>,
}

/// Why a question of a server was not answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Declined {
    /// A lowercase fragment that the server may read.
    pub reason: String,
}

impl Declined {
    /// Declines for `reason`.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}
