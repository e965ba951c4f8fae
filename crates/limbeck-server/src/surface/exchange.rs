//! Request of a client in flight, with the messages between client and upstream servers meanwhile.
//!
//! The work runs in a task of its own and sends events to the request's handler: progress, log messages,
//! requests of a server to the client. How such a request reaches the client depends on the generation of the
//! protocol. A legacy client gets a nested request, which must be sent by the handler of the request it belongs
//! to. A modern client gets `input_required` as the result; the work is suspended ([`SuspendedExchanges`]) and continues when the client sends
//! the request again with the answers and the sealed state.

mod pending_question;
mod progress_reporter;
mod state_seal;
mod suspended;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use limbeck_domain::{ApprovalId, ExecutionId};
use limbeck_upstream::{
    CallContext, CallObserver, ClientCapabilities, DeclinedError, ProgressUpdate, ServerRequest,
};
use rmcp::ErrorData;
use rmcp::model::{InputRequest, InputRequests, InputResponses, ProtocolVersion, RequestId};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::begun_executions::BegunExecutions;
use super::log_level::LogLevel;
use pending_question::PendingQuestion;
pub(crate) use pending_question::answers;
use progress_reporter::ProgressReporter;
pub(crate) use state_seal::digest_of;
pub(crate) use suspended::{RequestIdentity, SuspendedExchanges, refused_state};

/// Events queued for a handler; further progress and log messages are dropped, questions wait for room.
const EVENTS_MAX: usize = 64;
/// Time to collect questions that were asked together with an open one.
const SETTLE: Duration = Duration::from_millis(50);

/// Source of a request's work, which decides how its progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// One upstream server: its reports are forwarded unchanged.
    Server,
    /// A program, which may call many servers at once.
    Program,
}

/// State of an exchange when its handler returns.
pub(crate) enum Step<T> {
    /// The work ended with this result.
    Done(T),
    /// The client has to answer questions first.
    InputRequired,
}

enum Event {
    Progress(ProgressUpdate),
    Log(Box<RawValue>),
    Asked(PendingQuestion),
}

/// Channel from upstream servers to the client of a request.
struct ClientChannel {
    events: mpsc::Sender<Event>,
    answers: ClientCapabilities,
    level: Option<LogLevel>,
    begun: Option<(BegunExecutions, RequestId)>,
}

impl CallObserver for ClientChannel {
    fn progress(&self, progress: ProgressUpdate) {
        // Progress that is not read in time is outdated: drop it instead of delaying the call.
        let _ = self.events.try_send(Event::Progress(progress));
    }

    fn capabilities(&self) -> ClientCapabilities {
        self.answers
    }

    fn request(&self, ask: ServerRequest) -> BoxFuture<'_, Result<Box<RawValue>, DeclinedError>> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            let question = PendingQuestion::new(ask, reply);
            let asked = self.events.send(Event::Asked(question));
            let gone = || DeclinedError::new("the client did not answer");
            asked.await.map_err(|_| gone())?;
            answer.await.unwrap_or_else(|_| Err(gone()))
        })
    }

    fn log_level(&self) -> Option<&'static str> {
        self.level.map(LogLevel::as_str)
    }

    fn log(&self, params: &RawValue) {
        let _ = self.events.try_send(Event::Log(params.to_owned()));
    }

    fn begun(&self, execution: &ExecutionId) {
        if let Some((begun, request)) = &self.begun {
            begun.report(request, execution);
        }
    }
}

/// Request in flight with result `T`. Dropping it cancels the work.
pub(crate) struct Exchange<T> {
    kind: RequestKind,
    events: mpsc::Receiver<Event>,
    result: oneshot::Receiver<T>,
    /// Unanswered questions, by the keys that the client got.
    open: Vec<(String, PendingQuestion)>,
    rounds: u32,
    _cancel: DropGuard,
}

impl<T: Send + 'static> Exchange<T> {
    /// Starts `work` for a client. `begun` is notified of its executions, with the id of the request.
    pub(crate) fn begin(
        kind: RequestKind,
        answers: ClientCapabilities,
        level: Option<LogLevel>,
        begun: Option<(BegunExecutions, RequestId)>,
        work: impl FnOnce(CallContext) -> BoxFuture<'static, T>,
    ) -> Self {
        let cancel = CancellationToken::new();
        let (events, received) = mpsc::channel(EVENTS_MAX);
        let (done, result) = oneshot::channel();
        let channel: Arc<dyn CallObserver> = Arc::new(ClientChannel {
            events,
            answers,
            level,
            begun,
        });
        let work = work(CallContext::new(cancel.clone()).with_observer(Some(channel)));
        tokio::spawn(async move {
            // The handler may be gone: its client cancelled or disconnected.
            let _ = done.send(work.await);
        });
        Self {
            kind,
            events: received,
            result,
            open: Vec::new(),
            rounds: 0,
            _cancel: cancel.drop_guard(),
        }
    }

    /// Sends the client's answers to the servers that asked. A question without a fitting answer stays open.
    pub(crate) fn answer(&mut self, responses: &mut InputResponses) {
        let open = std::mem::take(&mut self.open);
        for (key, question) in open {
            let left = match responses.remove(&key) {
                Some(answer) => question.answer(&answer),
                None => Some(question),
            };
            self.open.extend(left.map(|question| (key, question)));
        }
    }

    /// Forwards events to the client until the work ends or the client has to answer questions.
    ///
    /// # Errors
    ///
    /// When the client cancels the request, or the work was lost.
    pub(crate) async fn go_on(
        &mut self,
        responses: &mut InputResponses,
        context: &RequestContext<RoleServer>,
        level: Option<LogLevel>,
    ) -> Result<Step<T>, ErrorData> {
        let mut reporter = ProgressReporter::new(self.kind, context, level);
        // Set while a question is open: a server may ask several at once, and the client gets them together.
        let mut settled = (!self.open.is_empty()).then(Instant::now);
        // Questions for a legacy client: one at a time. The end of the work is not kept back by a person who does not answer.
        let mut nested: Option<BoxFuture<'_, ()>> = None;
        let mut next_nested = VecDeque::new();
        loop {
            if nested.is_none() {
                let next: Option<PendingQuestion> = next_nested.pop_front();
                nested = next.map(|question| question.put_to(context).boxed());
            }
            tokio::select! {
                biased;
                () = context.ct.cancelled() => {
                    return Err(ErrorData::internal_error("the request was cancelled", None));
                }
                Some(event) = self.events.recv(), if next_nested.len() < EVENTS_MAX => match event {
                    Event::Asked(question) => {
                        let together = question.ask.together;
                        next_nested.extend(self.asked(question, responses, context));
                        if self.kind == RequestKind::Server && self.open.len() >= together {
                            return Ok(Step::InputRequired);
                        }
                        if !self.open.is_empty() {
                            settled.get_or_insert_with(|| Instant::now() + SETTLE);
                        }
                    }
                    Event::Progress(progress) => reporter.progress(progress).await,
                    Event::Log(message) => reporter.log(&message).await,
                },
                result = &mut self.result => {
                    let lost = |_| ErrorData::internal_error("the gateway lost the request", None);
                    return result.map(Step::Done).map_err(lost);
                }
                () = sleep_until(settled.unwrap_or_else(Instant::now)), if settled.is_some() => {
                    return Ok(Step::InputRequired);
                }
                () = answered(&mut nested) => nested = None,
                () = reporter.next_keep_alive() => reporter.keep_alive().await,
            }
        }
    }

    /// Keeps a question for the `input_required` result, or returns it, to be sent to a legacy client.
    fn asked(
        &mut self,
        question: PendingQuestion,
        responses: &mut InputResponses,
        context: &RequestContext<RoleServer>,
    ) -> Option<PendingQuestion> {
        let question = question.presentable()?;
        if !is_modern(context) {
            return Some(question);
        }
        // A client may send answers with its first request when it knows the question's key.
        let early = question
            .ask
            .key
            .as_ref()
            .and_then(|key| responses.remove(key));
        let left = match early {
            Some(answer) => question.answer(&answer),
            None => Some(question),
        };
        match left {
            None => {}
            Some(question) if question.input_request().is_none() => {
                question.decline("the request cannot be sent to a client");
            }
            Some(question) => {
                let key = self.key_of(&question.ask);
                self.open.push((key, question));
            }
        }
        None
    }

    fn key_of(&self, ask: &ServerRequest) -> String {
        let wanted = ask.key.as_deref().unwrap_or("question");
        let is_free = |key: &String| self.open.iter().all(|(taken, _)| taken != key);
        let numbered = (2..).map(|number| format!("{wanted}_{number}"));
        std::iter::once(wanted.to_owned())
            .chain(numbered)
            .find(is_free)
            .expect("there are more numbers than questions")
    }

    /// Whether the work has ended.
    pub(crate) fn has_ended(&self) -> bool {
        !self.result.is_empty() || self.result.is_terminated()
    }

    /// The execution that all open questions are about, where it waits also without this exchange.
    pub(crate) fn task(&self) -> Option<ExecutionId> {
        let (execution, approvals) = self.waiting_execution();
        execution.filter(|_| approvals.len() == self.open.len())
    }

    /// Goes on without a client until the work ends: what a server asks meanwhile is asked of no person.
    pub(crate) async fn finish(mut self) {
        // Questions of executions stay open in the store.
        self.open.clear();
        loop {
            tokio::select! {
                Some(event) = self.events.recv() => drop(event),
                _ = &mut self.result => return,
            }
        }
    }

    /// The execution that waits for answers to open questions, also without this exchange, and those questions.
    fn waiting_execution(&self) -> (Option<ExecutionId>, Vec<ApprovalId>) {
        let of_execution = self
            .open
            .iter()
            .filter_map(|(key, question)| Some((key, question.ask.execution.clone()?)));
        let mut execution = None;
        let mut approvals = Vec::new();
        for (key, of) in of_execution {
            if *execution.get_or_insert_with(|| of.clone()) == of {
                approvals.push(ApprovalId::new(key.as_str()));
            }
        }
        (execution, approvals)
    }

    fn requests(&self) -> InputRequests {
        let open = self.open.iter();
        open.filter_map(|(key, question)| Some((key.clone(), question.input_request()?)))
            .collect()
    }
}

/// A question of the gateway as a client shows it; `None` when it cannot be shown.
pub(crate) fn input_request_of(ask: ServerRequest) -> Option<InputRequest> {
    // The answer comes with another request.
    let (reply, _) = oneshot::channel();
    PendingQuestion::new(ask, reply)
        .presentable()?
        .input_request()
}

/// Waits for the answer to the nested question; for ever without one.
async fn answered(nested: &mut Option<BoxFuture<'_, ()>>) {
    match nested {
        Some(nested) => nested.await,
        None => std::future::pending().await,
    }
}

/// Whether the client speaks revision 2026-07-28, which has no nested requests.
pub(crate) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}
