//! Admission of a call of a program or of a client, which a person may have to allow first.
//!
//! While a person thinks, the call holds nothing that others wait for: no room for its result, no place at its server. After
//! the answer everything is decided again, because tools and rules may have changed meanwhile.

use std::sync::Arc;

use limbeck_catalog::Tool;
use limbeck_domain::{CallCode, CallError, HostCall, ToolTarget};
use limbeck_policy::Question;

use super::Broker;
use super::answer_budget::{CALL_BYTES_MIN, Work};
use super::budgets::lets_out;
use super::invoke::AdmittedCall;
use super::prepare::{Prepared, RefusedCall};
use crate::approvals::Approved;

/// Questions about one call: its tool or the rules may change while the person thinks.
pub(super) const ASKED_MAX: usize = 3;

impl Broker {
    /// Admits a call of an execution: asks a person where the policy says so, reserves room for the result, and waits until the
    /// server can take the call and the results that are here leave room for another. `is_paced` of a call that has taken its place
    /// in its rates before.
    pub(super) async fn admit_approved(
        &self,
        target: &ToolTarget,
        call: &HostCall,
        is_paced: bool,
    ) -> Result<AdmittedCall, RefusedCall> {
        let mut approved: Option<Arc<Approved>> = None;
        for _ in 0..=ASKED_MAX {
            let mut room = Some(self.answers.reserve(Work::Remote, CALL_BYTES_MIN).await);
            let edited = approved.as_ref().and_then(|it| it.edited.as_deref());
            let arguments = edited.unwrap_or(&call.body);
            let prepared = self.prepare_or_ask(target, call.id, arguments, approved.as_ref());
            let prepared = match prepared.await {
                Err(refused) if refused.error.code == CallCode::Denied => {
                    let asked = self
                        .held_and_asked(call, arguments, approved.as_deref())
                        .await;
                    let (tool, question) = asked.ok_or(refused)?;
                    Prepared::Ask { tool, question }
                }
                prepared => prepared?,
            };
            let repeated = match &prepared {
                Prepared::Call(prepared) if approved.is_none() => {
                    let question = self.repeated(call, &prepared.decided.permit);
                    question.map(|question| (Arc::clone(&prepared.tool), question))
                }
                Prepared::Call(_) | Prepared::Ask { .. } => None,
            };
            let by_budget = match (&repeated, &prepared) {
                (None, Prepared::Call(prepared)) => {
                    let permit = &prepared.decided.permit;
                    let budgets = self.budgets_of_permit(permit);
                    let asked = self.asked_by_budget(&budgets, permit, approved.as_deref());
                    let refused = |error| RefusedCall::of(&prepared.tool, error);
                    let mut asked = asked.await.map_err(refused)?;
                    if asked.is_none() && !is_paced {
                        if budgets.may_wait() {
                            // What waits its turn in a rate holds nothing that others wait for.
                            room = None;
                        }
                        let paced = self.paced(&budgets, Some(permit), approved.as_deref());
                        asked = paced.await.map_err(refused)?;
                    }
                    asked.map(|question| (Arc::clone(&prepared.tool), question))
                }
                (Some((tool, question)), _) | (None, Prepared::Ask { tool, question }) => {
                    let refused = self.refused_before_asking(question).await;
                    refused.map_err(|error| RefusedCall::of(tool, error))?;
                    None
                }
            };
            let (tool, question) = match (by_budget.or(repeated), prepared) {
                (Some(asked), _) => asked,
                (None, Prepared::Call(mut prepared)) => {
                    // The rules may ask no more: what a person said about this call counts all the same.
                    if approved.is_none()
                        && let Some(error) = self.denied_earlier(call, &prepared.tool).await
                    {
                        return Err(RefusedCall::of(&prepared.tool, error));
                    }
                    if edited.is_some() {
                        prepared.note = Some(edited_note(call, prepared.note.take()));
                    }
                    let room = match room {
                        Some(room) => room,
                        None => self.answers.reserve(Work::Remote, CALL_BYTES_MIN).await,
                    };
                    let slot = self.slot_at(&prepared.tool.id().server).await;
                    let effect = prepared.decided.effect();
                    if !effect.may_write() && self.reads.is_cancelled() {
                        return Err(RefusedCall::cancelled());
                    }
                    let mut admitted = self.placed(prepared, Some(room), slot).await?;
                    admitted.lets_out = lets_out(approved.as_deref());
                    admitted.approval = approved.map(|it| it.id.clone());
                    return Ok(admitted);
                }
                (None, Prepared::Ask { tool, question }) => (tool, question),
            };
            drop(room);
            if let Some(earlier) = approved.take() {
                self.withdraw(&earlier).await;
            }
            let pin = self.context.live_catalog.pin_of(&tool);
            let answer = tokio::select! {
                biased;
                answer = self.approved(call, &tool, &question, &pin) => answer,
                // The program has returned and did not wait for the call. A person may take a day, so it is not waited for.
                () = self.reads.cancelled() => Err(CallError::new(
                    CallCode::Cancelled,
                    "the program returned before a person had decided, so it was not sent",
                )
                .with_target(tool.id().server.as_str(), &*tool.id().tool)),
            };
            let answer = answer.map_err(|error| RefusedCall::of(&tool, error))?;
            approved = Some(Arc::new(answer));
            // The definition that the person was shown may be gone: a server that was started again, or that does not say that its
            // tools changed, is asked for its list before the call is decided again.
            self.list_for(&tool.id().server, target).await?;
        }
        Err(RefusedCall::unsettled(target))
    }

    /// The new question about a call whose tool was changed and held after a person was asked about it, in this process or
    /// before the execution was continued.
    async fn held_and_asked(
        &self,
        call: &HostCall,
        arguments: &str,
        approved: Option<&Approved>,
    ) -> Option<(Arc<Tool>, Box<Question>)> {
        if let Some(Approved { ticket, .. }) = approved {
            let asked = (&ticket.tool, ticket.pin.as_deref());
            return self.question_about_held(call, arguments, asked);
        }
        let id = self.asks.recorded(call.id)?;
        let earlier = self.context.store.approval(id).await.ok()??;
        self.question_about_held(call, arguments, (&earlier.tool, None))
    }

    /// Ends a question whose answer does not fit the call any more.
    pub(super) async fn withdraw(&self, approved: &Approved) {
        if let Err(error) = self.context.store.withdraw(&approved.id).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "a question could not be withdrawn"
            );
        }
    }
}

/// Reports to the reader that the server got other arguments than the program gave.
pub(super) fn edited_note(call: &HostCall, note: Option<String>) -> String {
    let edited = format!("an approver changed the arguments of call {}", call.id);
    match note {
        Some(note) => format!("{note}; {edited}"),
        None => edited,
    }
}
