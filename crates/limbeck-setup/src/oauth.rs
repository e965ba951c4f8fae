//! Sign-in settings of an HTTP server's entry, as data.

use std::fmt;

/// Sign-in settings of an entry. Secrets are references or values; references are not resolved yet.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OAuthEntry {
    /// No sign-in: an unauthorized response is final.
    pub disabled: bool,
    /// `shared_credentials`: every principal of a gateway over HTTP uses the sign-in of the gateway's user.
    pub shared: bool,
    /// Id of a client that was registered beforehand.
    pub client_id: Option<String>,
    /// Secret of that client.
    pub client_secret: Option<String>,
    /// Scopes to request; empty means those that the server names.
    pub scopes: Vec<String>,
    /// Address of the client metadata document.
    pub client_metadata_url: Option<String>,
    /// Port of the redirect address on this machine.
    pub callback_port: Option<u16>,
    /// Address of the authorization server's metadata.
    pub metadata_url: Option<String>,
    /// Grant by which a token is requested.
    pub grant: GrantEntry,
    /// Private key of the client, as PEM.
    pub private_key: Option<String>,
    /// JOSE name of the signature algorithm; `ES256` when absent.
    pub algorithm: Option<String>,
}

/// OAuth grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GrantEntry {
    /// The user signs in with a browser.
    #[default]
    AuthorizationCode,
    /// The client signs in as itself.
    ClientCredentials,
}

/// Omits the secrets.
impl fmt::Debug for OAuthEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthEntry")
            .field("disabled", &self.disabled)
            .field("client_id", &self.client_id)
            .field("scopes", &self.scopes)
            .field("grant", &self.grant)
            .finish_non_exhaustive()
    }
}
