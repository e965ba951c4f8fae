//! Host calls of a program, answered: calls of tools, reads, queries, artifacts, and the check before a run.
//!
//! Every call is journalled before its answer is returned. Start reading at [`Broker::answer`]; the path of a tool
//! call, for programs and for everyone else, is [`Broker::invoke`].

mod admit_read;
mod answer_budget;
mod artifacts;
mod budgets;
mod call_key;
mod context;
mod emit;
mod invoke;
mod invoke_approved;
mod journal;
mod model_calls;
mod model_prompt;
mod model_tool;
mod open_questions;
mod plan;
mod prepare;
mod program_check;
mod progress_prefix;
mod queries;
mod read;
mod read_tool;
mod result_value;
mod send;
mod settled;
mod skills;
mod tool_calls;
mod warned_calls;
mod workspace;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use limbeck_domain::{
    ArgumentOrigin, CallCode, CallError, CallId, EffectClass, HostCall, HostOp, Language, Site,
    Sites, ToolId,
};
use limbeck_policy::Scope;
use limbeck_store::ArtifactInfo;
use limbeck_upstream::{CallContext, CallObserver, PrintedStream};
use tokio_util::sync::CancellationToken;

use crate::approvals::{Asks, Origins, PlanRecord, ProgramPlan};
use crate::config::other_principal;
use answer_budget::AnswerBudget;
pub(crate) use answer_budget::AnswerPermit;
use answer_budget::Work;
pub(crate) use artifacts::{Opened, part_again};
pub(crate) use call_key::CallKey;
pub(crate) use context::BrokerContext;
pub(crate) use emit::Emissions;
pub use invoke::CallReport;
pub(crate) use invoke::{CallerKind, InvokeError, Invoked};
pub(crate) use journal::Journal;
pub(crate) use model_calls::ModelRun;
pub(crate) use model_tool::is_asked_about as asked_about_model;
use open_questions::OpenQuestions;
pub(crate) use open_questions::Shows;
use prepare::{RefusedCall, target_of};
pub(crate) use program_check::ProgramCheck;
use queries::QueryAnswer;
pub(crate) use read::ReadForm;
pub(crate) use read_tool::asked_about;
pub(crate) use result_value::value_for_program;
pub(crate) use send::is_withdrawn;
pub use tool_calls::{ToolCalls, ToolCount};

/// A part of an artifact that is journalled as it is; of a larger one the journal has the artifact.
const PART_JOURNALLED_BYTES_MAX: usize = 16 << 10;

/// What the calls of one execution may do, and where they are recorded.
#[derive(Clone)]
pub(crate) struct Broker {
    context: Arc<BrokerContext>,
    scope: Arc<Scope>,
    principal: Arc<str>,
    journal: Journal,
    cancel: CancellationToken,
    /// Cancels calls of read tools when the program has ended: their results are not used. A child of `cancel`.
    reads: CancellationToken,
    /// Receives the progress of calls, and answers what servers ask while they work.
    caller: Option<Arc<dyn CallObserver>>,
    /// Language that signatures and hints are written in.
    language: Language,
    emissions: Arc<Emissions>,
    /// Admission of calls: room for their answers.
    answers: Arc<AnswerBudget>,
    /// What the check of the program leaves open.
    questions: Arc<OpenQuestions>,
    /// Questions to people about calls of this execution.
    pub(crate) asks: Arc<Asks>,
    /// What people accepted of the program's plan.
    pub(crate) plan: Arc<ProgramPlan>,
    /// Questions of this execution to models.
    models: Arc<ModelRun>,
    program: Arc<ProgramText>,
    /// Texts that the program received; `None` where no person is asked.
    origins: Option<Arc<Mutex<Origins>>>,
}

/// What questions show of the program whose call they are about.
#[derive(Debug)]
pub(crate) struct ProgramText {
    pub(crate) text: String,
    pub(crate) language: Language,
    /// Where the execution was requested from.
    pub(crate) origin: String,
    /// The calls in the text.
    sites: OnceLock<Arc<Sites>>,
}

impl ProgramText {
    pub(crate) fn new(text: String, language: Language, origin: String) -> Arc<Self> {
        Arc::new(Self {
            text,
            language,
            origin,
            sites: OnceLock::new(),
        })
    }

    /// Takes the calls that the worker found.
    pub(crate) fn note_sites(&self, sites: Arc<Sites>) {
        // A program is checked once.
        let _ = self.sites.set(sites);
    }

    /// The calls of `tool` under its own name.
    fn sites_of(&self, tool: &ToolId) -> Vec<&Site> {
        let sites = self.sites.get().into_iter().flat_map(|it| &it.sites);
        let is_of = |site: &&Site| {
            site.server.as_deref() == Some(tool.server.as_str()) && *site.tool == *tool.tool
        };
        sites.filter(is_of).collect()
    }
}

/// Answer to one host call.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) id: CallId,
    /// JSON text of the value.
    pub(crate) result: Result<String, CallError>,
    /// What the call may have done; `None` when nothing was sent to a server.
    pub(crate) reached: Option<EffectClass>,
    /// Something the reader should know, such as an alias that was resolved.
    pub(crate) note: Option<String>,
    /// The tool whose declared output schema the result does not fit, and how.
    pub(crate) contradiction: Option<(ToolId, String)>,
    /// Room of the answer, given back when it is dropped: once the guest has the answer.
    pub(crate) permit: Option<AnswerPermit>,
}

impl Answer {
    /// An answer of the gateway itself: nothing was sent to a server.
    pub(crate) fn of(id: CallId, result: Result<String, CallError>) -> Self {
        Self {
            id,
            result,
            reached: None,
            note: None,
            contradiction: None,
            permit: None,
        }
    }

    /// The answer of a call that the gateway failed to make or to finish.
    pub(crate) fn faulted(id: CallId) -> Self {
        let error = CallError::new(
            CallCode::GatewayFault,
            "the gateway failed while it answered this call; a write may have happened",
        );
        Self::of(
            id,
            Err(error.with_hint("look at the gateway's log on standard error")),
        )
    }
}

impl Broker {
    /// A broker whose calls may use every tool; `call` cancels them and observes them.
    pub(crate) fn new(
        context: &Arc<BrokerContext>,
        principal: &Arc<str>,
        journal: Journal,
        call: CallContext,
    ) -> Self {
        let CallContext {
            cancel,
            observer: caller,
            ..
        } = call;
        Self {
            context: Arc::clone(context),
            scope: Arc::new(Scope::everything()),
            principal: Arc::clone(principal),
            journal,
            reads: cancel.child_token(),
            cancel,
            caller,
            language: Language::Typescript,
            emissions: Arc::default(),
            answers: Arc::default(),
            questions: Arc::default(),
            // A call outside of any execution has none.
            asks: Arc::default(),
            plan: Arc::default(),
            models: Arc::default(),
            program: ProgramText::new(String::new(), Language::Typescript, String::new()),
            origins: None,
        }
    }

    /// Narrows the calls to the tools that `scope` covers.
    pub(crate) fn with_scope(mut self, scope: &Arc<Scope>) -> Self {
        self.scope = Arc::clone(scope);
        self
    }

    /// Asks people about calls of `program`, whose questions are `asks`.
    pub(crate) fn with_asks(mut self, asks: Arc<Asks>, program: Arc<ProgramText>) -> Self {
        self.asks = asks;
        self.program = program;
        let may_ask = self.context.policy.newest().policy().asks();
        self.origins = may_ask.then(Arc::default);
        self
    }

    /// Asks people about the plan of the program, of which the journal has `record`.
    pub(crate) fn with_plan(mut self, record: PlanRecord) -> Self {
        self.plan = Arc::new(ProgramPlan::new(record));
        self
    }

    /// Lets the program put questions to models.
    pub(crate) fn with_models(mut self, models: Arc<ModelRun>) -> Self {
        self.models = models;
        self
    }

    /// Notes what the program receives, where a question may have to say whence an argument is.
    pub(crate) fn note_received(&self, call: CallId, tool: &ToolId, result: &str) {
        if let Some(origins) = &self.origins {
            let mut origins = origins.lock().unwrap_or_else(PoisonError::into_inner);
            origins.delivered(call, tool, result);
        }
    }

    /// Notes the input of the program, as [`Broker::note_received`] does results.
    pub(crate) fn note_input(&self, input: &str) {
        if let Some(origins) = &self.origins {
            let mut origins = origins.lock().unwrap_or_else(PoisonError::into_inner);
            origins.input(input);
        }
    }

    /// Where the arguments of a call come from.
    pub(crate) fn origins_of(
        &self,
        tool: &ToolId,
        arguments: &str,
    ) -> BTreeMap<String, Vec<ArgumentOrigin>> {
        let Some(origins) = &self.origins else {
            return BTreeMap::new();
        };
        let origins = origins.lock().unwrap_or_else(PoisonError::into_inner);
        origins.origins_of(arguments, &self.program.sites_of(tool))
    }

    /// What questions show of the program.
    pub(crate) fn program(&self) -> &ProgramText {
        &self.program
    }

    /// Where the execution was requested from.
    pub(crate) fn origin(&self) -> &str {
        &self.program.origin
    }

    /// Line of the only call of `tool` in the program.
    pub(crate) fn line_of(&self, tool: &ToolId) -> Option<u32> {
        match self.program.sites_of(tool).as_slice() {
            [site] => Some(site.line),
            _ => None,
        }
    }

    /// Who receives progress and answers questions.
    pub(crate) fn caller(&self) -> Option<&Arc<dyn CallObserver>> {
        self.caller.as_ref()
    }

    /// Writes signatures and hints in `language`.
    pub(crate) fn with_language(mut self, language: Language) -> Self {
        self.language = language;
        self
    }

    /// Passes a line that the program printed to its caller.
    pub(crate) fn pass_printed(&self, stream: PrintedStream, line: &str) {
        if let Some(caller) = &self.caller {
            caller.printed(stream, line);
        }
    }

    pub(crate) fn principal(&self) -> &str {
        &self.principal
    }

    /// Tools that the execution may use.
    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    pub(crate) fn context(&self) -> &Arc<BrokerContext> {
        &self.context
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Content blocks the program has given the client so far.
    pub(crate) fn emissions(&self) -> &Arc<Emissions> {
        &self.emissions
    }

    /// Cancels every call.
    pub(crate) fn cancel_calls(&self) {
        self.cancel.cancel();
    }

    /// Cancels calls of read tools.
    pub(crate) fn cancel_reads(&self) {
        self.reads.cancel();
    }

    /// Answers one host call and writes both ends of it into the journal.
    ///
    /// The work starts once there is room for the answer, and ends when the run is cancelled.
    pub(crate) async fn answer(&self, call: HostCall) -> Answer {
        match call.op {
            HostOp::Tool => self.answer_tool(call).await,
            HostOp::Read => self.answer_read(call).await,
            HostOp::Llm => self.answer_llm(call).await,
            HostOp::Search
            | HostOp::Describe
            | HostOp::Servers
            | HostOp::StoreGet
            | HostOp::StoreSet
            | HostOp::Artifact
            | HostOp::Emit
            | HostOp::Skill
            | HostOp::Workspace => self.answer_query(call).await,
        }
    }

    /// Answers a call whose answering failed: its outcome is journalled, because what it did is not known.
    pub(crate) async fn answer_faulted(&self, call: HostCall) -> Answer {
        let answer = Answer::faulted(call.id);
        let (id, started) = (call.id, Instant::now());
        let Err(error) = &answer.result else {
            return answer;
        };
        if self.journal.is_open(id) {
            // On disk before the guest has it, as the outcome of a write.
            let effect = EffectClass::Unknown;
            let written = self
                .journal
                .outcome_of(id, Err(error), effect, false, started);
            drop(written.await);
        } else {
            self.refuse(call, None, error.clone(), started).await;
        }
        answer
    }

    async fn answer_tool(&self, call: HostCall) -> Answer {
        let id = call.id;
        let target = match target_of(&call) {
            Ok(target) => target,
            Err(error) => return self.refuse(call, None, error, Instant::now()).await,
        };
        let Invoked {
            result,
            reached,
            note,
            contradiction,
            permit,
        } = self.invoke(call, &target, CallerKind::Program).await;
        Answer {
            id,
            result: match result {
                Ok(output) => {
                    self.note_received(id, output.tool(), output.as_str());
                    Ok(output.into_text())
                }
                Err(error) => Err(error.into_call_error()),
            },
            reached,
            note,
            contradiction,
            permit,
        }
    }

    async fn answer_query(&self, call: HostCall) -> Answer {
        let (id, started) = (call.id, Instant::now());
        let ended = if queries::writes(&call) {
            &self.cancel
        } else {
            &self.reads
        };
        let room = tokio::select! {
            biased;
            () = ended.cancelled() => None,
            room = self.answers.reserve(Work::Own, queries::room_of(&call)) => Some(room),
        };
        let Some(mut room) = room else {
            let RefusedCall { error, tool } = RefusedCall::cancelled();
            return self.refuse(call, tool, error, started).await;
        };
        self.journal
            .call(call.clone(), None, EffectClass::Read, false)
            .await;
        let result = tokio::select! {
            biased;
            () = ended.cancelled() => Err(cancelled()),
            result = self.query(&call, &mut room) => result,
        };
        let (result, part_of) = match result {
            Ok(QueryAnswer { json, part_of }) => (Ok(json), part_of),
            Err(error) => (Err(error), None),
        };
        room.set(result_bytes(&result));
        match (&result, part_of) {
            (Ok(json), Some(artifact)) if json.len() > PART_JOURNALLED_BYTES_MAX => {
                let ArtifactInfo {
                    id: artifact,
                    bytes,
                    ..
                } = artifact;
                self.journal.part(id, artifact, bytes, started).await;
            }
            _ => {
                let text = result.as_ref().map(String::as_str);
                self.journal.outcome(id, text, started).await;
            }
        }
        Answer {
            permit: Some(room),
            ..Answer::of(id, result)
        }
    }

    /// Answers a call that is refused, and writes that into the journal.
    async fn refuse(
        &self,
        call: HostCall,
        tool: Option<ToolId>,
        error: CallError,
        started: Instant,
    ) -> Answer {
        let id = call.id;
        self.journal
            .call(call, tool, EffectClass::Read, false)
            .await;
        self.journal.outcome(id, Err(&error), started).await;
        Answer::of(id, Err(error))
    }

    /// Runs `work` off the threads that serve, when it is the turn of this principal.
    async fn computed<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, CallError> {
        let computing = &self.context.computing;
        let done = computing.run(&self.principal, move |_| work()).await;
        done.map_err(CallError::from)
    }

    fn call_context(&self, cancel: CancellationToken) -> CallContext {
        CallContext::new(cancel)
            .with_observer(self.caller.clone())
            .with_principal(other_principal(&self.principal))
    }
}

/// The error of a call of the gateway's own that was in progress when the program ended.
fn cancelled() -> CallError {
    CallError::new(
        CallCode::Cancelled,
        "the execution ended before this call was answered",
    )
}

/// Bytes of a result.
fn result_bytes<T: AsRef<str>>(result: &Result<T, CallError>) -> usize {
    match result {
        Ok(text) => text.as_ref().len(),
        Err(error) => error.message.len(),
    }
}
