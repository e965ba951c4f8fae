//! What clients ask of one server without a program: calls of exposed tools, resources, prompts.
//!
//! A call goes the way a program's call goes (resolve, validate, permit, intent, send, outcome) and is
//! kept as an execution of its own whose program is that one call, so `limbeck executions` shows it.
//! It has no worker, so it cannot be replayed. Reads of resources and prompts have no effect and are
//! not kept.

use std::sync::Arc;
use std::time::Instant;

use limbeck_domain::{
    CallCode, CallError, CallForm, CallId, Effects, Envelope, ErrorKind, ExecutionId,
    ExecutionLimits, ExecutionStatus, HostCall, HostOp, Language, Mode, ProgramError, ProgramStart,
    ReadMethod, Sandbox, ServerName, ToolId, ToolTarget,
};
use limbeck_policy::{ReadPermit, ReadRequest, Scope, decide_read};
use limbeck_store::{ExecutionSummary, NewExecution};
use limbeck_upstream::{CallContext, UpstreamError, Watch};
use serde_json::json;
use serde_json::value::RawValue;

use crate::broker::{Broker, Journal};
use crate::clock::now_us;
use crate::{Gateway, foreign};

/// Where a call came from, in listings.
const ORIGIN: &str = "mcp direct";
/// Stands for the guest of an execution that has none.
const NO_GUEST: &str = "none: a direct call";

/// Why there is no result.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The gateway refused, or failed.
    Call(CallError),
    /// The server did.
    Upstream(UpstreamError),
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl From<UpstreamError> for Failure {
    fn from(error: UpstreamError) -> Self {
        Self::Upstream(error)
    }
}

/// One call of an exposed tool.
#[derive(Clone, Debug)]
pub(crate) struct DirectCall {
    pub(crate) principal: Arc<str>,
    pub(crate) tool: ToolId,
    /// JSON text of an object.
    pub(crate) arguments: String,
}

impl Gateway {
    /// Calls a tool for a client and gives the `CallToolResult` as the server sent it.
    pub(crate) async fn call_directly(
        &self,
        call: DirectCall,
        context: CallContext,
    ) -> Result<Box<RawValue>, Failure> {
        let _place = tokio::select! {
            place = self.shared.admission.enter(&call.principal) => place.map_err(|busy| {
                CallError::new(CallCode::LimitExceeded, busy.to_string()).retryable()
            })?,
            () = context.cancel.cancelled() => return Err(UpstreamError::Cancelled.into()),
        };
        let started = Instant::now();
        let id = ExecutionId::new(format!("ex_{}", uuid::Uuid::now_v7().simple()));
        self.begin(&id, &call).await?;
        let CallContext { cancel, caller, .. } = context;
        let broker = Broker {
            shared: Arc::clone(&self.shared),
            scope: Arc::new(Scope::everything()),
            principal: Arc::clone(&call.principal),
            journal: Journal::new(self.shared.store.clone(), id.clone()),
            reads: cancel.child_token(),
            cancel,
            caller,
            language: Language::Typescript,
            emissions: Arc::default(),
            backlog: Arc::default(),
        };
        let target = ToolTarget {
            server: Some(call.tool.server.to_string()),
            tool: call.tool.tool.to_string(),
            form: CallForm::Raw,
        };
        let call = HostCall {
            id: CallId(1),
            op: HostOp::Tool,
            head: json!(target).to_string(),
            body: call.arguments,
        };
        let (result, effects) = broker.call_through(call, &target).await;
        self.end(&id, &result, effects, started).await;
        result
    }

    async fn begin(&self, id: &ExecutionId, call: &DirectCall) -> Result<(), Failure> {
        let new = NewExecution {
            id: id.clone(),
            principal: call.principal.to_string(),
            start: ProgramStart {
                language: Language::Typescript,
                program: format!(
                    "return await tools[{}][{}].raw(input);",
                    json!(call.tool.server.as_str()),
                    json!(call.tool.tool)
                ),
                input: call.arguments.clone(),
                servers: "[]".to_owned(),
                seed: [0; 32],
                now_us: now_us(),
                limits: ExecutionLimits::default(),
                mode: Mode::Run,
            },
            guest_hash: NO_GUEST.to_owned(),
            sandbox: Sandbox::of(Vec::new(), Vec::new()),
            created_us: now_us(),
            origin: ORIGIN.to_owned(),
        };
        self.shared.store.begin(new).await.map_err(|error| {
            let message = format!("the journal could not be written, so nothing was sent: {error}");
            CallError::new(CallCode::GatewayFault, message)
                .with_hint("free disk space or choose another `--state-dir`")
                .into()
        })
    }

    async fn end(
        &self,
        id: &ExecutionId,
        result: &Result<Box<RawValue>, Failure>,
        effects: Effects,
        started: Instant,
    ) {
        let error = match result {
            Ok(_) => None,
            Err(Failure::Upstream(UpstreamError::Cancelled)) => Some(ProgramError::new(
                ErrorKind::Cancelled,
                "the client gave the call up",
            )),
            Err(Failure::Upstream(error)) => {
                Some(ProgramError::new(ErrorKind::Exception, error.full_text()))
            }
            Err(Failure::Call(error)) => {
                Some(ProgramError::new(ErrorKind::Exception, &error.message))
            }
        };
        let status = match &error {
            None => ExecutionStatus::Completed,
            Some(error) if error.kind == ErrorKind::Cancelled => ExecutionStatus::Cancelled,
            Some(_) => ExecutionStatus::Failed,
        };
        let envelope = Envelope {
            error,
            effects: Some(effects).filter(|effects| effects.reads + effects.writes > 0),
            ..Envelope::new(id.clone(), status)
        };
        let summary = ExecutionSummary {
            calls: 1,
            took_us: u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
        };
        if let Err(error) = self.shared.store.finish(id, &envelope, summary).await {
            tracing::error!(execution = %id, error = &error as &dyn std::error::Error, "end of a direct call could not be written");
        }
    }

    /// Reads something a server offers besides tools, for the principal of this handle; `params` is JSON text.
    pub(crate) async fn read_directly(
        &self,
        server: &ServerName,
        method: ReadMethod,
        params: String,
        context: CallContext,
    ) -> Result<Box<RawValue>, Failure> {
        let request = ReadRequest {
            server: server.clone(),
            method,
            params,
        };
        let permit = permitted(request)?;
        let context = context.with_principal(foreign(&self.principal));
        let result = self.shared.upstreams.request(permit, context).await?;
        Ok(result.0)
    }

    /// Has a server tell of changes of one of its resources: whoever may read it may hear that it is worth
    /// reading again.
    pub(crate) async fn watch_directly(
        &self,
        server: &ServerName,
        uri: &str,
    ) -> Result<Watch, Failure> {
        let request = ReadRequest {
            server: server.clone(),
            method: ReadMethod::ReadResource,
            params: json!({ "uri": uri }).to_string(),
        };
        let permit = permitted(request)?;
        let principal = foreign(&self.principal);
        let watch = self.shared.upstreams.watch(permit, principal.as_ref());
        Ok(watch.await?)
    }
}

fn permitted(request: ReadRequest) -> Result<ReadPermit, CallError> {
    decide_read(request, &Scope::everything())
        .map_err(|denied| CallError::new(CallCode::Denied, denied.to_string()))
}
