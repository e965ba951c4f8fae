//! Questions about calls that a person has to approve, and the tickets that approvals are bound to.
//!
//! An approval is for exact bytes: the tool, its pin, its class and the SHA-256 of the arguments as they will be sent. It
//! never overrides a denial: [`decide_with_ticket`] asks the policy again.

use limbeck_domain::{CompactArguments, EffectClass, ToolId};
use sha2::{Digest as _, Sha256};

use crate::budget::Budget;
use crate::policy::Answer;
use crate::rules::{AskOptions, AskUnit, Preset, Remember};
use crate::{DenialCause, Denied, Facts, Permit, Subject, ToolCall, ToolClass};

/// Decision about a call that may be asked about.
#[derive(Debug)]
pub enum Decided {
    /// The call may be sent.
    Permit(Permit),
    /// A person has to approve it first.
    Ask(Box<Question>),
}

/// A call that a person has to approve before it is sent. It holds the call, and gives it away only as a permit.
#[derive(Debug)]
#[must_use = "a question is shown to a person, or its call is refused"]
pub struct Question {
    call: ToolCall,
    class: ToolClass,
    cause: DenialCause,
    unit: AskUnit,
    options: AskOptions,
    named_by_rules: Vec<String>,
    rules_text: String,
    is_repeat: bool,
}

/// Why and how a call is asked about.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) cause: DenialCause,
    pub(crate) unit: AskUnit,
    pub(crate) options: AskOptions,
    /// Arguments that conditions of rules name.
    pub(crate) named_by_rules: Vec<String>,
    /// All that the rules about such calls say.
    pub(crate) rules_text: String,
}

impl Asked {
    /// Both as one question, as strict as the stricter of the two in each.
    pub(crate) fn together(self, other: Self) -> Self {
        Self {
            options: self.options.tightened(&other.options),
            named_by_rules: [self.named_by_rules, other.named_by_rules].concat(),
            rules_text: format!("{}\n{}", self.rules_text, other.rules_text),
            ..self
        }
    }
}

/// What the approval of a call is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// The tool.
    pub tool: ToolId,
    /// SHA-256 of the arguments' bytes, as they will be sent.
    pub sha256: [u8; 32],
    /// Pin of the tool's definition, where it has one.
    pub pin: Option<String>,
    /// Class of the tool.
    pub class: EffectClass,
}

impl Question {
    /// The question about `call`, whose tool has this class.
    pub(crate) fn about(call: ToolCall, class: ToolClass, asked: Asked) -> Self {
        let Asked {
            cause,
            unit,
            options,
            named_by_rules,
            rules_text,
        } = asked;
        Self {
            call,
            class,
            cause,
            unit,
            options,
            named_by_rules,
            rules_text,
            is_repeat: false,
        }
    }

    /// The tool.
    pub fn tool(&self) -> &ToolId {
        &self.call.tool
    }

    /// The arguments: exactly the bytes that will be sent.
    pub fn arguments(&self) -> &CompactArguments {
        &self.call.arguments
    }

    /// Class of the tool, and who said so.
    pub fn class(&self) -> ToolClass {
        self.class
    }

    /// The rule or preset that asks.
    pub fn cause(&self) -> &DenialCause {
        &self.cause
    }

    /// What the question is about. Rules ask about each call; presets as their table says.
    pub fn unit(&self) -> AskUnit {
        self.unit
    }

    /// Whether the preset allows the call, and it is asked about because the program makes it again and again.
    pub fn is_repeat(&self) -> bool {
        self.is_repeat
    }

    /// How a person is asked.
    pub fn options(&self) -> &AskOptions {
        &self.options
    }

    /// Names of the arguments that conditions of rules about such calls are about.
    pub(crate) fn named_by_rules(&self) -> &[String] {
        &self.named_by_rules
    }

    /// All that the rules about such calls say.
    pub(crate) fn rules_text(&self) -> &str {
        &self.rules_text
    }

    /// What an approval of the call is bound to. `pin` is that of the tool's definition now.
    pub fn ticket(&self, pin: Option<&str>) -> Ticket {
        Ticket {
            tool: self.call.tool.clone(),
            sha256: sha256(&self.call.arguments),
            pin: pin.map(str::to_owned),
            class: self.class.class,
        }
    }

    /// The permit, when `ticket` is that of this very call, and the question again when anything differs. The caller checks
    /// that those who approved may do so by [`Self::options`].
    pub fn approved(self: Box<Self>, ticket: &Ticket, pin: Option<&str>) -> Decided {
        if self.ticket(pin) == *ticket {
            return Decided::Permit(Permit {
                call: self.call,
                class: self.class,
                plan_line: None,
            });
        }
        Decided::Ask(self)
    }

    /// The call that is asked about.
    pub(crate) fn call(&self) -> &ToolCall {
        &self.call
    }

    /// The preset that asks; `None` when a rule does.
    pub(crate) fn asked_by(&self) -> Option<Preset> {
        match &self.cause {
            DenialCause::Preset { preset, .. } => Preset::named(preset),
            DenialCause::Rule { .. } | DenialCause::Fault(_) => None,
        }
    }

    /// The permit of a call that was counted on a line of a plan grant.
    pub(crate) fn granted(self, line: usize) -> Permit {
        Permit {
            call: self.call,
            class: self.class,
            plan_line: Some(line),
        }
    }

    /// The same refusal as that of a caller that cannot ask.
    pub fn into_denied(self) -> Denied {
        Denied::needs_approval(self.call.tool, self.cause)
    }
}

fn sha256(arguments: &CompactArguments) -> [u8; 32] {
    Sha256::digest(arguments.as_str()).into()
}

/// Decides about `call`: it may be sent, a person is asked first, or it is denied.
///
/// # Errors
///
/// [`Denied`], and never because a person has to be asked.
pub fn decide_or_ask(call: ToolCall, facts: &Facts<'_>) -> Result<Decided, Denied> {
    facts.scope.allows(&call.tool)?;
    let class = facts.policy.classes.of(&call.tool, call.effect);
    let arguments = call.arguments.as_str();
    match facts
        .policy
        .answer(&call.tool, class, arguments, facts.who, Subject::Tool)
    {
        Answer::Allow => Ok(Decided::Permit(Permit {
            call,
            class,
            plan_line: None,
        })),
        Answer::Ask(asked) => Ok(Decided::Ask(Box::new(Question::about(call, class, asked)))),
        Answer::Deny(cause) => Err(Denied::by_policy(call.tool, cause)),
    }
}

/// The question about a call that has its permit, and that a program makes again and again. `None` unless the
/// preset `balanced` allows it: a rule that allows a call allows it as often as it is made.
pub fn ask_about_repeat(permit: &Permit, facts: &Facts<'_>) -> Option<Box<Question>> {
    let call = permit.call().clone();
    let class = permit.class();
    let (policy, who) = (facts.policy, facts.who);
    let preset = policy.allowed_by_preset(&call.tool, class, call.arguments.as_str(), who)?;
    if !preset.asks_about_repeats() {
        return None;
    }
    let rules_text = policy
        .rules
        .text_about(&call.tool, class.class, who, Subject::Tool);
    Some(Box::new(Question {
        call,
        class,
        cause: DenialCause::Preset {
            preset: preset.as_str(),
            class: class.class,
        },
        unit: AskUnit::Call,
        options: AskOptions {
            remember: Remember::Run,
            ..AskOptions::default()
        },
        named_by_rules: Vec::new(),
        rules_text,
        is_repeat: true,
    }))
}

/// Beginning of the name under which a question says that a budget asks. The ids of budgets have no colon.
const BUDGET: &str = "budget:";

/// The question about a call that has its permit, and that `budget` has no room for. `reason` says what is used up.
pub fn ask_over_budget(
    permit: &Permit,
    facts: &Facts<'_>,
    budget: &Budget,
    reason: String,
) -> Box<Question> {
    let (call, class) = (permit.call().clone(), permit.class());
    let rules = &facts.policy.rules;
    let rules_text = rules.text_about(&call.tool, class.class, facts.who, Subject::Tool);
    Box::new(Question {
        call,
        class,
        cause: DenialCause::Rule {
            id: format!("{BUDGET}{}", budget.id),
            reason: Some(reason),
        },
        unit: AskUnit::Call,
        options: AskOptions::default(),
        named_by_rules: Vec::new(),
        rules_text,
        is_repeat: false,
    })
}

/// The id of the budget that a question with this rule is about; `None` for a rule.
pub fn budget_of_question(rule: &str) -> Option<&str> {
    rule.strip_prefix(BUDGET)
}

/// Decides about a call for which a person's approval is there. The policy is asked again: what it denies now stays denied, and
/// what it asks about now is sent only where tool, bytes, pin and class are those of `ticket`. `pin` is that of the tool's
/// definition now. Whether those who approved may do so is the caller's to check, by [`Question::options`].
///
/// # Errors
///
/// [`Denied`].
pub fn decide_with_ticket(
    call: ToolCall,
    facts: &Facts<'_>,
    ticket: &Ticket,
    pin: Option<&str>,
) -> Result<Decided, Denied> {
    Ok(match decide_or_ask(call, facts)? {
        Decided::Permit(permit) => Decided::Permit(permit),
        Decided::Ask(question) => question.approved(ticket, pin),
    })
}

#[cfg(test)]
mod tests;
