//! The running gateway: its parts, started together and shut down together.

mod paused;
mod people;
mod pinned;
mod skills;

pub use people::NoRule;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use limbeck_catalog::{Catalog, Observed};
use limbeck_domain::{
    CallError, Envelope, ExecutionId, Expose, Mode, ProgramError, ReadMethod, Sandbox, ServerName,
    ToolId, ToolTarget,
};
use limbeck_launcher::WorkerError;
use limbeck_policy::{Policy, Requester};
use limbeck_store::{AuditEvent, AuditEventKind, Store, StoreError};
use limbeck_upstream::{CallContext, PoolEvent, Redaction, ResourceWatch, ServerSpec};
use serde_json::value::RawValue;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::admission::Admission;
use crate::approvals::Approvals;
use crate::artifacts::ArtifactStore;
use crate::audit_records;
use crate::broker::{BrokerContext, CallReport};
use crate::budgets::{BudgetLeft, RateQueues, left_of};
use crate::clock::now_us;
use crate::computing::{Computing, ComputingError};
use crate::config::{Bounds, GatewayConfig, LOCAL_PRINCIPAL, TimeLimits};
use crate::counters::Counters;
use crate::direct::{DirectAnswer, DirectCall, DirectCalls, DirectError, MadeCall};
use crate::embeddings::Embeddings;
use crate::executor::{
    Examination, ExecuteRequest, Executor, ReplayError, ReplayReport, Shown, Timers,
};
use crate::exposure::{Exposed, Exposure};
use crate::learn::{ImportSummary, Learning, RecordedResults, SkippedRecordError};
use crate::ledger::{self, Ledger};
use crate::listings::Listings;
use crate::live_catalog::LiveCatalog;
use crate::models::Models;
use crate::pins::judge::PinRules;
use crate::policy_in_force::{PolicyInForce, PolicyReading};
use crate::render::Render;
use crate::search::{SearchReport, SearchRequest, ToolSearch};
use crate::server_reports::ServerReport;
use crate::server_source::{ServerChange, ServerSource};

/// A running gateway as one principal uses it. Clones share it.
#[derive(Clone, Debug)]
pub struct Gateway {
    parts: Arc<Parts>,
    /// Principal of reads and watches, whose requests carry none.
    principal: Arc<str>,
}

/// Handles that the methods of [`Gateway`] delegate to. No other module reaches them through the gateway.
#[derive(Debug)]
struct Parts {
    executor: Arc<Executor>,
    direct: DirectCalls,
    recorded: RecordedResults,
    exposure: Arc<Exposure>,
    ledger: Arc<Ledger>,
    embeddings: Arc<Embeddings>,
    broker: Arc<BrokerContext>,
    timers: Timers,
}

impl Gateway {
    /// Starts a gateway with the cached catalog. Starts no upstream server.
    pub async fn start(config: GatewayConfig) -> Self {
        Self::start_within(config, Bounds::default()).await
    }

    /// Starts a gateway that accepts as much load as `bounds` say.
    pub async fn start_within(config: GatewayConfig, bounds: Bounds) -> Self {
        let GatewayConfig {
            workers,
            upstreams,
            store,
            wall_ms,
            wall_ms_max,
            sources,
            notices,
            policy,
            embeddings,
            models,
            client_listing,
            pin_lock,
        } = config;
        let pin_rules = PinRules {
            preset: policy.rules.preset(),
            lock: Arc::new(pin_lock),
        };
        let upstreams = Arc::new(upstreams);
        let better_direct = better_direct(&store, &sources).await;
        let live_catalog = LiveCatalog::open(
            Arc::clone(&upstreams),
            store.clone(),
            sources,
            notices,
            pin_rules,
        );
        let live_catalog = live_catalog.await;
        let exposure = Arc::new(Exposure::new(live_catalog.clone(), better_direct));
        let embeddings = Arc::new(Embeddings::start(embeddings, &live_catalog, &store));
        let ledger = Arc::new(Ledger::new(
            client_listing,
            TimeLimits::new(wall_ms, wall_ms_max),
            Arc::clone(&exposure),
            live_catalog.clone(),
            store.clone(),
        ));
        ledger.note_policy(policy.asks());
        let listings = Listings::new(live_catalog.clone(), Arc::clone(&upstreams));
        let computing = Computing::default();
        let search = ToolSearch::new(
            live_catalog.clone(),
            Arc::clone(&exposure),
            Arc::clone(&embeddings),
            listings.clone(),
            computing.clone(),
        );
        let broker = Arc::new(BrokerContext {
            upstreams,
            learning: Learning::start(live_catalog.clone(), store.clone()),
            listings,
            search,
            artifacts: ArtifactStore::new(store.clone()),
            computing,
            counters: Counters::default(),
            policy: PolicyInForce::new(policy),
            approvals: approvals_of(&store),
            models: Models::new(models),
            rate_queues: RateQueues::default(),
            store: store.clone(),
            live_catalog: live_catalog.clone(),
        });
        let admission = Admission::new(bounds.admission);
        Self {
            parts: Arc::new(Parts {
                executor: Arc::new(Executor {
                    workers,
                    admission: admission.clone(),
                    broker: Arc::clone(&broker),
                    ledger: Arc::clone(&ledger),
                    wall_ms,
                    wall_ms_max,
                    cpu_ms: bounds.cpu_ms,
                    journal_bytes: bounds.journal_bytes,
                }),
                direct: DirectCalls::new(admission, Arc::clone(&broker)),
                recorded: RecordedResults::new(live_catalog, store),
                exposure,
                ledger,
                embeddings,
                broker,
                timers: Timers::default(),
            }),
            principal: LOCAL_PRINCIPAL.into(),
        }
    }

    /// This gateway as `principal` uses it: reads are made with that principal's sign-ins.
    #[must_use]
    pub fn used_by(mut self, principal: &Arc<str>) -> Self {
        self.principal = Arc::clone(principal);
        self
    }

    /// Wall-clock limits of the executions that clients request.
    pub fn time_limits(&self) -> TimeLimits {
        let executor = &self.parts.executor;
        TimeLimits::new(executor.wall_ms, executor.wall_ms_max)
    }

    /// Runs a program to its end and returns the whole answer as data; see [`Gateway::answer`].
    pub async fn execute(
        &self,
        request: ExecuteRequest,
        context: impl Into<CallContext>,
    ) -> Envelope {
        self.parts.executor.execute(request, context).await
    }

    /// Runs a program to its end and returns its answer, within the tokens asked for: a part above its
    /// share is kept as an artifact.
    ///
    /// Every failure is in the envelope. `context.cancel` ends the run and cancels its calls in flight;
    /// `context.observer` receives the calls' progress and answers what their servers ask.
    pub async fn answer(&self, request: ExecuteRequest, context: impl Into<CallContext>) -> Shown {
        self.parts.executor.answer(request, context).await
    }

    /// Checks the calls of a program and, with [`Mode::Plan`], lists what it may call. Nothing of it runs.
    ///
    /// # Errors
    ///
    /// [`ProgramError`], when the request is wrong, was cancelled, or its time limit has passed before it was read and checked.
    pub async fn examine(
        &self,
        request: ExecuteRequest,
        mode: Mode,
        cancel: &CancellationToken,
    ) -> Result<Examination, ProgramError> {
        self.parts.executor.examine(request, mode, cancel).await
    }

    /// The answer of an execution that never started because of `error`. The journal has no record of it.
    pub fn not_run(&self, error: ProgramError) -> Shown {
        let executor = &self.parts.executor;
        executor.not_run(error, Render::default(), Duration::ZERO)
    }

    /// Runs an ended execution again from its journal alone.
    ///
    /// # Errors
    ///
    /// [`ReplayError`]; differences between the two runs are in the report.
    pub async fn replay(&self, id: &str) -> Result<ReplayReport, ReplayError> {
        self.parts.executor.replay(id).await
    }

    /// Sandbox of the next worker, by its own report. Uses up the worker.
    ///
    /// # Errors
    ///
    /// [`WorkerError`] when no worker can be started, [`WorkerError::Tier`] when its tier is below the minimum.
    pub async fn sandbox(&self) -> Result<Sandbox, WorkerError> {
        self.parts.executor.sandbox().await
    }

    /// Calls a tool for a client and returns the `CallToolResult` as the server sent it. Where a person has to approve the call,
    /// waits for a while, and then returns that it is paused.
    ///
    /// # Errors
    ///
    /// [`DirectError`]
    pub async fn call_directly(
        &self,
        call: DirectCall,
        context: CallContext,
    ) -> Result<DirectAnswer, DirectError> {
        let principal = Arc::clone(&call.principal);
        let made = self.parts.direct.call_for_client(call, context.clone());
        match made.await? {
            MadeCall::Ended(result) => Ok(DirectAnswer::Result { result, note: None }),
            MadeCall::Waits(id) => {
                let executor = &self.parts.executor;
                executor.direct_answer(&id, &principal, context).await
            }
        }
    }

    /// Goes on with a paused direct call, and gives what its client gets; see [`Gateway::call_directly`].
    ///
    /// # Errors
    ///
    /// [`DirectError`]
    pub async fn resume_directly(
        &self,
        id: &ExecutionId,
        principal: &str,
        context: CallContext,
    ) -> Result<DirectAnswer, DirectError> {
        let executor = &self.parts.executor;
        executor.direct_answer(id, principal, context).await
    }

    /// What the client of a direct call that has ended gets, once more. `None` for every other execution.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub async fn direct_result(
        &self,
        id: &ExecutionId,
        principal: &str,
    ) -> Result<Option<Result<DirectAnswer, DirectError>>, StoreError> {
        self.parts.executor.direct_result(id, principal).await
    }

    /// Calls one tool for the user, outside of any execution, and returns its result as sent. Nothing is journalled.
    ///
    /// # Errors
    ///
    /// [`CallError`] for every reason a call inside a program fails, except `isError`.
    pub async fn call(
        &self,
        server: &str,
        tool: &str,
        arguments: &str,
        context: impl Into<CallContext>,
    ) -> Result<CallReport, CallError> {
        let direct = &self.parts.direct;
        direct
            .call_for_user(server, tool, arguments, context.into())
            .await
    }

    /// Reads a resource or prompt for a client, with the result as the server sent it; `params` is JSON text. Where a person has to
    /// approve the read, waits for a while, and then returns that it is paused.
    ///
    /// # Errors
    ///
    /// [`DirectError`]
    pub async fn read_for_client(
        &self,
        server: &ServerName,
        method: ReadMethod,
        params: String,
        context: CallContext,
    ) -> Result<DirectAnswer, DirectError> {
        let direct = &self.parts.direct;
        let read = direct.read_for_client(&self.principal, server, method, params, context.clone());
        match read.await? {
            MadeCall::Ended(result) => Ok(DirectAnswer::Result { result, note: None }),
            MadeCall::Waits(id) => {
                let executor = &self.parts.executor;
                executor.direct_answer(&id, &self.principal, context).await
            }
        }
    }

    /// Reads something a server offers besides tools, for the principal of this handle, where no person can be asked; `params` is
    /// JSON text.
    ///
    /// # Errors
    ///
    /// [`DirectError`]
    pub async fn read_directly(
        &self,
        server: &ServerName,
        method: ReadMethod,
        params: String,
        context: CallContext,
    ) -> Result<Box<RawValue>, DirectError> {
        let direct = &self.parts.direct;
        direct
            .read(&self.principal, server, method, params, context)
            .await
    }

    /// Subscribes to changes of one resource. The permission to read the resource is enough.
    ///
    /// # Errors
    ///
    /// [`DirectError`]
    pub async fn watch_directly(
        &self,
        server: &ServerName,
        uri: &str,
    ) -> Result<ResourceWatch, DirectError> {
        self.parts.direct.watch(&self.principal, server, uri).await
    }

    /// Remembers a search and its answer for the ledger's record of the principal's next program.
    pub fn note_search(&self, principal: &Arc<str>, asked: &str, answer: &str) {
        self.parts.ledger.note_search(principal, asked, answer);
        self.record_search(principal, asked);
    }

    /// Writes that `principal` searched to the audit trail.
    pub fn record_search(&self, principal: &str, asked: &str) {
        self.record(AuditEvent {
            client: Some("mcp".to_owned()),
            arguments: Some(asked.to_owned()),
            ..AuditEvent::new(AuditEventKind::Search, principal)
        });
    }

    /// Writes what belongs to no execution to the audit trail, without waiting for it.
    pub fn record(&self, event: AuditEvent) {
        audit_records::record(self.store().clone(), event);
    }

    /// The type of a recorded result of the tool that `target` names. Nothing is stored.
    ///
    /// `result` is a `CallToolResult` or the value that a program got of one.
    ///
    /// # Errors
    ///
    /// [`SkippedRecordError`].
    pub fn observed_type(
        &self,
        target: &ToolTarget,
        result: &RawValue,
    ) -> Result<(ToolId, Observed), SkippedRecordError> {
        self.parts.recorded.observed_type(target, result)
    }

    /// Keeps what recorded results of a tool taught, and gives what is known of it now.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; then nothing was stored. `Ok(None)` when the tool is gone.
    pub async fn learn(
        &self,
        tool: &ToolId,
        observed: &Observed,
    ) -> Result<Option<ImportSummary>, StoreError> {
        self.parts.recorded.learn(tool, observed).await
    }

    /// Rules about calls, and classes of tools, of this moment.
    pub fn policy(&self) -> Arc<Policy> {
        Arc::clone(self.parts.broker.policy.newest().policy())
    }

    /// What is left of the budgets in force: of all counters, those of runs that have not ended among them.
    ///
    /// # Errors
    ///
    /// An error of the store.
    pub async fn budgets_left(&self) -> Result<Vec<BudgetLeft>, StoreError> {
        let broker = &self.parts.broker;
        let budgets = broker.policy.newest().budgets();
        if budgets.is_empty() {
            return Ok(Vec::new());
        }
        let uses = broker.store.budget_uses(None).await?;
        Ok(left_of(&budgets, &uses, &self.principal, now_us()))
    }

    /// Puts `policy` in force. With [`PolicyReading::InPart`] the last one that was read whole stays in force beside it: a
    /// call has to be allowed by both.
    ///
    /// Calls that wait are decided again, and when it returns none is sent any more that the new policy denies. Calls that
    /// their servers have are not affected.
    pub async fn replace_policy(&self, policy: Policy, reading: PolicyReading) {
        let live_catalog = &self.parts.broker.live_catalog;
        // Before the policy: what the new preset holds is not called by it.
        live_catalog.judge_by(PinRules {
            preset: policy.rules.preset(),
            ..live_catalog.pin_rules()
        });
        self.parts.broker.policy.replace(policy, reading).await;
        self.parts.ledger.note_policy(self.can_pause());
        // Clients list a tool more or less where calls are asked about.
        self.parts.broker.live_catalog.note_listed();
    }

    /// Changes the servers. When it returns, those that were taken out or replaced have no process; their calls in flight
    /// have failed. All other servers are as they were.
    ///
    /// Changes are made one after the other.
    pub async fn change_servers(&self, change: ServerChange) {
        let ServerChange {
            removed,
            added,
            notices,
        } = change;
        let BrokerContext {
            live_catalog,
            upstreams,
            ..
        } = &*self.parts.broker;
        let (specs, sources): (Vec<ServerSpec>, Vec<ServerSource>) = added.into_iter().unzip();
        let exposed: Vec<ServerName> = sources
            .iter()
            .filter(|source| source.expose != Expose::Code)
            .map(|source| source.name.clone())
            .collect();
        let known = live_catalog.known(sources).await;
        upstreams.change(&removed, specs);
        live_catalog.change(&removed, known, notices);
        // A client learns of their tools when they are listed, and it has no reason to ask for them.
        for name in live_catalog.usable_servers() {
            if exposed.contains(&name) {
                live_catalog.ask_later(&name);
            }
        }
        upstreams.end_retired().await;
    }

    /// What is taken out of texts that leave this process.
    pub fn redaction(&self) -> &Redaction {
        self.parts.broker.upstreams.redaction()
    }

    /// The store, for listings.
    pub fn store(&self) -> &Store {
        &self.parts.broker.store
    }

    /// Principal of reads, whose requests carry none.
    pub(crate) fn principal(&self) -> &str {
        &self.principal
    }

    /// The tools known, for listings and for events of new lists.
    pub fn live_catalog(&self) -> &LiveCatalog {
        &self.parts.broker.live_catalog
    }

    /// Changes at upstream servers, from now on.
    pub fn upstream_events(&self) -> broadcast::Receiver<PoolEvent> {
        self.parts.broker.upstreams.subscribe()
    }

    /// Executions running, and requests waiting for admission.
    pub fn load(&self) -> (usize, usize) {
        self.parts.executor.admission.load()
    }

    /// Executions and calls by how they ended.
    pub fn counters(&self) -> &Counters {
        &self.parts.broker.counters
    }

    /// The upstream servers, or one of them, with their tools. Asks every server for its list and waits at
    /// most `patience` for the answers.
    ///
    /// # Errors
    ///
    /// [`CallError`] when no server is called `server`.
    pub async fn servers(
        &self,
        server: Option<&str>,
        patience: Duration,
    ) -> Result<Vec<ServerReport>, CallError> {
        self.parts.broker.listings.reports(server, patience).await
    }

    /// The upstream servers as they are now. Starts none and asks none.
    pub fn servers_now(&self) -> Vec<ServerReport> {
        self.parts.broker.listings.reports_now()
    }

    /// The tools known at this moment, of all servers.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.parts.broker.live_catalog.snapshot()
    }

    /// Searches every server's tools; waits a bounded time for servers never listed before.
    ///
    /// # Errors
    ///
    /// [`CallError`] when no server is called `server`, or when `cursor` belongs to another request or to
    /// other tools.
    pub async fn search(&self, request: &SearchRequest) -> Result<SearchReport, CallError> {
        let broker = &self.parts.broker;
        let mut report = broker.search.search(&self.principal, request).await?;
        let requester = Requester::of_principal(&self.principal);
        let who = requester.names();
        report.add_notes(|tool, hinted| broker.policy.newest().policy().note(tool, hinted, &who));
        if request.cursor.is_none() && request.server.is_none() {
            report.skills = self.skills_found(&request.queries).await;
        }
        Ok(report)
    }

    /// Runs `work` off the threads that serve, when it is the turn of this handle's principal: such as the rendering of
    /// an answer.
    ///
    /// # Errors
    ///
    /// [`ComputingError`] when the work panicked.
    pub async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ComputingError> {
        let computing = &self.parts.broker.computing;
        computing.run(&self.principal, move |_| work()).await
    }

    /// Starts connecting the servers that `request` names, so that they are ready for the program that
    /// follows.
    pub fn connect_named(&self, request: &SearchRequest) {
        self.parts.broker.search.connect_named_by_client(request);
    }

    /// The servers that clients see now. The same `Arc` for as long as the catalog is the same.
    pub fn exposed(&self) -> Arc<Exposed> {
        self.parts.exposure.current()
    }

    /// Servers whose entry allows that clients see their tools, whether they do now or not.
    pub fn exposable(&self) -> Vec<(ServerName, Expose)> {
        self.parts.exposure.allowed()
    }

    /// Returns once the results of all calls answered so far have been learned from.
    pub async fn catch_up(&self) {
        self.parts.broker.learning.flush().await;
    }

    /// Ends every worker and upstream server and makes the journal durable. No process or task is left.
    pub async fn shutdown(&self) {
        self.parts.timers.stop();
        self.parts.executor.workers.shutdown().await;
        self.parts.broker.upstreams.shutdown().await;
        self.parts.ledger.note_leftover_searches().await;
        self.parts.embeddings.shutdown().await;
        self.parts.broker.learning.flush().await;
        if let Err(error) = self.parts.broker.store.flush().await {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "journal could not be flushed"
            );
        }
    }
}

/// Servers with `expose = "auto"` that programs mostly call alone and at a loss, by the ledger. The ledger is
/// not read when no server has that mode.
async fn better_direct(store: &Store, sources: &[ServerSource]) -> BTreeSet<ServerName> {
    if !sources.iter().any(|source| source.expose == Expose::Auto) {
        return BTreeSet::new();
    }
    let rows = store.ledger(0).await.unwrap_or_else(|error| {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "the ledger could not be read"
        );
        Vec::new()
    });
    ledger::better_direct(
        &rows
            .iter()
            .map(|row| (row.created_us, row.usage_or_estimate()))
            .collect::<Vec<_>>(),
    )
}

/// The questions in `store`, whose time is kept.
fn approvals_of(store: &Store) -> Arc<Approvals> {
    let approvals = Arc::new(Approvals::new(store.clone()));
    approvals.keep_time();
    approvals
}
