//! Reads how to sign in to a server that is reached over HTTP.
//!
//! Ours is `oauth: {clientId, clientSecret, scopes, clientMetadataUrl, callbackPort,
//! authServerMetadataUrl, grant, privateKey, algorithm}`, with underscores in `limbeck.toml`. It contains
//! the shapes of Claude Code, Gemini and OpenCode; Cursor's `auth` and Codex' `scopes` beside it are
//! read as well. Without any of them a server that asks for a sign-in still gets one.

use std::fmt;

use limbeck_domain::text;

use crate::document::Place;
use crate::error::Fault;
use crate::server::{Dialect, Reader, unknown_key};

/// Scopes an entry may name.
const SCOPES_MAX: usize = 64;
/// Keys of ours, both spellings.
const KEYS: &[(&str, &str)] = &[
    ("clientId", "client_id"),
    ("clientSecret", "client_secret"),
    ("scopes", "scopes"),
    ("clientMetadataUrl", "client_metadata_url"),
    ("callbackPort", "callback_port"),
    ("authServerMetadataUrl", "auth_server_metadata_url"),
    ("grant", "grant"),
    ("privateKey", "private_key"),
    ("algorithm", "algorithm"),
];

/// What an entry says about signing in. Secrets are references or values, not resolved yet.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OAuthEntry {
    /// Switched off: a refusal of the server is final.
    pub disabled: bool,
    /// `shared_credentials`: every principal of a gateway over HTTP calls with the sign-in of its user.
    pub shared: bool,
    /// Client registered beforehand.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: Option<String>,
    /// Scopes to ask for; empty means those the server asks for.
    pub scopes: Vec<String>,
    /// Address of a document that describes this client.
    pub client_metadata_url: Option<String>,
    /// Port of the redirect on this machine.
    pub callback_port: Option<u16>,
    /// Address of the authorization server's metadata.
    pub metadata_url: Option<String>,
    /// How a token is got.
    pub grant: GrantEntry,
    /// PEM of the key the client signs with.
    pub private_key: Option<String>,
    /// JOSE name of the signature; `ES256` when absent.
    pub algorithm: Option<String>,
}

/// How a token is got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GrantEntry {
    /// A person signs in.
    #[default]
    AuthorizationCode,
    /// The client is its own account.
    ClientCredentials,
}

/// Without the secrets.
impl fmt::Debug for OAuthEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthEntry")
            .field("disabled", &self.disabled)
            .field("client_id", &self.client_id)
            .field("scopes", &self.scopes)
            .field("grant", &self.grant)
            .finish_non_exhaustive()
    }
}

impl Reader<'_> {
    /// What the entry at `place` says about signing in; nothing is the default.
    pub(crate) fn oauth(&self, place: &Place<'_>) -> Result<OAuthEntry, Fault> {
        let mut entry = OAuthEntry::default();
        if self.dialect == Dialect::Codex {
            entry.scopes = self.scopes(place.get("scopes")?)?;
        }
        if self.dialect == Dialect::Client
            && let Some(auth) = place.get("auth")?
            && auth.entries().is_ok()
        {
            self.cursor(&auth, &mut entry)?;
        }
        let Some(found) = place.get("oauth")? else {
            return Ok(entry);
        };
        if let Ok(enabled) = found.boolean() {
            entry.disabled = !enabled;
            return Ok(entry);
        }
        self.ours(&found, &mut entry)?;
        Ok(entry)
    }

    fn ours(&self, place: &Place<'_>, entry: &mut OAuthEntry) -> Result<(), Fault> {
        if self.dialect == Dialect::Ours {
            let known: Vec<&str> = KEYS.iter().map(|(_, ours)| *ours).collect();
            for (key, value) in place.entries()? {
                if !KEYS
                    .iter()
                    .any(|(camel, ours)| key == *camel || key == *ours)
                {
                    return Err(value.fault(unknown_key(&known, key)));
                }
            }
        }
        let either = |index: usize| {
            let (camel, ours) = KEYS[index];
            Ok::<_, Fault>(place.get(camel)?.or(place.get(ours)?))
        };
        let text = |index: usize| match either(index)? {
            Some(found) => self.filled(&found).map(Some),
            None => Ok(None),
        };
        entry.client_id = text(0)?.or(entry.client_id.take());
        entry.client_secret = text(1)?.or(entry.client_secret.take());
        // OpenCode writes `scope`.
        let scopes = match either(2)? {
            None if self.dialect == Dialect::Client => place.get("scope")?,
            found => found,
        };
        if scopes.is_some() {
            entry.scopes = self.scopes(scopes)?;
        }
        entry.client_metadata_url = text(3)?;
        entry.callback_port = match either(4)? {
            Some(found) => u16::try_from(found.number(1, u64::from(u16::MAX))?).ok(),
            None => None,
        };
        entry.metadata_url = text(5)?;
        entry.grant = match either(6)? {
            None => GrantEntry::default(),
            Some(found) => match found.text()? {
                "authorization_code" => GrantEntry::AuthorizationCode,
                "client_credentials" => GrantEntry::ClientCredentials,
                _ => {
                    return Err(
                        found.fault("expected `authorization_code` or `client_credentials`")
                    );
                }
            },
        };
        entry.private_key = text(7)?;
        entry.algorithm = text(8)?;
        self.fits(place, entry)
    }

    /// What is missing for the grant the entry chose.
    fn fits(&self, place: &Place<'_>, entry: &OAuthEntry) -> Result<(), Fault> {
        if entry.grant == GrantEntry::ClientCredentials {
            if entry.client_id.is_none() {
                return Err(place.fault("has the grant `client_credentials` and no `clientId`"));
            }
            if entry.client_secret.is_none() && entry.private_key.is_none() {
                return Err(place.fault(
                    "has the grant `client_credentials` and neither `clientSecret` nor `privateKey`",
                ));
            }
        }
        if entry.client_secret.is_some() && entry.client_id.is_none() {
            return Err(place.fault("has a `clientSecret` and no `clientId`"));
        }
        Ok(())
    }

    /// `auth: {CLIENT_ID, CLIENT_SECRET, scopes}`.
    fn cursor(&self, place: &Place<'_>, entry: &mut OAuthEntry) -> Result<(), Fault> {
        let text = |key| match place.get(key)? {
            Some(found) => self.filled(&found).map(Some),
            None => Ok(None),
        };
        entry.client_id = text("CLIENT_ID")?;
        entry.client_secret = text("CLIENT_SECRET")?;
        entry.scopes = self.scopes(place.get("scopes")?)?;
        Ok(())
    }

    /// A list of scopes, or one text with spaces between them.
    fn scopes(&self, place: Option<Place<'_>>) -> Result<Vec<String>, Fault> {
        let Some(place) = place else {
            return Ok(Vec::new());
        };
        let scopes: Vec<String> = match place.text() {
            Ok(_) => {
                let text = self.filled(&place)?;
                text.split_whitespace().map(str::to_owned).collect()
            }
            Err(_) => place
                .list()?
                .iter()
                .map(|scope| self.filled(scope))
                .collect::<Result<_, _>>()?,
        };
        if scopes.len() > SCOPES_MAX {
            return Err(place.fault(format!("has more than {SCOPES_MAX} scopes")));
        }
        let is_scope = |scope: &String| {
            !scope.is_empty()
                && scope
                    .bytes()
                    .all(|b| b.is_ascii_graphic() && b != b'"' && b != b'\\')
        };
        match scopes.iter().find(|scope| !is_scope(scope)) {
            Some(scope) => {
                let scope = text::clean_line(scope, 80);
                Err(place.fault(format!("`{scope}` is not a scope")))
            }
            None => Ok(scopes),
        }
    }
}
