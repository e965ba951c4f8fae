//! Where the tokens of a server come from.

use std::sync::Arc;

use futures::future::BoxFuture;
use secrecy::SecretString;

use crate::UpstreamError;

/// Tokens for one HTTP server.
///
/// Asked before every request, so an implementation keeps what it knows in memory and lets many
/// callers share one refresh.
pub trait Credentials: Send + Sync + 'static {
    /// Value of `Authorization` for the next request (`Bearer …`), refreshed when it is about to expire;
    /// `None` when there is none yet. It is sent to the origin of the server's url and nowhere else.
    fn authorization(&self) -> BoxFuture<'_, Result<Option<SecretString>, UpstreamError>>;

    /// The server answered `status`, 401 or 403, with this `WWW-Authenticate`.
    ///
    /// `Ok(true)` asks [`Self::authorization`] again and repeats the request once: the server refused it, so
    /// it had no effect. Otherwise the request fails with [`UpstreamError::SignInNeeded`].
    fn refused(
        &self,
        status: u16,
        www_authenticate: Option<&str>,
    ) -> BoxFuture<'_, Result<bool, UpstreamError>>;

    /// Those of another principal than the user who runs us: never that user's own. `None` when they
    /// belong to nobody in particular, so that everybody is served with them.
    fn of(&self, principal: &str) -> Option<Arc<dyn Credentials>> {
        let _ = principal;
        None
    }
}
