//! The decision about one call.

use std::fmt;

use limbeck_domain::{EffectClass, ToolId};
use serde_json::Value;

use super::RuleSet;
use super::ask::AskOptions;
use super::preset::{AskUnit, Preset, PresetAnswer};
use super::rule::{Effect, Layer, Rule};
use crate::Subject;

/// What a decision depends on.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts<'a> {
    /// The tool, or the method of a read in its place.
    pub tool: &'a ToolId,
    /// Which of the two it is.
    pub subject: Subject,
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

impl Decision<'_> {
    /// What a question is about: a rule asks about each call, a preset as its table says.
    pub fn unit(&self) -> AskUnit {
        match self.by {
            DecidedBy::Rule(_) | DecidedBy::Preset { unit: None, .. } => AskUnit::Call,
            DecidedBy::Preset {
                unit: Some(unit), ..
            } => unit,
        }
    }
}

impl fmt::Display for DecidedBy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) => write!(f, "rule {}", rule.id),
            Self::Preset { preset, .. } => write!(f, "preset {preset}"),
        }
    }
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
    /// is named, so that the order of the rules changes nothing. Where only rules of a repository match, a preset that is
    /// stricter wins over them.
    pub fn decide(&self, call: &CallFacts<'_>) -> Decision<'_> {
        self.decide_among(call, |_| true)
    }

    /// The decision as if there were only the rules for which `is_among` holds.
    pub(super) fn decide_among(
        &self,
        call: &CallFacts<'_>,
        is_among: impl Fn(&Rule) -> bool,
    ) -> Decision<'_> {
        let is_matched = |is_about: fn(&Rule) -> bool| {
            // A rule that may mean something else takes the place of nothing that is stricter.
            self.has_match(call, |rule| {
                is_among(rule) && is_about(rule) && rule.is_surely_of(call.tool, call.subject)
            })
        };
        let mut deciding: Option<&Rule> = None;
        let mut by_default: Option<&Rule> = None;
        for at in self.index.candidates(call.tool) {
            let rule = &self.rules[at];
            let strongest = if rule.is_default {
                &mut by_default
            } else {
                &mut deciding
            };
            if is_among(rule) && is_stronger(rule, *strongest) && rule.first_failed(call).is_none()
            {
                *strongest = Some(rule);
            }
        }
        // A managed rule with `default` counts only where no rule of the user matches. Other managed rules always count.
        let strongest = match (deciding, by_default) {
            (deciding, Some(default)) if !is_matched(Rule::is_users) => {
                if is_stronger(default, deciding) {
                    Some(default)
                } else {
                    deciding
                }
            }
            (deciding, _) => deciding,
        };
        let Some(rule) = strongest else {
            return self.by_preset(call);
        };
        // The question of a repository's rule, or of one that may mean other tools, must not take the place of a preset that denies.
        if !is_matched(Rule::is_own) {
            let by_preset = self.by_preset(call);
            if by_preset.effect > rule.effect {
                return by_preset;
            }
        }
        Decision {
            effect: rule.effect,
            by: DecidedBy::Rule(rule),
        }
    }

    /// How a person is asked about a call whose decision is to ask: as every rule that asks about it says, the strictest of
    /// each. A repository's rule takes nothing away from what the preset says.
    pub fn ask_options(&self, call: &CallFacts<'_>) -> AskOptions {
        let mut asking: Vec<&Rule> = self.matching(call).collect();
        asking.retain(|rule| rule.effect == Effect::Ask);
        if self.has_match(call, |rule| {
            rule.is_users() && rule.is_surely_of(call.tool, call.subject)
        }) {
            asking.retain(|rule| !rule.is_default);
        }
        // The order of the rules changes nothing.
        asking.sort_unstable_by(|rule, other| rule.id.cmp(&other.id));
        let of_rules = asking
            .into_iter()
            .map(|rule| rule.ask.clone().unwrap_or_default());
        let is_by_preset =
            self.preset_counts_beside_project(call) && self.by_preset(call).effect == Effect::Ask;
        let of_preset = is_by_preset.then(|| self.preset.ask_options(call.class));
        let all = of_rules.chain(of_preset);
        all.reduce(|together, other| together.tightened(&other))
            .unwrap_or_default()
            .for_class(call.class)
    }

    /// Whether no rule matches, or only rules of a repository and such that may mean other tools do.
    fn preset_counts_beside_project(&self, call: &CallFacts<'_>) -> bool {
        !self.has_match(call, |rule| {
            rule.is_own() && rule.is_surely_of(call.tool, call.subject)
        })
    }

    fn has_match(&self, call: &CallFacts<'_>, is_about: impl Fn(&Rule) -> bool) -> bool {
        let candidates = self.index.candidates(call.tool);
        let mut rules = candidates.iter().map(|at| &self.rules[*at]);
        rules.any(|rule| is_about(rule) && rule.first_failed(call).is_none())
    }

    fn matching(&self, call: &CallFacts<'_>) -> impl Iterator<Item = &Rule> {
        let candidates = self.index.candidates(call.tool).into_iter();
        candidates
            .map(|at| &self.rules[at])
            .filter(|rule| rule.first_failed(call).is_none())
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

impl Rule {
    /// Whether the rule is the user's own.
    fn is_users(&self) -> bool {
        matches!(self.layer, Layer::User | Layer::File)
    }

    /// Whether the rule is from a file that is not a repository's.
    fn is_own(&self) -> bool {
        self.layer != Layer::Project
    }
}

/// Whether `rule` decides before `other`.
fn is_stronger(rule: &Rule, other: Option<&Rule>) -> bool {
    other.is_none_or(|other| {
        (rule.effect, std::cmp::Reverse(&rule.id)) > (other.effect, std::cmp::Reverse(&other.id))
    })
}
