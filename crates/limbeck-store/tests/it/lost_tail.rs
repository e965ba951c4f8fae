//! Loss of power: what was not synced is gone, in any amount, and may have left torn bytes. Governance 54.
//!
//! SQLite appends to its log, so a copy of the log that is cut at any place behind the last sync is what a disk may have.

use std::path::Path;

use limbeck_domain::{EffectClass, ExecutionStatus, JournalEntry};
use limbeck_store::Store;

use crate::{call, call_numbers, id, new_execution, outcome};

/// Calls of the execution; of every third the server's answer is recorded too.
const CALLS: u32 = 40;
/// Places at which the log is cut.
const CUTS: usize = 80;
/// Header of SQLite's log.
const LOG_HEADER_BYTES: usize = 32;

/// What was on disk when a durable entry was.
struct Synced {
    log_bytes: usize,
    calls: u32,
    /// Calls that may write and were on disk, of which some have an answer.
    intents: Vec<u32>,
}

fn log_of(path: &Path) -> Vec<u8> {
    std::fs::read(path.with_extension("db-wal")).unwrap()
}

/// Writes reads, which are not synced, and calls of no class, which are, and notes what each sync has to keep.
async fn written(path: &Path) -> (Store, Vec<Synced>) {
    let store = Store::open(path).unwrap();
    store.begin(new_execution("ex_1", 1)).await.unwrap();
    store.flush().await.unwrap();
    let mut synced = Vec::new();
    let mut intents = Vec::new();
    for number in 1..=CALLS {
        let before = store.stats().synced;
        if number % 4 == 0 {
            let entry = call(number, EffectClass::Unknown, true);
            store.append_durable(&id("ex_1"), entry).await.unwrap();
            intents.push(number);
            assert!(store.stats().synced > before, "an intent was not synced");
            synced.push(Synced {
                log_bytes: log_of(path).len(),
                calls: number,
                intents: intents.clone(),
            });
        } else {
            let entry = call(number, EffectClass::Read, true);
            store.append(&id("ex_1"), entry).await.unwrap();
            // Committed, and not synced.
            store.journal(&id("ex_1")).await.unwrap();
            assert_eq!(store.stats().synced, before, "a read was synced");
        }
        if number % 12 == 0 {
            store
                .append_durable(&id("ex_1"), outcome(number))
                .await
                .unwrap();
        }
    }
    (store, synced)
}

#[tokio::test]
async fn a_lost_tail_leaves_a_prefix_with_all_that_was_synced_and_each_open_intent_in_doubt() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    let (store, synced) = written(&path).await;
    let (database, log) = (std::fs::read(&path).unwrap(), log_of(&path));
    let first = synced[0].log_bytes;
    assert!(first > LOG_HEADER_BYTES && first < log.len());
    let mut lengths = std::collections::BTreeSet::new();
    for number in 0..CUTS {
        // Every place between the first sync and the end, on and beside the borders of pages.
        let cut = first + (log.len() - first) * number / (CUTS - 1);
        let cut = cut.saturating_sub(number % 3);
        let cut = cut.max(first);
        let copy = tempfile::tempdir().unwrap();
        let path = copy.path().join("state.db");
        std::fs::write(&path, &database).unwrap();
        let mut kept = log[..cut].to_vec();
        match number % 3 {
            // A file system may have given the file its length and not its content.
            1 => kept.resize(log.len(), 0),
            2 => kept.extend(std::iter::repeat_n(0xA5, 5_000)),
            _ => {}
        }
        std::fs::write(path.with_extension("db-wal"), kept).unwrap();

        let after = Store::open(&path).unwrap();
        let journal = after.journal(&id("ex_1")).await.unwrap();
        let calls = call_numbers(&journal);
        let count = u32::try_from(calls.len()).unwrap();
        assert!(calls.iter().copied().eq(1..=count), "cut {cut}: {calls:?}");
        let on_disk = synced
            .iter()
            .rfind(|synced| synced.log_bytes <= cut)
            .unwrap();
        assert!(
            count >= on_disk.calls,
            "cut {cut}: {count} of {}",
            on_disk.calls
        );
        assert!(on_disk.intents.iter().all(|number| calls.contains(number)));

        after.recover().await.unwrap();
        let in_doubt = after.in_doubt(&id("ex_1")).await.unwrap();
        let in_doubt: Vec<u32> = in_doubt.iter().map(|call| call.call.id.0).collect();
        let is_answered = |number: u32| {
            journal
                .iter()
                .any(|entry| matches!(entry, JournalEntry::Outcome { id, .. } if id.0 == number))
        };
        let open = calls.into_iter().filter(|number| number % 4 == 0);
        let open: Vec<u32> = open.filter(|number| !is_answered(*number)).collect();
        assert_eq!(in_doubt, open, "cut {cut}");
        let row = after.execution("ex_1").await.unwrap().unwrap().row;
        let expected = match open.is_empty() {
            true => ExecutionStatus::Paused,
            false => ExecutionStatus::NeedsReconciliation,
        };
        assert_eq!(row.status, expected, "cut {cut}");
        lengths.insert(count);
    }
    // The cuts lost different amounts.
    assert!(lengths.len() > 10, "{lengths:?}");
    assert_eq!(
        store.journal(&id("ex_1")).await.unwrap().len() as u32,
        CALLS + CALLS / 12
    );
}
