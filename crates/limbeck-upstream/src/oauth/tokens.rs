//! The token of the next request: read, renewed when it ends, given up when the server refuses it.
//!
//! A renewal runs in a task of its own. Whoever asked may be cancelled; a refresh token that was already
//! spent must not be lost with them.

use std::sync::Arc;

use futures::future::BoxFuture;
use rmcp::transport::auth::{OAuthClientConfig, WWWAuthenticateParams};
use secrecy::{ExposeSecret as _, SecretString};

use super::discovery::{self, Demand, explain, is_scope};
use super::error::OAuthError;
use super::record::{Client, Record, Tokens, now};
use super::{
    CHALLENGE_BYTES_MAX, Captured, ServerAuth, Stored, address, file, login_command, unheard,
};
use crate::UpstreamError;
use crate::http::Credentials;
use crate::sync::lock;

/// A token younger than this many seconds has just come: another task, or a person, was faster.
const YOUNG_SECONDS: u64 = 5;
/// Times a server may ask for more scopes until somebody signs out.
const STEP_UPS_MAX: u32 = 5;

impl Credentials for ServerAuth {
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

    fn of(&self, principal: &str) -> Option<Arc<dyn Credentials>> {
        // A client's own account is nobody's in particular.
        if self.settings.shared || self.is_unattended() {
            return None;
        }
        Some(self.for_principal(principal))
    }
}

impl ServerAuth {
    /// What a call to the server meets.
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
        let Some(record) = self.view().await? else {
            return self.first_token().await;
        };
        let Some(tokens) = &record.tokens else {
            return self.first_token().await;
        };
        let renewable = tokens.refresh.is_some() || self.is_unattended();
        if !tokens.is_ending(now()) || !renewable {
            // The server's clock decides about a token that nobody can renew.
            return Ok(Some(tokens.access.clone()));
        }
        match self.renew(Some(tokens.access.clone())).await {
            Ok(tokens) => Ok(Some(tokens.access)),
            Err(error) if error.may_pass() && !tokens.is_over(now()) => {
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

    /// The record, read again only when its file is another one.
    async fn view(&self) -> Result<Option<Arc<Record>>, OAuthError> {
        let stamp = file::stamp(self.slot.path());
        if let (Some(stamp), Some((seen, record))) = (stamp, lock(&self.seen).as_ref())
            && *seen == stamp
        {
            return Ok(Some(record.clone()));
        }
        let Some((record, stored)) = self.read().await? else {
            return Ok(None);
        };
        if matches!(stored, Stored::Earlier(_)) {
            self.adopt(record.clone()).await?;
        }
        let record = Arc::new(record);
        // A file replaced since has another stamp and is read again.
        *lock(&self.seen) = stamp.map(|stamp| (stamp, record.clone()));
        Ok(Some(record))
    }

    /// Binds tokens of an earlier system to this address from now on.
    async fn adopt(&self, record: Record) -> Result<(), OAuthError> {
        let _turn = self.turn.lock().await;
        let _lock = self.slot.lock().await?;
        match self.read().await? {
            Some((_, Stored::Earlier(_))) => self.write(record).await,
            _ => Ok(()),
        }
    }

    /// Gets other tokens than those with `seen`, once for everybody who asks.
    async fn renew(&self, seen: Option<SecretString>) -> Result<Tokens, OAuthError> {
        let Some(me) = self.me.upgrade() else {
            return Err(OAuthError::Expired);
        };
        let renewal = tokio::spawn(async move { me.renew_in_turn(seen).await });
        match renewal.await {
            Ok(result) => result,
            // The gateway is ending, or it panicked and said so.
            Err(_) => Err(OAuthError::Expired),
        }
    }

    async fn renew_in_turn(&self, seen: Option<SecretString>) -> Result<Tokens, OAuthError> {
        let _turn = self.turn.lock().await;
        let _lock = self.slot.lock().await?;
        let record = self.record().await?;
        if let Some(tokens) = &record.tokens {
            let same = seen
                .as_ref()
                .is_some_and(|seen| seen.expose_secret() == tokens.access.expose_secret());
            if !same && !tokens.is_ending(now()) {
                return Ok(tokens.clone());
            }
        }
        if self.is_unattended() {
            unheard(self.fetch(record)).await
        } else {
            unheard(self.refresh(record)).await
        }
    }

    /// Spends the refresh token. Call it under the locks.
    async fn refresh(&self, mut record: Record) -> Result<Tokens, OAuthError> {
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
            Some(challenge) => Demand::Challenge(challenge.clone()),
            None => Demand::Bare,
        };
        let found = discovery::discover(&http, &self.url, &self.settings, &demand).await?;
        let issuer = found.published.issuer;
        if record.issuer.is_some() && record.issuer != issuer {
            // The refresh token belongs to the former issuer and is not shown to another one.
            return Err(OAuthError::Expired);
        }
        let mut manager = found.manager;
        let captured = Captured::default();
        *lock(&captured.0) = Some(tokens.to_stored(&client.id, issuer.as_deref()));
        manager.set_credential_store(captured.clone());
        // The redirect URI plays no part in a refresh.
        let mut config = OAuthClientConfig::new(&client.id, self.url.as_str());
        if let Some(secret) = &client.secret {
            config = config.with_client_secret(secret.expose_secret());
        }
        let configured = manager.configure_client(config);
        configured.map_err(|error| explain(error, &http))?;
        let refreshed = manager.refresh_token().await;
        if let Err(error) = refreshed {
            return Err(self.give_up(record, explain(error, &http)).await);
        }
        let stored = captured.take();
        let tokens = stored.as_ref().map(Tokens::of).transpose()?.flatten();
        let tokens = tokens.ok_or(OAuthError::Expired)?;
        record.issuer = issuer;
        record.client = Some(client);
        record.tokens = Some(tokens.clone());
        self.write(record).await?;
        Ok(tokens)
    }

    /// The client the tokens were issued to, unless the entry names another one by now.
    async fn client_of(&self, record: &Record) -> Result<Client, OAuthError> {
        let client = record.client.clone().ok_or(OAuthError::Expired)?;
        match &self.settings.client_id {
            Some(id) if *id != client.id => Err(OAuthError::Expired),
            Some(_) => Ok(Client {
                secret: self.settings.secret().await?.or(client.secret),
                ..client
            }),
            None => Ok(client),
        }
    }

    /// A refresh token the authorization server refuses is not shown again; one that was not judged is
    /// kept.
    async fn give_up(&self, mut record: Record, error: OAuthError) -> OAuthError {
        let rejected = match &error {
            OAuthError::Expired => true,
            // It has forgotten a client that was registered on the spot.
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

    /// Whether to repeat a request that the server refused.
    async fn answer_refusal(
        &self,
        status: u16,
        challenge: Option<String>,
    ) -> Result<bool, OAuthError> {
        let params = challenge
            .as_deref()
            .map(|text| WWWAuthenticateParams::parse(text, &self.url))
            .unwrap_or_default();
        let record = self.view().await?;
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
                self.note(challenge).await?;
                if tokens.refresh.is_none() && !self.is_unattended() {
                    return Err(OAuthError::Expired);
                }
                self.renew(Some(tokens.access)).await.map(|_| true)
            }
            (_, None) => {
                self.note(challenge).await?;
                if self.is_unattended() {
                    return self.renew(None).await.map(|_| true);
                }
                Err(OAuthError::Expired)
            }
        }
    }

    /// Remembers the server's challenge for the sign-in that has to come.
    async fn note(&self, challenge: Option<String>) -> Result<(), OAuthError> {
        let Some(challenge) = challenge else {
            return Ok(());
        };
        let known = self.view().await?;
        if known.is_some_and(|record| record.challenge.as_ref() == Some(&challenge)) {
            return Ok(());
        }
        let _turn = self.turn.lock().await;
        let _lock = self.slot.lock().await?;
        let mut record = self.record().await?;
        record.challenge = Some(challenge);
        self.write(record).await
    }

    /// The server wants more scopes than the token has.
    async fn step_up(&self, challenge: Option<String>, asked: &str) -> Result<bool, OAuthError> {
        let tokens = self.note_step_up(challenge, asked).await?;
        if self.is_unattended() {
            return self.renew(Some(tokens.access)).await.map(|_| true);
        }
        Err(OAuthError::Expired)
    }

    /// Remembers which scopes are wanted.
    ///
    /// A server that asks for what was asked for already would be asked in circles, and one that asks
    /// for ever more would be too.
    async fn note_step_up(
        &self,
        challenge: Option<String>,
        asked: &str,
    ) -> Result<Tokens, OAuthError> {
        let _turn = self.turn.lock().await;
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
