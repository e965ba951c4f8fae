//! The strictest decision that calls of a tool can meet, before their arguments are known.

use limbeck_domain::{EffectClass, ToolId};
use serde_json::Value;

use super::RuleSet;
use super::decide::{CallFacts, DecidedBy, Decision};
use super::rule::{Effect, Rule};
use crate::Subject;

/// The strictest decision that calls of a tool can meet.
#[derive(Debug)]
pub struct Outlook<'a> {
    /// What the decision is.
    pub effect: Effect,
    /// Whether every call meets it, with any arguments.
    pub is_always: bool,
    /// What decides.
    pub by: DecidedBy<'a>,
}

impl RuleSet {
    /// The strictest decision that calls of `tool` with this class by this requester can meet.
    pub fn outlook(
        &self,
        tool: &ToolId,
        class: EffectClass,
        class_by_operator: bool,
        who: &[&str],
    ) -> Outlook<'_> {
        let candidates = self.index.candidates(tool).into_iter();
        let about = candidates
            .map(|at| &self.rules[at])
            .filter(|rule| rule.is_about(tool, class, who, Subject::Tool).is_ok());
        let conditional: Vec<&Rule> = about.filter(|rule| !rule.arguments.is_empty()).collect();
        // Without arguments a rule with conditions fires, or not, by what it is missing: it is left out here.
        let unconditional = self.decide_among(
            &CallFacts {
                tool,
                class,
                class_by_operator,
                arguments: &Value::Null,
                subject: Subject::Tool,
                who,
            },
            |rule| rule.arguments.is_empty(),
        );
        let Decision { effect, by } = unconditional;
        let stricter = conditional.iter().filter(|rule| rule.effect > effect);
        let by_strictness = |rule: &&&Rule, other: &&&Rule| {
            let of_equals = other.id.cmp(&rule.id);
            rule.effect.cmp(&other.effect).then(of_equals)
        };
        let strictest = stricter.max_by(by_strictness);
        if let Some(rule) = strictest {
            return Outlook {
                effect: rule.effect,
                is_always: false,
                by: DecidedBy::Rule(rule),
            };
        }
        // A rule that matches some calls takes the place of the preset, and of a managed rule that yields.
        let gives_way = match &by {
            DecidedBy::Preset { .. } => true,
            DecidedBy::Rule(rule) => rule.is_default,
        };
        let may_be_looser = gives_way && conditional.iter().any(|rule| rule.effect < effect);
        Outlook {
            effect,
            is_always: !may_be_looser,
            by,
        }
    }
}
