//! Requests to one server without a program: calls of exposed tools, `limbeck call`, resources and prompts.
//!
//! A client's call is made as a program's call is made ([`Broker::invoke`]) and recorded as an execution of its own, so
//! `limbeck executions` shows it. It has no worker, so it cannot be replayed. One that a person has to approve is paused as a
//! program is, and continued by any process. Reads of resources and prompts have no effect and are recorded only where a person has
//! to approve them.

mod asked_reads;
mod attempt;
mod called;
mod recorded;

use std::collections::BTreeMap;
use std::sync::Arc;

use limbeck_domain::limits::JOURNAL_BYTES_MAX;
use limbeck_domain::{
    CallCode, CallError, CallForm, ExecutionId, ExecutionLimits, GUEST_ABI, Language, Mode,
    ModelTerms, ProgramStart, ReadMethod, Sandbox, ServerName, ToolId, ToolTarget,
};
use limbeck_policy::{ReadPermit, ReadRequest, Requester, Scope};
use limbeck_store::{AuditEvent, AuditEventKind, NO_GUEST, NewExecution};
use limbeck_upstream::{CallContext, ResourceWatch, UpstreamError};
use serde_json::json;
use serde_json::value::RawValue;

use crate::admission::Admission;
use crate::approvals::OnAsk;
use crate::audit_records::record;
use crate::broker::{Broker, BrokerContext, CallReport, InvokeError, Journal, is_withdrawn};
use crate::clock::now_us;
use crate::config::{LOCAL_PRINCIPAL, other_principal};
use crate::executor::{Shown, mint_id};
use crate::policy_in_force::PolicyVersion;
use crate::store_errors::call_error;
use attempt::write_end;
pub(crate) use attempt::{Attempted, DirectAttempt, program_error};
pub(crate) use called::Called;
pub use called::called_tool;
pub(crate) use recorded::RecordedCall;

/// Where a client's call came from, in listings.
const ORIGIN: &str = "mcp direct";
/// The same of `limbeck call`.
const USER_ORIGIN: &str = "call";

/// Why a request to a server has no result.
#[derive(Clone, Debug)]
pub enum DirectError {
    /// The gateway refused the request or failed.
    Call(CallError),
    /// The server failed, or the connection to it.
    Upstream(UpstreamError),
}

impl From<CallError> for DirectError {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl From<InvokeError> for DirectError {
    fn from(error: InvokeError) -> Self {
        match error {
            InvokeError::Call(error) => Self::Call(error),
            InvokeError::Upstream { error, .. } => Self::Upstream(error),
        }
    }
}

impl From<UpstreamError> for DirectError {
    fn from(error: UpstreamError) -> Self {
        Self::Upstream(error)
    }
}

/// One call of an exposed tool.
#[derive(Clone, Debug)]
pub struct DirectCall {
    /// Client that calls.
    pub principal: Arc<str>,
    /// The tool.
    pub tool: ToolId,
    /// JSON text of an object.
    pub arguments: String,
}

/// What a client gets of a call of an exposed tool.
#[derive(Debug)]
pub enum DirectAnswer {
    /// The call was made.
    Result {
        /// The `CallToolResult` as the server sent it.
        result: Box<RawValue>,
        /// Something that the reader should know beside it.
        note: Option<String>,
    },
    /// A person approved a read of a resource or prompt, and it was made.
    Read {
        /// The result as the server sent it.
        result: Box<RawValue>,
        /// Something that the reader should know beside it.
        note: Option<String>,
    },
    /// Nothing was sent: a person has to approve the call. The answer has the id to go on with.
    Paused(Box<Shown>),
}

/// How far a call was made.
#[derive(Debug)]
pub(crate) enum MadeCall {
    /// To its end.
    Ended(Box<RawValue>),
    /// Until a person has decided; it is paused under this id.
    Waits(ExecutionId),
}

/// Makes requests to one server for clients and users.
#[derive(Debug)]
pub(crate) struct DirectCalls {
    admission: Admission,
    broker: Arc<BrokerContext>,
}

impl DirectCalls {
    pub(crate) fn new(admission: Admission, broker: Arc<BrokerContext>) -> Self {
        Self { admission, broker }
    }

    /// Calls a tool for a client, as far as no person has to be asked first.
    pub(crate) async fn call_for_client(
        &self,
        call: DirectCall,
        context: CallContext,
    ) -> Result<MadeCall, DirectError> {
        let _place = tokio::select! {
            place = self.admission.enter(&call.principal) => place.map_err(|busy| {
                self.refused_as_busy(&call.principal, busy.to_string())
            })?,
            () = context.cancel.cancelled() => return Err(UpstreamError::Cancelled.into()),
        };
        let called = Called::Tool(call.tool);
        self.record_and_make(call.principal, called, call.arguments, context)
            .await
    }

    /// The error of a request that found no place, which is recorded.
    fn refused_as_busy(&self, principal: &str, problem: String) -> CallError {
        let refused = AuditEvent {
            client: Some(ORIGIN.to_owned()),
            operation: Some("direct".to_owned()),
            code: Some("busy".to_owned()),
            ..AuditEvent::new(AuditEventKind::Refuse, principal)
        };
        record(self.broker.store.clone(), refused);
        CallError::new(CallCode::LimitExceeded, problem).retryable()
    }

    /// Begins an execution of one call or read, which the caller has a place for, and makes it as far as no person has to be asked
    /// first.
    async fn record_and_make(
        &self,
        principal: Arc<str>,
        called: Called,
        arguments: String,
        context: CallContext,
    ) -> Result<MadeCall, DirectError> {
        let id = mint_id();
        let created_us = now_us();
        let program = called.program();
        let begun = self.begin(&id, &principal, &program, &arguments, created_us, ORIGIN);
        begun.await?;
        if let Some(observer) = &context.observer {
            observer.begun(&id);
        }
        let attempt = DirectAttempt {
            id: id.clone(),
            principal,
            journal: Journal::new(self.broker.store.clone(), id.clone(), JOURNAL_BYTES_MAX),
            call: called.call(arguments),
            program,
            created_us,
            asked: BTreeMap::new(),
        };
        Ok(
            match attempt.make(&self.broker, context, OnAsk::Wait).await {
                Attempted::Ended(result) => MadeCall::Ended(result?),
                Attempted::Waits => MadeCall::Waits(id),
            },
        )
    }

    /// Calls one tool for the user and returns its result as sent. It is recorded as a client's call is, under its own origin.
    ///
    /// # Errors
    ///
    /// [`CallError`] for every reason a call inside a program fails, except `isError`; also where the call has to be approved,
    /// because no person is asked here.
    pub(crate) async fn call_for_user(
        &self,
        server: &str,
        tool: &str,
        arguments: &str,
        context: CallContext,
    ) -> Result<CallReport, CallError> {
        let principal: Arc<str> = LOCAL_PRINCIPAL.into();
        let target = ToolTarget {
            server: Some(server.to_owned()),
            tool: tool.to_owned(),
            form: CallForm::Raw,
        };
        let (id, created_us) = (mint_id(), now_us());
        let program = Called::Tool(ToolId::new(server, tool)).program();
        let begun = self.begin(
            &id,
            &principal,
            &program,
            arguments,
            created_us,
            USER_ORIGIN,
        );
        begun.await?;
        let journal = Journal::new(self.broker.store.clone(), id.clone(), JOURNAL_BYTES_MAX);
        let broker = Broker::new(&self.broker, &principal, journal, context);
        let (called, reached) = broker.call_once(&target, arguments).await;
        let error = called.as_ref().err();
        let error = error.map(|error| program_error(&DirectError::Call(error.clone())));
        write_end(&self.broker, &id, created_us, error, reached).await;
        called
    }

    async fn begin(
        &self,
        id: &ExecutionId,
        principal: &str,
        program: &str,
        input: &str,
        created_us: u64,
        origin: &str,
    ) -> Result<(), CallError> {
        if let Err(error) = self.broker.store.check_disk() {
            let what = "the disk is nearly full, so nothing was sent";
            return Err(call_error(&error, what));
        }
        let new = NewExecution {
            id: id.clone(),
            principal: principal.to_owned(),
            start: ProgramStart {
                language: Language::Typescript,
                program: program.to_owned(),
                input: input.to_owned(),
                servers: "[]".to_owned(),
                seed: [0; 32],
                now_us: created_us,
                limits: ExecutionLimits::default(),
                mode: Mode::Run,
                scope: None,
                asks_by_plan: false,
                llm: ModelTerms::default(),
                abi: GUEST_ABI,
                release: env!("CARGO_PKG_VERSION").to_owned(),
            },
            guest_hash: NO_GUEST.to_owned(),
            sandbox: Sandbox::of(Vec::new(), Vec::new()),
            created_us,
            origin: origin.to_owned(),
        };
        self.broker.store.begin(new).await.map_err(|error| {
            let what = "the journal could not be written, so nothing was sent";
            call_error(&error, what)
        })
    }

    /// Decides about a read for `principal` by the newest policy.
    fn permit(
        &self,
        request: ReadRequest,
        principal: &str,
    ) -> Result<(ReadPermit, Arc<PolicyVersion>), CallError> {
        let by = self.broker.policy.newest();
        let requester = Requester::of_principal(principal);
        let permit = by
            .decide_read(request, &Scope::everything(), &requester)
            .map_err(|denied| CallError::new(CallCode::Denied, denied.to_string()))?;
        Ok((permit, by))
    }

    /// Reads something a server offers besides tools for `principal`; `params` is JSON text.
    pub(crate) async fn read(
        &self,
        principal: &Arc<str>,
        server: &ServerName,
        method: ReadMethod,
        params: String,
        context: CallContext,
    ) -> Result<Box<RawValue>, DirectError> {
        let request = ReadRequest {
            server: server.clone(),
            method,
            params,
        };
        let context = context.with_principal(other_principal(principal));
        loop {
            let (permit, by) = self.permit(request.clone(), principal)?;
            let context = CallContext {
                pass: by.pass(),
                ..context.clone()
            };
            let cancel = context.cancel.clone();
            let sent = self.broker.upstreams.request(permit, context).await;
            if !is_withdrawn(&sent, &by) || cancel.is_cancelled() {
                return Ok(sent?.0);
            }
        }
    }

    /// Subscribes to changes of one resource. The permission to read the resource is enough.
    pub(crate) async fn watch(
        &self,
        principal: &Arc<str>,
        server: &ServerName,
        uri: &str,
    ) -> Result<ResourceWatch, DirectError> {
        let request = ReadRequest {
            server: server.clone(),
            method: ReadMethod::ReadResource,
            params: json!({ "uri": uri }).to_string(),
        };
        let (permit, _) = self.permit(request, principal)?;
        let principal = other_principal(principal);
        let watch = self.broker.upstreams.watch(permit, principal.as_ref());
        Ok(watch.await?)
    }
}
