//! The decision about one call.

use limbeck_domain::{EffectClass, ToolId};
use serde_json::Value;

use super::RuleSet;
use super::preset::{AskUnit, Preset, PresetAnswer};
use super::rule::{Effect, Layer, Rule};

/// What a decision depends on.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts<'a> {
    /// The tool.
    pub tool: &'a ToolId,
    /// Its class.
    pub class: EffectClass,
    /// Whether the class is the operator's word, and not that of the server.
    pub class_by_operator: bool,
    /// The arguments as they will be sent.
    pub arguments: &'a Value,
    /// Who asks: `user:NAME` and each `group:NAME`.
    pub who: &'a [&'a str],
}

/// What is done with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision<'a> {
    /// Whether it is sent.
    pub effect: Effect,
    /// What decided.
    pub by: DecidedBy<'a>,
}

/// What decided about a call.
#[derive(Clone, Debug)]
pub enum DecidedBy<'a> {
    /// A rule.
    Rule(&'a Rule),
    /// The preset, because no rule matched.
    Preset {
        /// The preset.
        preset: Preset,
        /// What a question is about, when it asks.
        unit: Option<AskUnit>,
    },
}

impl PartialEq for DecidedBy<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Rule(rule), Self::Rule(other)) => rule.id == other.id,
            (
                Self::Preset { preset, unit },
                Self::Preset {
                    preset: other,
                    unit: other_unit,
                },
            ) => preset == other && unit == other_unit,
            _ => false,
        }
    }
}

impl Eq for DecidedBy<'_> {}

impl RuleSet {
    /// Decides about a call. Of the rules that match, the strictest effect wins; among rules of one effect the first by id
    /// is named, so that the order of the rules changes nothing.
    pub fn decide(&self, call: &CallFacts<'_>) -> Decision<'_> {
        let mut deciding: Option<&Rule> = None;
        let mut by_default: Option<&Rule> = None;
        for at in self.index.candidates(call.tool) {
            let rule = &self.rules[at];
            let strongest = if rule.is_default {
                &mut by_default
            } else {
                &mut deciding
            };
            if !is_stronger(rule, *strongest) || rule.first_failed(call).is_some() {
                continue;
            }
            *strongest = Some(rule);
        }
        // A managed rule with `default` counts only where no rule of the user matches. Other managed rules always count.
        let is_users = |rule: &&Rule| matches!(rule.layer, Layer::User | Layer::File);
        let strongest = match (deciding, by_default) {
            (deciding, Some(default)) if !self.user_rule_matches(call, is_users) => {
                if is_stronger(default, deciding) {
                    Some(default)
                } else {
                    deciding
                }
            }
            (deciding, _) => deciding,
        };
        match strongest {
            Some(rule) => Decision {
                effect: rule.effect,
                by: DecidedBy::Rule(rule),
            },
            None => self.by_preset(call),
        }
    }

    fn user_rule_matches(&self, call: &CallFacts<'_>, is_users: impl Fn(&&Rule) -> bool) -> bool {
        let candidates = self.index.candidates(call.tool);
        let mut rules = candidates
            .iter()
            .map(|at| &self.rules[*at])
            .filter(is_users);
        rules.any(|rule| rule.first_failed(call).is_none())
    }

    pub(super) fn by_preset(&self, call: &CallFacts<'_>) -> Decision<'_> {
        let answer = self.preset.answer(call.class, call.class_by_operator);
        let (effect, unit) = match answer {
            PresetAnswer::Allow => (Effect::Allow, None),
            PresetAnswer::Ask(unit) => (Effect::Ask, Some(unit)),
            PresetAnswer::Deny => (Effect::Deny, None),
        };
        Decision {
            effect,
            by: DecidedBy::Preset {
                preset: self.preset,
                unit,
            },
        }
    }
}

/// Whether `rule` decides before `other`.
fn is_stronger(rule: &Rule, other: Option<&Rule>) -> bool {
    other.is_none_or(|other| {
        (rule.effect, std::cmp::Reverse(&rule.id)) > (other.effect, std::cmp::Reverse(&other.id))
    })
}
