//! Sending of a call that was decided, by the policy that is in force when its server gets it.

use std::sync::Arc;

use limbeck_catalog::Tool;
use limbeck_domain::CallError;
use limbeck_upstream::{
    CallContext, RawToolResult, RequestKey, Turn, UnaskedQuestions, UpstreamError,
};
use serde_json::value::RawValue;

use super::Broker;
use super::invoke::CallerKind;
use super::prepare::{DecidedCall, PreparedCall, RefusedCall};
use super::progress_prefix::ProgressPrefix;
use crate::budgets::{BudgetedCall, SamplingGate};
use crate::policy_in_force::PolicyVersion;

impl Broker {
    /// The call with a decision of the newest policy.
    #[expect(
        clippy::result_large_err,
        reason = "the other steps of a call return it unboxed as well"
    )]
    pub(super) fn by_newest_policy(
        &self,
        prepared: PreparedCall,
    ) -> Result<PreparedCall, RefusedCall> {
        if !prepared.decided.by.is_replaced() {
            return Ok(prepared);
        }
        let PreparedCall {
            tool,
            decided,
            note,
            key,
        } = prepared;
        let DecidedCall {
            permit, approved, ..
        } = decided;
        let counted = permit.plan_line();
        let decided = self.decide(permit.spend(), &tool, approved.as_ref(), counted);
        let decided = decided.map_err(|error| RefusedCall::of(&tool, error))?;
        Ok(PreparedCall {
            tool,
            decided,
            note,
            key,
        })
    }

    /// Sends a call. Where another policy comes into force before the server has it, that one decides.
    ///
    /// # Errors
    ///
    /// The error of a call that the newest policy denies, which was not sent.
    pub(super) async fn send(
        &self,
        tool: &Tool,
        mut decided: DecidedCall,
        caller_kind: CallerKind,
        place: Option<Arc<Turn>>,
        unasked: UnaskedQuestions,
        key: Option<RequestKey>,
    ) -> Result<Result<Box<RawValue>, UpstreamError>, CallError> {
        let cancel = self.cancel_of(decided.effect()).child_token();
        let caller = self.caller.clone();
        let caller = match caller_kind {
            // A client sees one progress for the whole program, so each message names its tool.
            CallerKind::Program => caller.map(|caller| ProgressPrefix::begin(caller, tool.id())),
            CallerKind::Direct | CallerKind::Once => caller,
        };
        let caller = caller.map(|caller| {
            let call = BudgetedCall {
                principal: self.principal(),
                tool: tool.id(),
                class: decided.effect(),
                bytes_sent: 0,
            };
            let store = &self.context.store;
            SamplingGate::before(caller, &decided.by, call, store, self.journal.execution())
        });
        let context = CallContext {
            unasked,
            place,
            key,
            ..self.call_context(cancel.clone()).with_observer(caller)
        };
        loop {
            let DecidedCall {
                permit,
                by,
                approved,
            } = decided;
            let (call, counted) = (permit.call().clone(), permit.plan_line());
            let context = CallContext {
                pass: by.pass(),
                ..context.clone()
            };
            let sent = self.context.upstreams.call(permit, context).await;
            if !is_withdrawn(&sent, &by) || cancel.is_cancelled() {
                return Ok(sent.map(|RawToolResult(result)| result));
            }
            decided = self.decide(call, tool, approved.as_ref(), counted)?;
        }
    }
}

/// Whether a request was not sent because another policy came into force.
pub(crate) fn is_withdrawn<T>(sent: &Result<T, UpstreamError>, by: &PolicyVersion) -> bool {
    matches!(sent, Err(UpstreamError::CancelledUnsent)) && by.is_replaced()
}
