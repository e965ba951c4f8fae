//! Rules about calls: who may send which, who is asked first, and what is never sent.
//!
//! A [`RuleSet`] is compiled once from the rules of all configuration files. [`RuleSet::decide`] is a pure function of the
//! call and the facts about it: it performs no I/O and reads no clock.
//!
//! Of the rules that match, `deny` wins over `ask`, and `ask` over `allow`, in any order and from any file. Where no rule
//! matches, the preset decides by the class of the tool. Rules of a repository only tighten: where no other rule matches, the
//! preset counts beside them.

mod ask;
mod condition;
mod decide;
mod explain;
mod found;
mod outlook;
mod path;
mod preset;
mod rule;
mod truth;

use std::collections::HashSet;

pub use ask::{Approvers, AskOptions, Channel, Channels, EXPIRES_S_MAX, OnExpiry, QUORUM_MAX};
pub use condition::{Condition, ConditionError, Operator, ValueType};
pub use decide::{CallFacts, DecidedBy, Decision};
pub use explain::{Explanation, FailedCondition};
pub(crate) use found::found_in;
pub use outlook::Outlook;
pub use path::{ArgumentPath, PathError};
pub use preset::{AskUnit, Preset, PresetAnswer};
pub use rule::{Effect, Layer, Rule, RuleError};

pub use limbeck_domain::Remember;
use limbeck_domain::{EffectClass, ServerName, ToolId};

use crate::Subject;
use crate::index::ScopeIndex;

#[cfg(test)]
mod tests;

/// Rules of all layers together.
pub const RULES_MAX: usize = 10_000;

/// The rules of all configuration files, ready to decide.
#[derive(Debug, Default)]
pub struct RuleSet {
    rules: Vec<Rule>,
    index: ScopeIndex,
    preset: Preset,
}

impl RuleSet {
    /// Compiles `rules`. `presets` are those that files name, each with the layer of its file: the one of the strongest
    /// layer below the managed file counts, tightened by that of the managed file and that of a project.
    ///
    /// # Errors
    ///
    /// [`RuleError`] when there are too many rules, two have one id, or a project's rule allows.
    pub fn new(
        rules: Vec<Rule>,
        presets: &[(Layer, Preset)],
        default: Preset,
    ) -> Result<Self, RuleError> {
        if rules.len() > RULES_MAX {
            return Err(RuleError::TooMany { rules: rules.len() });
        }
        let mut ids = HashSet::new();
        for rule in &rules {
            rule.check()?;
            if !ids.insert(&*rule.id) {
                return Err(RuleError::DuplicateId {
                    id: rule.id.clone(),
                });
            }
        }
        Ok(Self {
            index: ScopeIndex::of(rules.iter().map(|rule| &rule.tools)),
            preset: Preset::of_layers(presets, default),
            rules,
        })
    }

    /// The same rules, whose patterns are read with the servers of the configuration.
    pub fn resolved(mut self, servers: &HashSet<ServerName>) -> Self {
        for rule in &mut self.rules {
            rule.tools = std::mem::take(&mut rule.tools).resolved(servers);
            rule.except = rule.except.take().map(|except| except.resolved(servers));
        }
        self
    }

    /// Whether a rule that may be about `tool` has a condition on arguments.
    pub fn reads_arguments_of(&self, tool: &ToolId) -> bool {
        let candidates = self.index.candidates(tool);
        candidates
            .iter()
            .any(|at| !self.rules[*at].arguments.is_empty())
    }

    /// Names of the arguments that conditions are about, of rules about calls of `tool` with this class by this requester. One
    /// by which a rule allows any text says nothing about a value.
    pub fn conditioned_arguments(
        &self,
        tool: &ToolId,
        class: EffectClass,
        who: &[&str],
        subject: Subject,
    ) -> Vec<&str> {
        let candidates = self.index.candidates(tool).into_iter();
        let rules = candidates.map(|at| &self.rules[at]);
        let about = rules.filter(|rule| rule.is_about(tool, class, who, subject).is_ok());
        about
            .flat_map(|rule| rule.arguments.iter().map(move |named| (rule.effect, named)))
            .filter(|(effect, (_, condition))| {
                *effect != Effect::Allow || !condition.is_about_type()
            })
            .map(|(_, (path, _))| path.argument())
            .collect()
    }

    /// Text of all rules about calls of `tool` with this class by this requester, and of the preset: equal texts ask in the same
    /// way. The lines of files are not in it.
    pub(crate) fn text_about(
        &self,
        tool: &ToolId,
        class: EffectClass,
        who: &[&str],
        subject: Subject,
    ) -> String {
        let candidates = self.index.candidates(tool).into_iter();
        let rules = candidates.map(|at| &self.rules[at]);
        let about = rules.filter(|rule| rule.is_about(tool, class, who, subject).is_ok());
        let mut texts: Vec<String> = about.map(Rule::text).collect();
        texts.sort_unstable();
        texts.push(self.preset.as_str().to_owned());
        texts.join("\n")
    }

    /// The rules, in the order in which they were given.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// What decides where no rule matches.
    pub fn preset(&self) -> Preset {
        self.preset
    }
}
