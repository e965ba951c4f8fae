//! Key-value state and cached tool lists.

use limbeck_domain::limits::{
    STORE_BYTES_MAX, STORE_KEPT_MS, STORE_KEY_BYTES_MAX, STORE_KEYS_MAX, STORE_VALUE_BYTES_MAX,
};
use limbeck_domain::{ExecutionStatus, ToolAnnotations, ToolDefinition, ToolId};
use limbeck_store::{CachedTools, Store, StoreError};

use crate::{SUMMARY, envelope, id, new_execution};

#[tokio::test]
async fn a_value_is_read_back_replaced_and_deleted_and_belongs_to_one_principal() {
    let store = Store::in_memory().unwrap();
    let set = async |principal: &str, value: Option<&str>| {
        store
            .kv_set(principal, "k", value.map(str::to_owned))
            .await
            .unwrap();
    };
    assert_eq!(store.kv_get("a", "k").await.unwrap(), None);
    set("a", Some(r#"{"n":1}"#)).await;
    set("b", Some("2")).await;
    assert_eq!(
        store.kv_get("a", "k").await.unwrap().as_deref(),
        Some(r#"{"n":1}"#)
    );
    set("a", Some("3")).await;
    assert_eq!(store.kv_get("a", "k").await.unwrap().as_deref(), Some("3"));
    set("a", None).await;
    assert_eq!(store.kv_get("a", "k").await.unwrap(), None);
    assert_eq!(store.kv_get("b", "k").await.unwrap().as_deref(), Some("2"));
}

#[tokio::test]
async fn keys_and_values_are_stored_up_to_their_limit() {
    let store = Store::in_memory().unwrap();
    let key = "k".repeat(STORE_KEY_BYTES_MAX);
    let value = "1".repeat(STORE_VALUE_BYTES_MAX);
    store.kv_set("a", &key, Some(value.clone())).await.unwrap();
    assert_eq!(store.kv_get("a", &key).await.unwrap(), Some(value.clone()));

    let long = format!("{key}k");
    for key in ["", &long] {
        let error = store.kv_set("a", key, Some("1".into())).await.unwrap_err();
        assert!(matches!(error, StoreError::KeyLength { .. }));
    }
    let error = store.kv_set("a", "k", Some(value + "1")).await.unwrap_err();
    assert!(matches!(error, StoreError::ValueTooLong { .. }));
}

#[tokio::test]
async fn a_principal_at_its_maximum_of_keys_can_still_replace_one() {
    let store = Store::in_memory().unwrap();
    let setting = (0..STORE_KEYS_MAX).map(|n| {
        let store = store.clone();
        async move { store.kv_set("a", &n.to_string(), Some("1".into())).await }
    });
    for set in setting.map(tokio::spawn).collect::<Vec<_>>() {
        set.await.unwrap().unwrap();
    }
    let error = store
        .kv_set("a", "one more", Some("1".into()))
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::TooManyKeys));
    store.kv_set("a", "0", Some("2".into())).await.unwrap();
    store
        .kv_set("b", "one more", Some("1".into()))
        .await
        .unwrap();
    store.kv_set("a", "1", None).await.unwrap();
    store
        .kv_set("a", "one more", Some("1".into()))
        .await
        .unwrap();
}

fn tools(name: &str, listed_us: u64) -> CachedTools {
    CachedTools {
        tools: vec![ToolDefinition {
            id: ToolId::new("files", name),
            title: None,
            description: Some("reads a file".to_owned()),
            input_schema: serde_json::json!({"type": "object", "properties": {"b": {}, "a": {}}}),
            output_schema: None,
            annotations: ToolAnnotations::default(),
        }],
        instructions: Some("be careful".to_owned()),
        listed_us,
    }
}

#[tokio::test]
async fn a_tool_list_is_found_by_the_hash_of_its_server_and_replaced() {
    let store = Store::in_memory().unwrap();
    assert_eq!(store.cached_tools("h1").await.unwrap(), None);
    store.cache_tools("h1", &tools("read", 1)).await.unwrap();
    store.cache_tools("h2", &tools("write", 2)).await.unwrap();
    assert_eq!(
        store.cached_tools("h1").await.unwrap(),
        Some(tools("read", 1))
    );
    store.cache_tools("h1", &tools("list", 3)).await.unwrap();
    assert_eq!(
        store.cached_tools("h1").await.unwrap(),
        Some(tools("list", 3))
    );
    assert_eq!(
        store.cached_tools("h2").await.unwrap(),
        Some(tools("write", 2))
    );
}

#[tokio::test]
async fn the_oldest_tool_lists_are_removed_and_a_huge_one_is_not_stored() {
    let store = Store::in_memory().unwrap();
    for number in 1..=1_030_u64 {
        store
            .cache_tools(&number.to_string(), &tools("t", number))
            .await
            .unwrap();
    }
    assert_eq!(store.cached_tools("6").await.unwrap(), None);
    assert!(store.cached_tools("7").await.unwrap().is_some());

    let mut huge = tools("t", 2_000);
    huge.instructions = Some("x".repeat(33 << 20));
    let error = store.cache_tools("7", &huge).await.unwrap_err();
    assert!(matches!(error, StoreError::CatalogTooLarge { .. }));
    assert_eq!(store.cached_tools("7").await.unwrap(), Some(tools("t", 7)));
}

#[tokio::test]
async fn the_bytes_of_a_principal_are_bounded_and_space_that_was_freed_can_be_used() {
    let store = Store::in_memory().unwrap();
    let value = "1".repeat(STORE_VALUE_BYTES_MAX);
    let full = STORE_BYTES_MAX as usize / STORE_VALUE_BYTES_MAX - 1;
    for n in 0..full {
        let key = n.to_string();
        store.kv_set("a", &key, Some(value.clone())).await.unwrap();
    }
    let error = store
        .kv_set("a", "x", Some(value.clone()))
        .await
        .err()
        .or(store.kv_set("a", "y", Some(value.clone())).await.err())
        .unwrap();
    assert!(
        matches!(error, StoreError::StateFull { .. }) && error.hint().is_some(),
        "{error:?}"
    );
    // Another principal has its own bound, and a smaller value fits at all times.
    store.kv_set("b", "x", Some(value.clone())).await.unwrap();
    store.kv_set("a", "0", Some("1".into())).await.unwrap();
    store.kv_set("a", "1", None).await.unwrap();
    store.kv_set("a", "y", Some(value)).await.unwrap();
}

/// Records an execution that was requested `days` after the first one.
async fn executed(store: &Store, name: &str, days: u64) {
    let created_us = 1 + days * 24 * 3_600_000_000;
    store.begin(new_execution(name, created_us)).await.unwrap();
    let ended = envelope(name, ExecutionStatus::Completed);
    store.finish(&id(name), &ended, SUMMARY).await.unwrap();
}

#[tokio::test]
async fn a_key_that_was_neither_read_nor_set_for_a_month_is_deleted() {
    let store = Store::in_memory().unwrap();
    let days = STORE_KEPT_MS / (24 * 3_600_000);
    executed(&store, "ex_first", 0).await;
    for key in ["unused", "read", "set"] {
        store.kv_set("a", key, Some("1".into())).await.unwrap();
    }
    executed(&store, "ex_before", days - 1).await;
    assert!(store.kv_get("a", "read").await.unwrap().is_some());
    store.kv_set("a", "set", Some("2".into())).await.unwrap();
    store.flush().await.unwrap();
    // Retention runs behind every 32 executions.
    for n in 0..32 {
        executed(&store, &format!("ex_{n}"), days + 1).await;
    }
    // The first execution goes in the same step as the key.
    while store.execution("ex_first").await.unwrap().is_some() {
        tokio::task::yield_now().await;
    }
    assert_eq!(store.kv_get("a", "unused").await.unwrap(), None);
    // The controls: one that was read, and one that was set again.
    assert_eq!(
        store.kv_get("a", "read").await.unwrap().as_deref(),
        Some("1")
    );
    assert_eq!(
        store.kv_get("a", "set").await.unwrap().as_deref(),
        Some("2")
    );
    let freed = "1".repeat(STORE_VALUE_BYTES_MAX);
    store.kv_set("a", "unused", Some(freed)).await.unwrap();
}

#[tokio::test]
async fn members_that_are_added_at_the_same_time_are_all_kept() {
    let store = Store::in_memory().unwrap();
    let adding = (0..10).map(|n| {
        let store = store.clone();
        async move {
            let members = serde_json::json!({format!("f{n}"): "def"});
            let members = members.as_object().unwrap().clone();
            store.kv_merge("a", "k", members).await
        }
    });
    for added in adding.map(tokio::spawn).collect::<Vec<_>>() {
        added.await.unwrap().unwrap();
    }
    let value = store.kv_get("a", "k").await.unwrap().unwrap();
    let value: serde_json::Value = serde_json::from_str(&value).unwrap();
    assert_eq!(value.as_object().unwrap().len(), 10, "{value}");
}
