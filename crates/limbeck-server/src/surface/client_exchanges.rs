//! Exchanges of requests: begun, suspended while the client answers questions, and taken up again.

use futures::future::BoxFuture;
use limbeck_domain::{ExecutionId, ExecutionStatus};
use limbeck_upstream::CallContext;
use rmcp::ErrorData;
use rmcp::model::{InputRequiredResult, InputResponses, JsonObject};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::value::to_raw_value;

use super::client_surface::Surface;
use super::exchange::{
    Exchange, RequestIdentity, RequestKind, Step, answers, digest_of, is_modern, refused_state,
};
use super::log_level::LogLevel;
use super::tasks;
use crate::answer_place;
use crate::answer_room::{BusyError, HeldRoom};
use crate::request_memory::held_by;

/// Answers and state of a client that sends a suspended request again.
pub(super) struct ResumeParams {
    pub(super) responses: Option<InputResponses>,
    pub(super) state: Option<String>,
}

/// What the handler of a request sends its client.
pub(super) enum Outcome<T> {
    /// The result of the work.
    Done(T),
    /// Questions that the client has to answer before there is a result.
    InputRequired(InputRequiredResult),
    /// The work goes on as a task, which waits for a person.
    Task(ExecutionId),
}

/// Goes on with an execution that waits without its request.
pub(super) type Again<T> =
    Box<dyn FnOnce(ExecutionId, CallContext) -> BoxFuture<'static, T> + Send>;

/// A result with the room of its answer; `None` where there was no room.
type Roomed<T> = Option<(T, Option<HeldRoom>)>;

/// What a state that a client sent is about.
enum Suspended<T> {
    /// A request whose work waits in this process.
    Exchange(Exchange<Roomed<T>>),
    /// An execution that waits in the store.
    Execution(ExecutionId),
}

impl Surface {
    pub(super) fn subject<'a>(
        &'a self,
        method: &'static str,
        name: &'a str,
        params: Option<&JsonObject>,
    ) -> RequestIdentity<'a> {
        RequestIdentity {
            principal: &self.principal,
            method,
            name,
            params: digest_of(params),
        }
    }

    /// Starts `work`, or resumes it when the client sends `resume` with a state, and forwards its events to the
    /// client. Where the state is about an execution that waits without its request, `again` goes on with that. `size` counts the
    /// bytes of the answer that a result becomes: a result waits for room before it is given, also one of a request that is
    /// suspended.
    #[expect(clippy::too_many_arguments, reason = "each is a part of one request")]
    pub(super) async fn exchange<T: Send + 'static>(
        &self,
        kind: RequestKind,
        subject: &RequestIdentity<'_>,
        resume: ResumeParams,
        context: &RequestContext<RoleServer>,
        size: fn(&T) -> usize,
        work: impl FnOnce(CallContext) -> BoxFuture<'static, T>,
        again: Option<Again<T>>,
    ) -> Result<Outcome<T>, ErrorData> {
        let level = self.log_level(context);
        let mut responses = resume.responses.unwrap_or_default();
        let mut exchange = match resume.state {
            None => self.begin(kind, context, size, work).await?,
            Some(state) => {
                let suspended = self.suspended(subject, &state, &mut responses);
                match (suspended.await?, again) {
                    (Suspended::Exchange(exchange), _) => exchange,
                    (Suspended::Execution(execution), Some(again)) => {
                        let work = move |calling| again(execution, calling);
                        self.begin(kind, context, size, work).await?
                    }
                    // The request makes no call and no read.
                    (Suspended::Execution(_), None) => return Err(refused_state("is unknown")),
                }
            }
        };
        match exchange.go_on(&mut responses, context, level).await? {
            Step::Done(Some((result, room))) => {
                answer_place::hold(context, room);
                Ok(Outcome::Done(result))
            }
            Step::Done(None) => Err(answer_place::dropped()),
            Step::InputRequired => {
                // Reads wait for their client.
                if subject.method == "tools/call"
                    && tasks::may_give(context)
                    && let Some(execution) = exchange.task()
                {
                    let (running, principal) = (&self.running_tasks, &self.principal);
                    match running.start(&execution, principal, exchange, Exchange::finish) {
                        Ok(()) => return Ok(Outcome::Task(execution)),
                        // Too many are running.
                        Err(unstarted) => exchange = unstarted,
                    }
                }
                let seal = self.exchanges.seal(&self.gateway).await?;
                let suspended = self.exchanges.suspend(seal, subject, exchange);
                suspended.map(Outcome::InputRequired)
            }
        }
    }

    /// Starts work for the client of `context`, once it is its turn.
    async fn begin<T: Send + 'static>(
        &self,
        kind: RequestKind,
        context: &RequestContext<RoleServer>,
        size: fn(&T) -> usize,
        work: impl FnOnce(CallContext) -> BoxFuture<'static, T>,
    ) -> Result<Exchange<Roomed<T>>, ErrorData> {
        answer_place::turn(context).await?;
        let declared = context.client_capabilities().unwrap_or_default();
        // The work goes on for a moment after its client has cancelled, and while it is suspended.
        let held = held_by(context);
        let place = answer_place::of(context);
        let level = self.log_level(context);
        let begun = self.begun.clone().map(|begun| (begun, context.id.clone()));
        Ok(Exchange::begin(
            kind,
            answers(&declared),
            level,
            begun,
            |calling| {
                let cancel = calling.cancel.clone();
                let work = work(calling);
                Box::pin(async move {
                    let result = work.await;
                    drop(held);
                    let Some(place) = place else {
                        return Some((result, None));
                    };
                    let bytes = size(&result);
                    let room = tokio::select! {
                        room = place.room_for(bytes) => room,
                        () = cancel.cancelled() => Err(BusyError),
                    };
                    // Without room the result is dropped at once.
                    room.ok().map(|room| (result, room))
                })
            },
        ))
    }

    /// What a state that the client sent is about, with the client's answers given to it. A state about an execution is spent in
    /// the store, so that no process accepts it twice.
    async fn suspended<T: Send + 'static>(
        &self,
        subject: &RequestIdentity<'_>,
        state: &str,
        responses: &mut InputResponses,
    ) -> Result<Suspended<T>, ErrorData> {
        let used = || refused_state("was used before, or its request has ended");
        let seal = self.exchanges.seal(&self.gateway).await?;
        let state = self.exchanges.opened(seal, subject, state)?;
        if state.execution.is_some() {
            let spent = self.gateway.spend_state(&state.id, state.expires_us);
            let spent = spent
                .await
                .map_err(|error| not_stored(error.for_callers().message))?;
            if !spent {
                return Err(used());
            }
        }
        let mut exchange = self.exchanges.take(&state);
        if let Some(exchange) = &mut exchange {
            exchange.answer(responses);
        }
        match (exchange, state.execution) {
            (Some(exchange), None) => Ok(Suspended::Exchange(exchange)),
            // Its work waits for the answers, or has the answer of the execution.
            (Some(exchange), Some(execution))
                if !exchange.has_ended() || !self.is_paused(&execution).await =>
            {
                Ok(Suspended::Exchange(exchange))
            }
            (_, Some(execution)) => {
                for approval in &state.approvals {
                    let Some(answer) = responses.remove(approval.as_str()) else {
                        continue;
                    };
                    let Ok(answer) = to_raw_value(&answer) else {
                        continue;
                    };
                    let noted = self
                        .gateway
                        .answered_by_client(&self.principal, approval, &answer);
                    noted
                        .await
                        .map_err(|error| not_stored(error.for_callers().message))?;
                }
                Ok(Suspended::Execution(execution))
            }
            (None, None) => Err(used()),
        }
    }

    async fn is_paused(&self, execution: &ExecutionId) -> bool {
        let (id, principal) = (execution.as_str(), &self.principal);
        let found = self.gateway.waiting_execution(id, principal).await;
        matches!(found, Ok(Some(found)) if found.status == ExecutionStatus::Paused)
    }

    /// Log level of the client: a modern client sends it with each request, a legacy client once for its session.
    fn log_level(&self, context: &RequestContext<RoleServer>) -> Option<LogLevel> {
        if is_modern(context) {
            return context.meta.log_level().map(LogLevel::from);
        }
        Some(self.session.level())
    }
}

fn not_stored(message: String) -> ErrorData {
    ErrorData::internal_error(message, None)
}
