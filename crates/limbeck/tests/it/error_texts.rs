//! Every kind of error that ends a program, as a model and a user read it, together in `error_texts.snap`.
//!
//! What a command can cause is run by the executable, as a model would read it (`--json`) and as a user does. What needs a
//! gateway under pressure is run by one in this process; its users read the same words in `limbeck executions ID`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use limbeck_domain::{ApprovalChannel, EffectClass, ErrorKind, HostCall, JournalEntry};
use limbeck_gateway::{
    AdmissionSize, AnswerForm, Bounds, Decider, DecisionRequest, ExecuteRequest, Gateway, OnAsk,
};
use limbeck_policy::rules::{AskOptions, Effect, Layer, Preset, Rule, RuleSet};
use limbeck_policy::{Policy, Scope};
use limbeck_store::{PausedExecution, Taken};
use limbeck_testkit::{FakeServer, World as GatewayWorld, request};
use limbeck_upstream::CallContext;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::gateway::processes::{Process, workers};
use crate::gateway::worker;
use crate::world::World;

const KINDS: [ErrorKind; 18] = [
    ErrorKind::Syntax,
    ErrorKind::Contract,
    ErrorKind::Request,
    ErrorKind::Busy,
    ErrorKind::Exception,
    ErrorKind::Timeout,
    ErrorKind::CpuLimit,
    ErrorKind::MemoryLimit,
    ErrorKind::StackLimit,
    ErrorKind::OutputLimit,
    ErrorKind::CallLimit,
    ErrorKind::NeverSettles,
    ErrorKind::Cancelled,
    ErrorKind::ApprovalNeeded,
    ErrorKind::ApprovalExpired,
    ErrorKind::Diverged,
    ErrorKind::WorkerLost,
    ErrorKind::Gateway,
];

/// Program that waits for a tool without end.
const WAIT: &str = "await tools.t.wait({})";

/// Texts of every example of a kind. The match is complete, so that a new kind has to be given an example.
async fn examples(kind: ErrorKind) -> Vec<String> {
    let of = |programs: &[&str]| -> Vec<String> {
        programs.iter().map(|program| ran(kind, program)).collect()
    };
    match kind {
        ErrorKind::Syntax => of(&["const a = [1, 2;\nreturn a"]),
        ErrorKind::Contract => of(&[
            "return await tools.shop.list_ordrs({})",
            "return await tools.shop.list_orders({ page: 'one' })",
        ]),
        ErrorKind::Exception => of(&[
            "const items = undefined;\nreturn items.length",
            "throw 'a text'",
            "return await tools.shop.get_customer({ id: 'cus_9999' })",
        ]),
        ErrorKind::Timeout => of(&[
            "while (true) {}",
            "await new Promise(done => setTimeout(done, 50_000))",
        ]),
        ErrorKind::MemoryLimit => {
            of(&["const all = []; for (;;) all.push(new Array(1e5).fill(0))"])
        }
        ErrorKind::StackLimit => {
            of(&["const f = (n: number): number => f(n + 1) + 1; return f(0)"])
        }
        ErrorKind::OutputLimit => of(&["return 'x'.repeat(20 * 1024 * 1024)"]),
        ErrorKind::CallLimit => {
            of(&["await Promise.all(Array.from({ length: 20_000 }, () => store.get('k')))"])
        }
        ErrorKind::NeverSettles => of(&["await new Promise(() => {})"]),
        ErrorKind::Request => vec![answer(GatewayWorld::new(worker()), kind, request(" ")).await],
        ErrorKind::CpuLimit => {
            let bounds = Bounds {
                cpu_ms: 300,
                ..Bounds::default()
            };
            let world = GatewayWorld::new(worker()).bounds(bounds);
            vec![answer(world, kind, request("for (;;) {}")).await]
        }
        ErrorKind::WorkerLost => {
            let server = FakeServer::new("t").read("kill", |_| {
                workers().into_iter().for_each(Process::kill);
                json!(1)
            });
            let world = GatewayWorld::new(worker()).server(&server.share());
            vec![answer(world, kind, request("await tools.t.kill({})")).await]
        }
        ErrorKind::Gateway => {
            vec![
                answer(
                    GatewayWorld::new("/nonexistent/limbeck"),
                    kind,
                    request("return 1"),
                )
                .await,
            ]
        }
        ErrorKind::Busy => vec![busy().await],
        ErrorKind::Cancelled => vec![cancelled().await],
        ErrorKind::ApprovalNeeded => vec![asked(kind, OnAsk::Fail).await],
        ErrorKind::ApprovalExpired => vec![asked(kind, OnAsk::Wait).await],
        ErrorKind::Diverged => vec![diverged().await],
    }
}

/// Runs a program by the executable, once for each reader.
fn ran(kind: ErrorKind, program: &str) -> String {
    let world = World::with_shop().trusting("shop");
    world.file("program.ts", program);
    // Only a program that is to run out of time has little of it.
    let timeout = if kind == ErrorKind::Timeout {
        "300"
    } else {
        "60000"
    };
    let run = ["run", "program.ts", "--timeout-ms", timeout];
    let model = world.limbeck([run[0], run[1], run[2], run[3], "--json"]);
    let user = world.limbeck(run);
    assert_eq!(user.stdout, "", "{user:?}");
    assert_eq!(user.code, model.code);
    assert_eq!(model.json()["error"]["kind"], kind.as_str(), "{model:?}");
    format!(
        "{program}\n\nmodel:\n{}\n\nuser, exit code {}:\n{}",
        without_id(&model.stdout),
        user.code,
        user.stderr
    )
}

/// Sends a program to a gateway in this process.
async fn answer(world: GatewayWorld, kind: ErrorKind, request: ExecuteRequest) -> String {
    let gateway = world.start().await;
    let text = answer_of(&gateway, kind, request, CancellationToken::new()).await;
    gateway.shutdown().await;
    text
}

async fn answer_of(
    gateway: &Gateway,
    kind: ErrorKind,
    request: ExecuteRequest,
    cancel: CancellationToken,
) -> String {
    let program = request.program.clone();
    let shown = gateway.answer(request, cancel).await;
    let error = shown.envelope.error.unwrap();
    assert_eq!(error.kind, kind, "{error:?}");
    format!("{program}\n\nmodel:\n{}\n", without_id(&shown.text))
}

/// Server whose tool `wait` never answers, and whether it was called.
fn waiting_server() -> (Arc<FakeServer>, Arc<AtomicBool>) {
    let called: Arc<AtomicBool> = Arc::default();
    let mark = Arc::clone(&called);
    let server = FakeServer::new("t").tool("wait", Some(true), move |_| {
        mark.store(true, Ordering::Relaxed);
        Box::pin(std::future::pending())
    });
    (server.share(), called)
}

async fn until(called: &AtomicBool) {
    while !called.load(Ordering::Relaxed) {
        tokio::task::yield_now().await;
    }
}

/// A program for a gateway whose only place is taken.
async fn busy() -> String {
    let (server, called) = waiting_server();
    let bounds = Bounds {
        admission: AdmissionSize {
            running: 1,
            running_each: 1,
            queued: 0,
            queued_each: 0,
        },
        ..Bounds::default()
    };
    let world = GatewayWorld::new(worker()).server(&server).bounds(bounds);
    let gateway = world.start().await;
    let cancel = CancellationToken::new();
    let running = tokio::spawn({
        let (gateway, cancel) = (gateway.clone(), cancel.clone());
        async move { gateway.execute(request(WAIT), cancel).await }
    });
    until(&called).await;
    let other = CancellationToken::new();
    let text = answer_of(&gateway, ErrorKind::Busy, request("return 1"), other).await;
    cancel.cancel();
    running.await.unwrap();
    gateway.shutdown().await;
    text
}

/// A program whose client cancels while it waits for a tool.
async fn cancelled() -> String {
    let (server, called) = waiting_server();
    let gateway = GatewayWorld::new(worker()).server(&server).start().await;
    let cancel = CancellationToken::new();
    let running = tokio::spawn({
        let (gateway, cancel) = (gateway.clone(), cancel.clone());
        async move { answer_of(&gateway, ErrorKind::Cancelled, request(WAIT), cancel).await }
    });
    until(&called).await;
    cancel.cancel();
    let text = running.await.unwrap();
    gateway.shutdown().await;
    text
}

/// A gateway that asks before every call of `t.send`, with questions that expire after a second.
async fn asking() -> Gateway {
    let rule = Rule {
        id: "ask".to_owned(),
        effect: Effect::Ask,
        tools: Scope::parse(["t.send"]).unwrap(),
        except: None,
        classes: None,
        arguments: Vec::new(),
        who: None,
        reason: None,
        ask: Some(AskOptions {
            expires_s: 1,
            ..AskOptions::default()
        }),
        layer: Layer::User,
        is_default: false,
        origin: "limbeck.toml:1".to_owned(),
    };
    let policy = Policy {
        rules: RuleSet::new(vec![rule], &[], Preset::Observe).unwrap(),
        ..Policy::default()
    };
    let server = FakeServer::new("t").write("send", |_| json!(1));
    let world = GatewayWorld::new(worker()).server(&server.share());
    world.policy(policy).start().await
}

/// A program with a call that has to be asked about, and no person answers.
async fn asked(kind: ErrorKind, on_ask: OnAsk) -> String {
    let gateway = asking().await;
    let request = ExecuteRequest {
        on_ask,
        ..request("await tools.t.send({})")
    };
    let text = answer_of(&gateway, kind, request, CancellationToken::new()).await;
    gateway.shutdown().await;
    text
}

/// A paused program that is continued after its journal was changed.
async fn diverged() -> String {
    let gateway = asking().await;
    let program = "await tools.t.send({})";
    let request = ExecuteRequest {
        on_ask: OnAsk::Pause,
        ..request(program)
    };
    let paused = gateway
        .answer(request, CancellationToken::new())
        .await
        .envelope;
    let (id, store) = (paused.execution_id, gateway.store());
    let journal = store.journal(&id).await.unwrap();
    let asked = journal.into_iter().find_map(|entry| match entry {
        JournalEntry::Asked { call, .. } => Some(call),
        _ => None,
    });
    let other = JournalEntry::Call {
        call: HostCall {
            body: "{\"to\":\"mallory\"}".to_owned(),
            ..asked.unwrap()
        },
        tool: None,
        arguments_removed: None,
        key: None,
        sent_us: None,
        effect: EffectClass::Read,
        sent: false,
        plan_line: None,
    };
    assert!(matches!(
        store.take(&id).await.unwrap(),
        Taken::Lease { .. }
    ));
    store.append(&id, other).await.unwrap();
    store.pause(&id, PausedExecution::default()).await.unwrap();
    let decision = DecisionRequest {
        approval: paused.pending[0].approval_id.clone(),
        approve: true,
        decider: Decider {
            who: vec!["user:test".to_owned()],
            principal: "test".to_owned(),
            channel: ApprovalChannel::Cli,
        },
        reason: None,
        edited: None,
        lines: None,
        stop: false,
        remember: None,
    };
    gateway.decide(decision).await.unwrap();
    let context = CallContext::new(CancellationToken::new());
    let form = AnswerForm::default();
    let resumed = gateway.resume(id.as_str(), None, form, OnAsk::Pause, context);
    let shown = resumed.await.unwrap();
    assert_eq!(shown.envelope.error.unwrap().kind, ErrorKind::Diverged);
    gateway.shutdown().await;
    format!("{program}\n\nmodel:\n{}\n", without_id(&shown.text))
}

/// An answer with `ID` in the place of the execution's.
fn without_id(answer: &str) -> String {
    let Some((before, rest)) = answer.trim_end().split_once("\"ex_") else {
        return answer.trim_end().to_owned();
    };
    let (_, after) = rest.split_once('"').unwrap();
    format!("{before}\"ID\"{after}")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_error_has_a_text_for_its_reader() {
    let mut all = String::new();
    for kind in KINDS {
        for example in examples(kind).await {
            let title = kind.as_str();
            all.push_str(&format!("==== {title}\n{}\n\n", example.trim_end()));
        }
    }
    insta::with_settings!({
        snapshot_path => ".", prepend_module_to_snapshot => false, omit_expression => true,
    }, {
        insta::assert_snapshot!("error_texts", all);
    });
}
