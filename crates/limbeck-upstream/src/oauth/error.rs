//! Errors of sign-in, refresh and sign-out.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use limbeck_domain::text::clean_line;

use crate::error::UpstreamError;

use super::login_command::login_command;

/// Bytes kept of an authorization server's text.
const SAID_BYTES_MAX: usize = 300;

/// Failure to get, refresh or revoke a token.
///
/// No variant holds a token, a code, a verifier or a client secret: text of a server is dropped when it repeats
/// one of them, else cleaned and cut.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OAuthError {
    /// The server works without a token and publishes no authorization metadata.
    #[error("the server at {url} does not require a sign-in")]
    NotAsked {
        /// The server.
        url: String,
    },
    /// A request failed, or the server is temporarily unavailable. A retry may help.
    #[error("{url} could not be reached: {reason}")]
    Unreachable {
        /// Address of the request, without its query.
        url: String,
        /// Reason as a lowercase fragment.
        reason: String,
    },
    /// Metadata contains an address that must not be used.
    #[error("the {what} `{address}` is not allowed: {problem}")]
    Address {
        /// Role of the address.
        what: &'static str,
        /// The address, cleaned and cut.
        address: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A request was answered with a redirect.
    #[error("{url} answered with a redirect, which is not followed")]
    Redirected {
        /// Address of the request, without its query.
        url: String,
    },
    /// The authorization metadata is invalid.
    #[error("the authorization metadata cannot be used: {reason}")]
    Metadata {
        /// What is wrong with it.
        reason: String,
    },
    /// The response is from another authorization server than expected.
    #[error("the response is from `{received}`, expected `{expected}`")]
    Issuer {
        /// Issuer recorded when the sign-in began.
        expected: String,
        /// Issuer of the response.
        received: String,
    },
    /// The authorization server does not support PKCE with S256.
    #[error("the authorization server does not offer PKCE with S256")]
    NoS256,
    /// The server requests the scope `*`.
    #[error("the server asks for the scope `*`, which may include every permission")]
    WildcardScope,
    /// This client is not registered and cannot register itself.
    #[error("the authorization server does not support dynamic client registration")]
    NoClient,
    /// The authorization server rejected a request.
    #[error("the authorization server refused the {what} ({status}): {error}{}", said(.description))]
    Refused {
        /// Kind of request.
        what: &'static str,
        /// HTTP status.
        status: u16,
        /// `error` of RFC 6749 §5.2, or a replacement when it is missing.
        error: String,
        /// `error_description`, unless it repeats a secret.
        description: Option<String>,
    },
    /// The authorization server sent an invalid response.
    #[error("the response to the {what} is invalid: {reason}")]
    Answer {
        /// Kind of request.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The user, or the authorization server, refused the sign-in.
    #[error("the sign-in was refused: {error}{}", said(.description))]
    Denied {
        /// `error` of the redirect.
        error: String,
        /// `error_description` of the redirect.
        description: Option<String>,
    },
    /// The pasted address is not the redirect of this sign-in.
    #[error("that is not the redirect of this sign-in: {reason}")]
    Redirect {
        /// What is wrong with it.
        reason: String,
    },
    /// The user did not finish the sign-in in time.
    #[error("the sign-in was not completed within {seconds} s")]
    TimedOut {
        /// The limit.
        seconds: u64,
    },
    /// The refresh token is invalid or absent.
    #[error("the sign-in has expired")]
    Expired,
    /// The token has all requested scopes and the server requests them again.
    #[error("the server still rejects the token with every scope it requested: {scopes}")]
    ScopesExhausted {
        /// Scopes of the challenge.
        scopes: String,
    },
    /// The `oauth` settings of the entry are invalid.
    #[error("the `oauth` of the entry cannot be used: {reason}")]
    Settings {
        /// What is wrong with it.
        reason: String,
    },
    /// A token file cannot be read or written.
    #[error("{} cannot be used", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: Arc<io::Error>,
    },
    /// A token file has invalid content.
    #[error("{} is not a token file: {reason}", .path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Another process holds the lock of a token file for too long.
    #[error("another process has been holding {} for {seconds} s", .path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// Time waited.
        seconds: u64,
    },
}

fn said(description: &Option<String>) -> String {
    match description {
        Some(text) => format!(" ({text})"),
        None => String::new(),
    }
}

/// Cleans and cuts an external text for an error message.
pub(super) fn quoted(text: &str) -> String {
    clean_line(text, SAID_BYTES_MAX)
}

impl OAuthError {
    /// Wraps an I/O error on `path`.
    pub(super) fn file(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File {
            path: path.into(),
            source: Arc::new(source),
        }
    }

    /// Whether the same request may succeed later without a change.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Locked { .. } => true,
            Self::Refused { status, .. } => *status >= 500 || *status == 429,
            Self::NotAsked { .. }
            | Self::Address { .. }
            | Self::Redirected { .. }
            | Self::Metadata { .. }
            | Self::Issuer { .. }
            | Self::NoS256
            | Self::WildcardScope
            | Self::NoClient
            | Self::Answer { .. }
            | Self::Denied { .. }
            | Self::Redirect { .. }
            | Self::TimedOut { .. }
            | Self::Expired
            | Self::ScopesExhausted { .. }
            | Self::Settings { .. }
            | Self::File { .. }
            | Self::Content { .. } => false,
        }
    }

    /// Next step for the user who signs in to `server`.
    pub fn hint(&self, server: &str) -> Option<String> {
        let login = login_command(server, None);
        match self {
            Self::NotAsked { .. } => Some(format!("no sign-in is needed: `limbeck tools {server}`")),
            Self::Unreachable { .. } | Self::Locked { .. } => {
                Some(format!("try again later: `{login}`"))
            }
            Self::WildcardScope => Some(format!(
                "list the scopes to request: `\"oauth\": {{\"scopes\": [\"…\"]}}` in the entry of `{server}`"
            )),
            Self::NoClient => Some(format!(
                "register a client there and set it in the entry of `{server}`: \
                 `\"oauth\": {{\"clientId\": \"…\", \"callbackPort\": 8976}}`"
            )),
            Self::Denied { .. } | Self::Redirect { .. } | Self::TimedOut { .. } | Self::Expired => {
                Some(format!("start again: `{login}`"))
            }
            Self::Refused { error, .. } if error == "invalid_client" => Some(format!(
                "check `clientId` and `clientSecret` in the entry of `{server}`, or start again: `{login}`"
            )),
            Self::Refused { .. } | Self::Answer { .. } => Some(format!("start again: `{login}`")),
            Self::ScopesExhausted { .. } => Some(
                "the account lacks a permission, or the server requests a scope that it does not grant; \
                 ask its administrator"
                    .to_owned(),
            ),
            Self::Content { path, .. } => Some(format!(
                "remove it and sign in again: `rm {}`, `{login}`",
                path.display()
            )),
            Self::Address { .. }
            | Self::Redirected { .. }
            | Self::Metadata { .. }
            | Self::Issuer { .. }
            | Self::NoS256 => Some(format!(
                "the server is misconfigured or not what it claims to be; check the url of `{server}`"
            )),
            Self::Settings { .. } | Self::File { .. } => None,
        }
    }

    /// Converts the error for a call to the server.
    pub(super) fn to_upstream(&self) -> UpstreamError {
        let reason = match self {
            Self::File { source, .. } => format!("{self}: {source}"),
            // All other variants include their cause in the text.
            _ => self.to_string(),
        };
        UpstreamError::SignInFailed {
            reason,
            may_pass: self.may_pass(),
        }
    }
}
