//! Executions that wait: paused, taken by one process, settled, and ended when their time has passed.

use limbeck_domain::{
    ApprovalState, CallId, EffectClass, ErrorKind, ExecutionStatus, JournalEntry, Language,
    Settlement,
};
use limbeck_store::{
    NO_GUEST, PAUSED_MAX, PausedExecution, PausedGuest, Spent, Store, StoreError, Taken, WAKES_MAX,
};

use crate::approvals::{EXPIRES_US, ap, approval, decision};
use crate::{SUMMARY, call, call_numbers, envelope, id, new_execution, outcome};

const DAY_US: u64 = 24 * 3_600 * 1_000_000;

const PAUSED: PausedExecution = PausedExecution {
    wall_left_ms: 5_000,
    wake_us: Some(70),
    expires_us: Some(EXPIRES_US),
};

async fn status(store: &Store, name: &str) -> ExecutionStatus {
    store.execution(name).await.unwrap().unwrap().row.status
}

async fn epoch(store: &Store, name: &str) -> u64 {
    match store.take(&id(name)).await.unwrap() {
        Taken::Lease { epoch, .. } => epoch,
        taken @ (Taken::Not(_) | Taken::Unknown) => panic!("{taken:?}"),
    }
}

/// An execution whose gateway died after it sent the calls `sent`, of which only the first has an answer.
async fn orphan(path: &std::path::Path, name: &str, sent: u32) {
    let gone = Store::open(path).unwrap();
    gone.begin(new_execution(name, 1)).await.unwrap();
    for number in 1..=sent {
        let intent = call(number, EffectClass::Write, true);
        gone.append_durable(&id(name), intent).await.unwrap();
    }
    gone.append_durable(&id(name), outcome(1)).await.unwrap();
}

#[tokio::test]
async fn of_two_gateways_that_take_exactly_one_does_and_the_other_can_write_nothing() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    let one = Store::open(&path).unwrap();
    let two = Store::open(&path).unwrap();
    one.begin(new_execution("ex_1", 1)).await.unwrap();
    one.pause(&id("ex_1"), PAUSED).await.unwrap();
    let mut written = 0;
    for round in 1..=200 {
        let name = id("ex_1");
        let (first, second) = tokio::join!(one.take(&name), two.take(&name));
        let (winner, loser) = match (first.unwrap(), second.unwrap()) {
            (Taken::Lease { epoch, paused }, Taken::Not(ExecutionStatus::Running)) => {
                assert_eq!((epoch, paused), (round, Some(PAUSED)));
                (&one, &two)
            }
            (Taken::Not(ExecutionStatus::Running), Taken::Lease { epoch, paused }) => {
                assert_eq!((epoch, paused), (round, Some(PAUSED)));
                (&two, &one)
            }
            other => panic!("{other:?}"),
        };
        let entry = || call(round as u32, EffectClass::Write, true);
        let stale = loser.append_durable(&name, entry()).await;
        assert!(matches!(stale, Err(StoreError::Lost { .. })), "{stale:?}");
        winner.append_durable(&name, entry()).await.unwrap();
        written += 1;
        winner.pause(&name, PAUSED).await.unwrap();
    }
    let journal = one.journal(&id("ex_1")).await.unwrap();
    assert_eq!(call_numbers(&journal).len(), written);
    let took = journal
        .iter()
        .filter(|entry| matches!(entry, JournalEntry::Took { .. }));
    assert_eq!(took.count(), 200);
}

#[tokio::test]
async fn what_an_earlier_owner_appends_asks_spends_pauses_and_ends_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    let old = Store::open(&path).unwrap();
    let new = Store::open(&path).unwrap();
    let name = id("ex_1");
    old.begin(new_execution("ex_1", 1)).await.unwrap();
    old.ask(&name, vec![approval("ap_1", "ex_1", 1)])
        .await
        .unwrap();
    new.decide(&ap("ap_1"), decision("user:a", true))
        .await
        .unwrap();
    old.pause(&name, PAUSED).await.unwrap();
    // Paused: not its own any more, and no process has taken it.
    let intent = || call(1, EffectClass::Write, true);
    let stale = old.append_durable(&name, intent()).await;
    assert!(matches!(stale, Err(StoreError::Lost { .. })), "{stale:?}");
    assert_eq!(epoch(&new, "ex_1").await, 1);
    let before = new.journal(&name).await.unwrap().len();

    let ended = envelope("ex_1", ExecutionStatus::Completed);
    let refused = [
        old.append_durable(&name, intent()).await,
        old.ask(&name, vec![approval("ap_2", "ex_1", 2)]).await,
        old.spend(&name, &ap("ap_1"), intent(), 30).await.map(drop),
        old.pause(&name, PAUSED).await,
        old.finish(&name, &ended, SUMMARY).await,
    ];
    for refused in refused {
        assert!(
            matches!(refused, Err(StoreError::Lost { .. })),
            "{refused:?}"
        );
    }
    assert!(matches!(
        old.take(&name).await.unwrap(),
        Taken::Not(ExecutionStatus::Running)
    ));
    assert_eq!(new.journal(&name).await.unwrap().len(), before);
    // The control: the new owner does all of it.
    let spent = new.spend(&name, &ap("ap_1"), intent(), 30).await.unwrap();
    assert_eq!(spent, Spent::Now);
    new.append_durable(&name, outcome(1)).await.unwrap();
    new.finish(&name, &ended, SUMMARY).await.unwrap();
    assert_eq!(status(&old, "ex_1").await, ExecutionStatus::Completed);
    assert!(matches!(
        old.take(&id("ex_none")).await.unwrap(),
        Taken::Unknown
    ));
}

#[tokio::test]
async fn a_paused_execution_is_listed_without_a_result_and_its_replay_has_every_entry() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    let store = Store::open(&path).unwrap();
    store.begin(new_execution("ex_1", 1)).await.unwrap();
    store
        .append(&id("ex_1"), call(1, EffectClass::Read, true))
        .await
        .unwrap();
    store.append(&id("ex_1"), outcome(1)).await.unwrap();
    store.pause(&id("ex_1"), PAUSED).await.unwrap();
    drop(store);
    let store = Store::open(&path).unwrap();
    assert_eq!(
        store.recover().await.unwrap(),
        [],
        "a paused one has no owner that could die"
    );
    let record = store.execution("ex_1").await.unwrap().unwrap();
    assert_eq!(record.row.status, ExecutionStatus::Paused);
    assert!(record.envelope.is_none() && record.row.took_us.is_none());
    assert_eq!(
        store.executions(10, None).await.unwrap()[0].status,
        ExecutionStatus::Paused
    );
    assert_eq!(store.journal(&id("ex_1")).await.unwrap().len(), 2);
    assert_eq!(epoch(&store, "ex_1").await, 1);
}

#[tokio::test]
async fn a_principal_has_a_thousand_paused_executions_and_another_pauses_all_the_same() {
    let store = Store::in_memory().unwrap();
    for number in 0..=PAUSED_MAX {
        let name = format!("ex_{number:05}");
        store.begin(new_execution(&name, 1)).await.unwrap();
        let paused = store.pause(&id(&name), PAUSED).await;
        if number < PAUSED_MAX {
            paused.unwrap();
        } else {
            let error = paused.unwrap_err();
            assert!(matches!(error, StoreError::TooManyPaused { .. }), "{error}");
            assert!(error.hint().is_some());
        }
    }
    let last = format!("ex_{PAUSED_MAX:05}");
    assert_eq!(status(&store, &last).await, ExecutionStatus::Running);
    let mut new = new_execution("ex_bob", 1);
    "bob".clone_into(&mut new.principal);
    store.begin(new).await.unwrap();
    store.pause(&id("ex_bob"), PAUSED).await.unwrap();
    // The control: when one goes on, the next is paused.
    epoch(&store, "ex_00000").await;
    store.pause(&id(&last), PAUSED).await.unwrap();
}

#[tokio::test]
async fn the_execution_of_a_dead_gateway_without_a_doubt_is_paused_and_goes_on_elsewhere() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    orphan(&path, "ex_1", 1).await;
    let store = Store::open(&path).unwrap();
    let recovered = store.recover().await.unwrap();
    assert_eq!(recovered, [(id("ex_1"), ExecutionStatus::Paused)]);
    let record = store.execution("ex_1").await.unwrap().unwrap();
    assert!(record.envelope.is_none() && record.row.error.is_none());
    assert_eq!((record.row.calls, record.row.effects.writes), (1, 1));
    let taken = store.take(&id("ex_1")).await.unwrap();
    assert!(
        matches!(
            taken,
            Taken::Lease {
                epoch: 1,
                paused: None
            }
        ),
        "{taken:?}"
    );
    let ended = envelope("ex_1", ExecutionStatus::Completed);
    store.finish(&id("ex_1"), &ended, SUMMARY).await.unwrap();
    assert!(
        store
            .execution("ex_1")
            .await
            .unwrap()
            .unwrap()
            .envelope
            .is_some()
    );
}

#[tokio::test]
async fn a_direct_call_whose_gateway_died_has_failed_because_no_program_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    let gone = Store::open(&path).unwrap();
    for (name, effect) in [
        ("ex_read", EffectClass::Read),
        ("ex_write", EffectClass::Write),
    ] {
        let mut new = new_execution(name, 1);
        NO_GUEST.clone_into(&mut new.guest_hash);
        gone.begin(new).await.unwrap();
        let sent = call(1, effect, true);
        gone.append_durable(&id(name), sent).await.unwrap();
    }
    drop(gone);
    let store = Store::open(&path).unwrap();
    assert_eq!(
        store.recover().await.unwrap(),
        [
            (id("ex_read"), ExecutionStatus::Failed),
            (id("ex_write"), ExecutionStatus::NeedsReconciliation)
        ]
    );
    let write = id("ex_write");
    let settled = store.settle(&write, CallId(1), Settlement::GiveUp).await;
    assert!(settled.unwrap());
    for name in ["ex_read", "ex_write"] {
        let record = store.execution(name).await.unwrap().unwrap();
        assert_eq!(record.row.status, ExecutionStatus::Failed, "{name}");
        assert_eq!(record.envelope.unwrap().status, ExecutionStatus::Failed);
        assert!(matches!(
            store.take(&id(name)).await.unwrap(),
            Taken::Not(ExecutionStatus::Failed)
        ));
    }
}

#[tokio::test]
async fn an_execution_that_lost_results_to_retention_fails_when_its_calls_are_settled() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    let name = id("ex_1");
    for (thinned, expected) in [(0, ExecutionStatus::Paused), (1, ExecutionStatus::Failed)] {
        let name = id(&format!("{name}_{thinned}"));
        orphan(&path, name.as_str(), 2).await;
        let store = Store::open(&path).unwrap();
        assert_eq!(store.recover().await.unwrap().len(), 1);
        rusqlite::Connection::open(&path)
            .unwrap()
            .execute(
                "UPDATE execution SET thinned = ?2 WHERE id = ?1",
                rusqlite::params![name.as_str(), thinned],
            )
            .unwrap();
        let settled = store
            .settle(&name, CallId(2), Settlement::DidNotHappen)
            .await;
        assert!(settled.unwrap());
        assert_eq!(status(&store, name.as_str()).await, expected);
    }
}

#[tokio::test]
async fn a_paused_execution_ends_with_its_questions_when_its_time_has_passed() {
    let store = Store::in_memory().unwrap();
    for (execution, question, denies) in [
        ("ex_ends", "ap_ends", false),
        ("ex_denied", "ap_denied", true),
    ] {
        store.begin(new_execution(execution, 1)).await.unwrap();
        let (entry, mut question) = approval(question, execution, 1);
        question.terms.deny_on_expiry = denies;
        store
            .ask(&id(execution), vec![(entry, question)])
            .await
            .unwrap();
        store.pause(&id(execution), PAUSED).await.unwrap();
    }
    assert_eq!(store.expire_approvals(EXPIRES_US - 1).await.unwrap(), []);
    assert_eq!(status(&store, "ex_ends").await, ExecutionStatus::Paused);

    let expired = store.expire_approvals(EXPIRES_US).await.unwrap();
    let states: Vec<_> = expired
        .iter()
        .map(|it| (it.id.as_str(), it.state))
        .collect();
    assert_eq!(
        states,
        [
            ("ap_ends", ApprovalState::Expired),
            ("ap_denied", ApprovalState::Expired)
        ]
    );
    let record = store.execution("ex_ends").await.unwrap().unwrap();
    assert_eq!(record.row.status, ExecutionStatus::Cancelled);
    assert_eq!(record.row.error, Some(ErrorKind::ApprovalExpired));
    let envelope = record.envelope.unwrap();
    assert_eq!(envelope.status, ExecutionStatus::Cancelled);
    assert_eq!(envelope.error.unwrap().kind, ErrorKind::ApprovalExpired);
    assert!(matches!(
        store.take(&id("ex_ends")).await.unwrap(),
        Taken::Not(ExecutionStatus::Cancelled)
    ));
    let late = store
        .decide(&ap("ap_ends"), decision("user:a", true))
        .await
        .unwrap();
    assert!(
        matches!(late, limbeck_store::Decided::TooLate(_)),
        "{late:?}"
    );

    // The other one waits for a process that gives its program the denial, for a day.
    assert_eq!(status(&store, "ex_denied").await, ExecutionStatus::Paused);
    assert_eq!(
        store
            .expire_approvals(EXPIRES_US + DAY_US - 1)
            .await
            .unwrap(),
        []
    );
    assert_eq!(status(&store, "ex_denied").await, ExecutionStatus::Paused);
    assert_eq!(
        store.expire_approvals(EXPIRES_US + DAY_US).await.unwrap(),
        []
    );
    assert_eq!(
        status(&store, "ex_denied").await,
        ExecutionStatus::Cancelled
    );
}

#[tokio::test]
async fn a_question_of_a_running_execution_expires_and_the_execution_goes_on() {
    let store = Store::in_memory().unwrap();
    store.begin(new_execution("ex_1", 1)).await.unwrap();
    let many = (0..20).map(|number| approval(&format!("ap_{number}"), "ex_1", number));
    store.ask(&id("ex_1"), many.collect()).await.unwrap();
    assert_eq!(store.expire_approvals(EXPIRES_US).await.unwrap().len(), 20);
    assert_eq!(store.expire_approvals(EXPIRES_US).await.unwrap(), []);
    assert_eq!(status(&store, "ex_1").await, ExecutionStatus::Running);
    store
        .append_durable(&id("ex_1"), call(30, EffectClass::Write, true))
        .await
        .unwrap();
}

#[tokio::test]
async fn an_interrupted_execution_has_a_day_from_the_first_look_and_longer_while_a_question_waits()
{
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    orphan(&path, "ex_1", 1).await;
    let gone = Store::open(&path).unwrap();
    gone.begin(new_execution("ex_asked", 2)).await.unwrap();
    let (entry, mut question) = approval("ap_1", "ex_asked", 1);
    question.expires_us = 3 * DAY_US;
    gone.ask(&id("ex_asked"), vec![(entry, question)])
        .await
        .unwrap();
    drop(gone);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.recover().await.unwrap().len(), 2);
    let expire = async |now_us| {
        store.expire_approvals(now_us).await.unwrap();
        (
            status(&store, "ex_1").await,
            status(&store, "ex_asked").await,
        )
    };
    let (paused, cancelled) = (ExecutionStatus::Paused, ExecutionStatus::Cancelled);
    assert_eq!(expire(100).await, (paused, paused));
    assert_eq!(expire(99 + DAY_US).await, (paused, paused));
    assert_eq!(expire(100 + DAY_US).await, (cancelled, paused));
    assert_eq!(expire(3 * DAY_US).await, (cancelled, cancelled));
}

#[tokio::test]
async fn calls_in_doubt_are_settled_one_by_one_and_then_the_execution_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    orphan(&path, "ex_1", 3).await;
    let store = Store::open(&path).unwrap();
    let name = id("ex_1");
    assert_eq!(
        store.recover().await.unwrap(),
        [(name.clone(), ExecutionStatus::NeedsReconciliation)]
    );
    let numbers = async || {
        let in_doubt = store.in_doubt(&name).await.unwrap();
        in_doubt.iter().map(|it| it.call.id.0).collect::<Vec<_>>()
    };
    assert_eq!(numbers().await, [2, 3]);
    assert!(matches!(
        store.take(&name).await.unwrap(),
        Taken::Not(ExecutionStatus::NeedsReconciliation)
    ));
    let happened = Settlement::Happened {
        result: Some("{}".to_owned()),
    };
    assert!(
        !store
            .settle(&name, CallId(1), happened.clone())
            .await
            .unwrap(),
        "answered"
    );
    assert!(
        store
            .settle(&name, CallId(2), happened.clone())
            .await
            .unwrap()
    );
    assert!(
        !store.settle(&name, CallId(2), happened).await.unwrap(),
        "settled"
    );
    assert_eq!(numbers().await, [3]);
    // Its end is still its end, though an entry follows it.
    let record = store.execution("ex_1").await.unwrap().unwrap();
    assert_eq!(record.row.status, ExecutionStatus::NeedsReconciliation);
    assert!(record.envelope.is_some());

    assert!(
        store
            .settle(&name, CallId(3), Settlement::Retry)
            .await
            .unwrap()
    );
    assert_eq!(status(&store, "ex_1").await, ExecutionStatus::Paused);
    assert!(store.in_doubt(&name).await.unwrap().is_empty());
    assert_eq!(epoch(&store, "ex_1").await, 1);
    let journal = store.journal(&name).await.unwrap();
    assert!(
        !journal
            .iter()
            .any(|entry| matches!(entry, JournalEntry::Ended { .. })),
        "the end was not the end: {journal:?}"
    );
    // The call is made again: without an answer it is in doubt again.
    store
        .append_durable(&name, call(3, EffectClass::Write, true))
        .await
        .unwrap();
    drop(store);
    let store = Store::open(&path).unwrap();
    assert_eq!(
        store.recover().await.unwrap(),
        [(name.clone(), ExecutionStatus::NeedsReconciliation)]
    );
    let in_doubt = store.in_doubt(&name).await.unwrap();
    assert_eq!(in_doubt.len(), 1);
    assert_eq!(in_doubt[0].call.id, CallId(3));
    let journal = store.journal(&name).await.unwrap();
    let ends = journal
        .iter()
        .filter(|entry| matches!(entry, JournalEntry::Ended { .. }));
    assert_eq!(ends.count(), 1);
}

#[tokio::test]
async fn timers_wake_a_paused_execution_a_hundred_times_and_the_next_ends_it() {
    let store = Store::in_memory().unwrap();
    let name = id("ex_1");
    store.begin(new_execution("ex_1", 1)).await.unwrap();
    store
        .ask(&name, vec![approval("ap_1", "ex_1", 1)])
        .await
        .unwrap();
    store.pause(&name, PAUSED).await.unwrap();
    assert_eq!(store.wake_us(&name).await.unwrap(), Some(70));
    // The control: one that is not due stays as it is, and a decision is not a timer.
    let early = store.take_due(&name, 69).await.unwrap();
    assert!(matches!(early, Taken::Not(ExecutionStatus::Paused)));
    epoch(&store, "ex_1").await;
    store.pause(&name, PAUSED).await.unwrap();
    for wake in 1..=WAKES_MAX {
        let taken = store.take_due(&name, 70).await.unwrap();
        assert!(matches!(taken, Taken::Lease { .. }), "{wake}: {taken:?}");
        assert_eq!(store.wake_us(&name).await.unwrap(), None);
        store.pause(&name, PAUSED).await.unwrap();
    }
    let last = store.take_due(&name, 70).await.unwrap();
    assert!(matches!(last, Taken::Not(ExecutionStatus::Failed)));
    let record = store.execution("ex_1").await.unwrap().unwrap();
    let error = record.envelope.unwrap().error.unwrap();
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(error.message.contains("woke it 100 times"), "{error:?}");
    let question = store.approval(&ap("ap_1")).await.unwrap().unwrap();
    assert_eq!(question.state, ApprovalState::Withdrawn);
}

#[tokio::test]
async fn timers_are_listed_as_they_are_due_and_an_interrupted_execution_has_none() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    orphan(&path, "ex_interrupted", 1).await;
    let store = Store::open(&path).unwrap();
    store.recover().await.unwrap();
    assert_eq!(
        status(&store, "ex_interrupted").await,
        ExecutionStatus::Paused
    );
    for (name, wake_us) in [
        ("ex_late", Some(90)),
        ("ex_soon", Some(30)),
        ("ex_never", None),
    ] {
        store.begin(new_execution(name, 1)).await.unwrap();
        let paused = PausedExecution { wake_us, ..PAUSED };
        store.pause(&id(name), paused).await.unwrap();
    }
    let timers = store.next_wakes(10).await.unwrap();
    assert_eq!(timers, [(id("ex_soon"), 30), (id("ex_late"), 90)]);
    assert_eq!(store.next_wakes(1).await.unwrap().len(), 1);
    let taken = store
        .take_due(&id("ex_interrupted"), u64::MAX)
        .await
        .unwrap();
    assert!(matches!(taken, Taken::Not(ExecutionStatus::Paused)));
}

#[tokio::test]
async fn paused_executions_are_counted_by_their_guest() {
    let store = Store::in_memory().unwrap();
    for (name, guest) in [("ex_1", "old"), ("ex_2", "new"), ("ex_3", "old")] {
        let mut new = new_execution(name, 1);
        guest.clone_into(&mut new.guest_hash);
        format!("1.0 of {guest}").clone_into(&mut new.start.release);
        store.begin(new).await.unwrap();
        store.pause(&id(name), PAUSED).await.unwrap();
    }
    // One that runs needs no other executable.
    store.begin(new_execution("ex_4", 1)).await.unwrap();
    let guest = |hash: &str, executions| PausedGuest {
        guest_hash: hash.to_owned(),
        language: Language::Typescript,
        release: format!("1.0 of {hash}"),
        executions,
    };
    let guests = store.paused_guests().await.unwrap();
    assert_eq!(guests, [guest("old", 2), guest("new", 1)]);
}
