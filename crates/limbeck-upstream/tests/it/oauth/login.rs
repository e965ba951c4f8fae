//! From a refused call to a token, in every way the specification has.

use std::sync::Arc;

use limbeck_domain::ServerName;
use limbeck_upstream::oauth::{OAuthError, OAuthSettings, SignInState};
use limbeck_upstream::{
    CredentialSource, HttpSpec, ServerSpec, TransportSpec, UpstreamError, UpstreamPool,
};
use serde_json::{Value, json};
use url::Url;

use crate::oauth::web_server::{WebServer, get, get_from};
use crate::oauth::world::{ServerBehavior, World, approve, ask, query, sign_in, token};

#[tokio::test]
async fn a_refused_call_names_the_command_and_works_after_it() {
    let world = World::new().await;
    let auth = world.auth();
    let error = ask(&world, &auth).await.unwrap_err();
    let UpstreamError::SignInNeeded { url, command } = error else {
        panic!("{error}");
    };
    assert_eq!(url, world.server.base());
    assert_eq!(command, "limbeck auth login files");
    assert_eq!(auth.status().await.unwrap().state, SignInState::SignedOut);

    let signed_in = sign_in(&auth).await.unwrap();

    assert!(signed_in.renewable);
    assert_eq!(ask(&world, &auth).await.unwrap(), 200);
    let status = auth.status().await.unwrap();
    assert_eq!(status.state, SignInState::SignedIn);
    assert_eq!(status.issuer.as_deref(), Some(world.authority.base()));
    assert_eq!(status.storage, Some("file"));
}

#[tokio::test]
async fn a_pool_uses_the_token_with_the_call_after_the_sign_in() {
    let world = World::new().await;
    let auth = world.auth();
    let mut http = HttpSpec::new(world.url().as_str()).unwrap();
    http.credentials = Some(auth.clone() as Arc<dyn CredentialSource>);
    let spec = ServerSpec::new("files", TransportSpec::Http(Box::new(http)));
    let pool = UpstreamPool::new(vec![spec]);
    let list = async || pool.list_tools(&ServerName::new("files")).await;
    for _ in 0..2 {
        let error = list().await.unwrap_err();
        let needed = matches!(error, UpstreamError::SignInNeeded { .. });
        assert!(needed, "{error}");
    }
    sign_in(&auth).await.unwrap();
    // The server is no whole MCP server; it is reached, and that is all.
    let error = list().await.err();
    assert!(
        !matches!(
            error,
            Some(UpstreamError::SignInNeeded { .. } | UpstreamError::BackingOff { .. })
        ),
        "{error:?}"
    );
    pool.shutdown().await;
}

#[tokio::test]
async fn a_pasted_redirect_is_as_good_as_a_browser_on_this_machine() {
    let world = World::new().await;
    let auth = world.auth();
    let pending = auth.begin(&[]).await.unwrap();
    let (_, location, _) = get(pending.url()).await;
    let location = location.unwrap().to_string();
    for wrong in [
        "",
        "code",
        "https://elsewhere.example/?code=1&state=2",
        pending.redirect_uri(),
    ] {
        assert!(pending.pasted(wrong).is_err(), "{wrong}");
    }
    let redirect = pending.pasted(&format!("  {location}\n")).unwrap();
    pending.finish(redirect).await.unwrap();
    assert!(token(&auth).await.is_some());
}

#[tokio::test]
async fn the_resource_is_named_to_both_endpoints_and_pkce_is_s256() {
    let world = World::new().await;
    let auth = world.auth();
    let pending = auth.begin(&[]).await.unwrap();
    let asked = query(pending.url());
    assert_eq!(asked["resource"], world.url().as_str());
    assert_eq!(asked["code_challenge_method"], "S256");
    let redirect = approve(&pending).await.unwrap();
    pending.finish(redirect).await.unwrap();
    let exchange = &world.grants("authorization_code")[0];
    assert_eq!(exchange.field("resource").unwrap(), world.url().as_str());
    assert!(exchange.field("code_verifier").unwrap().len() >= 43);
}

#[tokio::test]
async fn a_registered_client_comes_before_a_document_and_that_before_registration() {
    let document = "https://client.example/metadata.json";
    let cimd = || ServerBehavior {
        metadata: json!({"client_id_metadata_document_supported": true}),
        ..ServerBehavior::default()
    };
    let settings = |id: Option<&str>, url: Option<&str>| OAuthSettings {
        client_id: id.map(str::to_owned),
        client_metadata_url: url.map(str::to_owned),
        ..OAuthSettings::default()
    };
    for (behavior, settings, expected, registrations) in [
        (cimd(), settings(Some("mine"), Some(document)), "mine", 0),
        (cimd(), settings(None, Some(document)), document, 0),
        (
            ServerBehavior::default(),
            settings(None, Some(document)),
            "registered",
            1,
        ),
        (
            ServerBehavior::default(),
            settings(None, None),
            "registered",
            1,
        ),
    ] {
        let world = World::with(behavior).await;
        let auth = world.auth_with(settings);
        let pending = auth.begin(&[]).await.unwrap();
        assert_eq!(query(pending.url())["client_id"], expected);
        assert_eq!(world.authority.asked("/register").len(), registrations);
        let redirect = approve(&pending).await.unwrap();
        pending.finish(redirect).await.unwrap();
    }
    let world = World::with(ServerBehavior {
        metadata: json!({"registration_endpoint": null}),
        ..ServerBehavior::default()
    })
    .await;
    let error = world.auth().begin(&[]).await.unwrap_err();
    assert!(matches!(error, OAuthError::NoClient), "{error}");
    assert!(error.hint("files").unwrap().contains("clientId"));
}

#[tokio::test]
async fn a_secret_is_sent_the_way_the_server_takes_it() {
    let settings = || OAuthSettings {
        client_id: Some("mine".to_owned()),
        client_secret: Some("client-secret".into()),
        ..OAuthSettings::default()
    };
    for (methods, basic) in [
        (json!(["client_secret_basic"]), true),
        (json!(["client_secret_post"]), false),
    ] {
        let world = World::with(ServerBehavior {
            metadata: json!({"token_endpoint_auth_methods_supported": methods}),
            ..ServerBehavior::default()
        })
        .await;
        sign_in(&world.auth_with(settings())).await.unwrap();
        let exchange = &world.grants("authorization_code")[0];
        assert_eq!(exchange.headers.contains_key("authorization"), basic);
        let posted = exchange.field("client_secret");
        assert_eq!(posted.as_deref(), (!basic).then_some("client-secret"));
    }
}

#[tokio::test]
async fn scopes_are_the_challenges_else_the_resources_else_none() {
    let asked = async |behavior: ServerBehavior, settings: OAuthSettings| {
        let world = World::with(behavior).await;
        let pending = world.auth_with(settings).begin(&[]).await.unwrap();
        query(pending.url()).remove("scope")
    };
    let supported = || json!({"scopes_supported": ["one", "two"]});
    let challenge = ServerBehavior {
        scope: Some("read"),
        resource: supported(),
        ..ServerBehavior::default()
    };
    assert_eq!(
        asked(challenge, OAuthSettings::default()).await.as_deref(),
        Some("read")
    );
    let resource = ServerBehavior {
        resource: supported(),
        ..ServerBehavior::default()
    };
    let scope = asked(resource, OAuthSettings::default()).await;
    assert_eq!(scope.as_deref(), Some("one two"));
    let nothing = ServerBehavior {
        metadata: json!({"scopes_supported": ["profile", "email"]}),
        ..ServerBehavior::default()
    };
    assert_eq!(asked(nothing, OAuthSettings::default()).await, None);
    let offline = ServerBehavior {
        scope: Some("read"),
        metadata: json!({"scopes_supported": ["read", "offline_access"]}),
        ..ServerBehavior::default()
    };
    let scope = asked(offline, OAuthSettings::default()).await;
    assert_eq!(scope.as_deref(), Some("read offline_access"));
    let own = OAuthSettings {
        scopes: vec!["mine".to_owned()],
        ..OAuthSettings::default()
    };
    let scope = asked(
        ServerBehavior {
            scope: Some("read"),
            ..ServerBehavior::default()
        },
        own,
    )
    .await;
    assert_eq!(scope.as_deref(), Some("mine"));
}

#[tokio::test]
async fn metadata_is_found_at_every_place_it_may_be() {
    let resource_paths = [
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-protected-resource",
    ];
    for path in resource_paths {
        let world = World::with(ServerBehavior {
            points: false,
            resource_paths: vec![path],
            ..ServerBehavior::default()
        })
        .await;
        sign_in(&world.auth()).await.unwrap();
    }
    for path in [
        "/.well-known/oauth-authorization-server/tenant",
        "/.well-known/openid-configuration/tenant",
        "/tenant/.well-known/openid-configuration",
    ] {
        let world = World::with(ServerBehavior {
            metadata_paths: vec![path],
            ..ServerBehavior::default()
        })
        .await;
        let issuer = format!("{}/tenant", world.authority.base());
        world.change(|behavior| {
            behavior.metadata = json!({"issuer": issuer});
            behavior.resource = json!({"authorization_servers": [issuer]});
            behavior.iss = Some(Some(issuer.clone()));
        });
        sign_in(&world.auth())
            .await
            .unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    let world = World::with(ServerBehavior {
        metadata_paths: vec!["/somewhere/else"],
        ..ServerBehavior::default()
    })
    .await;
    assert!(world.auth().begin(&[]).await.is_err());
    let settings = OAuthSettings {
        metadata_url: Some(
            Url::parse(&format!("{}/somewhere/else", world.authority.base())).unwrap(),
        ),
        ..OAuthSettings::default()
    };
    sign_in(&world.auth_with(settings)).await.unwrap();
}

#[tokio::test]
async fn a_server_of_revision_2025_03_26_has_its_endpoints_at_fixed_paths() {
    let server = WebServer::start(|_, asked| {
        use crate::oauth::web_server::CannedResponse;
        match asked.path.as_str() {
            "/register" => {
                CannedResponse::json(&json!({"client_id": "registered", "redirect_uris": []}))
            }
            "/authorize" => {
                let back = format!(
                    "{}?code=c&state={}",
                    asked.query["redirect_uri"], asked.query["state"]
                );
                CannedResponse::status(302, "").with("location", back)
            }
            "/token" => {
                CannedResponse::json(&json!({"access_token": "old", "token_type": "bearer"}))
            }
            "/mcp" => CannedResponse::status(401, "{}"),
            _ => CannedResponse::status(404, "{}"),
        }
    })
    .await;
    let home = tempfile::tempdir().unwrap();
    let store = limbeck_upstream::oauth::TokenStore::new(home.path().join("oauth"));
    let url = Url::parse(&format!("{}/mcp", server.base())).unwrap();
    let auth = crate::oauth::world::auth_at("files", &url, OAuthSettings::default(), &store);
    let signed_in = sign_in(&auth).await.unwrap();
    assert_eq!(token(&auth).await.as_deref(), Some("old"));
    assert_eq!((signed_in.expires_at, signed_in.renewable), (None, false));
}

#[tokio::test]
async fn a_server_without_sign_in_is_not_signed_in_to() {
    let server =
        WebServer::start(|_, _| crate::oauth::web_server::CannedResponse::json(&json!({}))).await;
    let home = tempfile::tempdir().unwrap();
    let store = limbeck_upstream::oauth::TokenStore::new(home.path().join("oauth"));
    let url = Url::parse(&format!("{}/mcp", server.base())).unwrap();
    let auth = crate::oauth::world::auth_at("files", &url, OAuthSettings::default(), &store);
    let error = auth.begin(&[]).await.unwrap_err();
    assert!(matches!(error, OAuthError::NotAsked { .. }), "{error}");
    assert_eq!(token(&auth).await, None);
    assert!(!home.path().join("oauth").exists());
}

#[tokio::test]
async fn the_callback_takes_one_answer_with_its_state_path_and_name() {
    let world = World::new().await;
    let auth = world.auth();
    let pending = auth.begin(&[]).await.unwrap();
    let (_, good, _) = get(pending.url()).await;
    let good = good.unwrap();
    let at = |change: &dyn Fn(&mut Url)| {
        let mut url = good.clone();
        change(&mut url);
        url
    };
    let elsewhere = at(&|url| url.set_path("/callback"));
    let stateless = at(&|url| url.set_query(Some("code=stolen&state=guessed")));
    let script = at(&|url| url.set_query(Some("error=<script>alert(1)</script>")));
    let waiting = pending.redirected();
    let visits = async {
        assert_eq!(get(&elsewhere).await.0, 404);
        assert_eq!(get(&stateless).await.0, 400);
        let (status, _, page) = get(&script).await;
        assert_eq!(status, 400);
        assert!(!page.contains("script"), "{page}");
        assert_eq!(get_from(&good, "evil.example:80").await.0, 403);
        get(&good).await.0
    };
    let (redirect, status) = tokio::join!(waiting, visits);
    assert_eq!(status, 200);
    assert!(
        !good.path().ends_with("/callback"),
        "every process can guess {}",
        good.path()
    );
    pending.finish(redirect.unwrap()).await.unwrap();
    // The listener is gone with its sign-in.
    let port = good.port().unwrap();
    assert!(
        tokio::net::TcpStream::connect(("127.0.0.1", port))
            .await
            .is_err()
    );
}

#[tokio::test]
async fn signing_out_revokes_and_removes_the_tokens() {
    let world = World::new().await;
    let auth = world.auth();
    sign_in(&auth).await.unwrap();
    let held = token(&auth).await.unwrap();
    let refresh = world.record()["tokens"]["refresh"].clone();
    let done = auth.sign_out().await.unwrap();
    assert!(
        done.had_tokens && matches!(done.revoked, Some(Ok(()))),
        "{done:?}"
    );
    let revoked: Vec<Value> = world
        .authority
        .asked("/revoke")
        .iter()
        .map(|asked| json!(asked.field("token").unwrap()))
        .collect();
    assert_eq!(revoked, [refresh, json!(held)]);
    assert_eq!(token(&auth).await, None);
    assert!(!auth.sign_out().await.unwrap().had_tokens);
}
