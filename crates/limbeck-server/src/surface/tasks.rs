//! Tasks (SEP-2663): calls that wait for a person, for clients that ask again how far they are.
//!
//! The id of a task is that of its execution, and the keys of its questions are those of the approvals. All of it is in the store,
//! so a task outlives its connection and the gateway. To every other principal it does not exist. A call becomes a task when a
//! person has to be asked, and not before.

use std::sync::Arc;

use limbeck_domain::{ErrorKind, ExecutionId, ExecutionStatus};
use limbeck_gateway::{AnswerForm, OnAsk, ResumeError, StoppedBy, WaitingExecution};
use limbeck_upstream::CallContext;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CallToolResult, CreateTaskResult, DetailedTask, GetTaskResult, InputRequests,
    InputResponses, JsonObject, Task, TaskPayload, TaskStatus,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use serde_json::value::to_raw_value;
use tokio_util::sync::CancellationToken;

use super::client_surface::Surface;
use super::exchange::{answers, input_request_of, is_modern};
use super::resume::Resumed;
use crate::answer_place;

/// How often a client may ask: a person takes longer.
const POLL_MS: u64 = 1_000;
/// What a task waits for, where its client cannot show the question.
const WAITS: &str = "waits for a person: `limbeck approvals` lists what is asked";

/// Whether a call of this request may become a task.
pub(super) fn may_give(context: &RequestContext<RoleServer>) -> bool {
    let declared = context.client_capabilities();
    is_modern(context) && declared.is_some_and(|declared| declared.supports_tasks())
}

/// A task that `principal` does not have, and one that does not exist.
fn unknown() -> ErrorData {
    ErrorData::invalid_params("there is no such task", None)
}

impl Surface {
    /// The task that a call became.
    pub(super) async fn created_task(
        &self,
        id: &ExecutionId,
    ) -> Result<CallToolResponse, ErrorData> {
        let waiting = self.task(id.as_str()).await?;
        let task = task_of(&waiting, TaskStatus::Working);
        Ok(CallToolResponse::Task(CreateTaskResult::new(task)))
    }

    /// How far a task is, with its result once it has ended.
    pub(super) async fn polled_task(
        &self,
        id: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let waiting = self.task(id).await?;
        let payload = match waiting.status {
            ExecutionStatus::Running => TaskPayload::Working,
            ExecutionStatus::Paused if waiting.pending.is_empty() => {
                // Decided elsewhere, or interrupted.
                self.go_on(&waiting.id);
                TaskPayload::Working
            }
            ExecutionStatus::Paused => {
                let declared = context.client_capabilities().unwrap_or_default();
                let may_show = answers(&declared).elicitation_form;
                let requests = if may_show {
                    requests_of(&waiting)
                } else {
                    InputRequests::default()
                };
                match requests.is_empty() {
                    true => TaskPayload::Working,
                    false => TaskPayload::InputRequired {
                        input_requests: requests,
                    },
                }
            }
            ExecutionStatus::Completed
            | ExecutionStatus::Failed
            | ExecutionStatus::Cancelled
            | ExecutionStatus::NeedsReconciliation => self.ended_task(&waiting.id).await?,
        };
        if let TaskPayload::Completed { result } = &payload {
            let bytes = Value::Object(result.clone()).to_string().len();
            answer_place::take(context, bytes, bytes).await?;
        }
        let mut task = task_of(&waiting, payload.status());
        if waiting.status == ExecutionStatus::Paused && !waiting.pending.is_empty() {
            task = task.with_status_message(WAITS);
        }
        Ok(GetTaskResult::new(DetailedTask::new(task, payload)))
    }

    /// Records answers to questions of a task, and goes on with it. An answer to anything else counts for nothing.
    pub(super) async fn answered_task(
        &self,
        id: &str,
        mut responses: InputResponses,
    ) -> Result<(), ErrorData> {
        let waiting = self.task(id).await?;
        for approval in &waiting.pending {
            let Some(answer) = responses.remove(approval.as_str()) else {
                continue;
            };
            let Ok(answer) = to_raw_value(&answer) else {
                continue;
            };
            let noted = self
                .gateway
                .answered_by_client(&self.principal, approval, &answer);
            let noted = noted.await;
            noted.map_err(|error| ErrorData::internal_error(error.for_callers().message, None))?;
        }
        let waiting = self.task(id).await?;
        if waiting.status == ExecutionStatus::Paused && waiting.pending.is_empty() {
            self.go_on(&waiting.id);
        }
        Ok(())
    }

    /// Ends a task, and withdraws its questions. One that has ended stays as it is.
    pub(super) async fn cancelled_task(&self, id: &str) -> Result<(), ErrorData> {
        let waiting = self.task(id).await?;
        self.running_tasks.cancel(&waiting.id);
        let stopped = self.gateway.stop(
            waiting.id.as_str(),
            Some(&self.principal),
            StoppedBy::Client,
        );
        match stopped.await {
            // One that runs ends in a moment: its work was cancelled.
            Ok(_) | Err(ResumeError::Ended(_) | ResumeError::Running { .. }) => Ok(()),
            Err(error) => Err(ErrorData::internal_error(error.to_string(), None)),
        }
    }

    async fn task(&self, id: &str) -> Result<WaitingExecution, ErrorData> {
        let found = self.gateway.waiting_execution(id, &self.principal).await;
        let found =
            found.map_err(|error| ErrorData::internal_error(error.for_callers().message, None))?;
        found.ok_or_else(unknown)
    }

    /// Goes on with a paused execution while its client is away. When too many are at work, the next request of the client does.
    fn go_on(&self, id: &ExecutionId) {
        let (gateway, principal) = (self.gateway.clone(), Arc::clone(&self.principal));
        let execution = id.clone();
        let work = move |()| async move {
            let context = CallContext::new(CancellationToken::new());
            let form = AnswerForm::default();
            let (id, on_ask) = (execution.as_str(), OnAsk::Pause);
            let resumed = gateway.resume(id, Some(&principal), form, on_ask, context);
            if let Err(error) = resumed.await
                && !matches!(error, ResumeError::Ended(_))
            {
                tracing::warn!(execution = %execution, error = %error, "a task was not continued");
            }
        };
        let _ = self.running_tasks.start(id, &self.principal, (), work);
    }

    /// The payload of a task that has ended: what its call would have given.
    async fn ended_task(&self, id: &ExecutionId) -> Result<TaskPayload, ErrorData> {
        let (form, context) = (
            AnswerForm::default(),
            CallContext::new(CancellationToken::new()),
        );
        let ended = self
            .gateway
            .resume(
                id.as_str(),
                Some(&self.principal),
                form,
                OnAsk::Pause,
                context,
            )
            .await;
        if let Err(ResumeError::Ended(shown)) = &ended
            && shown.envelope.error.as_ref().map(|error| error.kind) == Some(ErrorKind::Cancelled)
        {
            return Ok(TaskPayload::Cancelled);
        }
        let ended = Resumed::of(ended, &self.gateway, &self.principal).await;
        Ok(match ended.result() {
            Ok(result) => TaskPayload::Completed {
                result: object_of(&result),
            },
            Err(error) => TaskPayload::Failed {
                error: object_of(&error),
            },
        })
    }

    /// The task of a call that is paused, where its client knows tasks; otherwise `result`.
    pub(super) async fn task_or(
        &self,
        paused: Option<ExecutionId>,
        context: &RequestContext<RoleServer>,
        result: CallToolResult,
    ) -> Result<CallToolResponse, ErrorData> {
        match paused {
            Some(id) if may_give(context) => self.created_task(&id).await,
            Some(_) | None => Ok(result.into()),
        }
    }
}

fn task_of(waiting: &WaitingExecution, status: TaskStatus) -> Task {
    let (created, updated) = (waiting.created_at.as_str(), waiting.updated_at.as_str());
    Task::new(waiting.id.as_str(), status, created, updated).with_poll_interval_ms(POLL_MS)
}

/// Forms of the open questions, by their approvals.
fn requests_of(waiting: &WaitingExecution) -> InputRequests {
    let forms = waiting.forms.iter().cloned();
    let shown = forms.filter_map(|form| Some((form.key.clone()?, input_request_of(form)?)));
    shown.collect()
}

fn object_of(value: &impl serde::Serialize) -> JsonObject {
    match serde_json::to_value(value) {
        Ok(Value::Object(object)) => object,
        Ok(_) | Err(_) => JsonObject::default(),
    }
}
