//! Signs in to HTTP servers as an OAuth 2.1 client, and keeps the tokens fresh.
//!
//! The SDK's `AuthorizationManager` knows the protocol. What is decided here is everything around it:
//! which addresses are used ([`address`]), what of an answer is believed ([`http`]), where tokens are kept
//! and who may renew them when ([`store`], [`tokens`]), and how a person gets from a URL to a code
//! ([`login`], [`callback`]).
//!
//! Four things hold here and are tested in `tests/oauth/`:
//! - A token goes to the address it was issued for. The same entry with another address has none.
//! - A token is refreshed by one task of one process at a time; the others wait and take its result.
//! - Nothing here waits for a person but [`PendingLogin`]. A gateway that needs a sign-in says so and fails
//!   the call.
//! - No token, code, verifier or client secret is in a log, in an error or in `Debug`. The SDK logs codes
//!   and answers when it is asked to, so it runs where nobody listens.
//!
//! Start reading at [`ServerAuth`].

mod address;
mod callback;
mod discovery;
mod error;
mod file;
mod http;
mod login;
mod logout;
mod record;
mod settings;
mod status;
mod store;
mod tokens;
mod unattended;

use std::sync::{Arc, Mutex, Weak};

use ::http::Request;
use ::http::header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE};
use futures::Future;
use limbeck_domain::ServerName;
use rmcp::transport::auth::{AuthError, CredentialStore, StoredCredentials};
use serde_json::json;
use tracing::instrument::WithSubscriber as _;
use tracing::subscriber::NoSubscriber;
use url::Url;

use self::http::Http;
use crate::http::guard::Client;
use crate::sync::lock;
use discovery::Demand;
use file::Stamp;
use record::Record;
use store::Slot;

pub use error::OAuthError;
pub use login::{PendingLogin, Redirect, SignedIn};
pub use logout::SignedOut;
pub use settings::{Grant, KeyAlgorithm, OAuthSettings, Secret};
pub use status::{SignInState, Status};
pub use store::{Stored, TokenStore};

/// Bytes kept of a `WWW-Authenticate`.
const CHALLENGE_BYTES_MAX: usize = 4096;

/// The sign-in to one server: its tokens, and how to get them.
pub struct ServerAuth {
    name: ServerName,
    url: Url,
    settings: OAuthSettings,
    client: Client,
    slot: Slot,
    /// The record as last read, and which file that was.
    seen: Mutex<Option<(Stamp, Arc<Record>)>>,
    /// Held by the one task of this process that gets or renews a token.
    turn: tokio::sync::Mutex<()>,
    /// This very value: a renewal outlives the call it was made for.
    me: Weak<Self>,
}

impl ServerAuth {
    /// The sign-in to the server `name` at `url`, with its tokens in `store` and every request through
    /// `client`. Reads nothing yet.
    pub fn new(
        name: ServerName,
        url: Url,
        settings: OAuthSettings,
        store: &TokenStore,
        client: Client,
    ) -> Arc<Self> {
        let slot = store.slot(name.as_str(), url.as_str());
        Arc::new_cyclic(|me| Self {
            name,
            url,
            settings,
            client,
            slot,
            seen: Mutex::new(None),
            turn: tokio::sync::Mutex::new(()),
            me: me.clone(),
        })
    }

    /// The sign-in of `principal` to the same server, with tokens of its own. None of an earlier system's:
    /// those were the user's who runs us.
    pub fn for_principal(&self, principal: &str) -> Arc<Self> {
        let slot = self.slot.of(principal);
        Arc::new_cyclic(|me| Self {
            name: self.name.clone(),
            url: self.url.clone(),
            settings: self.settings.clone(),
            client: self.client.clone(),
            slot,
            seen: Mutex::new(None),
            turn: tokio::sync::Mutex::new(()),
            me: me.clone(),
        })
    }

    /// Whether tokens are got without a person.
    pub fn is_unattended(&self) -> bool {
        self.settings.grant.is_unattended()
    }

    /// The record as it is on disk now, or a new one.
    async fn record(&self) -> Result<Record, OAuthError> {
        let read = self.read().await?.map(|(record, _)| record);
        Ok(read.unwrap_or_else(|| Record::new(self.name.as_str(), self.url.as_str())))
    }

    /// Reads the record where blocking is allowed.
    async fn read(&self) -> Result<Option<(Record, Stored)>, OAuthError> {
        let slot = self.slot.clone();
        blocking(move || slot.read()).await
    }

    async fn write(&self, record: Record) -> Result<(), OAuthError> {
        let slot = self.slot.clone();
        blocking(move || slot.write(&record)).await
    }

    fn http(&self) -> Arc<Http> {
        Arc::new(Http::new(self.client.clone(), self.url.clone()))
    }

    /// Asks the server something no server answers without a token that wants one.
    async fn probe(&self, http: &Http) -> Result<Demand, OAuthError> {
        let body = json!({
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/list",
            "params": {"_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            }},
        });
        let request = Request::post(self.url.as_str())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .header("MCP-Protocol-Version", "2026-07-28")
            .header("Mcp-Method", "tools/list")
            .body(body.to_string().into_bytes())
            .map_err(|_| OAuthError::Settings {
                reason: "the url of the entry is not one of a server".to_owned(),
            })?;
        let response = http.exchange(request).await?;
        if response.status() != ::http::StatusCode::UNAUTHORIZED {
            return Ok(Demand::Unheard);
        }
        let challenge = response.headers().get(WWW_AUTHENTICATE);
        let challenge = challenge.and_then(|value| value.to_str().ok());
        Ok(match challenge {
            Some(text) if text.len() <= CHALLENGE_BYTES_MAX => Demand::Challenge(text.to_owned()),
            Some(_) | None => Demand::Bare,
        })
    }
}

impl std::fmt::Debug for ServerAuth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerAuth")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// What a person types to sign in to `server`, or to sign a principal in.
pub(crate) fn login_command(server: &str, principal: Option<&str>) -> String {
    let whose = principal.map_or_else(String::new, |principal| {
        format!(" --principal={}", quoted(principal))
    });
    let dashes = if server.starts_with('-') { " --" } else { "" };
    format!("limbeck auth login{whose}{dashes} {}", quoted(server))
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./@:".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Runs `work` on a thread that may block.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        // Such a task is never cancelled, so it panicked.
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// What the SDK stores, in memory: it is written by us, together with what the SDK does not keep.
#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Option<StoredCredentials>>>);

impl Captured {
    fn take(&self) -> Option<StoredCredentials> {
        lock(&self.0).take()
    }
}

#[async_trait::async_trait]
impl CredentialStore for Captured {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        Ok(lock(&self.0).clone())
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        *lock(&self.0) = Some(credentials);
        Ok(())
    }

    async fn clear(&self) -> Result<(), AuthError> {
        *lock(&self.0) = None;
        Ok(())
    }
}

/// Runs the SDK where nobody hears what it logs.
async fn unheard<F: Future>(future: F) -> F::Output {
    future.with_subscriber(NoSubscriber::default()).await
}

/// 128 random bits in hexadecimal.
///
/// # Panics
///
/// When the operating system has no random numbers, which nothing survives.
fn random_word() -> String {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).expect("the operating system has random numbers");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
