//! Decision whether a question may be put to a model.
//!
//! Rules, scopes and questions to people know it as a call of the tool `llm.ask` or `llm.think`, which no server has.

use limbeck_domain::CompactArguments;

use crate::model_action::ModelAction;
use crate::policy::Answer;
use crate::{Denied, Facts, Question, Subject, Ticket, ToolCall, ToolClass};

/// One question to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRequest {
    /// Its kind.
    pub action: ModelAction,
    /// The question, as it is put.
    pub arguments: CompactArguments,
}

/// Proof that one question, and the correction of its answer, was allowed. Only this module creates one.
#[derive(Debug)]
#[must_use = "a permit is for the question that it was issued for"]
pub struct ModelPermit {
    request: ModelRequest,
}

impl ModelPermit {
    /// The question that was allowed.
    pub fn request(&self) -> &ModelRequest {
        &self.request
    }

    /// Returns the question, for another decision about it.
    pub fn into_request(self) -> ModelRequest {
        self.request
    }
}

/// Decision about a question to a model.
#[derive(Debug)]
pub enum DecidedModel {
    /// It may be put.
    Permit(ModelPermit),
    /// A person has to approve it first.
    Ask(Box<ModelQuestion>),
}

/// A question to a model that a person has to approve first. It gives the request away only as a permit.
#[derive(Debug)]
#[must_use = "a question is shown to a person, or its request is refused"]
pub struct ModelQuestion {
    request: ModelRequest,
    question: Question,
}

impl ModelQuestion {
    /// What a person is asked.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// The permit, when `ticket` is that of this very request, and the question again when anything differs. The caller checks
    /// that those who approved may do so.
    pub fn approved(self: Box<Self>, ticket: &Ticket, pin: Option<&str>) -> DecidedModel {
        if self.question.ticket(pin) == *ticket {
            return DecidedModel::Permit(ModelPermit {
                request: self.request,
            });
        }
        DecidedModel::Ask(self)
    }

    /// The same refusal as that of a caller that cannot ask.
    pub fn into_denied(self) -> Denied {
        self.question.into_denied()
    }
}

/// Allows `request` when the scope covers its tool and the policy allows that tool. Its class is read, by the word of the user who
/// configured the model: it changes nothing. What it costs is bounded by quotas, and rules may deny it or ask.
///
/// # Errors
///
/// [`Denied`].
pub fn decide_model_or_ask(
    request: ModelRequest,
    facts: &Facts<'_>,
) -> Result<DecidedModel, Denied> {
    let tool = request.action.tool();
    facts.scope.allows(&tool)?;
    let class = ToolClass::READ_METHOD;
    let arguments = request.arguments.as_str();
    match facts
        .policy
        .answer(&tool, class, arguments, facts.who, Subject::Tool)
    {
        Answer::Allow => Ok(DecidedModel::Permit(ModelPermit { request })),
        Answer::Ask(asked) => {
            let call = ToolCall {
                tool,
                arguments: request.arguments.clone(),
                effect: class.class,
            };
            Ok(DecidedModel::Ask(Box::new(ModelQuestion {
                request,
                question: Question::about(call, class, asked),
            })))
        }
        Answer::Deny(cause) => Err(Denied::by_policy(tool, cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{Effect, Layer, Preset, Rule, RuleSet};
    use crate::{Policy, Scope};

    fn request(prompt: &str) -> ModelRequest {
        let arguments = serde_json::json!({ "prompt": prompt }).to_string();
        ModelRequest {
            action: ModelAction::Ask,
            arguments: CompactArguments::parse(&arguments).unwrap().0,
        }
    }

    fn policy(effect: Effect, preset: Preset) -> Policy {
        let rule = Rule {
            id: "models".to_owned(),
            effect,
            tools: Scope::parse(["llm.*"]).unwrap(),
            except: None,
            classes: None,
            arguments: Vec::new(),
            who: None,
            reason: None,
            ask: None,
            layer: Layer::User,
            is_default: false,
            origin: "config.toml:1".to_owned(),
        };
        Policy {
            rules: RuleSet::new(vec![rule], &[], preset).unwrap(),
            ..Policy::default()
        }
    }

    fn decided(scope: &Scope, policy: &Policy) -> Result<DecidedModel, Denied> {
        let facts = Facts {
            scope,
            policy,
            who: &[],
            now_us: 0,
        };
        decide_model_or_ask(request("x"), &facts)
    }

    #[test]
    fn scopes_and_rules_decide_about_models_and_no_preset_asks() {
        let everything = Scope::everything();
        for preset in [
            Preset::Observe,
            Preset::Balanced,
            Preset::Strict,
            Preset::Unattended,
        ] {
            let policy = Policy {
                rules: RuleSet::new(Vec::new(), &[], preset).unwrap(),
                ..Policy::default()
            };
            let decided = decided(&everything, &policy);
            assert!(
                matches!(decided, Ok(DecidedModel::Permit(_))),
                "{decided:?}"
            );
        }
        for (pattern, is_allowed) in [
            ("llm", true),
            ("llm.ask", true),
            ("llm.think", false),
            ("files.*", false),
        ] {
            let scope = Scope::parse([pattern]).unwrap();
            assert_eq!(
                decided(&scope, &Policy::default()).is_ok(),
                is_allowed,
                "{pattern}"
            );
        }
        let denied = decided(&everything, &policy(Effect::Deny, Preset::Observe));
        let denied = denied.unwrap_err().to_string();
        assert_eq!(denied, "`llm.ask` is denied by rule `models`");
    }

    #[test]
    fn an_approval_is_for_the_question_that_was_shown() {
        let policy = policy(Effect::Ask, Preset::Observe);
        let asked = |prompt: &str| {
            let facts = Facts {
                scope: &Scope::everything(),
                policy: &policy,
                who: &[],
                now_us: 0,
            };
            match decide_model_or_ask(request(prompt), &facts) {
                Ok(DecidedModel::Ask(question)) => question,
                other => panic!("{other:?}"),
            }
        };
        let ticket = asked("a").question().ticket(Some("pin"));
        let same = asked("a").approved(&ticket, Some("pin"));
        assert!(matches!(same, DecidedModel::Permit(_)));
        for other in [
            asked("b").approved(&ticket, Some("pin")),
            asked("a").approved(&ticket, None),
        ] {
            assert!(matches!(other, DecidedModel::Ask(_)));
        }
    }
}
