//! The person behind the client of a request, asked with a form.
//!
//! The client vouches that a person answered. `accept` decides, `decline` denies, and `cancel`, no answer and a client that
//! leaves decide nothing: the question stays pending. Questions that are one question have one form, and a person chooses
//! among them.

use std::sync::Arc;

use limbeck_domain::{
    Approval, ApprovalChannel, ApprovalId, ApprovalState, PLAN_MANY_MAX, Remember, ServerName,
};
use limbeck_policy::MANY_DEFAULT;
use limbeck_store::StoreError;
use limbeck_upstream::{CallObserver, ServerRequest, ServerRequestKind};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::decide::{ChosenLines, Decider, DecisionRequest};
use super::forms::FormQuestion;
use super::question::{self, FormText};
use crate::approval_groups::members;
use crate::approval_view::line_numbers;
use crate::broker::{Broker, BrokerContext};
use crate::clock::now_us;

/// The decision that ends the program too.
const DENY_AND_STOP: &str = "deny and stop";
/// Name that the question shows in place of a server's.
const ASKER: &str = "limbeck";
/// Most bytes of the numbers of lines.
const LINES_BYTES_MAX: usize = 1_000;

/// The client's answer to a form.
#[derive(Deserialize)]
struct FormAnswer {
    action: String,
    #[serde(default)]
    content: Option<FormContent>,
}

#[derive(Default, Deserialize)]
struct FormContent {
    #[serde(default)]
    decision: Option<String>,
    #[serde(default)]
    reason: Option<String>,
    /// Which lines of a plan, by their numbers.
    #[serde(default)]
    lines: Option<String>,
    #[serde(default)]
    many: Option<u32>,
    #[serde(default)]
    remember: Option<String>,
    /// Which of several questions, by their numbers.
    #[serde(default)]
    members: Option<String>,
}

/// How long a form offers to remember an approval, the shortest first.
fn remember_choices(approval: &Approval) -> Vec<String> {
    let at_most = approval.terms.offer.as_ref().map(|offer| offer.at_most);
    let choices = ["run", "session", "8h", "7d", "30d"].into_iter();
    let choices = choices.filter_map(Remember::named);
    let offered = choices.filter(|choice| Some(*choice) <= at_most);
    offered.map(|choice| choice.to_string()).collect()
}

impl Broker {
    /// Shows a question to the person behind the client, where the client can and the question may be answered there, and
    /// records the answer. Who waits for the answer reads it from the store: the form stays open while the execution is
    /// paused, and is not shown twice when it is continued.
    pub(super) fn ask_client(&self, approval: &Approval) {
        let Some(caller) = self.caller() else {
            return;
        };
        let may_answer = approval.terms.channels.contains(&ApprovalChannel::Client);
        if !may_answer || !caller.capabilities().elicitation_form {
            return;
        }
        let Some(shown) = self.context().approvals.show(&approval.id) else {
            return;
        };
        let (broker, caller) = (self.clone(), Arc::clone(caller));
        let forms = &self.context().approvals.forms;
        let approval = approval.clone();
        let Some(first) = forms.enter(FormQuestion { approval, shown }) else {
            return;
        };
        tokio::spawn(async move {
            let group = first.approval.clone();
            let approvals = Arc::clone(&broker.context().approvals);
            let mut open = vec![first];
            while !open.is_empty() {
                open = broker.ask_caller(&*caller, open).await;
                let more = approvals.forms.next(&group, !open.is_empty());
                open.extend(more);
            }
        });
    }

    /// Shows a form about as many of the questions as fit into it, and records the answer. Returns the questions that it was not
    /// about, or that the answer left out.
    async fn ask_caller(
        &self,
        caller: &dyn CallObserver,
        questions: Vec<FormQuestion>,
    ) -> Vec<FormQuestion> {
        let mut open = Vec::new();
        for question in questions {
            let now = self.context().store.approval(&question.approval.id).await;
            // What was decided while another form was open is not shown any more.
            let is_pending = |now: &Approval| now.state == ApprovalState::Pending;
            if now.ok().flatten().as_ref().is_some_and(is_pending) {
                open.push(question);
            }
        }
        let group: Vec<&Approval> = open.iter().map(|it| &it.approval).collect();
        let Some(first) = group.first().copied() else {
            return Vec::new();
        };
        let declared = self.context().declared_of(first);
        let form = question::for_form(&group, self.program(), &declared);
        let answer = caller.request(request(first, &form)).await.ok();
        let rest = open.split_off(form.count.min(open.len()));
        let Some((members, decision)) = answer.and_then(|it| read(it.get(), &form)) else {
            return rest;
        };
        let at_us = now_us();
        let mut left_out = Vec::new();
        for (place, FormQuestion { approval, shown }) in open.into_iter().enumerate() {
            if !members.contains(&place) {
                left_out.push(FormQuestion { approval, shown });
                continue;
            }
            let context = self.context();
            context
                .note_client_answer(&approval, &decision, at_us)
                .await;
        }
        left_out.extend(rest);
        left_out
    }
}

impl BrokerContext {
    /// The form of a question that a client may answer, to be shown by any process.
    pub(crate) async fn form_of(&self, approval: &Approval) -> Option<ServerRequest> {
        let may_answer = approval.terms.channels.contains(&ApprovalChannel::Client);
        if !may_answer {
            return None;
        }
        let form = self.form_text_of(approval).await;
        Some(request(approval, &form))
    }

    /// Records the answer of a client to the form of a question about a call of `principal`, which the client got earlier, from
    /// this process or another. What does not decide leaves the question as it is.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub(crate) async fn answered_by_client(
        &self,
        principal: &str,
        id: &ApprovalId,
        answer: &RawValue,
    ) -> Result<(), StoreError> {
        let approval = self.store.approval(id).await?;
        let Some(approval) = approval.filter(|approval| approval.principal == principal) else {
            return Ok(());
        };
        let form = self.form_text_of(&approval).await;
        if let Some((_, decision)) = read(answer.get(), &form) {
            self.note_client_answer(&approval, &decision, now_us())
                .await;
        }
        Ok(())
    }

    /// Records what the person behind a client decided about a question.
    async fn note_client_answer(
        &self,
        approval: &Approval,
        decision: &DecisionRequest,
        at_us: u64,
    ) {
        let request = DecisionRequest {
            approval: approval.id.clone(),
            decider: Decider {
                who: vec![format!("user:{}", approval.principal)],
                principal: approval.principal.clone(),
                channel: ApprovalChannel::Client,
            },
            ..decision.clone()
        };
        if let Err(error) = self.decide_at(request, at_us).await {
            tracing::warn!(approval = %approval.id, error = %error, "a client's answer to a question does not count");
        }
    }
}

/// The form as the client gets it.
fn request(first: &Approval, form: &FormText) -> ServerRequest {
    let approve = approve_word(form.count);
    // Who has not seen all of it cannot allow it.
    let decisions = if form.is_whole {
        vec![&*approve, "deny", DENY_AND_STOP]
    } else {
        vec!["deny", DENY_AND_STOP]
    };
    let mut properties = json!({
        "decision": {"type": "string", "enum": decisions, "title": "Decision"},
        "reason": {"type": "string", "title": "Reason (for the program)", "maxLength": 1000},
    });
    let choices = remember_choices(first);
    if form.is_whole && !choices.is_empty() {
        properties["remember"] =
            json!({"type": "string", "enum": choices, "title": "Also for calls like it"});
    }
    if form.is_whole && first.is_plan() {
        properties["lines"] = json!({
            "type": "string", "title": "Lines, such as 1,3 (empty: all but the destructive ones)",
            "maxLength": LINES_BYTES_MAX,
        });
        properties["many"] = json!({
            "type": "integer", "title": "Calls of each line that is repeated many times",
            "minimum": 1, "maximum": PLAN_MANY_MAX, "default": MANY_DEFAULT,
        });
    }
    if form.count > 1 {
        properties["members"] = json!({
            "type": "string", "title": "Which of them, such as 1-3,7 (empty: all)", "maxLength": 200,
        });
    }
    let params = json!({
        "message": form.text,
        "requestedSchema": {"type": "object", "properties": properties, "required": ["decision"]},
    });
    ServerRequest {
        server: ServerName::new(ASKER),
        kind: ServerRequestKind::ElicitationForm,
        key: Some(first.id.to_string()),
        together: 1,
        execution: Some(first.execution.clone()),
        params: to_raw_value(&params).unwrap_or_default(),
    }
}

/// The word that approves so many questions.
fn approve_word(count: usize) -> String {
    match count {
        1 => "approve".to_owned(),
        count => format!("approve these {count}"),
    }
}

/// The members that an answer is about, and the decision without the question and who decides. `None` for an answer that
/// decides nothing.
fn read(answer: &str, form: &FormText) -> Option<(Vec<usize>, DecisionRequest)> {
    let answer: FormAnswer = serde_json::from_str(answer).ok()?;
    let content = answer.content.unwrap_or_default();
    let decision = content.decision.as_deref();
    let approve = match (answer.action.as_str(), decision) {
        ("accept", Some(word)) if form.is_whole && word == approve_word(form.count) => true,
        ("accept", Some("deny" | DENY_AND_STOP)) | ("decline", _) => false,
        _ => return None,
    };
    let all = || (0..form.count).collect();
    let members = match content.members.as_deref().map(str::trim) {
        None | Some("") => all(),
        Some(named) => members(named, form.count)?,
    };
    // Who wrote something else has not decided.
    let numbers = line_numbers(content.lines.as_deref().unwrap_or_default()).ok()?;
    let lines = ChosenLines {
        numbers,
        many: content.many,
    };
    // A choice that is not one counts for nothing, and the answer for this call alone.
    let remember = content.remember.as_deref().and_then(|it| it.parse().ok());
    let decision = DecisionRequest {
        approval: ApprovalId::new(""),
        approve,
        decider: Decider {
            who: Vec::new(),
            principal: String::new(),
            channel: ApprovalChannel::Client,
        },
        reason: content.reason.filter(|reason| !reason.is_empty()),
        edited: None,
        lines: (approve && form.is_plan).then_some(lines),
        stop: decision == Some(DENY_AND_STOP),
        remember: remember.filter(|_| approve),
    };
    Some((members, decision))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(count: usize, is_whole: bool) -> FormText {
        FormText {
            text: String::new(),
            count,
            is_whole,
            is_plan: false,
        }
    }

    fn accepted(content: &str, form: &FormText) -> Option<(Vec<usize>, bool)> {
        let answer = format!("{{\"action\":\"accept\",\"content\":{content}}}");
        read(&answer, form).map(|(members, decision)| (members, decision.approve))
    }

    #[test]
    fn an_answer_is_about_all_that_was_shown_or_the_members_that_it_names() {
        let of_four = form(4, true);
        let yes = r#"{"decision":"approve these 4"}"#;
        assert_eq!(accepted(yes, &of_four), Some((vec![0, 1, 2, 3], true)));
        let some = r#"{"decision":"approve these 4","members":"1-2,4"}"#;
        assert_eq!(accepted(some, &of_four), Some((vec![0, 1, 3], true)));
        let no = r#"{"decision":"deny and stop","members":" "}"#;
        assert_eq!(accepted(no, &of_four), Some((vec![0, 1, 2, 3], false)));
        // Another number than was shown, and members that are not there, decide nothing.
        for wrong in [
            r#"{"decision":"approve"}"#,
            r#"{"decision":"approve these 5"}"#,
            r#"{"decision":"approve these 4","members":"5"}"#,
            r#"{"decision":"maybe"}"#,
            "{}",
        ] {
            assert_eq!(accepted(wrong, &of_four), None, "{wrong}");
        }
        assert_eq!(accepted(yes, &form(4, false)), None);
        assert_eq!(
            accepted(no, &form(4, false)),
            Some((vec![0, 1, 2, 3], false))
        );
        assert!(read(r#"{"action":"cancel"}"#, &of_four).is_none());
        let declined = read(r#"{"action":"decline"}"#, &form(1, true)).unwrap();
        assert_eq!((declined.0, declined.1.approve), (vec![0], false));
    }
}
