//! Who sends a request: its bearer token, and nothing else of it, decides.

use std::sync::Arc;

use http::{HeaderMap, header};

use super::issuer::Issuer;
use super::tokens::Tokens;

/// The tokens that are taken. There is no way to take requests without one.
#[derive(Debug)]
pub struct Authentication {
    tokens: Option<Tokens>,
    issuer: Option<Issuer>,
}

impl Authentication {
    /// Takes tokens that were given out.
    pub fn by_tokens(tokens: Tokens) -> Self {
        Self {
            tokens: Some(tokens),
            issuer: None,
        }
    }

    /// Takes tokens of an issuer.
    pub fn by_issuer(issuer: Issuer) -> Self {
        Self {
            tokens: None,
            issuer: Some(issuer),
        }
    }

    /// Takes those of an issuer too.
    #[must_use]
    pub fn and_issuer(self, issuer: Issuer) -> Self {
        Self {
            issuer: Some(issuer),
            ..self
        }
    }

    pub(crate) fn issuer(&self) -> Option<&Issuer> {
        self.issuer.as_ref()
    }

    /// Whom a request is from. What was wrong with one that is from nobody is not told apart.
    pub(crate) async fn principal(&self, headers: &HeaderMap) -> Option<Arc<str>> {
        let token = bearer(headers)?;
        if let Some(principal) = self.tokens.as_ref().and_then(|it| it.principal(token)) {
            return Some(principal);
        }
        self.issuer.as_ref()?.principal(token).await
    }
}

/// The token of the one `Authorization` header, RFC 6750 §2.1. Tokens in queries or bodies are none.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim_matches(' ');
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
