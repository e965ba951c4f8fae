//! Rows of the ledger, and the listings they name.

use std::collections::BTreeMap;

use limbeck_domain::{Account, LedgerNote, LedgerTexts, ServerName, ServerNote};
use limbeck_store::{NewLedgerRow, Store};

use crate::id;

fn row(name: &str, created_us: u64) -> NewLedgerRow {
    let server = ServerNote {
        listing: "ab".to_owned(),
        tools: 3,
        calls: 2,
        ..ServerNote::default()
    };
    NewLedgerRow {
        id: name.to_owned(),
        created_us,
        origin: "mcp".to_owned(),
        note: LedgerNote {
            rounds: 2,
            program_bytes: 36,
            servers: BTreeMap::from([(ServerName::from("s"), server)]),
            ..LedgerNote::default()
        },
        texts: LedgerTexts {
            program: Some("{\"code\":\"return 1\"}".to_owned()),
            ..LedgerTexts::default()
        },
    }
}

#[tokio::test]
async fn rows_come_back_newest_first_and_lose_their_texts_when_they_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let store = Store::open(&path).unwrap();
    for (name, created_us) in [("ex_1", 100), ("ex_2", 300), ("se_3", 200)] {
        store.note(row(name, created_us)).await.unwrap();
    }
    // An execution is noted once.
    store.note(row("ex_1", 900)).await.unwrap();

    let rows = store.ledger(0).await.unwrap();
    let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["ex_2", "se_3", "ex_1"]);
    assert_eq!(rows[2].note, row("ex_1", 100).note);
    assert!(rows[2].texts.is_some() && rows[2].account.is_none());
    assert_eq!(rows[2].reckoned(), Account::from(&rows[2].note));
    assert_eq!(store.ledger(200).await.unwrap().len(), 2);

    let account = Account {
        turns: 1,
        ..Account::default()
    };
    store.keep_account("ex_1", &account).await.unwrap();
    drop(store);
    let store = Store::open(&path).unwrap();
    let counted = store.ledger_of(&id("ex_1")).await.unwrap().unwrap();
    assert_eq!(counted.account, Some(account.clone()));
    assert_eq!(counted.reckoned(), account);
    assert_eq!(counted.texts, None);
    assert!(store.ledger_of(&id("ex_9")).await.unwrap().is_none());
}

#[tokio::test]
async fn listings_are_kept_by_their_hash_within_bounds() {
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
