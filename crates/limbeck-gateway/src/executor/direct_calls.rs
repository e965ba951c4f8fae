//! Direct calls that wait: continued without a worker, and their results given again.

use std::sync::Arc;

use limbeck_domain::{
    ApprovalState, CallCode, CallError, Envelope, ExecutionId, ExecutionStatus, HostCall,
};
use limbeck_store::{ApprovalFilter, ExecutionRecord, NO_GUEST, StoreError, Taken};
use limbeck_upstream::CallContext;
use serde_json::value::RawValue;

use super::execute::Ended;
use super::handle::Executor;
use super::messages;
use super::request::AnswerForm;
use super::resume::ResumeError;
use super::shown::Shown;
use crate::approvals::OnAsk;
use crate::broker::Journal;
use crate::direct::{
    Attempted, Called, DirectAnswer, DirectAttempt, DirectError, RecordedCall, program_error,
};
use crate::store_errors::call_error;

/// Questions of one direct call that are read: it is asked about again a few times at most.
const QUESTIONS_MAX: u32 = 16;
/// What the reader of a paused answer does next. It is a model: a second call would be asked about once more.
const NEXT_STEP: &str = "nothing was sent; do not call the tool again: tell the user what is asked and how to answer (`limbeck approvals`), \
    then call `resume` with this execution_id, which waits for the decision and gives the result of the call";

impl Executor {
    /// Takes a paused direct call and makes it, as far as people have decided. `None` when another process has it.
    pub(super) async fn continue_direct(
        &self,
        record: ExecutionRecord,
        answer: &AnswerForm,
        on_ask: OnAsk,
        context: &CallContext,
    ) -> Result<Option<Ended>, ResumeError> {
        let id = record.row.id.clone();
        let principal: Arc<str> = record.row.principal.as_str().into();
        let admitted = tokio::select! {
            place = self.admission.enter(&principal) => place,
            () = context.cancel.cancelled() => {
                return Err(ResumeError::Refused(messages::cancelled()));
            }
        };
        let _place = admitted.map_err(|busy| ResumeError::Refused(messages::busy(busy)))?;
        let store = &self.broker.store;
        // Before it is taken. A call is paused without a question when there was no room for one: it is as it began.
        let recorded = RecordedCall::read(store.journal(&id).await?);
        let Some(call) = recorded.call.or_else(|| first_call(&record)) else {
            return Err(ResumeError::Incomplete);
        };
        match store.take(&id).await? {
            Taken::Lease { .. } => {}
            Taken::Not(_) => return Ok(None),
            Taken::Unknown => return Err(ResumeError::Unknown),
        }
        // Read once more: what was asked before it was taken is in it.
        let entries = store.journal(&id).await?;
        let journal = Journal::new(store.clone(), id.clone(), self.journal_bytes);
        let journal = journal.continued(&entries);
        let recorded = RecordedCall::read(entries);
        let attempt = DirectAttempt {
            id: id.clone(),
            principal,
            journal,
            call,
            program: record.start.program,
            created_us: record.row.created_us,
            asked: recorded.asked,
        };
        let attempted = attempt.make(&self.broker, context.clone(), on_ask).await;
        let shown = match attempted {
            Attempted::Waits => {
                let pending = self.pending(&id).await?;
                let shown = self.paused_answer(id, &pending, answer.render);
                return Ok(Some(Ended::Paused(Box::new(shown))));
            }
            Attempted::Ended(Ok(result)) => Envelope {
                value: Some(result),
                ..Envelope::new(id, ExecutionStatus::Completed)
            },
            Attempted::Ended(Err(error)) => Envelope {
                error: Some(program_error(&error)),
                ..Envelope::new(id, ExecutionStatus::Failed)
            },
        };
        let shown = Shown::of(shown, answer.render);
        Ok(Some(Ended::Shown(Box::new(shown))))
    }

    /// Waits for a person who decides about a paused direct call of `principal`, makes it, and gives what its client gets.
    ///
    /// # Errors
    ///
    /// [`DirectError`]
    pub(crate) async fn direct_answer(
        &self,
        id: &ExecutionId,
        principal: &str,
        context: CallContext,
    ) -> Result<DirectAnswer, DirectError> {
        let form = AnswerForm::default();
        let resumed = self
            .resume(id.as_str(), Some(principal), form, OnAsk::Wait, context)
            .await;
        let shown = match resumed {
            Ok(shown) if shown.envelope.status == ExecutionStatus::Paused => {
                let envelope = Envelope {
                    next_step: Some(NEXT_STEP.to_owned()),
                    ..shown.envelope
                };
                let shown = Shown::of(envelope, form.render);
                return Ok(DirectAnswer::Paused(Box::new(shown)));
            }
            Ok(shown) => shown,
            Err(ResumeError::Ended(shown)) => *shown,
            Err(error) => {
                let failed = CallError::new(CallCode::GatewayFault, error.to_string());
                return Err(DirectError::Call(match error.hint() {
                    Some(hint) => failed.with_hint(hint),
                    None => failed,
                }));
            }
        };
        let result = self.direct_result(id, principal).await;
        let result = result.map_err(|error| {
            call_error(
                &error,
                "the call was made, and its result could not be read",
            )
        })?;
        result.unwrap_or_else(|| Err(DirectError::Call(ended_without_result(&shown.envelope))))
    }

    /// What the client of a direct call that has ended gets. `None` for every other execution, and for one without a result.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub(crate) async fn direct_result(
        &self,
        id: &ExecutionId,
        principal: &str,
    ) -> Result<Option<Result<DirectAnswer, DirectError>>, StoreError> {
        let store = &self.broker.store;
        let record = store.execution(id.as_str()).await?;
        let is_direct = |record: &ExecutionRecord| {
            record.guest_hash == NO_GUEST && record.row.principal == principal
        };
        let Some(record) = record.filter(is_direct) else {
            return Ok(None);
        };
        let called = Called::recorded(&record.row.origin, &record.start.program);
        let id = record.row.id;
        let Some(outcome) = RecordedCall::read(store.journal(&id).await?).outcome else {
            return Ok(None);
        };
        let result = match outcome.map(RawValue::from_string) {
            Ok(Ok(result)) => result,
            // Retention removed it.
            Ok(Err(_)) => return Ok(None),
            Err(error) => return Ok(Some(Err(DirectError::Call(error)))),
        };
        let asked = ApprovalFilter {
            execution: Some(id),
            limit: QUESTIONS_MAX,
            ..ApprovalFilter::default()
        };
        let asked = store.approvals(asked).await?;
        let spent = asked.iter().find(|it| it.state == ApprovalState::Spent);
        let decided = spent.and_then(|it| it.decisions.last());
        let is_edited = decided.is_some_and(|decision| decision.edited.is_some());
        let note = is_edited.then(|| "an approver changed the arguments of this call".to_owned());
        Ok(Some(Ok(
            match called.is_some_and(|called| called.is_read()) {
                true => DirectAnswer::Read { result, note },
                false => DirectAnswer::Result { result, note },
            },
        )))
    }
}

/// The call of a record, as its client made it.
fn first_call(record: &ExecutionRecord) -> Option<HostCall> {
    let called = Called::recorded(&record.row.origin, &record.start.program)?;
    Some(called.call(record.start.input.clone()))
}

/// The error of a call that ended before it was made.
fn ended_without_result(envelope: &Envelope) -> CallError {
    let Some(error) = &envelope.error else {
        return CallError::new(
            CallCode::GatewayFault,
            "the call was made, and its result is not recorded any more",
        );
    };
    let failed = CallError::new(CallCode::Denied, error.message.as_str());
    match &error.hint {
        Some(hint) => failed.with_hint(hint.as_str()),
        None => failed,
    }
}
