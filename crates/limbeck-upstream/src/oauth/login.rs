//! Interactive sign-in: from the server's challenge to stored tokens.
//!
//! [`ServerAuth::begin`] does everything up to the address the user has to open; [`PendingLogin`] waits for the
//! answer, from the browser or pasted, and exchanges it for tokens.

use std::sync::Arc;

use rmcp::transport::auth::{AuthorizationManager, OAuthClientConfig};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use super::address;
use super::authorization_response::AuthorizationResponse;
use super::callback::CallbackListener;
use super::discovery::{self, AuthChallenge, AuthorizationServer, MetadataSummary, explain};
use super::error::OAuthError;
use super::http::OAuthHttp;
use super::random::random_word;
use super::record::{RegisteredClient, SignInRecord, TokenSet};
use super::sdk::{CapturedCredentials, without_logs};
use super::server_auth::ServerAuth;
use super::store::RecordLocation;

/// Client name shown to the user by the authorization server.
const CLIENT_NAME: &str = "Limbeck";
/// Longest pasted address.
const PASTED_BYTES_MAX: usize = 16 << 10;

/// A sign-in that waits for the user.
pub struct PendingLogin {
    auth: Arc<ServerAuth>,
    manager: AuthorizationManager,
    http: Arc<OAuthHttp>,
    captured: CapturedCredentials,
    callback: CallbackListener,
    url: Url,
    state: String,
    scopes: Vec<String>,
    issuer: Option<String>,
    token_origin: String,
    client: RegisteredClient,
}

/// Result of a successful sign-in.
#[derive(Clone, Debug)]
pub struct SignInOutcome {
    /// Granted scopes; empty when the server named none.
    pub scopes: Vec<String>,
    /// Requested scopes that were not granted.
    pub denied: Vec<String>,
    /// Expiry of the access token, in seconds since 1970.
    pub expires_at: Option<u64>,
    /// Whether it is refreshed without the user.
    pub renewable: bool,
    /// Location of the tokens.
    pub stored: RecordLocation,
}

impl ServerAuth {
    /// Prepares a sign-in: returns the address to open and listens for the redirect.
    ///
    /// `more` are scopes to request besides those of the server and the entry.
    ///
    /// # Errors
    ///
    /// Any [`OAuthError`] of discovery and registration.
    pub async fn begin(self: &Arc<Self>, more: &[String]) -> Result<PendingLogin, OAuthError> {
        let http = self.http();
        let record = self.record_to_replace().await?;
        let demand = match (self.probe(&http).await?, record.challenge.clone()) {
            // The server accepted the probe, but rejected another request before.
            (AuthChallenge::NotChallenged, Some(challenge)) => AuthChallenge::Header(challenge),
            (demand, _) => demand,
        };
        without_logs(self.begin_on(http, record, demand, more)).await
    }

    /// Reads the record; a sign-in replaces a token file that cannot be read.
    pub(super) async fn record_to_replace(&self) -> Result<SignInRecord, OAuthError> {
        match self.record().await {
            Err(OAuthError::Content { .. }) => {
                Ok(SignInRecord::new(self.name.as_str(), self.url.as_str()))
            }
            record => record,
        }
    }

    async fn begin_on(
        self: &Arc<Self>,
        http: Arc<OAuthHttp>,
        record: SignInRecord,
        demand: AuthChallenge,
        more: &[String],
    ) -> Result<PendingLogin, OAuthError> {
        let found = discovery::discover(&http, &self.url, &self.settings, &demand).await?;
        let AuthorizationServer {
            mut manager,
            published,
        } = found;
        let mut kept = more.to_vec();
        // Scopes of another issuer mean nothing here.
        if record.issuer == published.issuer {
            kept.extend(record.requested);
            kept.extend(record.wanted);
        }
        let scopes = discovery::scopes(&manager, &self.settings, &kept).await?;
        let callback = self.listen(&published).await?;
        let captured = CapturedCredentials::default();
        manager.set_credential_store(captured.clone());
        let config = self
            .choose_client(&mut manager, &http, &published, callback.uri(), &scopes)
            .await?;
        let client = RegisteredClient {
            id: config.client_id.clone(),
            // A secret of the entry is looked up there each time.
            secret: match self.settings.client_id {
                Some(_) => None,
                None => config.client_secret.clone().map(SecretString::from),
            },
        };
        let names: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let shown = manager.configure_client(config);
        shown.map_err(|error| explain(error, &http))?;
        let shown = manager.get_authorization_url(&names).await;
        let shown = shown.map_err(|error| explain(error, &http))?;
        let url = address::endpoint(&shown, "authorization endpoint", &self.url)?;
        let state = url.query_pairs().find(|(key, _)| key == "state");
        let state = state
            .map(|(_, value)| value.into_owned())
            .unwrap_or_default();
        Ok(PendingLogin {
            auth: self.clone(),
            manager,
            http,
            captured,
            callback,
            url,
            state,
            scopes,
            issuer: published.issuer,
            token_origin: published.token_origin,
            client,
        })
    }

    /// Starts the callback listener, with an unpredictable path where the redirect URI is registered
    /// dynamically.
    async fn listen(&self, published: &MetadataSummary) -> Result<CallbackListener, OAuthError> {
        let registered = self.settings.client_id.is_some()
            || (self.settings.client_metadata_url.is_some() && published.takes_metadata_url);
        let path = match registered {
            true => "/callback".to_owned(),
            false => format!("/callback/{}", random_word()),
        };
        let port = self.settings.callback_port;
        let bound = CallbackListener::bind(port, path).await;
        bound.map_err(|error| OAuthError::Settings {
            reason: match port {
                Some(port) => {
                    format!("port {port} of `callbackPort` cannot be listened on: {error}")
                }
                None => format!("no port of 127.0.0.1 can be listened on: {error}"),
            },
        })
    }

    /// Chooses the client: pre-registered, then a metadata document, then dynamic registration.
    async fn choose_client(
        &self,
        manager: &mut AuthorizationManager,
        http: &OAuthHttp,
        published: &MetadataSummary,
        redirect_uri: &str,
        scopes: &[String],
    ) -> Result<OAuthClientConfig, OAuthError> {
        let settings = &self.settings;
        if let Some(id) = &settings.client_id {
            let config = OAuthClientConfig::new(id, redirect_uri);
            return Ok(match settings.secret().await? {
                Some(secret) => config.with_client_secret(secret.expose_secret()),
                None => config,
            });
        }
        if let Some(url) = &settings.client_metadata_url
            && published.takes_metadata_url
        {
            return Ok(OAuthClientConfig::new(url, redirect_uri));
        }
        if !published.registers {
            return Err(OAuthError::NoClient);
        }
        let names: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let registered = manager.register_client(CLIENT_NAME, redirect_uri, &names);
        registered.await.map_err(|error| explain(error, http))
    }
}

impl PendingLogin {
    /// Address to open in a browser: `https`, or `http` on this machine.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Requested scopes.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// Redirect URI.
    pub fn redirect_uri(&self) -> &str {
        self.callback.uri()
    }

    /// Waits for the browser, without a time limit.
    ///
    /// # Errors
    ///
    /// [`OAuthError::Denied`] when the sign-in was refused.
    pub async fn redirected(&self) -> Result<AuthorizationResponse, OAuthError> {
        self.callback.wait(&self.state).await
    }

    /// Parses a pasted address: the whole address the browser was sent to.
    ///
    /// # Errors
    ///
    /// [`OAuthError::Denied`] when the sign-in was refused, [`OAuthError::Redirect`] when it is not an answer
    /// to it.
    pub fn pasted(&self, text: &str) -> Result<AuthorizationResponse, OAuthError> {
        let wrong = |reason: &str| OAuthError::Redirect {
            reason: reason.to_owned(),
        };
        let text = text.trim();
        if text.len() > PASTED_BYTES_MAX {
            return Err(wrong("it is too long"));
        }
        let Ok(url) = Url::parse(text) else {
            return Err(wrong("expected the whole address the browser was sent to"));
        };
        // Catches a pasted address of another program's sign-in before its state is compared.
        if !text.starts_with(self.callback.uri()) {
            return Err(wrong(&format!(
                "it does not begin with `{}`",
                self.callback.uri()
            )));
        }
        AuthorizationResponse::from_query(url.query().unwrap_or_default(), &self.state)
    }

    /// Exchanges the answer for tokens and stores them.
    ///
    /// # Errors
    ///
    /// Any [`OAuthError`]; earlier tokens are kept then.
    pub async fn finish(
        self,
        redirect: AuthorizationResponse,
    ) -> Result<SignInOutcome, OAuthError> {
        let code = redirect.code.expose_secret();
        let exchanged = without_logs(self.manager.exchange_code_for_token_with_issuer(
            code,
            &self.state,
            redirect.issuer.as_deref(),
        ));
        exchanged
            .await
            .map_err(|error| explain(error, &self.http))?;
        let stored = self.captured.take();
        let tokens = stored.as_ref().map(TokenSet::of).transpose()?.flatten();
        let tokens = tokens.ok_or(OAuthError::Expired)?;
        let mut record = self.auth.record_to_replace().await?;
        record.issuer = self.issuer;
        record.token_origin = Some(self.token_origin);
        record.client = Some(self.client);
        record.requested = self.scopes;
        record.wanted = Vec::new();
        record.tokens = Some(tokens);
        self.auth.store_record(record).await
    }
}

impl ServerAuth {
    /// Stores `record`, which has tokens, and returns the result of the sign-in.
    pub(super) async fn store_record(
        &self,
        record: SignInRecord,
    ) -> Result<SignInOutcome, OAuthError> {
        let _refresh = self.refresh_mutex.lock().await;
        let _lock = self.slot.lock().await?;
        let tokens = record.tokens.clone().ok_or(OAuthError::Expired)?;
        let mut denied = record.requested.clone();
        denied.retain(|scope| !tokens.scopes.is_empty() && !tokens.scopes.contains(scope));
        self.write(record).await?;
        let stored = match self.read().await? {
            Some((_, stored)) => stored,
            None => RecordLocation::File(self.slot.path().to_owned()),
        };
        Ok(SignInOutcome {
            expires_at: tokens.expires_at(),
            renewable: tokens.refresh.is_some() || self.is_unattended(),
            scopes: tokens.scopes,
            denied,
            stored,
        })
    }
}

impl std::fmt::Debug for PendingLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PendingLogin")
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}
