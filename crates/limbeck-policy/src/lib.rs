//! Decision whether one tool call, or one read of a resource or prompt, may be sent to a server.
//!
//! A [`ToolCall`] names a tool that the catalog resolved, but a guest requested it, so nothing in it is trusted.
//! The decision is a [`Permit`], a [`Question`] for a person, or a denial, and the upstream pool sends only what has a permit.
//!
//! Two invariants, tested below:
//! - A call outside the execution's [`Scope`] is denied, and an empty scope allows nothing. Rules ([`rules`]) narrow that
//!   further, and never widen it.
//! - Deciding does no I/O and reads no clock: same inputs, same answer.
//!
//! Start reading at [`decide_or_ask`].

#![forbid(unsafe_code)]

pub mod budget;
mod grant;
mod in_doubt;
mod index;
mod memory;
mod model;
mod model_action;
mod outlook;
mod pattern;
pub mod pins;
mod policy;
mod question;
mod read;
pub mod rules;
mod scope;
pub mod suggest;

use limbeck_domain::{CompactArguments, EffectClass, ToolId};

pub use grant::{GRANT_LINES_MAX, Grant, GrantError, MANY_DEFAULT, PlanLine};
pub use in_doubt::{DoubtRule, DoubtRuleError, DoubtRules, KeyPlace, Verify};
pub use model::{DecidedModel, ModelPermit, ModelQuestion, ModelRequest, decide_model_or_ask};
pub use model_action::{MODEL_SERVER, ModelAction};
pub use outlook::PolicyNote;
pub use pattern::Subject;
pub use policy::{
    ClassError, ClassSource, Classes, DenialCause, Policy, PolicyDenial, PolicyFault, Requester,
    ToolClass,
};
pub use question::{
    Decided, Question, Ticket, ask_about_repeat, ask_over_budget, budget_of_question,
    decide_or_ask, decide_with_ticket,
};
pub use read::{
    DecidedRead, ReadPermit, ReadQuestion, ReadRequest, decide_read, decide_read_or_ask,
};
pub use scope::{AmbiguousPattern, PatternError, Scope};

/// One call of one tool, with arguments that were validated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The tool.
    pub tool: ToolId,
    /// The arguments as they are sent.
    pub arguments: CompactArguments,
    /// What the server of the tool hints. What the call may do is [`Permit::class`].
    pub effect: EffectClass,
}

/// Proof that one call was allowed. Only this crate creates one: [`decide`], [`decide_or_ask`], [`decide_with_ticket`] and
/// [`Question::covered`].
#[derive(Debug)]
#[must_use = "a permit is spent by sending the call it was issued for"]
pub struct Permit {
    call: ToolCall,
    class: ToolClass,
    plan_line: Option<usize>,
}

impl Permit {
    /// The call that was allowed.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// Class of the tool when the call was decided about. It counts wherever the effect of the call does, and not the hint
    /// that its server gives of itself.
    pub fn class(&self) -> ToolClass {
        self.class
    }

    /// Line of the plan grant on which the call was counted; `None` when the policy allows it without one.
    pub fn plan_line(&self) -> Option<usize> {
        self.plan_line
    }

    /// Spends the permit and returns the call, to be sent once.
    pub fn spend(self) -> ToolCall {
        self.call
    }
}

/// Denial of a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// The execution is limited to other tools.
    #[error("`{tool}` is outside the tools this execution may use")]
    OutOfScope {
        /// The requested tool.
        tool: ToolId,
    },
    /// A rule, or the preset where no rule matches, denies the call or wants a person to be asked first.
    #[error("{0}")]
    ByPolicy(Box<PolicyDenial>),
}

impl Denied {
    fn by_policy(tool: ToolId, cause: DenialCause) -> Self {
        Self::ByPolicy(Box::new(PolicyDenial {
            tool,
            needs_approval: false,
            cause,
        }))
    }

    fn needs_approval(tool: ToolId, cause: DenialCause) -> Self {
        Self::ByPolicy(Box::new(PolicyDenial {
            tool,
            needs_approval: true,
            cause,
        }))
    }
}

/// Facts that a decision about a call or a read depends on. Everything that varies is passed in, so that equal facts give
/// equal decisions.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Tools that the execution may use.
    pub scope: &'a Scope,
    /// Rules and classes of the configuration.
    pub policy: &'a Policy,
    /// Who asks: `user:NAME` and each `group:NAME`.
    pub who: &'a [&'a str],
    /// Time of the decision, in microseconds since 1970. No rule depends on it yet.
    pub now_us: u64,
}

/// Allows `call` when the scope covers its tool and no rule or preset denies it or asks first. For callers that cannot ask;
/// others use [`decide_or_ask`].
///
/// # Errors
///
/// [`Denied`].
pub fn decide(call: ToolCall, facts: &Facts<'_>) -> Result<Permit, Denied> {
    match decide_or_ask(call, facts)? {
        Decided::Permit(permit) => Ok(permit),
        Decided::Ask(question) => Err(question.into_denied()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(server: &str, tool: &str) -> ToolCall {
        ToolCall {
            tool: ToolId::new(server, tool),
            arguments: CompactArguments::parse("{}").unwrap().0,
            effect: EffectClass::Unknown,
        }
    }

    #[test]
    fn a_call_outside_the_scope_is_denied_and_one_inside_is_not() {
        let scope = Scope::parse(["files.read_*"]).unwrap();
        let policy = Policy::default();
        let facts = Facts {
            scope: &scope,
            policy: &policy,
            who: &[],
            now_us: 0,
        };
        let permit = decide(call("files", "read_file"), &facts).unwrap();
        assert_eq!(permit.spend(), call("files", "read_file"));
        assert_eq!(
            decide(call("files", "delete"), &facts).unwrap_err(),
            Denied::OutOfScope {
                tool: ToolId::new("files", "delete")
            }
        );
    }
}
