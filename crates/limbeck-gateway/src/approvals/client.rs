//! The person behind the client of a request, asked with a form.
//!
//! The client vouches that a person answered. `accept` decides, `decline` denies, and `cancel`, no answer and a client that
//! leaves decide nothing: the question stays pending.

use std::sync::Arc;

use limbeck_domain::{Approval, ApprovalChannel, ApprovalId, ServerName};
use limbeck_store::StoreError;
use limbeck_upstream::{CallObserver, ServerRequest, ServerRequestKind};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::decide::{Decider, DecisionRequest};
use super::question;
use crate::approval_view::line_numbers;
use crate::broker::{Broker, BrokerContext};

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

#[derive(Deserialize)]
struct FormContent {
    #[serde(default)]
    decision: Option<String>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    lines: Option<String>,
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
        let (broker, caller, approval) = (self.clone(), Arc::clone(caller), approval.clone());
        tokio::spawn(async move {
            broker.ask_caller(&*caller, &approval).await;
            drop(shown);
        });
    }

    async fn ask_caller(&self, caller: &dyn CallObserver, approval: &Approval) {
        let (text, is_whole) = question::for_form(approval, self.program());
        let Some(request) = form(approval, &text, is_whole) else {
            return;
        };
        let Ok(answer) = caller.request(request).await else {
            return;
        };
        let context = self.context();
        context
            .note_client_answer(approval, is_whole, &answer)
            .await;
    }
}

/// The form of a question. Who has not seen all of the call cannot allow it.
fn form(approval: &Approval, text: &str, is_whole: bool) -> Option<ServerRequest> {
    let decisions: &[&str] = if is_whole {
        &["approve", "deny"]
    } else {
        &["deny"]
    };
    let mut properties = json!({
        "decision": {"type": "string", "enum": decisions, "title": "Decision"},
        "reason": {"type": "string", "title": "Reason (for the program)", "maxLength": 1000},
    });
    if approval.is_plan() && is_whole {
        let title = "Lines, such as 1,3 (empty: all but the destructive ones)";
        properties["lines"] =
            json!({"type": "string", "title": title, "maxLength": LINES_BYTES_MAX});
    }
    let params = json!({
        "message": text,
        "requestedSchema": {
            "type": "object",
            "properties": properties,
            "required": ["decision"],
        },
    });
    Some(ServerRequest {
        server: ServerName::new(ASKER),
        kind: ServerRequestKind::ElicitationForm,
        key: Some(approval.id.to_string()),
        together: 1,
        execution: Some(approval.execution.clone()),
        params: to_raw_value(&params).ok()?,
    })
}

impl BrokerContext {
    /// The form of a question that a client may answer, to be shown by any process.
    pub(crate) async fn form_of(&self, approval: &Approval) -> Option<ServerRequest> {
        let may_answer = approval.terms.channels.contains(&ApprovalChannel::Client);
        if !may_answer {
            return None;
        }
        let (text, is_whole) = self.form_text_of(approval).await;
        form(approval, &text, is_whole)
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
        let (_, is_whole) = self.form_text_of(&approval).await;
        self.note_client_answer(&approval, is_whole, answer).await;
        Ok(())
    }

    /// Records what the person behind a client answered. `is_whole` is whether the form showed the whole call.
    async fn note_client_answer(&self, approval: &Approval, is_whole: bool, answer: &RawValue) {
        let Ok(answer) = serde_json::from_str::<FormAnswer>(answer.get()) else {
            return;
        };
        let content = answer.content.unwrap_or(FormContent {
            decision: None,
            reason: None,
            lines: None,
        });
        let approve = match (answer.action.as_str(), content.decision.as_deref()) {
            ("accept", Some("approve")) if is_whole => true,
            ("accept", Some("deny")) | ("decline", _) => false,
            _ => return,
        };
        // Who wrote something else has not decided.
        let Ok(lines) = line_numbers(content.lines.as_deref().unwrap_or_default()) else {
            return;
        };
        let request = DecisionRequest {
            approval: approval.id.clone(),
            approve,
            decider: Decider {
                who: vec![format!("user:{}", approval.principal)],
                principal: approval.principal.clone(),
                channel: ApprovalChannel::Client,
            },
            reason: content.reason.filter(|reason| !reason.is_empty()),
            edited: None,
            lines: lines.filter(|_| approve),
        };
        if let Err(error) = self.decide(request).await {
            tracing::warn!(approval = %approval.id, error = %error, "a client's answer to a question does not count");
        }
    }
}
