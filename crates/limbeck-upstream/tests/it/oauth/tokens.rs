//! Tokens over time: renewed once for all callers, bound to what they were issued for, never shown.

use std::sync::{Arc, Mutex};

use limbeck_upstream::UpstreamError;
use limbeck_upstream::http::CredentialSource as _;
use limbeck_upstream::oauth::{OAuthSettings, SignInState};
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use crate::oauth::web_server::CannedResponse;
use crate::oauth::world::{ServerBehavior, World, ask, auth_at, query, sign_in, token};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_calls_with_an_expired_token_refresh_once() {
    let world = World::new().await;
    let auth = world.auth();
    sign_in(&auth).await.unwrap();
    let old = token(&auth).await.unwrap();
    world.age(3590);
    let calls = (0..50).map(|_| {
        let auth = auth.clone();
        tokio::spawn(async move { token(&auth).await.unwrap() })
    });
    let tokens = futures::future::join_all(calls).await;
    let new = tokens[0].as_ref().unwrap().clone();
    assert_ne!(new, old);
    assert!(tokens.iter().all(|token| token.as_ref().unwrap() == &new));
    assert_eq!(world.grants("refresh_token").len(), 1);
    assert_eq!(ask(&world, &auth).await.unwrap(), 200);
    let refresh = &world.grants("refresh_token")[0];
    assert_eq!(refresh.field("resource").unwrap(), world.url().as_str());
}

#[tokio::test]
async fn a_token_the_server_refuses_is_refreshed_and_the_call_repeated() {
    let world = World::new().await;
    let auth = world.auth();
    sign_in(&auth).await.unwrap();
    world.age(60);
    let mut record = world.record();
    record["tokens"]["access"] = json!("revoked-by-the-server");
    std::fs::write(world.file(), record.to_string()).unwrap();
    assert_eq!(ask(&world, &auth).await.unwrap(), 200);
    assert_eq!(world.grants("refresh_token").len(), 1);
}

#[tokio::test]
async fn a_rejected_refresh_token_is_not_sent_again_and_a_sign_in_is_required() {
    let world = World::new().await;
    let auth = world.auth();
    sign_in(&auth).await.unwrap();
    world.age(4000);
    let invalid = json!({"error": "invalid_grant"}).to_string();
    world.change(|behavior| behavior.token_says = Some(CannedResponse::status(400, &invalid)));
    let error = auth.authorization().await.unwrap_err();
    assert!(
        matches!(error, UpstreamError::SignInNeeded { .. }),
        "{error}"
    );
    world.change(|behavior| behavior.refuses_all = true);
    for _ in 0..2 {
        let error = ask(&world, &auth).await.unwrap_err();
        assert!(
            matches!(error, UpstreamError::SignInNeeded { .. }),
            "{error}"
        );
    }
    assert_eq!(world.grants("refresh_token").len(), 1);
    assert_eq!(auth.status().await.unwrap().state, SignInState::Expired);
}

#[tokio::test]
async fn a_refresh_token_that_was_not_rejected_is_kept() {
    let world = World::new().await;
    let auth = world.auth();
    sign_in(&auth).await.unwrap();
    let refresh = world.record()["tokens"]["refresh"].clone();
    world.age(4000);
    world.change(|behavior| behavior.token_says = Some(CannedResponse::status(503, "later")));
    let error = auth.authorization().await.unwrap_err();
    assert!(
        matches!(error, UpstreamError::SignInFailed { may_pass: true, .. }),
        "{error}"
    );
    assert_eq!(world.record()["tokens"]["refresh"], refresh);
    world.change(|behavior| behavior.token_says = None);
    assert_eq!(ask(&world, &auth).await.unwrap(), 200);
}

#[tokio::test]
async fn a_valid_token_is_used_while_it_cannot_be_refreshed() {
    let world = World::new().await;
    let auth = world.auth();
    sign_in(&auth).await.unwrap();
    let held = token(&auth).await.unwrap();
    world.age(3590);
    world.change(|behavior| behavior.token_says = Some(CannedResponse::status(503, "later")));
    assert_eq!(token(&auth).await.unwrap(), held);
}

#[tokio::test]
async fn a_refresh_outlives_the_call_that_started_it() {
    let world = World::new().await;
    let auth = world.auth();
    sign_in(&auth).await.unwrap();
    let old = world.record()["tokens"]["refresh"].clone();
    world.age(4000);
    // Polled until the refresh is in flight, then dropped.
    let mut call = Box::pin(auth.authorization());
    while world
        .authority
        .asked("/.well-known/oauth-authorization-server")
        .len()
        < 2
    {
        tokio::select! {
            biased;
            _ = &mut call => panic!("the call was faster than its own requests"),
            () = tokio::task::yield_now() => {}
        }
    }
    drop(call);
    while world.record()["tokens"]["refresh"] == old {
        tokio::task::yield_now().await;
    }
    assert_eq!(ask(&world, &auth).await.unwrap(), 200);
    assert_eq!(world.grants("refresh_token").len(), 1);
}

#[tokio::test]
async fn a_refresh_token_is_not_sent_to_another_issuer() {
    let world = World::new().await;
    let auth = world.auth();
    sign_in(&auth).await.unwrap();
    let other = World::new().await;
    let issuer = other.authority.base().to_owned();
    world.change(|behavior| behavior.resource = json!({"authorization_servers": [issuer]}));
    world.age(4000);
    let error = auth.authorization().await.unwrap_err();
    assert!(
        matches!(error, UpstreamError::SignInNeeded { .. }),
        "{error}"
    );
    assert!(other.authority.asked("/token").is_empty());
    assert!(world.grants("refresh_token").is_empty());
    // Signing in again registers with the new issuer and shows it nothing of the old.
    sign_in(&auth).await.unwrap();
    assert_eq!(other.authority.asked("/register").len(), 1);
    assert_eq!(world.record()["issuer"], json!(other.authority.base()));
}

#[tokio::test]
async fn another_address_or_another_name_has_no_token() {
    let world = World::new().await;
    sign_in(&world.auth()).await.unwrap();
    assert!(token(&world.auth()).await.is_some());
    let mut url = world.url();
    url.set_query(Some("x=1"));
    let store = world.store();
    let moved = auth_at("files", &url, OAuthSettings::default(), &store);
    assert_eq!(token(&moved).await, None);
    let renamed = auth_at("other", &world.url(), OAuthSettings::default(), &store);
    assert_eq!(token(&renamed).await, None);
    // Also when the file is moved there.
    let file = world.file();
    assert_eq!(token(&moved).await, None);
    drop(moved.begin(&[]).await.unwrap());
    let target = moved.status().await.unwrap();
    assert_eq!(target.state, SignInState::SignedOut);
    assert!(file.exists());
}

#[tokio::test]
async fn a_step_up_requests_the_union_of_scopes_and_not_forever() {
    let world = World::with(ServerBehavior {
        scope: Some("read"),
        needs: vec!["read"],
        ..ServerBehavior::default()
    })
    .await;
    let auth = world.auth();
    sign_in(&auth).await.unwrap();
    assert_eq!(ask(&world, &auth).await.unwrap(), 200);

    world.change(|behavior| behavior.needs = vec!["write"]);
    let error = ask(&world, &auth).await.unwrap_err();
    assert!(
        matches!(error, UpstreamError::SignInNeeded { .. }),
        "{error}"
    );
    let status = auth.status().await.unwrap();
    assert_eq!(status.state, SignInState::MoreScopesWanted);
    assert_eq!(status.wanted, ["write"]);
    let pending = auth.begin(&[]).await.unwrap();
    let asked = query(pending.url()).remove("scope").unwrap();
    let mut asked: Vec<&str> = asked.split(' ').collect();
    asked.sort_unstable();
    assert_eq!(asked, ["read", "write"]);
    drop(pending);
    sign_in(&auth).await.unwrap();
    assert_eq!(ask(&world, &auth).await.unwrap(), 200);

    // What was asked for already does not come by asking again.
    world.change(|behavior| behavior.token = json!({"scope": "read"}));
    sign_in(&auth).await.unwrap();
    let before = world.authority.asked("/authorize").len();
    world.change(|behavior| behavior.needs = vec!["read", "write"]);
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
    assert!(error.to_string().contains("read write"), "{error}");
    assert_eq!(world.authority.asked("/authorize").len(), before);
}

#[tokio::test]
async fn step_ups_with_ever_new_scopes_end() {
    let world = World::with(ServerBehavior {
        scope: Some("s0"),
        ..ServerBehavior::default()
    })
    .await;
    let auth = world.auth();
    sign_in(&auth).await.unwrap();
    let mut outcomes = Vec::new();
    for scope in ["s1", "s2", "s3", "s4", "s5", "s6"] {
        world.change(|behavior| behavior.needs = vec![scope]);
        let error = ask(&world, &auth).await.unwrap_err();
        let signs_in = matches!(error, UpstreamError::SignInNeeded { .. });
        outcomes.push(signs_in);
        if signs_in {
            sign_in(&auth).await.unwrap();
        }
    }
    assert_eq!(outcomes, [true, true, true, true, true, false]);
}

/// Keeps every byte a subscriber writes.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn nothing_secret_is_logged_at_any_level() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    let _listening = tracing::subscriber::set_default(subscriber);
    tracing::info!("the log works");
    let world = World::new().await;
    let settings = OAuthSettings {
        client_id: Some("mine".to_owned()),
        client_secret: Some("client-secret".into()),
        ..OAuthSettings::default()
    };
    let auth = world.auth_with(settings.clone());
    let pending = auth.begin(&[]).await.unwrap();
    let redirect = crate::oauth::world::approve(&pending).await.unwrap();
    let shown = format!("{auth:?} {pending:?} {redirect:?} {settings:?}");
    let signed_in = pending.finish(redirect).await.unwrap();
    world.age(4000);
    let held = auth.authorization().await.unwrap();
    let shown = format!(
        "{shown} {signed_in:?} {held:?} {:?}",
        auth.status().await.unwrap()
    );
    auth.sign_out().await.unwrap();
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("the log works"));
    for text in [&log, &shown] {
        // Codes, tokens and secrets of this world all have it in their name.
        assert!(!text.contains("-secret"), "{text}");
    }
}

/// A stranger's document that claims the issuer of `world` and names a token endpoint of its own.
async fn imitation(world: &World) -> crate::oauth::web_server::WebServer {
    let issuer = world.authority.base().to_owned();
    crate::oauth::web_server::WebServer::start(move |base, asked| match asked.path.as_str() {
        "/metadata" => CannedResponse::json(&json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{base}/token"),
            "revocation_endpoint": format!("{base}/revoke"),
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
        })),
        _ => CannedResponse::json(&json!({"access_token": "theirs", "token_type": "bearer"})),
    })
    .await
}

#[tokio::test]
async fn metadata_of_another_host_gets_neither_refresh_token_nor_client_secret() {
    let world = World::new().await;
    let settings = |metadata_url| OAuthSettings {
        client_id: Some("client-1".to_owned()),
        client_secret: Some("client-secret-XYZ".into()),
        metadata_url,
        ..OAuthSettings::default()
    };
    sign_in(&world.auth_with(settings(None))).await.unwrap();
    world.age(4000);
    let stranger = imitation(&world).await;
    let url = format!("{}/metadata", stranger.base()).parse().unwrap();
    let pointed = world.auth_with(settings(Some(url)));
    pointed.authorization().await.unwrap_err();
    pointed.sign_out().await.unwrap();
    for path in ["/token", "/revoke"] {
        assert_eq!(stranger.asked(path).len(), 0, "{path}");
    }
    assert_eq!(stranger.asked("/metadata").len(), 2);
}

#[tokio::test]
async fn tokens_stay_with_the_token_endpoint_that_issued_them() {
    let world = World::new().await;
    let auth = world.auth();
    sign_in(&auth).await.unwrap();
    let origin = world.record()["token_origin"].as_str().unwrap().to_owned();
    assert_eq!(origin, world.authority.base());
    world.age(4000);
    let stranger = imitation(&world).await;
    let elsewhere = format!("{}/token", stranger.base());
    world.change(|behavior| behavior.metadata = json!({"token_endpoint": elsewhere}));
    let error = auth.authorization().await.unwrap_err();
    assert!(
        matches!(error, UpstreamError::SignInNeeded { .. }),
        "{error}"
    );
    assert_eq!(stranger.asked("/token").len(), 0);
    // The control: at its own endpoint the token is renewed, also in a record that does not say where it came from.
    world.change(|behavior| behavior.metadata = json!({}));
    let mut record = world.record();
    record.as_object_mut().unwrap().remove("token_origin");
    std::fs::write(world.file(), record.to_string()).unwrap();
    token(&auth).await.unwrap();
    assert_eq!(world.grants("refresh_token").len(), 1);
    assert_eq!(world.record()["token_origin"], json!(origin));
}
