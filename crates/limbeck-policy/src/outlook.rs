//! What calls of a tool can expect of the policy, before their arguments are known.

use std::fmt;

use limbeck_domain::{EffectClass, ToolId};

use crate::rules::{Effect, Outlook};
use crate::{Facts, Policy};

/// A note about calls of a tool, in one line: that a person is asked first, or that they are denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyNote {
    is_denied: bool,
    is_always: bool,
    /// The rule or preset; `None` when the policy cannot be read.
    by: Option<String>,
}

impl PolicyNote {
    /// Whether the note is that calls are denied, and not that a person is asked.
    pub fn is_denied(&self) -> bool {
        self.is_denied
    }
}

impl fmt::Display for PolicyNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_denied {
            "denied"
        } else {
            "asks a person first"
        })?;
        if !self.is_always {
            f.write_str(" for some arguments")?;
        }
        match &self.by {
            Some(by) => write!(f, " ({by})"),
            None => f.write_str(" (the policy cannot be read)"),
        }
    }
}

impl Policy {
    /// The note about calls of `tool`, whose server hints `hinted`, by a requester with these names. `None` when every call is
    /// sent.
    pub fn note(&self, tool: &ToolId, hinted: EffectClass, who: &[&str]) -> Option<PolicyNote> {
        let class = self.classes.of(tool, hinted);
        if self.fault_that_stops(class).is_some() {
            return Some(PolicyNote {
                is_denied: true,
                is_always: true,
                by: None,
            });
        }
        let by_operator = class.source.is_operators();
        let outlook = self.rules.outlook(tool, class.class, by_operator, who);
        let Outlook {
            effect,
            is_always,
            by,
        } = outlook;
        let is_denied = match effect {
            Effect::Allow => return None,
            Effect::Ask => false,
            Effect::Deny => true,
        };
        Some(PolicyNote {
            is_denied,
            is_always,
            by: Some(by.to_string()),
        })
    }
}

impl Facts<'_> {
    /// [`Policy::note`] for a tool within the scope. Of others a program learns nothing.
    pub fn note(&self, tool: &ToolId, hinted: EffectClass) -> Option<PolicyNote> {
        if !self.scope.covers(tool) {
            return None;
        }
        self.policy.note(tool, hinted, self.who)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{Layer, Preset, Rule, RuleSet};
    use crate::{PolicyFault, Scope};

    fn policy(effect: Effect, fault: Option<PolicyFault>) -> Policy {
        let rule = Rule {
            id: "mail-outside".to_owned(),
            effect,
            tools: Scope::parse(["mail.*"]).unwrap(),
            except: None,
            classes: None,
            arguments: Vec::new(),
            who: Some(vec!["user:anna".to_owned()]),
            reason: None,
            ask: None,
            layer: Layer::User,
            is_default: false,
            origin: String::new(),
        };
        Policy {
            rules: RuleSet::new(vec![rule], &[], Preset::Observe).unwrap(),
            fault,
            ..Policy::default()
        }
    }

    fn note(policy: &Policy, who: &str, scope: &Scope) -> Option<String> {
        let facts = Facts {
            scope,
            policy,
            who: &[who],
            now_us: 0,
        };
        let note = facts.note(&ToolId::new("mail", "send"), EffectClass::Read);
        note.map(|note| note.to_string())
    }

    #[test]
    fn a_note_names_the_rule_and_is_for_the_requester_and_the_scope() {
        let everything = Scope::everything();
        let asking = policy(Effect::Ask, None);
        let of_anna = note(&asking, "user:anna", &everything);
        assert_eq!(
            of_anna.as_deref(),
            Some("asks a person first (rule mail-outside)")
        );
        assert_eq!(note(&asking, "user:bob", &everything), None);
        let other = Scope::parse(["crm"]).unwrap();
        assert_eq!(note(&asking, "user:anna", &other), None);
        let denied = note(&policy(Effect::Deny, None), "user:anna", &everything);
        assert_eq!(denied.as_deref(), Some("denied (rule mail-outside)"));
        let fault = PolicyFault {
            problem: "config.toml:3".to_owned(),
        };
        let faulty = note(
            &policy(Effect::Allow, Some(fault)),
            "user:anna",
            &everything,
        );
        assert_eq!(
            faulty.as_deref(),
            Some("denied (the policy cannot be read)")
        );
    }
}
