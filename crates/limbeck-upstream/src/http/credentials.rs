//! Source of the tokens of a server.

use std::sync::Arc;

use futures::future::BoxFuture;
use secrecy::SecretString;

use crate::error::UpstreamError;

/// Source of tokens for one HTTP server.
///
/// Called before every request, so an implementation keeps its tokens in memory and shares one refresh between
/// concurrent callers.
pub trait CredentialSource: Send + Sync + 'static {
    /// Returns the value of `Authorization` for the next request (`Bearer …`), refreshed when it is about to
    /// expire; `None` without a token. It is sent to the origin of the server's url only.
    fn authorization(&self) -> BoxFuture<'_, Result<Option<SecretString>, UpstreamError>>;

    /// Handles a response with `status` 401 or 403 and its `WWW-Authenticate`.
    ///
    /// After `Ok(true)` the request is sent once more with a new [`Self::authorization`]: a server checks the token before it
    /// acts on a request. Otherwise the request fails with [`UpstreamError::SignInNeeded`], and counts as sent: a server
    /// that broke this rule may have acted on it.
    fn refused(
        &self,
        status: u16,
        www_authenticate: Option<&str>,
    ) -> BoxFuture<'_, Result<bool, UpstreamError>>;

    /// Returns the source of another principal, never with the tokens of the user who runs the gateway. `None`
    /// when the tokens are shared by all principals.
    fn of(&self, principal: &str) -> Option<Arc<dyn CredentialSource>> {
        let _ = principal;
        None
    }
}
