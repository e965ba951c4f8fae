//! Artifacts: stored once, visible to their owners, and removed when they expire.

use limbeck_domain::ArtifactId;
use limbeck_domain::limits::{ARTIFACTS_PER_PRINCIPAL_BYTES_MAX, ARTIFACTS_PER_PRINCIPAL_MAX};
use limbeck_store::{NewArtifact, Store};

const DAY_US: u64 = 24 * 3_600 * 1_000_000;

fn id(number: u8) -> ArtifactId {
    ArtifactId::of_digest(&[number; 32])
}

fn artifact(number: u8, content: &[u8], created_us: u64) -> NewArtifact {
    NewArtifact {
        id: id(number),
        media_type: "text/plain".to_owned(),
        name: None,
        content: content.to_vec(),
        created_us,
        expires_us: created_us + DAY_US,
    }
}

async fn content(store: &Store, principal: &str, number: u8, now_us: u64) -> Option<Vec<u8>> {
    let found = store
        .artifact(principal, &id(number), now_us)
        .await
        .unwrap();
    found.map(|(_, content)| content)
}

#[tokio::test]
async fn an_artifact_is_read_by_its_own_principal_and_unknown_to_every_other() {
    let store = Store::in_memory().unwrap();
    store
        .keep_artifact("a", artifact(1, b"one", 5))
        .await
        .unwrap();
    assert_eq!(
        content(&store, "a", 1, 6).await.as_deref(),
        Some(&b"one"[..])
    );
    assert_eq!(content(&store, "b", 1, 6).await, None);
    assert!(store.artifacts("b", 6, 10).await.unwrap().is_empty());
    let listed = store.artifacts("a", 6, 10).await.unwrap();
    assert_eq!((listed[0].id.clone(), listed[0].bytes), (id(1), 3));
}

#[tokio::test]
async fn equal_content_is_stored_once_and_until_its_last_owner_loses_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let large = vec![b'x'; 4 << 20];
    let store = Store::open(&path).unwrap();
    for principal in ["a", "b", "c"] {
        store
            .keep_artifact(principal, artifact(1, &large, 1))
            .await
            .unwrap();
    }
    // What `a` and `b` have expires first; the content stays for `c`.
    store
        .keep_artifact("c", artifact(1, &large, DAY_US))
        .await
        .unwrap();
    store
        .keep_artifact("d", artifact(2, b"new", DAY_US + 2))
        .await
        .unwrap();
    assert_eq!(
        content(&store, "a", 1, 1).await,
        None,
        "removed, and not hidden alone"
    );
    assert_eq!(content(&store, "c", 1, DAY_US + 2).await, Some(large));
    drop(store);
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert!(bytes < 7 << 20, "{bytes} bytes for one content of 4 MiB");
    let again = Store::open(&path).unwrap();
    assert_eq!(again.artifacts("c", DAY_US + 2, 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_expired_artifact_is_unknown_until_it_is_stored_again() {
    let store = Store::in_memory().unwrap();
    store
        .keep_artifact("a", artifact(1, b"one", 0))
        .await
        .unwrap();
    assert!(content(&store, "a", 1, DAY_US - 1).await.is_some());
    assert_eq!(content(&store, "a", 1, DAY_US).await, None);
    assert!(store.artifacts("a", DAY_US, 10).await.unwrap().is_empty());
    store
        .keep_artifact("a", artifact(1, b"one", DAY_US))
        .await
        .unwrap();
    assert!(content(&store, "a", 1, DAY_US).await.is_some());
}

#[tokio::test]
async fn above_a_bound_the_oldest_of_the_same_principal_are_removed() {
    let store = Store::in_memory().unwrap();
    store
        .keep_artifact("b", artifact(0, b"old", 0))
        .await
        .unwrap();
    // By number.
    for at in 0..=u64::from(ARTIFACTS_PER_PRINCIPAL_MAX) {
        let mut new = artifact(0, b"x", at);
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&at.to_be_bytes());
        new.id = ArtifactId::of_digest(&digest);
        store.keep_artifact("a", new).await.unwrap();
    }
    let listed = store.artifacts("a", 1_000, 1_000).await.unwrap();
    assert_eq!(listed.len(), ARTIFACTS_PER_PRINCIPAL_MAX as usize);
    assert_eq!(listed.last().unwrap().created_us, 1, "the oldest went");
    assert!(
        content(&store, "b", 0, 1_000).await.is_some(),
        "another's stays"
    );
    // By size.
    let quarter = vec![0; (ARTIFACTS_PER_PRINCIPAL_BYTES_MAX / 10) as usize];
    for number in 1..=12 {
        let new = artifact(number, &quarter, 1_000 + u64::from(number));
        store.keep_artifact("c", new).await.unwrap();
    }
    let listed = store.artifacts("c", 2_000, 100).await.unwrap();
    assert_eq!(listed.len(), 10);
    assert!(content(&store, "c", 2, 2_000).await.is_none());
    assert!(content(&store, "c", 12, 2_000).await.is_some());
}
