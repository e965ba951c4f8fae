//! What people chose about calls beyond one question.

use std::sync::Arc;

use limbeck_domain::{Approval, ApprovalId, Remembered};
use limbeck_store::{ApprovalFilter, StoreError};
use serde_json::value::RawValue;

use super::Gateway;
use super::paused::APPROVALS_LISTED_MAX;
use crate::approval_view::is_visible_to;
use crate::approvals::{
    Decider, DecisionError, DecisionReport, DecisionRequest, Escalation, GroupText, Notifier,
};
use crate::clock::now_us;

impl Gateway {
    /// Takes up the ways by which people are notified that a question waits; a second time has no effect.
    pub fn notify_by(&self, notifiers: Vec<Arc<dyn Notifier>>, escalation: Option<Escalation>) {
        let approvals = &self.parts.broker.approvals;
        approvals.notify_by(notifiers, escalation);
    }

    /// Records decisions about several questions as one act of one person, in their order: denials that are one act count as
    /// one of those that end a program. The reports are in the order of the requests.
    pub async fn decide_together(
        &self,
        requests: Vec<DecisionRequest>,
    ) -> Vec<Result<DecisionReport, DecisionError>> {
        let at_us = now_us();
        let mut reports = Vec::with_capacity(requests.len());
        for request in requests {
            reports.push(self.parts.broker.decide_at(request, at_us).await);
        }
        reports
    }

    /// What a person is shown of a group of questions on a terminal.
    pub async fn group_text(&self, group: &[&Approval]) -> GroupText {
        self.parts.broker.group_text(group).await
    }

    /// Names of the arguments that the tool of a question takes, by the list of its server now: the server is asked for it
    /// unless that was done in this process.
    ///
    /// # Errors
    ///
    /// [`NoRule`] where the definition or the server's entry is not that of the question, and where the schema takes other
    /// arguments too.
    pub async fn arguments_of(&self, approval: &Approval) -> Result<Vec<String>, NoRule> {
        let live_catalog = &self.parts.broker.live_catalog;
        let refreshed = live_catalog.refresh(&approval.tool.server).await;
        refreshed.map_err(|_| NoRule::Changed)?;
        let catalog = self.catalog();
        let tool = catalog.tool(&approval.tool).ok_or(NoRule::Changed)?;
        if approval.pin != Some(live_catalog.pin_of(tool)) {
            return Err(NoRule::Changed);
        }
        closed_arguments(&tool.definition().input_schema).ok_or(NoRule::OtherArguments)
    }

    /// Choices of people to let approvals count for calls that are alike, oldest first: of one principal's calls, or of all.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub async fn remembered(&self, principal: Option<&str>) -> Result<Vec<Remembered>, StoreError> {
        self.store().remembered(principal, now_us()).await
    }

    /// Lets a call be asked about again that was denied with this question in the last 10 minutes. Returns whether the denial
    /// still counted.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub async fn forget_denial(
        &self,
        id: &ApprovalId,
        decider: &Decider,
    ) -> Result<bool, StoreError> {
        self.parts.broker.forget_denial(id, decider).await
    }

    /// Forgets such a choice: calls like those are asked about again. Returns whether there was one of this id that `decider`
    /// may forget.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub async fn forget(&self, id: &str, decider: &Decider) -> Result<bool, StoreError> {
        self.parts.broker.forget(id, decider).await
    }

    /// Pending questions that `decider` may see, oldest first: about calls of its principal, and those that name it as an
    /// approver.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub async fn approvals_for(&self, decider: &Decider) -> Result<Vec<Approval>, StoreError> {
        self.parts.broker.approvals.end_expired().await;
        let filter = ApprovalFilter {
            principal: Some(decider.principal.clone()),
            approver: decider.who.clone(),
            only_pending: true,
            limit: APPROVALS_LISTED_MAX,
            ..ApprovalFilter::default()
        };
        let mut listed = self.store().approvals(filter).await?;
        listed.retain(|approval| is_visible_to(approval, decider));
        Ok(listed)
    }

    /// Records the answer of a client of `principal` to the form of a question, which it got earlier, from this process or
    /// another.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub async fn answered_by_client(
        &self,
        principal: &str,
        approval: &ApprovalId,
        answer: &RawValue,
    ) -> Result<(), StoreError> {
        let broker = &self.parts.broker;
        broker.answered_by_client(principal, approval, answer).await
    }
}

/// Why no rule can be written for calls like one that was asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRule {
    /// The tool is not listed now as it was when it was asked about, or not by the same entry of its server.
    Changed,
    /// Its schema does not say which arguments there are.
    OtherArguments,
}

/// Names of all arguments of a schema that takes no others: of an open one, or one with alternatives, no list of names is whole.
fn closed_arguments(schema: &serde_json::Value) -> Option<Vec<String>> {
    let schema = schema.as_object()?;
    let is_plain = schema.keys().all(|key| {
        let key = key.as_str();
        let says_no_argument =
            ["$schema", "type", "title", "description", "required"].contains(&key);
        says_no_argument || key == "properties" || key == "additionalProperties"
    });
    let is_closed = schema.get("additionalProperties") == Some(&serde_json::Value::Bool(false));
    if !is_plain || !is_closed {
        return None;
    }
    let properties = schema.get("properties")?.as_object()?;
    Some(properties.keys().cloned().collect())
}
