//! Stored record of the sign-in to one server.
//!
//! A record belongs to one name and one address: under another address it does not exist. Its tokens belong to
//! the authorization server that issued them, its client to the one that registered it.

use std::time::{SystemTime, UNIX_EPOCH};

use rmcp::transport::auth::StoredCredentials;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use super::error::OAuthError;

/// Version of the file format; other versions are rejected.
pub(super) const VERSION: u32 = 1;
/// Seconds before expiry at which a token is refreshed; a fifth of its lifetime, if that is shorter.
const MARGIN_SECONDS: u64 = 60;

/// Record of one server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SignInRecord {
    pub(super) version: u32,
    /// Name of the server's entry.
    pub(super) server: String,
    /// Address of the server.
    pub(super) url: String,
    /// Issuer of the tokens; absent for a server older than metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) issuer: Option<String>,
    /// Origin of the token endpoint that the tokens came from; absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) token_origin: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client: Option<RegisteredClient>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tokens: Option<TokenSet>,
    /// Scopes requested by the last sign-in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) requested: Vec<String>,
    /// Scopes the server has requested since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) wanted: Vec<String>,
    /// Number of step-ups since the first sign-in.
    #[serde(default)]
    pub(super) step_ups: u32,
    /// The server's last `WWW-Authenticate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) challenge: Option<String>,
}

/// Registration of this client at the authorization server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RegisteredClient {
    pub(super) id: String,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "expose_option",
        deserialize_with = "secret_option"
    )]
    pub(super) secret: Option<SecretString>,
}

/// Tokens of the authorization server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct TokenSet {
    #[serde(serialize_with = "expose", deserialize_with = "secret")]
    pub(super) access: SecretString,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "expose_option",
        deserialize_with = "secret_option"
    )]
    pub(super) refresh: Option<SecretString>,
    /// Time of receipt, in seconds since 1970.
    pub(super) received_at: u64,
    /// Lifetime of the access token in seconds; absent when the server sent none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_in: Option<u64>,
    /// Granted scopes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) scopes: Vec<String>,
}

fn expose<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose_secret())
}

fn expose_option<S: Serializer>(
    secret: &Option<SecretString>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match secret {
        Some(secret) => serializer.serialize_some(secret.expose_secret()),
        None => serializer.serialize_none(),
    }
}

fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SecretString, D::Error> {
    String::deserialize(deserializer).map(SecretString::from)
}

fn secret_option<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SecretString>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.map(SecretString::from))
}

impl SignInRecord {
    pub(super) fn new(server: &str, url: &str) -> Self {
        Self {
            version: VERSION,
            server: server.to_owned(),
            url: url.to_owned(),
            issuer: None,
            token_origin: None,
            client: None,
            tokens: None,
            requested: Vec::new(),
            wanted: Vec::new(),
            step_ups: 0,
            challenge: None,
        }
    }
}

impl TokenSet {
    /// Reads the tokens from the SDK's credentials, which it has parsed.
    pub(super) fn of(stored: &StoredCredentials) -> Result<Option<Self>, OAuthError> {
        let Some(response) = &stored.token_response else {
            return Ok(None);
        };
        let unusable = || OAuthError::Answer {
            what: "token request",
            reason: "it has no `access_token`".to_owned(),
        };
        let value = serde_json::to_value(response).map_err(|_| unusable())?;
        let text = |key: &str| {
            value
                .get(key)
                .and_then(Value::as_str)
                .map(SecretString::from)
        };
        Ok(Some(Self {
            access: text("access_token").ok_or_else(unusable)?,
            refresh: text("refresh_token"),
            received_at: stored.token_received_at.unwrap_or_else(now),
            expires_in: value.get("expires_in").and_then(Value::as_u64),
            scopes: stored.granted_scopes.clone(),
        }))
    }

    /// Converts the tokens to the SDK's credentials.
    pub(super) fn to_stored(&self, client_id: &str, issuer: Option<&str>) -> StoredCredentials {
        let response = json!({
            "access_token": self.access.expose_secret(),
            "token_type": "bearer",
            "expires_in": self.expires_in,
            "refresh_token": self.refresh.as_ref().map(|token| token.expose_secret()),
        });
        StoredCredentials::new(
            client_id.to_owned(),
            serde_json::from_value(response).ok(),
            self.scopes.clone(),
            Some(self.received_at),
        )
        .with_issuer(issuer.map(str::to_owned))
    }

    /// Expiry of the access token, in seconds since 1970.
    pub(super) fn expires_at(&self) -> Option<u64> {
        Some(self.received_at.saturating_add(self.expires_in?))
    }

    /// Whether the access token has to be refreshed before it is used.
    pub(super) fn needs_refresh(&self, now: u64) -> bool {
        let (Some(end), Some(life)) = (self.expires_at(), self.expires_in) else {
            return false;
        };
        now.saturating_add(MARGIN_SECONDS.min(life / 5)) >= end
    }

    /// Whether the access token has expired.
    pub(super) fn is_expired(&self, now: u64) -> bool {
        self.expires_at().is_some_and(|end| now >= end)
    }
}

/// Seconds since 1970; a clock before that reads as 1970.
pub(super) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(expires_in: Option<u64>) -> TokenSet {
        TokenSet {
            access: "access-secret".into(),
            refresh: Some("refresh-secret".into()),
            received_at: 1000,
            expires_in,
            scopes: vec!["read".to_owned()],
        }
    }

    #[test]
    fn a_token_is_renewed_shortly_before_its_end() {
        let hour = tokens(Some(3600));
        assert!(!hour.needs_refresh(1000 + 3539));
        assert!(hour.needs_refresh(1000 + 3540));
        assert!(!hour.is_expired(1000 + 3599));
        assert!(hour.is_expired(1000 + 3600));
        let short = tokens(Some(10));
        assert!(!short.needs_refresh(1007));
        assert!(short.needs_refresh(1008));
        assert!(!tokens(None).needs_refresh(u64::MAX));
        assert!(!tokens(Some(u64::MAX)).needs_refresh(5000));
    }

    #[test]
    fn a_record_survives_the_file_and_shows_no_secret() {
        let mut record = SignInRecord::new("files", "https://example.com/mcp");
        record.tokens = Some(tokens(Some(60)));
        record.client = Some(RegisteredClient {
            id: "client".to_owned(),
            secret: Some("client-secret".into()),
        });
        let shown = format!("{record:?}");
        assert!(
            shown.contains("client") && !shown.contains("-secret"),
            "{shown}"
        );
        let text = serde_json::to_string(&record).unwrap();
        let read: SignInRecord = serde_json::from_str(&text).unwrap();
        let read = read.tokens.unwrap();
        assert_eq!(read.access.expose_secret(), "access-secret");
        assert_eq!(read.refresh.unwrap().expose_secret(), "refresh-secret");
    }

    #[test]
    fn tokens_come_back_from_the_sdk_as_they_went_in() {
        let stored = tokens(Some(60)).to_stored("client", Some("https://as.example.com"));
        let back = TokenSet::of(&stored).unwrap().unwrap();
        assert_eq!(back.access.expose_secret(), "access-secret");
        assert_eq!(back.refresh.unwrap().expose_secret(), "refresh-secret");
        assert_eq!((back.received_at, back.expires_in), (1000, Some(60)));
        assert_eq!(back.scopes, ["read"]);
    }
}
