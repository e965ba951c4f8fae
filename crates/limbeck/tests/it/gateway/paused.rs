//! Executions that wait for people, and are continued by other processes and other releases.

mod generated;
mod late;
mod orders;
mod reads;
mod releases;
mod timers;

use std::path::PathBuf;
use std::sync::Arc;

use limbeck_domain::{
    ApprovalChannel, ApprovalId, Envelope, ExecutionId, ExecutionStatus, JournalEntry, Language,
};
use limbeck_gateway::{
    AnswerForm, Decider, DecisionError, DecisionReport, DecisionRequest, ExecuteRequest, Gateway,
    OnAsk, ResumeError,
};
use limbeck_policy::rules::{AskOptions, Effect, Layer, Preset, Rule, RuleSet};
use limbeck_policy::{Classes, Policy, Scope};
use limbeck_store::Store;
use limbeck_testkit::{FakeServer, World, python_request, request};
use limbeck_upstream::CallContext;
use rusqlite::Connection;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::gateway::worker;

/// Server with `send`, about which a person is asked, and with `look` and `note`, which are called without a question.
fn server() -> Arc<FakeServer> {
    FakeServer::new("t")
        .write("send", |arguments| json!({ "sent": arguments["n"] }))
        .write("note", |arguments| json!({ "noted": arguments["n"] }))
        .read("look", |arguments| json!({ "seen": arguments["n"] }))
        .share()
}

fn asking() -> Policy {
    asking_about("t.send", None)
}

/// A policy with one rule, which asks about `pattern`.
fn asking_about(pattern: &str, ask: Option<AskOptions>) -> Policy {
    let rule = Rule {
        id: "sends".to_owned(),
        effect: Effect::Ask,
        tools: Scope::parse([pattern]).unwrap(),
        except: None,
        classes: None,
        arguments: Vec::new(),
        who: None,
        reason: None,
        ask,
        layer: Layer::User,
        is_default: false,
        origin: "limbeck.toml:1".to_owned(),
    };
    Policy {
        rules: RuleSet::new(vec![rule], &[], Preset::Observe).unwrap(),
        classes: Classes::default(),
        fault: None,
        in_doubt: Default::default(),
        budgets: Default::default(),
    }
}

/// A gateway with a state file of its own.
struct Paused {
    gateway: Gateway,
    server: Arc<FakeServer>,
    home: tempfile::TempDir,
}

impl Paused {
    async fn start() -> Self {
        Self::with(server(), asking()).await
    }

    async fn with(server: Arc<FakeServer>, policy: Policy) -> Self {
        let home = tempfile::tempdir().unwrap();
        let state_file = home.path().join("state.db");
        let gateway = gateway_with(&state_file, &server, policy).await;
        Self {
            gateway,
            server,
            home,
        }
    }

    fn state_file(&self) -> PathBuf {
        self.home.path().join("state.db")
    }

    /// Changes the state file as no process does.
    fn change(&self, sql: &str) -> usize {
        let connection = Connection::open(self.state_file()).unwrap();
        connection
            .busy_timeout(std::time::Duration::from_secs(10))
            .unwrap();
        connection.execute(sql, []).unwrap()
    }

    /// Runs a program that pauses.
    async fn paused(&self, language: Language, program: &str) -> ExecutionId {
        self.pause(request_in(language, program)).await
    }

    /// Makes a request whose program pauses.
    async fn pause(&self, request: ExecuteRequest) -> ExecutionId {
        let request = ExecuteRequest {
            on_ask: OnAsk::Pause,
            ..request
        };
        let envelope = self
            .gateway
            .execute(request, CancellationToken::new())
            .await;
        assert_eq!(envelope.status, ExecutionStatus::Paused, "{envelope:?}");
        // What is queued is in the file, for a reader of the file.
        self.gateway.store().flush().await.unwrap();
        envelope.execution_id
    }

    /// Questions of an execution, in the order of their calls.
    async fn questions(&self, id: &ExecutionId, only_pending: bool) -> Vec<ApprovalId> {
        let approvals = self.gateway.pending_approvals(None, Some(id), only_pending);
        let mut approvals = approvals.await.unwrap();
        approvals.sort_by_key(|approval| approval.call);
        approvals.into_iter().map(|approval| approval.id).collect()
    }

    async fn decide(&self, approval: &ApprovalId, approve: bool) -> DecisionReport {
        let decided = self.decide_with(approval, approve, None).await;
        decided.unwrap()
    }

    /// Decides, with other arguments where `edited` has some.
    async fn decide_with(
        &self,
        approval: &ApprovalId,
        approve: bool,
        edited: Option<&str>,
    ) -> Result<DecisionReport, DecisionError> {
        let decision = DecisionRequest {
            approval: approval.clone(),
            approve,
            decider: Decider {
                who: vec!["user:local".to_owned()],
                principal: "test".to_owned(),
                channel: ApprovalChannel::Cli,
            },
            reason: None,
            edited: edited.map(str::to_owned),
            lines: None,
            stop: false,
            remember: None,
        };
        self.gateway.decide(decision).await
    }

    async fn approve_all(&self, id: &ExecutionId) {
        for approval in self.questions(id, true).await {
            self.decide(&approval, true).await;
        }
    }

    async fn resume(&self, id: &ExecutionId) -> Result<Envelope, ResumeError> {
        let context = CallContext::new(CancellationToken::new());
        let resumed = self.gateway.resume(
            id.as_str(),
            None,
            AnswerForm::default(),
            OnAsk::Pause,
            context,
        );
        resumed.await.map(|shown| shown.envelope)
    }

    async fn status(&self, id: &ExecutionId) -> ExecutionStatus {
        let record = self.gateway.store().execution(id.as_str()).await.unwrap();
        record.unwrap().row.status
    }

    async fn journal(&self, id: &ExecutionId) -> Vec<JournalEntry> {
        self.gateway.store().journal(id).await.unwrap()
    }

    /// Calls of `send` that arrived.
    fn sent(&self) -> usize {
        let calls = self.server.calls();
        calls.iter().filter(|call| *call == "send").count()
    }
}

async fn gateway_with(
    state_file: &std::path::Path,
    server: &Arc<FakeServer>,
    policy: Policy,
) -> Gateway {
    let store = Store::open(state_file).unwrap();
    let world = World::new(worker()).store(store).server(server);
    world.policy(policy).start().await
}

fn request_in(language: Language, program: &str) -> ExecuteRequest {
    match language {
        Language::Typescript => request(program),
        Language::Python => python_request(program),
    }
}

/// What the environment says about a longer run of the tests.
#[expect(
    clippy::disallowed_methods,
    reason = "a longer run of these tests is asked for in the environment"
)]
fn asked_for(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}

fn value(envelope: &Envelope) -> Value {
    assert_eq!(envelope.status, ExecutionStatus::Completed, "{envelope:?}");
    limbeck_testkit::value_of(envelope)
}
