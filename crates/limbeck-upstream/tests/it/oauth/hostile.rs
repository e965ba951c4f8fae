//! Every mode of the hostile OAuth server: a clear refusal, no browser, no secret repeated.

use std::io::BufRead as _;
use std::process::{Child, Command, Stdio};

use limbeck_upstream::oauth::{OAuthError, OAuthSettings, TokenStore};
use serde_json::Value;
use url::Url;

use crate::oauth::world::auth_at;

struct HostileServer {
    child: Child,
    url: Url,
}

impl HostileServer {
    fn start(mode: &str) -> Self {
        let script = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/servers/h27_oauth_hostile.py"
        );
        let mut child = Command::new("python3")
            .args(["-B", script, "0", mode])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = child.stdout.take().unwrap();
        std::io::BufReader::new(output)
            .read_line(&mut line)
            .unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let url = format!("http://127.0.0.1:{}/mcp", said["listening"]);
        Self {
            child,
            url: url.parse().unwrap(),
        }
    }
}

impl Drop for HostileServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Signs in until it fails; the client is preregistered, because the server has no registration.
async fn sign_in(mode: &str) -> OAuthError {
    let server = HostileServer::start(mode);
    let home = tempfile::tempdir().unwrap();
    let settings = OAuthSettings {
        client_id: Some("mine".to_owned()),
        ..OAuthSettings::default()
    };
    let store = TokenStore::new(home.path().join("oauth"));
    let auth = auth_at("hostile", &server.url, settings, &store);
    let pending = match auth.begin(&[]).await {
        Ok(pending) => pending,
        Err(error) => return error,
    };
    // It has no page to approve on, so the answer is made up here: it is the token endpoint's turn.
    let state = crate::oauth::world::query(pending.url())
        .remove("state")
        .unwrap();
    let back = format!("{}?code=code-secret&state={state}", pending.redirect_uri());
    let redirect = pending.pasted(&back).unwrap();
    let error = pending.finish(redirect).await.unwrap_err();
    assert!(!home.path().join("oauth").exists());
    error
}

#[tokio::test]
async fn every_hostile_mode_is_refused_for_its_own_reason() {
    for (mode, reason) in [
        ("inject", "it has characters that no URI has"),
        ("jsurl", "only `https` is used"),
        ("file", "only `https` is used"),
        ("ssrf", "could not be reached"),
        (
            "issuermix",
            "the response is from `https://accounts.example.invalid`",
        ),
        ("nopkce", "does not offer PKCE with S256"),
        ("wildscope", "asks for the scope `*`"),
        (
            "tokenleak",
            "the authorization server refused the token request (400): invalid_request",
        ),
        ("hugeexpiry", "its token lives for 1000000000000 s"),
        ("badtype", "publishes usable metadata"),
        (
            "resourcespoof",
            "is about `https://api.example.invalid/mcp`",
        ),
    ] {
        let error = sign_in(mode).await;
        let text = error.to_string();
        assert!(text.contains(reason), "{mode}: {text}");
        assert!(!text.contains("secret"), "{mode}: {text}");
        let hint = error.hint("hostile").unwrap_or_default();
        assert!(!hint.is_empty(), "{mode} leaves the reader alone: {text}");
    }
}
