//! Sign-out: revokes the tokens where possible (RFC 7009) and removes the record.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use secrecy::{ExposeSecret as _, SecretString};
use url::form_urlencoded::{self, Serializer};

use super::blocking::blocking;
use super::discovery::{self, AuthChallenge};
use super::error::OAuthError;
use super::http::OAuthHttp;
use super::record::{RegisteredClient, SignInRecord};
use super::sdk::without_logs;
use super::server_auth::ServerAuth;

/// What a sign-out did.
#[derive(Clone, Debug)]
pub struct SignOutOutcome {
    /// Whether there were tokens.
    pub had_tokens: bool,
    /// Whether the authorization server revoked the tokens; absent where it cannot revoke any.
    pub revoked: Option<Result<(), OAuthError>>,
}

impl ServerAuth {
    /// Revokes the tokens where that can be done, and forgets them in any case.
    ///
    /// # Errors
    ///
    /// When they cannot be forgotten.
    pub async fn sign_out(&self) -> Result<SignOutOutcome, OAuthError> {
        let _refresh = self.refresh_mutex.lock().await;
        let _lock = self.slot.lock().await?;
        let record = match self.record_to_replace().await {
            Ok(record) => record,
            // What cannot be read cannot be revoked; it can be removed.
            Err(_) => SignInRecord::new(self.name.as_str(), self.url.as_str()),
        };
        let had_tokens = record.tokens.is_some();
        let revoked = match had_tokens {
            true => without_logs(self.revoke(&record)).await,
            false => None,
        };
        let slot = self.slot.clone();
        blocking(move || slot.forget()).await?;
        Ok(SignOutOutcome {
            had_tokens,
            revoked,
        })
    }

    async fn revoke(&self, record: &SignInRecord) -> Option<Result<(), OAuthError>> {
        let http = self.http();
        let demand = match &record.challenge {
            Some(challenge) => AuthChallenge::Header(challenge.clone()),
            None => AuthChallenge::WithoutHeader,
        };
        let found = discovery::discover(&http, &self.url, &self.settings, &demand).await;
        let published = match found {
            Ok(found) => found.published,
            Err(error) => return Some(Err(error)),
        };
        if !published.issued(record) {
            return None;
        }
        let endpoint = published.revocation?;
        let tokens = record.tokens.as_ref()?;
        let client = record.client.as_ref();
        // Revoking the refresh token ends the grant; an access token that outlives it is revoked too.
        let refresh = tokens
            .refresh
            .as_ref()
            .map(|token| (token, "refresh_token"));
        let all = refresh
            .into_iter()
            .chain([(&tokens.access, "access_token")]);
        let secret = match self.settings.secret().await {
            Ok(secret) => secret.or(client.and_then(|client| client.secret.clone())),
            Err(error) => return Some(Err(error)),
        };
        for (token, hint) in all {
            let request = revocation(endpoint.as_str(), client, secret.as_ref(), token, hint);
            if let Err(error) = send(&http, request).await {
                return Some(Err(error));
            }
        }
        Some(Ok(()))
    }
}

fn revocation(
    endpoint: &str,
    client: Option<&RegisteredClient>,
    secret: Option<&SecretString>,
    token: &SecretString,
    hint: &str,
) -> Result<Request<Vec<u8>>, http::Error> {
    let mut form = Serializer::new(String::new());
    form.append_pair("token", token.expose_secret());
    form.append_pair("token_type_hint", hint);
    let mut request =
        Request::post(endpoint).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
    match (client, secret) {
        (Some(client), Some(secret)) => {
            request = request.header(AUTHORIZATION, basic(&client.id, secret));
        }
        (Some(client), None) => {
            form.append_pair("client_id", &client.id);
        }
        (None, _) => {}
    }
    request.body(form.finish().into_bytes())
}

/// RFC 6749 §2.3.1: both parts form-encoded before they are joined.
fn basic(id: &str, secret: &SecretString) -> String {
    let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encode(id), encode(secret.expose_secret()));
    format!("Basic {}", STANDARD.encode(pair))
}

async fn send(
    http: &Arc<OAuthHttp>,
    request: Result<Request<Vec<u8>>, http::Error>,
) -> Result<(), OAuthError> {
    let request = request.map_err(|_| OAuthError::Metadata {
        reason: "nothing can be sent to its revocation endpoint".to_owned(),
    })?;
    let status = http.exchange(request).await?.status();
    if status.is_success() {
        return Ok(());
    }
    Err(OAuthError::Refused {
        what: "revocation",
        status: status.as_u16(),
        error: "no reason given".to_owned(),
        description: None,
    })
}
