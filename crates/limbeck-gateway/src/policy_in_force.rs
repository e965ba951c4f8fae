//! The policy in force, which is replaced while calls are made.
//!
//! Each decision is made by the newest policy, and a call that was decided by an older one and still waits is decided
//! again before it is handed to its server. When [`PolicyInForce::replace`] has returned, nothing is sent that the new
//! policy denies.

use std::sync::{Arc, PoisonError, RwLock};

use limbeck_domain::{EffectClass, ToolId};
use limbeck_policy::budget::Budget;
use limbeck_policy::{
    Decided, DecidedModel, DecidedRead, Denied, Facts, Grant, ModelRequest, Permit, Policy,
    Question, ReadPermit, ReadRequest, Requester, Scope, ToolCall, ask_about_repeat,
    ask_over_budget, decide_model_or_ask, decide_or_ask, decide_read_or_ask,
};
use limbeck_upstream::{SendPass, SendWindow};

use crate::approvals::Approved;
use crate::clock::now_us;

/// Whether a policy has all that its files say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyReading {
    /// Every file was read whole.
    Whole,
    /// A file or its section could not be read: what it says is not known.
    InPart,
}

/// The newest policy.
#[derive(Debug)]
pub(crate) struct PolicyInForce(RwLock<Arc<PolicyVersion>>);

/// A policy for as long as it is the newest.
#[derive(Debug)]
pub(crate) struct PolicyVersion {
    policy: Arc<Policy>,
    /// The last policy that was read whole, where this one was not: a call has to be allowed by both.
    kept: Option<Arc<Policy>>,
    /// Closed when the next policy is in force.
    window: SendWindow,
}

impl PolicyInForce {
    pub(crate) fn new(policy: Policy) -> Self {
        Self(RwLock::new(Arc::new(PolicyVersion {
            policy: Arc::new(policy),
            kept: None,
            window: SendWindow::default(),
        })))
    }

    /// The policy of this moment.
    pub(crate) fn newest(&self) -> Arc<PolicyVersion> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts `policy` in force. When it returns, no call that an earlier policy allowed is handed to a server without a
    /// decision of this one.
    pub(crate) async fn replace(&self, policy: Policy, reading: PolicyReading) {
        let replaced = {
            let mut newest = self.0.write().unwrap_or_else(PoisonError::into_inner);
            let kept = match (reading, &newest.kept) {
                (PolicyReading::Whole, _) => None,
                (PolicyReading::InPart, Some(kept)) => Some(Arc::clone(kept)),
                (PolicyReading::InPart, None) => Some(Arc::clone(&newest.policy)),
            };
            let next = PolicyVersion {
                policy: Arc::new(policy),
                kept,
                window: SendWindow::default(),
            };
            std::mem::replace(&mut *newest, Arc::new(next))
        };
        replaced.window.close().await;
    }
}

impl PolicyVersion {
    /// Its rules and classes.
    pub(crate) fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// The budgets, those of the policy that is kept beside it included.
    pub(crate) fn budgets(&self) -> Vec<Arc<Budget>> {
        self.joined(|policy| policy.budgets.all().to_vec())
    }

    /// The budgets about a call of `tool` with this class by this requester.
    pub(crate) fn budgets_about(
        &self,
        tool: &ToolId,
        class: EffectClass,
        requester: &Requester,
    ) -> Vec<Arc<Budget>> {
        let names = requester.names();
        self.joined(|policy| {
            let about = policy.budgets.about(tool, class, &names).into_iter();
            about.cloned().collect()
        })
    }

    /// A budget that both policies have is one: the newest counts.
    fn joined(&self, of: impl Fn(&Policy) -> Vec<Arc<Budget>>) -> Vec<Arc<Budget>> {
        let mut budgets = of(&self.policy);
        for budget in self.kept.iter().flat_map(|kept| of(kept)) {
            if budgets.iter().all(|other| other.counter != budget.counter) {
                budgets.push(budget);
            }
        }
        budgets
    }

    /// The question about a call that is permitted and that `budget` has no room for.
    pub(crate) fn ask_over_budget(
        &self,
        permit: &Permit,
        scope: &Scope,
        requester: &Requester,
        budget: &Budget,
        reason: String,
    ) -> Box<Question> {
        let names = requester.names();
        ask_over_budget(permit, &facts(&self.policy, scope, &names), budget, reason)
    }

    /// Whether another policy is in force now.
    pub(crate) fn is_replaced(&self) -> bool {
        self.window.is_closed()
    }

    /// Permission to send one call, which is void when another policy is in force.
    pub(crate) fn pass(&self) -> SendPass {
        self.window.pass()
    }

    /// Decides about a call that a person may be asked about. `approved` is what a person allowed, and the pin of the tool's
    /// definition now.
    ///
    /// # Errors
    ///
    /// [`Denied`], by this policy or by the one that is kept beside it.
    pub(crate) fn decide_or_ask(
        &self,
        call: ToolCall,
        scope: &Scope,
        requester: &Requester,
        approved: Option<(&Approved, &str)>,
    ) -> Result<Decided, Denied> {
        let names = requester.names();
        let by = |policy: &Policy, call: ToolCall| {
            let facts = facts(policy, scope, &names);
            Ok(match (decide_or_ask(call, &facts)?, approved) {
                (Decided::Ask(question), Some((approved, pin)))
                    if approved.is_by_right(question.options()) =>
                {
                    question.approved(&approved.ticket, Some(pin))
                }
                (decided, _) => decided,
            })
        };
        let Some(kept) = &self.kept else {
            return by(&self.policy, call);
        };
        match by(&self.policy, call.clone())? {
            Decided::Permit(permit) => by(kept, permit.spend()),
            // What the other denies is not asked about.
            Decided::Ask(question) => by(kept, call).map(|_| Decided::Ask(question)),
        }
    }

    /// The decision about a call that this policy asks about, where people accepted lines of the program's plan. The pin is that
    /// of the tool's definition now, and the line the one on which the call was counted before.
    pub(crate) fn covered(
        &self,
        question: Box<Question>,
        scope: &Scope,
        requester: &Requester,
        grant: &Grant,
        (pin, counted): (&str, Option<usize>),
    ) -> Decided {
        // Beside a policy that was not read whole nothing is sent by the word of a person who saw another one.
        if self.kept.is_some() {
            return Decided::Ask(question);
        }
        let names = requester.names();
        let facts = facts(&self.policy, scope, &names);
        question.covered(&facts, grant, Some(pin), counted)
    }

    /// The question about a call that this policy allows and that the program makes again and again; `None` where the policy does
    /// not ask about that.
    pub(crate) fn ask_about_repeat(
        &self,
        permit: &Permit,
        scope: &Scope,
        requester: &Requester,
    ) -> Option<Box<Question>> {
        let names = requester.names();
        ask_about_repeat(permit, &facts(&self.policy, scope, &names))
    }

    /// Decides about a read, where no person can be asked.
    ///
    /// # Errors
    ///
    /// [`Denied`], by this policy or by the one that is kept beside it.
    pub(crate) fn decide_read(
        &self,
        request: ReadRequest,
        scope: &Scope,
        requester: &Requester,
    ) -> Result<ReadPermit, Denied> {
        match self.decide_read_or_ask(request, scope, requester, None)? {
            DecidedRead::Permit(permit) => Ok(permit),
            DecidedRead::Ask(question) => Err(question.into_denied()),
        }
    }

    /// Decides about a read that a person may be asked about. `approved` is what a person allowed, and the pin of the method.
    ///
    /// # Errors
    ///
    /// [`Denied`], by this policy or by the one that is kept beside it.
    pub(crate) fn decide_read_or_ask(
        &self,
        request: ReadRequest,
        scope: &Scope,
        requester: &Requester,
        approved: Option<(&Approved, &str)>,
    ) -> Result<DecidedRead, Denied> {
        let names = requester.names();
        let by = |policy: &Policy, request: ReadRequest| {
            let decided = decide_read_or_ask(request, &facts(policy, scope, &names))?;
            Ok(match (decided, approved) {
                (DecidedRead::Ask(question), Some((approved, pin)))
                    if approved.is_by_right(question.question().options()) =>
                {
                    question.approved(&approved.ticket, Some(pin))
                }
                (decided, _) => decided,
            })
        };
        let Some(kept) = &self.kept else {
            return by(&self.policy, request);
        };
        match by(&self.policy, request.clone())? {
            DecidedRead::Permit(permit) => by(kept, permit.spend()),
            // What the other denies is not asked about.
            DecidedRead::Ask(question) => by(kept, request).map(|_| DecidedRead::Ask(question)),
        }
    }

    /// Decides about a question to a model that a person may be asked about. `approved` is what a person allowed, and the pin of
    /// the action.
    ///
    /// # Errors
    ///
    /// [`Denied`], by this policy or by the one that is kept beside it.
    pub(crate) fn decide_model_or_ask(
        &self,
        request: ModelRequest,
        scope: &Scope,
        requester: &Requester,
        approved: Option<(&Approved, &str)>,
    ) -> Result<DecidedModel, Denied> {
        let names = requester.names();
        let by = |policy: &Policy, request: ModelRequest| {
            let decided = decide_model_or_ask(request, &facts(policy, scope, &names))?;
            Ok(match (decided, approved) {
                (DecidedModel::Ask(question), Some((approved, pin)))
                    if approved.is_by_right(question.question().options()) =>
                {
                    question.approved(&approved.ticket, Some(pin))
                }
                (decided, _) => decided,
            })
        };
        let Some(kept) = &self.kept else {
            return by(&self.policy, request);
        };
        match by(&self.policy, request.clone())? {
            DecidedModel::Permit(permit) => by(kept, permit.into_request()),
            // What the other denies is not asked about.
            DecidedModel::Ask(question) => by(kept, request).map(|_| DecidedModel::Ask(question)),
        }
    }
}

fn facts<'a>(policy: &'a Policy, scope: &'a Scope, who: &'a [&'a str]) -> Facts<'a> {
    Facts {
        scope,
        policy,
        who,
        now_us: now_us(),
    }
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{CompactArguments, EffectClass, ToolId};
    use limbeck_policy::rules::{Effect, Layer, Preset, Rule, RuleSet};
    use limbeck_policy::{Classes, PolicyFault};

    use super::*;

    fn policy(denied: &str) -> Policy {
        let rule = Rule {
            id: denied.to_owned(),
            effect: Effect::Deny,
            tools: Scope::parse([format!("files.{denied}").as_str()]).unwrap(),
            except: None,
            classes: None,
            arguments: Vec::new(),
            who: None,
            reason: None,
            ask: None,
            layer: Layer::User,
            is_default: false,
            origin: "limbeck.toml:1".to_owned(),
        };
        Policy {
            rules: RuleSet::new(vec![rule], &[], Preset::Observe).unwrap(),
            classes: reads(["files.*"]),
            ..Policy::default()
        }
    }

    /// Classes with these tools as known reads.
    fn reads<const N: usize>(patterns: [&str; N]) -> Classes {
        let known = patterns.map(|pattern| {
            let scope = Scope::parse([pattern]).unwrap();
            (scope, EffectClass::Read)
        });
        Classes::new(known.into(), Default::default()).unwrap()
    }

    fn is_allowed(policy: &PolicyInForce, tool: &str) -> bool {
        let call = ToolCall {
            tool: ToolId::new("files", tool),
            arguments: CompactArguments::parse("{}").unwrap().0,
            effect: EffectClass::Unknown,
        };
        let requester = Requester::of_principal("local");
        let decided = policy
            .newest()
            .decide_or_ask(call, &Scope::everything(), &requester, None);
        matches!(decided, Ok(Decided::Permit(_)))
    }

    #[tokio::test]
    async fn a_policy_that_was_not_read_whole_is_in_force_beside_the_last_that_was() {
        let policies = PolicyInForce::new(policy("list"));
        assert!(is_allowed(&policies, "peek") && !is_allowed(&policies, "list"));
        let faulty = |known| Policy {
            rules: RuleSet::default(),
            classes: known,
            fault: Some(PolicyFault {
                problem: "config.toml:3: unknown key".to_owned(),
            }),
            ..Policy::default()
        };
        policies
            .replace(faulty(reads(["files.*"])), PolicyReading::InPart)
            .await;
        // The rule was lost with its file and holds all the same; a known read goes on.
        assert!(is_allowed(&policies, "peek") && !is_allowed(&policies, "list"));
        policies
            .replace(faulty(reads(["files.other"])), PolicyReading::InPart)
            .await;
        assert!(!is_allowed(&policies, "peek") && !is_allowed(&policies, "list"));
        // The control: a policy that was read whole leaves nothing of the others.
        policies.replace(policy("peek"), PolicyReading::Whole).await;
        assert!(!is_allowed(&policies, "peek") && is_allowed(&policies, "list"));
    }

    #[tokio::test]
    async fn a_pass_of_an_older_policy_is_void() {
        let policies = PolicyInForce::new(policy("list"));
        let first = policies.newest();
        let held = first.pass();
        let replacing = policies.replace(policy("peek"), PolicyReading::Whole);
        let mut replacing = std::pin::pin!(replacing);
        // Someone who has a pass may be sending at this moment.
        assert!(futures::poll!(replacing.as_mut()).is_pending());
        assert!(first.is_replaced() && !policies.newest().is_replaced());
        assert!(!is_allowed(&policies, "peek"));
        drop(held);
        replacing.await;
    }
}
