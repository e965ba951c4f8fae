//! The policy of a configuration: rules, classes of tools, and what holds when they could not be read.

use std::collections::HashSet;
use std::fmt;

use limbeck_domain::{EffectClass, ServerName, ToolId};
use serde_json::Value;

use crate::budget::Budgets;
use crate::in_doubt::DoubtRules;
use crate::index::ScopeIndex;
use crate::question::Asked;
use crate::rules::{CallFacts, DecidedBy, Effect, Preset, RuleSet};
use crate::{Scope, Subject};

/// Patterns of tools with a class.
const CLASSES_MAX: usize = 10_000;

/// Rules and classes of a configuration. The default has no rules and allows every call.
#[derive(Debug, Default)]
pub struct Policy {
    /// The rules.
    pub rules: RuleSet,
    /// Classes that the operator gave to tools.
    pub classes: Classes,
    /// What the operator says about calls in doubt.
    pub in_doubt: DoubtRules,
    /// How much calls and runs may use.
    pub budgets: Budgets,
    /// Set when the rules could not be read whole: then only tools that the operator classed as reads are called.
    pub fault: Option<PolicyFault>,
}

/// Why the rules could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFault {
    /// File, line and problem.
    pub problem: String,
}

/// What the operator said about the effects of tools.
#[derive(Debug, Default)]
pub struct Classes {
    patterns: Vec<(Scope, EffectClass)>,
    index: ScopeIndex,
    trusted_servers: HashSet<ServerName>,
}

/// Class of a tool and who said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolClass {
    /// The class.
    pub class: EffectClass,
    /// Whose word it is.
    pub source: ClassSource,
}

/// Names by which rules know who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requester {
    user: String,
}

impl Requester {
    /// The requester that a principal is: `user:` and its name.
    pub fn of_principal(principal: &str) -> Self {
        Self {
            user: format!("user:{principal}"),
        }
    }

    /// The names, as `who` of a rule has them.
    pub fn names(&self) -> [&str; 1] {
        [&self.user]
    }
}

impl ToolClass {
    /// Class of a read of a resource, prompt or completion: the protocol says that these methods change nothing.
    pub const READ_METHOD: Self = Self {
        class: EffectClass::Read,
        source: ClassSource::Operator,
    };
}

/// Whose word a class is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassSource {
    /// The operator's, in the configuration.
    Operator,
    /// That of a server whose hints the operator trusts.
    TrustedServer,
    /// That of a server, which only makes a tool more harmful than unknown.
    Server,
    /// No word of anyone: the class is unknown.
    Unknown,
}

impl ClassSource {
    /// Whether it is the operator's word, directly or through a server that the operator trusts.
    pub fn is_operators(self) -> bool {
        matches!(self, Self::Operator | Self::TrustedServer)
    }

    /// The source as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::TrustedServer => "trusted_server",
            Self::Server => "server",
            Self::Unknown => "unknown",
        }
    }
}

/// There are too many classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{patterns} patterns with a class; at most {CLASSES_MAX} are allowed")]
pub struct ClassError {
    /// Their number.
    pub patterns: usize,
}

impl Classes {
    /// Classes by patterns of tools, and the servers whose hints count as the operator's word.
    ///
    /// # Errors
    ///
    /// When there are more than 10,000 patterns.
    pub fn new(
        patterns: Vec<(Scope, EffectClass)>,
        trusted_servers: HashSet<ServerName>,
    ) -> Result<Self, ClassError> {
        if patterns.len() > CLASSES_MAX {
            return Err(ClassError {
                patterns: patterns.len(),
            });
        }
        Ok(Self {
            index: ScopeIndex::of(patterns.iter().map(|(scope, _)| scope)),
            patterns,
            trusted_servers,
        })
    }

    /// The same classes, whose patterns are read with the servers of the configuration.
    pub fn resolved(mut self, servers: &HashSet<ServerName>) -> Self {
        for (scope, _) in &mut self.patterns {
            *scope = std::mem::take(scope).resolved(servers);
        }
        self
    }

    /// The patterns with their classes.
    pub fn patterns(&self) -> &[(Scope, EffectClass)] {
        &self.patterns
    }

    /// The class of `tool`, of which its server hints `hinted`: the operator's word first, the most harmful where several
    /// patterns match. That of another server never makes a tool less harmful than unknown, and neither does a pattern that can
    /// mean other tools too.
    pub fn of(&self, tool: &ToolId, hinted: EffectClass) -> ToolClass {
        let candidates = self.index.candidates(tool).into_iter();
        let patterns = candidates.map(|at| &self.patterns[at]);
        let (mut sure, mut doubtful) = (None, None);
        for (scope, class) in patterns.filter(|(scope, _)| scope.may_mean(tool)) {
            let of_kind = match scope.means(tool, Subject::Tool) {
                true => &mut sure,
                false => &mut doubtful,
            };
            *of_kind = Some(match *of_kind {
                Some(other) if harm(other) >= harm(*class) => other,
                _ => *class,
            });
        }
        let known = self.without_doubtful(tool, sure, hinted);
        match doubtful {
            Some(class) if harm(class) > harm(known.class) => ToolClass {
                class,
                source: ClassSource::Server,
            },
            _ => known,
        }
    }

    fn without_doubtful(
        &self,
        tool: &ToolId,
        by_operator: Option<EffectClass>,
        hinted: EffectClass,
    ) -> ToolClass {
        let (class, source) = match (by_operator, hinted) {
            (Some(class), _) => (class, ClassSource::Operator),
            (None, EffectClass::Unknown) => (EffectClass::Unknown, ClassSource::Unknown),
            (None, hinted) if self.trusted_servers.contains(&tool.server) => {
                (hinted, ClassSource::TrustedServer)
            }
            (None, EffectClass::Read) => (EffectClass::Unknown, ClassSource::Unknown),
            (None, hinted) => (hinted, ClassSource::Server),
        };
        ToolClass { class, source }
    }
}

fn harm(class: EffectClass) -> u8 {
    match class {
        EffectClass::Read => 0,
        EffectClass::Write => 1,
        EffectClass::Unknown => 2,
        EffectClass::Destructive => 3,
    }
}

/// A call that the policy does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyDenial {
    /// The tool.
    pub tool: ToolId,
    /// Whether a person has to be asked first, and not that it is denied.
    pub needs_approval: bool,
    /// What decided.
    pub cause: DenialCause,
}

/// What a call was denied by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DenialCause {
    /// A rule.
    Rule {
        /// Its id.
        id: String,
        /// Its reason.
        reason: Option<String>,
    },
    /// The preset, for tools of this class.
    Preset {
        /// Its name.
        preset: &'static str,
        /// Class of the tool.
        class: EffectClass,
    },
    /// The rules could not be read.
    Fault(PolicyFault),
}

impl PolicyDenial {
    /// Whether `message`, which a call of `tool` failed with, is that of a denial by a rule, a preset or a fault, and not
    /// that of a person's answer.
    pub fn is_message(message: &str, tool: &ToolId) -> bool {
        let of_tool = message.strip_prefix(&format!("`{tool}` "));
        let by_rule = |rest: &str| {
            rest.starts_with("is denied by rule `")
                || rest.starts_with("is not called, because the policy cannot be read")
        };
        of_tool.is_some_and(by_rule)
            || message.starts_with("the policy `") && message.contains("` denies calls of `")
    }
}

impl fmt::Display for PolicyDenial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            tool,
            needs_approval,
            cause,
        } = self;
        match cause {
            DenialCause::Rule { id, reason } => {
                let verdict = if *needs_approval {
                    "has to be approved first, by"
                } else {
                    "is denied by"
                };
                write!(f, "`{tool}` {verdict} rule `{id}`")?;
                match reason {
                    Some(reason) => write!(f, ": {reason}"),
                    None => Ok(()),
                }
            }
            DenialCause::Preset { preset, class } => {
                let class = class.as_str();
                let verdict = if *needs_approval {
                    "asks before calls of"
                } else {
                    "denies calls of"
                };
                write!(
                    f,
                    "the policy `{preset}` {verdict} `{tool}`, whose class is `{class}`"
                )
            }
            DenialCause::Fault(fault) => {
                write!(
                    f,
                    "`{tool}` is not called, because the policy cannot be read: {}",
                    fault.problem
                )
            }
        }
    }
}

impl Policy {
    /// The same policy, whose patterns of tools are read with these servers of the configuration.
    pub fn resolved(self, servers: &HashSet<ServerName>) -> Self {
        Self {
            rules: self.rules.resolved(servers),
            classes: self.classes.resolved(servers),
            ..self
        }
    }

    /// The fault of the rules, where it stops calls of tools of `class`: all but those that are known to read only.
    pub fn fault_that_stops(&self, class: ToolClass) -> Option<&PolicyFault> {
        let is_known_read = class.source.is_operators() && class.class == EffectClass::Read;
        self.fault.as_ref().filter(|_| !is_known_read)
    }

    /// Whether a call may have to be asked about: a rule asks, or the preset does.
    pub fn asks(&self) -> bool {
        let mut rules = self.rules.rules().iter();
        rules.any(|rule| rule.effect == Effect::Ask)
            || matches!(self.rules.preset(), Preset::Balanced | Preset::Strict)
    }

    /// Whether a person may be asked about the plan of a program: see [`Preset::asks_by_plan`].
    pub fn asks_by_plan(&self) -> bool {
        self.fault.is_none() && self.rules.preset().asks_by_plan()
    }

    /// The preset, where it allows a call and no rule is about it.
    pub(crate) fn allowed_by_preset(
        &self,
        tool: &ToolId,
        class: ToolClass,
        arguments: &str,
        who: &[&str],
    ) -> Option<Preset> {
        let parsed = if self.rules.reads_arguments_of(tool) {
            serde_json::from_str(arguments).unwrap_or(Value::Null)
        } else {
            Value::Null
        };
        let call = CallFacts {
            tool,
            subject: Subject::Tool,
            class: class.class,
            class_by_operator: class.source.is_operators(),
            arguments: &parsed,
            who,
        };
        let decision = self.rules.decide(&call);
        match (decision.effect, decision.by) {
            (Effect::Allow, DecidedBy::Preset { preset, .. }) => Some(preset),
            (Effect::Allow | Effect::Ask | Effect::Deny, _) => None,
        }
    }

    fn names_in_conditions(&self, call: &CallFacts<'_>) -> Vec<String> {
        let rules = &self.rules;
        let names = rules.conditioned_arguments(call.tool, call.class, call.who, call.subject);
        names.into_iter().map(str::to_owned).collect()
    }

    /// Decision about a call with arguments in JSON text.
    pub(crate) fn answer(
        &self,
        tool: &ToolId,
        class: ToolClass,
        arguments: &str,
        who: &[&str],
        subject: Subject,
    ) -> Answer {
        if let Some(fault) = self.fault_that_stops(class) {
            return Answer::Deny(DenialCause::Fault(fault.clone()));
        }
        // Only conditions read the arguments, and most calls meet none.
        let parsed = if self.rules.reads_arguments_of(tool) {
            serde_json::from_str(arguments).unwrap_or(Value::Null)
        } else {
            Value::Null
        };
        let ToolClass { class, source } = class;
        let call = CallFacts {
            tool,
            subject,
            class,
            class_by_operator: source.is_operators(),
            arguments: &parsed,
            who,
        };
        let decision = self.rules.decide(&call);
        let cause = || match decision.by {
            DecidedBy::Rule(rule) => DenialCause::Rule {
                id: rule.id.clone(),
                reason: rule.reason.clone(),
            },
            DecidedBy::Preset { preset, .. } => DenialCause::Preset {
                preset: preset.as_str(),
                class,
            },
        };
        match decision.effect {
            Effect::Allow => Answer::Allow,
            Effect::Ask => Answer::Ask(Asked {
                cause: cause(),
                unit: decision.unit(),
                options: self.rules.ask_options(&call),
                named_by_rules: self.names_in_conditions(&call),
                rules_text: self.rules.text_about(tool, class, who, subject),
            }),
            Effect::Deny => Answer::Deny(cause()),
        }
    }
}

/// What the policy says about a call.
#[derive(Debug)]
pub(crate) enum Answer {
    /// It is sent.
    Allow,
    /// A person is asked first.
    Ask(Asked),
    /// It is not sent.
    Deny(DenialCause),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Denied;
    use crate::rules::Preset;

    fn policy(preset: Preset, classes: Classes) -> Policy {
        Policy {
            rules: RuleSet::new(Vec::new(), &[], preset).unwrap(),
            classes,
            ..Policy::default()
        }
    }

    fn is_allowed(policy: &Policy, tool: &ToolId, hinted: EffectClass) -> bool {
        let class = policy.classes.of(tool, hinted);
        matches!(
            policy.answer(tool, class, "{}", &[], Subject::Tool),
            Answer::Allow
        )
    }

    #[test]
    fn a_hint_of_a_server_never_loosens_and_the_operators_word_does() {
        let tool = ToolId::new("files", "delete_all");
        let unattended = policy(Preset::Unattended, Classes::default());
        assert!(!is_allowed(&unattended, &tool, EffectClass::Read));
        let scope = Scope::parse(["files.delete_*"]).unwrap();
        let classes = Classes::new(vec![(scope, EffectClass::Read)], HashSet::new()).unwrap();
        let by_operator = policy(Preset::Unattended, classes);
        assert!(is_allowed(&by_operator, &tool, EffectClass::Destructive));
        assert!(!is_allowed(
            &by_operator,
            &ToolId::new("files", "write"),
            EffectClass::Read
        ));
        let trusted = Classes::new(Vec::new(), HashSet::from(["files".into()])).unwrap();
        let trusted = policy(Preset::Unattended, trusted);
        assert!(is_allowed(&trusted, &tool, EffectClass::Read));
        assert!(!is_allowed(&trusted, &tool, EffectClass::Destructive));
        assert!(!is_allowed(
            &trusted,
            &ToolId::new("mail", "list"),
            EffectClass::Read
        ));
    }

    #[test]
    fn the_most_harmful_of_several_classes_counts() {
        let scope = |pattern| Scope::parse([pattern]).unwrap();
        let patterns = vec![
            (scope("files.*"), EffectClass::Destructive),
            (scope("files.read"), EffectClass::Read),
        ];
        let classes = Classes::new(patterns, HashSet::new()).unwrap();
        let of = |tool| classes.of(&ToolId::new("files", tool), EffectClass::Unknown);
        assert_eq!(of("read").class, EffectClass::Destructive);
        assert_eq!(of("read").source, ClassSource::Operator);
        let other = classes.of(&ToolId::new("mail", "send"), EffectClass::Destructive);
        assert_eq!(
            (other.class, other.source),
            (EffectClass::Destructive, ClassSource::Server)
        );
    }

    #[test]
    fn a_class_of_a_pattern_with_several_meanings_only_makes_tools_more_harmful() {
        let servers = ["x", "x.y"].map(ServerName::from).into();
        let of = |pattern: &str, class| {
            let scope = Scope::parse([pattern]).unwrap();
            let classes = Classes::new(vec![(scope, class)], HashSet::new()).unwrap();
            let classes = classes.resolved(&servers);
            let of = classes.of(&ToolId::new("x.y", "z"), EffectClass::Unknown);
            (of.class, of.source)
        };
        let unknown = (EffectClass::Unknown, ClassSource::Unknown);
        assert_eq!(of("x.y.z", EffectClass::Read), unknown);
        assert_eq!(
            of("x.y.z", EffectClass::Destructive),
            (EffectClass::Destructive, ClassSource::Server)
        );
        assert_eq!(
            of("mcp__x.y__z", EffectClass::Read),
            (EffectClass::Read, ClassSource::Operator)
        );
    }

    #[test]
    fn rules_that_could_not_be_read_leave_known_reads_alone() {
        let scope = Scope::parse(["files.read"]).unwrap();
        let classes = Classes::new(vec![(scope, EffectClass::Read)], HashSet::new()).unwrap();
        let faulty = Policy {
            fault: Some(PolicyFault {
                problem: "/home/anna/limbeck.toml:3: unknown key".to_owned(),
            }),
            ..policy(Preset::Observe, classes)
        };
        assert!(is_allowed(
            &faulty,
            &ToolId::new("files", "read"),
            EffectClass::Unknown
        ));
        let tool = ToolId::new("files", "write");
        let class = faulty.classes.of(&tool, EffectClass::Read);
        let Answer::Deny(cause) = faulty.answer(&tool, class, "{}", &[], Subject::Tool) else {
            panic!("a fault denies");
        };
        let denied = Denied::by_policy(tool, cause);
        assert_eq!(
            denied.to_string(),
            "`files.write` is not called, because the policy cannot be read: /home/anna/limbeck.toml:3: unknown key"
        );
    }

    #[test]
    fn each_denial_is_known_by_its_message_and_an_answer_of_a_person_is_not() {
        let tool = ToolId::new("mail", "send");
        let fault = PolicyFault {
            problem: "line 3".to_owned(),
        };
        let rule = DenialCause::Rule {
            id: "r".to_owned(),
            reason: None,
        };
        let preset = DenialCause::Preset {
            preset: "strict",
            class: EffectClass::Write,
        };
        let denial = |cause: DenialCause, needs_approval: bool| {
            let denial = PolicyDenial {
                tool: tool.clone(),
                needs_approval,
                cause,
            };
            PolicyDenial::is_message(&denial.to_string(), &tool)
        };
        assert!(denial(rule.clone(), false));
        assert!(denial(preset.clone(), false));
        assert!(denial(DenialCause::Fault(fault), false));
        assert!(!denial(rule, true));
        assert!(!denial(preset, true));
        assert!(!PolicyDenial::is_message(
            "a person denied `mail.send`",
            &tool
        ));
    }
}
