//! Authorization response of a sign-in: the code in the query of a redirect.

use secrecy::SecretString;
use url::form_urlencoded;

use super::error::{OAuthError, quoted};

/// Authorization response (RFC 6749 §4.1.2) with the state of its sign-in.
pub struct AuthorizationResponse {
    pub(super) code: SecretString,
    pub(super) issuer: Option<String>,
}

impl AuthorizationResponse {
    /// Parses the query of a redirect for the sign-in with `state`.
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

impl std::fmt::Debug for AuthorizationResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthorizationResponse")
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    #[test]
    fn a_redirect_is_accepted_with_its_own_state_once_and_a_code() {
        let redirect =
            AuthorizationResponse::from_query("code=c1&state=s1&iss=https%3A%2F%2Fas", "s1")
                .unwrap();
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
            let error = AuthorizationResponse::from_query(query, "s1").unwrap_err();
            assert!(
                matches!(error, OAuthError::Redirect { .. }),
                "{query}: {error}"
            );
        }
        let refused =
            AuthorizationResponse::from_query("error=access_denied&state=s1", "s1").unwrap_err();
        assert!(matches!(refused, OAuthError::Denied { .. }), "{refused}");
        assert!(AuthorizationResponse::from_query("code=c&state=", "").is_err());
    }
}
