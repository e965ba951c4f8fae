//! Calls of `resume`: a model waits for a paused execution of its principal, cancels it, or passes a decision on.
//!
//! A decision that comes this way has the channel `model`. Whether that channel may decide is for the gateway to say.

use futures::future::BoxFuture;
use limbeck_domain::{Approval, ApprovalChannel, ExecutionId, ExecutionStatus};
use limbeck_gateway::approval_view::earlier_outcome;
use limbeck_gateway::direct::{DirectAnswer, DirectError};
use limbeck_gateway::{
    AnswerForm, Decider, DecisionError, DecisionReport, DecisionRequest, Gateway, OnAsk,
    ResumeError, Shown, StoppedBy,
};
use limbeck_policy::Requester;
use limbeck_upstream::CallContext;
use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult, JsonObject};
use rmcp::service::{RequestContext, RoleServer};

use super::built_in_results::{failed, program_result, result_bytes, with_hint};
use super::built_in_tools::BuiltInTool;
use super::client_exchanges::{Outcome, ResumeParams};
use super::client_surface::Surface;
use super::direct_results;
use super::exchange::RequestKind;
use super::resume_arguments::{ModelDecision, ResumeAction, ResumeArguments};

/// What a model does about a question that it cannot decide.
const WAIT_INSTEAD: &str =
    "the user decides: call `resume` with this execution_id and no `action` to wait";

impl Surface {
    pub(super) async fn resume(
        &self,
        arguments: JsonObject,
        resume: ResumeParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let subject = self.subject("tools/call", BuiltInTool::Resume.name(), Some(&arguments));
        let ResumeArguments {
            execution_id,
            action,
        } = match ResumeArguments::read(arguments) {
            Ok(arguments) => arguments,
            Err(error) => return Ok(failed(error.to_string()).into()),
        };
        match action {
            ResumeAction::Wait => {}
            ResumeAction::Cancel => {
                let (principal, by) = (Some(&*self.principal), StoppedBy::Model);
                let stopped = self.gateway.stop(&execution_id, principal, by);
                return Ok(resumed(stopped.await).into());
            }
            // The client sends a suspended request again with the answers of its user: it was decided the first time.
            ResumeAction::Decide(_) if resume.state.is_some() => {}
            ResumeAction::Decide(decision) => {
                if let Err(refused) = self.decide(&execution_id, decision).await {
                    return Ok(failed(refused).into());
                }
            }
        }
        let gone_on = |execution: String| {
            let (gateway, principal) = (self.gateway.clone(), self.principal.clone());
            move |calling: CallContext| -> BoxFuture<'static, Resumed> {
                Box::pin(async move {
                    if let Some(observer) = &calling.observer {
                        observer.begun(&ExecutionId::new(execution.as_str()));
                    }
                    let form = AnswerForm::default();
                    let done = gateway
                        .resume(&execution, Some(&principal), form, OnAsk::Wait, calling)
                        .await;
                    Resumed::of(done, &gateway, &principal).await
                })
            }
        };
        // The execution of the state is that of the arguments.
        let again = gone_on(execution_id.clone());
        let forwarded = self
            .exchange(
                RequestKind::Program,
                &subject,
                resume,
                context,
                Resumed::bytes,
                gone_on(execution_id),
                Some(Box::new(|_, calling| again(calling))),
            )
            .await?;
        match forwarded {
            Outcome::InputRequired(result) => Ok(result.into()),
            Outcome::Task(id) => self.created_task(&id).await,
            Outcome::Done(resumed) => resumed.result().map(Into::into),
        }
    }

    /// Records the decision about one question, or about every pending one of the execution. `Err` is the text of the
    /// refusal.
    async fn decide(&self, execution: &str, decision: ModelDecision) -> Result<(), String> {
        let ModelDecision {
            approve,
            approval_id,
            reason,
            edited,
        } = decision;
        let id = ExecutionId::new(execution);
        // A question that was decided before is found too: the same decision again is no mistake.
        let only_pending = approval_id.is_none();
        let listed = self
            .gateway
            .pending_approvals(Some(&self.principal), Some(&id), only_pending);
        let listed = listed.await.map_err(|error| error.for_callers().message)?;
        let named = |approval: &Approval| {
            let id = approval_id.as_deref();
            id.is_none_or(|id| approval.id.as_str() == id)
        };
        let chosen: Vec<Approval> = listed.into_iter().filter(named).collect();
        if chosen.is_empty() && approval_id.is_some() {
            return Err(with_hint(
                "this execution has no such question",
                Some("`pending` of its answer has the `approval_id` of each"),
            ));
        }
        let requester = Requester::of_principal(&self.principal);
        let who: Vec<String> = requester.names().map(str::to_owned).into();
        for approval in chosen {
            let request = DecisionRequest {
                approval: approval.id,
                approve,
                decider: Decider {
                    who: who.clone(),
                    principal: self.principal.to_string(),
                    channel: ApprovalChannel::Model,
                },
                reason: reason.clone(),
                edited: edited.clone(),
                lines: None,
                stop: false,
                remember: None,
            };
            match self.gateway.decide(request).await {
                Ok(DecisionReport::Decided(_) | DecisionReport::Same(_)) => {}
                Ok(DecisionReport::TooLate(approval)) => {
                    let outcome = format!("this question is {}", earlier_outcome(&approval));
                    return Err(with_hint(&outcome, Some(WAIT_INSTEAD)));
                }
                Err(error) => return Err(refusal(&error)),
            }
        }
        Ok(())
    }
}

/// Text of a decision that was not recorded.
fn refusal(error: &DecisionError) -> String {
    match error {
        DecisionError::NotAllowed { why, hint } | DecisionError::Overruled { why, hint } => {
            with_hint(why, Some(hint))
        }
        DecisionError::InvalidEdit(error) => with_hint(&error.message, error.hint.as_deref()),
        DecisionError::Unknown => error.to_string(),
        DecisionError::Store(error) => {
            let text = error.for_callers();
            with_hint(&text.message, text.hint.as_deref())
        }
    }
}

/// Result of a call that went on with an execution, or did not.
fn resumed(done: Result<Shown, ResumeError>) -> CallToolResult {
    match done {
        Ok(shown) => program_result(shown),
        // A client that lost the answer asks for it again.
        Err(ResumeError::Ended(shown)) => program_result(*shown),
        Err(ResumeError::Store(error)) => {
            let text = error.for_callers();
            failed(with_hint(&text.message, text.hint.as_deref()))
        }
        Err(error) => failed(with_hint(&error.to_string(), error.hint().as_deref())),
    }
}

/// What a client gets that goes on with an execution.
pub(super) enum Resumed {
    /// The answer of a program.
    Program(Box<Result<Shown, ResumeError>>),
    /// The result of a call that a client made of an exposed tool.
    Direct(Result<DirectAnswer, DirectError>),
}

impl Resumed {
    pub(super) async fn of(
        done: Result<Shown, ResumeError>,
        gateway: &Gateway,
        principal: &str,
    ) -> Self {
        let shown = match &done {
            Ok(shown) => shown,
            Err(ResumeError::Ended(shown)) => shown,
            Err(_) => return Self::Program(Box::new(done)),
        };
        if shown.envelope.status == ExecutionStatus::Paused {
            return Self::Program(Box::new(done));
        }
        let id = &shown.envelope.execution_id;
        match gateway.direct_result(id, principal).await {
            Ok(Some(called)) => Self::Direct(called),
            Ok(None) => Self::Program(Box::new(done)),
            Err(error) => Self::Program(Box::new(Err(error.into()))),
        }
    }

    /// The result that the client gets.
    ///
    /// # Errors
    ///
    /// A protocol error of a server.
    pub(super) fn result(self) -> Result<CallToolResult, ErrorData> {
        match self {
            Self::Program(done) => Ok(resumed(*done)),
            Self::Direct(called) => direct_results::result(called, None),
        }
    }

    /// Bytes of the result that this becomes.
    fn bytes(&self) -> usize {
        match self {
            Self::Program(done) => match &**done {
                Ok(shown) => result_bytes(shown),
                Err(ResumeError::Ended(shown)) => result_bytes(shown),
                Err(_) => 0,
            },
            Self::Direct(called) => direct_results::bytes(called),
        }
    }
}
