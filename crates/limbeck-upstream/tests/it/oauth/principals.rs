//! Sign-ins per principal: a call carries only its own principal's token, unless the entry shares it.

use std::collections::BTreeSet;
use std::sync::Arc;

use limbeck_domain::{CompactArguments, EffectClass, ToolId};
use limbeck_policy::{Facts, Policy, Scope, ToolCall, decide};
use limbeck_upstream::oauth::{OAuthSettings, ServerAuth};
use limbeck_upstream::{
    CallContext, CredentialSource, HttpSpec, ServerSpec, TransportSpec, UpstreamError, UpstreamPool,
};
use tokio_util::sync::CancellationToken;

use crate::oauth::world::{World, sign_in, token};

/// A pool whose only server has the tokens of `auth`.
fn pool_of(world: &World, auth: &Arc<ServerAuth>) -> UpstreamPool {
    let mut http = HttpSpec::new(world.url().as_str()).unwrap();
    http.credentials = Some(auth.clone() as Arc<dyn CredentialSource>);
    UpstreamPool::new(vec![ServerSpec::new(
        "files",
        TransportSpec::Http(Box::new(http)),
    )])
}

/// Calls a tool for a principal. The server is no whole MCP server, so every call fails in the end; what counts is
/// how, and which tokens the server was shown.
async fn call(
    world: &World,
    pool: &UpstreamPool,
    principal: Option<&str>,
) -> (UpstreamError, BTreeSet<String>) {
    let before = world.server.asked("/mcp").len();
    let scope = Scope::everything();
    let facts = Facts {
        scope: &scope,
        policy: &Policy::default(),
        who: &[],
        now_us: 0,
    };
    let call = ToolCall {
        tool: ToolId::new("files", "read"),
        arguments: CompactArguments::parse("{}").unwrap().0,
        effect: EffectClass::Read,
    };
    let permit = decide(call, &facts).unwrap();
    let context = CallContext::new(CancellationToken::new());
    let context = context.with_principal(principal.map(Into::into));
    let error = pool.call(permit, context).await.unwrap_err();
    let asked = world.server.asked("/mcp").split_off(before);
    let shown = asked
        .iter()
        .filter_map(|asked| asked.headers.get("authorization"));
    (error, shown.cloned().collect())
}

fn needs_sign_in(error: &UpstreamError) -> Option<&str> {
    match error {
        UpstreamError::SignInNeeded { command, .. } => Some(command),
        _ => None,
    }
}

#[tokio::test]
async fn s75_a_sign_in_is_used_for_its_owner_only() {
    let world = World::new().await;
    let auth = world.auth();
    sign_in(&auth).await.unwrap();
    let own = format!("Bearer {}", token(&auth).await.unwrap());
    let pool = pool_of(&world, &auth);

    let (error, shown) = call(&world, &pool, Some("token:alice")).await;
    let command = needs_sign_in(&error).unwrap_or_else(|| panic!("{error}"));
    assert_eq!(command, "limbeck auth login --principal=token:alice files");
    assert_eq!(shown, BTreeSet::new());

    // The control: the owner's call carries it, also after the other's.
    let (error, shown) = call(&world, &pool, None).await;
    assert_eq!(needs_sign_in(&error), None, "{error}");
    assert_eq!(shown, BTreeSet::from([own.clone()]));

    // Signed in herself, the other has a token and a connection of her own.
    let alice = auth.for_principal("token:alice");
    sign_in(&alice).await.unwrap();
    let hers = format!("Bearer {}", token(&alice).await.unwrap());
    assert_ne!(hers, own);
    let (_, shown) = call(&world, &pool, Some("token:alice")).await;
    assert_eq!(shown, BTreeSet::from([hers]));
    let (error, shown) = call(&world, &pool, Some("token:bob")).await;
    assert!(needs_sign_in(&error).is_some(), "{error}");
    assert_eq!(shown, BTreeSet::new());
    pool.shutdown().await;
    // A server that failed is in back-off, so a new pool is used.
    let pool = pool_of(&world, &auth);
    let (_, shown) = call(&world, &pool, None).await;
    assert_eq!(shown, BTreeSet::from([own]));
    pool.shutdown().await;
}

#[tokio::test]
async fn s75_a_sign_in_that_its_entry_shares_is_used_for_all_principals() {
    let world = World::new().await;
    let auth = world.auth_with(OAuthSettings {
        shared: true,
        ..OAuthSettings::default()
    });
    sign_in(&auth).await.unwrap();
    let own = format!("Bearer {}", token(&auth).await.unwrap());
    for principal in [Some("token:alice"), None] {
        let pool = pool_of(&world, &auth);
        let (error, shown) = call(&world, &pool, principal).await;
        assert_eq!(needs_sign_in(&error), None, "{error}");
        assert_eq!(shown, BTreeSet::from([own.clone()]), "{principal:?}");
        pool.shutdown().await;
    }
}

#[tokio::test]
async fn s75_tokens_of_an_earlier_system_are_the_users_alone() {
    let world = World::new().await;
    let store = world
        .store()
        .with_earlier(crate::oauth::files::earlier(&world).await);
    let auth =
        crate::oauth::world::auth_at("files", &world.url(), OAuthSettings::default(), &store);
    assert_eq!(token(&auth.for_principal("token:alice")).await, None);
    assert!(token(&auth).await.is_some());
}
