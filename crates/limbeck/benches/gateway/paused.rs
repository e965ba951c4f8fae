//! Questions to people: how long one takes, and what a hundred thousand paused executions cost.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _};
use limbeck_domain::{
    Approval, ApprovalChannel, ApprovalId, ApprovalState, ApprovalTerms, CallId, EffectClass,
    Envelope, ExecutionId, ExecutionStatus, HostCall, HostOp, JournalEntry, Language, ToolId,
};
use limbeck_gateway::{AnswerForm, Decider, DecisionRequest, ExecuteRequest, Gateway, OnAsk};
use limbeck_policy::rules::{Effect, Layer, Preset, Rule, RuleSet};
use limbeck_policy::{Classes, Policy, Scope};
use limbeck_store::{ExecutionRecord, NewExecution, PausedExecution, Store};
use limbeck_testkit::{FakeServer, World, python_request, request};
use limbeck_upstream::CallContext;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::memory::status_kb;
use crate::report::{Report, median, percentile_90, sampled, shown};
use crate::served::Served;
use crate::{LIMBECK, runtime};

/// Paused executions in the store.
const PAUSED: usize = 100_000;
/// Of one principal: as many as may have a pending question.
const OF_ONE_PRINCIPAL: usize = 20;
/// Executions that are written at the same time, so that they share the syncs.
const AT_ONCE: usize = 512;
/// Bytes of the result that each program has received; with the rest an execution has about 8 KB.
const RESULT_BYTES: usize = 4 << 10;
const MIB: u64 = 1 << 20;

const ASKS: &str = "return (await tools.t.send({ to: \"anna@example.org\", n: input })).sent";

fn policy() -> Policy {
    let rule = Rule {
        id: "sends".to_owned(),
        effect: Effect::Ask,
        tools: Scope::parse(["t.send"]).expect("a pattern"),
        except: None,
        classes: None,
        arguments: Vec::new(),
        who: None,
        reason: None,
        ask: None,
        layer: Layer::User,
        is_default: false,
        origin: "limbeck.toml:1".to_owned(),
    };
    Policy {
        rules: RuleSet::new(vec![rule], &[], Preset::Observe).expect("the rule can be used"),
        classes: Classes::default(),
        fault: None,
        in_doubt: Default::default(),
        budgets: Default::default(),
    }
}

async fn gateway(state_file: &Path, server: &Arc<FakeServer>) -> Gateway {
    let store = Store::open(state_file).expect("a state file");
    let world = World::new(LIMBECK).store(store).server(server);
    world.policy(policy()).start().await
}

fn server() -> Arc<FakeServer> {
    let row = json!({ "row": "x".repeat(1_000) });
    FakeServer::new("t")
        .write("send", |arguments| json!({ "sent": arguments["n"] }))
        .read("row", move |_| row.clone())
        .share()
}

fn asking(language: Language, program: &str, input: u64, on_ask: OnAsk) -> ExecuteRequest {
    let request = match language {
        Language::Typescript => request(program),
        Language::Python => python_request(program),
    };
    ExecuteRequest {
        input: input.to_string(),
        on_ask,
        ..request
    }
}

async fn pending(gateway: &Gateway, id: Option<&ExecutionId>) -> Vec<Approval> {
    let approvals = gateway.pending_approvals(None, id, true).await;
    approvals.expect("the store reads")
}

async fn approve(gateway: &Gateway, approval: &Approval) {
    let decision = DecisionRequest {
        approval: approval.id.clone(),
        approve: true,
        decider: Decider {
            who: vec!["user:local".to_owned()],
            principal: approval.principal.clone(),
            channel: ApprovalChannel::Cli,
        },
        reason: None,
        edited: None,
        lines: None,
        stop: false,
        remember: None,
    };
    gateway.decide(decision).await.expect("a decision");
}

async fn resumed(gateway: &Gateway, id: &ExecutionId) -> Envelope {
    let context = CallContext::new(CancellationToken::new());
    let resumed = gateway.resume(
        id.as_str(),
        None,
        AnswerForm::default(),
        OnAsk::Pause,
        context,
    );
    let envelope = resumed.await.expect("it goes on").envelope;
    assert_eq!(envelope.status, ExecutionStatus::Completed, "{envelope:?}");
    envelope
}

/// Waits for the one question of a program that runs.
async fn question(gateway: &Gateway) -> Approval {
    loop {
        if let Some(approval) = pending(gateway, None).await.pop() {
            return approval;
        }
        tokio::task::yield_now().await;
    }
}

/// A question, a decision while the program runs, and one after it was paused.
pub(crate) fn questions(report: &mut Report) {
    let runtime = runtime();
    let dir = tempfile::tempdir().expect("a state directory");
    let server = server();
    let gateway = runtime.block_on(gateway(&dir.path().join("state.db"), &server));
    let mut input = 0;
    let mut syncs = Vec::new();
    let mut shown_after = Vec::new();
    let hot = sampled(60, || {
        input += 1;
        let request = asking(Language::Typescript, ASKS, input, OnAsk::Wait);
        runtime.block_on(async {
            let before = gateway.store().stats().synced;
            let started = Instant::now();
            let running = {
                let gateway = gateway.clone();
                tokio::spawn(
                    async move { gateway.execute(request, CancellationToken::new()).await },
                )
            };
            let asked = question(&gateway).await;
            shown_after.push(started.elapsed());
            syncs.push(gateway.store().stats().synced - before);
            let sent = server.calls().len();
            let decided = Instant::now();
            approve(&gateway, &asked).await;
            while server.calls().len() == sent {
                tokio::task::yield_now().await;
            }
            let took = decided.elapsed();
            running.await.expect("it ends");
            took
        })
    });
    let most = syncs.iter().max().copied().unwrap_or_default();
    report.row(
        "question: syncs before it is shown",
        most.to_string(),
        "1",
        String::new(),
    );
    report.time(
        "question: begin of the program to shown",
        &shown_after,
        Some(Duration::from_millis(5)),
        format!(
            "with the start of its worker; p90 {}",
            shown(percentile_90(&shown_after))
        ),
    );
    report.time(
        "decision to dispatch, the program has its worker",
        &hot,
        Some(Duration::from_millis(5)),
        format!("p90 {}", shown(percentile_90(&hot))),
    );
    for (language, program) in [
        (Language::Typescript, ASKS),
        (
            Language::Python,
            "return (await tools.t.send(n=input))[\"sent\"]",
        ),
    ] {
        let cold = sampled(30, || {
            input += 1;
            let request = asking(language, program, input, OnAsk::Pause);
            runtime.block_on(async {
                let paused = gateway.execute(request, CancellationToken::new()).await;
                let asked = pending(&gateway, Some(&paused.execution_id)).await;
                let decided = Instant::now();
                approve(&gateway, &asked[0]).await;
                resumed(&gateway, &paused.execution_id).await;
                // To the end of the program, which is a little after the dispatch.
                decided.elapsed()
            })
        });
        report.time(
            &format!("decision to the end of a paused program: {language}"),
            &cold,
            Some(Duration::from_millis(40)),
            format!("p90 {}", shown(percentile_90(&cold))),
        );
    }
    for (language, program, promise) in [
        (
            Language::Typescript,
            "let n = 0; for (let i = 0; i < 1000; i++) n += (await tools.t.row({ i })).row.length; \
             await tools.t.send({ n: input }); return n",
            150,
        ),
        (
            Language::Python,
            "n = 0\nfor i in range(1000):\n    n += len((await tools.t.row(i=i))[\"row\"])\n\
             await tools.t.send(n=input)\nreturn n",
            250,
        ),
    ] {
        let samples = sampled(10, || {
            input += 1;
            let request = asking(language, program, input, OnAsk::Pause);
            runtime.block_on(async {
                let paused = gateway.execute(request, CancellationToken::new()).await;
                assert_eq!(paused.status, ExecutionStatus::Paused, "{paused:?}");
                let asked = pending(&gateway, Some(&paused.execution_id)).await;
                approve(&gateway, &asked[0]).await;
                let started = Instant::now();
                let envelope = resumed(&gateway, &paused.execution_id).await;
                assert_eq!(envelope.value.expect("a value").get(), "1000000");
                started.elapsed()
            })
        });
        report.time(
            &format!("resume after 1,000 calls of 1 KB: {language}"),
            &samples,
            Some(Duration::from_millis(promise)),
            format!("p90 {}", shown(percentile_90(&samples))),
        );
    }
    runtime.block_on(gateway.shutdown());
}

/// Disk, memory and start of a gateway with 100,000 paused executions, and whether the oldest goes on.
pub(crate) fn paused(report: &mut Report) {
    let runtime = runtime();
    let empty = tempfile::tempdir().expect("a state directory");
    let full = tempfile::tempdir().expect("a state directory");
    let state_file = full.path().join("state.db");
    let server = server();
    let oldest = runtime.block_on(fill(&state_file, &server));
    let bytes: u64 = ["", "-wal", "-shm"]
        .iter()
        .filter_map(|end| fs::metadata(full.path().join(format!("state.db{end}"))).ok())
        .map(|file| file.len())
        .sum();
    report.row(
        "paused: disk of 100,000",
        format!("{} MiB", bytes / MIB),
        "1,024 MiB",
        format!("{} bytes each", bytes / PAUSED as u64),
    );
    let (before, resident_before) = started(empty.path());
    let (after, resident_after) = started(full.path());
    let later = median(&after).saturating_sub(median(&before));
    report.time(
        "paused: start later than without any",
        &[later],
        Some(Duration::from_millis(200)),
        format!("{} after {}", shown(median(&after)), shown(median(&before))),
    );
    let more = resident_after.saturating_sub(resident_before) / 1024;
    report.row(
        "paused: resident memory more than without any",
        format!("{more} MiB"),
        "32 MiB",
        format!("{} MiB", resident_after / 1024),
    );
    runtime.block_on(async {
        let gateway = gateway(&state_file, &server).await;
        let asked = pending(&gateway, Some(&oldest)).await;
        let started = Instant::now();
        approve(&gateway, &asked[0]).await;
        resumed(&gateway, &oldest).await;
        report.time(
            "paused: decision to the end of the oldest",
            &[started.elapsed()],
            None,
            String::new(),
        );
        gateway.shutdown().await;
    });
}

/// Starts of `limbeck serve` to the first answer, and the resident memory of the last in KB.
fn started(state_dir: &Path) -> (Vec<Duration>, u64) {
    let mut resident = 0;
    let samples = sampled(10, || {
        let started = Instant::now();
        let mut served = Served::start(state_dir);
        let answer = served.initialize();
        let took = started.elapsed();
        assert!(answer.get("result").is_some(), "{answer}");
        served.execute("return 1 + 1");
        resident = status_kb(served.child.id(), "VmRSS:");
        served.stop();
        took
    });
    (samples, resident)
}

/// Fills a store with paused executions, of which a gateway made the oldest; the others are like it.
async fn fill(state_file: &Path, server: &Arc<FakeServer>) -> ExecutionId {
    let gateway = gateway(state_file, server).await;
    let request = asking(Language::Typescript, ASKS, 1, OnAsk::Pause);
    let first = gateway.execute(request, CancellationToken::new()).await;
    assert_eq!(first.status, ExecutionStatus::Paused, "{first:?}");
    let store = gateway.store().clone();
    let oldest = first.execution_id.clone();
    let record = store
        .execution(oldest.as_str())
        .await
        .expect("the store reads");
    let record = record.expect("it was recorded");
    let journal = store.journal(&oldest).await.expect("the store reads");
    stream::iter(1..PAUSED)
        .for_each_concurrent(AT_ONCE, |number| add(&store, &record, &journal, number))
        .await;
    let paused: u64 = store
        .paused_guests()
        .await
        .expect("the store reads")
        .iter()
        .map(|guest| guest.executions)
        .sum();
    assert_eq!(paused, PAUSED as u64);
    gateway.shutdown().await;
    store.flush().await.expect("the store writes");
    oldest
}

/// Adds one execution as a gateway would: what the program was made of, a read with its result, and the question.
async fn add(store: &Store, like: &ExecutionRecord, journal: &[JournalEntry], number: usize) {
    let id = ExecutionId::new(format!("ex_{number:032x}"));
    let principal = format!("user:{}", number / OF_ONE_PRINCIPAL);
    let new = NewExecution {
        id: id.clone(),
        principal: principal.clone(),
        start: like.start.clone(),
        guest_hash: like.guest_hash.clone(),
        sandbox: like.sandbox.clone().expect("it was verified"),
        created_us: like.row.created_us,
        origin: like.row.origin.clone(),
    };
    store.begin(new).await.expect("the store has room");
    for entry in journal {
        if matches!(entry, JournalEntry::Check { .. } | JournalEntry::Erased(_)) {
            store
                .append(&id, entry.clone())
                .await
                .expect("it is written");
        }
    }
    let read = HostCall {
        id: CallId(1),
        op: HostOp::Tool,
        head: r#"{"server":"t","tool":"row"}"#.to_owned(),
        body: "{}".to_owned(),
    };
    let tool = ToolId::new("t", "row");
    let call = JournalEntry::Call {
        call: read,
        tool: Some(tool),
        arguments_removed: None,
        key: None,
        sent_us: None,
        plan_line: None,
        effect: EffectClass::Read,
        sent: true,
    };
    let outcome = JournalEntry::Outcome {
        id: CallId(1),
        result: Ok(format!("\"{}\"", "x".repeat(RESULT_BYTES))),
        took_us: 1,
        not_sent: false,
    };
    for entry in [call, outcome] {
        store.append(&id, entry).await.expect("it is written");
    }
    let asked = asked(&id, &principal, number, like.row.created_us);
    let expires_us = Some(asked.1.expires_us);
    store.ask(&id, vec![asked]).await.expect("it is asked");
    let paused = PausedExecution {
        wall_left_ms: 60_000,
        wake_us: None,
        expires_us,
    };
    store.pause(&id, paused).await.expect("it is paused");
}

fn asked(
    execution: &ExecutionId,
    principal: &str,
    number: usize,
    created_us: u64,
) -> (JournalEntry, Approval) {
    let body =
        json!({ "to": "anna@example.org", "text": "x".repeat(500), "n": number }).to_string();
    let call = HostCall {
        id: CallId(2),
        op: HostOp::Tool,
        head: r#"{"server":"t","tool":"send"}"#.to_owned(),
        body: body.clone(),
    };
    let tool = ToolId::new("t", "send");
    let approval = Approval {
        changed: Vec::new(),
        id: ApprovalId::new(format!("ap_{number:032x}")),
        execution: execution.clone(),
        call: call.id,
        principal: principal.to_owned(),
        origin: "bench".to_owned(),
        tool: tool.clone(),
        pin: None,
        arguments: body,
        sha256: "0".repeat(64),
        class: EffectClass::Write,
        class_from: "operator".to_owned(),
        rule: Some("sends".to_owned()),
        preset: None,
        reason: None,
        line: Some(1),
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
        created_us,
        expires_us: created_us + 24 * 3_600 * 1_000_000,
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
