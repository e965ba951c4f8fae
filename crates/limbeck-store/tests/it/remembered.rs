//! Choices to let an approval count for calls that are alike: what they approve, for how long, and how they end.

use limbeck_domain::{
    Approval, ApprovalDecision, ApprovalState, ExecutionStatus, Remember, RememberOffer, Remembered,
};
use limbeck_store::{REMEMBERED_MAX, Store};

use crate::approvals::{ap, approval, decision};
use crate::{SUMMARY, envelope, id, new_execution};

/// A time at which every question of these tests is open.
const NOW_US: u64 = 30;

fn alike(name: &str, execution: &str, number: u32, key: &str) -> Approval {
    let (_, mut approval) = approval(name, execution, number);
    approval.arguments = r#"{"to":"anna","text":"long"}"#.to_owned();
    approval.terms.offer = Some(Box::new(RememberOffer {
        at_most: Remember::named("30d").unwrap(),
        key: key.to_owned(),
        same: vec!["to".to_owned()],
        any: vec!["text".to_owned()],
        session: Some("s1".to_owned()),
    }));
    approval.expires_us = u64::MAX >> 1;
    approval
}

async fn ask(store: &Store, question: Approval) {
    let (entry, _) = approval(
        question.id.as_str(),
        question.execution.as_str(),
        question.call.0,
    );
    let execution = question.execution.clone();
    store
        .ask(&execution, vec![(entry, question)])
        .await
        .unwrap();
}

fn choosing(choice: &str) -> ApprovalDecision {
    ApprovalDecision {
        remember: Some(choice.parse().unwrap()),
        ..decision("user:a", true)
    }
}

/// Whether a call of `question` is answered by a choice now.
async fn is_answered(store: &Store, question: Approval, now_us: u64) -> bool {
    let found = store.remembered_for(&question, now_us).await.unwrap();
    let Some(Remembered { id: choice, .. }) = found.into_iter().next() else {
        return false;
    };
    let (entry, _) = approval(
        question.id.as_str(),
        question.execution.as_str(),
        question.call.0,
    );
    let execution = question.execution.clone();
    let asked = store
        .ask_remembered(&execution, entry, question, choice, now_us)
        .await
        .unwrap();
    asked.is_some_and(|asked| asked.state == ApprovalState::Approved)
}

async fn state(store: &Store, name: &str) -> ApprovalState {
    store.approval(&ap(name)).await.unwrap().unwrap().state
}

#[tokio::test]
async fn a_choice_for_a_run_approves_what_waits_and_what_follows_in_it_alone() {
    let store = Store::in_memory().unwrap();
    for execution in ["ex_1", "ex_2"] {
        store.begin(new_execution(execution, 1)).await.unwrap();
    }
    for (name, execution, number, key) in [
        ("ap_1", "ex_1", 1, "k"),
        ("ap_2", "ex_1", 2, "k"),
        ("ap_3", "ex_1", 3, "other"),
        ("ap_4", "ex_2", 1, "k"),
    ] {
        ask(&store, alike(name, execution, number, key)).await;
    }
    store.decide(&ap("ap_1"), choosing("run")).await.unwrap();
    assert_eq!(state(&store, "ap_2").await, ApprovalState::Approved);
    assert_eq!(state(&store, "ap_3").await, ApprovalState::Pending);
    assert_eq!(state(&store, "ap_4").await, ApprovalState::Pending);
    let second = store.approval(&ap("ap_2")).await.unwrap().unwrap();
    assert_eq!(second.decisions[0].remembered.as_deref(), Some("rm_1"));
    assert_eq!(second.decisions[0].by, "user:a");
    let of = |name, execution, key| alike(name, execution, 9, key);
    assert!(is_answered(&store, of("ap_5", "ex_1", "k"), NOW_US).await);
    assert!(!is_answered(&store, of("ap_6", "ex_1", "other"), NOW_US).await);
    assert!(!is_answered(&store, of("ap_7", "ex_2", "k"), NOW_US).await);
    let listed = store.remembered(Some("local"), NOW_US).await.unwrap();
    assert_eq!(listed[0].approval.arguments, r#"{"to":"anna"}"#);
    // The run ends, and the choice with it.
    let ended = envelope("ex_1", ExecutionStatus::Completed);
    store.finish(&id("ex_1"), &ended, SUMMARY).await.unwrap();
    assert!(store.remembered(None, NOW_US).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_choice_for_so_many_calls_counts_those_that_wait_and_those_that_follow() {
    let store = Store::in_memory().unwrap();
    store.begin(new_execution("ex_1", 1)).await.unwrap();
    for (name, number) in [("ap_1", 1), ("ap_2", 2), ("ap_3", 3)] {
        ask(&store, alike(name, "ex_1", number, "k")).await;
    }
    store.decide(&ap("ap_1"), choosing("run:1")).await.unwrap();
    assert_eq!(state(&store, "ap_2").await, ApprovalState::Approved);
    assert_eq!(state(&store, "ap_3").await, ApprovalState::Pending);
    assert!(!is_answered(&store, alike("ap_4", "ex_1", 4, "k"), NOW_US).await);
}

#[tokio::test]
async fn a_choice_ends_with_its_time_its_session_and_when_it_is_forgotten() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    let store = Store::open(&path).unwrap();
    for execution in ["ex_1", "ex_2"] {
        store.begin(new_execution(execution, 1)).await.unwrap();
    }
    ask(&store, alike("ap_1", "ex_1", 1, "k")).await;
    ask(&store, alike("ap_2", "ex_1", 2, "s")).await;
    store.decide(&ap("ap_1"), choosing("8h")).await.unwrap();
    store
        .decide(&ap("ap_2"), choosing("session"))
        .await
        .unwrap();
    let of = |name, key| alike(name, "ex_2", 9, key);
    let at = |hours: u64| NOW_US + hours * 3_600_000_000;
    // Another process has it too.
    let other = Store::open(&path).unwrap();
    assert_eq!(other.remembered(None, NOW_US).await.unwrap().len(), 2);
    assert!(is_answered(&store, of("ap_3", "k"), at(7)).await);
    assert!(!is_answered(&store, of("ap_4", "k"), at(9)).await);
    assert!(is_answered(&store, of("ap_5", "s"), NOW_US).await);
    let mut in_other = of("ap_6", "s");
    in_other.terms.offer.as_mut().unwrap().session = Some("s2".to_owned());
    assert!(!is_answered(&store, in_other, NOW_US).await);
    let mut of_other = of("ap_7", "k");
    of_other.principal = "token:ben".to_owned();
    assert!(
        store
            .remembered_for(&of_other, NOW_US)
            .await
            .unwrap()
            .is_empty()
    );
    // What is forgotten between looking and asking answers nothing.
    let question = of("ap_8", "k");
    assert!(other.forget_remembered("rm_1").await.unwrap());
    assert!(!other.forget_remembered("rm_1").await.unwrap());
    let (entry, _) = approval("ap_8", "ex_2", 9);
    let execution = id("ex_2");
    let asked = store.ask_remembered(&execution, entry, question, "rm_1".to_owned(), NOW_US);
    assert_eq!(asked.await.unwrap(), None);
    assert_eq!(store.approval(&ap("ap_8")).await.unwrap(), None);
}

#[tokio::test]
async fn what_is_not_offered_is_not_kept_and_the_oldest_makes_room() {
    let store = Store::in_memory().unwrap();
    store.begin(new_execution("ex_1", 1)).await.unwrap();
    let mut plain = alike("ap_a", "ex_1", 1, "k");
    plain.terms.offer = None;
    ask(&store, plain).await;
    let mut short = alike("ap_b", "ex_1", 2, "k");
    short.terms.offer.as_mut().unwrap().at_most = Remember::Run;
    ask(&store, short).await;
    // One of two people chose nothing.
    let mut of_two = alike("ap_c", "ex_1", 3, "k2");
    of_two.terms.quorum = 2;
    ask(&store, of_two).await;
    for (name, choice) in [("ap_a", choosing("run")), ("ap_b", choosing("8h"))] {
        store.decide(&ap(name), choice).await.unwrap();
    }
    store.decide(&ap("ap_c"), choosing("8h")).await.unwrap();
    store
        .decide(&ap("ap_c"), decision("user:b", true))
        .await
        .unwrap();
    assert_eq!(state(&store, "ap_c").await, ApprovalState::Approved);
    assert!(store.remembered(None, NOW_US).await.unwrap().is_empty());
    for number in 0..=REMEMBERED_MAX {
        let name = format!("ap_{number}");
        ask(&store, alike(&name, "ex_1", 10 + number, &name)).await;
        store.decide(&ap(&name), choosing("8h")).await.unwrap();
    }
    let kept = store.remembered(None, NOW_US).await.unwrap();
    assert_eq!(kept.len(), REMEMBERED_MAX as usize);
    assert_eq!(kept[0].id, "rm_1");
}
