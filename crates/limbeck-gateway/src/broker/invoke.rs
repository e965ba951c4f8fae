//! The path of a tool call, for programs, for clients and for the command line.
//!
//! A call is prepared (resolved, checked against the scope, validated, decided), its intent is written, its permit is
//! spent by sending it, and its outcome is written before the result is returned. A call that may write is on disk
//! before it is sent, and so is its outcome before the result is used. Policy and upstream get the arguments that
//! validation made compact; the journal gets them as the program wrote them, which is what a replay compares.
//!
//! What differs between callers is in [`CallerKind`].

use std::sync::Arc;
use std::time::Instant;

use limbeck_catalog::Tool;
use limbeck_domain::limits::CALL_RESULT_BYTES_MAX;
use limbeck_domain::text::quoted;
use limbeck_domain::{
    ApprovalId, CallCode, CallError, CallForm, CallId, EffectClass, HostCall, HostOp, ServerName,
    ToolId, ToolTarget,
};
use limbeck_store::Counted;
use limbeck_upstream::{RawToolResult, Turn, UnaskedQuestions, UpstreamError};
use serde_json::value::RawValue;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::answer_budget::AnswerPermit;
use super::prepare::{PreparedCall, RefusedCall};
use super::result_value::{self, BinaryBlocks, ResultValue, value_for_program};
use super::{Broker, CallKey, result_bytes};
use crate::budgets::CallBudgets;
use crate::config::other_principal;
use crate::store_errors::log_fault;

/// Bytes of a description of how a result differs from its declared schema.
const CONTRADICTION_BYTES_MAX: usize = 200;

/// Caller that a tool call is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallerKind {
    /// A program. Its call waits until its result has room, and it gets the value of the result.
    Program,
    /// A client that called an exposed tool. It gets the result as the server sent it, and a person may be asked first.
    Direct,
    /// A user, outside of any execution. The result is as the server sent it, and no list is refreshed afterwards.
    Once,
}

/// A tool call that has ended.
pub(crate) struct Invoked {
    pub(crate) result: Result<ToolOutput, InvokeError>,
    /// What the call may have done; `None` when nothing was sent.
    pub(crate) reached: Option<EffectClass>,
    /// An alias that was resolved.
    pub(crate) note: Option<String>,
    /// The tool, and how its result differs from its declared output schema.
    pub(crate) contradiction: Option<(ToolId, String)>,
    /// Room of the result.
    pub(crate) permit: Option<AnswerPermit>,
}

impl Invoked {
    fn not_sent(error: CallError, note: Option<String>) -> Self {
        Self {
            result: Err(InvokeError::Call(error)),
            reached: None,
            note,
            contradiction: None,
            permit: None,
        }
    }
}

/// A call that is sent next.
pub(super) struct AdmittedCall {
    pub(super) prepared: PreparedCall,
    /// Room for the result; `None` where no program waits for it.
    room: Option<AnswerPermit>,
    /// Place among the calls that the server has of this execution.
    slot: Option<OwnedSemaphorePermit>,
    /// Place among the calls that the server serves at a time; `None` where it has no such bound.
    place: Option<Arc<Turn>>,
    /// What a person allowed, to be spent with the intent.
    pub(super) approval: Option<ApprovalId>,
    /// Whether the person let it out although a budget had no room for it.
    pub(super) lets_out: bool,
}

/// Why a call is not sent.
enum NotAdmitted {
    /// It is refused, and the journal has no entry of it yet.
    Refused(Box<HostCall>, RefusedCall),
    /// Its intent could not be written.
    Unwritten(CallError, Option<String>),
}

/// Result of a tool call in the form its caller gets.
pub(crate) struct ToolOutput {
    tool: Arc<Tool>,
    content: OutputContent,
}

enum OutputContent {
    /// JSON text of the value that a program gets.
    Value(String),
    /// The `CallToolResult` as the server sent it.
    AsSent(Box<RawValue>),
}

impl ToolOutput {
    /// The tool that gave it.
    pub(super) fn tool(&self) -> &ToolId {
        self.tool.id()
    }

    pub(super) fn as_str(&self) -> &str {
        match &self.content {
            OutputContent::Value(text) => text,
            OutputContent::AsSent(result) => result.get(),
        }
    }

    /// The JSON text.
    pub(crate) fn into_text(self) -> String {
        match self.content {
            OutputContent::Value(text) => text,
            OutputContent::AsSent(result) => Box::<str>::from(result).into_string(),
        }
    }

    /// The JSON document; a value is parsed for it.
    pub(crate) fn into_json(self) -> Result<Box<RawValue>, CallError> {
        match self.content {
            OutputContent::AsSent(result) => Ok(result),
            OutputContent::Value(text) => RawValue::from_string(text)
                .map_err(|error| CallError::new(CallCode::GatewayFault, error.to_string())),
        }
    }
}

/// Why a tool call has no result.
#[derive(Debug)]
pub(crate) enum InvokeError {
    /// The gateway refused the call or failed.
    Call(CallError),
    /// The server failed, or the connection to it.
    Upstream { tool: ToolId, error: UpstreamError },
}

impl InvokeError {
    /// The error as a program reads it.
    pub(crate) fn into_call_error(self) -> CallError {
        match self {
            Self::Call(error) => error,
            Self::Upstream { tool, error } => error.to_call_error(&tool),
        }
    }

    fn to_call_error(&self) -> CallError {
        match self {
            Self::Call(error) => error.clone(),
            Self::Upstream { tool, error } => error.to_call_error(tool),
        }
    }
}

/// What a call outside of any execution gave, for `limbeck call`.
#[derive(Debug)]
pub struct CallReport {
    /// The `CallToolResult` as the upstream sent it.
    pub result: RawToolResult,
    /// What a program would get of it: JSON text, or the error it would catch.
    pub value: Result<String, CallError>,
    /// An alias that was resolved.
    pub note: Option<String>,
    /// How the result differs from what the tool declares, quoted: it has words of the server.
    pub contradiction: Option<String>,
}

impl Broker {
    /// Calls one tool. `call` is what the journal records, `target` the tool it names.
    pub(crate) async fn invoke(
        &self,
        call: HostCall,
        target: &ToolTarget,
        caller_kind: CallerKind,
    ) -> Invoked {
        let (id, started) = (call.id, Instant::now());
        let (admitted, budgets) = match self.admit(call, target, caller_kind).await {
            Ok(admitted) => admitted,
            Err(NotAdmitted::Refused(call, RefusedCall { error, tool })) => {
                self.refuse(*call, tool, error.clone(), started).await;
                return Invoked::not_sent(error, None);
            }
            Err(NotAdmitted::Unwritten(error, note)) => return Invoked::not_sent(error, note),
        };
        let AdmittedCall {
            prepared:
                PreparedCall {
                    tool,
                    decided,
                    note,
                    key,
                },
            mut room,
            slot,
            place,
            approval: _,
            lets_out: _,
        } = admitted;
        let effect = decided.effect();
        let unasked = UnaskedQuestions::default();
        let key = key.and_then(CallKey::beside_arguments);
        let sent = self.send(&tool, decided, caller_kind, place, unasked.clone(), key);
        let sent = sent.await;
        let (result, contradiction, not_sent) = match sent {
            Ok(Ok(result)) => {
                let output = self.output(&tool, result, target.form, caller_kind);
                let (result, contradiction) = output.await;
                (result, contradiction, false)
            }
            Ok(Err(error)) => {
                let (tool, not_sent) = (tool.id().clone(), error.had_no_effect());
                (Err(InvokeError::Upstream { tool, error }), None, not_sent)
            }
            Err(denied) => (Err(InvokeError::Call(denied)), None, true),
        };
        let recorded = match &result {
            Ok(output) => Ok(output.as_str()),
            Err(error) => Err(error.to_call_error()),
        };
        // Counted before the journal is written: a slow disk must not let results pile up uncounted.
        if let Some(room) = &mut room {
            room.set(result_bytes(&recorded));
        }
        // Given back after the result was counted, so that the next call sees it.
        drop(slot);
        self.count_received(&budgets, result_bytes(&recorded)).await;
        let recorded = recorded.as_deref();
        let outcome = self
            .journal
            .outcome_of(id, recorded, effect, not_sent, started);
        let outcome = outcome.await;
        if caller_kind != CallerKind::Once {
            self.context.live_catalog.refresh_later(&tool.id().server);
        }
        Invoked {
            result: match outcome {
                Ok(()) => result,
                Err(error) => Err(InvokeError::Call(error)),
            },
            reached: (!not_sent).then_some(effect),
            note: with_unasked(note, &tool.id().server, &unasked),
            contradiction: contradiction.map(|how| (tool.id().clone(), how)),
            permit: room,
        }
    }

    /// Admits a call and writes its intent, with all that budgets count of it. Where the last of a budget was taken meanwhile and
    /// the budget asks, the call is admitted once more, by a person.
    async fn admit(
        &self,
        mut call: HostCall,
        target: &ToolTarget,
        caller_kind: CallerKind,
    ) -> Result<(AdmittedCall, CallBudgets), NotAdmitted> {
        let mut is_paced = false;
        loop {
            let admitted = match caller_kind {
                CallerKind::Program | CallerKind::Direct => tokio::select! {
                    biased;
                    // The program has ended, or the client gave the call up, so it is not sent.
                    () = self.cancel.cancelled() => Err(RefusedCall::cancelled()),
                    admitted = self.admit_approved(target, &call, is_paced) => admitted,
                },
                CallerKind::Once => tokio::select! {
                    biased;
                    // The user gave the call up, while its server was starting, for example.
                    () = self.cancel.cancelled() => Err(RefusedCall::cancelled()),
                    admitted = self.admit_alone(target, &call) => admitted,
                },
            };
            let admitted = match admitted {
                Ok(admitted) => admitted,
                Err(refused) => return Err(NotAdmitted::Refused(Box::new(call), refused)),
            };
            let budgets = self.budgets_of_permit(&admitted.prepared.decided.permit);
            let again = (!budgets.counts_nothing()).then(|| call.clone());
            match self.write_intent(call, &admitted, &budgets).await {
                Ok(Counted::Now) => return Ok((admitted, budgets)),
                Ok(Counted::Over(over)) => {
                    // There is a copy where something is counted.
                    let Some(copy) = again else {
                        let error = budgets.refusal(&over);
                        return Err(NotAdmitted::Unwritten(error, admitted.prepared.note));
                    };
                    call = copy;
                    let may_ask = caller_kind != CallerKind::Once && !is_paced;
                    if budgets.asks(&over).is_none() || !may_ask {
                        let error = budgets.refusal(&over);
                        let refused = RefusedCall::of(&admitted.prepared.tool, error);
                        return Err(NotAdmitted::Refused(Box::new(call), refused));
                    }
                    is_paced = true;
                }
                Err(error) => {
                    return Err(NotAdmitted::Unwritten(error, admitted.prepared.note));
                }
            }
        }
    }

    /// Admits a call outside of any execution: nothing is reserved for its result, and no person is asked about it.
    async fn admit_alone(
        &self,
        target: &ToolTarget,
        call: &HostCall,
    ) -> Result<AdmittedCall, RefusedCall> {
        let prepared = self.prepare(target, call.id, &call.body).await?;
        let budgets = self.budgets_of_permit(&prepared.decided.permit);
        let paced = self.paced(&budgets, None, None).await;
        paced.map_err(|error| RefusedCall::of(&prepared.tool, error))?;
        self.placed(prepared, None, None).await
    }

    /// Waits for the place of a call among those that its server serves at a time. The intent is journalled after that:
    /// a call in the queue was not sent, also when the gateway is killed meanwhile.
    pub(super) async fn placed(
        &self,
        prepared: PreparedCall,
        room: Option<AnswerPermit>,
        slot: Option<OwnedSemaphorePermit>,
    ) -> Result<AdmittedCall, RefusedCall> {
        let server = &prepared.tool.id().server;
        let principal = other_principal(&self.principal);
        let place = tokio::select! {
            biased;
            () = self.cancel_of(prepared.decided.effect()).cancelled() => {
                return Err(RefusedCall {
                    tool: Some(prepared.tool.id().clone()),
                    ..RefusedCall::cancelled()
                });
            }
            place = self.context.upstreams.place(server, principal.as_ref()) => place,
        };
        Ok(AdmittedCall {
            // The call may have waited long.
            prepared: self.by_newest_policy(prepared)?,
            room,
            slot,
            place,
            approval: None,
            lets_out: false,
        })
    }

    /// What cancels a call with this effect.
    pub(super) fn cancel_of(&self, effect: EffectClass) -> &CancellationToken {
        match effect {
            EffectClass::Read => &self.reads,
            EffectClass::Write | EffectClass::Destructive | EffectClass::Unknown => &self.cancel,
        }
    }

    /// Waits until `server` can take one more call of the execution and its result has room.
    pub(super) async fn slot_at(&self, server: &ServerName) -> Option<OwnedSemaphorePermit> {
        let most = self.context.upstreams.concurrency(server);
        let slot = self.answers.in_flight(server, most).await;
        self.answers.room_to_send().await;
        slot
    }

    /// Calls one tool for a user and gives its result as sent, `isError` included.
    pub(crate) async fn call_once(
        &self,
        target: &ToolTarget,
        arguments: &str,
    ) -> (Result<CallReport, CallError>, Option<EffectClass>) {
        let call = HostCall {
            id: CallId(1),
            op: HostOp::Tool,
            head: serde_json::json!(target).to_string(),
            body: arguments.to_owned(),
        };
        let Invoked {
            result,
            note,
            contradiction,
            reached,
            ..
        } = self.invoke(call, target, CallerKind::Once).await;
        let report = result
            .map_err(InvokeError::into_call_error)
            .and_then(|output| {
                let tool = Arc::clone(&output.tool);
                let result = output.into_json()?;
                let value =
                    result_value::value_of(&result, tool.definition(), BinaryBlocks::AsSent);
                Ok(CallReport {
                    value: value.map(|value| value.json),
                    result: RawToolResult(result),
                    note,
                    contradiction: contradiction.map(|(_, how)| how),
                })
            });
        (report, reached)
    }

    /// What the caller gets of a result, and how the result contradicts the tool's declaration.
    async fn output(
        &self,
        tool: &Arc<Tool>,
        result: Box<RawValue>,
        form: CallForm,
        caller_kind: CallerKind,
    ) -> (Result<ToolOutput, InvokeError>, Option<String>) {
        let bytes = result.get().len();
        let as_sent = match caller_kind {
            CallerKind::Program => form == CallForm::Raw,
            CallerKind::Direct | CallerKind::Once => true,
        };
        if as_sent {
            let contradiction = self.contradiction(tool, &result);
            if caller_kind == CallerKind::Program && bytes > CALL_RESULT_BYTES_MAX {
                return (Err(too_large(bytes, tool)), contradiction);
            }
            self.context.learning.result(tool, bytes, || result.clone());
            let content = OutputContent::AsSent(result);
            let tool = Arc::clone(tool);
            return (Ok(ToolOutput { tool, content }), contradiction);
        }
        let value = match self.value(tool, &result).await {
            Ok(value) => value,
            Err(error) => return (Err(InvokeError::Call(error)), None),
        };
        self.questions.see(tool.id(), &value);
        let contradiction = self.differs(tool, &value);
        if value.len() > CALL_RESULT_BYTES_MAX {
            return (Err(too_large(value.len(), tool)), contradiction);
        }
        self.context.learning.result(tool, bytes, || result);
        let content = OutputContent::Value(value);
        let tool = Arc::clone(tool);
        (Ok(ToolOutput { tool, content }), contradiction)
    }

    /// The value that a program gets of a result. Binary content of it becomes artifacts.
    async fn value(&self, tool: &Tool, result: &RawValue) -> Result<String, CallError> {
        let ResultValue { json, artifacts } =
            result_value::value_of(result, tool.definition(), BinaryBlocks::Handles)?;
        for artifact in artifacts {
            if let Err(error) = self.context.artifacts.keep(&self.principal, artifact).await {
                // The tool has done its work: a disk that is full must not turn that into a failure.
                log_fault(&error, "an artifact could not be kept");
                let as_sent =
                    result_value::value_of(result, tool.definition(), BinaryBlocks::AsSent)?;
                return Ok(as_sent.json);
            }
        }
        Ok(json)
    }

    /// How a whole result differs from what the tool declares. A result with `isError` may have any form.
    fn contradiction(&self, tool: &Arc<Tool>, result: &RawValue) -> Option<String> {
        tool.definition().output_schema.as_ref()?;
        let value = value_for_program(result, tool.definition()).ok()?;
        self.differs(tool, &value)
    }

    /// How the value that a program gets differs from what the tool declares, quoted: names and allowed values of the schema
    /// are the server's words. A difference is counted.
    fn differs(&self, tool: &Arc<Tool>, value: &str) -> Option<String> {
        let how = tool.contradiction(value)?;
        self.context.learning.contradiction(tool, &how);
        Some(quoted(&how, CONTRADICTION_BYTES_MAX))
    }
}

fn too_large(bytes: usize, tool: &Tool) -> InvokeError {
    let id = tool.id();
    let error = CallError::new(
        CallCode::LimitExceeded,
        format!("result of {bytes} bytes, at most {CALL_RESULT_BYTES_MAX} are allowed"),
    );
    InvokeError::Call(
        error
            .with_target(id.server.as_str(), &*id.tool)
            .with_hint("ask the tool for less: a page, a filter, fewer fields"),
    )
}

/// Adds to `note` that the server's question was shown to no user: its result may say that the user declined.
fn with_unasked(
    note: Option<String>,
    server: &ServerName,
    unasked: &UnaskedQuestions,
) -> Option<String> {
    let methods = unasked.methods();
    if methods.is_empty() {
        return note;
    }
    let asked = format!(
        "server `{server}` asked a question (`{}`) that no client could be asked; the user did not see it, even if the result says that the user declined",
        methods.join("`, `")
    );
    Some(match note {
        Some(note) => format!("{note}; {asked}"),
        None => asked,
    })
}
