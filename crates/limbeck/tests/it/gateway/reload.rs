//! Another policy and other servers while calls are made.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use limbeck_domain::{EffectClass, ToolId};
use limbeck_gateway::direct::DirectCall;
use limbeck_gateway::{Gateway, PolicyReading, ServerChange};
use limbeck_policy::rules::{Preset, RuleSet};
use limbeck_policy::{Classes, Policy, Scope};
use limbeck_testkit::{FakeServer, World, run, value_of};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::gateway::worker;

/// Changes of the policy while calls are made.
const RELOADS: u64 = 1_000;

/// Policy that allows one tool alone.
fn allowing(tool: &str) -> Policy {
    let known = vec![(Scope::parse([tool]).unwrap(), EffectClass::Read)];
    Policy {
        rules: RuleSet::new(Vec::new(), &[], Preset::Readonly).unwrap(),
        classes: Classes::new(known, HashSet::new()).unwrap(),
        ..Policy::default()
    }
}

/// Calls by every way until `ended`.
fn load(gateway: &Gateway, ended: &CancellationToken) -> JoinSet<()> {
    let mut load = JoinSet::new();
    for way in 0..4 {
        let (gateway, ended) = (gateway.clone(), ended.clone());
        load.spawn(async move {
            while !ended.is_cancelled() {
                match way {
                    0 => {
                        let call = gateway.call("files", "touch", "{}", CancellationToken::new());
                        drop(call.await);
                    }
                    1 => {
                        let call = DirectCall {
                            principal: "local".into(),
                            tool: ToolId::new("files", "touch"),
                            arguments: "{}".to_owned(),
                        };
                        let context = CancellationToken::new().into();
                        drop(gateway.call_directly(call, context).await);
                    }
                    2 => {
                        let program = "for (let n = 0; n < 20; n++) await tools.files.touch({}).catch(() => 0)";
                        run(&gateway, program).await;
                    }
                    _ => {
                        let call = gateway.call("files", "peek", "{}", CancellationToken::new());
                        call.await.unwrap();
                    }
                }
                tokio::task::yield_now().await;
            }
        });
    }
    load
}

#[tokio::test(flavor = "multi_thread")]
async fn once_a_policy_is_in_force_no_call_that_it_denies_is_sent() {
    let touched = Arc::new(AtomicU64::new(0));
    let (seen, mut touches) = watch::channel(0);
    let count = Arc::clone(&touched);
    let files = FakeServer::new("files")
        .write("touch", move |_| {
            let now = count.fetch_add(1, Ordering::SeqCst) + 1;
            seen.send_replace(now);
            json!({"touched": now})
        })
        .read("peek", |_| json!([]))
        .share();
    let gateway = World::new(worker()).server(&files).start().await;
    let ended = CancellationToken::new();
    let mut load = load(&gateway, &ended);
    for _ in 0..RELOADS / 2 {
        let before = touched.load(Ordering::SeqCst);
        // The control: the call is made as soon as the policy allows it.
        touches.wait_for(|now| *now > before).await.unwrap();
        let denying = allowing("files.peek");
        gateway.replace_policy(denying, PolicyReading::Whole).await;
        let denied_since = touched.load(Ordering::SeqCst);
        // Another call goes its whole way meanwhile.
        let call = gateway.call("files", "peek", "{}", CancellationToken::new());
        call.await.unwrap();
        assert_eq!(touched.load(Ordering::SeqCst), denied_since);
        gateway
            .replace_policy(Policy::default(), PolicyReading::Whole)
            .await;
    }
    ended.cancel();
    while let Some(done) = load.join_next().await {
        done.unwrap();
    }
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_in_flight_goes_on_under_another_policy_and_without_another_server() {
    let (called, mut calls) = watch::channel(0);
    let (answer, answered) = watch::channel(false);
    let files = FakeServer::new("files")
        .tool("wait", Some(false), move |_| {
            called.send_modify(|calls| *calls += 1);
            let mut answered = answered.clone();
            Box::pin(async move {
                answered.wait_for(|answered| *answered).await.unwrap();
                json!({"content": [], "structuredContent": {"done": true}})
            })
        })
        .read("peek", |_| json!({"n": 1}))
        .share();
    let mail = FakeServer::new("mail")
        .read("list", |_| json!({"n": 2}))
        .share();
    let world = World::new(worker()).server(&files).server(&mail);
    let gateway = world.start().await;
    let envelope = run(&gateway, "return (await tools.mail.list({})).n").await;
    assert_eq!(value_of(&envelope), 2);
    let waiting = {
        let gateway = gateway.clone();
        tokio::spawn(async move { run(&gateway, "return await tools.files.wait({})").await })
    };
    calls.wait_for(|calls| *calls == 1).await.unwrap();
    let denying = allowing("files.peek");
    gateway.replace_policy(denying, PolicyReading::Whole).await;
    let change = ServerChange {
        removed: vec!["mail".into()],
        ..ServerChange::default()
    };
    gateway.change_servers(change).await;

    let envelope = run(&gateway, "return await tools.mail.list({})").await;
    let error = envelope.error.unwrap();
    assert!(error.message.contains("mail"), "{}", error.message);
    assert!(
        !gateway
            .catalog()
            .servers()
            .any(|server| server.name().as_str() == "mail")
    );
    let envelope = run(&gateway, "return await tools.files.wait({})").await;
    let error = envelope.error.unwrap();
    assert!(
        error.message.contains("denies calls of `files.wait`"),
        "{}",
        error.message
    );
    let envelope = run(&gateway, "return (await tools.files.peek({})).n").await;
    assert_eq!(value_of(&envelope), 1);
    assert_eq!(*calls.borrow(), 1);

    answer.send_replace(true);
    let envelope = waiting.await.unwrap();
    assert_eq!(value_of(&envelope), json!({"done": true}));
    gateway.shutdown().await;
}
