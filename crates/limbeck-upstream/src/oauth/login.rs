//! A person signs in: from the server's demand to tokens on disk.
//!
//! [`ServerAuth::begin`] does everything up to the address a person has to open; [`PendingLogin`] waits for
//! the answer, from the browser or pasted, and exchanges it.

use std::sync::Arc;

use rmcp::transport::auth::{AuthorizationManager, OAuthClientConfig};
use secrecy::{ExposeSecret as _, SecretString};
use url::{Url, form_urlencoded};

use super::callback::Callback;
use super::discovery::{self, Authority, Demand, Published, explain};
use super::error::{OAuthError, quoted};
use super::http::Http;
use super::record::{Client, Record, Tokens};
use super::{Captured, ServerAuth, Stored, address, random_word, unheard};

/// Name a person sees when they are asked whether this client may act for them.
const CLIENT_NAME: &str = "Limbeck";
/// Bytes of a pasted redirect.
const PASTED_BYTES_MAX: usize = 16 << 10;

/// A sign-in that waits for a person.
pub struct PendingLogin {
    auth: Arc<ServerAuth>,
    manager: AuthorizationManager,
    http: Arc<Http>,
    captured: Captured,
    callback: Callback,
    url: Url,
    state: String,
    scopes: Vec<String>,
    issuer: Option<String>,
    client: Client,
}

/// The answer to a sign-in, with the state of that sign-in.
pub struct Redirect {
    code: SecretString,
    issuer: Option<String>,
}

/// A sign-in that succeeded.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// Scopes granted; empty when nobody named any.
    pub scopes: Vec<String>,
    /// Scopes asked for and not granted.
    pub denied: Vec<String>,
    /// End of the access token, in seconds since 1970.
    pub expires_at: Option<u64>,
    /// Whether it is renewed without a person.
    pub renewable: bool,
    /// Where the tokens are.
    pub stored: Stored,
}

impl ServerAuth {
    /// Finds out where a person has to go to sign in, and listens for their return.
    ///
    /// `more` are scopes to ask for besides those the server and the entry name.
    ///
    /// # Errors
    ///
    /// Any [`OAuthError`] but those of the answer itself.
    pub async fn begin(self: &Arc<Self>, more: &[String]) -> Result<PendingLogin, OAuthError> {
        let http = self.http();
        let record = self.record_to_replace().await?;
        let demand = match (self.probe(&http).await?, record.challenge.clone()) {
            // The server answered this one request; another one it did refuse.
            (Demand::Unheard, Some(challenge)) => Demand::Challenge(challenge),
            (demand, _) => demand,
        };
        unheard(self.begin_on(http, record, demand, more)).await
    }

    /// A sign-in replaces a token file that cannot be read.
    pub(super) async fn record_to_replace(&self) -> Result<Record, OAuthError> {
        match self.record().await {
            Err(OAuthError::Content { .. }) => {
                Ok(Record::new(self.name.as_str(), self.url.as_str()))
            }
            record => record,
        }
    }

    async fn begin_on(
        self: &Arc<Self>,
        http: Arc<Http>,
        record: Record,
        demand: Demand,
        more: &[String],
    ) -> Result<PendingLogin, OAuthError> {
        let found = discovery::discover(&http, &self.url, &self.settings, &demand).await?;
        let Authority {
            mut manager,
            published,
        } = found;
        let mut kept = more.to_vec();
        if record.issuer == published.issuer {
            kept.extend(record.requested);
            kept.extend(record.wanted);
        }
        let scopes = discovery::scopes(&manager, &self.settings, &kept).await?;
        let callback = self.listen(&published).await?;
        let captured = Captured::default();
        manager.set_credential_store(captured.clone());
        let config = self
            .become_client(&mut manager, &http, &published, callback.uri(), &scopes)
            .await?;
        let client = Client {
            id: config.client_id.clone(),
            // That of the entry is looked up there.
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
            client,
        })
    }

    /// A path nobody can guess where the redirect URI is registered as we go.
    async fn listen(&self, published: &Published) -> Result<Callback, OAuthError> {
        let registered = self.settings.client_id.is_some()
            || (self.settings.client_metadata_url.is_some() && published.takes_metadata_url);
        let path = match registered {
            true => "/callback".to_owned(),
            false => format!("/callback/{}", random_word()),
        };
        let port = self.settings.callback_port;
        let bound = Callback::bind(port, path).await;
        bound.map_err(|error| OAuthError::Settings {
            reason: match port {
                Some(port) => {
                    format!("port {port} of `callbackPort` cannot be listened on: {error}")
                }
                None => format!("no port of 127.0.0.1 can be listened on: {error}"),
            },
        })
    }

    /// Pre-registered, then the address of a document, then registered on the spot.
    async fn become_client(
        &self,
        manager: &mut AuthorizationManager,
        http: &Http,
        published: &Published,
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
    /// What to open in a browser: `https`, or `http` on this machine.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The scopes asked for.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// Where the browser is sent back to.
    pub fn redirect_uri(&self) -> &str {
        self.callback.uri()
    }

    /// Waits for the browser; without a limit in time.
    ///
    /// # Errors
    ///
    /// [`OAuthError::Denied`] when the answer is a refusal.
    pub async fn redirected(&self) -> Result<Redirect, OAuthError> {
        self.callback.wait(&self.state).await
    }

    /// Reads what a person pasted: the whole address their browser was sent to.
    ///
    /// # Errors
    ///
    /// [`OAuthError::Denied`] when the answer is a refusal, [`OAuthError::Redirect`] when it is none.
    pub fn pasted(&self, text: &str) -> Result<Redirect, OAuthError> {
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
        if !text.starts_with(self.callback.uri()) {
            return Err(wrong(&format!(
                "it does not begin with `{}`",
                self.callback.uri()
            )));
        }
        Redirect::from_query(url.query().unwrap_or_default(), &self.state)
    }

    /// Exchanges the answer for tokens and keeps them.
    ///
    /// # Errors
    ///
    /// Any [`OAuthError`]; what was kept before stays.
    pub async fn finish(self, redirect: Redirect) -> Result<SignedIn, OAuthError> {
        let code = redirect.code.expose_secret();
        let exchanged = unheard(self.manager.exchange_code_for_token_with_issuer(
            code,
            &self.state,
            redirect.issuer.as_deref(),
        ));
        exchanged
            .await
            .map_err(|error| explain(error, &self.http))?;
        let stored = self.captured.take();
        let tokens = stored.as_ref().map(Tokens::of).transpose()?.flatten();
        let tokens = tokens.ok_or(OAuthError::Expired)?;
        let mut record = self.auth.record_to_replace().await?;
        record.issuer = self.issuer;
        record.client = Some(self.client);
        record.requested = self.scopes;
        record.wanted = Vec::new();
        record.tokens = Some(tokens);
        self.auth.keep(record).await
    }
}

impl ServerAuth {
    /// Writes `record`, which has tokens, and says what there is now.
    pub(super) async fn keep(&self, record: Record) -> Result<SignedIn, OAuthError> {
        let _turn = self.turn.lock().await;
        let _lock = self.slot.lock().await?;
        let tokens = record.tokens.clone().ok_or(OAuthError::Expired)?;
        let mut denied = record.requested.clone();
        denied.retain(|scope| !tokens.scopes.is_empty() && !tokens.scopes.contains(scope));
        self.write(record).await?;
        let stored = match self.read().await? {
            Some((_, stored)) => stored,
            None => Stored::File(self.slot.path().to_owned()),
        };
        Ok(SignedIn {
            expires_at: tokens.expires_at(),
            renewable: tokens.refresh.is_some() || self.is_unattended(),
            scopes: tokens.scopes,
            denied,
            stored,
        })
    }
}

impl Redirect {
    /// Reads the query of a redirect of the sign-in with `state`.
    pub(super) fn from_query(query: &str, state: &str) -> Result<Self, OAuthError> {
        let wrong = |reason: &str| OAuthError::Redirect {
            reason: reason.to_owned(),
        };
        let value = |key: &str| {
            let mut values = form_urlencoded::parse(query.as_bytes()).filter(|(k, _)| k == key);
            let value = values.next().map(|(_, value)| value.into_owned());
            (value, values.next().is_some())
        };
        let (found, twice) = value("state");
        match found {
            Some(found) if found == state && !twice && !state.is_empty() => {}
            Some(_) => return Err(wrong("its `state` is of another one")),
            None => return Err(wrong("it has no `state`")),
        }
        if let (Some(error), _) = value("error") {
            let (description, _) = value("error_description");
            return Err(OAuthError::Denied {
                error: quoted(&error),
                description: description.map(|text| quoted(&text)),
            });
        }
        match (value("code"), value("iss")) {
            ((Some(code), false), (issuer, false)) if !code.is_empty() => Ok(Self {
                code: code.into(),
                issuer,
            }),
            _ => Err(wrong("it has no single `code`")),
        }
    }
}

impl std::fmt::Debug for PendingLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PendingLogin")
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Redirect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redirect").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_counts_with_its_own_state_once_and_a_code() {
        let redirect = Redirect::from_query("code=c1&state=s1&iss=https%3A%2F%2Fas", "s1").unwrap();
        assert_eq!(redirect.code.expose_secret(), "c1");
        assert_eq!(redirect.issuer.as_deref(), Some("https://as"));
        assert!(!format!("{redirect:?}").contains("c1"));
        for query in [
            "code=c1",
            "code=c1&state=s2",
            "code=c1&state=s1&state=s2",
            "code=c1&code=c2&state=s1",
            "code=&state=s1",
            "state=s1",
            "error=access_denied&state=s2",
        ] {
            let error = Redirect::from_query(query, "s1").unwrap_err();
            assert!(
                matches!(error, OAuthError::Redirect { .. }),
                "{query}: {error}"
            );
        }
        let refused = Redirect::from_query("error=access_denied&state=s1", "s1").unwrap_err();
        assert!(matches!(refused, OAuthError::Denied { .. }), "{refused}");
        assert!(Redirect::from_query("code=c&state=", "").is_err());
    }
}
