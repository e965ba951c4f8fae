//! Budgets on the path of a call: asked about, waited for, and counted with the intent.

use std::time::Duration;

use limbeck_domain::{ApprovalId, CallError, EffectClass, HostCall, ToolId};
use limbeck_policy::budget::{Budget, OnExceed};
use limbeck_policy::{Permit, Question};
use limbeck_store::{Charge, Counted, OverBudget};

use super::Broker;
use super::invoke::AdmittedCall;
use super::journal::Intent;
use super::prepare::{PreparedCall, RefusedCall};
use crate::approvals::Approved;
use crate::budgets::{BudgetedCall, CallBudgets, left_of};
use crate::clock::now_us;
use crate::config::other_principal;
use crate::store_errors::{call_error, query_error};

/// Why a call was not sent: the store failed.
const NOT_COUNTED: &str = "the call could not be counted on its budgets, so it was not sent";

impl Broker {
    /// The budgets about a call with `bytes_sent` of arguments, by the newest policy.
    pub(super) fn budgets_of(
        &self,
        tool: &ToolId,
        class: EffectClass,
        bytes_sent: usize,
    ) -> CallBudgets {
        let call = BudgetedCall {
            principal: &self.principal,
            tool,
            class,
            bytes_sent,
        };
        CallBudgets::of(&self.context.policy.newest(), call, now_us())
    }

    /// The budgets about a call that has its permit.
    pub(super) fn budgets_of_permit(&self, permit: &Permit) -> CallBudgets {
        let call = permit.call();
        let bytes = call.arguments.as_str().len();
        self.budgets_of(&call.tool, permit.class().class, bytes)
    }

    /// The error of a call that a budget refuses, before a person is asked about it.
    pub(super) async fn refused_before_asking(&self, question: &Question) -> Result<(), CallError> {
        let bytes = question.arguments().as_str().len();
        let budgets = self.budgets_of(question.tool(), question.class().class, bytes);
        match self.over(&budgets, true).await? {
            Some(over) => Err(budgets.refusal(&over)),
            None => Ok(()),
        }
    }

    /// The question about a permitted call that a budget which asks has no room for. `approved` is what a person let out.
    ///
    /// # Errors
    ///
    /// The error of a call that a budget refuses.
    pub(super) async fn asked_by_budget(
        &self,
        budgets: &CallBudgets,
        permit: &Permit,
        approved: Option<&Approved>,
    ) -> Result<Option<Box<Question>>, CallError> {
        let Some(over) = self.over(budgets, lets_out(approved)).await? else {
            return Ok(None);
        };
        match budgets.asks(&over) {
            None => Err(budgets.refusal(&over)),
            Some(budget) => Ok(Some(self.question_of(
                permit,
                budget,
                budgets.reason(&over),
            ))),
        }
    }

    fn question_of(&self, permit: &Permit, budget: &Budget, reason: String) -> Box<Question> {
        let by = self.context.policy.newest();
        by.ask_over_budget(permit, &self.scope, &self.requester(), budget, reason)
    }

    async fn over(
        &self,
        budgets: &CallBudgets,
        is_allowed: bool,
    ) -> Result<Option<OverBudget>, CallError> {
        if budgets.counts_nothing() {
            return Ok(None);
        }
        let store = &self.context.store;
        let used = store.used_of(self.journal.execution(), budgets.charges(is_allowed));
        let used = used
            .await
            .map_err(|error| call_error(&error, NOT_COUNTED))?;
        Ok(budgets.first_over(&used, is_allowed))
    }

    /// Takes the call's place in its rates, and waits for it where they queue. The question where a rate asks.
    ///
    /// # Errors
    ///
    /// The error of a call that a rate refuses, and of one whose program ended while it waited.
    pub(super) async fn paced(
        &self,
        budgets: &CallBudgets,
        permit: Option<&Permit>,
        approved: Option<&Approved>,
    ) -> Result<Option<Box<Question>>, CallError> {
        let rates = budgets.rate_charges(lets_out(approved));
        if rates.is_empty() {
            return Ok(None);
        }
        tokio::select! {
            biased;
            // A program that has ended does not wait for what it did not wait for itself.
            () = self.reads.cancelled() => Err(RefusedCall::cancelled().error),
            paced = async {
                let principal = other_principal(&self.principal);
                let mut turns = Vec::new();
                for bucket in budgets.queues() {
                    let queues = &self.context.rate_queues;
                    turns.push(queues.take(bucket, principal.as_ref()).await);
                }
                loop {
                    let now = now_us();
                    let taken = self.context.store.take_rates(rates.clone(), now).await;
                    let taken = taken.map_err(|error| call_error(&error, NOT_COUNTED))?;
                    let Counted::Over(over) = taken else {
                        return Ok(None);
                    };
                    let Some(budget) = budgets.rate(&over) else {
                        return Err(budgets.rate_refusal(&over, now));
                    };
                    match (budget.on_exceed, permit) {
                        (OnExceed::Queue, _) => {
                            let until = over.until_us.unwrap_or(now);
                            let wait = Duration::from_micros(until.saturating_sub(now));
                            tokio::time::sleep(wait).await;
                        }
                        (OnExceed::Ask, Some(permit)) => {
                            let reason = format!(
                                "the budget `{}` ({}) has no room for a call now",
                                budget.id,
                                budget.phrase()
                            );
                            return Ok(Some(self.question_of(permit, budget, reason)));
                        }
                        (OnExceed::Ask | OnExceed::Deny, _) => {
                            return Err(budgets.rate_refusal(&over, now));
                        }
                    }
                }
            } => paced,
        }
    }

    /// Writes the intent of an admitted call and counts it, together.
    ///
    /// # Errors
    ///
    /// [`CallError`] when the call must not be sent.
    pub(super) async fn write_intent(
        &self,
        call: HostCall,
        admitted: &AdmittedCall,
        budgets: &CallBudgets,
    ) -> Result<Counted, CallError> {
        let AdmittedCall {
            prepared: PreparedCall {
                tool, decided, key, ..
            },
            approval,
            lets_out,
            ..
        } = admitted;
        let plan_line = match approval {
            Some(_) => None,
            None => decided.permit.plan_line(),
        };
        let intent = Intent {
            plan_line: plan_line.and_then(|line| self.plan.number_of(line)),
            call,
            tool: tool.id(),
            effect: decided.effect(),
            key: key.as_ref().map(|key| key.value().to_owned()),
        };
        let charges = budgets.charges(*lets_out);
        self.write_counted(intent, approval.as_ref(), charges).await
    }

    pub(super) async fn write_counted(
        &self,
        intent: Intent<'_>,
        approval: Option<&ApprovalId>,
        charges: Vec<Charge>,
    ) -> Result<Counted, CallError> {
        let journal = &self.journal;
        match (charges.is_empty(), journal.execution(), approval) {
            (true, _, Some(approval)) => journal.intent_approved(intent, approval).await?,
            (true, _, None) => journal.intent(intent).await?,
            (false, Some(_), approval) => {
                return journal.intent_counted(intent, approval, charges).await;
            }
            // A call outside of any execution.
            (false, None, _) => {
                let counted = self.context.store.charge(None, charges).await;
                return counted.map_err(|error| call_error(&error, NOT_COUNTED));
            }
        }
        Ok(Counted::Now)
    }

    /// Counts a result, in front of the entry that has it.
    pub(super) async fn count_received(&self, budgets: &CallBudgets, bytes: usize) {
        let charges = budgets.received(bytes);
        if charges.is_empty() {
            return;
        }
        let store = &self.context.store;
        if let Err(error) = store.charge_later(self.journal.execution(), charges).await {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "a result could not be counted on its budgets"
            );
        }
    }

    /// What is left of the budgets that are about this program, as JSON text.
    pub(super) async fn budgets_left(&self) -> Result<String, CallError> {
        let requester = self.requester();
        let budgets = self.context.policy.newest().budgets().into_iter();
        let budgets: Vec<_> = budgets
            .filter(|budget| budget.is_for(&requester.names()))
            .collect();
        let uses = match (budgets.is_empty(), self.journal.execution()) {
            (true, _) | (_, None) => Vec::new(),
            (false, Some(execution)) => {
                let uses = self.context.store.budget_uses(Some(execution)).await;
                uses.map_err(|error| query_error(&error))?
            }
        };
        let left = left_of(&budgets, &uses, &self.principal, now_us());
        let own = left
            .iter()
            .filter(|left| left.is_of(&self.principal, &self.scope));
        let json: Vec<_> = own
            .map(|left| {
                let mut json = left.json();
                // Its own run and principal, which it knows.
                if let Some(members) = json.as_object_mut() {
                    members.remove("execution_id");
                    members.remove("principal");
                }
                json
            })
            .collect();
        Ok(serde_json::Value::Array(json).to_string())
    }
}

/// Whether a person let the call out although a budget had no room for it.
pub(super) fn lets_out(approved: Option<&Approved>) -> bool {
    approved.is_some_and(Approved::is_about_budget)
}
