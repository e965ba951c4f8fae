//! Tasks that a server returns instead of a result, polled until they end.
//!
//! With the extension `io.modelcontextprotocol/tasks` a server may answer a call with a task handle. The pool
//! polls at the server's pace, within bounds, answers its input requests, and cancels the task when the call
//! ends early. The caller sees one call that takes longer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use limbeck_domain::text;
use rmcp::model::{
    CancelTaskParams, CancelTaskRequest, ClientRequest, GetTaskParams, GetTaskRequest,
    UpdateTaskParams, UpdateTaskRequest,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep, timeout};

use crate::call_context::CallContext;
use crate::call_feedback::{CallFeedback, QUESTIONS_PER_CALL_MAX};
use crate::connection::Connection;
use crate::error::UpstreamError;
use crate::input_rounds;
use crate::time::in_ms;

/// Polling interval, when the server names none.
const POLL: Duration = Duration::from_secs(1);
/// Bounds of the polling interval that a server may name.
const POLL_BOUNDS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(10));
/// Longest task id.
const TASK_ID_BYTES_MAX: usize = 4 << 10;
/// Input requests of one task: as many as any call may have.
const QUESTIONS_MAX: usize = QUESTIONS_PER_CALL_MAX as usize;
/// Time limit of the cancellation of a task.
const CANCEL_WITHIN: Duration = Duration::from_secs(2);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskHandle {
    task_id: String,
    #[serde(default)]
    poll_interval_ms: Option<u64>,
    /// Name of the field before revision 2026-07-28.
    #[serde(default)]
    poll_interval: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskState<'a> {
    status: TaskStatus,
    #[serde(default)]
    status_message: Option<String>,
    #[serde(default)]
    poll_interval_ms: Option<u64>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<TaskError>,
    #[serde(default)]
    input_requests: Option<BTreeMap<String, Box<RawValue>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TaskStatus {
    Working,
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

#[derive(Deserialize)]
struct TaskError {
    #[serde(default)]
    code: Option<i64>,
    #[serde(default)]
    message: Option<String>,
}

/// Polls the task in `answer` until it is done, at most `limit`, and returns its result.
///
/// # Errors
///
/// Any error of a call. Without a result the task is cancelled at the server.
pub(crate) async fn follow(
    connection: &Arc<Connection>,
    answer: &RawValue,
    limit: Duration,
    context: &CallContext,
    feedback: &CallFeedback,
) -> Result<Box<RawValue>, UpstreamError> {
    let handle: TaskHandle = serde_json::from_str(answer.get())
        .map_err(|error| invalid(format!("its task is not valid: {error}")))?;
    if handle.task_id.len() > TASK_ID_BYTES_MAX {
        return Err(invalid(format!(
            "its task has an id of {} bytes",
            handle.task_id.len()
        )));
    }
    let mut task = RunningTask {
        connection: connection.clone(),
        id: handle.task_id,
        pause: pause(handle.poll_interval_ms.or(handle.poll_interval)),
        answered: BTreeSet::new(),
        has_ended: false,
    };
    task.wait(limit, context, feedback).await
}

fn pause(asked_ms: Option<u64>) -> Duration {
    let (least, most) = POLL_BOUNDS;
    asked_ms.map_or(POLL, |ms| Duration::from_millis(ms).clamp(least, most))
}

/// A task in progress. Dropping it cancels it at the server.
struct RunningTask {
    connection: Arc<Connection>,
    id: String,
    pause: Duration,
    /// Keys of answered input requests: a server may list them again for a while.
    answered: BTreeSet<String>,
    has_ended: bool,
}

impl RunningTask {
    async fn wait(
        &mut self,
        limit: Duration,
        context: &CallContext,
        feedback: &CallFeedback,
    ) -> Result<Box<RawValue>, UpstreamError> {
        let mut left = limit;
        loop {
            let waited = Instant::now();
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => return Err(UpstreamError::Cancelled),
                () = self.connection.closed() => return Err(self.connection.lost_now()),
                // Polling time counts as time of the server, because the server does the work meanwhile.
                () = sleep(self.pause.min(left)) => {}
            }
            left = left.saturating_sub(waited.elapsed());
            if left.is_zero() {
                return Err(UpstreamError::CallTimeout { ms: in_ms(limit) });
            }
            let request = GetTaskRequest::new(GetTaskParams::new(self.id.clone()));
            let request = ClientRequest::GetTaskRequest(request);
            let (answer, worked) = self
                .connection
                .request_for_call(request, left, context, feedback)
                .await?;
            left = left.saturating_sub(worked);
            if let Some(result) = self.look(&answer, left, context, feedback).await? {
                return Ok(result);
            }
        }
    }

    /// Handles one result of `tasks/get`; returns the result of the task when it is done.
    async fn look(
        &mut self,
        answer: &RawValue,
        left: Duration,
        context: &CallContext,
        feedback: &CallFeedback,
    ) -> Result<Option<Box<RawValue>>, UpstreamError> {
        let state: TaskState<'_> = serde_json::from_str(answer.get())
            .map_err(|error| invalid(format!("the state of its task is not valid: {error}")))?;
        if let Some(ms) = state.poll_interval_ms {
            self.pause = pause(Some(ms));
        }
        match state.status {
            TaskStatus::Working => Ok(None),
            TaskStatus::InputRequired => {
                self.answer(
                    state.input_requests.unwrap_or_default(),
                    left,
                    context,
                    feedback,
                )
                .await?;
                Ok(None)
            }
            TaskStatus::Completed => {
                // Set before the result is checked: the task has ended and must not be cancelled.
                self.has_ended = true;
                match state.result {
                    Some(result) if result.get().starts_with('{') => Ok(Some(result.to_owned())),
                    _ => Err(invalid("its task is done and has no result".to_owned())),
                }
            }
            TaskStatus::Failed => {
                self.has_ended = true;
                Err(failed(state.error, state.status_message))
            }
            TaskStatus::Cancelled => {
                self.has_ended = true;
                Err(invalid("it cancelled its task by itself".to_owned()))
            }
        }
    }

    async fn answer(
        &mut self,
        mut wanted: BTreeMap<String, Box<RawValue>>,
        left: Duration,
        context: &CallContext,
        feedback: &CallFeedback,
    ) -> Result<(), UpstreamError> {
        // A server lists a request until it has processed the answer; answering twice could repeat an action.
        wanted.retain(|key, _| !self.answered.contains(key));
        if self.answered.len() + wanted.len() > QUESTIONS_MAX {
            return Err(invalid(format!(
                "its task sends more than {QUESTIONS_MAX} input requests"
            )));
        }
        let keys: Vec<String> = wanted.keys().cloned().collect();
        let Some(responses) =
            input_rounds::respond(&self.connection, wanted, context, feedback).await?
        else {
            return Ok(());
        };
        let params = UpdateTaskParams::new(self.id.clone(), responses);
        let request = ClientRequest::UpdateTaskRequest(UpdateTaskRequest::new(params));
        self.connection
            .request_for_call(request, left, context, feedback)
            .await?;
        self.answered.extend(keys);
        Ok(())
    }
}

impl Drop for RunningTask {
    fn drop(&mut self) {
        if self.has_ended || !self.connection.is_alive() {
            return;
        }
        // Without a runtime the process is shutting down and the server ends with it.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let connection = self.connection.clone();
        let request = CancelTaskRequest::new(CancelTaskParams::new(std::mem::take(&mut self.id)));
        runtime.spawn(async move {
            let never = tokio_util::sync::CancellationToken::new();
            let request = ClientRequest::CancelTaskRequest(request);
            // A failure is ignored: there is no caller left to report it to.
            let _ = timeout(CANCEL_WITHIN, connection.request(request, &never)).await;
        });
    }
}

fn failed(error: Option<TaskError>, message: Option<String>) -> UpstreamError {
    const INTERNAL_ERROR: i64 = -32603;
    let (code, said) = match error {
        Some(error) => (error.code, error.message.or(message)),
        None => (None, message),
    };
    UpstreamError::Protocol {
        code: code.unwrap_or(INTERNAL_ERROR),
        message: text::clean_line(said.as_deref().unwrap_or("the task failed"), 2 << 10),
        data: None,
    }
}

fn invalid(reason: String) -> UpstreamError {
    UpstreamError::InvalidAnswer { reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_pace_is_kept_within_bounds() {
        for (asked, kept) in [
            (None, 1_000),
            (Some(0), 50),
            (Some(300), 300),
            (Some(u64::MAX), 10_000),
        ] {
            assert_eq!(pause(asked).as_millis(), kept, "{asked:?}");
        }
    }
}
