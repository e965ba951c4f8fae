//! Budgets: what was used is counted with the intent of a call, once, and survives.

use limbeck_domain::{EffectClass, ExecutionStatus, JournalEntry};
use limbeck_store::{ApprovalFilter, Charge, Counted, OverBudget, RateCharge, Spent, Store};

use crate::approvals::{ap, approval, decision};
use crate::{SUMMARY, call, envelope, id, new_execution};

const DAY_US: u64 = 86_400 * 1_000_000;

/// One call of a budget of `limit` calls a day.
fn day(limit: u64, period_us: u64) -> Charge {
    Charge {
        budget: "calls".to_owned(),
        subject: r#"{"principal":"local"}"#.to_owned(),
        unit: "calls",
        period_us: Some(period_us),
        amount: 1,
        limit: Some(limit),
    }
}

fn of_run(limit: u64) -> Charge {
    Charge {
        budget: "run".to_owned(),
        period_us: None,
        ..day(limit, 0)
    }
}

async fn used(store: &Store) -> Vec<(String, u64)> {
    let uses = store.budget_uses(None).await.unwrap();
    uses.into_iter().map(|it| (it.budget, it.used)).collect()
}

async fn entries(store: &Store, execution: &str) -> usize {
    store.journal(&id(execution)).await.unwrap().len()
}

#[tokio::test]
async fn of_twenty_calls_at_once_exactly_as_many_are_written_as_the_budget_has() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let store = Store::open(&path).unwrap();
    // Two gateways of one user share the counters.
    let other = Store::open(&path).unwrap();
    store.begin(new_execution("ex_1", 1)).await.unwrap();
    other.begin(new_execution("ex_2", 1)).await.unwrap();
    // Calls are numbered from 1.
    let calls = (1..=20).map(|number| {
        let (store, execution) = match number % 2 {
            0 => (store.clone(), "ex_1"),
            _ => (other.clone(), "ex_2"),
        };
        let entry = call(number, EffectClass::Write, true);
        tokio::spawn(async move {
            let (id, charges) = (id(execution), vec![day(10, DAY_US)]);
            let counted = store.append_counted(&id, entry, charges, true).await;
            counted.unwrap()
        })
    });
    let mut counted = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        counted.push(call.await.unwrap());
    }
    let now = counted.iter().filter(|it| **it == Counted::Now).count();
    assert_eq!(now, 10);
    assert_eq!(
        entries(&store, "ex_1").await + entries(&store, "ex_2").await,
        10
    );
    let over = counted.iter().find(|it| **it != Counted::Now).unwrap();
    let full = OverBudget {
        at: 0,
        used: 10,
        until_us: None,
    };
    assert_eq!(over, &Counted::Over(full));
    // The next day has a counter of its own, and what was counted survives the process.
    drop((store, other));
    let store = Store::open(&path).unwrap();
    store.begin(new_execution("ex_3", 1)).await.unwrap();
    for (period_us, expected) in [(DAY_US, false), (2 * DAY_US, true)] {
        let entry = call(1, EffectClass::Read, true);
        let (id, charges) = (id("ex_3"), vec![day(10, period_us)]);
        let counted = store.append_counted(&id, entry, charges, false).await;
        assert_eq!(counted.unwrap() == Counted::Now, expected);
    }
    assert_eq!(
        used(&store).await,
        [("calls".to_owned(), 1), ("calls".to_owned(), 10)]
    );
}

#[tokio::test]
async fn a_call_that_one_budget_refuses_is_counted_on_none() {
    let store = Store::in_memory().unwrap();
    store.begin(new_execution("ex_1", 1)).await.unwrap();
    let charges = || vec![day(5, DAY_US), of_run(1)];
    let mut counted = Vec::new();
    for number in 1..=2 {
        let entry = call(number, EffectClass::Write, true);
        let id = id("ex_1");
        let charged = store.append_counted(&id, entry, charges(), true).await;
        counted.push(charged.unwrap());
    }
    assert_eq!(counted[0], Counted::Now);
    assert!(matches!(&counted[1], Counted::Over(over) if over.at == 1));
    let both = [("calls".to_owned(), 1), ("run".to_owned(), 1)];
    assert_eq!(used(&store).await, both);
    // The journal has no gap: the refused call was never a part of it.
    let entry = call(3, EffectClass::Write, true);
    store.append_durable(&id("ex_1"), entry).await.unwrap();
    // The end of a run ends its counters, and no others.
    let end = envelope("ex_1", ExecutionStatus::Completed);
    store.finish(&id("ex_1"), &end, SUMMARY).await.unwrap();
    assert_eq!(used(&store).await, [("calls".to_owned(), 1)]);
}

#[tokio::test]
async fn an_approval_is_not_spent_by_a_call_that_a_budget_refuses() {
    let store = Store::in_memory().unwrap();
    store.begin(new_execution("ex_1", 1)).await.unwrap();
    let question = approval("ap_1", "ex_1", 1);
    store.ask(&id("ex_1"), vec![question]).await.unwrap();
    store
        .decide(&ap("ap_1"), decision("user:anna", true))
        .await
        .unwrap();
    let spend = async |charges: Vec<Charge>| {
        let intent: JournalEntry = call(1, EffectClass::Write, true);
        let (id, approval) = (id("ex_1"), ap("ap_1"));
        store
            .spend_counted(&id, &approval, intent, 30, charges)
            .await
    };
    let (_, counted) = spend(vec![day(0, DAY_US)]).await.unwrap();
    assert!(matches!(counted, Counted::Over(_)));
    let spent = spend(vec![day(1, DAY_US)]).await.unwrap();
    assert_eq!(spent, (Spent::Now, Counted::Now));
    // A second spending is refused, and not counted.
    let (again, _) = spend(vec![day(9, DAY_US)]).await.unwrap();
    assert!(matches!(again, Spent::NotApproved(_)));
    assert_eq!(used(&store).await, [("calls".to_owned(), 1)]);
    let all = ApprovalFilter {
        limit: 10,
        ..ApprovalFilter::default()
    };
    assert_eq!(store.approvals(all).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_bucket_lets_a_burst_out_and_then_one_call_after_another() {
    let store = Store::in_memory().unwrap();
    let take = |now_us: u64, forced: bool| {
        let rate = RateCharge {
            budget: "rate".to_owned(),
            subject: "{}".to_owned(),
            interval_us: 100,
            burst: 3,
            forced,
        };
        let store = &store;
        async move {
            match store.take_rates(vec![rate], now_us).await.unwrap() {
                Counted::Now => None,
                Counted::Over(over) => over.until_us,
            }
        }
    };
    for _ in 0..3 {
        assert_eq!(take(1_000, false).await, None);
    }
    assert_eq!(take(1_000, false).await, Some(1_100));
    assert_eq!(take(1_099, false).await, Some(1_100));
    assert_eq!(take(1_100, false).await, None);
    assert_eq!(take(1_100, false).await, Some(1_200));
    // A person may let one out that the others then wait for.
    assert_eq!(take(1_100, true).await, None);
    assert_eq!(take(1_200, false).await, Some(1_300));
    // After a pause there is one burst and no more.
    for _ in 0..3 {
        assert_eq!(take(9_000, false).await, None);
    }
    assert_eq!(take(9_000, false).await, Some(9_100));
    // A clock that was set back closes the bucket for as long as it takes to fill.
    assert_eq!(take(10, false).await, Some(110));
}
