//! What the configuration says about signing in to one server, as values.

use std::fmt;
use std::sync::Arc;

use secrecy::SecretString;
use url::Url;

use super::error::OAuthError;
use crate::http::{SecretReference, SecretResolver};

/// How to get tokens for one server. The default asks the server for everything.
#[derive(Clone, Debug, Default)]
pub struct OAuthSettings {
    /// Client registered with the authorization server beforehand.
    pub client_id: Option<String>,
    /// Its secret, when it has one.
    pub client_secret: Option<Secret>,
    /// Scopes to ask for; empty means those the server asks for.
    pub scopes: Vec<String>,
    /// Where a document that describes this client is published (CIMD), for authorization servers
    /// that take such an address for a client id.
    pub client_metadata_url: Option<String>,
    /// Port of the redirect on this machine; absent means any.
    pub callback_port: Option<u16>,
    /// Metadata of the authorization server, in place of discovery.
    pub metadata_url: Option<Url>,
    /// How a token is got.
    pub grant: Grant,
    /// Whether the user who runs us lets every principal call with the tokens of this sign-in.
    pub shared: bool,
}

/// A secret of an entry.
#[derive(Clone)]
pub enum Secret {
    /// As it stands.
    Value(SecretString),
    /// Kept elsewhere, and looked up each time it is needed.
    Elsewhere {
        /// Where.
        reference: SecretReference,
        /// Who looks.
        resolver: Arc<dyn SecretResolver>,
    },
}

impl Secret {
    /// Reads `env:NAME`, `file:PATH`, `keychain:SERVICE/ACCOUNT` and `exec:COMMAND` as references; everything
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

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::Value(text.into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(_) => f.write_str("(hidden)"),
            Self::Elsewhere { reference, .. } => write!(f, "{reference}"),
        }
    }
}

/// How a token is got.
#[derive(Clone, Debug, Default)]
pub enum Grant {
    /// A person signs in, once.
    #[default]
    AuthorizationCode,
    /// The client itself is the account: `client_id` with `client_secret`.
    ClientSecret,
    /// The client itself is the account and signs for it (RFC 7523).
    PrivateKey {
        /// Private key, PEM.
        key: Secret,
        /// `RS256`, `RS384`, `RS512`, `ES256` or `ES384`.
        algorithm: KeyAlgorithm,
    },
}

/// Algorithms a client may sign with.
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
    /// By its JOSE name.
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
    /// The secret of the client, looked up.
    pub(super) async fn secret(&self) -> Result<Option<SecretString>, OAuthError> {
        match &self.client_secret {
            Some(secret) => secret.get().await.map(Some),
            None => Ok(None),
        }
    }
}

impl Grant {
    /// Whether a new token can be had without a person.
    pub(super) fn is_unattended(&self) -> bool {
        match self {
            Self::AuthorizationCode => false,
            Self::ClientSecret | Self::PrivateKey { .. } => true,
        }
    }
}
