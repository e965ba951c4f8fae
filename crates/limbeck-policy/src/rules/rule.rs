//! One rule.

use std::fmt;

use limbeck_domain::{EffectClass, ToolId};

use super::ask::AskOptions;
use super::condition::{Condition, Conditions};
use super::path::ArgumentPath;
use crate::{Scope, Subject};

/// Bytes of a rule's id.
const ID_BYTES_MAX: usize = 128;
/// Bytes of a rule's reason.
const REASON_BYTES_MAX: usize = 1024;
/// Conditions on arguments, and entries of `who`, of one rule.
const CONDITIONS_MAX: usize = 64;

/// What a rule says about a call. The order is from the loosest to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// The call is sent.
    Allow,
    /// A person is asked first.
    Ask,
    /// The call is not sent.
    Deny,
}

impl Effect {
    /// The effect of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Allow, Self::Ask, Self::Deny]
            .into_iter()
            .find(|effect| effect.as_str() == name)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whose file a rule comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// The machine's administrator.
    Managed,
    /// The user.
    User,
    /// A file that was named with `--config`.
    File,
    /// A repository. Its rules ask and deny, and never allow.
    Project,
}

impl Layer {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::User => "user",
            Self::File => "file",
            Self::Project => "project",
        }
    }
}

/// One rule. It matches a call when all of its conditions hold; an absent condition always holds.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Name of the rule, unique among all, as questions and errors show it.
    pub id: String,
    /// What it says about calls that it matches.
    pub effect: Effect,
    /// Tools that it is about.
    pub tools: Scope,
    /// Tools of `tools` that it is not about.
    pub except: Option<Scope>,
    /// Classes of the tools.
    pub classes: Option<Vec<EffectClass>>,
    /// Conditions on arguments; all have to hold.
    pub arguments: Vec<(ArgumentPath, Condition)>,
    /// Who asks for the call: `user:NAME` or `group:NAME`; one has to fit.
    pub who: Option<Vec<String>>,
    /// Why, for the person who is asked and for the program that is refused.
    pub reason: Option<String>,
    /// How a person is asked, for a rule that asks and says so.
    pub ask: Option<AskOptions>,
    /// Whose file it comes from.
    pub layer: Layer,
    /// Whether a managed rule yields to rules of the user.
    pub is_default: bool,
    /// File and line, for messages.
    pub origin: String,
}

/// Why rules cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// More rules than [`RULES_MAX`](super::RULES_MAX).
    #[error("{rules} rules; at most {} are allowed", super::RULES_MAX)]
    TooMany {
        /// Their number.
        rules: usize,
    },
    /// Two rules have the same id.
    #[error("two rules have the id `{id}`")]
    DuplicateId {
        /// The id.
        id: String,
    },
    /// The id is empty, too long, or has other characters than ASCII letters, digits, `-`, `_`, `.` and `:`.
    #[error("the id of a rule has 1 to {ID_BYTES_MAX} letters, digits and characters of `-_.:`")]
    InvalidId,
    /// The reason is too long.
    #[error("the reason of rule `{id}` has more than {REASON_BYTES_MAX} bytes")]
    LongReason {
        /// The rule.
        id: String,
    },
    /// There are too many conditions.
    #[error("rule `{id}` has more than {CONDITIONS_MAX} conditions")]
    TooManyConditions {
        /// The rule.
        id: String,
    },
    /// A project's rule allows.
    #[error("rule `{id}` of a repository's file allows; it can only ask and deny")]
    ProjectAllows {
        /// The rule.
        id: String,
    },
    /// `default = true` is in another file than the managed one.
    #[error("rule `{id}` has `default`, which is for the managed file alone")]
    DefaultOutsideManaged {
        /// The rule.
        id: String,
    },
    /// A rule that does not ask says how.
    #[error("rule `{id}` has `ask`, and its effect is `{effect}`")]
    AskWithoutQuestion {
        /// The rule.
        id: String,
        /// Its effect.
        effect: Effect,
    },
    /// A value of `ask` is out of bounds.
    #[error("`ask` of rule `{id}`: {problem}")]
    Ask {
        /// The rule.
        id: String,
        /// What is wrong.
        problem: &'static str,
    },
}

impl Rule {
    /// Checks what is in the rule itself.
    ///
    /// # Errors
    ///
    /// [`RuleError`], but for those about several rules.
    pub fn check(&self) -> Result<(), RuleError> {
        let id = || self.id.clone();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        if self.id.is_empty() || self.id.len() > ID_BYTES_MAX || !self.id.bytes().all(is_plain) {
            return Err(RuleError::InvalidId);
        }
        let reason_bytes = self.reason.as_ref().map_or(0, String::len);
        if reason_bytes > REASON_BYTES_MAX {
            return Err(RuleError::LongReason { id: id() });
        }
        let conditions = self
            .arguments
            .len()
            .max(self.who.as_ref().map_or(0, Vec::len));
        if conditions > CONDITIONS_MAX {
            return Err(RuleError::TooManyConditions { id: id() });
        }
        match (&self.ask, self.effect) {
            (Some(ask), Effect::Ask) => ask.check(&self.id)?,
            (Some(_), effect) => return Err(RuleError::AskWithoutQuestion { id: id(), effect }),
            (None, _) => {}
        }
        match (self.layer, self.effect, self.is_default) {
            (Layer::Project, Effect::Allow, _) => Err(RuleError::ProjectAllows { id: id() }),
            (Layer::User | Layer::File | Layer::Project, _, true) => {
                Err(RuleError::DefaultOutsideManaged { id: id() })
            }
            _ => Ok(()),
        }
    }

    /// Whether the rule is about `tool`, with any class and arguments.
    pub fn covers(&self, tool: &ToolId) -> bool {
        self.is_of(tool, Subject::Tool) && !self.is_excepted(tool, Subject::Tool)
    }

    /// Whether its patterns are about `tool`: one that allows needs a pattern that can mean nothing else.
    pub(super) fn is_of(&self, tool: &ToolId, subject: Subject) -> bool {
        match self.effect {
            Effect::Allow => self.tools.means(tool, subject),
            Effect::Ask | Effect::Deny => self.tools.may_mean(tool),
        }
    }

    /// Whether its patterns are about `tool` and can mean nothing else, with any effect.
    pub(super) fn is_surely_of(&self, tool: &ToolId, subject: Subject) -> bool {
        let excepted = self.except.as_ref();
        self.tools.means(tool, subject) && !excepted.is_some_and(|except| except.may_mean(tool))
    }

    /// All that the rule says, without its place in a file.
    pub(super) fn text(&self) -> String {
        let Self {
            id,
            effect,
            tools,
            except,
            classes,
            arguments,
            who,
            reason,
            ask,
            layer,
            is_default,
            origin: _,
        } = self;
        let conditions = (tools, except, classes, arguments, who);
        format!(
            "{:?}",
            (id, effect, conditions, reason, ask, layer, is_default)
        )
    }

    /// Whether `except` leaves `tool` out. What it takes out of a rule that denies or asks, it loosens.
    pub(super) fn is_excepted(&self, tool: &ToolId, subject: Subject) -> bool {
        self.except
            .as_ref()
            .is_some_and(|except| match self.effect {
                Effect::Allow => except.may_mean(tool),
                Effect::Ask | Effect::Deny => except.means(tool, subject),
            })
    }

    /// How its conditions on arguments are joined: an allowing rule needs them true of every element, another fires when
    /// they are true, or cannot be known, of any.
    pub(super) fn conditions(&self) -> Conditions<'_> {
        Conditions::new(&self.arguments, self.effect == Effect::Allow)
    }
}
