//! Context of one call: its cancellation, its observer, its principal, and the questions that no user saw.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use tokio_util::sync::CancellationToken;

use crate::call_observer::CallObserver;
use crate::send_window::SendPass;
use crate::server_request::ServerRequestKind;
use crate::sync::lock;
use crate::turns::Turn;

/// Context of one call to a server.
#[derive(Clone)]
pub struct CallContext {
    /// Cancelling it ends the wait with [`crate::UpstreamError::Cancelled`] and cancels the request at the
    /// server.
    pub cancel: CancellationToken,
    /// Receives progress and the server's requests. Without one, progress is dropped and requests are declined.
    pub observer: Option<Arc<dyn CallObserver>>,
    /// Principal that makes the call; `None` is the user who runs the gateway. Sign-ins are per principal.
    pub principal: Option<Arc<str>>,
    /// Questions of the server that were declined because no client could be asked.
    pub unasked: UnaskedQuestions,
    /// Place among the calls that the server serves at a time, taken with [`crate::UpstreamPool::place`]; without one
    /// the call waits for it.
    pub place: Option<Arc<Turn>>,
    /// Idempotency key that the request has beside its arguments.
    pub key: Option<RequestKey>,
    /// Permission to hand the call to its server. A call whose pass is void ends with
    /// [`crate::UpstreamError::CancelledUnsent`].
    pub pass: SendPass,
}

/// Idempotency key of a call, beside the arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestKey {
    /// A member of `_meta`.
    Meta {
        /// Its name.
        name: String,
        /// The key.
        value: String,
    },
    /// A header of the HTTP request; a server that is a process does not get it.
    Header {
        /// Its name.
        name: String,
        /// The key.
        value: String,
    },
}

/// Methods of a server's questions that were declined without asking a user. To the server this looks as if the user
/// had declined, so the caller has to know. Clones share the methods.
#[derive(Clone, Debug, Default)]
pub struct UnaskedQuestions(Arc<Mutex<BTreeSet<&'static str>>>);

impl UnaskedQuestions {
    /// Notes a question. A list of workspace folders is not one for a user: without a client there are no folders.
    pub(crate) fn add(&self, kind: ServerRequestKind) {
        if kind != ServerRequestKind::Roots {
            lock(&self.0).insert(kind.method());
        }
    }

    /// The methods, each once.
    pub fn methods(&self) -> Vec<&'static str> {
        lock(&self.0).iter().copied().collect()
    }
}

impl CallContext {
    /// Creates the context of a call by the user who runs the gateway, without an observer.
    pub fn new(cancel: CancellationToken) -> Self {
        Self {
            cancel,
            observer: None,
            principal: None,
            unasked: UnaskedQuestions::default(),
            place: None,
            key: None,
            pass: SendPass::default(),
        }
    }

    /// Sets the principal of the call.
    #[must_use]
    pub fn with_principal(mut self, principal: Option<Arc<str>>) -> Self {
        self.principal = principal;
        self
    }

    /// Sets the observer of the call.
    #[must_use]
    pub fn with_observer(mut self, observer: Option<Arc<dyn CallObserver>>) -> Self {
        self.observer = observer;
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
            .field("observer", &self.observer.is_some())
            .field("principal", &self.principal)
            .field("unasked", &self.unasked)
            .field("place", &self.place.is_some())
            .finish()
    }
}
