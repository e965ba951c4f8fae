//! Sign-ins that are refused, each beside one that differs in nothing else and succeeds.

use limbeck_upstream::oauth::OAuthError;
use serde_json::json;

use crate::oauth::web_server::CannedResponse;
use crate::oauth::world::{ServerBehavior, World, sign_in};

/// Signs in to a world with `behavior`; the control is a world without.
async fn refused(behavior: ServerBehavior) -> (World, OAuthError) {
    sign_in(&World::new().await.auth()).await.unwrap();
    let world = World::with(behavior).await;
    let error = sign_in(&world.auth()).await.unwrap_err();
    assert!(
        !world.home.path().join("oauth").exists() || world.grants("authorization_code").len() == 1
    );
    (world, error)
}

#[tokio::test]
async fn an_answer_of_another_issuer_is_refused_before_the_code_is_spent() {
    for iss in [Some("https://evil.example".to_owned()), None] {
        let (world, error) = refused(ServerBehavior {
            iss: Some(iss),
            ..ServerBehavior::default()
        })
        .await;
        assert!(matches!(error, OAuthError::Issuer { .. }), "{error}");
        assert!(world.grants("authorization_code").is_empty());
    }
    let unadvertised = || json!({"authorization_response_iss_parameter_supported": null});
    let (world, error) = refused(ServerBehavior {
        metadata: unadvertised(),
        iss: Some(Some("https://evil.example".to_owned())),
        ..ServerBehavior::default()
    })
    .await;
    assert!(matches!(error, OAuthError::Issuer { .. }), "{error}");
    assert!(world.grants("authorization_code").is_empty());
    // Where it was not announced it may be missing.
    let world = World::with(ServerBehavior {
        metadata: unadvertised(),
        iss: Some(None),
        ..ServerBehavior::default()
    })
    .await;
    sign_in(&world.auth()).await.unwrap();
}

#[tokio::test]
async fn metadata_of_another_issuer_or_resource_is_refused() {
    let (_, error) = refused(ServerBehavior {
        metadata: json!({"issuer": "https://accounts.example"}),
        ..ServerBehavior::default()
    })
    .await;
    assert!(matches!(error, OAuthError::Issuer { .. }), "{error}");
    let (_, error) = refused(ServerBehavior {
        resource: json!({"resource": "https://api.example/mcp"}),
        ..ServerBehavior::default()
    })
    .await;
    assert!(
        error
            .to_string()
            .contains("is about `https://api.example/mcp`"),
        "{error}"
    );
}

#[tokio::test]
async fn pkce_with_s256_is_not_negotiable() {
    for methods in [json!(null), json!([]), json!(["plain"])] {
        let (world, error) = refused(ServerBehavior {
            metadata: json!({"code_challenge_methods_supported": methods}),
            ..ServerBehavior::default()
        })
        .await;
        assert!(matches!(error, OAuthError::NoS256), "{error}");
        assert!(world.authority.asked("/authorize").is_empty());
    }
}

#[tokio::test]
async fn endpoints_that_are_not_https_are_refused() {
    for address in [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "http://as.example/x",
    ] {
        for field in ["authorization_endpoint", "token_endpoint"] {
            let (world, error) = refused(ServerBehavior {
                metadata: json!({field: address}),
                ..ServerBehavior::default()
            })
            .await;
            assert!(
                matches!(error, OAuthError::Address { .. }),
                "{field} {address}: {error}"
            );
            assert!(world.authority.asked("/register").is_empty());
        }
    }
}

#[tokio::test]
async fn a_wildcard_scope_is_requested_only_when_the_entry_names_it() {
    let (world, error) = refused(ServerBehavior {
        resource: json!({"scopes_supported": ["*", "admin"]}),
        ..ServerBehavior::default()
    })
    .await;
    assert!(matches!(error, OAuthError::WildcardScope), "{error}");
    assert!(error.hint("files").unwrap().contains("scopes"));
    let settings = limbeck_upstream::oauth::OAuthSettings {
        scopes: vec!["read".to_owned()],
        ..Default::default()
    };
    let signed_in = sign_in(&world.auth_with(settings)).await.unwrap();
    assert_eq!(signed_in.scopes, ["read"]);
}

#[tokio::test]
async fn a_redirect_of_a_request_with_secrets_is_not_followed() {
    let elsewhere =
        crate::oauth::web_server::WebServer::start(|_, _| CannedResponse::status(200, "{}")).await;
    let (_, error) = refused(ServerBehavior {
        token_says: Some(CannedResponse::status(307, "").with("location", elsewhere.base())),
        ..ServerBehavior::default()
    })
    .await;
    assert!(matches!(error, OAuthError::Redirected { .. }), "{error}");
    assert!(elsewhere.asked("/").is_empty());
}

#[tokio::test]
async fn responses_without_a_valid_token_are_rejected() {
    for token in [
        json!({"access_token": ""}),
        json!({"access_token": "a\r\nX-Injected: 1"}),
        json!({"access_token": null}),
        json!({"token_type": 5}),
        json!({"expires_in": 1_000_000_000_000_u64}),
        json!({"expires_in": "soon"}),
    ] {
        let (_, error) = refused(ServerBehavior {
            token: token.clone(),
            ..ServerBehavior::default()
        })
        .await;
        assert!(
            matches!(error, OAuthError::Answer { .. }),
            "{token}: {error}"
        );
    }
}

#[tokio::test]
async fn a_refusal_by_the_user_names_the_next_step() {
    let (world, error) = refused(ServerBehavior {
        denies: Some("access_denied"),
        ..ServerBehavior::default()
    })
    .await;
    assert_eq!(error.to_string(), "the sign-in was refused: access_denied");
    let hint = error.hint("files").unwrap();
    assert!(hint.contains("limbeck auth login files"), "{hint}");
    assert!(world.grants("authorization_code").is_empty());
}
