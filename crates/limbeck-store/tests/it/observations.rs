//! Observations: merged in the store, whichever process learnt them.

use limbeck_store::{Observation, Store};

fn observation(tool_hash: &str, seen_us: u64, body: &str) -> Observation {
    Observation {
        spec_hash: "spec".to_owned(),
        tool_hash: tool_hash.to_owned(),
        tool: "read".to_owned(),
        seen_us,
        body: body.to_owned(),
    }
}

/// Adds numbers; rejects other texts.
fn add(kept: &str, learnt: &str) -> Option<String> {
    let sum = kept.parse::<u64>().ok()? + learnt.parse::<u64>().ok()?;
    Some(sum.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn two_gateways_that_learn_at_once_keep_both_observations() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state/state.db");
    let stores = [Store::open(&path).unwrap(), Store::open(&path).unwrap()];
    let mut learning = tokio::task::JoinSet::new();
    for seen_us in 0..100 {
        let store = stores[seen_us as usize % 2].clone();
        learning.spawn(async move {
            store
                .merge_observation(observation("a", seen_us, "1"), add)
                .await
        });
    }
    while let Some(learnt) = learning.join_next().await {
        learnt.unwrap().unwrap();
    }
    for store in &stores {
        let kept = store.observations("spec").await.unwrap();
        assert_eq!(kept, [observation("a", 99, "100")]);
    }
}

#[tokio::test]
async fn a_changed_definition_starts_anew_and_a_rejected_merge_leaves_the_stored_body() {
    let store = Store::in_memory().unwrap();
    for learnt in [
        observation("a", 1, "1"),
        observation("b", 2, "5"),
        observation("a", 3, "no number"),
    ] {
        store.merge_observation(learnt, add).await.unwrap();
    }
    let kept = store.observations("spec").await.unwrap();
    assert_eq!(kept, [observation("a", 1, "1"), observation("b", 2, "5")]);
    assert_eq!(store.observations("other").await.unwrap(), []);
}
