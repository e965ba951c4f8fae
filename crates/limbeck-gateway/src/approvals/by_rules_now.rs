//! Whether an approval can count by the rules of this moment: they may have changed since the question was asked, and other
//! arguments may be the concern of other rules.
//!
//! The same is checked when the call is sent. Here the person is still there to read why, and nothing is recorded.

use limbeck_domain::{Approval, ApprovalState, CompactArguments, EffectClass};
use limbeck_policy::{Decided, Requester, Scope, ToolCall};

use super::ask::{default_channels, terms_of};
use super::decide::{Decider, DecisionError, may_decide};
use crate::broker::BrokerContext;

impl BrokerContext {
    /// Refuses an approval of a pending question whose call, with `arguments` as JSON text, the rules deny now, or that they do
    /// not let this person approve any more.
    ///
    /// # Errors
    ///
    /// [`DecisionError::Overruled`] and [`DecisionError::NotAllowed`].
    pub(super) fn may_decide_now(
        &self,
        approval: &Approval,
        decider: &Decider,
        arguments: &str,
    ) -> Result<(), DecisionError> {
        // The calls of a plan are decided one by one when they are made.
        if approval.state != ApprovalState::Pending || approval.is_plan() {
            return Ok(());
        }
        let Ok((arguments, _)) = CompactArguments::parse(arguments) else {
            return Ok(());
        };
        let catalog = self.live_catalog.snapshot();
        let tool = catalog.tool(&approval.tool);
        let call = ToolCall {
            tool: approval.tool.clone(),
            arguments,
            effect: tool.map_or(EffectClass::Unknown, |tool| tool.effect()),
        };
        let requester = Requester::of_principal(&approval.principal);
        let by = self.policy.newest();
        // The patterns of the execution are asked when the call is sent: they do not change.
        match by.decide_or_ask(call, &Scope::everything(), &requester, None) {
            Ok(Decided::Permit(_)) => Ok(()),
            Ok(Decided::Ask(question)) => {
                let channels = default_channels(&approval.principal);
                let now = Approval {
                    class: question.class().class,
                    terms: terms_of(question.options(), channels, None),
                    ..approval.clone()
                };
                may_decide(&now, decider, true)
            }
            Err(denied) => Err(DecisionError::Overruled {
                why: format!("the call cannot be approved, because {denied}"),
                hint: "deny it, or change the rule and decide again".to_owned(),
            }),
        }
    }
}
