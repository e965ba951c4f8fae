//! Questions that need no person: a person chose, with an earlier one, that the approval counts for calls like it.
//!
//! A choice is found by the hash of what such calls have in common ([`Question::offer`]). It answers a question in the place of
//! the person: the question and the decisions are recorded as if the person had been asked, and the approval is spent with the
//! intent of the call like any other. The policy has decided before, so what it denies stays denied.

use std::sync::Arc;

use limbeck_catalog::Tool;
use limbeck_domain::text::clean_line;
use limbeck_domain::{
    Approval, ApprovalChannel, ApprovalDecision, ApprovalId, CallError, HostCall, Remember,
    RememberChoice, Remembered,
};
use limbeck_policy::Question;
use limbeck_policy::rules::{AskOptions, Channels};
use limbeck_store::StoreError;

use super::ask::{HINT_DENIED, denial_error, is_by_right, not_asked};
use super::decide::{Decider, DecisionError};
use crate::approval_view::is_visible_to;
use crate::broker::{Broker, BrokerContext};
use crate::clock::now_us;

impl Broker {
    /// The error of a call that a person denied in another run some minutes ago. `None` where the journal has the question of
    /// the call: it was asked before the denial, or after it was forgotten.
    pub(super) async fn denied_lately(
        &self,
        call: &HostCall,
        tool: &Arc<Tool>,
        sha256: &str,
    ) -> Result<Option<CallError>, CallError> {
        if self.asks.recorded(call.id).is_some() {
            return Ok(None);
        }
        let store = &self.context().store;
        let denial = store.denied_lately(self.principal(), tool.id(), sha256, now_us());
        let denial = denial.await.map_err(|error| not_asked(&error, tool.id()))?;
        Ok(denial.map(|(id, denial)| {
            let error = denial_error(&denial, tool.id());
            let hint = format!(
                "{HINT_DENIED}; the same call is not asked about again for 10 minutes, unless the user runs `limbeck approvals forget {id}`"
            );
            error.with_hint(hint)
        }))
    }

    /// The approval of a call by what a person chose earlier. `None` where a person has to be asked, and where the journal has
    /// the question of the call.
    pub(super) async fn remembered(
        &self,
        call: &HostCall,
        tool: &Arc<Tool>,
        question: &Question,
        sha256: &str,
        pin: &str,
    ) -> Result<Option<Approval>, CallError> {
        let has_journal = self.journal().execution().is_some();
        if !has_journal || self.asks.recorded(call.id).is_some() {
            return Ok(None);
        }
        if question.options().remember == Remember::None {
            return Ok(None);
        }
        let approval = self.new_question(call, tool, question, sha256, pin)?;
        if approval.terms.offer.is_none() {
            return Ok(None);
        }
        let failed = |error: StoreError| not_asked(&error, tool.id());
        let store = &self.context().store;
        let choices = store.remembered_for(&approval, now_us());
        for choice in choices.await.map_err(failed)? {
            if !counts(&choice, question.options(), self.default_channels()) {
                continue;
            }
            let asked = self
                .journal()
                .ask_remembered(call.clone(), approval.clone(), choice.id);
            // It may have been forgotten meanwhile.
            if let Some(approved) = asked.await.map_err(failed)? {
                return Ok(Some(approved));
            }
        }
        Ok(None)
    }
}

/// Whether those who chose may still do so, and for so long.
fn counts(choice: &Remembered, options: &AskOptions, default_channels: Channels) -> bool {
    let Approval {
        decisions,
        terms,
        principal,
        ..
    } = &*choice.approval;
    let is_persons = |it: &&ApprovalDecision| it.approve && it.channel != ApprovalChannel::Model;
    let approvals: Vec<ApprovalDecision> = decisions.iter().filter(is_persons).cloned().collect();
    let requester = format!("user:{principal}");
    choice.choice.until <= options.remember
        && is_by_right(&approvals, terms, &requester, options, default_channels)
}

/// Whether this person may let the approval count for other calls. `is_plain` says that the decision is an approval of the
/// arguments that were asked about.
pub(super) fn may_remember(
    approval: &Approval,
    decider: &Decider,
    is_plain: bool,
    choice: RememberChoice,
) -> Result<(), DecisionError> {
    let refuse = |why: String, hint: String| Err(DecisionError::NotAllowed { why, hint });
    if !is_plain {
        return refuse(
            "only an approval of the arguments that were asked about can be remembered".to_owned(),
            "approve it without `remember`, or without other arguments".to_owned(),
        );
    }
    if decider.channel == ApprovalChannel::Model {
        return refuse(
            "a model cannot let an approval count for other calls".to_owned(),
            "ask the user to decide, and wait with `resume`".to_owned(),
        );
    }
    let Some(offer) = &approval.terms.offer else {
        return refuse(
            "the policy does not let an approval of this call be remembered".to_owned(),
            "approve it for this call alone, without `remember`".to_owned(),
        );
    };
    if choice.until == Remember::Always {
        return refuse(
            "only the user of the machine can allow calls for good".to_owned(),
            "choose a time up to `30d`, or answer with `limbeck resume`".to_owned(),
        );
    }
    if choice.until > offer.at_most {
        return refuse(
            format!(
                "the policy lets an approval of this call be remembered for `{}` at most",
                offer.at_most
            ),
            format!("choose `{}` or less", offer.at_most),
        );
    }
    Ok(())
}

impl BrokerContext {
    /// Lets a call be asked about again that was denied with this question. Returns whether that denial still counted and
    /// `decider` may see the question.
    ///
    /// # Errors
    ///
    /// An error of the store.
    pub(crate) async fn forget_denial(
        &self,
        id: &ApprovalId,
        decider: &Decider,
    ) -> Result<bool, StoreError> {
        let approval = self.store.approval(id).await?;
        if !approval.is_some_and(|it| is_visible_to(&it, decider)) {
            return Ok(false);
        }
        self.store.forget_denial(id).await
    }

    /// Forgets a choice. Returns whether there was one of this id that `decider` may forget: that of its own calls, and one it
    /// took part in.
    ///
    /// # Errors
    ///
    /// An error of the store.
    pub(crate) async fn forget(&self, id: &str, decider: &Decider) -> Result<bool, StoreError> {
        let all = self.store.remembered(None, now_us()).await?;
        let is_own = |choice: &Remembered| {
            let mut decisions = choice.approval.decisions.iter();
            choice.approval.principal == decider.principal
                || decisions.any(|it| decider.who.contains(&it.by))
        };
        if !all.iter().any(|choice| choice.id == id && is_own(choice)) {
            return Ok(false);
        }
        self.store.forget_remembered(id).await
    }
}

/// What the calls of a choice have in common, as one line: `the same channel, to; any text`. A list of names is never cut.
pub fn covered(same: &[String], any: &[String]) -> String {
    let names = |names: &[String]| {
        let names = names.join(", ");
        clean_line(&names, names.len())
    };
    match (same.is_empty(), any.is_empty()) {
        (true, true) => "no arguments".to_owned(),
        (true, false) => format!("any {}", names(any)),
        (false, true) => format!("the same {}", names(same)),
        (false, false) => format!("the same {}; any {}", names(same), names(any)),
    }
}

/// A name that no other gateway has.
pub(super) fn new_session() -> Option<String> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits).ok()?;
    Some(bits.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_covered_is_one_line() {
        let of = |names: &[&str]| -> Vec<String> { names.iter().map(|n| (*n).into()).collect() };
        assert_eq!(
            covered(&of(&["to", "cc"]), &of(&["text"])),
            "the same to, cc; any text"
        );
        assert_eq!(covered(&of(&["to"]), &[]), "the same to");
        assert_eq!(covered(&[], &of(&["text\u{202e}"])), "any text");
        assert_eq!(covered(&[], &[]), "no arguments");
    }
}
