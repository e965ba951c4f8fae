//! Executions that wait: shown as paused, and continued by whichever process takes them.
//!
//! An execution that waits has no worker, no place among the running ones and no clock. Continuing it is running its program
//! again from the journal: see `continued`.

use std::sync::Arc;
use std::time::Duration;

use limbeck_domain::{
    Approval, ApprovalId, ApprovalState, CallId, Effects, Envelope, ErrorKind, ExecutionId,
    ExecutionStatus, PendingApproval, ProgramError, Settlement,
};
use limbeck_launcher::WorkerError;
use limbeck_policy::{Scope, budget_of_question};
use limbeck_store::{
    ApprovalFilter, DoubtfulCall, ExecutionRecord, ExecutionSummary, NO_GUEST, PausedExecution,
    StoreError, Taken,
};
use limbeck_upstream::CallContext;
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::time::{Instant, sleep};

use super::execute::{Attempt, Ended};
use super::handle::Executor;
use super::messages;
use super::other_guest::OtherGuest;
use super::outcome::PausedRun;
use super::paused::{UNASKED, with_next_step};
use super::playback::Playback;
use super::request::AnswerForm;
use super::shown::Shown;
use crate::approval_view::plan_lines;
use crate::approvals::OnAsk;
use crate::broker::Journal;
use crate::clock::now_us;
use crate::render::Render;

/// How long an answer waits for a person before it says that the execution is paused: clients give a request up after 60 s.
const INLINE_WAIT: Duration = Duration::from_secs(45);
/// How often the store is asked whether an execution of another process has ended.
const OTHERS_POLLED: Duration = Duration::from_millis(50);
/// Longest arguments of a question that an answer has, in bytes.
const ARGUMENTS_SHOWN_BYTES_MAX: usize = 400;
/// How often it is looked whether that process still runs.
const DEAD_LOOKED_FOR: Duration = Duration::from_millis(500);
/// Questions of one execution that are read.
const QUESTIONS_MAX: u32 = 1_000;

/// Why an execution is not continued.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The principal has no such execution.
    #[error("no such execution")]
    Unknown,
    /// It has ended; this is its answer.
    #[error("the execution has ended")]
    Ended(Box<Shown>),
    /// Calls of it may have happened.
    #[error("execution `{id}` has {} in doubt, which may have happened", counted(*calls))]
    InDoubt {
        /// The execution.
        id: ExecutionId,
        /// How many.
        calls: usize,
    },
    /// The call is not in doubt, or not any more.
    #[error("call {} is not in doubt", call.0)]
    NotInDoubt {
        /// The call.
        call: CallId,
    },
    /// Another process works on it.
    #[error("execution `{id}` is running")]
    Running {
        /// The execution.
        id: ExecutionId,
    },
    /// It ran in a guest that this executable does not have.
    #[error(transparent)]
    Guest(#[from] OtherGuest),
    /// Its journal lacks results that the program had.
    #[error("results that the program had are missing in its journal")]
    Incomplete,
    /// The gateway is busy, or the request is wrong.
    #[error("{0}")]
    Refused(ProgramError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No worker.
    #[error(transparent)]
    Worker(#[from] WorkerError),
}

fn counted(calls: usize) -> String {
    match calls {
        1 => "1 call".to_owned(),
        more => format!("{more} calls"),
    }
}

impl ResumeError {
    /// The next step.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Unknown => "run `limbeck executions` to list the recorded ones",
            Self::InDoubt { .. } => "say what happened to the calls with `limbeck reconcile`",
            Self::NotInDoubt { .. } => "`limbeck reconcile ID` lists the calls in doubt",
            Self::Running { .. } => "wait for its end, or ask again later",
            Self::Guest(guest) => return Some(guest.hint()),
            Self::Incomplete => "run the program again, after checking what it has done",
            Self::Refused(error) => return error.hint.clone(),
            Self::Ended(_) | Self::Store(_) | Self::Worker(_) => return None,
        };
        Some(hint.to_owned())
    }
}

/// Who ends a paused execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoppedBy {
    /// The user of the machine.
    User,
    /// The client cancelled its task.
    Client,
    /// The model called `resume` with the action `cancel`.
    Model,
}

impl StoppedBy {
    fn message(self) -> &'static str {
        match self {
            Self::User => "the user stopped the execution",
            Self::Client => "the client cancelled the execution",
            Self::Model => "the model cancelled the execution with the tool `resume`",
        }
    }
}

impl Executor {
    /// Continues an execution as far as people have decided, and gives its answer: that of its end, or again that it is
    /// paused. Waits for decisions when `on_ask` says so.
    ///
    /// # Errors
    ///
    /// [`ResumeError`]
    pub(crate) async fn resume(
        &self,
        execution: &str,
        principal: Option<&str>,
        answer: AnswerForm,
        on_ask: OnAsk,
        context: CallContext,
    ) -> Result<Shown, ResumeError> {
        let until = Instant::now() + INLINE_WAIT;
        let mut is_first = true;
        let mut looked_for_dead = Instant::now();
        loop {
            let record = self.record_of(execution, principal).await?;
            let id = record.row.id.clone();
            match record.row.status {
                ExecutionStatus::Paused => {}
                // A moment, in which it pauses or ends, or its process waits for the same answers.
                ExecutionStatus::Running if Instant::now() < until => {
                    is_first = false;
                    // Its process may have been killed: then no process goes on with it, and waiting ends now.
                    if looked_for_dead.elapsed() >= DEAD_LOOKED_FOR {
                        looked_for_dead = Instant::now();
                        self.broker.store.recover().await?;
                    }
                    tokio::select! {
                        () = context.cancel.cancelled() => {
                            return Err(ResumeError::Refused(messages::cancelled()));
                        }
                        () = sleep(OTHERS_POLLED) => {}
                    }
                    continue;
                }
                ExecutionStatus::Running => return Err(ResumeError::Running { id }),
                ExecutionStatus::NeedsReconciliation => {
                    if self.settle_by_operator(&record, &context).await? {
                        is_first = false;
                        continue;
                    }
                    let calls = self.broker.store.in_doubt(&id).await?.len();
                    return Err(ResumeError::InDoubt { id, calls });
                }
                ExecutionStatus::Completed
                | ExecutionStatus::Failed
                | ExecutionStatus::Cancelled => {
                    let shown = self.ended(&record, answer.render);
                    // One that another process brought to its end meanwhile is answered like one that this process did.
                    return if is_first {
                        Err(ResumeError::Ended(Box::new(shown)))
                    } else {
                        Ok(shown)
                    };
                }
            }
            let pending = self.pending(&id).await?;
            let wake_us = self.broker.store.wake_us(&id).await?;
            let why = match wake_us {
                Some(wake_us) if wake_us <= now_us() && !pending.is_empty() => Why::Timer,
                Some(_) | None => Why::Decisions,
            };
            if !pending.is_empty() && why == Why::Decisions {
                let ids: Vec<ApprovalId> = pending.iter().map(|it| it.id.clone()).collect();
                let left = until.saturating_duration_since(Instant::now());
                let waits = on_ask == OnAsk::Wait && !left.is_zero();
                // A timer of the program is due before: it is woken then.
                let left = until_wake(wake_us).map_or(left, |until_wake| left.min(until_wake));
                let decided = waits
                    && tokio::select! {
                        () = context.cancel.cancelled() => false,
                        decided = self.broker.approvals.all_decided(&ids, left) => decided?,
                    };
                let is_woken = waits && until_wake(wake_us).is_some_and(|left| left.is_zero());
                if !decided && (!is_woken || context.cancel.is_cancelled()) {
                    return Ok(self.paused_answer(id, &pending, answer.render));
                }
                is_first = false;
                continue;
            }
            self.check_configuration(&id, why).await?;
            match self
                .continue_once(record, &answer, on_ask, &context, why)
                .await?
            {
                Some(Ended::Shown(shown)) => return Ok(*shown),
                // It waits for room for its questions, and has none that could be answered.
                Some(Ended::Paused(shown)) if shown.envelope.pending.is_empty() => {
                    return Ok(*shown);
                }
                // It asks more, or another process has it.
                Some(Ended::Paused(_)) | None => is_first = false,
            }
        }
    }

    /// Whether this process could go on with an execution once its questions are decided.
    ///
    /// # Errors
    ///
    /// [`ResumeError`], which names what is missing.
    pub(crate) async fn check_resumable(&self, id: &ExecutionId) -> Result<(), ResumeError> {
        self.check_configuration(id, Why::Timer).await
    }

    /// Whether this process has the servers and rules that the questions of an execution are about. With others it would do
    /// something else than the person allowed.
    pub(super) async fn check_configuration(
        &self,
        id: &ExecutionId,
        why: Why,
    ) -> Result<(), ResumeError> {
        let filter = ApprovalFilter {
            execution: Some(id.clone()),
            limit: QUESTIONS_MAX,
            ..ApprovalFilter::default()
        };
        let approvals = self.broker.store.approvals(filter).await?;
        let policy = Arc::clone(self.broker.policy.newest().policy());
        let servers = self.broker.upstreams.names();
        let is_open = |state| match state {
            ApprovalState::Approved | ApprovalState::Denied => true,
            // A program that is woken makes calls though no person has decided.
            ApprovalState::Pending => why == Why::Timer,
            ApprovalState::Expired | ApprovalState::Withdrawn | ApprovalState::Spent => false,
        };
        for approval in approvals.iter().filter(|it| is_open(it.state)) {
            let is_model = crate::broker::asked_about_model(approval);
            let missing = if !is_model && !servers.contains(&approval.tool.server) {
                Some(format!("server `{}`", approval.tool.server))
            } else if let Some(rule) = &approval.rule {
                let is_there = match budget_of_question(rule) {
                    Some(budget) => policy.budgets.all().iter().any(|it| it.id == budget),
                    None => policy.rules.rules().iter().any(|it| it.id == *rule),
                };
                (!is_there).then(|| format!("rule `{rule}`"))
            } else {
                let preset = approval.preset.as_deref();
                let is_other = preset.is_some_and(|it| it != policy.rules.preset().as_str());
                is_other.then(|| format!("preset `{}`", preset.unwrap_or_default()))
            };
            if let Some(missing) = missing {
                let message = format!(
                    "{missing} of this execution's questions is not in the configuration of this process, so nothing was sent"
                );
                let error = ProgramError::new(ErrorKind::Request, message).with_hint(
                    "continue it with the configuration that it began with, such as the same `--config`, or end it with `limbeck resume ID --stop`",
                );
                return Err(ResumeError::Refused(error));
            }
        }
        Ok(())
    }

    /// Ends a paused execution, and withdraws its questions.
    ///
    /// # Errors
    ///
    /// [`ResumeError`]
    pub(crate) async fn stop(
        &self,
        execution: &str,
        principal: Option<&str>,
        by: StoppedBy,
    ) -> Result<Shown, ResumeError> {
        let record = self.record_of(execution, principal).await?;
        let id = record.row.id.clone();
        match self.broker.store.take(&id).await? {
            Taken::Lease { .. } => {}
            Taken::Not(ExecutionStatus::Running) => return Err(ResumeError::Running { id }),
            Taken::Not(_) => {
                let shown = self.ended(&record, Render::default());
                return Err(ResumeError::Ended(Box::new(shown)));
            }
            Taken::Unknown => return Err(ResumeError::Unknown),
        }
        let error = ProgramError::new(ErrorKind::Cancelled, by.message());
        let envelope = Envelope {
            error: Some(error),
            effects: (record.row.effects != Effects::default()).then_some(record.row.effects),
            ..Envelope::new(id.clone(), ExecutionStatus::Cancelled)
        };
        let summary = ExecutionSummary {
            calls: record.row.calls,
            took_us: now_us().saturating_sub(record.row.created_us),
        };
        self.broker.store.finish(&id, &envelope, summary).await?;
        self.broker.approvals.note_change();
        Ok(Shown::of(envelope, Render::default()))
    }

    /// Calls of an execution that may have happened.
    ///
    /// # Errors
    ///
    /// [`ResumeError::Unknown`] and [`ResumeError::Store`]
    pub(crate) async fn in_doubt(
        &self,
        execution: &str,
    ) -> Result<(ExecutionId, Vec<DoubtfulCall>), ResumeError> {
        let record = self.record_of(execution, None).await?;
        let id = record.row.id;
        let calls = self.broker.store.in_doubt(&id).await?;
        Ok((id, calls))
    }

    /// Records what happened to a call in doubt.
    ///
    /// # Errors
    ///
    /// [`ResumeError::Unknown`] also for a call that is not in doubt, and [`ResumeError::Store`]
    pub(crate) async fn settle(
        &self,
        execution: &str,
        call: CallId,
        how: Settlement,
    ) -> Result<(), ResumeError> {
        let record = self.record_of(execution, None).await?;
        match self.broker.store.settle(&record.row.id, call, how).await? {
            true => Ok(()),
            false => Err(ResumeError::NotInDoubt { call }),
        }
    }

    /// The execution of this id or beginning of one, if it is the principal's.
    pub(super) async fn record_of(
        &self,
        execution: &str,
        principal: Option<&str>,
    ) -> Result<ExecutionRecord, ResumeError> {
        let record = self.broker.store.execution(execution).await?;
        let record = record
            .filter(|record| principal.is_none_or(|principal| record.row.principal == principal));
        record.ok_or(ResumeError::Unknown)
    }

    pub(super) async fn pending(&self, id: &ExecutionId) -> Result<Vec<Approval>, StoreError> {
        let filter = ApprovalFilter {
            execution: Some(id.clone()),
            only_pending: true,
            limit: QUESTIONS_MAX,
            ..ApprovalFilter::default()
        };
        self.broker.store.approvals(filter).await
    }

    fn ended(&self, record: &ExecutionRecord, render: Render) -> Shown {
        let envelope = record.envelope.clone();
        let envelope =
            envelope.unwrap_or_else(|| Envelope::new(record.row.id.clone(), record.row.status));
        Shown::of(envelope, render)
    }

    pub(super) fn paused_answer(
        &self,
        id: ExecutionId,
        pending: &[Approval],
        render: Render,
    ) -> Shown {
        let mut envelope = Envelope::new(id, ExecutionStatus::Paused);
        add_pending(&mut envelope, pending);
        Shown::of(with_next_step(envelope), render)
    }

    /// Takes a paused execution and runs it until it ends or waits again. `None` when another process has it.
    pub(super) async fn continue_once(
        &self,
        record: ExecutionRecord,
        answer: &AnswerForm,
        on_ask: OnAsk,
        context: &CallContext,
        why: Why,
    ) -> Result<Option<Ended>, ResumeError> {
        if record.guest_hash == NO_GUEST {
            return self.continue_direct(record, answer, on_ask, context).await;
        }
        let id = record.row.id.clone();
        let principal: Arc<str> = record.row.principal.as_str().into();
        let admitted = tokio::select! {
            place = self.admission.enter(&principal) => place,
            () = context.cancel.cancelled() => {
                return Err(ResumeError::Refused(messages::cancelled()));
            }
        };
        let place = admitted.map_err(|busy| ResumeError::Refused(messages::busy(busy)))?;
        let worker = self.workers.take(record.start.language).await?;
        OtherGuest::check(
            &record.start,
            &record.guest_hash,
            &worker.ready().guest_hash,
        )?;
        // Before it is taken: an execution whose journal is not whole stays as it is.
        let store = &self.broker.store;
        let entries = store.journal(&id).await?;
        if !is_whole(store, &id, entries).await? {
            return Err(ResumeError::Incomplete);
        }
        let taken = match why {
            Why::Decisions => store.take(&id).await?,
            Why::Timer => store.take_due(&id, now_us()).await?,
        };
        let paused = match taken {
            Taken::Lease { paused, .. } => paused,
            Taken::Not(_) => return Ok(None),
            Taken::Unknown => return Err(ResumeError::Unknown),
        };
        // Read once more: what was decided before it was taken is in it.
        let entries = store.journal(&id).await?;
        let journal = Journal::new(store.clone(), id.clone(), self.journal_bytes);
        let journal = journal.continued(&entries);
        let mut playback = Playback::read(entries);
        playback.read_artifacts(store, &id).await?;
        let wall_ms = record.start.limits.wall_ms;
        let wall_ms = paused.map_or(wall_ms, |paused| paused.wall_left_ms.min(wall_ms));
        let scope = match &record.start.scope {
            None => Scope::everything(),
            Some(patterns) => Scope::parse(patterns).map_err(|error| {
                let message = format!("the `tools` patterns of the execution: {error}");
                ResumeError::Refused(ProgramError::new(ErrorKind::Gateway, message))
            })?,
        };
        let attempt = Attempt {
            executor: self,
            id,
            journal,
            scope: Arc::new(scope),
            principal,
            context: context.clone(),
            start: record.start,
            origin: record.row.origin,
            on_ask,
            continued: Some((Arc::new(playback), Duration::from_millis(wall_ms))),
        };
        let outcome = attempt.run(worker).await;
        let ended = attempt
            .conclude(outcome, *answer, Vec::new(), Arc::new(place))
            .await;
        Ok(Some(ended))
    }

    /// Gives an execution up until people have decided: any process may take it from now on.
    pub(super) async fn pause(
        &self,
        id: &ExecutionId,
        paused: &PausedRun,
        envelope: &mut Envelope,
    ) -> Result<(), StoreError> {
        let mut pending = self.pending(id).await?;
        pending.retain(|approval| paused.questions.contains(&approval.id));
        let stored = PausedExecution {
            wall_left_ms: paused.wall_left_ms,
            wake_us: paused.wake_us,
            expires_us: pending.iter().map(|approval| approval.expires_us).min(),
        };
        self.broker.store.pause(id, stored).await?;
        if paused.questions.is_empty() {
            envelope.next_step = Some(UNASKED.to_owned());
        }
        add_pending(envelope, &pending);
        Ok(())
    }
}

/// Why an execution goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// People have decided, or its gateway died.
    Decisions,
    /// A timer of its program is due.
    Timer,
}

/// The time until a timer is due.
fn until_wake(wake_us: Option<u64>) -> Option<Duration> {
    let left_us = wake_us?.saturating_sub(now_us());
    Some(Duration::from_micros(left_us))
}

/// Whether the journal has every result that the program received.
async fn is_whole(
    store: &limbeck_store::Store,
    id: &ExecutionId,
    entries: Vec<limbeck_domain::JournalEntry>,
) -> Result<bool, StoreError> {
    Playback::read(entries).read_artifacts(store, id).await
}

/// Adds the open questions to an answer, and what its reader does next.
fn add_pending(envelope: &mut Envelope, pending: &[Approval]) {
    envelope.pending = pending.iter().map(pending_of).collect();
}

fn pending_of(approval: &Approval) -> PendingApproval {
    PendingApproval {
        approval_id: approval.id.clone(),
        server: approval.tool.server.to_string(),
        tool: approval.tool.tool.to_string(),
        class: approval.class,
        line: approval.line,
        rule: approval.rule.clone(),
        reason: approval.reason.clone(),
        arguments: short_arguments(approval),
        plan_lines: plan_lines(approval),
        expires_at: rfc3339(approval.expires_us),
    }
}

/// The arguments of a question about one call, where an answer has room for them.
fn short_arguments(approval: &Approval) -> Option<Value> {
    let is_short = !approval.is_plan() && approval.arguments.len() <= ARGUMENTS_SHOWN_BYTES_MAX;
    is_short.then(|| serde_json::from_str(&approval.arguments).ok())?
}

fn rfc3339(at_us: u64) -> String {
    let nanos = i128::from(at_us / 1_000_000) * 1_000_000_000;
    OffsetDateTime::from_unix_timestamp_nanos(nanos)
        .ok()
        .and_then(|at| at.format(&Rfc3339).ok())
        .unwrap_or_default()
}
