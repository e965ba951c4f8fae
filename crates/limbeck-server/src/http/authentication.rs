//! Authentication of requests by their bearer token alone.

use std::sync::Arc;

use http::{HeaderMap, header};

use super::bearer_tokens::BearerTokens;
use super::issuer::Issuer;

/// Tokens that requests are accepted with. No option accepts requests without a token.
#[derive(Debug)]
pub struct Authentication {
    tokens: Option<BearerTokens>,
    issuer: Option<Issuer>,
}

impl Authentication {
    /// Accepts tokens from a file.
    pub fn by_tokens(tokens: BearerTokens) -> Self {
        Self {
            tokens: Some(tokens),
            issuer: None,
        }
    }

    /// Accepts tokens of an issuer.
    pub fn by_issuer(issuer: Issuer) -> Self {
        Self {
            tokens: None,
            issuer: Some(issuer),
        }
    }

    /// Accepts tokens of an issuer as well.
    #[must_use]
    pub fn and_issuer(self, issuer: Issuer) -> Self {
        Self {
            issuer: Some(issuer),
            ..self
        }
    }

    /// Reads the token file again whenever it changes; never returns.
    pub(crate) async fn follow(&self) {
        match &self.tokens {
            Some(tokens) => tokens.follow().await,
            None => std::future::pending().await,
        }
    }

    pub(crate) fn issuer(&self) -> Option<&Issuer> {
        self.issuer.as_ref()
    }

    /// Owner of a request's token; `None` for every missing or invalid token, without a reason.
    pub(crate) async fn owner(&self, headers: &HeaderMap) -> Option<TokenOwner> {
        let token = bearer(headers)?;
        if let Some(principal) = self.tokens.as_ref().and_then(|it| it.principal(token)) {
            // A token file names no groups.
            let groups = Vec::new();
            return Some(TokenOwner { principal, groups });
        }
        self.issuer.as_ref()?.owner(token).await
    }
}

/// Owner of a valid token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenOwner {
    /// Principal that its requests belong to.
    pub(crate) principal: Arc<str>,
    /// Groups that the issuer of the token puts it in.
    pub(crate) groups: Vec<String>,
}

/// Token of the single `Authorization` header (RFC 6750 §2.1). Tokens in queries or bodies are not accepted.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim_matches(' ');
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
