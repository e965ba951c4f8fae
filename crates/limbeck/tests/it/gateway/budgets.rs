//! Rates and budgets inside of one gateway: governance 77, and what ends a wait.

use std::time::{Duration, Instant};

use limbeck_domain::{CallCode, ErrorKind, JournalEntry};
use limbeck_gateway::ExecuteRequest;
use limbeck_policy::budget::{Bound, Budget, Budgets, Dimension, OnExceed, Period, Rate, Unit};
use limbeck_policy::rules::Layer;
use limbeck_policy::{Policy, Scope};
use limbeck_testkit::{FakeServer, World, request, run, value_of};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::gateway::worker;

fn budget(bound: Bound, on_exceed: OnExceed) -> Budget {
    Budget {
        id: "b".to_owned(),
        tools: Scope::everything(),
        except: None,
        classes: None,
        who: None,
        each: vec![Dimension::Principal],
        bound,
        on_exceed,
        reason: None,
        layer: Layer::User,
        counter: "b".to_owned(),
        origin: "limbeck.toml:1".to_owned(),
    }
}

fn policy(budget: Budget) -> Policy {
    Policy {
        budgets: Budgets::new(vec![budget]).unwrap(),
        ..Policy::default()
    }
}

fn rate(calls: u64, per_s: u64) -> Bound {
    Bound::Rate(Rate {
        calls,
        per_s,
        burst: 1,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_wait_their_turn_in_a_rate_and_the_end_of_their_run_ends_the_wait() {
    let t = FakeServer::new("t").read("get", |_| json!(1)).share();
    let policy_of = |bound| policy(budget(bound, OnExceed::Queue));
    let world = || World::new(worker()).server(&t);
    let gateway = world().policy(policy_of(rate(50, 1))).start().await;
    let begun = Instant::now();
    let four = "return (await Promise.all([1, 2, 3, 4].map(n => tools.t.get({ n })))).length";
    assert_eq!(value_of(&run(&gateway, four).await), json!(4));
    // One at once, and three that each waited for 20 ms.
    assert!(begun.elapsed() >= Duration::from_millis(60));
    assert_eq!(t.calls().len(), 4);
    gateway.shutdown().await;

    let gateway = world().policy(policy_of(rate(1, 3_600))).start().await;
    let two = "await Promise.all([tools.t.get({ n: 1 }), tools.t.get({ n: 2 })]); return 1";
    let short = ExecuteRequest {
        timeout_ms: Some(300),
        ..request(two)
    };
    let ended = gateway.execute(short, CancellationToken::new()).await;
    assert_eq!(ended.error.unwrap().kind, ErrorKind::Timeout);
    assert_eq!(t.calls().len(), 5, "one call flowed out of the bucket");
    let journal = gateway.store().journal(&ended.execution_id).await.unwrap();
    let sent = journal
        .iter()
        .filter(|entry| matches!(entry, JournalEntry::Call { sent: true, .. }));
    assert_eq!(sent.count(), 1);
    // Without waiting for it, a program ends at once.
    let unawaited = "tools.t.get({ n: 3 }); return 2";
    assert_eq!(value_of(&run(&gateway, unawaited).await), json!(2));
    assert_eq!(t.calls().len(), 5);
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_that_does_not_queue_says_how_long_to_wait() {
    let t = FakeServer::new("t").read("get", |_| json!(1)).share();
    let policy = policy(budget(rate(1, 3_600), OnExceed::Deny));
    let gateway = World::new(worker()).server(&t).policy(policy).start().await;
    let program = "await tools.t.get({}); \
        try { await tools.t.get({}) } catch (e: any) { return [e.code, e.retryable, e.message, e.hint] }";
    let value = value_of(&run(&gateway, program).await);
    assert_eq!(value[0], CallCode::LimitExceeded.as_str());
    assert_eq!(value[1], true);
    let (message, hint) = (value[2].as_str().unwrap(), value[3].as_str().unwrap());
    assert!(message.contains("(1 call an hour)"), "{message}");
    assert!(hint.starts_with("wait 3"), "{hint}");
    assert_eq!(t.calls().len(), 1);
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn results_and_processor_time_use_up_what_later_calls_and_runs_have() {
    let t = FakeServer::new("t")
        .read("get", |_| json!("x".repeat(500)))
        .share();
    let bytes = Bound::Total {
        per: Period::Day,
        limits: vec![(Unit::BytesReceived, 600)],
    };
    let world = || World::new(worker()).server(&t);
    let gateway = world()
        .policy(policy(budget(bytes, OnExceed::Deny)))
        .start()
        .await;
    let program = "let n = 0; try { for (;;) { await tools.t.get({}); n++ } } catch (e: any) { return [n, e.code] }";
    let value = value_of(&run(&gateway, program).await);
    // The second result goes beyond the limit, and the third call finds it used up.
    assert_eq!(value, json!([2, "limit_exceeded"]));
    gateway.shutdown().await;

    let cpu = Bound::Total {
        per: Period::Day,
        limits: vec![(Unit::Cpu, 60)],
    };
    let gateway = world()
        .policy(policy(budget(cpu, OnExceed::Deny)))
        .start()
        .await;
    assert_eq!(value_of(&run(&gateway, "return 1").await), json!(1));
    // It may compute for as long as is left.
    let endless = run(&gateway, "for (;;) {}").await;
    assert_eq!(endless.error.unwrap().kind, ErrorKind::CpuLimit);
    let refused = run(&gateway, "return 1").await.error.unwrap();
    assert_eq!(refused.kind, ErrorKind::Busy);
    assert!(
        refused.message.contains("nothing ran"),
        "{}",
        refused.message
    );
    gateway.shutdown().await;
}
