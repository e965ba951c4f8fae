//! Why a rule decides about a call, and why others do not.

use std::fmt;

use limbeck_domain::{EffectClass, ToolId};

use super::decide::{CallFacts, DecidedBy, Decision};
use super::rule::Rule;
use super::{ArgumentPath, RuleSet};
use crate::Subject;

/// First condition of a rule that does not hold for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailedCondition {
    /// The rule is about other tools.
    Tools,
    /// The rule allows, and its pattern can mean other tools too.
    Ambiguous,
    /// The tool is one of `except`.
    Except,
    /// The rule is about other classes.
    Class(EffectClass),
    /// The rule is about other people.
    Who,
    /// The condition on this argument.
    Argument(ArgumentPath),
    /// None: it matches, and a stricter rule or preset, or a rule of the same effect with a smaller id, decides.
    Weaker,
}

impl fmt::Display for FailedCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tools => f.write_str("it is about other tools"),
            Self::Ambiguous => {
                f.write_str("its pattern can mean something else too, and it allows")
            }
            Self::Except => f.write_str("`except` leaves the tool out"),
            Self::Class(class) => write!(f, "it is not about the class `{}`", class.as_str()),
            Self::Who => f.write_str("it is about other people"),
            Self::Argument(path) => write!(f, "its condition on `{path}` does not hold"),
            Self::Weaker => f.write_str("it matches, and what decides comes before it"),
        }
    }
}

/// The decision about a call, and what each other rule lacks.
#[derive(Debug)]
pub struct Explanation<'a> {
    /// The same as [`RuleSet::decide`] returns.
    pub decision: Decision<'a>,
    /// Every other rule, in the order of the files.
    pub others: Vec<(&'a Rule, FailedCondition)>,
}

impl RuleSet {
    /// Explains the decision about a call.
    pub fn explain(&self, call: &CallFacts<'_>) -> Explanation<'_> {
        let decision = self.decide(call);
        let deciding = match &decision.by {
            DecidedBy::Rule(rule) => Some(&*rule.id),
            DecidedBy::Preset { .. } => None,
        };
        let others = self.rules.iter().filter(|rule| Some(&*rule.id) != deciding);
        let others = others
            .map(|rule| {
                (
                    rule,
                    rule.first_failed(call).unwrap_or(FailedCondition::Weaker),
                )
            })
            .collect();
        Explanation { decision, others }
    }
}

impl Rule {
    /// The first condition by which the rule does not match the call; `None` when it matches.
    pub(super) fn first_failed(&self, call: &CallFacts<'_>) -> Option<FailedCondition> {
        if let Err(failed) = self.is_about(call.tool, call.class, call.who, call.subject) {
            return Some(failed);
        }
        let failed = self.conditions().first_failed(call.arguments);
        failed.map(|path| FailedCondition::Argument(path.clone()))
    }

    /// Whether the rule is about such calls, with some arguments.
    pub(super) fn is_about(
        &self,
        tool: &ToolId,
        class: EffectClass,
        who: &[&str],
        subject: Subject,
    ) -> Result<(), FailedCondition> {
        if !self.is_of(tool, subject) {
            return Err(match self.tools.may_mean(tool) {
                true => FailedCondition::Ambiguous,
                false => FailedCondition::Tools,
            });
        }
        if self.is_excepted(tool, subject) {
            return Err(FailedCondition::Except);
        }
        let of_class = self.classes.as_ref();
        if of_class.is_some_and(|classes| !classes.contains(&class)) {
            return Err(FailedCondition::Class(class));
        }
        let fits = |name: &String| who.contains(&&**name);
        if self.who.as_ref().is_some_and(|who| !who.iter().any(fits)) {
            return Err(FailedCondition::Who);
        }
        Ok(())
    }
}
