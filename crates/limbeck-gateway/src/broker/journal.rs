//! Journal of one execution: its check, and the intent and outcome of every host call, written before they take effect.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use limbeck_domain::{
    Approval, ApprovalId, ApprovalState, ArtifactId, CallCode, CallError, CallId, Delivered,
    EffectClass, ExecutionId, HostCall, JournalEntry, ModelTerms, RecordedErasure, ServerName,
    ToolId, Verdict,
};
use limbeck_store::{Charge, Counted, Spent, Store, StoreError};
use tokio_util::sync::CancellationToken;

use super::result_bytes;
use super::tool_calls::{CallTally, ToolCalls};
use crate::clock::now_us;
use crate::ledger::{CallMeter, CallUsage};
use crate::models::{ModelCalls, ModelTally};
use crate::store_errors::call_error;

/// Bytes of an entry besides its texts, estimated.
const ENTRY_BYTES: usize = 128;

/// Journal of one execution. Entries of reads are queued; entries of calls that may write are on disk before the
/// method returns.
///
/// It has a largest size: the entry that exceeds it is written, nothing is sent after it, and
/// [`Journal::full`] ends the execution.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    /// `None` for a call outside of any execution.
    record: Option<(Store, ExecutionId)>,
    meter: Arc<Mutex<CallMeter>>,
    tally: Arc<Mutex<CallTally>>,
    models: Arc<Mutex<ModelTally>>,
    size: Arc<Mutex<Size>>,
    bytes_max: u64,
    full: CancellationToken,
}

/// Size of a journal, and what is open in it.
#[derive(Debug, Default)]
struct Size {
    bytes: u64,
    /// Artifacts whose contents the store keeps for the journal.
    artifacts: BTreeSet<ArtifactId>,
    /// Calls that have an entry and no outcome.
    open: BTreeSet<CallId>,
}

/// A call that is about to be sent.
#[derive(Debug)]
pub(crate) struct Intent<'a> {
    /// The call as the guest made it.
    pub(crate) call: HostCall,
    /// The tool it resolved to.
    pub(crate) tool: &'a ToolId,
    /// What it may do.
    pub(crate) effect: EffectClass,
    /// Its idempotency key.
    pub(crate) key: Option<String>,
    /// Line of the accepted plan that lets it out.
    pub(crate) plan_line: Option<u32>,
}

impl Intent<'_> {
    /// The entry of a call that is sent now.
    fn into_entry(self) -> JournalEntry {
        let Self {
            call,
            tool,
            effect,
            key,
            plan_line,
        } = self;
        JournalEntry::Call {
            call,
            tool: Some(tool.clone()),
            arguments_removed: None,
            key,
            sent_us: Some(now_us()),
            effect,
            sent: true,
            plan_line,
        }
    }
}

impl Journal {
    /// Journal of at most `bytes_max`.
    pub(crate) fn new(store: Store, id: ExecutionId, bytes_max: u64) -> Self {
        Self {
            record: Some((store, id)),
            meter: Arc::default(),
            tally: Arc::default(),
            models: Arc::default(),
            size: Arc::default(),
            bytes_max,
            full: CancellationToken::new(),
        }
    }

    /// The journal of an execution that is continued: its entries so far count.
    pub(crate) fn continued(self, entries: &[JournalEntry]) -> Self {
        for entry in entries {
            self.count(entry);
            match entry {
                JournalEntry::Call {
                    call,
                    tool: Some(tool),
                    sent: true,
                    ..
                } => self.meter().sent(call.id, &tool.server, call.body.len()),
                JournalEntry::Outcome { id, result, .. } => {
                    self.meter().ended(*id, result_bytes(result));
                }
                _ => {}
            }
        }
        self
    }

    /// Journal of a call outside of any execution: nothing is written.
    pub(crate) fn unrecorded() -> Self {
        Self {
            record: None,
            meter: Arc::default(),
            tally: Arc::default(),
            models: Arc::default(),
            size: Arc::default(),
            bytes_max: u64::MAX,
            full: CancellationToken::new(),
        }
    }

    /// Bytes of the calls that were sent so far, by server.
    pub(crate) fn usage(&self) -> BTreeMap<ServerName, CallUsage> {
        self.meter().usage()
    }

    /// Calls of tools that have ended so far.
    pub(crate) fn tool_calls(&self) -> ToolCalls {
        self.tally().calls()
    }

    /// Questions to models that have ended so far, of an execution with these terms.
    pub(crate) fn model_calls(&self, terms: &ModelTerms) -> ModelCalls {
        self.models().calls(terms)
    }

    /// Rounds and tokens that questions to models have used so far.
    pub(crate) fn models_used(&self) -> (u32, u64) {
        self.models().used()
    }

    /// The most bytes that the journal may have.
    pub(crate) fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// Cancelled when the journal has as many bytes as it may have.
    pub(crate) fn full(&self) -> &CancellationToken {
        &self.full
    }

    /// Whether a call has an entry and no outcome.
    pub(crate) fn is_open(&self, id: CallId) -> bool {
        self.size().open.contains(&id)
    }

    fn size(&self) -> MutexGuard<'_, Size> {
        self.size.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn models(&self) -> MutexGuard<'_, ModelTally> {
        self.models.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tally(&self) -> MutexGuard<'_, CallTally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an entry that is written next.
    fn count(&self, entry: &JournalEntry) {
        self.tally().note(entry);
        self.models().note(entry);
        let mut size = self.size();
        let bytes = match entry {
            JournalEntry::Call { call, .. } => {
                size.open.insert(call.id);
                call.head.len() + call.body.len()
            }
            JournalEntry::Outcome { id, result, .. } => {
                size.open.remove(id);
                result_bytes(result)
            }
            JournalEntry::Part { id, .. } => {
                size.open.remove(id);
                0
            }
            JournalEntry::Check { sites, .. } => sites.len(),
            JournalEntry::Erased(program) => program.bytes(),
            JournalEntry::Removed { .. }
            | JournalEntry::Delivered(_)
            | JournalEntry::Asked { .. }
            | JournalEntry::PlanAsked { .. }
            | JournalEntry::PlanSettled { .. }
            | JournalEntry::Decided { .. }
            | JournalEntry::Settled { .. }
            | JournalEntry::Took { .. }
            | JournalEntry::Ended { .. } => 0,
        };
        self.grow(&mut size, bytes);
    }

    fn grow(&self, size: &mut Size, bytes: usize) {
        size.bytes = size.bytes.saturating_add((bytes + ENTRY_BYTES) as u64);
        if size.bytes > self.bytes_max {
            self.full.cancel();
        }
    }

    fn meter(&self) -> MutexGuard<'_, CallMeter> {
        self.meter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A check of the program, before its verdict is sent to the worker.
    pub(crate) async fn check(&self, sites: String, verdict: Verdict, started: Instant) {
        let entry = JournalEntry::Check {
            sites,
            verdict,
            took_us: elapsed_us(started),
        };
        self.append(entry).await;
    }

    /// The program as the guest runs it, before its first call.
    pub(crate) async fn erased(&self, program: RecordedErasure) {
        self.append(JournalEntry::Erased(program)).await;
    }

    /// A call that is not sent to an upstream, or that only reads.
    pub(crate) async fn call(
        &self,
        call: HostCall,
        tool: Option<ToolId>,
        effect: EffectClass,
        sent: bool,
    ) {
        let entry = JournalEntry::Call {
            call,
            tool,
            arguments_removed: None,
            key: None,
            sent_us: None,
            effect,
            sent,
            plan_line: None,
        };
        self.append(entry).await;
    }

    /// A call that is about to be sent; `plan_line` is the line of the program's plan that allows it.
    ///
    /// # Errors
    ///
    /// [`CallError`] when the call may write and the intent is not on disk: it must not be sent.
    pub(crate) async fn intent(&self, intent: Intent<'_>) -> Result<(), CallError> {
        let tool = intent.tool;
        if self.full.is_cancelled() {
            return Err(full(self.bytes_max).with_target(tool.server.as_str(), &*tool.tool));
        }
        self.note_sent(&intent);
        let fails_closed = self
            .record
            .as_ref()
            .is_some_and(|(store, _)| store.fails_closed());
        if !intent.effect.may_write() && !fails_closed {
            let Intent { call, effect, .. } = intent;
            self.call(call, Some(tool.clone()), effect, true).await;
            return Ok(());
        }
        self.append_durable(intent.into_entry())
            .await
            .map_err(|error| {
                call_error(
                    &error,
                    "the journal could not be written, so the call was not sent",
                )
                .with_target(tool.server.as_str(), &*tool.tool)
            })
    }

    /// The intent of a call that budgets count, with `approval` spent where a person allowed it: all in one transaction, or,
    /// where a budget has no room, nothing.
    ///
    /// # Errors
    ///
    /// [`CallError`] when nothing was written: the call must not be sent.
    pub(crate) async fn intent_counted(
        &self,
        intent: Intent<'_>,
        approval: Option<&ApprovalId>,
        charges: Vec<Charge>,
    ) -> Result<Counted, CallError> {
        let tool = intent.tool.clone();
        let refused = |error: CallError| error.with_target(tool.server.as_str(), &*tool.tool);
        let Some((store, id)) = &self.record else {
            return Ok(Counted::Now);
        };
        if self.full.is_cancelled() {
            return Err(refused(full(self.bytes_max)));
        }
        let (call, bytes) = (intent.call.id, intent.call.body.len());
        let durable = intent.effect.may_write();
        let entry = intent.into_entry();
        let written = match approval {
            Some(approval) => {
                let spent = store.spend_counted(id, approval, entry.clone(), now_us(), charges);
                spent.await
            }
            None => {
                let counted = store.append_counted(id, entry.clone(), charges, durable);
                counted.await.map(|counted| (Spent::Now, counted))
            }
        };
        let (spent, counted) = written.map_err(|error| {
            let what = "the journal could not be written, so the call was not sent";
            refused(call_error(&error, what))
        })?;
        if let Spent::NotApproved(state) = spent {
            return Err(refused(not_approved(state)));
        }
        if counted == Counted::Now {
            self.meter().sent(call, &tool.server, bytes);
            self.count(&entry);
        }
        Ok(counted)
    }

    fn note_sent(&self, intent: &Intent<'_>) {
        let Intent { call, tool, .. } = intent;
        self.meter().sent(call.id, &tool.server, call.body.len());
    }

    /// The execution; `None` for a call outside of any.
    pub(crate) fn execution(&self) -> Option<&ExecutionId> {
        self.record.as_ref().map(|(_, id)| id)
    }

    /// A question about a call, on disk before any person sees it.
    pub(crate) async fn ask(&self, call: HostCall, approval: Approval) -> Result<(), StoreError> {
        let Some((store, id)) = &self.record else {
            return Ok(());
        };
        let entry = JournalEntry::Asked {
            call,
            tool: approval.tool.clone(),
            approval: approval.id.clone(),
        };
        store.ask(id, vec![(entry.clone(), approval)]).await?;
        self.count(&entry);
        Ok(())
    }

    /// A question about the plan of the program, on disk before any person sees it.
    pub(crate) async fn ask_plan(&self, approval: Approval) -> Result<(), StoreError> {
        let Some((store, id)) = &self.record else {
            return Ok(());
        };
        let entry = JournalEntry::PlanAsked {
            approval: approval.id.clone(),
        };
        store.ask(id, vec![(entry.clone(), approval)]).await?;
        self.count(&entry);
        Ok(())
    }

    /// Spends the approval of the program's plan, with these lines of it: the program starts. `Ok(Some)` is the state of an
    /// approval that counts no more.
    pub(crate) async fn settle_plan(
        &self,
        approval: &ApprovalId,
        lines: Vec<u32>,
    ) -> Result<Option<ApprovalState>, StoreError> {
        let Some((store, id)) = &self.record else {
            return Ok(None);
        };
        let entry = JournalEntry::PlanSettled {
            approval: approval.clone(),
            lines,
        };
        self.count(&entry);
        match store.spend(id, approval, entry, now_us()).await? {
            Spent::Now => Ok(None),
            Spent::NotApproved(state) => Ok(Some(state)),
        }
    }

    /// A question that the choice called `remembered` answers, approved, with its decisions; `None` when the choice counts no
    /// more, and nothing was written.
    pub(crate) async fn ask_remembered(
        &self,
        call: HostCall,
        approval: Approval,
        remembered: String,
    ) -> Result<Option<Approval>, StoreError> {
        let Some((store, id)) = &self.record else {
            return Ok(None);
        };
        let entry = JournalEntry::Asked {
            call,
            tool: approval.tool.clone(),
            approval: approval.id.clone(),
        };
        let asked = store.ask_remembered(id, entry.clone(), approval, remembered, now_us());
        let asked = asked.await?;
        if asked.is_some() {
            self.count(&entry);
        }
        Ok(asked)
    }

    /// A call that a person allowed and that is about to be sent: its intent is written and the approval spent, together.
    ///
    /// # Errors
    ///
    /// [`CallError`] when the approval counts no more or the intent is not on disk: the call must not be sent.
    pub(crate) async fn intent_approved(
        &self,
        intent: Intent<'_>,
        approval: &ApprovalId,
    ) -> Result<(), CallError> {
        let tool = intent.tool;
        let refused = |error: CallError| error.with_target(tool.server.as_str(), &*tool.tool);
        let Some((store, id)) = &self.record else {
            return Err(refused(CallError::new(
                CallCode::GatewayFault,
                "a call outside of any execution has no approval to spend",
            )));
        };
        if self.full.is_cancelled() {
            return Err(refused(full(self.bytes_max)));
        }
        self.note_sent(&intent);
        let entry = intent.into_entry();
        self.count(&entry);
        match store.spend(id, approval, entry, now_us()).await {
            Ok(Spent::Now) => Ok(()),
            Ok(Spent::NotApproved(state)) => Err(refused(not_approved(state))),
            Err(error) => Err(refused(call_error(
                &error,
                "the journal could not be written, so the call was not sent",
            ))),
        }
    }

    /// Outcome of a call that was not sent to an upstream.
    pub(crate) async fn outcome(
        &self,
        id: CallId,
        result: Result<&str, &CallError>,
        started: Instant,
    ) {
        let entry = outcome_entry(id, result, started, false);
        self.append(entry).await;
    }

    /// Outcome of a call that was answered with a part of an artifact of `bytes`: the journal refers to the content.
    pub(crate) async fn part(
        &self,
        id: CallId,
        artifact: ArtifactId,
        bytes: usize,
        started: Instant,
    ) {
        {
            let mut size = self.size();
            if size.artifacts.insert(artifact.clone()) {
                self.grow(&mut size, bytes);
            }
        }
        let took_us = elapsed_us(started);
        self.append(JournalEntry::Part {
            id,
            artifact,
            took_us,
        })
        .await;
    }

    /// Outcome of a call that was sent. Once this returns, the guest may get the result.
    ///
    /// # Errors
    ///
    /// [`CallError`] when the call may have written and its outcome is not on disk.
    pub(crate) async fn outcome_of(
        &self,
        id: CallId,
        result: Result<&str, &CallError>,
        effect: EffectClass,
        not_sent: bool,
        started: Instant,
    ) -> Result<(), CallError> {
        let bytes = match result {
            Ok(text) => text.len(),
            Err(error) => error.message.len(),
        };
        self.meter().ended(id, bytes);
        let entry = outcome_entry(id, result, started, not_sent);
        if !effect.may_write() {
            self.append(entry).await;
            return Ok(());
        }
        let written = self.append_durable(entry).await;
        written.map_err(|error| {
            let error = call_error(
                &error,
                "the call was made but its outcome could not be written",
            );
            // Not the hint for the disk alone: a user who follows it and runs the program again writes twice.
            let disk = error.hint.as_deref().unwrap_or_default();
            let hint =
                format!("the call may have had its effect: check before repeating it; {disk}");
            error.with_hint(hint.trim_end_matches("; "))
        })
    }

    /// A delivery, before the guest gets it.
    pub(crate) async fn delivered(&self, delivered: Delivered) {
        self.append(JournalEntry::Delivered(delivered)).await;
    }

    /// Queues an entry. One that cannot be queued costs the replay of this execution and nothing else.
    async fn append(&self, entry: JournalEntry) {
        let Some((store, id)) = &self.record else {
            return;
        };
        self.count(&entry);
        if let Err(error) = store.append(id, entry).await {
            tracing::error!(execution = %id, error = &error as &dyn std::error::Error, "journal entry lost");
        }
    }

    async fn append_durable(&self, entry: JournalEntry) -> Result<(), StoreError> {
        match &self.record {
            Some((store, id)) => {
                self.count(&entry);
                store.append_durable(id, entry).await
            }
            None => Ok(()),
        }
    }
}

fn outcome_entry(
    id: CallId,
    result: Result<&str, &CallError>,
    started: Instant,
    not_sent: bool,
) -> JournalEntry {
    JournalEntry::Outcome {
        id,
        result: result.map(str::to_owned).map_err(CallError::clone),
        took_us: elapsed_us(started),
        not_sent,
    }
}

/// The error of a call whose approval counts no more.
fn not_approved(state: ApprovalState) -> CallError {
    let state = state.as_str();
    let message = format!("the approval of this call is {state}, so it was not sent");
    CallError::new(CallCode::Denied, message)
}

/// The error of a call that is not sent because the journal has no room for it.
fn full(bytes_max: u64) -> CallError {
    let message =
        format!("the journal of this execution has {bytes_max} bytes, so the call was not sent");
    CallError::new(CallCode::LimitExceeded, message)
        .with_hint("split the work over several executions, or ask for less data")
}

fn elapsed_us(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX)
}
