//! Reader of the sign-in settings of an entry.
//!
//! Limbeck's form is `oauth: {clientId, clientSecret, scopes, clientMetadataUrl, callbackPort,
//! authServerMetadataUrl, grant, privateKey, algorithm}`, with underscores in `limbeck.toml`. It
//! includes the forms of Claude Code, Gemini and OpenCode; Cursor's `auth` and Codex's `scopes` are read as
//! well. A server that requires a sign-in gets one even without any of them.

use limbeck_domain::text;

use super::{EntryDialect, EntryReader, unknown_key};
use crate::diagnostic::ValueError;
use crate::document::ConfigPlace;
use crate::oauth::{GrantEntry, OAuthEntry};

/// Scopes of one entry.
const SCOPES_MAX: usize = 64;
/// Keys of `oauth`, as JSON files and as `limbeck.toml` spell them.
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

impl EntryReader<'_> {
    /// Reads the sign-in settings of the entry at `place`.
    pub(crate) fn oauth(&self, place: &ConfigPlace<'_>) -> Result<OAuthEntry, ValueError> {
        let mut entry = OAuthEntry::default();
        if self.dialect == EntryDialect::Codex {
            entry.scopes = self.scopes(place.get("scopes")?)?;
        }
        if self.dialect == EntryDialect::Client
            && let Some(auth) = place.get("auth")?
            && auth.entries().is_ok()
        {
            self.read_cursor_auth(&auth, &mut entry)?;
        }
        let Some(found) = place.get("oauth")? else {
            return Ok(entry);
        };
        if let Ok(enabled) = found.boolean() {
            entry.disabled = !enabled;
            return Ok(entry);
        }
        self.read_oauth(&found, &mut entry)?;
        Ok(entry)
    }

    fn read_oauth(
        &self,
        place: &ConfigPlace<'_>,
        entry: &mut OAuthEntry,
    ) -> Result<(), ValueError> {
        if self.dialect == EntryDialect::Limbeck {
            let known: Vec<&str> = KEYS.iter().map(|(_, snake)| *snake).collect();
            for (key, value) in place.entries()? {
                if !KEYS
                    .iter()
                    .any(|(camel, snake)| key == *camel || key == *snake)
                {
                    return Err(value.malformed(unknown_key(&known, key)));
                }
            }
        }
        let either = |index: usize| {
            let (camel, snake) = KEYS[index];
            Ok::<_, ValueError>(place.get(camel)?.or(place.get(snake)?))
        };
        let text = |index: usize| match either(index)? {
            Some(found) => self.expanded(&found).map(Some),
            None => Ok(None),
        };
        entry.client_id = text(0)?.or(entry.client_id.take());
        entry.client_secret = text(1)?.or(entry.client_secret.take());
        // OpenCode writes `scope`.
        let scopes = match either(2)? {
            None if self.dialect == EntryDialect::Client => place.get("scope")?,
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
                        found.malformed("expected `authorization_code` or `client_credentials`")
                    );
                }
            },
        };
        entry.private_key = text(7)?;
        entry.algorithm = text(8)?;
        self.check_grant(place, entry)
    }

    /// Checks that the entry has what its grant needs.
    fn check_grant(&self, place: &ConfigPlace<'_>, entry: &OAuthEntry) -> Result<(), ValueError> {
        if entry.grant == GrantEntry::ClientCredentials {
            if entry.client_id.is_none() {
                return Err(place.malformed("has the grant `client_credentials` but no `clientId`"));
            }
            if entry.client_secret.is_none() && entry.private_key.is_none() {
                return Err(place.malformed(
                    "has the grant `client_credentials` but neither `clientSecret` nor `privateKey`",
                ));
            }
        }
        if entry.client_secret.is_some() && entry.client_id.is_none() {
            return Err(place.malformed("has a `clientSecret` but no `clientId`"));
        }
        Ok(())
    }

    /// Reads Cursor's `auth: {CLIENT_ID, CLIENT_SECRET, scopes}`.
    fn read_cursor_auth(
        &self,
        place: &ConfigPlace<'_>,
        entry: &mut OAuthEntry,
    ) -> Result<(), ValueError> {
        let text = |key| match place.get(key)? {
            Some(found) => self.expanded(&found).map(Some),
            None => Ok(None),
        };
        entry.client_id = text("CLIENT_ID")?;
        entry.client_secret = text("CLIENT_SECRET")?;
        entry.scopes = self.scopes(place.get("scopes")?)?;
        Ok(())
    }

    /// Reads a list of scopes, or one text with spaces between them.
    fn scopes(&self, place: Option<ConfigPlace<'_>>) -> Result<Vec<String>, ValueError> {
        let Some(place) = place else {
            return Ok(Vec::new());
        };
        let scopes: Vec<String> = match place.text() {
            Ok(_) => {
                let text = self.expanded(&place)?;
                text.split_whitespace().map(str::to_owned).collect()
            }
            Err(_) => place
                .list()?
                .iter()
                .map(|scope| self.expanded(scope))
                .collect::<Result<_, _>>()?,
        };
        if scopes.len() > SCOPES_MAX {
            return Err(place.malformed(format!("has more than {SCOPES_MAX} scopes")));
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
                Err(place.malformed(format!("`{scope}` is not a scope")))
            }
            None => Ok(scopes),
        }
    }
}
