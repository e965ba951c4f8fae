//! Arguments of `resume`: read leniently, as those of the other tools.

use limbeck_gateway::approval_view::decision_reason;
use rmcp::model::JsonObject;
use serde_json::Value;

use super::arguments::{ArgumentError, nothing_left, optional_string};

const RESUME_FORM: &str = "accepted: {execution_id: string, action?: \"wait\" | \"approve\" | \"deny\" | \"answer\" | \"cancel\", content?: {approval_id?: string, decision?: \"approve\" | \"deny\", reason?: string, edited?: object}}";

/// Arguments of `resume`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ResumeArguments {
    pub(super) execution_id: String,
    pub(super) action: ResumeAction,
}

/// What is done about a paused execution.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ResumeAction {
    /// Goes on with it, and waits for a person where that is needed.
    Wait,
    /// Decides about its questions, then goes on.
    Decide(ModelDecision),
    /// Ends it.
    Cancel,
}

/// Decision that a model sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ModelDecision {
    pub(super) approve: bool,
    /// The question; every pending one of the execution when absent.
    pub(super) approval_id: Option<String>,
    pub(super) reason: Option<String>,
    /// JSON text of the arguments to send instead.
    pub(super) edited: Option<String>,
}

impl ResumeAction {
    /// Names of the actions, as the schema lists them.
    pub(super) const NAMES: [&'static str; 5] = ["wait", "approve", "deny", "answer", "cancel"];
}

impl ResumeArguments {
    pub(super) fn read(mut arguments: JsonObject) -> Result<Self, ArgumentError> {
        let execution_id = optional_string(&mut arguments, "execution_id", RESUME_FORM)?
            .filter(|id| !id.is_empty())
            .ok_or_else(|| ArgumentError::new("`execution_id` is missing", RESUME_FORM))?;
        let action = optional_string(&mut arguments, "action", RESUME_FORM)?;
        let content = match arguments.remove("content") {
            None | Some(Value::Null) => None,
            Some(Value::Object(content)) => Some(content),
            Some(_) => {
                return Err(ArgumentError::new(
                    "`content` must be an object",
                    RESUME_FORM,
                ));
            }
        };
        nothing_left(&arguments, RESUME_FORM)?;
        let action = match (action.as_deref(), content) {
            (None | Some("wait"), None) => ResumeAction::Wait,
            (Some("cancel"), None) => ResumeAction::Cancel,
            (Some("approve"), content) => ResumeAction::Decide(decision(Some(true), content)?),
            (Some("deny"), content) => ResumeAction::Decide(decision(Some(false), content)?),
            (Some("answer"), content) => ResumeAction::Decide(decision(None, content)?),
            (None | Some("wait" | "cancel"), Some(_)) => {
                let message = "`content` belongs to `approve`, `deny` and `answer`";
                return Err(ArgumentError::new(message, RESUME_FORM));
            }
            (Some(_), _) => return Err(ArgumentError::new("unknown `action`", RESUME_FORM)),
        };
        Ok(Self {
            execution_id,
            action,
        })
    }
}

/// The decision of `content`. `by_action` is what the action says; a content that says something else is refused.
fn decision(
    by_action: Option<bool>,
    content: Option<JsonObject>,
) -> Result<ModelDecision, ArgumentError> {
    let mut content = content.unwrap_or_default();
    let wrong = |message: &str| ArgumentError::new(message, RESUME_FORM);
    let named = optional_string(&mut content, "decision", RESUME_FORM)?;
    let named = match named.as_deref() {
        None => None,
        Some("approve") => Some(true),
        Some("deny") => Some(false),
        Some(_) => return Err(wrong("`decision` must be `approve` or `deny`")),
    };
    let approve = match (by_action, named) {
        (Some(action), Some(named)) if action != named => {
            return Err(wrong("`action` and `decision` differ"));
        }
        (Some(approve), _) | (None, Some(approve)) => approve,
        (None, None) => return Err(wrong("`decision` is missing in `content`")),
    };
    let approval_id = optional_string(&mut content, "approval_id", RESUME_FORM)?;
    let reason = optional_string(&mut content, "reason", RESUME_FORM)?;
    let reason = decision_reason(reason.as_deref().unwrap_or_default())
        .map_err(|error| wrong(&error.to_string()))?;
    let edited = match content.remove("edited") {
        None | Some(Value::Null) => None,
        Some(Value::Object(_)) if !approve => {
            return Err(wrong("`edited` belongs to an approval"));
        }
        Some(Value::Object(_)) if approval_id.is_none() => {
            return Err(wrong("`edited` needs the `approval_id` that it is for"));
        }
        Some(edited @ Value::Object(_)) => Some(edited.to_string()),
        Some(_) => return Err(wrong("`edited` must be an object with all arguments")),
    };
    nothing_left(&content, RESUME_FORM)?;
    Ok(ModelDecision {
        approve,
        approval_id,
        reason,
        edited,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(arguments: Value) -> Result<ResumeArguments, ArgumentError> {
        match arguments {
            Value::Object(arguments) => ResumeArguments::read(arguments),
            _ => unreachable!("tests pass objects"),
        }
    }

    fn decision_of(arguments: Value) -> ModelDecision {
        match read(arguments).unwrap().action {
            ResumeAction::Decide(decision) => decision,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_listed_action_is_read_and_waiting_is_the_default() {
        assert_eq!(
            read(json!({"execution_id": "ex_1"})).unwrap(),
            ResumeArguments {
                execution_id: "ex_1".to_owned(),
                action: ResumeAction::Wait,
            }
        );
        for name in ResumeAction::NAMES {
            let mut arguments = json!({"execution_id": "ex_1", "action": name});
            if name == "answer" {
                arguments["content"] = json!({"decision": "deny"});
            }
            assert!(read(arguments).is_ok(), "{name}");
        }
    }

    #[test]
    fn a_decision_has_its_question_its_reason_and_the_edited_arguments() {
        let denied = decision_of(
            json!({"execution_id": "ex_1", "action": "deny", "content": {"reason": " no\u{202e} "}}),
        );
        assert_eq!(
            (denied.approve, denied.reason.as_deref()),
            (false, Some("no"))
        );
        let content = json!({"approval_id": "ap_1", "decision": "approve", "edited": {"to": "a"}});
        let answered =
            decision_of(json!({"execution_id": "ex_1", "action": "answer", "content": content}));
        assert_eq!(
            answered,
            ModelDecision {
                approve: true,
                approval_id: Some("ap_1".to_owned()),
                reason: None,
                edited: Some(r#"{"to":"a"}"#.to_owned()),
            }
        );
    }

    #[test]
    fn wrong_arguments_are_named_with_the_accepted_form() {
        for (arguments, named) in [
            (json!({}), "`execution_id` is missing"),
            (json!({"execution_id": ""}), "`execution_id` is missing"),
            (
                json!({"execution_id": "e", "action": "accept"}),
                "unknown `action`",
            ),
            (
                json!({"execution_id": "e", "content": {}}),
                "`content` belongs to",
            ),
            (
                json!({"execution_id": "e", "action": "answer"}),
                "`decision` is missing",
            ),
            (
                json!({"execution_id": "e", "action": "approve", "content": {"decision": "deny"}}),
                "`action` and `decision` differ",
            ),
            (
                json!({"execution_id": "e", "action": "approve", "content": {"edited": {}}}),
                "`edited` needs the `approval_id`",
            ),
            (
                json!({"execution_id": "e", "action": "deny", "content": {"edited": {}}}),
                "`edited` belongs to an approval",
            ),
            (
                json!({"execution_id": "e", "action": "deny", "content": {"reason": "x".repeat(2_000)}}),
                "the reason has 2000 bytes",
            ),
            (
                json!({"execution_id": "e", "act": "wait"}),
                "unknown argument `act`",
            ),
        ] {
            let error = read(arguments).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
            assert!(error.contains("accepted:"), "{error}");
        }
    }
}
