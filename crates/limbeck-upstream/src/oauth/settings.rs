//! OAuth settings of one server as values.

use std::fmt;
use std::sync::Arc;

use secrecy::SecretString;
use url::Url;

use super::error::OAuthError;
use crate::http::{SecretReference, SecretResolver};

/// Settings for getting tokens of one server. The default discovers everything.
#[derive(Clone, Debug, Default)]
pub struct OAuthSettings {
    /// Client registered with the authorization server beforehand.
    pub client_id: Option<String>,
    /// Secret of the client, when it has one.
    pub client_secret: Option<ClientSecret>,
    /// Scopes to request; empty uses those of the server.
    pub scopes: Vec<String>,
    /// Url of the document that describes this client (CIMD), for authorization servers that accept such a url
    /// as client id.
    pub client_metadata_url: Option<String>,
    /// Port of the redirect on this machine; `None` is any.
    pub callback_port: Option<u16>,
    /// Url of the authorization server's metadata, in place of discovery.
    pub metadata_url: Option<Url>,
    /// OAuth grant.
    pub grant: OAuthGrant,
    /// Whether the user who runs the gateway lets every principal use the tokens of this sign-in.
    pub shared: bool,
}

/// Secret in a configuration entry.
#[derive(Clone)]
pub enum ClientSecret {
    /// The secret itself.
    Value(SecretString),
    /// A reference, looked up each time it is needed.
    Elsewhere {
        /// Reference to the secret.
        reference: SecretReference,
        /// Lookup of the reference.
        resolver: Arc<dyn SecretResolver>,
    },
}

impl ClientSecret {
    /// Parses `env:NAME`, `file:PATH`, `keychain:SERVICE/ACCOUNT` and `exec:COMMAND` as references; everything
    /// else is the secret itself.
    ///
    /// # Errors
    ///
    /// What is wrong with a reference.
    pub fn parse(text: &str, resolver: &Arc<dyn SecretResolver>) -> Result<Self, String> {
        match SecretReference::parse(text) {
            Some(reference) => Ok(Self::Elsewhere {
                reference: reference?,
                resolver: resolver.clone(),
            }),
            None => Ok(text.into()),
        }
    }

    pub(super) async fn get(&self) -> Result<SecretString, OAuthError> {
        match self {
            Self::Value(secret) => Ok(secret.clone()),
            Self::Elsewhere {
                reference,
                resolver,
            } => {
                let found = resolver.resolve(reference).await;
                found.map_err(|reason| OAuthError::Settings { reason })
            }
        }
    }
}

impl From<&str> for ClientSecret {
    fn from(text: &str) -> Self {
        Self::Value(text.into())
    }
}

impl fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(_) => f.write_str("(hidden)"),
            Self::Elsewhere { reference, .. } => write!(f, "{reference}"),
        }
    }
}

/// OAuth grant.
#[derive(Clone, Debug, Default)]
pub enum OAuthGrant {
    /// The user signs in once (authorization code).
    #[default]
    AuthorizationCode,
    /// The client is the account (client credentials): `client_id` with `client_secret`.
    ClientSecret,
    /// The client itself is the account and signs its requests (RFC 7523).
    PrivateKey {
        /// Private key, PEM.
        key: ClientSecret,
        /// `RS256`, `RS384`, `RS512`, `ES256` or `ES384`.
        algorithm: KeyAlgorithm,
    },
}

/// Signing algorithm of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyAlgorithm {
    /// RSA with SHA-256.
    Rs256,
    /// RSA with SHA-384.
    Rs384,
    /// RSA with SHA-512.
    Rs512,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
}

impl KeyAlgorithm {
    /// Parses the JOSE name of an algorithm.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "RS256" => Self::Rs256,
            "RS384" => Self::Rs384,
            "RS512" => Self::Rs512,
            "ES256" => Self::Es256,
            "ES384" => Self::Es384,
            _ => return None,
        })
    }
}

impl OAuthSettings {
    /// Looks up the secret of the client.
    pub(super) async fn secret(&self) -> Result<Option<SecretString>, OAuthError> {
        match &self.client_secret {
            Some(secret) => secret.get().await.map(Some),
            None => Ok(None),
        }
    }
}

impl OAuthGrant {
    /// Whether a new token can be had without a person.
    pub(super) fn is_unattended(&self) -> bool {
        match self {
            Self::AuthorizationCode => false,
            Self::ClientSecret | Self::PrivateKey { .. } => true,
        }
    }
}
