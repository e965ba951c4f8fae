//! Methods about executions that wait: their questions, how they are continued or ended, and calls in doubt.

use limbeck_domain::{Approval, ApprovalId, CallId, ExecutionId, Settlement};
use limbeck_store::{ApprovalFilter, DoubtfulCall, StoreError};
use limbeck_upstream::CallContext;

use super::Gateway;
use crate::approvals::{Decider, DecisionError, DecisionReport, DecisionRequest, OnAsk};
use crate::clock::now_us;
use crate::executor::{AnswerForm, ResumeError, Shown, StoppedBy};
use crate::waiting_execution::WaitingExecution;

/// Questions that are listed at once.
pub(super) const APPROVALS_LISTED_MAX: u32 = 1_000;

impl Gateway {
    /// Questions about calls, oldest first: of one principal's executions, of one execution, or of all.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub async fn pending_approvals(
        &self,
        principal: Option<&str>,
        execution: Option<&ExecutionId>,
        only_pending: bool,
    ) -> Result<Vec<Approval>, StoreError> {
        self.parts.broker.approvals.end_expired().await;
        let filter = ApprovalFilter {
            execution: execution.cloned(),
            principal: principal.map(str::to_owned),
            only_pending,
            limit: APPROVALS_LISTED_MAX,
            ..ApprovalFilter::default()
        };
        self.store().approvals(filter).await
    }

    /// One question.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub async fn approval(&self, id: &ApprovalId) -> Result<Option<Approval>, StoreError> {
        self.store().approval(id).await
    }

    /// Whether a call may have to be asked about, by the rules or the preset.
    pub fn can_pause(&self) -> bool {
        self.policy().asks()
    }

    /// Records a decision about a question, once the right of who gives it was checked.
    ///
    /// # Errors
    ///
    /// [`DecisionError`]; then nothing was decided.
    pub async fn decide(&self, request: DecisionRequest) -> Result<DecisionReport, DecisionError> {
        self.parts.broker.decide(request).await
    }

    /// What a person is shown of a question, whole.
    pub async fn question_text(&self, approval: &Approval) -> String {
        self.parts.broker.question_text(approval).await
    }

    /// Continues an execution as far as people have decided; see [`Gateway::answer`].
    ///
    /// # Errors
    ///
    /// [`ResumeError`]
    pub async fn resume(
        &self,
        execution: &str,
        principal: Option<&str>,
        answer: AnswerForm,
        on_ask: OnAsk,
        context: CallContext,
    ) -> Result<Shown, ResumeError> {
        let executor = &self.parts.executor;
        let resumed = executor.resume(execution, principal, answer, on_ask, context);
        match (resumed.await, principal) {
            // A client gets no more of it than of the answer that it lost.
            (Err(ResumeError::Ended(whole)), Some(principal)) => {
                let shown = executor.given_again(*whole, principal, answer).await;
                Err(ResumeError::Ended(Box::new(shown)))
            }
            (resumed, _) => resumed,
        }
    }

    /// Wakes programs that wait for people when their timers are due, for as long as this gateway runs.
    pub fn keep_timers(&self) {
        self.parts.timers.keep(&self.parts.executor);
    }

    /// Whether this gateway could go on with an execution once its questions are decided: it has their servers and rules.
    ///
    /// # Errors
    ///
    /// [`ResumeError`], which names what is missing.
    pub async fn check_resumable(&self, execution: &ExecutionId) -> Result<(), ResumeError> {
        self.parts.executor.check_resumable(execution).await
    }

    /// Ends a paused execution, and withdraws its questions.
    ///
    /// # Errors
    ///
    /// [`ResumeError`]
    pub async fn stop(
        &self,
        execution: &str,
        principal: Option<&str>,
        by: StoppedBy,
    ) -> Result<Shown, ResumeError> {
        self.parts.executor.stop(execution, principal, by).await
    }

    /// Calls of an execution that may have happened.
    ///
    /// # Errors
    ///
    /// [`ResumeError::Unknown`] and [`ResumeError::Store`]
    pub async fn in_doubt(
        &self,
        execution: &str,
    ) -> Result<(ExecutionId, Vec<DoubtfulCall>), ResumeError> {
        self.parts.executor.in_doubt(execution).await
    }

    /// Records what happened to a call in doubt, by the word of `decider`.
    ///
    /// # Errors
    ///
    /// [`ResumeError`]
    pub async fn settle(
        &self,
        execution: &str,
        call: CallId,
        how: Settlement,
        decider: Decider,
    ) -> Result<(), ResumeError> {
        let settled = self.parts.executor.settle(execution, call, how).await;
        tracing::info!(execution, call = %call, by = ?decider.who, "what happened to a call in doubt was recorded");
        settled
    }

    /// The key that seals what clients keep for the gateway. It is in the state file, for all processes that have it open.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub async fn sealing_key(&self, candidate: [u8; 32]) -> Result<Vec<u8>, StoreError> {
        self.store().sealing_key(candidate).await
    }

    /// Notes that a sealed state was used, and returns whether it was not used before, in any process. It expires at
    /// `expires_us`, in microseconds since 1970.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub async fn spend_state(&self, id: &str, expires_us: u64) -> Result<bool, StoreError> {
        self.store().spend_state(id, expires_us, now_us()).await
    }

    /// How far an execution is, and what it waits for. `id` is a whole id; `None` when `principal` has no such execution.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub async fn waiting_execution(
        &self,
        id: &str,
        principal: &str,
    ) -> Result<Option<WaitingExecution>, StoreError> {
        self.parts.broker.waiting_execution(id, principal).await
    }
}
