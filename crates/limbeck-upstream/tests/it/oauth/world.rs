//! Fake MCP server with its authorization server, and a user who approves.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use limbeck_domain::ServerName;
use limbeck_upstream::http::guard::GuardedClient;
use limbeck_upstream::http::{CredentialSource as _, NetworkRules};
use limbeck_upstream::oauth::{
    AuthorizationResponse, OAuthError, OAuthSettings, PendingLogin, ServerAuth, SignInOutcome,
    TokenStore,
};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use url::Url;

use crate::oauth::web_server::{CannedResponse, ReceivedRequest, WebServer, get, pairs};

/// How the two servers behave; changed by tests as they go.
pub(crate) struct ServerBehavior {
    /// Laid over the authorization server's metadata; null removes a field.
    pub(crate) metadata: Value,
    /// Paths the metadata is published at.
    pub(crate) metadata_paths: Vec<&'static str>,
    /// Laid over the protected resource metadata; null removes a field.
    pub(crate) resource: Value,
    pub(crate) resource_paths: Vec<&'static str>,
    /// Whether the challenge points to the resource metadata.
    pub(crate) points: bool,
    /// `scope` of the challenge.
    pub(crate) scope: Option<&'static str>,
    /// Scopes a call needs; another token is answered 403.
    pub(crate) needs: Vec<&'static str>,
    /// Laid over the answer of the token endpoint.
    pub(crate) token: Value,
    /// Response of the token endpoint in place of a token.
    pub(crate) token_says: Option<CannedResponse>,
    /// `iss` of the redirect, where it is not the issuer.
    pub(crate) iss: Option<Option<String>>,
    /// Error in the redirect in place of a code.
    pub(crate) denies: Option<&'static str>,
    /// Every token is refused by the server.
    pub(crate) refuses_all: bool,
    /// The refresh token stays the same.
    pub(crate) keeps_refresh: bool,
}

impl Default for ServerBehavior {
    fn default() -> Self {
        Self {
            metadata: json!({}),
            metadata_paths: vec!["/.well-known/oauth-authorization-server"],
            resource: json!({}),
            resource_paths: vec!["/.well-known/oauth-protected-resource/mcp"],
            points: true,
            scope: None,
            needs: Vec::new(),
            token: json!({}),
            token_says: None,
            iss: None,
            denies: None,
            refuses_all: false,
            keeps_refresh: false,
        }
    }
}

/// What the authorization server remembers.
#[derive(Default)]
struct IssuedTokens {
    count: u32,
    /// Challenge and scopes behind every code.
    codes: BTreeMap<String, (String, String)>,
    access: BTreeMap<String, String>,
    refresh: BTreeSet<String>,
}

pub(crate) struct World {
    pub(crate) authority: WebServer,
    pub(crate) server: WebServer,
    pub(crate) behavior: Arc<Mutex<ServerBehavior>>,
    pub(crate) home: TempDir,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(ServerBehavior::default()).await
    }

    pub(crate) async fn with(behavior: ServerBehavior) -> Self {
        let behavior = Arc::new(Mutex::new(behavior));
        let issued = Arc::new(Mutex::new(IssuedTokens::default()));
        let (seen, of) = (behavior.clone(), issued.clone());
        let authority = WebServer::start(move |base, asked| {
            authority(base, asked, &seen.lock().unwrap(), &mut of.lock().unwrap())
        })
        .await;
        let (seen, issuer) = (behavior.clone(), authority.base().to_owned());
        let server = WebServer::start(move |base, asked| {
            resource(
                base,
                &issuer,
                asked,
                &seen.lock().unwrap(),
                &issued.lock().unwrap(),
            )
        })
        .await;
        Self {
            authority,
            server,
            behavior,
            home: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut ServerBehavior)) {
        change(&mut self.behavior.lock().unwrap());
    }

    pub(crate) fn url(&self) -> Url {
        Url::parse(&format!("{}/mcp", self.server.base())).unwrap()
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.home.path().join("oauth")
    }

    pub(crate) fn store(&self) -> TokenStore {
        TokenStore::new(self.directory())
    }

    /// The sign-in of the entry `files` with the default settings.
    pub(crate) fn auth(&self) -> Arc<ServerAuth> {
        self.auth_with(OAuthSettings::default())
    }

    pub(crate) fn auth_with(&self, settings: OAuthSettings) -> Arc<ServerAuth> {
        auth_at("files", &self.url(), settings, &self.store())
    }

    /// Requests of one grant to the token endpoint.
    pub(crate) fn grants(&self, grant: &str) -> Vec<ReceivedRequest> {
        let mut asked = self.authority.asked("/token");
        asked.retain(|asked| asked.field("grant_type").as_deref() == Some(grant));
        asked
    }

    /// The token file's only record.
    pub(crate) fn file(&self) -> PathBuf {
        let mut files: Vec<PathBuf> = std::fs::read_dir(self.directory())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|name| name == "json"))
            .collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0)
    }

    /// The record as JSON.
    pub(crate) fn record(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.file()).unwrap()).unwrap()
    }

    /// Makes the tokens `seconds` older.
    pub(crate) fn age(&self, seconds: u64) {
        let mut record = self.record();
        let received = record["tokens"]["received_at"].as_u64().unwrap();
        record["tokens"]["received_at"] = json!(received - seconds);
        std::fs::write(self.file(), record.to_string()).unwrap();
    }
}

pub(crate) fn auth_at(
    name: &str,
    url: &Url,
    settings: OAuthSettings,
    store: &TokenStore,
) -> Arc<ServerAuth> {
    let client = GuardedClient::new(url, NetworkRules::default()).unwrap();
    ServerAuth::new(ServerName::new(name), url.clone(), settings, store, client)
}

/// Approves in the browser and follows the redirect.
pub(crate) async fn sign_in(auth: &Arc<ServerAuth>) -> Result<SignInOutcome, OAuthError> {
    let pending = auth.begin(&[]).await?;
    let redirect = approve(&pending).await?;
    pending.finish(redirect).await
}

pub(crate) async fn approve(pending: &PendingLogin) -> Result<AuthorizationResponse, OAuthError> {
    let (status, location, _) = get(pending.url()).await;
    assert_eq!(status, 302);
    let location = location.unwrap();
    let (redirect, (status, _, _)) = tokio::join!(pending.redirected(), get(&location));
    assert_eq!(status, 200);
    redirect
}

/// The token of the next request.
pub(crate) async fn token(auth: &Arc<ServerAuth>) -> Option<String> {
    let value = auth.authorization().await.unwrap()?;
    let value = value.expose_secret();
    Some(value.strip_prefix("Bearer ").unwrap().to_owned())
}

/// Merges `over` into `under`; null removes a member.
fn lay(mut under: Value, over: &Value) -> Value {
    for (key, value) in over.as_object().unwrap() {
        match value {
            Value::Null => under.as_object_mut().unwrap().remove(key),
            value => under
                .as_object_mut()
                .unwrap()
                .insert(key.clone(), value.clone()),
        };
    }
    under
}

fn authority(
    base: &str,
    asked: &ReceivedRequest,
    behavior: &ServerBehavior,
    issued: &mut IssuedTokens,
) -> CannedResponse {
    match (asked.method.as_str(), asked.path.as_str()) {
        ("GET", path) if behavior.metadata_paths.contains(&path) => {
            let metadata = json!({
                "issuer": base,
                "authorization_endpoint": format!("{base}/authorize"),
                "token_endpoint": format!("{base}/token"),
                "registration_endpoint": format!("{base}/register"),
                "revocation_endpoint": format!("{base}/revoke"),
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
                "authorization_response_iss_parameter_supported": true,
            });
            CannedResponse::json(&lay(metadata, &behavior.metadata))
        }
        ("GET", "/authorize") => authorize(base, asked, behavior, issued),
        ("POST", "/register") => CannedResponse::json(&json!({
            "client_id": "registered",
            "redirect_uris": serde_json::from_str::<Value>(&asked.body).unwrap()["redirect_uris"],
        })),
        ("POST", "/token") => token_endpoint(asked, behavior, issued),
        ("POST", "/revoke") => {
            let token = asked.field("token").unwrap();
            issued.refresh.remove(&token);
            issued.access.remove(&token);
            CannedResponse::status(200, "")
        }
        _ => CannedResponse::status(404, "{}"),
    }
}

fn authorize(
    base: &str,
    asked: &ReceivedRequest,
    behavior: &ServerBehavior,
    issued: &mut IssuedTokens,
) -> CannedResponse {
    assert_eq!(asked.query["code_challenge_method"], "S256");
    assert_eq!(asked.query["response_type"], "code");
    let mut back = Url::parse(&asked.query["redirect_uri"]).unwrap();
    issued.count += 1;
    let code = format!("code-secret-{}", issued.count);
    let scope = asked.query.get("scope").cloned().unwrap_or_default();
    let challenge = asked.query["code_challenge"].clone();
    issued.codes.insert(code.clone(), (challenge, scope));
    match behavior.denies {
        Some(error) => back.query_pairs_mut().append_pair("error", error),
        None => back.query_pairs_mut().append_pair("code", &code),
    };
    back.query_pairs_mut()
        .append_pair("state", &asked.query["state"]);
    match &behavior.iss {
        None => drop(back.query_pairs_mut().append_pair("iss", base)),
        Some(None) => {}
        Some(Some(iss)) => drop(back.query_pairs_mut().append_pair("iss", iss)),
    }
    CannedResponse::status(302, "").with("location", back.to_string())
}

fn token_endpoint(
    asked: &ReceivedRequest,
    behavior: &ServerBehavior,
    issued: &mut IssuedTokens,
) -> CannedResponse {
    if let Some(said) = &behavior.token_says {
        return said.clone();
    }
    let invalid = || CannedResponse::status(400, &json!({"error": "invalid_grant"}).to_string());
    let scope = match asked.field("grant_type").as_deref() {
        Some("authorization_code") => {
            let code = issued.codes.remove(&asked.field("code").unwrap());
            let Some((challenge, scope)) = code else {
                return invalid();
            };
            let verifier = asked.field("code_verifier").unwrap();
            let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
            assert_eq!(hash, challenge);
            scope
        }
        Some("refresh_token") => {
            let spent = asked.field("refresh_token").unwrap();
            if !issued.refresh.contains(&spent) {
                return invalid();
            }
            if !behavior.keeps_refresh {
                issued.refresh.remove(&spent);
            }
            asked.field("scope").unwrap_or_default()
        }
        Some("client_credentials") => asked.field("scope").unwrap_or_default(),
        grant => panic!("{grant:?}"),
    };
    issued.count += 1;
    let access = format!("access-secret-{}", issued.count);
    let refresh = format!("refresh-secret-{}", issued.count);
    // A narrowed grant is narrow at the server too.
    let granted = behavior.token.get("scope").and_then(Value::as_str);
    let granted = granted.unwrap_or(&scope).to_owned();
    issued.access.insert(access.clone(), granted);
    issued.refresh.insert(refresh.clone());
    let mut answer = json!({
        "access_token": access,
        "token_type": "Bearer",
        "expires_in": 3600,
        "refresh_token": refresh,
    });
    if !scope.is_empty() {
        answer["scope"] = json!(scope);
    }
    CannedResponse::json(&lay(answer, &behavior.token))
}

fn resource(
    base: &str,
    issuer: &str,
    asked: &ReceivedRequest,
    behavior: &ServerBehavior,
    issued: &IssuedTokens,
) -> CannedResponse {
    let metadata = format!("{base}/.well-known/oauth-protected-resource/mcp");
    if behavior.resource_paths.contains(&asked.path.as_str()) {
        let document = json!({
            "resource": format!("{base}/mcp"),
            "authorization_servers": [issuer],
        });
        return CannedResponse::json(&lay(document, &behavior.resource));
    }
    if asked.path != "/mcp" {
        return CannedResponse::status(404, "{}");
    }
    let authorization = asked.headers.get("authorization");
    let token = authorization.and_then(|value| value.strip_prefix("Bearer "));
    let scopes = token.and_then(|token| issued.access.get(token));
    let mut challenge = "Bearer realm=\"mcp\"".to_owned();
    if behavior.points {
        challenge += &format!(", resource_metadata=\"{metadata}\"");
    }
    match scopes {
        Some(scopes) if !behavior.refuses_all => {
            let has = |need: &&str| scopes.split(' ').any(|scope| scope == *need);
            if behavior.needs.iter().all(has) {
                return CannedResponse::json(
                    &json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}),
                );
            }
            challenge += &format!(
                ", error=\"insufficient_scope\", scope=\"{}\"",
                behavior.needs.join(" ")
            );
            CannedResponse::status(403, "{}").with("www-authenticate", challenge)
        }
        _ => {
            if let Some(scope) = behavior.scope {
                challenge += &format!(", scope=\"{scope}\"");
            }
            CannedResponse::status(401, "{}").with("www-authenticate", challenge)
        }
    }
}

/// Sends a request as a connection does: with the current token, and once more after a rejection.
pub(crate) async fn ask(
    world: &World,
    auth: &Arc<ServerAuth>,
) -> Result<u16, limbeck_upstream::UpstreamError> {
    let mut repeated = false;
    loop {
        let token = auth.authorization().await?;
        let token = token.map(|token| token.expose_secret().to_owned());
        let (status, challenge) = post(&world.url(), token.as_deref()).await;
        if !matches!(status, 401 | 403) {
            return Ok(status);
        }
        if !auth.refused(status, challenge.as_deref()).await? || repeated {
            return Ok(status);
        }
        repeated = true;
    }
}

async fn post(url: &Url, authorization: Option<&str>) -> (u16, Option<String>) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let host = format!("127.0.0.1:{}", url.port().unwrap());
    let mut stream = tokio::net::TcpStream::connect(&host).await.unwrap();
    let line = authorization.map(|value| format!("Authorization: {value}\r\n"));
    let request = format!(
        "POST {} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{}Content-Length: 0\r\n\r\n",
        url.path(),
        line.unwrap_or_default()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let challenge = answer.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("www-authenticate")
            .then(|| value.to_owned())
    });
    (status, challenge)
}

/// Fields of the query of `url`.
pub(crate) fn query(url: &Url) -> BTreeMap<String, String> {
    pairs(url.query().unwrap_or_default())
}
