//! Clients that are their own account.

use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use limbeck_upstream::UpstreamError;
use limbeck_upstream::http::CredentialSource as _;
use limbeck_upstream::oauth::{KeyAlgorithm, OAuthGrant, OAuthSettings, SignInState};
use serde_json::{Value, json};

use crate::oauth::world::{ServerBehavior, World, ask, token};

/// Key used by this test only.
const KEY: &str = include_str!("client.pem");
const PUBLIC_KEY: &[u8] = include_bytes!("client.pub.pem");

fn settings(grant: OAuthGrant) -> OAuthSettings {
    OAuthSettings {
        client_id: Some("robot".to_owned()),
        client_secret: Some("client-secret".into()),
        grant,
        ..OAuthSettings::default()
    }
}

fn methods(names: Value) -> ServerBehavior {
    ServerBehavior {
        scope: Some("read"),
        metadata: json!({"token_endpoint_auth_methods_supported": names}),
        // This grant has no refresh tokens.
        token: json!({"refresh_token": null}),
        ..ServerBehavior::default()
    }
}

#[tokio::test]
async fn a_client_with_a_secret_needs_no_user() {
    for (names, basic) in [
        (json!(["client_secret_basic"]), true),
        (json!(["client_secret_post"]), false),
    ] {
        let world = World::with(methods(names)).await;
        let auth = world.auth_with(settings(OAuthGrant::ClientSecret));
        assert_eq!(ask(&world, &auth).await.unwrap(), 200);
        let grants = world.grants("client_credentials");
        assert_eq!(grants.len(), 1);
        assert_eq!(grants[0].headers.contains_key("authorization"), basic);
        assert_eq!(grants[0].field("client_secret").is_some(), !basic);
        assert_eq!(grants[0].field("resource").unwrap(), world.url().as_str());
        assert_eq!(grants[0].field("scope").unwrap(), "read");
        // The next token comes by itself, once.
        world.age(4000);
        let tokens = futures::future::join_all((0..10).map(|_| token(&auth))).await;
        assert!(tokens.iter().all(|token| token == &tokens[0]));
        assert_eq!(world.grants("client_credentials").len(), 2);
        assert_eq!(auth.status().await.unwrap().state, SignInState::SignedIn);
    }
}

#[tokio::test]
async fn a_client_with_a_key_signs_for_itself() {
    let world = World::with(methods(json!(["private_key_jwt"]))).await;
    let auth = world.auth_with(settings(OAuthGrant::PrivateKey {
        key: KEY.into(),
        algorithm: KeyAlgorithm::Es256,
    }));
    assert_eq!(ask(&world, &auth).await.unwrap(), 200);
    let grant = &world.grants("client_credentials")[0];
    let mut validation = Validation::new(Algorithm::ES256);
    validation.set_audience(&[world.authority.base()]);
    let key = DecodingKey::from_ec_pem(PUBLIC_KEY).unwrap();
    let assertion = grant.field("client_assertion").unwrap();
    let claims = jsonwebtoken::decode::<Value>(&assertion, &key, &validation).unwrap();
    assert_eq!(claims.claims["iss"], "robot");
    assert_eq!(claims.claims["sub"], "robot");
    assert_eq!(grant.field("resource").unwrap(), world.url().as_str());
}

#[tokio::test]
async fn more_scopes_are_requested_once_and_a_rejection_is_final() {
    let world = World::with(ServerBehavior {
        needs: vec!["write"],
        ..methods(json!(["client_secret_basic"]))
    })
    .await;
    let auth = world.auth_with(settings(OAuthGrant::ClientSecret));
    assert_eq!(ask(&world, &auth).await.unwrap(), 200);
    let scopes: Vec<String> = world
        .grants("client_credentials")
        .iter()
        .map(|grant| grant.field("scope").unwrap())
        .collect();
    assert_eq!(scopes.len(), 2, "{scopes:?}");
    assert!(scopes[1].contains("read") && scopes[1].contains("write"));

    // The server grants less than it asks for: there is an end to asking.
    world.change(|behavior| {
        behavior.token = json!({"refresh_token": null, "scope": "read"});
        behavior.needs = vec!["admin"];
    });
    for _ in 0..3 {
        let error = ask(&world, &auth).await.unwrap_err();
        assert!(
            matches!(
                error,
                UpstreamError::SignInFailed {
                    may_pass: false,
                    ..
                }
            ),
            "{error}"
        );
    }
    assert_eq!(world.grants("client_credentials").len(), 3);
}

#[tokio::test]
async fn a_wrong_secret_is_a_failure_that_names_it_and_not_a_sign_in() {
    let world = World::with(methods(json!(["client_secret_basic"]))).await;
    let auth = world.auth_with(settings(OAuthGrant::ClientSecret));
    let refusal =
        json!({"error": "invalid_client", "error_description": "no client-secret of yours"});
    world.change(|behavior| {
        behavior.token_says = Some(crate::oauth::web_server::CannedResponse::status(
            401,
            &refusal.to_string(),
        ));
    });
    let error = auth.authorization().await.unwrap_err();
    let UpstreamError::SignInFailed { reason, may_pass } = error else {
        panic!("{error}");
    };
    assert!(reason.contains("invalid_client"), "{reason}");
    assert!(!may_pass);
    world.change(|behavior| behavior.token_says = None);
    assert_eq!(ask(&world, &auth).await.unwrap(), 200);
}
