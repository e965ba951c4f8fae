//! Sign-in settings in the forms of several programs.

use std::path::PathBuf;

use limbeck_setup::{GrantEntry, OAuthEntry};

use crate::given;

/// Sign-in settings of the only entry of a file with `content`, or its error.
fn read(name: &str, content: &str) -> Result<OAuthEntry, String> {
    let directory = tempfile::tempdir().unwrap();
    let path: PathBuf = directory.path().join(name);
    std::fs::write(&path, content).unwrap();
    let found = given(&[&path]).map_err(|error| error.to_string())?;
    let entry = &found.servers[0];
    match &entry.definition {
        Ok(_) => Ok(entry.oauth.clone()),
        Err(fault) => Err(fault.to_string()),
    }
}

fn client(keys: &str) -> Result<OAuthEntry, String> {
    let entry = format!("{{\"url\": \"https://example.com/mcp\", {keys}}}");
    read(
        "mcp.json",
        &format!("{{\"mcpServers\": {{\"x\": {entry}}}}}"),
    )
}

#[test]
fn the_client_settings_of_every_program_are_read() {
    let ours = client(
        r#""oauth": {"clientId": "mine", "clientSecret": "${TOKEN}", "scopes": ["a", "b"], "callbackPort": 8976}"#,
    )
    .unwrap();
    assert_eq!(ours.client_id.as_deref(), Some("mine"));
    assert_eq!(ours.client_secret.as_deref(), Some("s3cret"));
    assert_eq!(ours.scopes, ["a", "b"]);
    assert_eq!(ours.callback_port, Some(8976));
    assert!(!format!("{ours:?}").contains("s3cret"));

    let claude = client(
        r#""oauth": {"clientId": "mine", "callbackPort": 1, "authServerMetadataUrl": "https://as/x", "scopes": "a b"}"#,
    )
    .unwrap();
    assert_eq!(claude.metadata_url.as_deref(), Some("https://as/x"));
    assert_eq!(claude.scopes, ["a", "b"]);
    let cursor =
        client(r#""auth": {"CLIENT_ID": "mine", "CLIENT_SECRET": "x", "scopes": ["a"]}"#).unwrap();
    assert_eq!(cursor.client_id.as_deref(), Some("mine"));
    assert_eq!(cursor.scopes, ["a"]);
    let opencode = client(r#""oauth": {"clientId": "mine", "scope": "a b"}"#).unwrap();
    assert_eq!(opencode.scopes, ["a", "b"]);
    assert!(client(r#""oauth": false"#).unwrap().disabled);
    assert_eq!(client(r#""headers": {}"#).unwrap(), OAuthEntry::default());

    let toml = "[servers.x]\nurl = \"https://example.com/mcp\"\n[servers.x.oauth]\nclient_id = \"mine\"\nclient_secret = \"env:TOKEN\"\ngrant = \"client_credentials\"\n";
    let limbeck = read("limbeck.toml", toml).unwrap();
    assert_eq!(limbeck.grant, GrantEntry::ClientCredentials);
    // Looked up when it is needed, not now.
    assert_eq!(limbeck.client_secret.as_deref(), Some("env:TOKEN"));
}

#[test]
fn settings_that_contradict_each_other_are_errors() {
    for (keys, problem) in [
        (r#""oauth": {"clientSecret": "x"}"#, "no `clientId`"),
        (
            r#""oauth": {"grant": "client_credentials"}"#,
            "no `clientId`",
        ),
        (
            r#""oauth": {"grant": "client_credentials", "clientId": "x"}"#,
            "neither `clientSecret` nor `privateKey`",
        ),
        (
            r#""oauth": {"grant": "password"}"#,
            "expected `authorization_code`",
        ),
        (
            r#""oauth": {"callbackPort": 70000}"#,
            "expected a whole number",
        ),
        (r#""oauth": {"scopes": ["a b"]}"#, "`a b` is not a scope"),
        (r#""oauth": "yes""#, "expected an object"),
    ] {
        let error = client(keys).unwrap_err();
        assert!(error.contains(problem), "{keys}: {error}");
    }
    let toml = "[servers.x]\nurl = \"https://example.com/mcp\"\noauth = { client_ids = \"x\" }\n";
    let error = read("limbeck.toml", toml).unwrap_err();
    assert!(error.contains("client_id"), "{error}");
}
