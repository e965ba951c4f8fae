//! Waits for a task that a server handed out instead of a result.
//!
//! The extension `io.modelcontextprotocol/tasks` lets a server answer a call with a handle. We ask for it at
//! the server's own pace, within bounds, answer what it wants to know meanwhile, and cancel it when nobody
//! waits any more. To the caller it is one call that takes its time.

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

use crate::connection::{Connection, in_ms};
use crate::hearing::Hearing;
use crate::{CallContext, UpstreamError, mrtr};

/// Pause between two looks at a task, when the server names none.
const POLL: Duration = Duration::from_secs(1);
/// The pause a server may ask for.
const POLL_BOUNDS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(10));
/// Id of a task.
const TASK_ID_BYTES_MAX: usize = 4 << 10;
/// Questions of one task.
const QUESTIONS_MAX: usize = 32;
/// Time for the server to hear that a task is of no use any more.
const CANCEL_WITHIN: Duration = Duration::from_secs(2);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Handle {
    task_id: String,
    #[serde(default)]
    poll_interval_ms: Option<u64>,
    /// The extension's name before its revision of 2026-07-28.
    #[serde(default)]
    poll_interval: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct State<'a> {
    status: Status,
    #[serde(default)]
    status_message: Option<String>,
    #[serde(default)]
    poll_interval_ms: Option<u64>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<RpcError>,
    #[serde(default)]
    input_requests: Option<BTreeMap<String, Box<RawValue>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Working,
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

#[derive(Deserialize)]
struct RpcError {
    #[serde(default)]
    code: Option<i64>,
    #[serde(default)]
    message: Option<String>,
}

/// Waits until the task in `answer` is done, at most `limit`, and gives its result.
///
/// # Errors
///
/// Those of a call. However it ends without a result, the server is told to stop.
pub(crate) async fn follow(
    connection: &Arc<Connection>,
    answer: &RawValue,
    limit: Duration,
    context: &CallContext,
    hearing: &Hearing,
) -> Result<Box<RawValue>, UpstreamError> {
    let handle: Handle = serde_json::from_str(answer.get())
        .map_err(|error| invalid(format!("its task is none: {error}")))?;
    if handle.task_id.len() > TASK_ID_BYTES_MAX {
        return Err(invalid(format!(
            "its task has an id of {} bytes",
            handle.task_id.len()
        )));
    }
    let mut task = Task {
        connection: connection.clone(),
        id: handle.task_id,
        pause: pause(handle.poll_interval_ms.or(handle.poll_interval)),
        answered: BTreeSet::new(),
        is_over: false,
    };
    task.wait(limit, context, hearing).await
}

fn pause(asked_ms: Option<u64>) -> Duration {
    let (least, most) = POLL_BOUNDS;
    asked_ms.map_or(POLL, |ms| Duration::from_millis(ms).clamp(least, most))
}

/// A task that was not seen to end. Dropping it cancels it at the server.
struct Task {
    connection: Arc<Connection>,
    id: String,
    pause: Duration,
    /// Keys of the questions that were answered: a server may go on listing them for a while.
    answered: BTreeSet<String>,
    is_over: bool,
}

impl Task {
    async fn wait(
        &mut self,
        limit: Duration,
        context: &CallContext,
        hearing: &Hearing,
    ) -> Result<Box<RawValue>, UpstreamError> {
        let mut left = limit;
        loop {
            let waited = Instant::now();
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => return Err(UpstreamError::Cancelled),
                () = self.connection.closed() => return Err(self.connection.lost_now()),
                () = sleep(self.pause.min(left)) => {}
            }
            left = left.saturating_sub(waited.elapsed());
            if left.is_zero() {
                return Err(UpstreamError::CallTimeout { ms: in_ms(limit) });
            }
            let request = GetTaskRequest::new(GetTaskParams::new(self.id.clone()));
            let request = ClientRequest::GetTaskRequest(request);
            let (answer, worked) = self.connection.ask(request, left, context).await?;
            left = left.saturating_sub(worked);
            if let Some(result) = self.look(&answer, left, context, hearing).await? {
                return Ok(result);
            }
        }
    }

    /// Acts on one answer to `tasks/get`; the result of the task when it is done.
    async fn look(
        &mut self,
        answer: &RawValue,
        left: Duration,
        context: &CallContext,
        hearing: &Hearing,
    ) -> Result<Option<Box<RawValue>>, UpstreamError> {
        let state: State<'_> = serde_json::from_str(answer.get())
            .map_err(|error| invalid(format!("the state of its task is none: {error}")))?;
        if let Some(ms) = state.poll_interval_ms {
            self.pause = pause(Some(ms));
        }
        match state.status {
            Status::Working => Ok(None),
            Status::InputRequired => {
                self.answer(
                    state.input_requests.unwrap_or_default(),
                    left,
                    context,
                    hearing,
                )
                .await?;
                Ok(None)
            }
            Status::Completed => {
                self.is_over = true;
                match state.result {
                    Some(result) if result.get().starts_with('{') => Ok(Some(result.to_owned())),
                    _ => Err(invalid("its task is done and has no result".to_owned())),
                }
            }
            Status::Failed => {
                self.is_over = true;
                Err(failed(state.error, state.status_message))
            }
            Status::Cancelled => {
                self.is_over = true;
                Err(invalid("it cancelled its task by itself".to_owned()))
            }
        }
    }

    async fn answer(
        &mut self,
        mut wanted: BTreeMap<String, Box<RawValue>>,
        left: Duration,
        context: &CallContext,
        hearing: &Hearing,
    ) -> Result<(), UpstreamError> {
        wanted.retain(|key, _| !self.answered.contains(key));
        if self.answered.len() + wanted.len() > QUESTIONS_MAX {
            return Err(invalid(format!(
                "its task asks more than {QUESTIONS_MAX} questions"
            )));
        }
        let keys: Vec<String> = wanted.keys().cloned().collect();
        let Some(responses) = mrtr::respond(&self.connection, wanted, context, hearing).await?
        else {
            return Ok(());
        };
        let params = UpdateTaskParams::new(self.id.clone(), responses);
        let request = ClientRequest::UpdateTaskRequest(UpdateTaskRequest::new(params));
        self.connection.ask(request, left, context).await?;
        self.answered.extend(keys);
        Ok(())
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if self.is_over || !self.connection.is_alive() {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let connection = self.connection.clone();
        let request = CancelTaskRequest::new(CancelTaskParams::new(std::mem::take(&mut self.id)));
        runtime.spawn(async move {
            let never = tokio_util::sync::CancellationToken::new();
            let request = ClientRequest::CancelTaskRequest(request);
            // Whether it listens is its own affair.
            let _ = timeout(CANCEL_WITHIN, connection.request(request, &never)).await;
        });
    }
}

fn failed(error: Option<RpcError>, message: Option<String>) -> UpstreamError {
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
