//! Durability: synced entries survive a kill, and concurrent writes share syncs.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use limbeck_domain::{EffectClass, ErrorKind, ExecutionStatus};
use limbeck_store::Store;

use crate::{SUMMARY, call, call_numbers, envelope, id, new_execution, outcome};

/// Child process of the tests below: appends durable entries without end and prints each number once it is on
/// disk. Without a path on its standard input it does nothing.
#[tokio::test]
#[ignore = "started by the tests that kill it"]
async fn child_that_appends_until_killed() {
    let mut lines = std::io::stdin().lines();
    let Some(Ok(path)) = lines.next() else { return };
    let answered = lines.next().is_some_and(|line| line.unwrap() == "answered");
    let store = Store::open(Path::new(&path)).unwrap();
    store.begin(new_execution("ex_child", 1)).await.unwrap();
    for number in 1.. {
        let entry = call(number, EffectClass::Write, true);
        store.append_durable(&id("ex_child"), entry).await.unwrap();
        if answered {
            store
                .append_durable(&id("ex_child"), outcome(number))
                .await
                .unwrap();
            // A kill before the next line leaves no call in doubt.
            if number == 20 {
                println!("{number}");
                std::thread::park();
            }
        }
        println!("{number}");
    }
}

fn start_child(path: &Path, mode: &str) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "durability::child_that_appends_until_killed"])
        .args(["--ignored", "--nocapture", "--test-threads=1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{}\n{mode}", path.display()).unwrap();
    child
}

fn numbers(child: &mut Child) -> impl Iterator<Item = u32> + use<> {
    BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| line.trim().parse().ok())
}

#[tokio::test]
async fn every_durable_entry_survives_a_kill_and_the_call_in_doubt_is_named() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    let mut child = start_child(&path, "unanswered");
    let mut printed = numbers(&mut child);
    assert!(
        printed.any(|number| number == 40),
        "the child did not get to 40"
    );

    // The control: while its gateway lives, recovery leaves its execution alone.
    let store = Store::open(&path).unwrap();
    assert_eq!(store.recover().await.unwrap(), []);
    let seen = store.execution("ex_child").await.unwrap().unwrap();
    assert_eq!(seen.row.status, ExecutionStatus::Running);

    child.kill().unwrap();
    child.wait().unwrap();
    let last = printed.last().unwrap_or(40);

    let journal = call_numbers(&store.journal(&id("ex_child")).await.unwrap());
    assert!(
        journal.len() >= last as usize,
        "{} of {last}",
        journal.len()
    );
    assert!(journal.iter().copied().eq(1..=journal.len() as u32));

    let recovered = store.recover().await.unwrap();
    assert_eq!(
        recovered,
        [(id("ex_child"), ExecutionStatus::NeedsReconciliation)]
    );
    let record = store.execution("ex_child").await.unwrap().unwrap();
    assert_eq!(record.row.calls as usize, journal.len());
    let error = record.envelope.unwrap().error.unwrap();
    assert_eq!(error.kind, ErrorKind::Gateway);
    assert!(
        error.message.contains("github.create_issue (#1), "),
        "{}",
        error.message
    );
    assert!(error.message.contains("more"), "{}", error.message);
    assert_eq!(store.recover().await.unwrap(), [], "found once");
}

#[tokio::test]
async fn without_a_call_in_doubt_the_execution_of_a_killed_gateway_is_paused() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    let mut child = start_child(&path, "answered");
    assert!(numbers(&mut child).any(|number| number == 20));
    child.kill().unwrap();
    child.wait().unwrap();

    let store = Store::open(&path).unwrap();
    let recovered = store.recover().await.unwrap();
    assert_eq!(recovered, [(id("ex_child"), ExecutionStatus::Paused)]);
    let record = store.execution("ex_child").await.unwrap().unwrap();
    assert_eq!(record.row.error, None);
    // Entries that are no calls are not counted.
    assert_eq!(record.row.calls, 20);
    let left = std::fs::read_dir(home.path().join("state.db.owners")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["opening"], "the dead owner's file is swept");
}

#[tokio::test]
async fn a_call_that_only_reads_or_was_not_sent_is_not_in_doubt() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    for (name, effect, sent, expected, effects) in [
        (
            "ex_read",
            EffectClass::Read,
            true,
            ExecutionStatus::Paused,
            (1, 0),
        ),
        (
            "ex_kept",
            EffectClass::Write,
            false,
            ExecutionStatus::Paused,
            (0, 0),
        ),
        (
            "ex_unknown",
            EffectClass::Unknown,
            true,
            ExecutionStatus::NeedsReconciliation,
            (0, 1),
        ),
    ] {
        let gone = Store::open(&path).unwrap();
        gone.begin(new_execution(name, 1)).await.unwrap();
        gone.append(&id(name), call(1, effect, sent)).await.unwrap();
        drop(gone);
        let store = Store::open(&path).unwrap();
        assert_eq!(store.recover().await.unwrap(), [(id(name), expected)]);
        // What was sent is counted, because retention keeps an execution that called a tool.
        let row = store.execution(name).await.unwrap().unwrap().row;
        assert_eq!((row.effects.reads, row.effects.writes), effects, "{name}");
        assert_eq!(row.calls, 1, "{name}");
    }
}

#[tokio::test]
async fn two_gateways_share_a_file_and_do_not_end_each_others_executions() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    let one = Store::open(&path).unwrap();
    let two = Store::open(&path).unwrap();
    one.begin(new_execution("ex_1", 1)).await.unwrap();
    two.begin(new_execution("ex_2", 2)).await.unwrap();
    for number in 1..=50 {
        let entry = || call(number, EffectClass::Write, true);
        let (first, second) = (id("ex_1"), id("ex_2"));
        let (a, b) = tokio::join!(
            one.append_durable(&first, entry()),
            two.append_durable(&second, entry()),
        );
        a.unwrap();
        b.unwrap();
    }
    assert_eq!(one.recover().await.unwrap(), []);
    assert_eq!(two.recover().await.unwrap(), []);
    assert_eq!(one.executions(10, None).await.unwrap().len(), 2);
    let journal = one.journal(&id("ex_2")).await.unwrap();
    assert!(call_numbers(&journal).into_iter().eq(1..=50));

    drop(two);
    let ended = envelope("ex_1", ExecutionStatus::Completed);
    one.finish(&id("ex_1"), &ended, SUMMARY).await.unwrap();
    let recovered = one.recover().await.unwrap();
    assert_eq!(
        recovered,
        [(id("ex_2"), ExecutionStatus::NeedsReconciliation)]
    );
}

#[tokio::test]
async fn a_thousand_writes_at_once_share_a_few_syncs_and_reads_need_none() {
    let home = tempfile::tempdir().unwrap();
    let store = Store::open(&home.path().join("state.db")).unwrap();
    store.begin(new_execution("ex_1", 1)).await.unwrap();
    let before = store.stats();
    let writes: Vec<_> = (1..=1_000)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move {
                let entry = call(number, EffectClass::Write, true);
                store.append_durable(&id("ex_1"), entry).await
            })
        })
        .collect();
    for write in writes {
        write.await.unwrap().unwrap();
    }
    let after = store.stats();
    assert_eq!(after.entries - before.entries, 1_000);
    let synced = after.synced - before.synced;
    assert!((1..=50).contains(&synced), "{synced} syncs");

    for number in 1_001..=2_000 {
        let entry = call(number, EffectClass::Read, true);
        store.append(&id("ex_1"), entry).await.unwrap();
    }
    assert_eq!(store.journal(&id("ex_1")).await.unwrap().len(), 2_000);
    assert_eq!(store.stats().synced, after.synced, "reads were synced");
    store.flush().await.unwrap();
    assert_eq!(store.stats().synced, after.synced + 1);
}

#[tokio::test]
async fn dropping_the_store_writes_what_is_queued() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    let store = Store::open(&path).unwrap();
    store.begin(new_execution("ex_1", 1)).await.unwrap();
    for number in 1..=3_000 {
        let entry = call(number, EffectClass::Read, true);
        store.append(&id("ex_1"), entry).await.unwrap();
    }
    drop(store);
    let store = Store::open(&path).unwrap();
    let journal = store.journal(&id("ex_1")).await.unwrap();
    assert!(call_numbers(&journal).into_iter().eq(1..=3_000));
}
