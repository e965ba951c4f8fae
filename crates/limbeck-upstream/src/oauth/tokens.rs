//! Access tokens: read, refreshed before they expire, dropped when the server rejects them.
//!
//! A refresh runs in its own task. Its caller may be cancelled, and a refresh token that was already spent must
//! not be lost with it.

use std::sync::Arc;

use futures::future::BoxFuture;
use rmcp::transport::auth::{OAuthClientConfig, WWWAuthenticateParams};
use secrecy::{ExposeSecret as _, SecretString};

use super::discovery::{self, AuthChallenge, explain, is_scope};
use super::error::OAuthError;
use super::login_command::login_command;
use super::record::{RegisteredClient, SignInRecord, TokenSet, now};
use super::sdk::{CapturedCredentials, without_logs};
use super::server_auth::{CHALLENGE_BYTES_MAX, ServerAuth};
use super::store::RecordLocation;
use super::{address, file};
use crate::error::UpstreamError;
use crate::http::CredentialSource;
use crate::sync::lock;

/// A rejected token younger than this, in seconds, was replaced meanwhile by another task or process.
const YOUNG_SECONDS: u64 = 5;
/// Step-ups allowed until the user signs out.
const STEP_UPS_MAX: u32 = 5;

impl CredentialSource for ServerAuth {
    fn authorization(&self) -> BoxFuture<'_, Result<Option<SecretString>, UpstreamError>> {
        Box::pin(async move {
            let token = self.token().await.map_err(|error| self.failure(&error))?;
            Ok(token.map(|token| format!("Bearer {}", token.expose_secret()).into()))
        })
    }

    fn refused(
        &self,
        status: u16,
        www_authenticate: Option<&str>,
    ) -> BoxFuture<'_, Result<bool, UpstreamError>> {
        let challenge = www_authenticate.filter(|text| text.len() <= CHALLENGE_BYTES_MAX);
        let challenge = challenge.map(str::to_owned);
        Box::pin(async move {
            let answered = self.answer_refusal(status, challenge).await;
            answered.map_err(|error| self.failure(&error))
        })
    }

    fn of(&self, principal: &str) -> Option<Arc<dyn CredentialSource>> {
        // A client's own account is shared by all principals.
        if self.settings.shared || self.is_unattended() {
            return None;
        }
        Some(self.for_principal(principal))
    }
}

impl ServerAuth {
    /// Converts the error for a call to the server.
    fn failure(&self, error: &OAuthError) -> UpstreamError {
        match error {
            OAuthError::Expired => UpstreamError::SignInNeeded {
                url: address::shown(&self.url),
                command: login_command(self.name.as_str(), self.slot.principal()),
            },
            error => error.to_upstream(),
        }
    }

    async fn token(&self) -> Result<Option<SecretString>, OAuthError> {
        let Some(record) = self.current_record().await? else {
            return self.first_token().await;
        };
        let Some(tokens) = &record.tokens else {
            return self.first_token().await;
        };
        let renewable = tokens.refresh.is_some() || self.is_unattended();
        if !tokens.needs_refresh(now()) || !renewable {
            // A token that cannot be refreshed is sent as it is; the server decides about its expiry.
            return Ok(Some(tokens.access.clone()));
        }
        match self.renew(Some(tokens.access.clone())).await {
            Ok(tokens) => Ok(Some(tokens.access)),
            Err(error) if error.may_pass() && !tokens.is_expired(now()) => {
                tracing::debug!("the token of `{}` is not renewed yet: {error}", self.name);
                Ok(Some(tokens.access.clone()))
            }
            Err(error) => Err(error),
        }
    }

    async fn first_token(&self) -> Result<Option<SecretString>, OAuthError> {
        if self.is_unattended() {
            let tokens = self.renew(None).await?;
            return Ok(Some(tokens.access));
        }
        Ok(None)
    }

    /// Returns the record, and reads it again only when its file has changed.
    async fn current_record(&self) -> Result<Option<Arc<SignInRecord>>, OAuthError> {
        let stamp = file::stamp(self.slot.path());
        if let (Some(stamp), Some((seen, record))) = (stamp, lock(&self.cached).as_ref())
            && *seen == stamp
        {
            return Ok(Some(record.clone()));
        }
        let Some((record, stored)) = self.read().await? else {
            return Ok(None);
        };
        if matches!(stored, RecordLocation::Earlier(_)) {
            self.adopt(record.clone()).await?;
        }
        let record = Arc::new(record);
        // A file that was replaced meanwhile has another stamp and is read again.
        *lock(&self.cached) = stamp.map(|stamp| (stamp, record.clone()));
        Ok(Some(record))
    }

    /// Stores tokens of an earlier system under this address.
    async fn adopt(&self, record: SignInRecord) -> Result<(), OAuthError> {
        let _refresh = self.refresh_mutex.lock().await;
        // The mutex orders the tasks of this process, the file lock other processes.
        let _lock = self.slot.lock().await?;
        match self.read().await? {
            Some((_, RecordLocation::Earlier(_))) => self.write(record).await,
            _ => Ok(()),
        }
    }

    /// Gets newer tokens than `seen`, once for all concurrent callers.
    async fn renew(&self, seen: Option<SecretString>) -> Result<TokenSet, OAuthError> {
        let Some(this) = self.this.upgrade() else {
            return Err(OAuthError::Expired);
        };
        // Its own task: a cancelled caller must not lose a refresh token that was already spent.
        let renewal = tokio::spawn(async move { this.refresh_once(seen).await });
        match renewal.await {
            Ok(result) => result,
            // The runtime is shutting down, or the task panicked, which has been logged.
            Err(_) => Err(OAuthError::Expired),
        }
    }

    async fn refresh_once(&self, seen: Option<SecretString>) -> Result<TokenSet, OAuthError> {
        let _refresh = self.refresh_mutex.lock().await;
        let _lock = self.slot.lock().await?;
        let record = self.record().await?;
        if let Some(tokens) = &record.tokens {
            let same = seen
                .as_ref()
                .is_some_and(|seen| seen.expose_secret() == tokens.access.expose_secret());
            // Another task or process refreshed while this one waited for the locks.
            if !same && !tokens.needs_refresh(now()) {
                return Ok(tokens.clone());
            }
        }
        if self.is_unattended() {
            without_logs(self.fetch(record)).await
        } else {
            without_logs(self.refresh(record)).await
        }
    }

    /// Refreshes the tokens. Call it under both locks.
    async fn refresh(&self, mut record: SignInRecord) -> Result<TokenSet, OAuthError> {
        let client = self.client_of(&record).await?;
        let Some(tokens) = record
            .tokens
            .clone()
            .filter(|tokens| tokens.refresh.is_some())
        else {
            return Err(OAuthError::Expired);
        };
        let http = self.http();
        let demand = match &record.challenge {
            Some(challenge) => AuthChallenge::Header(challenge.clone()),
            None => AuthChallenge::WithoutHeader,
        };
        let found = discovery::discover(&http, &self.url, &self.settings, &demand).await?;
        if !found.published.issued(&record) {
            // A refresh token must not be sent to another issuer, nor to another token endpoint.
            return Err(OAuthError::Expired);
        }
        let token_origin = found.published.token_origin;
        let issuer = found.published.issuer;
        let mut manager = found.manager;
        let captured = CapturedCredentials::default();
        *lock(&captured.0) = Some(tokens.to_stored(&client.id, issuer.as_deref()));
        manager.set_credential_store(captured.clone());
        // The redirect URI is not used in a refresh.
        let mut config = OAuthClientConfig::new(&client.id, self.url.as_str());
        if let Some(secret) = &client.secret {
            config = config.with_client_secret(secret.expose_secret());
        }
        let configured = manager.configure_client(config);
        configured.map_err(|error| explain(error, &http))?;
        let refreshed = manager.refresh_token().await;
        if let Err(error) = refreshed {
            return Err(self.drop_rejected(record, explain(error, &http)).await);
        }
        let stored = captured.take();
        let tokens = stored.as_ref().map(TokenSet::of).transpose()?.flatten();
        let tokens = tokens.ok_or(OAuthError::Expired)?;
        record.issuer = issuer;
        record.token_origin = Some(token_origin);
        record.client = Some(client);
        // Written before it is used: a rotated refresh token that is lost cannot be requested again.
        record.tokens = Some(tokens.clone());
        self.write(record).await?;
        Ok(tokens)
    }

    /// Client the tokens were issued to; an error when the entry names another one now.
    async fn client_of(&self, record: &SignInRecord) -> Result<RegisteredClient, OAuthError> {
        let client = record.client.clone().ok_or(OAuthError::Expired)?;
        match &self.settings.client_id {
            Some(id) if *id != client.id => Err(OAuthError::Expired),
            Some(_) => Ok(RegisteredClient {
                secret: self.settings.secret().await?.or(client.secret),
                ..client
            }),
            None => Ok(client),
        }
    }

    /// Removes a refresh token that the authorization server rejected; after any other error it is kept.
    async fn drop_rejected(&self, mut record: SignInRecord, error: OAuthError) -> OAuthError {
        let rejected = match &error {
            OAuthError::Expired => true,
            // The server no longer knows a dynamically registered client.
            OAuthError::Refused { error, .. } => {
                error == "invalid_client" && self.settings.client_id.is_none()
            }
            _ => false,
        };
        if !rejected {
            return error;
        }
        if let Some(tokens) = &mut record.tokens {
            tokens.refresh = None;
        }
        match self.write(record).await {
            Ok(()) => OAuthError::Expired,
            Err(error) => error,
        }
    }

    /// Decides whether to repeat a request that the server rejected.
    async fn answer_refusal(
        &self,
        status: u16,
        challenge: Option<String>,
    ) -> Result<bool, OAuthError> {
        let params = challenge
            .as_deref()
            .map(|text| WWWAuthenticateParams::parse(text, &self.url))
            .unwrap_or_default();
        let record = self.current_record().await?;
        let tokens = record.as_ref().and_then(|record| record.tokens.clone());
        match (status, tokens) {
            (403, Some(_)) if params.is_insufficient_scope() => {
                self.step_up(challenge, &params.scope.unwrap_or_default())
                    .await
            }
            (403, _) => Err(OAuthError::Refused {
                what: "request",
                status,
                error: "no reason given".to_owned(),
                description: None,
            }),
            (_, Some(tokens)) => {
                if now().saturating_sub(tokens.received_at) < YOUNG_SECONDS {
                    return Ok(true);
                }
                self.store_challenge(challenge).await?;
                if tokens.refresh.is_none() && !self.is_unattended() {
                    return Err(OAuthError::Expired);
                }
                self.renew(Some(tokens.access)).await.map(|_| true)
            }
            (_, None) => {
                self.store_challenge(challenge).await?;
                if self.is_unattended() {
                    return self.renew(None).await.map(|_| true);
                }
                Err(OAuthError::Expired)
            }
        }
    }

    /// Stores the server's challenge for the next sign-in.
    async fn store_challenge(&self, challenge: Option<String>) -> Result<(), OAuthError> {
        let Some(challenge) = challenge else {
            return Ok(());
        };
        // Avoids a write for every rejected request.
        let known = self.current_record().await?;
        if known.is_some_and(|record| record.challenge.as_ref() == Some(&challenge)) {
            return Ok(());
        }
        let _refresh = self.refresh_mutex.lock().await;
        let _lock = self.slot.lock().await?;
        let mut record = self.record().await?;
        record.challenge = Some(challenge);
        self.write(record).await
    }

    /// Handles a request of the server for more scopes than the token has.
    async fn step_up(&self, challenge: Option<String>, asked: &str) -> Result<bool, OAuthError> {
        let tokens = self.store_step_up(challenge, asked).await?;
        if self.is_unattended() {
            return self.renew(Some(tokens.access)).await.map(|_| true);
        }
        Err(OAuthError::Expired)
    }

    /// Stores the scopes that the server requests.
    ///
    /// A server that requests scopes it was already granted would loop, as would one that requests new scopes
    /// each time; both end in [`OAuthError::ScopesExhausted`].
    async fn store_step_up(
        &self,
        challenge: Option<String>,
        asked: &str,
    ) -> Result<TokenSet, OAuthError> {
        let _refresh = self.refresh_mutex.lock().await;
        let _lock = self.slot.lock().await?;
        let mut record = self.record().await?;
        let tokens = record.tokens.clone().ok_or(OAuthError::Expired)?;
        let mut asked: Vec<String> = asked.split_whitespace().map(str::to_owned).collect();
        asked.retain(|scope| is_scope(scope));
        let exhausted = || OAuthError::ScopesExhausted {
            scopes: super::error::quoted(&asked.join(" ")),
        };
        let held = |scope: &String| {
            record.requested.contains(scope) || tokens.scopes.contains(scope) || scope == "*"
        };
        if asked.iter().all(held) {
            return Err(exhausted());
        }
        let news = asked.iter().any(|scope| !record.wanted.contains(scope));
        if news && record.step_ups >= STEP_UPS_MAX {
            return Err(exhausted());
        }
        record.step_ups += u32::from(news);
        for scope in &asked {
            if !record.wanted.contains(scope) {
                record.wanted.push(scope.clone());
            }
        }
        record.challenge = challenge.or(record.challenge);
        self.write(record).await?;
        Ok(tokens)
    }
}
