//! One execution from its request to its answer: admission, a worker, the run, the journal, the ledger.

use std::sync::Arc;
use std::time::Duration;

use limbeck_domain::{
    Envelope, ExecutionId, ExecutionStatus, Language, Mode, ProgramError, ProgramStart,
};
use limbeck_launcher::Worker;
use limbeck_store::{AuditEvent, AuditEventKind, ExecutionSummary, NewExecution, StoreError};
use limbeck_upstream::CallContext;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::handle::Executor;
use super::messages;
use super::outcome::RunOutcome;
use super::paused::with_next_step;
use super::playback::Playback;
use super::request::{AnswerForm, ExecuteRequest};
use super::resume::ResumeError;
use super::run::Run;
use super::shown::Shown;
use crate::admission::ExecutionSlot;
use crate::approvals::{Asks, OnAsk};
use crate::audit_records::record;
use crate::broker::{Broker, Journal, ModelRun, ProgramText};
use crate::clock::now_us;
use crate::ledger::ExecutionUsage;
use crate::render::Render;
use crate::sandbox;
use crate::tokens;

/// How often a program is given to another worker because the last was killed before it sent anything:
/// what killed one waiting worker may have killed all of them.
const WORKERS_REPLACED_MAX: usize = 4;
/// How long a worker is kept while all that its program waits for are people.
const WORKER_KEPT: Duration = Duration::from_secs(2);

impl Executor {
    /// Runs a program to its end and returns the whole answer as data; see [`Executor::answer`].
    pub(crate) async fn execute(
        &self,
        request: ExecuteRequest,
        context: impl Into<CallContext>,
    ) -> Envelope {
        self.answer(request, context).await.envelope
    }

    /// Runs a program to its end and returns its answer, within the tokens asked for: a part above its
    /// share is kept as an artifact.
    ///
    /// Everything that goes wrong is in the envelope. `context.cancel` ends the run and cancels its calls in flight;
    /// `context.observer` receives the calls' progress and answers what their servers ask.
    pub(crate) async fn answer(
        &self,
        request: ExecuteRequest,
        context: impl Into<CallContext>,
    ) -> Shown {
        let render = request.answer.render;
        let begun = Instant::now();
        let (principal, origin) = (request.principal.clone(), request.origin.clone());
        let shown = match self.admit(mint_id(), request, context.into()).await {
            Ok(shown) => shown,
            Err(error) => {
                let refused = AuditEvent {
                    client: Some(origin),
                    operation: Some("execute".to_owned()),
                    code: Some(error.kind.as_str().to_owned()),
                    ..AuditEvent::new(AuditEventKind::Refuse, principal)
                };
                record(self.broker.store.clone(), refused);
                return self.not_run(error, render, begun.elapsed());
            }
        };
        let counters = &self.broker.counters;
        counters.execution(&shown.envelope, begun.elapsed());
        shown
    }

    /// The answer of an execution that never started, after `waited`.
    pub(crate) fn not_run(&self, error: ProgramError, render: Render, waited: Duration) -> Shown {
        let envelope = RunOutcome::not_started(error).envelope(mint_id());
        self.broker.counters.execution(&envelope, waited);
        Shown::of(envelope, render)
    }

    /// Waits for a place. An error is that of a program that was never started: the journal has no record of it.
    async fn admit(
        &self,
        id: ExecutionId,
        mut request: ExecuteRequest,
        context: CallContext,
    ) -> Result<Shown, ProgramError> {
        request.check(&self.broker.live_catalog)?;
        let admitted = tokio::select! {
            place = self.admission.enter(&request.principal) => place,
            () = context.cancel.cancelled() => return Err(messages::cancelled()),
        };
        let place = Arc::new(admitted.map_err(messages::busy)?);
        let sent_as = request.language;
        let (answer, on_ask) = (request.answer, request.on_ask);
        let principal = request.principal.clone();
        let first = self.run(
            &id,
            request.clone(),
            context.clone(),
            None,
            Arc::clone(&place),
        );
        let (id, ended) = match first.await? {
            Ran::Ended(ended) => (id, ended),
            Ran::WrittenIn(language) => {
                // It has a record of its own: that of the other attempt names its language and its guest.
                request.language = language;
                let warning = messages::other_language(sent_as, language, "run");
                let id = mint_id();
                let second = self.run(&id, request, context.clone(), Some(warning), place);
                match second.await? {
                    Ran::Ended(ended) => (id, ended),
                    // Each parser takes the program for one of the other language.
                    Ran::WrittenIn(_) => return Err(messages::unreadable(sent_as)),
                }
            }
        };
        match ended {
            Ended::Shown(shown) => Ok(*shown),
            Ended::Paused(shown) if on_ask != OnAsk::Wait => Ok(*shown),
            Ended::Paused(shown) => {
                let resumed = self.resume(id.as_str(), Some(&principal), answer, on_ask, context);
                Ok(match resumed.await {
                    Ok(later) if later.envelope.status == ExecutionStatus::Paused => *shown,
                    Ok(later) => later,
                    Err(ResumeError::Ended(later)) => *later,
                    // It stays paused, and can be continued later.
                    Err(error) => {
                        tracing::warn!(execution = %id, error = %error, "a paused execution was not continued");
                        *shown
                    }
                })
            }
        }
    }

    async fn run(
        &self,
        id: &ExecutionId,
        request: ExecuteRequest,
        context: CallContext,
        warning: Option<String>,
        place: Arc<ExecutionSlot>,
    ) -> Result<Ran, ProgramError> {
        let space = self.broker.store.check_disk();
        space.map_err(|error| messages::disk_low(&error))?;
        let cpu_ms = self
            .broker
            .run_within_budgets(&request.principal, self.cpu_ms);
        let cpu_ms = cpu_ms.await?;
        let worker = self.workers.take(request.language).await;
        let worker = worker.map_err(|error| messages::no_worker(&error))?;
        let (limits, time_warning) = request.limits(self.wall_ms, self.wall_ms_max, cpu_ms);
        let start = ProgramStart {
            asks_by_plan: self.broker.policy.newest().policy().asks(),
            llm: self.broker.models.terms(&request.models),
            ..request.start(&self.broker.listings, limits, Mode::Run)?
        };
        let sandbox = worker.sandbox().clone();
        let new = NewExecution {
            id: id.clone(),
            principal: request.principal.clone(),
            start: start.clone(),
            guest_hash: worker.ready().guest_hash.clone(),
            sandbox: sandbox.clone(),
            created_us: start.now_us,
            origin: request.origin.clone(),
        };
        let begun = tokio::select! {
            () = context.cancel.cancelled() => return Err(messages::cancelled()),
            begun = timeout(Duration::from_millis(limits.wall_ms), self.broker.store.begin(new)) => begun,
        };
        let begun = begun.map_err(|_| messages::journal_too_slow(limits.wall_ms))?;
        begun.map_err(|error| messages::no_journal(&error))?;
        if let Some(observer) = &context.observer {
            observer.begun(id);
        }
        let attempt = Attempt {
            executor: self,
            id: id.clone(),
            journal: Journal::new(self.broker.store.clone(), id.clone(), self.journal_bytes),
            scope: Arc::new(request.scope),
            principal: request.principal.as_str().into(),
            context,
            start,
            origin: request.origin,
            on_ask: request.on_ask,
            continued: None,
        };
        let outcome = attempt.run(worker).await;
        let warnings = [warning, time_warning, sandbox::warning(&sandbox)];
        let warnings: Vec<String> = warnings.into_iter().flatten().collect();
        if let Some(language) = outcome.written_in {
            let outcome = RunOutcome {
                warnings,
                ..outcome
            };
            self.close(id, outcome, attempt.start.now_us).await;
            return Ok(Ran::WrittenIn(language));
        }
        let ended = attempt.conclude(outcome, request.answer, warnings, place);
        Ok(Ran::Ended(ended.await))
    }

    /// Writes the whole envelope into the journal.
    async fn close(&self, id: &ExecutionId, outcome: RunOutcome, started_us: u64) -> Envelope {
        let summary = ExecutionSummary {
            calls: outcome.calls,
            took_us: now_us().saturating_sub(started_us),
        };
        let mut envelope = outcome.envelope(id.clone());
        let (store, written) = (self.broker.store.clone(), (id.clone(), envelope.clone()));
        // A task of its own: a disk that is slow delays the answer by a bounded time, and the end is written all the same.
        let writing = tokio::spawn(async move {
            let (id, envelope) = written;
            store.finish(&id, &envelope, summary).await
        });
        let written = match timeout(END_WRITTEN, writing).await {
            Ok(Ok(written)) => written,
            Ok(Err(_)) => Err(StoreError::Closed),
            Err(_) => {
                let warning =
                    "the end of the execution is not in the journal yet: the disk is slow";
                envelope.warnings.push(warning.to_owned());
                Ok(())
            }
        };
        if let Err(error) = written {
            tracing::error!(execution = %id, error = &error as &dyn std::error::Error, "end of execution could not be written");
            let error = error.for_callers().message;
            envelope
                .warnings
                .push(format!("the journal could not be written: {error}"));
        }
        envelope
    }
}

/// How long an answer waits for its end to be written.
const END_WRITTEN: Duration = Duration::from_secs(10);

/// How one attempt to run a program ended.
enum Ran {
    /// It ran.
    Ended(Ended),
    /// It was not run, because it is written in another language than it was sent as.
    WrittenIn(Language),
}

/// One attempt to run an execution that has a record in the store: its first, or one that continues it.
pub(super) struct Attempt<'g> {
    pub(super) executor: &'g Executor,
    pub(super) id: ExecutionId,
    pub(super) journal: Journal,
    pub(super) scope: Arc<limbeck_policy::Scope>,
    pub(super) principal: Arc<str>,
    pub(super) context: CallContext,
    pub(super) start: ProgramStart,
    pub(super) origin: String,
    pub(super) on_ask: OnAsk,
    /// The journal to repeat first, and the time that the program has after that.
    pub(super) continued: Option<(Arc<Playback>, Duration)>,
}

/// How an attempt ended.
pub(super) enum Ended {
    /// The execution has ended with this answer.
    Shown(Box<Shown>),
    /// It waits for people.
    Paused(Box<Shown>),
}

impl Attempt<'_> {
    /// Runs the program in `worker`, and in another when that one was killed before it sent a frame: then the run
    /// has had no effect, and starting again repeats none.
    pub(super) async fn run(&self, worker: Worker) -> RunOutcome {
        let sandbox = worker.sandbox().clone();
        let mut outcome = self.run_in(worker).await;
        for _ in 0..WORKERS_REPLACED_MAX {
            if !outcome.worker_lost_silent {
                break;
            }
            match self.executor.workers.take(self.start.language).await {
                // The store has recorded the sandbox of the first worker.
                Ok(worker) if *worker.sandbox() == sandbox => outcome = self.run_in(worker).await,
                Ok(_) | Err(_) => break,
            }
        }
        outcome
    }

    async fn run_in(&self, worker: Worker) -> RunOutcome {
        // A child: calls of a run are cancelled at its end without cancelling the client's request.
        let calls: CancellationToken = self.context.cancel.child_token();
        let context = CallContext::new(calls).with_observer(self.context.observer.clone());
        let recorded = self.continued.as_ref();
        let recorded =
            recorded.map(|(playback, _)| (playback.asked.clone(), playback.plan_record()));
        let (asked, plan) = recorded.unwrap_or_default();
        let asks = Asks::new(self.on_ask, asked);
        let program = ProgramText::new(
            self.start.program.clone(),
            self.start.language,
            self.origin.clone(),
        );
        let broker = Broker::new(
            &self.executor.broker,
            &self.principal,
            self.journal.clone(),
            context,
        )
        .with_scope(&self.scope)
        .with_language(self.start.language)
        .with_asks(asks, program)
        .with_plan(plan)
        .with_models(ModelRun::new(&self.start.llm, self.journal.models_used()));
        broker.note_input(&self.start.input);
        let cancel = self.context.cancel.clone();
        let kept_for = match self.on_ask {
            OnAsk::Wait => WORKER_KEPT,
            OnAsk::Pause | OnAsk::Deny | OnAsk::Fail => Duration::ZERO,
        };
        let run = Run::new(worker, broker, self.start.clone(), cancel).kept_for(kept_for);
        let run = match &self.continued {
            Some((playback, wall_left)) => run.continuing(playback, *wall_left),
            None => run,
        };
        let outcome = run.finish().await;
        let broker = &self.executor.broker;
        broker
            .count_cpu(&self.principal, &self.id, outcome.cpu)
            .await;
        outcome
    }

    /// Writes the end of the attempt, and gives its answer. The place is given back while people think.
    pub(super) async fn conclude(
        &self,
        mut outcome: RunOutcome,
        answer: AnswerForm,
        warnings: Vec<String>,
        place: Arc<ExecutionSlot>,
    ) -> Ended {
        let executor = self.executor;
        let (budget, budget_warning) = answer.budget();
        outcome.warnings.extend(warnings);
        outcome.warnings.extend(budget_warning);
        let rounds = outcome.rounds;
        if let Some(paused) = outcome.paused.clone() {
            let mut envelope = outcome.envelope(self.id.clone());
            match executor.pause(&self.id, &paused, &mut envelope).await {
                Ok(()) => {
                    let envelope = with_next_step(envelope);
                    return Ended::Paused(Box::new(Shown::of(envelope, answer.render)));
                }
                Err(error) => outcome = RunOutcome::not_started(messages::not_paused(&error)),
            }
        }
        let envelope = executor.close(&self.id, outcome, self.start.now_us).await;
        let (artifacts, computing) = (&executor.broker.artifacts, &executor.broker.computing);
        let shown = artifacts.shown(
            envelope,
            &self.principal,
            budget,
            answer.render,
            &place,
            computing,
        );
        let mut shown = shown.await;
        shown.tool_calls = self.journal.tool_calls();
        shown.model_calls = self.journal.model_calls(&self.start.llm);
        self.count_tokens(&shown).await;
        let usage = self.usage(&shown, rounds);
        executor.ledger.record_execution(usage).await;
        Ended::Shown(Box::new(shown))
    }

    /// Counts the tokens of the answer, where a budget does.
    async fn count_tokens(&self, shown: &Shown) {
        let broker = &self.executor.broker;
        if !broker.counts_tokens(&self.principal) {
            return;
        }
        let text = shown.text.clone();
        let counted = broker
            .computing
            .run(&self.principal, move |_| tokens::count(&text));
        if let Ok(tokens) = counted.await {
            broker.count_tokens(&self.principal, &self.id, tokens).await;
        }
    }

    fn usage<'a>(&'a self, shown: &'a Shown, rounds: u32) -> ExecutionUsage<'a> {
        ExecutionUsage {
            principal: &self.principal,
            origin: &self.origin,
            start: &self.start,
            shown,
            rounds,
            calls: self.journal.usage(),
        }
    }
}

/// An id that sorts by time: `ex_` and a version 7 UUID without its hyphens.
pub(crate) fn mint_id() -> ExecutionId {
    ExecutionId::new(format!("ex_{}", uuid::Uuid::now_v7().simple()))
}
