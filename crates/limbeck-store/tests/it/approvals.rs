//! Questions to people: asked, decided by one of several channels, and spent once.

use limbeck_domain::{
    Approval, ApprovalChannel, ApprovalDecision, ApprovalId, ApprovalState, ApprovalTerms, CallId,
    EffectClass, ExecutionStatus, JournalEntry, ToolId,
};
use limbeck_store::{
    APPROVALS_PENDING_MAX, ApprovalFilter, Decided, PausedExecution, Spent, Store, StoreError,
};

use crate::{SUMMARY, call, envelope, id, new_execution};

/// When the approvals of these tests expire.
pub(crate) const EXPIRES_US: u64 = 1_000;

pub(crate) fn approval(name: &str, execution: &str, number: u32) -> (JournalEntry, Approval) {
    let JournalEntry::Call { call, .. } = call(number, EffectClass::Write, true) else {
        unreachable!("`call` makes a call")
    };
    let tool = ToolId::new("github", "create_issue");
    let approval = Approval {
        changed: Vec::new(),
        id: ApprovalId::new(name),
        execution: id(execution),
        call: CallId(number),
        principal: "local".to_owned(),
        origin: "test".to_owned(),
        tool: tool.clone(),
        pin: None,
        arguments: call.body.clone(),
        sha256: "00".to_owned(),
        class: EffectClass::Write,
        class_from: "operator".to_owned(),
        rule: None,
        preset: Some("balanced".to_owned()),
        reason: None,
        line: Some(2),
        origins: Default::default(),
        terms: ApprovalTerms {
            channels: vec![ApprovalChannel::Cli],
            approvers: Vec::new(),
            quorum: 1,
            not_requester: false,
            edit: Vec::new(),
            offer: None,
            view_arguments: Vec::new(),
            deny_on_expiry: false,
        },
        created_us: 10,
        expires_us: EXPIRES_US,
        state: ApprovalState::Pending,
        decisions: Vec::new(),
    };
    let entry = JournalEntry::Asked {
        call,
        tool,
        approval: approval.id.clone(),
    };
    (entry, approval)
}

pub(crate) fn ap(name: &str) -> ApprovalId {
    ApprovalId::new(name)
}

pub(crate) fn decision(by: &str, approve: bool) -> ApprovalDecision {
    ApprovalDecision {
        approve,
        by: by.to_owned(),
        channel: ApprovalChannel::Cli,
        reason: None,
        edited: None,
        lines: None,
        stop: false,
        remember: None,
        remembered: None,
        at_us: 20,
    }
}

/// A running execution with one question.
async fn asked(store: &Store, execution: &str, question: &str) {
    store.begin(new_execution(execution, 1)).await.unwrap();
    let question = vec![approval(question, execution, 1)];
    store.ask(&id(execution), question).await.unwrap();
}

async fn state(store: &Store, name: &str) -> ApprovalState {
    store.approval(&ap(name)).await.unwrap().unwrap().state
}

fn decided_entries(journal: &[JournalEntry]) -> usize {
    let decided = |entry: &&JournalEntry| matches!(entry, JournalEntry::Decided { .. });
    journal.iter().filter(decided).count()
}

#[tokio::test]
async fn a_question_is_asked_approved_and_spent_and_survives_reopening_at_each_step() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    let store = Store::open(&path).unwrap();
    asked(&store, "ex_1", "ap_1").await;
    let other = Store::open(&path).unwrap();
    let (_, expected) = approval("ap_1", "ex_1", 1);
    assert_eq!(other.approval(&ap("ap_1")).await.unwrap(), Some(expected));

    let Decided::Counted(counted) = other
        .decide(&ap("ap_1"), decision("user:a", true))
        .await
        .unwrap()
    else {
        panic!("it did not count")
    };
    assert_eq!(counted.state, ApprovalState::Approved);
    drop(other);
    let other = Store::open(&path).unwrap();
    assert_eq!(other.approval(&ap("ap_1")).await.unwrap(), Some(*counted));

    let intent = call(1, EffectClass::Write, true);
    let spent = store
        .spend(&id("ex_1"), &ap("ap_1"), intent, 30)
        .await
        .unwrap();
    assert_eq!(spent, Spent::Now);
    assert_eq!(state(&other, "ap_1").await, ApprovalState::Spent);
    let journal = other.journal(&id("ex_1")).await.unwrap();
    assert!(
        matches!(
            journal.as_slice(),
            [
                JournalEntry::Asked { .. },
                JournalEntry::Decided { .. },
                JournalEntry::Call { sent: true, .. }
            ]
        ),
        "{journal:?}"
    );
    // The intent has the marks of one: without an outcome, the call is in doubt.
    drop(store);
    let recovered = other.recover().await.unwrap();
    assert_eq!(
        recovered,
        [(id("ex_1"), ExecutionStatus::NeedsReconciliation)]
    );
}

#[tokio::test]
async fn of_two_gateways_that_decide_exactly_one_counts_two_hundred_times() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    let one = Store::open(&path).unwrap();
    let two = Store::open(&path).unwrap();
    one.begin(new_execution("ex_1", 1)).await.unwrap();
    for round in 0..200 {
        let name = format!("ap_{round}");
        let question = vec![approval(&name, "ex_1", round)];
        one.ask(&id("ex_1"), question).await.unwrap();
        let name = ap(&name);
        let (first, second) = tokio::join!(
            one.decide(&name, decision("user:a", true)),
            two.decide(&name, decision("user:b", false)),
        );
        let (expected, counted, late) = match (first.unwrap(), second.unwrap()) {
            (Decided::Counted(counted), Decided::TooLate(late)) => {
                (ApprovalState::Approved, counted, late)
            }
            (Decided::TooLate(late), Decided::Counted(counted)) => {
                (ApprovalState::Denied, counted, late)
            }
            other => panic!("{other:?}"),
        };
        assert_eq!((counted.state, &counted), (expected, &late));
    }
    let journal = two.journal(&id("ex_1")).await.unwrap();
    assert_eq!(decided_entries(&journal), 200);
    // The owner goes on with its journal, which another process wrote to.
    let entry = call(500, EffectClass::Write, true);
    one.append_durable(&id("ex_1"), entry).await.unwrap();
}

#[tokio::test]
async fn a_repeated_decision_is_the_same_and_another_one_comes_too_late() {
    let store = Store::in_memory().unwrap();
    asked(&store, "ex_1", "ap_1").await;
    let decide = async |by, approve| {
        let name = ap("ap_1");
        let decided = store.decide(&name, decision(by, approve));
        decided.await.unwrap()
    };
    assert!(matches!(decide("user:a", false).await, Decided::Counted(_)));
    assert!(matches!(decide("user:a", false).await, Decided::Same(_)));
    assert!(matches!(decide("user:a", true).await, Decided::TooLate(_)));
    assert!(matches!(decide("user:b", false).await, Decided::TooLate(_)));
    let name = ap("ap_2");
    let unknown = store.decide(&name, decision("user:a", true)).await;
    assert_eq!(unknown.unwrap(), Decided::Unknown);
    let journal = store.journal(&id("ex_1")).await.unwrap();
    assert_eq!(decided_entries(&journal), 1);
    assert_eq!(state(&store, "ap_1").await, ApprovalState::Denied);
}

#[tokio::test]
async fn an_approval_is_spent_once_and_only_as_approved_in_time_and_by_its_own_execution() {
    let store = Store::in_memory().unwrap();
    store.begin(new_execution("ex_other", 1)).await.unwrap();
    store.begin(new_execution("ex_1", 1)).await.unwrap();
    for (number, name) in [
        "ap_pending",
        "ap_denied",
        "ap_withdrawn",
        "ap_late",
        "ap_good",
    ]
    .into_iter()
    .enumerate()
    {
        let question = vec![approval(name, "ex_1", number as u32)];
        store.ask(&id("ex_1"), question).await.unwrap();
    }
    let decide = async |name, approve| {
        let name = ap(name);
        let decided = store.decide(&name, decision("user:a", approve));
        assert!(matches!(decided.await.unwrap(), Decided::Counted(_)));
    };
    decide("ap_denied", false).await;
    decide("ap_withdrawn", true).await;
    decide("ap_late", true).await;
    decide("ap_good", true).await;
    store.withdraw(&ap("ap_withdrawn")).await.unwrap();
    store.withdraw(&ap("ap_denied")).await.unwrap();

    let spend = async |execution, name, now_us| {
        let intent = call(1, EffectClass::Write, true);
        store.spend(&id(execution), &ap(name), intent, now_us).await
    };
    let before = store.journal(&id("ex_1")).await.unwrap().len();
    for (name, now_us, why) in [
        ("ap_pending", 30, ApprovalState::Pending),
        ("ap_denied", 30, ApprovalState::Denied),
        ("ap_withdrawn", 30, ApprovalState::Withdrawn),
        ("ap_late", EXPIRES_US, ApprovalState::Expired),
    ] {
        let spent = spend("ex_1", name, now_us).await.unwrap();
        assert_eq!(spent, Spent::NotApproved(why), "{name}");
    }
    for (execution, name) in [("ex_other", "ap_good"), ("ex_1", "ap_none")] {
        let error = spend(execution, name, 30).await.unwrap_err();
        assert!(
            matches!(error, StoreError::UnknownApproval { .. }),
            "{error}"
        );
    }
    assert_eq!(store.journal(&id("ex_1")).await.unwrap().len(), before);
    assert!(store.journal(&id("ex_other")).await.unwrap().is_empty());
    // The control, and the second time.
    let last = EXPIRES_US - 1;
    assert_eq!(spend("ex_1", "ap_good", last).await.unwrap(), Spent::Now);
    let again = spend("ex_1", "ap_good", last).await.unwrap();
    assert_eq!(again, Spent::NotApproved(ApprovalState::Spent));
    assert_eq!(store.journal(&id("ex_1")).await.unwrap().len(), before + 1);
}

#[tokio::test]
async fn a_decision_after_the_time_of_the_question_expires_it_and_is_not_recorded() {
    let store = Store::in_memory().unwrap();
    asked(&store, "ex_1", "ap_1").await;
    let late = ApprovalDecision {
        at_us: EXPIRES_US,
        ..decision("user:a", true)
    };
    let Decided::TooLate(approval) = store.decide(&ap("ap_1"), late).await.unwrap() else {
        panic!("a late decision counted")
    };
    assert_eq!(approval.state, ApprovalState::Expired);
    assert!(approval.decisions.is_empty());
    assert_eq!(state(&store, "ap_1").await, ApprovalState::Expired);
    assert_eq!(store.journal(&id("ex_1")).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_principal_has_twenty_pending_questions_and_another_is_asked_all_the_same() {
    let store = Store::in_memory().unwrap();
    let mut new = new_execution("ex_bob", 1);
    "bob".clone_into(&mut new.principal);
    store.begin(new).await.unwrap();
    for execution in ["ex_1", "ex_2"] {
        store.begin(new_execution(execution, 1)).await.unwrap();
    }
    let questions = |execution: &str, from: u32, count: u32| {
        let names = from..from + count;
        let asked = names.map(|number| approval(&format!("ap_{number}"), execution, number));
        asked.collect::<Vec<_>>()
    };
    let max = APPROVALS_PENDING_MAX;
    store
        .ask(&id("ex_1"), questions("ex_1", 0, max - 1))
        .await
        .unwrap();
    let error = store
        .ask(&id("ex_2"), questions("ex_2", 100, 2))
        .await
        .unwrap_err();
    assert!(
        matches!(error, StoreError::TooManyPending { pending } if pending == max - 1),
        "{error}"
    );
    assert!(error.hint().is_some());
    // Nothing of it was asked, and the journal goes on.
    assert!(store.journal(&id("ex_2")).await.unwrap().is_empty());
    store
        .ask(&id("ex_2"), questions("ex_2", 100, 1))
        .await
        .unwrap();
    assert!(
        store
            .ask(&id("ex_2"), questions("ex_2", 200, 1))
            .await
            .is_err()
    );
    store
        .ask(&id("ex_bob"), questions("ex_bob", 300, max))
        .await
        .unwrap();
    // The control: a decision makes room for the next.
    store
        .decide(&ap("ap_0"), decision("user:a", false))
        .await
        .unwrap();
    store
        .ask(&id("ex_2"), questions("ex_2", 200, 1))
        .await
        .unwrap();

    let count = async |filter: ApprovalFilter| store.approvals(filter).await.unwrap().len() as u32;
    let all = ApprovalFilter {
        limit: 1_000,
        ..ApprovalFilter::default()
    };
    let pending = ApprovalFilter {
        only_pending: true,
        ..all.clone()
    };
    let local = |filter: &ApprovalFilter| ApprovalFilter {
        principal: Some("local".to_owned()),
        ..filter.clone()
    };
    assert_eq!(count(all.clone()).await, 2 * max + 1);
    assert_eq!(count(pending.clone()).await, 2 * max);
    assert_eq!(count(local(&all)).await, max + 1);
    assert_eq!(count(local(&pending)).await, max);
    let of = ApprovalFilter {
        execution: Some(id("ex_2")),
        ..local(&pending)
    };
    let listed = store.approvals(of).await.unwrap();
    let listed: Vec<_> = listed.iter().map(|approval| approval.id.as_str()).collect();
    assert_eq!(listed, ["ap_100", "ap_200"]);
    let few = ApprovalFilter { limit: 3, ..all };
    assert_eq!(count(few).await, 3);
}

#[tokio::test]
async fn an_approver_lists_the_questions_whose_every_list_has_one_of_its_names() {
    let store = Store::in_memory().unwrap();
    store.begin(new_execution("ex_1", 1)).await.unwrap();
    let lists: [&[&[&str]]; 4] = [
        &[],
        &[&["group:leads", "user:anna"]],
        &[&["group:leads"], &["group:finance"]],
        &[&["user:ben"]],
    ];
    for (number, lists) in (1..).zip(lists) {
        let (entry, mut asked) = approval(&format!("ap_{number}"), "ex_1", number);
        let list = |list: &&[&str]| list.iter().map(|name| (*name).to_owned()).collect();
        asked.terms.approvers = lists.iter().map(list).collect();
        store.ask(&id("ex_1"), vec![(entry, asked)]).await.unwrap();
    }
    let listed = async |principal: &str, names: &[&str]| -> Vec<String> {
        let filter = ApprovalFilter {
            principal: Some(principal.to_owned()),
            approver: names.iter().map(|name| (*name).to_owned()).collect(),
            only_pending: true,
            limit: 1_000,
            ..ApprovalFilter::default()
        };
        let found = store.approvals(filter).await.unwrap();
        found.iter().map(|one| one.id.to_string()).collect()
    };
    assert_eq!(listed("anna", &["user:anna"]).await, ["ap_2"]);
    assert_eq!(listed("eve", &["user:eve", "group:leads"]).await, ["ap_2"]);
    let both = ["user:eve", "group:leads", "group:finance"];
    assert_eq!(listed("eve", &both).await, ["ap_2", "ap_3"]);
    assert_eq!(
        listed("eve", &["user:eve", "%", "\"user:ben\""]).await,
        [""; 0]
    );
    // The control: its own principal lists all of them, also without a name.
    assert_eq!(listed("local", &["user:local"]).await.len(), 4);
    assert_eq!(listed("local", &[]).await.len(), 4);
    assert_eq!(listed("eve", &[]).await, [""; 0]);
}

#[tokio::test]
async fn a_state_is_spent_once_and_the_key_stays_that_of_the_file() {
    let store = Store::in_memory().unwrap();
    assert_eq!(store.sealing_key([1; 32]).await.unwrap(), [1; 32]);
    assert_eq!(store.sealing_key([2; 32]).await.unwrap(), [1; 32]);
    assert!(store.spend_state("a", 10, 1).await.unwrap());
    assert!(!store.spend_state("a", 10, 2).await.unwrap());
    assert!(store.spend_state("b", 10, 2).await.unwrap());
    // What has expired is forgotten; who opens a state has checked its time before.
    assert!(store.spend_state("a", 30, 20).await.unwrap());
    assert!(!store.spend_state("a", 30, 20).await.unwrap());
}

#[tokio::test]
async fn a_question_that_exists_or_has_endless_arguments_is_refused_and_its_neighbours_are_not() {
    let store = Store::in_memory().unwrap();
    asked(&store, "ex_1", "ap_1").await;
    let twice = vec![approval("ap_2", "ex_1", 2), approval("ap_1", "ex_1", 3)];
    let error = store.ask(&id("ex_1"), twice).await.unwrap_err();
    assert!(
        matches!(error, StoreError::DuplicateApproval { .. }),
        "{error}"
    );
    let (entry, mut large) = approval("ap_2", "ex_1", 2);
    large.arguments = "\"".repeat(16 << 20);
    let error = store
        .ask(&id("ex_1"), vec![(entry, large)])
        .await
        .unwrap_err();
    assert!(
        matches!(error, StoreError::ApprovalTooLarge { .. }),
        "{error}"
    );
    assert!(store.approval(&ap("ap_2")).await.unwrap().is_none());
    let good = vec![approval("ap_2", "ex_1", 2)];
    store.ask(&id("ex_1"), good).await.unwrap();
}

#[tokio::test]
async fn the_end_of_an_execution_withdraws_its_questions_and_a_late_approval_is_refused() {
    let store = Store::in_memory().unwrap();
    asked(&store, "ex_1", "ap_1").await;
    let more = vec![approval("ap_2", "ex_1", 2), approval("ap_3", "ex_1", 3)];
    store.ask(&id("ex_1"), more).await.unwrap();
    store
        .decide(&ap("ap_2"), decision("user:a", true))
        .await
        .unwrap();
    store
        .decide(&ap("ap_3"), decision("user:a", false))
        .await
        .unwrap();
    asked(&store, "ex_other", "ap_other").await;
    let ended = envelope("ex_1", ExecutionStatus::Cancelled);
    store.finish(&id("ex_1"), &ended, SUMMARY).await.unwrap();
    for (name, expected) in [
        ("ap_1", ApprovalState::Withdrawn),
        ("ap_2", ApprovalState::Withdrawn),
        ("ap_3", ApprovalState::Denied),
        ("ap_other", ApprovalState::Pending),
    ] {
        assert_eq!(state(&store, name).await, expected, "{name}");
    }
    let late = store
        .decide(&ap("ap_1"), decision("user:a", true))
        .await
        .unwrap();
    assert!(matches!(late, Decided::TooLate(_)), "{late:?}");
    let intent = call(2, EffectClass::Write, true);
    let spent = store.spend(&id("ex_1"), &ap("ap_2"), intent, 30).await;
    assert!(matches!(spent, Err(StoreError::Lost { .. })), "{spent:?}");
}

#[tokio::test]
async fn changes_of_either_process_are_seen_and_other_writes_are_not() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state.db");
    let one = Store::open(&path).unwrap();
    let two = Store::open(&path).unwrap();
    let mut seen = two.approval_changes().await.unwrap();
    let mut changed = async || {
        let now = two.approval_changes().await.unwrap();
        std::mem::replace(&mut seen, now) != now
    };
    asked(&one, "ex_1", "ap_1").await;
    assert!(changed().await, "asked");
    one.append_durable(&id("ex_1"), call(7, EffectClass::Write, true))
        .await
        .unwrap();
    assert!(!changed().await, "an entry");
    two.decide(&ap("ap_1"), decision("user:a", true))
        .await
        .unwrap();
    assert!(changed().await, "decided");
    let intent = call(1, EffectClass::Write, true);
    one.spend(&id("ex_1"), &ap("ap_1"), intent, 30)
        .await
        .unwrap();
    assert!(changed().await, "spent");
    one.withdraw(&ap("ap_1")).await.unwrap();
    assert!(!changed().await, "what is spent stays");
}

#[tokio::test]
async fn a_question_of_a_paused_execution_is_decided_and_its_bytes_count() {
    let store = Store::in_memory().unwrap();
    asked(&store, "ex_1", "ap_1").await;
    store
        .pause(&id("ex_1"), PausedExecution::default())
        .await
        .unwrap();
    let decided = store
        .decide(&ap("ap_1"), decision("user:a", true))
        .await
        .unwrap();
    assert!(matches!(decided, Decided::Counted(_)), "{decided:?}");
    let journal = store.journal(&id("ex_1")).await.unwrap();
    assert!(matches!(journal.last(), Some(JournalEntry::Decided { .. })));
}
