//! Key-value state and cached catalogues.

use limbeck_domain::limits::{STORE_KEY_BYTES_MAX, STORE_KEYS_MAX, STORE_VALUE_BYTES_MAX};
use limbeck_domain::{ToolAnnotations, ToolDefinition, ToolId};
use limbeck_store::{CachedTools, Store, StoreError};

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
async fn keys_and_values_are_kept_up_to_their_bound() {
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
async fn a_principal_has_at_most_its_number_of_keys_and_may_still_replace_one() {
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
        pins: Default::default(),
    }
}

#[tokio::test]
async fn a_catalogue_is_found_by_the_hash_of_its_server_and_replaced() {
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
async fn the_oldest_catalogues_go_and_a_huge_one_is_not_kept() {
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
    assert!(matches!(error, StoreError::CatalogueTooLarge { .. }));
    assert_eq!(store.cached_tools("7").await.unwrap(), Some(tools("t", 7)));
}
