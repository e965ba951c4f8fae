//! Token files: ours, damaged ones, and those of an earlier system.

use limbeck_upstream::oauth::{OAuthSettings, SignInState};
use serde_json::json;

use crate::oauth::world::{World, ask, auth_at, sign_in, token};

#[cfg(unix)]
#[tokio::test]
async fn files_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new().await;
    let auth = world.auth();
    sign_in(&auth).await.unwrap();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&world.directory()), 0o700);
    for entry in std::fs::read_dir(world.directory()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    // Made readable by others since, and restricted by the next read.
    std::fs::set_permissions(world.file(), std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::set_permissions(world.directory(), std::fs::Permissions::from_mode(0o755)).unwrap();
    world.age(4000);
    std::fs::set_permissions(world.file(), std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(token(&world.auth()).await.is_some());
    assert_eq!(mode(&world.file()), 0o600);
    assert_eq!(mode(&world.directory()), 0o700);
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_in_place_of_a_token_file_is_not_followed() {
    let world = World::new().await;
    let auth = world.auth();
    sign_in(&auth).await.unwrap();
    let file = world.file();
    let elsewhere = world.home.path().join("elsewhere");
    std::fs::rename(&file, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
    let error = world.auth().status().await.unwrap_err();
    assert!(error.to_string().contains("cannot be used"), "{error}");
    std::fs::remove_file(&file).unwrap();
    std::fs::rename(&elsewhere, &file).unwrap();
    assert_eq!(
        world.auth().status().await.unwrap().state,
        SignInState::SignedIn
    );
}

#[tokio::test]
async fn a_damaged_file_is_reported_and_a_sign_in_replaces_it() {
    let world = World::new().await;
    sign_in(&world.auth()).await.unwrap();
    let whole = std::fs::read(world.file()).unwrap();
    for content in [&whole[..whole.len() / 2], b"", b"{}", b"[[[["] {
        std::fs::write(world.file(), content).unwrap();
        let error = world.auth().status().await.unwrap_err();
        assert!(error.to_string().contains("is not a token file"), "{error}");
        let hint = error.hint("files").unwrap();
        assert!(hint.contains("limbeck auth login files"), "{hint}");
    }
    sign_in(&world.auth()).await.unwrap();
    assert!(token(&world.auth()).await.is_some());
}

#[tokio::test]
async fn a_file_of_another_server_is_rejected() {
    let world = World::new().await;
    sign_in(&world.auth()).await.unwrap();
    let mut record = world.record();
    record["url"] = json!("https://elsewhere.example/mcp");
    std::fs::write(world.file(), record.to_string()).unwrap();
    let error = world.auth().status().await.unwrap_err();
    assert!(
        error.to_string().contains("belongs to another server"),
        "{error}"
    );
}

/// A token file as the earlier system wrote it, with a token that is good.
pub(crate) async fn earlier(world: &World) -> std::path::PathBuf {
    let auth = auth_at(
        "donor",
        &world.url(),
        OAuthSettings::default(),
        &world.store(),
    );
    sign_in(&auth).await.unwrap();
    let record = world.record();
    std::fs::remove_dir_all(world.directory()).unwrap();
    let directory = world.home.path().join("mcp-tokens");
    std::fs::create_dir(&directory).unwrap();
    let file = json!({
        "clientInfo": {"client_id": record["client"]["id"], "redirect_uris": ["http://localhost:8976/callback"]},
        "tokens": {
            "access_token": record["tokens"]["access"],
            "refresh_token": record["tokens"]["refresh"],
            "token_type": "Bearer",
            "expires_in": 3600,
        },
        "tokensIssuedAt": record["tokens"]["received_at"].as_u64().unwrap() * 1000,
    });
    std::fs::write(directory.join("files.json"), file.to_string()).unwrap();
    directory
}

#[tokio::test]
async fn tokens_of_the_earlier_system_are_used_refreshed_and_left_as_they_are() {
    let world = World::new().await;
    let directory = earlier(&world).await;
    let before = std::fs::read(directory.join("files.json")).unwrap();
    let store = world.store().with_earlier(&directory);
    let auth = auth_at("files", &world.url(), OAuthSettings::default(), &store);
    assert_eq!(auth.status().await.unwrap().storage, Some("earlier"));
    assert_eq!(ask(&world, &auth).await.unwrap(), 200);
    assert_eq!(auth.status().await.unwrap().storage, Some("file"));
    world.age(4000);
    assert_eq!(ask(&world, &auth).await.unwrap(), 200);
    assert_eq!(world.grants("refresh_token").len(), 1);
    assert_eq!(std::fs::read(directory.join("files.json")).unwrap(), before);

    // The name has had its address: another one gets nothing.
    let mut url = world.url();
    url.set_path("/elsewhere");
    let moved = auth_at("files", &url, OAuthSettings::default(), &store);
    assert_eq!(token(&moved).await, None);
    // And signing out is not undone by them.
    auth.sign_out().await.unwrap();
    assert_eq!(token(&auth).await, None);
}

#[tokio::test]
async fn names_do_not_lead_out_of_the_earlier_systems_directory() {
    let world = World::new().await;
    let directory = earlier(&world).await;
    let inner = directory.join("inner");
    std::fs::create_dir(&inner).unwrap();
    let store = world.store().with_earlier(&inner);
    for name in ["../files", "..", "/etc/passwd"] {
        let auth = auth_at(name, &world.url(), OAuthSettings::default(), &store);
        assert_eq!(token(&auth).await, None, "{name}");
    }
}
