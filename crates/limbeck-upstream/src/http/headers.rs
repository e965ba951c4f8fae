//! Headers of a configuration entry, with the secrets in them.

use std::fmt;

use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::error::UpstreamError;
use crate::redactor::{Redactor, names_a_secret};

use super::secret::{SecretReference, SecretResolver};

/// Headers that the transport sets itself.
const OURS: &[&str] = &[
    "accept",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Value of a header in a configuration entry.
#[derive(Clone)]
pub enum HeaderValueSpec {
    /// The value itself.
    Literal(SecretString),
    /// A reference to a secret, after a prefix such as `Bearer `.
    Reference {
        /// Prefix of the secret; may be empty.
        prefix: String,
        /// Reference to the secret.
        reference: SecretReference,
    },
}

impl fmt::Debug for HeaderValueSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(_) => f.write_str("(hidden)"),
            Self::Reference { prefix, reference } => write!(f, "{prefix}{reference}"),
        }
    }
}

impl HeaderValueSpec {
    /// Parses a value: `env:NAME`, `file:PATH`, `keychain:SERVICE/ACCOUNT` and `exec:COMMAND`, each also after
    /// one word (`Bearer env:TOKEN`), are references; everything else is the value itself.
    ///
    /// # Errors
    ///
    /// What is wrong with a reference.
    pub fn parse(value: &str) -> Result<Self, String> {
        let (prefix, rest) = match value.split_once(' ') {
            Some((word, rest)) if !word.contains(':') => value.split_at(value.len() - rest.len()),
            _ => ("", value),
        };
        match SecretReference::parse(rest) {
            Some(reference) => Ok(Self::Reference {
                prefix: prefix.to_owned(),
                reference: reference?,
            }),
            None => Ok(Self::Literal(value.into())),
        }
    }
}

/// Headers of an entry with their resolved values, for one connection.
pub(crate) struct StaticHeaders {
    map: HeaderMap,
    /// Recognizes secrets, in every message of the server.
    redactor: Redactor,
    /// Recognizes every declared value, in error texts.
    declared: Redactor,
}

impl StaticHeaders {
    /// Resolves the references in `specs`.
    ///
    /// # Errors
    ///
    /// [`UpstreamError::Secret`], which names the header without its value.
    pub(crate) async fn resolve(
        specs: &[(String, HeaderValueSpec)],
        secrets: &dyn SecretResolver,
        url: &Url,
    ) -> Result<Self, UpstreamError> {
        let mut map = HeaderMap::new();
        let mut redactor = Redactor::default();
        redactor.add_url_secrets(url.as_str());
        let mut declared = redactor.clone();
        for (name, spec) in specs {
            let problem = |reason: &str| UpstreamError::Secret {
                header: name.clone(),
                reason: reason.to_owned(),
            };
            let header = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| problem("it is not a valid header name"))?;
            if OURS.contains(&header.as_str()) {
                return Err(problem("the transport sets it itself"));
            }
            let text = match spec {
                HeaderValueSpec::Literal(value) => {
                    // A word like the name of a team is data of results too, and must not be cut out there.
                    if names_a_secret(header.as_str()) {
                        redactor.add(value.expose_secret());
                    }
                    declared.add_declared(value.expose_secret());
                    value.expose_secret().to_owned()
                }
                HeaderValueSpec::Reference { prefix, reference } => {
                    let secret = secrets.resolve(reference).await;
                    let secret = secret.map_err(|reason| problem(&reason))?;
                    redactor.add(secret.expose_secret());
                    declared.add(secret.expose_secret());
                    format!("{prefix}{}", secret.expose_secret())
                }
            };
            let mut value = HeaderValue::from_str(&text)
                .map_err(|_| problem("it has a character that is not allowed in a header"))?;
            value.set_sensitive(true);
            map.insert(header, value);
        }
        Ok(Self {
            map,
            redactor,
            declared,
        })
    }

    pub(crate) fn map(&self) -> &HeaderMap {
        &self.map
    }

    pub(crate) fn has_authorization(&self) -> bool {
        self.map.contains_key(AUTHORIZATION)
    }

    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    pub(crate) fn declared(&self) -> &Redactor {
        &self.declared
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::LocalSecrets;

    #[test]
    fn references_may_stand_behind_a_scheme_and_values_are_never_shown() {
        for (value, shown) in [
            ("env:TOKEN", "env:TOKEN"),
            ("Bearer env:TOKEN", "Bearer env:TOKEN"),
            ("Basic exec:pass show 'my thing'", "Basic exec:pass"),
            ("Bearer abc", "(hidden)"),
            ("https://x env:y", "(hidden)"),
            ("plain", "(hidden)"),
        ] {
            let spec = HeaderValueSpec::parse(value).unwrap();
            assert_eq!(format!("{spec:?}"), shown, "{value}");
        }
        assert!(HeaderValueSpec::parse("Bearer keychain:x").is_err());
    }

    fn url() -> Url {
        Url::parse("https://server.example/mcp").unwrap()
    }

    #[tokio::test]
    async fn secrets_of_all_sources_are_redacted_from_responses() {
        let secrets = LocalSecrets::new(vec![("TOKEN".into(), "tok\"en-123".into())]);
        let specs = [
            (
                "Authorization".to_owned(),
                HeaderValueSpec::parse("Bearer env:TOKEN").unwrap(),
            ),
            (
                "X-Api-Key".to_owned(),
                HeaderValueSpec::parse("literal-key").unwrap(),
            ),
            (
                "X-Team".to_owned(),
                HeaderValueSpec::parse("platform").unwrap(),
            ),
        ];
        let headers = StaticHeaders::resolve(&specs, &secrets, &url())
            .await
            .unwrap();
        assert_eq!(headers.map()["authorization"], "Bearer tok\"en-123");
        assert!(!format!("{:?}", headers.map()).contains("en-123"));
        let text = r#"{"a":"Bearer tok\"en-123","b":"literal-key","c":"platform"}"#;
        assert_eq!(
            headers.redactor().redact(text),
            r#"{"a":"Bearer [redacted]","b":"[redacted]","c":"platform"}"#
        );
        assert_eq!(
            headers.declared().redact("tok\"en-123 of platform"),
            "[redacted] of [redacted]"
        );
    }

    #[tokio::test]
    async fn a_missing_secret_and_a_transport_header_are_rejected_by_name() {
        for (name, value, reason) in [
            ("Authorization", "env:NONE", "`NONE` is not set"),
            ("Host", "evil", "sets it itself"),
            ("Mcp-Session-Id", "1", "sets it itself"),
            ("X-Key", "a\nb", "not allowed in a header"),
        ] {
            let specs = [(name.to_owned(), HeaderValueSpec::parse(value).unwrap())];
            let error = StaticHeaders::resolve(&specs, &LocalSecrets::default(), &url()).await;
            let error = error.err().unwrap().to_string();
            assert!(error.contains(name) && error.contains(reason), "{error}");
        }
    }
}
