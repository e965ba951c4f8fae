//! Turns a host call into an effect, or into a reason why there is none.
//!
//! A call of a tool goes through here in this order: resolve the name, validate the arguments
//! against the schema, ask policy, write the intent, spend the permit, write the outcome, answer.
//! Validation, policy, journal and upstream see the same bytes.

mod artifacts;
mod backlog;
mod check;
mod emit;
mod journal;
mod named;
mod queries;
mod read;
mod through;
mod unwrap;

use std::sync::Arc;
use std::time::Instant;

use limbeck_catalog::{ResolveError, Resolved, Tool};
use limbeck_domain::limits::{CALL_ARGS_BYTES_MAX, CALL_HEAD_BYTES_MAX, CALL_RESULT_BYTES_MAX};
use limbeck_domain::{
    CallCode, CallError, CallForm, CallId, EffectClass, HostCall, HostOp, Language, ServerName,
    ToolId, ToolTarget,
};
use limbeck_policy::{Denied, Permit, Scope, ToolCall, decide};
use limbeck_upstream::{CallContext, Caller, RawToolResult};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::{Shared, foreign};
pub(crate) use backlog::{Backlog, Held};
pub(crate) use check::Judge;
pub(crate) use emit::Emissions;
pub(crate) use journal::Journal;
use journal::result_bytes;
use named::Named;
pub(crate) use queries::FIRST_LIST_PATIENCE;
pub(crate) use unwrap::value_for_program;
use unwrap::{Binaries, Unwrapped};

/// What one execution may do and where its calls are written.
#[derive(Clone)]
pub(crate) struct Broker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) scope: Arc<Scope>,
    pub(crate) principal: Arc<str>,
    pub(crate) journal: Journal,
    pub(crate) cancel: CancellationToken,
    /// Ends calls of read tools: when the program has ended nobody hears them. A child of `cancel`.
    pub(crate) reads: CancellationToken,
    /// Who hears of the progress of calls and answers what servers ask while they work.
    pub(crate) caller: Option<Arc<dyn Caller>>,
    /// Language of who asks: signatures and hints are written in it.
    pub(crate) language: Language,
    /// What the program gave the client so far.
    pub(crate) emissions: Arc<Emissions>,
    /// What servers answered and the program has not taken.
    pub(crate) backlog: Arc<Backlog>,
}

/// How a host call ended.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) id: CallId,
    /// JSON text of the value.
    pub(crate) result: Result<String, CallError>,
    /// Set when the call left for an upstream.
    pub(crate) reached: Option<EffectClass>,
    /// Something the reader should know, such as an alias that was resolved.
    pub(crate) note: Option<String>,
    /// The tool whose declared output schema the result does not fit, and how.
    pub(crate) contradiction: Option<(ToolId, String)>,
    /// Keeps the answer of a server counted for as long as it waits.
    pub(crate) held: Option<Held>,
}

impl Answer {
    /// The answer of a call that the gateway failed to make or to finish.
    pub(crate) fn faulted(id: CallId) -> Self {
        let error = CallError::new(
            CallCode::GatewayFault,
            "the gateway failed while it answered this call; a write may have happened",
        );
        Self {
            id,
            result: Err(error.with_hint("look at the gateway's log on standard error")),
            reached: None,
            note: None,
            contradiction: None,
            held: None,
        }
    }
}

/// What came back of a call that was sent.
struct Sent {
    /// JSON text for the program, or the error it catches.
    result: Result<String, CallError>,
    /// How the result differs from what the tool declares.
    contradiction: Option<String>,
}

/// A tool call that nothing stands in the way of.
struct Ready {
    tool: Arc<Tool>,
    permit: Permit,
    note: Option<String>,
}

impl Broker {
    /// Answers one host call and writes both ends of it into the journal.
    pub(crate) async fn answer(&self, call: HostCall) -> Answer {
        let id = call.id;
        let started = Instant::now();
        match call.op {
            HostOp::Tool => self.answer_tool(call, started).await,
            HostOp::Read => self.answer_read(call, started).await,
            HostOp::Search
            | HostOp::Describe
            | HostOp::Servers
            | HostOp::StoreGet
            | HostOp::StoreSet
            | HostOp::Check
            | HostOp::Artifact
            | HostOp::Emit => {
                self.journal
                    .call(call.clone(), None, EffectClass::Read, false)
                    .await;
                let result = self.answer_query(&call).await;
                self.journal.outcome(id, &result, started).await;
                Answer {
                    id,
                    result,
                    reached: None,
                    note: None,
                    contradiction: None,
                    held: None,
                }
            }
        }
    }

    async fn answer_tool(&self, call: HostCall, started: Instant) -> Answer {
        let id = call.id;
        let target = match target_of(&call) {
            Ok(target) => target,
            Err(error) => return self.refuse(call, None, error, started).await,
        };
        let prepared = tokio::select! {
            biased;
            // Nobody waits for the answer any more, so nothing leaves.
            () = self.cancel.cancelled() => Err(Refused::by_cancelling()),
            prepared = async {
                self.backlog.room().await;
                self.prepare(&target, &call.body).await
            } => prepared,
        };
        let ready = match prepared {
            Ok(ready) => ready,
            Err(refused) => {
                return self
                    .refuse(call, refused.tool, refused.error, started)
                    .await;
            }
        };
        let Ready { tool, permit, note } = ready;
        let effect = permit.call().effect;
        if let Err(error) = self.journal.intent(call, tool.id(), effect).await {
            return Answer {
                id,
                result: Err(error),
                reached: None,
                note,
                contradiction: None,
                held: None,
            };
        }
        let Sent {
            result,
            contradiction,
        } = self.send(&tool, permit, target.form).await;
        let held = self.backlog.holds(result_bytes(&result));
        let result = match self.journal.outcome_of(id, result, effect, started).await {
            Ok(result) => result,
            Err(error) => Err(error),
        };
        self.shared.catalogue.refresh_later(&tool.id().server);
        Answer {
            id,
            result,
            reached: Some(effect),
            note,
            contradiction: contradiction.map(|how| (tool.id().clone(), how)),
            held: Some(held),
        }
    }

    /// Names, arguments and policy; nothing has left and nothing is written yet.
    async fn prepare(&self, target: &ToolTarget, arguments: &str) -> Result<Ready, Refused> {
        let resolved = self.resolve(target).await?;
        self.cover(&resolved.tool)?;
        let (resolved, arguments) = self.validate(target, resolved, arguments).await?;
        let Resolved { tool, note } = resolved;
        let call = ToolCall {
            tool: tool.id().clone(),
            arguments,
            effect: tool.effect(),
        };
        let permit =
            decide(call, &self.scope).map_err(|denied| Refused::by_policy(&tool, &denied))?;
        Ok(Ready { tool, permit, note })
    }

    /// Refuses a tool outside of the scope before it shows anything of itself, its schema included.
    fn cover(&self, tool: &Arc<Tool>) -> Result<(), Refused> {
        if self.scope.covers(tool.id()) {
            return Ok(());
        }
        let tool_id = tool.id().clone();
        Err(Refused::by_policy(
            tool,
            &Denied::OutOfScope { tool: tool_id },
        ))
    }

    /// Looks the name up; a name the cache does not know is looked up again in a fresh list. What an
    /// error suggests is what the program may call.
    async fn resolve(&self, target: &ToolTarget) -> Result<Resolved, Refused> {
        let catalogue = &self.shared.catalogue;
        let error = match catalogue.snapshot().resolve(target) {
            Ok(resolved) => return Ok(resolved),
            Err(error) => error,
        };
        match error.server_to_ask() {
            Some(server) => self.list_for(server, target).await?,
            // A full name without a server part that fits: any server might have it.
            None if target.server.is_none() => {
                catalogue.discover(queries::FIRST_LIST_PATIENCE).await;
            }
            None => return Err(self.within_scope(error)),
        }
        let resolved = catalogue.snapshot().resolve(target);
        resolved.map_err(|error| self.within_scope(error))
    }

    fn within_scope(&self, error: ResolveError) -> Refused {
        error.suggesting(|tool| self.scope.covers(tool)).into()
    }

    async fn list_for(&self, server: &ServerName, target: &ToolTarget) -> Result<(), Refused> {
        self.shared
            .catalogue
            .refresh(server)
            .await
            .map_err(|error| {
                let tool = limbeck_domain::ToolId::new(server.clone(), target.tool.as_str());
                Refused {
                    error: error.to_call_error(&tool),
                    tool: None,
                }
            })
    }

    /// Validates; arguments that a cached schema refuses are tried against a fresh list.
    async fn validate(
        &self,
        target: &ToolTarget,
        resolved: Resolved,
        arguments: &str,
    ) -> Result<(Resolved, String), Refused> {
        let error = match resolved.tool.validate(arguments, self.language) {
            Ok(arguments) => return Ok((resolved, arguments)),
            Err(error) => error,
        };
        let server = resolved.tool.id().server.clone();
        let refused = Refused {
            error,
            tool: Some(Arc::clone(&resolved.tool)),
        };
        if self.shared.catalogue.refresh(&server).await.is_err() {
            return Err(refused);
        }
        let resolved = self.shared.catalogue.snapshot().resolve(target)?;
        match resolved.tool.validate(arguments, self.language) {
            Ok(arguments) => Ok((resolved, arguments)),
            Err(error) => Err(Refused { error, ..refused }),
        }
    }

    async fn send(&self, tool: &Arc<Tool>, permit: Permit, form: CallForm) -> Sent {
        let cancel = match permit.call().effect {
            EffectClass::Read => self.reads.child_token(),
            EffectClass::Write | EffectClass::Destructive | EffectClass::Unknown => {
                self.cancel.child_token()
            }
        };
        let caller = self.caller.clone();
        let caller = caller.map(|caller| Named::begin(caller, tool.id()));
        let context = self.context(cancel).with_caller(caller);
        let raw = match self.shared.upstreams.call(permit, context).await {
            Ok(RawToolResult(raw)) => raw,
            Err(error) => {
                return Sent {
                    result: Err(error.to_call_error(tool.id())),
                    contradiction: None,
                };
            }
        };
        let (result, contradiction) = match form {
            CallForm::Raw => (Ok(raw.get().to_owned()), self.contradiction(tool, &raw)),
            CallForm::Value => {
                let value = self.value(tool, &raw).await;
                let contradiction = value.as_ref().ok();
                let contradiction = contradiction.and_then(|value| self.differs(tool, value));
                (value, contradiction)
            }
        };
        let result = result.and_then(|text| match text.len() {
            ..=CALL_RESULT_BYTES_MAX => Ok(text),
            bytes => Err(too_large("result", bytes, CALL_RESULT_BYTES_MAX, tool)),
        });
        if result.is_ok() {
            let bytes = raw.get().len();
            self.shared.learning.result(tool, bytes, || raw);
        }
        Sent {
            result,
            contradiction,
        }
    }

    /// What a program gets of a result; what is binary in it becomes artifacts.
    async fn value(&self, tool: &Arc<Tool>, result: &RawValue) -> Result<String, CallError> {
        let Unwrapped { value, kept } =
            unwrap::value_of(result, tool.definition(), Binaries::Handles)?;
        for draft in kept {
            if let Err(error) = self.shared.keep(&self.principal, draft).await {
                // The tool has done its work: a disk that is full must not turn that into a failure.
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "an artifact could not be kept"
                );
                let as_sent = unwrap::value_of(result, tool.definition(), Binaries::AsSent)?;
                return Ok(as_sent.value);
            }
        }
        Ok(value)
    }

    /// How a whole result differs from what the tool declares. What is an error may have any form.
    fn contradiction(&self, tool: &Arc<Tool>, result: &RawValue) -> Option<String> {
        tool.definition().output_schema.as_ref()?;
        let value = value_for_program(result, tool.definition()).ok()?;
        self.differs(tool, &value)
    }

    /// The same for the value a program gets; it is counted too.
    fn differs(&self, tool: &Arc<Tool>, value: &str) -> Option<String> {
        let how = tool.contradiction(value)?;
        self.shared.learning.contradiction(tool, &how);
        Some(how)
    }

    fn context(&self, cancel: CancellationToken) -> CallContext {
        CallContext::new(cancel)
            .with_caller(self.caller.clone())
            .with_principal(foreign(&self.principal))
    }

    async fn refuse(
        &self,
        call: HostCall,
        tool: Option<Arc<Tool>>,
        error: CallError,
        started: Instant,
    ) -> Answer {
        let id = call.id;
        let tool_id = tool.map(|tool| tool.id().clone());
        self.journal
            .call(call, tool_id, EffectClass::Read, false)
            .await;
        let result = Err(error);
        self.journal.outcome(id, &result, started).await;
        Answer {
            id,
            result,
            reached: None,
            note: None,
            contradiction: None,
            held: None,
        }
    }
}

/// A call that nothing was sent for.
struct Refused {
    error: CallError,
    tool: Option<Arc<Tool>>,
}

impl Refused {
    fn by_cancelling() -> Self {
        let message = "the execution ended before this call was sent";
        Self {
            error: CallError::new(CallCode::Cancelled, message),
            tool: None,
        }
    }

    fn by_policy(tool: &Arc<Tool>, denied: &Denied) -> Self {
        Self {
            error: denial(denied),
            tool: Some(Arc::clone(tool)),
        }
    }
}

fn denial(denied: &Denied) -> CallError {
    let Denied::OutOfScope { tool } = denied;
    CallError::new(CallCode::Denied, denied.to_string())
        .with_target(tool.server.as_str(), &*tool.tool)
        .with_hint("add the tool to the `tools` patterns of this execution, or leave them out")
}

impl From<ResolveError> for Refused {
    fn from(error: ResolveError) -> Self {
        Self {
            error: error.into(),
            tool: None,
        }
    }
}

fn target_of(call: &HostCall) -> Result<ToolTarget, CallError> {
    if call.head.len() > CALL_HEAD_BYTES_MAX {
        return Err(CallError::new(
            CallCode::LimitExceeded,
            format!("tool name of {} bytes", call.head.len()),
        ));
    }
    if call.body.len() > CALL_ARGS_BYTES_MAX {
        return Err(CallError::new(
            CallCode::LimitExceeded,
            format!(
                "arguments of {} bytes, at most {CALL_ARGS_BYTES_MAX} are allowed",
                call.body.len()
            ),
        ));
    }
    serde_json::from_str(&call.head)
        .map_err(|_| CallError::new(CallCode::UnknownTool, "the call names no tool"))
}

fn too_large(what: &str, bytes: usize, limit: usize, tool: &Tool) -> CallError {
    let id = tool.id();
    CallError::new(
        CallCode::LimitExceeded,
        format!("{what} of {bytes} bytes, at most {limit} are allowed"),
    )
    .with_target(id.server.as_str(), &*id.tool)
    .with_hint("ask the tool for less: a page, a filter, fewer fields")
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
    /// How the result differs from what the tool declares.
    pub contradiction: Option<String>,
}

impl Broker {
    /// Calls one tool and gives its result as sent, `isError` included.
    pub(crate) async fn call_once(
        &self,
        target: &ToolTarget,
        arguments: &str,
    ) -> Result<CallReport, CallError> {
        let Ready { tool, permit, note } = self
            .prepare(target, arguments)
            .await
            .map_err(|refused| refused.error)?;
        let result = self
            .shared
            .upstreams
            .call(permit, self.context(self.cancel.child_token()))
            .await
            .map_err(|error| error.to_call_error(tool.id()))?;
        let value = unwrap::value_of(&result.0, tool.definition(), Binaries::AsSent)
            .map(|unwrapped| unwrapped.value);
        let mut contradiction = None;
        if let Ok(value) = &value {
            contradiction = self.differs(&tool, value);
            let bytes = result.0.get().len();
            self.shared
                .learning
                .result(&tool, bytes, || result.0.clone());
        }
        Ok(CallReport {
            contradiction,
            result,
            value,
            note,
        })
    }
}
