//! Why a sign-in, a refresh or a sign-out did not succeed.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use limbeck_domain::text::clean_line;

use crate::UpstreamError;

/// Bytes kept of a text an authorization server wrote.
const SAID_BYTES_MAX: usize = 300;

/// Why there is no token.
///
/// No text in here holds a token, a code, a verifier or a client secret: what a server wrote is
/// dropped when it repeats one of them, else cleaned and cut.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OAuthError {
    /// The server answers without a token and publishes nothing about sign-in.
    #[error("the server at {url} does not ask for a sign-in")]
    NotAsked {
        /// The server.
        url: String,
    },
    /// A request brought no answer, or one that says "later". Trying again may help.
    #[error("{url} could not be asked: {reason}")]
    Unreachable {
        /// Address asked, without its query.
        url: String,
        /// Why, a lowercase fragment.
        reason: String,
    },
    /// A document or an answer names an address that is not used.
    #[error("the {what} `{address}` is not used: {problem}")]
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
        /// Address asked, without its query.
        url: String,
    },
    /// What the server publishes about its authorization cannot be used.
    #[error("the authorization metadata cannot be used: {reason}")]
    Metadata {
        /// What is wrong with it.
        reason: String,
    },
    /// An answer comes from another authorization server than the one asked.
    #[error("the answer is from `{received}`, expected was `{expected}`")]
    Issuer {
        /// Issuer recorded when the sign-in began.
        expected: String,
        /// What was found in its place.
        received: String,
    },
    /// The authorization server does not do PKCE with S256.
    #[error("the authorization server does not offer PKCE with S256")]
    NoS256,
    /// The server asks for a scope that stands for everything.
    #[error("the server asks for the scope `*`, which may stand for everything")]
    WildcardScope,
    /// There is no way to become a client of the authorization server.
    #[error("the authorization server registers no clients by itself")]
    NoClient,
    /// The authorization server said no.
    #[error("the authorization server refused the {what} ({status}): {error}{}", said(.description))]
    Refused {
        /// Kind of request.
        what: &'static str,
        /// HTTP status.
        status: u16,
        /// `error` of RFC 6749 §5.2, or a word of ours.
        error: String,
        /// `error_description`, unless it repeats a secret.
        description: Option<String>,
    },
    /// The authorization server answered with something that is not an answer.
    #[error("the answer to the {what} cannot be used: {reason}")]
    Answer {
        /// Kind of request.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The person, or the authorization server in their place, said no.
    #[error("the sign-in was refused: {error}{}", said(.description))]
    Denied {
        /// `error` of the redirect.
        error: String,
        /// `error_description` of the redirect.
        description: Option<String>,
    },
    /// What was pasted is not the redirect of this sign-in.
    #[error("that is not the redirect of this sign-in: {reason}")]
    Redirect {
        /// What is wrong with it.
        reason: String,
    },
    /// Nobody finished the sign-in.
    #[error("nobody finished the sign-in within {seconds} s")]
    TimedOut {
        /// The limit.
        seconds: u64,
    },
    /// The refresh token is no longer good, or there is none.
    #[error("the sign-in has expired")]
    Expired,
    /// The token has all scopes asked for and the server asks again.
    #[error("the server still refuses with every scope it asked for: {scopes}")]
    ScopesExhausted {
        /// Scopes of the challenge.
        scopes: String,
    },
    /// The configuration of the entry does not fit together.
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
    /// A token file holds something else.
    #[error("{} is not a token file: {reason}", .path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Another process holds the lock of a token file and does not finish.
    #[error("another process has been holding {} for {seconds} s", .path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
}

fn said(description: &Option<String>) -> String {
    match description {
        Some(text) => format!(" ({text})"),
        None => String::new(),
    }
}

/// A text from outside as it may appear in a message.
pub(super) fn quoted(text: &str) -> String {
    clean_line(text, SAID_BYTES_MAX)
}

impl OAuthError {
    /// Wraps what the system said about `path`.
    pub(super) fn file(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File {
            path: path.into(),
            source: Arc::new(source),
        }
    }

    /// Whether time alone may help.
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

    /// One step that may help the person who signs in to `server`.
    pub fn hint(&self, server: &str) -> Option<String> {
        let login = super::login_command(server, None);
        match self {
            Self::NotAsked { .. } => Some(format!("call it right away: `limbeck tools {server}`")),
            Self::Unreachable { .. } | Self::Locked { .. } => {
                Some(format!("try again in a while: `{login}`"))
            }
            Self::WildcardScope => Some(format!(
                "name the scopes you want to give: `\"oauth\": {{\"scopes\": [\"…\"]}}` in the entry of `{server}`"
            )),
            Self::NoClient => Some(format!(
                "register a client there and name it in the entry of `{server}`: \
                 `\"oauth\": {{\"clientId\": \"…\", \"callbackPort\": 8976}}`"
            )),
            Self::Denied { .. } | Self::Redirect { .. } | Self::TimedOut { .. } | Self::Expired => {
                Some(format!("begin again: `{login}`"))
            }
            Self::Refused { error, .. } if error == "invalid_client" => Some(format!(
                "check `clientId` and `clientSecret` in the entry of `{server}`, or begin again: `{login}`"
            )),
            Self::Refused { .. } | Self::Answer { .. } => Some(format!("begin again: `{login}`")),
            Self::ScopesExhausted { .. } => Some(
                "the account lacks the right, or the server asks for what it does not grant; \
                 ask who runs it"
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

    /// The error as a call to the server meets it.
    pub(super) fn to_upstream(&self) -> UpstreamError {
        let reason = match self {
            Self::File { source, .. } => format!("{self}: {source}"),
            // Everything else has its cause in its text.
            _ => self.to_string(),
        };
        UpstreamError::SignInFailed {
            reason,
            may_pass: self.may_pass(),
        }
    }
}
