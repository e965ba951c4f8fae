//! Sign-in state of one server.

use std::sync::{Arc, Mutex, Weak};

use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE};
use limbeck_domain::ServerName;
use serde_json::json;
use url::Url;

use crate::http::guard::GuardedClient;

use super::blocking::blocking;
use super::discovery::AuthChallenge;
use super::error::OAuthError;
use super::file::FileStamp;
use super::http::OAuthHttp;
use super::record::SignInRecord;
use super::settings::OAuthSettings;
use super::store::{RecordFile, RecordLocation, TokenStore};

/// Longest `WWW-Authenticate` kept.
pub(super) const CHALLENGE_BYTES_MAX: usize = 4096;

/// Sign-in to one server: its tokens, and the ways to get them.
pub struct ServerAuth {
    pub(super) name: ServerName,
    pub(super) url: Url,
    pub(super) settings: OAuthSettings,
    pub(super) client: GuardedClient,
    pub(super) slot: RecordFile,
    /// Record as last read, with the stamp of its file.
    pub(super) cached: Mutex<Option<(FileStamp, Arc<SignInRecord>)>>,
    /// Held by the one task of this process that gets or refreshes a token.
    pub(super) refresh_mutex: tokio::sync::Mutex<()>,
    /// Reference to itself: a refresh outlives the call that started it.
    pub(super) this: Weak<Self>,
}

impl ServerAuth {
    /// Creates the sign-in to the server `name` at `url`, with its tokens in `store` and all requests through
    /// `client`. Reads nothing.
    pub fn new(
        name: ServerName,
        url: Url,
        settings: OAuthSettings,
        store: &TokenStore,
        client: GuardedClient,
    ) -> Arc<Self> {
        let slot = store.slot(name.as_str(), url.as_str());
        Arc::new_cyclic(|this| Self {
            name,
            url,
            settings,
            client,
            slot,
            cached: Mutex::new(None),
            refresh_mutex: tokio::sync::Mutex::new(()),
            this: this.clone(),
        })
    }

    /// Creates the sign-in of `principal` to the same server, with tokens of its own. Tokens of an earlier
    /// system belong to the user who runs the gateway and are not used.
    pub fn for_principal(&self, principal: &str) -> Arc<Self> {
        let slot = self.slot.of(principal);
        Arc::new_cyclic(|this| Self {
            name: self.name.clone(),
            url: self.url.clone(),
            settings: self.settings.clone(),
            client: self.client.clone(),
            slot,
            cached: Mutex::new(None),
            refresh_mutex: tokio::sync::Mutex::new(()),
            this: this.clone(),
        })
    }

    /// Whether tokens are requested without the user (client credentials grant).
    pub fn is_unattended(&self) -> bool {
        self.settings.grant.is_unattended()
    }

    /// Reads the record from disk, or creates a new one.
    pub(super) async fn record(&self) -> Result<SignInRecord, OAuthError> {
        let read = self.read().await?.map(|(record, _)| record);
        Ok(read.unwrap_or_else(|| SignInRecord::new(self.name.as_str(), self.url.as_str())))
    }

    /// Reads the record on a blocking thread.
    pub(super) async fn read(&self) -> Result<Option<(SignInRecord, RecordLocation)>, OAuthError> {
        let slot = self.slot.clone();
        blocking(move || slot.read()).await
    }

    pub(super) async fn write(&self, record: SignInRecord) -> Result<(), OAuthError> {
        let slot = self.slot.clone();
        blocking(move || slot.write(&record)).await
    }

    pub(super) fn http(&self) -> Arc<OAuthHttp> {
        Arc::new(OAuthHttp::new(self.client.clone(), self.url.clone()))
    }

    /// Sends a request that any server with required sign-in rejects, and returns its challenge.
    pub(super) async fn probe(&self, http: &OAuthHttp) -> Result<AuthChallenge, OAuthError> {
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
        if response.status() != http::StatusCode::UNAUTHORIZED {
            return Ok(AuthChallenge::NotChallenged);
        }
        let challenge = response.headers().get(WWW_AUTHENTICATE);
        let challenge = challenge.and_then(|value| value.to_str().ok());
        Ok(match challenge {
            Some(text) if text.len() <= CHALLENGE_BYTES_MAX => {
                AuthChallenge::Header(text.to_owned())
            }
            Some(_) | None => AuthChallenge::WithoutHeader,
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
