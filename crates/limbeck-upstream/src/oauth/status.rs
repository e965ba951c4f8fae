//! Status of a sign-in, from the stored record alone.

use serde::Serialize;

use super::error::OAuthError;
use super::record::now;
use super::server_auth::ServerAuth;
use super::store::RecordLocation;

/// State of the sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SignInState {
    /// There is a token, or one can be requested without the user.
    SignedIn,
    /// There is a token, and the server requests more scopes.
    MoreScopesWanted,
    /// The token has expired and cannot be refreshed.
    Expired,
    /// There is no token.
    SignedOut,
}

/// Status of a sign-in, without secrets.
#[derive(Clone, Debug, Serialize)]
pub struct SignInStatus {
    /// Name of the server.
    pub server: String,
    /// Origin of the server.
    pub url: String,
    /// State of the sign-in.
    pub state: SignInState,
    /// Issuer of the token.
    pub issuer: Option<String>,
    /// Client id the token was issued to.
    pub client_id: Option<String>,
    /// Granted scopes.
    pub scopes: Vec<String>,
    /// Scopes the server has requested since.
    pub wanted: Vec<String>,
    /// Expiry of the access token, in seconds since 1970; absent when the server sent none.
    pub expires_at: Option<u64>,
    /// Whether it is refreshed without the user.
    pub renewable: bool,
    /// `file`, or `earlier` for a file of an earlier system; absent without tokens.
    pub storage: Option<&'static str>,
    /// Path of the file.
    pub file: Option<String>,
}

impl ServerAuth {
    /// Returns the current status of the sign-in.
    ///
    /// # Errors
    ///
    /// When the tokens cannot be read.
    pub async fn status(&self) -> Result<SignInStatus, OAuthError> {
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
            Some(tokens) if tokens.is_expired(now()) && !renewable => SignInState::Expired,
            Some(_) if !wanted.is_empty() => SignInState::MoreScopesWanted,
            Some(_) => SignInState::SignedIn,
        };
        let stored = stored.filter(|_| tokens.is_some());
        let (storage, file) = match &stored {
            Some(RecordLocation::File(file)) => (Some("file"), Some(file)),
            Some(RecordLocation::Earlier(file)) => (Some("earlier"), Some(file)),
            None => (None, None),
        };
        Ok(SignInStatus {
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
            expires_at: tokens.and_then(super::record::TokenSet::expires_at),
            renewable,
            storage,
            file: file.map(|file| file.display().to_string()),
        })
    }
}
