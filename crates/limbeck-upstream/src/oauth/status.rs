//! How the sign-in to a server stands, without asking anybody.

use serde::Serialize;

use super::error::OAuthError;
use super::record::now;
use super::{ServerAuth, Stored};

/// Whether there is a token that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SignInState {
    /// There is a token, or one can be had without a person.
    SignedIn,
    /// There is a token and the server wants one with more scopes.
    MoreScopesWanted,
    /// The token is past its end and nothing renews it.
    Expired,
    /// There is no token.
    SignedOut,
}

/// How a sign-in stands. Holds no secret.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Name of the server.
    pub server: String,
    /// Scheme, host and port of its address.
    pub url: String,
    /// Whether there is a token that can be used.
    pub state: SignInState,
    /// Who issued the token.
    pub issuer: Option<String>,
    /// Client it was issued to.
    pub client_id: Option<String>,
    /// Scopes granted.
    pub scopes: Vec<String>,
    /// Scopes the server has asked for since.
    pub wanted: Vec<String>,
    /// End of the access token, in seconds since 1970; absent when nobody said.
    pub expires_at: Option<u64>,
    /// Whether it is renewed without a person.
    pub renewable: bool,
    /// `file`, or `earlier` for a file of an earlier system; absent without tokens.
    pub storage: Option<&'static str>,
    /// The file.
    pub file: Option<String>,
}

impl ServerAuth {
    /// How the sign-in stands now.
    ///
    /// # Errors
    ///
    /// When the tokens cannot be read.
    pub async fn status(&self) -> Result<Status, OAuthError> {
        let read = self.read().await?;
        let (record, stored) = read.unzip();
        let tokens = record.as_ref().and_then(|record| record.tokens.as_ref());
        let wanted = record.as_ref().map(|record| record.wanted.clone());
        let wanted = wanted.unwrap_or_default();
        let unattended = self.is_unattended();
        let renewable = unattended || tokens.is_some_and(|tokens| tokens.refresh.is_some());
        let state = match tokens {
            None if unattended => SignInState::SignedIn,
            None => SignInState::SignedOut,
            Some(tokens) if tokens.is_over(now()) && !renewable => SignInState::Expired,
            Some(_) if !wanted.is_empty() => SignInState::MoreScopesWanted,
            Some(_) => SignInState::SignedIn,
        };
        let stored = stored.filter(|_| tokens.is_some());
        let (storage, file) = match &stored {
            Some(Stored::File(file)) => (Some("file"), Some(file)),
            Some(Stored::Earlier(file)) => (Some("earlier"), Some(file)),
            None => (None, None),
        };
        Ok(Status {
            server: self.name.as_str().to_owned(),
            url: super::address::shown(&self.url),
            state,
            issuer: record.as_ref().and_then(|record| record.issuer.clone()),
            client_id: record
                .as_ref()
                .and_then(|record| record.client.as_ref())
                .map(|client| client.id.clone()),
            scopes: tokens
                .map(|tokens| tokens.scopes.clone())
                .unwrap_or_default(),
            wanted,
            expires_at: tokens.and_then(super::record::Tokens::expires_at),
            renewable,
            storage,
            file: file.map(|file| file.display().to_string()),
        })
    }
}
