//! Rows of the ledger, and the listings they refer to.

use std::collections::BTreeMap;

use limbeck_domain::{LedgerSizes, LedgerTexts, ServerName, ServerSizes, TokenUsage};
use limbeck_store::{NewLedgerRow, Store};

use crate::id;

fn row(name: &str, created_us: u64) -> NewLedgerRow {
    let server = ServerSizes {
        listing: "ab".to_owned(),
        tools: 3,
        calls: 2,
        ..ServerSizes::default()
    };
    NewLedgerRow {
        id: name.to_owned(),
        created_us,
        origin: "mcp".to_owned(),
        sizes: LedgerSizes {
            rounds: 2,
            program_bytes: 36,
            servers: BTreeMap::from([(ServerName::from("s"), server)]),
            ..LedgerSizes::default()
        },
        texts: LedgerTexts {
            program: Some("{\"code\":\"return 1\"}".to_owned()),
            ..LedgerTexts::default()
        },
    }
}

#[tokio::test]
async fn rows_are_listed_newest_first_and_lose_their_texts_when_they_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let store = Store::open(&path).unwrap();
    for (name, created_us) in [("ex_1", 100), ("ex_2", 300), ("se_3", 200)] {
        store.add_ledger_row(row(name, created_us)).await.unwrap();
    }
    // A second row of the same execution is ignored.
    store.add_ledger_row(row("ex_1", 900)).await.unwrap();

    let rows = store.ledger(0).await.unwrap();
    let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["ex_2", "se_3", "ex_1"]);
    assert_eq!(rows[2].sizes, row("ex_1", 100).sizes);
    assert!(rows[2].texts.is_some() && rows[2].usage.is_none());
    assert_eq!(
        rows[2].usage_or_estimate(),
        TokenUsage::from(&rows[2].sizes)
    );
    assert_eq!(store.ledger(200).await.unwrap().len(), 2);

    let account = TokenUsage {
        turns: 1,
        ..TokenUsage::default()
    };
    store.set_token_usage("ex_1", &account).await.unwrap();
    drop(store);
    let store = Store::open(&path).unwrap();
    let counted = store.ledger_of(&id("ex_1")).await.unwrap().unwrap();
    assert_eq!(counted.usage, Some(account.clone()));
    assert_eq!(counted.usage_or_estimate(), account);
    assert_eq!(counted.texts, None);
    assert!(store.ledger_of(&id("ex_9")).await.unwrap().is_none());
}

#[tokio::test]
async fn listings_are_stored_by_their_hash_within_bounds() {
    let store = Store::in_memory().unwrap();
    for number in 0..513 {
        let body = format!("listing {number}");
        store
            .keep_listing(&number.to_string(), body, number)
            .await
            .unwrap();
    }
    assert_eq!(
        store.listing("512").await.unwrap().as_deref(),
        Some("listing 512")
    );
    assert_eq!(store.listing("0").await.unwrap(), None, "the oldest went");
    assert!(store.listing("1").await.unwrap().is_some());
    store
        .keep_listing("large", "x".repeat((4 << 20) + 1), 999)
        .await
        .unwrap();
    assert_eq!(store.listing("large").await.unwrap(), None);
}
