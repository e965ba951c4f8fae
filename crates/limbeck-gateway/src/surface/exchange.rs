//! One request of a client under way, and what passes between client and servers meanwhile.
//!
//! The work runs in a task of its own and reports to the request's handler: progress, log messages,
//! questions of a server. How a question reaches the client depends on its era. A legacy client is asked in
//! a nested request, which must leave from the handler of the request it belongs to. A modern one gets
//! `input_required` as its answer; the work is put aside and goes on when the client comes back with the
//! answers and the sealed state it was given.
//!
//! What is put aside lives in this process: the state names it, and is good for nobody but the
//! principal it was made for, for the same request, once, for [`STATE_TTL`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures::future::BoxFuture;
use limbeck_domain::{Envelope, text};
use limbeck_upstream::{Answers, Ask, CallContext, Caller, Declined, Progress};
use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProtocolVersion, RequestStateCodec,
    SealOptions, ServerRequest,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::logging::Level;
use crate::direct::Failure;

/// How long a client may take to come back; servers wait as long for an answer.
const STATE_TTL: Duration = Duration::from_secs(300);
/// Requests put aside, of everybody and of one principal.
const ASIDE_MAX: usize = 512;
const ASIDE_PER_PRINCIPAL_MAX: usize = 64;
/// How often one request may be put aside.
const ROUNDS_MAX: u32 = 16;
/// Reports that a handler may be behind; progress beyond them is dropped, questions wait.
const EVENTS_MAX: usize = 64;
/// Time for questions that were asked with one that is open.
const SETTLE: Duration = Duration::from_millis(50);
/// Pause between two signs of life while a program runs. Clients give up after 60 s and more.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// Shortest pause between two messages about a program's calls.
const MESSAGE_PAUSE: Duration = Duration::from_millis(200);
/// A message about a program's call.
const MESSAGE_BYTES_MAX: usize = 256;

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

struct Question {
    ask: Ask,
    reply: oneshot::Sender<Result<Box<RawValue>, Declined>>,
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

    /// Hands the client's answers to those who asked. A question without one stays open.
    pub(crate) fn answer(&mut self, responses: &mut InputResponses) {
        let open = std::mem::take(&mut self.open);
        for (key, question) in open {
            match responses.remove(&key) {
                Some(answer) => question.answer(&answer),
                None => self.open.push((key, question)),
            }
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
            let answer = tokio::select! {
                answer = nested(&question.ask, context) => answer,
                () = context.ct.cancelled() => Err(Declined::new("the request was cancelled")),
            };
            // The server may have given up meanwhile.
            let _ = question.reply.send(answer);
            return;
        }
        // A client may send answers with its first request, when it knows what will be asked.
        let early = question
            .ask
            .key
            .as_ref()
            .and_then(|key| responses.remove(key));
        match early {
            Some(answer) => question.answer(&answer),
            None if question.input_request().is_none() => {
                let reason = "the question is not one that can be put to a client";
                let _ = question.reply.send(Err(Declined::new(reason)));
            }
            None => {
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

impl Question {
    /// A person who is asked must know who wants to know. One server's tool is called by its name; in a program
    /// it could be any server.
    fn naming_its_server(mut self, kind: Kind) -> Self {
        if kind == Kind::Server {
            return self;
        }
        let Ok(mut params) = serde_json::from_str::<Value>(self.ask.params.get()) else {
            return self;
        };
        if let Some(message) = params.get("message").and_then(Value::as_str) {
            params["message"] = format!("[{}] {message}", self.ask.server).into();
        }
        if let Ok(params) = serde_json::value::to_raw_value(&params) {
            self.ask.params = params;
        }
        self
    }

    fn request(&self) -> Value {
        let params: &RawValue = &self.ask.params;
        json!({"method": self.ask.kind.method(), "params": params})
    }

    fn input_request(&self) -> Option<InputRequest> {
        serde_json::from_value(self.request()).ok()
    }

    fn answer(self, answer: &Value) {
        let answer = serde_json::value::to_raw_value(answer)
            .map_err(|_| Declined::new("the client's answer cannot be read"));
        let _ = self.reply.send(answer);
    }
}

/// Asks a legacy client in a request of ours.
async fn nested(
    ask: &Ask,
    context: &RequestContext<RoleServer>,
) -> Result<Box<RawValue>, Declined> {
    let params: &RawValue = &ask.params;
    let request: ServerRequest =
        serde_json::from_value(json!({"method": ask.kind.method(), "params": params}))
            .map_err(|error| Declined::new(error.to_string()))?;
    let answer = context.peer.send_request(request).await;
    let answer = answer.map_err(|error| Declined::new(error.to_string()))?;
    serde_json::value::to_raw_value(&answer).map_err(|error| Declined::new(error.to_string()))
}

/// Whether the client speaks the revision that has no nested requests.
pub(crate) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// What the client of a request declared to answer.
pub(crate) fn answers(capabilities: &ClientCapabilities) -> Answers {
    let elicitation = capabilities.elicitation.as_ref();
    Answers {
        // A client of revision 2025-06-18 declares no kind and means forms.
        elicitation_form: elicitation
            .is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none()),
        elicitation_url: elicitation.is_some_and(|kinds| kinds.url.is_some()),
        sampling: capabilities.sampling.is_some(),
        roots: capabilities.roots.is_some(),
    }
}

/// Tells a client how its request is going.
struct Teller<'a> {
    kind: Kind,
    context: &'a RequestContext<RoleServer>,
    /// Least severe messages that the client wants.
    level: Option<Level>,
    /// Ticks while a program runs for a client that wants to hear of it.
    alive: Option<Interval>,
    started: Instant,
    told: u32,
    told_at: Option<Instant>,
}

impl<'a> Teller<'a> {
    fn new(kind: Kind, context: &'a RequestContext<RoleServer>, level: Option<Level>) -> Self {
        let started = Instant::now();
        let wanted = kind == Kind::Program && context.meta.get_progress_token().is_some();
        Self {
            kind,
            context,
            level,
            alive: wanted.then(|| {
                let mut ticks = interval_at(started + KEEP_ALIVE, KEEP_ALIVE);
                ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
                ticks
            }),
            started,
            told: 0,
            told_at: None,
        }
    }

    async fn progress(&mut self, progress: Progress) {
        match self.kind {
            Kind::Server => {
                let (at, total) = (progress.progress, progress.total);
                self.tell(at, total, progress.message).await;
            }
            Kind::Program => {
                let now = Instant::now();
                let is_soon = |at: Instant| now.duration_since(at) < MESSAGE_PAUSE;
                if self.told_at.is_some_and(is_soon) {
                    return;
                }
                self.told_at = Some(now);
                let message = progress.message.unwrap_or_default();
                self.count(text::clean_line(&message, MESSAGE_BYTES_MAX))
                    .await;
            }
        }
    }

    /// Completes when the client should hear that the program still runs; never for anything else.
    async fn next_sign_of_life(&mut self) {
        match &mut self.alive {
            Some(ticks) => {
                ticks.tick().await;
            }
            None => std::future::pending().await,
        }
    }

    async fn alive(&mut self) {
        let seconds = self.started.elapsed().as_secs();
        self.count(format!("running for {seconds} s")).await;
    }

    /// Calls of a program have no common measure, so what grows is the number of messages.
    async fn count(&mut self, message: String) {
        self.told += 1;
        self.tell(
            f64::from(self.told),
            None,
            Some(message).filter(|text| !text.is_empty()),
        )
        .await;
    }

    async fn tell(&self, progress: f64, total: Option<f64>, message: Option<String>) {
        let Some(token) = self.context.meta.get_progress_token() else {
            return;
        };
        let mut report = ProgressNotificationParam::new(token, progress);
        report.total = total;
        report.message = message;
        // A client that has gone is noticed elsewhere.
        let _ = self.context.peer.notify_progress(report).await;
    }

    async fn log(&self, params: &RawValue) {
        let Ok(message) = serde_json::from_str::<LoggingMessageNotificationParam>(params.get())
        else {
            return;
        };
        if self
            .level
            .is_some_and(|level| Level::from(message.level) >= level)
        {
            let _ = self.context.peer.notify_logging_message(message).await;
        }
    }
}

/// Requests that wait for their clients.
pub(crate) struct Exchanges(Arc<Shared>);

struct Shared {
    codec: Option<RequestStateCodec>,
    aside: Mutex<HashMap<String, Aside>>,
}

struct Aside {
    exchange: Exchange,
    principal: Arc<str>,
}

/// What a state is good for.
pub(crate) struct Subject<'a> {
    pub(crate) principal: &'a Arc<str>,
    pub(crate) method: &'static str,
    /// Tool, prompt or resource.
    pub(crate) name: &'a str,
}

impl Subject<'_> {
    /// No part holds the byte between them: names and principals have no control characters, and a resource
    /// comes last.
    fn bytes(&self) -> Vec<u8> {
        format!("{}\0{}\0{}", self.principal, self.method, self.name).into_bytes()
    }
}

impl std::fmt::Debug for Exchanges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchanges").finish_non_exhaustive()
    }
}

impl Default for Exchanges {
    fn default() -> Self {
        let mut key = [0; RequestStateCodec::MIN_KEY_LENGTH];
        // Without randomness there is no key, and nobody is asked anything.
        let codec = getrandom::fill(&mut key)
            .ok()
            .and_then(|()| RequestStateCodec::try_new(key).ok());
        Self(Arc::new(Shared {
            codec,
            aside: Mutex::default(),
        }))
    }
}

impl Exchanges {
    /// Puts `exchange` aside and gives the client what it has to answer, and the state to come back with.
    ///
    /// # Errors
    ///
    /// When too many requests wait; the work is cancelled then.
    pub(crate) fn put_aside(
        &self,
        subject: &Subject<'_>,
        mut exchange: Exchange,
    ) -> Result<InputRequiredResult, ErrorData> {
        exchange.rounds += 1;
        let refused = |message: &str| ErrorData::internal_error(message.to_owned(), None);
        if exchange.rounds > ROUNDS_MAX {
            return Err(refused("the servers ask more often than one request may"));
        }
        let Some(codec) = &self.0.codec else {
            return Err(refused(
                "the system gave no random key, so nobody can be asked",
            ));
        };
        let requests = exchange.requests();
        let id = uuid::Uuid::now_v7().simple().to_string();
        {
            let mut aside = self.lock();
            let of_principal = aside
                .values()
                .filter(|waiting| waiting.principal == *subject.principal)
                .count();
            if aside.len() >= ASIDE_MAX || of_principal >= ASIDE_PER_PRINCIPAL_MAX {
                return Err(refused(
                    "too many requests wait for answers; answer those first",
                ));
            }
            let principal = Arc::clone(subject.principal);
            aside.insert(
                id.clone(),
                Aside {
                    exchange,
                    principal,
                },
            );
        }
        tokio::spawn(forget(Arc::downgrade(&self.0), id.clone()));
        let bound = subject.bytes();
        let options = SealOptions::new().associated_data(&bound).ttl(STATE_TTL);
        let state = codec.seal_with(id.as_bytes(), &options);
        Ok(InputRequiredResult::new(Some(requests), Some(state)))
    }

    /// Takes what `state` names, which is gone then.
    ///
    /// # Errors
    ///
    /// A state that is not ours, not for this request of this principal, too old, or was used before.
    pub(crate) fn take(&self, subject: &Subject<'_>, state: &str) -> Result<Exchange, ErrorData> {
        let refused = |reason: &str| {
            let message = format!("requestState {reason}; send the request again without it");
            ErrorData::invalid_params(message, None)
        };
        let codec = self
            .0
            .codec
            .as_ref()
            .ok_or_else(|| refused("is not ours"))?;
        let id = codec
            .open_with(state, &subject.bytes())
            .map_err(|error| refused(&format!("is refused: {error}")))?;
        let id = String::from_utf8(id).map_err(|_| refused("is not ours"))?;
        let aside = self.lock().remove(&id);
        aside
            .map(|aside| aside.exchange)
            .ok_or_else(|| refused("was used, or what it stands for has ended"))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Aside>> {
        self.0.aside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends work whose client did not come back.
async fn forget(shared: Weak<Shared>, id: String) {
    tokio::time::sleep(STATE_TTL).await;
    if let Some(shared) = shared.upgrade() {
        let mut aside = shared.aside.lock().unwrap_or_else(PoisonError::into_inner);
        aside.remove(&id);
    }
}
