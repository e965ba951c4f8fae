//! One request of a client under way, and what passes between client and servers meanwhile.
//!
//! The work runs in a task of its own and reports to the request's handler: progress, log messages,
//! questions of a server. How a question reaches the client depends on its era. A legacy client is asked in
//! a nested request, which must leave from the handler of the request it belongs to. A modern one gets
//! `input_required` as its answer; the work is put aside ([`Exchanges`]) and goes on when the client comes
//! back with the answers and the sealed state it was given.

mod aside;
mod question;
mod teller;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use limbeck_domain::Envelope;
use limbeck_upstream::{Answers, Ask, CallContext, Caller, Declined, Progress};
use rmcp::ErrorData;
use rmcp::model::{InputRequests, InputResponses, ProtocolVersion};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::logging::Level;
use crate::direct::Failure;
pub(crate) use aside::{Exchanges, Subject};
use question::Question;
pub(crate) use question::answers;
use teller::Teller;

/// Reports that a handler may be behind; progress beyond them is dropped, questions wait.
const EVENTS_MAX: usize = 64;
/// Time for questions that were asked with one that is open.
const SETTLE: Duration = Duration::from_millis(50);

/// How the work ended.
pub(crate) enum Outcome {
    /// Of a server, as it sent it.
    Raw(Result<Box<RawValue>, Failure>),
    /// Of a program.
    Program(Box<Envelope>),
}

/// Whose work it is, which decides how its reports are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One server's: its reports are passed on as they are.
    Server,
    /// A program's: it may call many servers at once.
    Program,
}

/// Where an exchange stands when its handler returns.
pub(crate) enum Turn {
    /// At its end.
    Done(Outcome),
    /// The client has to answer first.
    Waiting,
}

enum Event {
    Progress(Progress),
    Log(Box<RawValue>),
    Asked(Question),
}

/// Hears servers on behalf of a client.
struct Ear {
    events: mpsc::Sender<Event>,
    answers: Answers,
    level: Option<Level>,
}

impl Caller for Ear {
    fn progress(&self, progress: Progress) {
        // Progress that nobody reads in time is worth nothing later.
        let _ = self.events.try_send(Event::Progress(progress));
    }

    fn answers(&self) -> Answers {
        self.answers
    }

    fn ask(&self, ask: Ask) -> BoxFuture<'_, Result<Box<RawValue>, Declined>> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            let asked = self.events.send(Event::Asked(Question { ask, reply }));
            let gone = || Declined::new("the client did not answer");
            asked.await.map_err(|_| gone())?;
            answer.await.unwrap_or_else(|_| Err(gone()))
        })
    }

    fn log_level(&self) -> Option<&'static str> {
        self.level.map(Level::as_str)
    }

    fn log(&self, params: &RawValue) {
        let _ = self.events.try_send(Event::Log(params.to_owned()));
    }
}

/// One request under way. Dropping it cancels the work.
pub(crate) struct Exchange {
    kind: Kind,
    events: mpsc::Receiver<Event>,
    outcome: oneshot::Receiver<Outcome>,
    /// Questions the client has not answered, by the keys it knows them by.
    open: Vec<(String, Question)>,
    rounds: u32,
    _cancel: DropGuard,
}

impl Exchange {
    /// Starts `work` for the client of `context`.
    pub(crate) fn begin(
        kind: Kind,
        answers: Answers,
        level: Option<Level>,
        work: impl FnOnce(CallContext) -> BoxFuture<'static, Outcome>,
    ) -> Self {
        let cancel = CancellationToken::new();
        let (events, heard) = mpsc::channel(EVENTS_MAX);
        let (done, outcome) = oneshot::channel();
        let ear: Arc<dyn Caller> = Arc::new(Ear {
            events,
            answers,
            level,
        });
        let work = work(CallContext::new(cancel.clone()).with_caller(Some(ear)));
        tokio::spawn(async move {
            // Whoever waited may have gone.
            let _ = done.send(work.await);
        });
        Self {
            kind,
            events: heard,
            outcome,
            open: Vec::new(),
            rounds: 0,
            _cancel: cancel.drop_guard(),
        }
    }

    /// Hands the client's answers to those who asked. A question without one that fits stays open.
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

    /// Reports to the client until the work ends or the client has to answer.
    ///
    /// # Errors
    ///
    /// When the client cancels the request, or the work was lost.
    pub(crate) async fn go_on(
        &mut self,
        responses: &mut InputResponses,
        context: &RequestContext<RoleServer>,
        level: Option<Level>,
    ) -> Result<Turn, ErrorData> {
        let mut teller = Teller::new(self.kind, context, level);
        // Set once a question is open: others that were asked with it are about to arrive.
        let mut settled = (!self.open.is_empty()).then(Instant::now);
        loop {
            tokio::select! {
                biased;
                () = context.ct.cancelled() => {
                    return Err(ErrorData::internal_error("the request was cancelled", None));
                }
                Some(event) = self.events.recv() => match event {
                    Event::Asked(question) => {
                        let together = question.ask.together;
                        self.asked(question, responses, context).await;
                        if self.kind == Kind::Server && self.open.len() >= together {
                            return Ok(Turn::Waiting);
                        }
                        if !self.open.is_empty() {
                            settled.get_or_insert_with(|| Instant::now() + SETTLE);
                        }
                    }
                    Event::Progress(progress) => teller.progress(progress).await,
                    Event::Log(message) => teller.log(&message).await,
                },
                outcome = &mut self.outcome => {
                    let lost = |_| ErrorData::internal_error("the gateway lost the request", None);
                    return outcome.map(Turn::Done).map_err(lost);
                }
                () = sleep_until(settled.unwrap_or_else(Instant::now)), if settled.is_some() => {
                    return Ok(Turn::Waiting);
                }
                () = teller.next_sign_of_life() => teller.alive().await,
            }
        }
    }

    /// Puts a question to the client, or keeps it for the end of this turn.
    async fn asked(
        &mut self,
        question: Question,
        responses: &mut InputResponses,
        context: &RequestContext<RoleServer>,
    ) {
        let question = question.naming_its_server(self.kind);
        if !is_modern(context) {
            question.put_to(context).await;
            return;
        }
        // A client may send answers with its first request, when it knows what will be asked.
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
                question.decline("the question is not one that can be put to a client");
            }
            Some(question) => {
                let key = self.key_of(&question.ask);
                self.open.push((key, question));
            }
        }
    }

    fn key_of(&self, ask: &Ask) -> String {
        let wanted = ask.key.as_deref().unwrap_or("question");
        let is_free = |key: &String| self.open.iter().all(|(taken, _)| taken != key);
        let numbered = (2..).map(|number| format!("{wanted}_{number}"));
        std::iter::once(wanted.to_owned())
            .chain(numbered)
            .find(is_free)
            .expect("there are more numbers than questions")
    }

    fn requests(&self) -> InputRequests {
        let open = self.open.iter();
        open.filter_map(|(key, question)| Some((key.clone(), question.input_request()?)))
            .collect()
    }
}

/// Whether the client speaks the revision that has no nested requests.
pub(crate) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}
