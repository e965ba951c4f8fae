//! The steps of a tool call before it is sent: resolve, validate, decide.
//!
//! A name is resolved among the tools within the scope, and decided about once more before the call is sent.
//! Names and schemas come from the cached list of a server. Where the cached list refuses a call, the server is
//! asked for a fresh list and the step is made once more.

use std::sync::Arc;

use limbeck_catalog::{AcceptedArguments, Catalog, ResolveError, Resolved, Tool};
use limbeck_domain::limits::{CALL_ARGS_BYTES_MAX, CALL_HEAD_BYTES_MAX};
use limbeck_domain::text::clean_line;
use limbeck_domain::{
    CallCode, CallError, CallId, EffectClass, HostCall, ServerName, ToolId, ToolTarget,
};
use limbeck_policy::{Decided, Denied, Permit, Question, Requester, Scope, ToolCall};

use super::{Broker, CallKey};
use crate::approvals::Approved;
use crate::live_catalog::FIRST_LIST_TIMEOUT;
use crate::policy_in_force::PolicyVersion;

/// Bytes of a name that an error shows.
const NAME_SHOWN_BYTES_MAX: usize = 80;
/// Bytes of arguments that are validated at once: a hand-over between threads costs more than that.
const ACCEPTED_AT_ONCE_BYTES_MAX: usize = 64 << 10;
const HINT_OUTSIDE: &str =
    "add the tool to the `tools` patterns of this execution, or leave them out";
const HINT_POLICY: &str = "do not try it again in another way: the user decides what is called; tell the user what you wanted to do";

const HINT_SHAPE: &str =
    "leave it out of the arguments; a rule of the user's `[redaction]` says so";

/// A tool call that may be sent.
pub(super) struct PreparedCall {
    pub(super) tool: Arc<Tool>,
    pub(super) decided: DecidedCall,
    /// What the gateway made of names in the call, for the warnings.
    pub(super) note: Option<String>,
    /// The idempotency key that it is sent with.
    pub(super) key: Option<CallKey>,
}

/// What the policy says of a call.
pub(super) enum Prepared {
    /// It may be sent.
    Call(PreparedCall),
    /// A person is asked first.
    Ask {
        tool: Arc<Tool>,
        question: Box<Question>,
    },
}

/// A permit, the policy that gave it, and what a person allowed.
pub(super) struct DecidedCall {
    pub(super) permit: Permit,
    pub(super) by: Arc<PolicyVersion>,
    pub(super) approved: Option<Arc<Approved>>,
}

impl DecidedCall {
    /// What the call may do, for the journal, retries, cancels and counts: the class by which the policy decided. What its server
    /// says of itself only tightens, so a tool without a class may write.
    pub(super) fn effect(&self) -> EffectClass {
        self.permit.class().class
    }
}

/// A tool call that must not be sent.
pub(super) struct RefusedCall {
    pub(super) error: CallError,
    /// The tool the name resolved to.
    pub(super) tool: Option<ToolId>,
}

impl RefusedCall {
    pub(super) fn cancelled() -> Self {
        let message = "the execution ended before this call was sent";
        Self {
            error: CallError::new(CallCode::Cancelled, message),
            tool: None,
        }
    }

    /// A call whose tool or rules changed each time that a person had answered.
    pub(super) fn unsettled(target: &ToolTarget) -> Self {
        let tool = clean_line(&target.tool, NAME_SHOWN_BYTES_MAX);
        let message =
            format!("`{tool}` changed each time that a person had answered, so it was not sent");
        Self {
            error: CallError::new(CallCode::Denied, message),
            tool: None,
        }
    }

    pub(super) fn of(tool: &Tool, error: CallError) -> Self {
        Self {
            error,
            tool: Some(tool.id().clone()),
        }
    }
}

impl From<ResolveError> for RefusedCall {
    fn from(error: ResolveError) -> Self {
        Self {
            error: error.into(),
            tool: None,
        }
    }
}

impl Broker {
    /// Decides whether a call may be sent, where no person can be asked. Nothing is sent or written.
    pub(super) async fn prepare(
        &self,
        target: &ToolTarget,
        call: CallId,
        arguments: &str,
    ) -> Result<PreparedCall, RefusedCall> {
        match self.prepare_or_ask(target, call, arguments, None).await? {
            Prepared::Call(prepared) => Ok(prepared),
            Prepared::Ask { tool, question, .. } => {
                let denied = question.into_denied();
                Err(RefusedCall::of(&tool, denied_error(&denied)))
            }
        }
    }

    /// Decides whether a call may be sent, or has to be asked about. `approved` is what a person allowed: the policy is asked
    /// again all the same. Nothing is sent or written.
    pub(super) async fn prepare_or_ask(
        &self,
        target: &ToolTarget,
        call: CallId,
        arguments: &str,
        approved: Option<&Arc<Approved>>,
    ) -> Result<Prepared, RefusedCall> {
        let resolved = self.resolve(target).await?;
        let resolved = self.checked(target, resolved).await?;
        // Before validation and policy: a person is asked about what would be sent.
        let redacted = self.context.upstreams.redaction().arguments(arguments);
        let redacted = redacted.map_err(|shape| {
            let message = format!("the arguments have what no server is to get: {shape}");
            let error = CallError::new(CallCode::Denied, message).with_hint(HINT_SHAPE);
            RefusedCall::of(&resolved.tool, error)
        })?;
        let arguments = redacted.as_ref();
        let key = self.key_of(resolved.tool.id(), call);
        let arguments = match &key {
            Some(key) => key
                .added_to(arguments)
                .map_err(|error| RefusedCall::of(&resolved.tool, error))?,
            None => arguments.into(),
        };
        let (resolved, accepted) = self.validate(target, resolved, &arguments).await?;
        let Resolved { tool, note } = resolved;
        let AcceptedArguments { arguments, notes } = accepted;
        let notes: Vec<String> = note.into_iter().chain(notes).collect();
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        let call = ToolCall {
            tool: tool.id().clone(),
            arguments,
            effect: tool.effect(),
        };
        let decided = self.decide_or_ask(call, &tool, approved, None);
        let decided = decided.map_err(|denied| RefusedCall::of(&tool, denied_error(&denied)))?;
        Ok(match decided {
            Ok(decided) => Prepared::Call(PreparedCall {
                tool,
                decided,
                note,
                key,
            }),
            Err(question) => Prepared::Ask { tool, question },
        })
    }

    /// Decides about a call by the newest policy, where no person can be asked any more. `approved` is what a person allowed,
    /// and `counted` the line of the program's plan on which the call was counted.
    pub(super) fn decide(
        &self,
        call: ToolCall,
        tool: &Tool,
        approved: Option<&Arc<Approved>>,
        counted: Option<usize>,
    ) -> Result<DecidedCall, CallError> {
        match self.decide_or_ask(call, tool, approved, counted) {
            Ok(Ok(decided)) => Ok(decided),
            Ok(Err(question)) => Err(denied_error(&question.into_denied())),
            Err(denied) => Err(denied_error(&denied)),
        }
    }

    fn decide_or_ask(
        &self,
        call: ToolCall,
        tool: &Tool,
        approved: Option<&Arc<Approved>>,
        counted: Option<usize>,
    ) -> Result<Result<DecidedCall, Box<Question>>, Denied> {
        let by = self.context.policy.newest();
        // The definition and the entry of the server as they are now, and not as they were when the person was asked.
        let pin = approved.map(|_| self.context.live_catalog.pin_of(tool));
        let with_pin = approved.map(Arc::as_ref).zip(pin.as_deref());
        let decided = by.decide_or_ask(call, &self.scope, &self.requester(), with_pin)?;
        let decided = match decided {
            Decided::Ask(question) if approved.is_none() => {
                self.covered(question, &by, tool, counted)
            }
            decided => decided,
        };
        Ok(match decided {
            Decided::Permit(permit) => Ok(DecidedCall {
                permit,
                by,
                approved: approved.cloned(),
            }),
            Decided::Ask(question) => Err(question),
        })
    }

    /// Who asks for the calls of this broker, as rules name them.
    pub(crate) fn requester(&self) -> Requester {
        Requester::of_principal(&self.principal)
    }

    /// Looks the name up among the tools within the scope, and once more in a fresh list when the cached one does not have
    /// it. The answer does not depend on tools outside of the scope: it does not show which of them exist.
    pub(super) async fn resolve(&self, target: &ToolTarget) -> Result<Resolved, RefusedCall> {
        let live_catalog = &self.context.live_catalog;
        let mut found = self.find(target).await?;
        if let Err(ResolveError::SwitchedOff { server, .. }) = &found
            && found.as_ref().is_err_and(ResolveError::is_of_held_tool)
        {
            // The user may have accepted its definition a moment ago, in another process.
            live_catalog.read_pins(server).await;
            found = self.find(target).await?;
        }
        let error = match found {
            Ok(resolved) => return Ok(resolved),
            Err(error) => error,
        };
        match error.server_to_ask() {
            // A known list is not asked for again because of a name that the scope does not cover as it is written. The
            // first list may have a tool within the scope that the name is another style of.
            Some(server)
                if out_of_scope(&self.scope, target).is_some()
                    && !live_catalog.snapshot().tools_of(server).is_empty() =>
            {
                return Err(self.unresolved(target, error));
            }
            Some(server) => self.list_for(server, target).await?,
            // The servers that may have a tool of the name as well.
            None if let ResolveError::UncertainName { unlisted, .. } = &error => {
                live_catalog.first_lists(unlisted, FIRST_LIST_TIMEOUT).await;
            }
            // A full name without a server part that fits: any server might have it.
            None if target.server.is_none() => {
                live_catalog.discover(FIRST_LIST_TIMEOUT).await;
            }
            None => return Err(self.unresolved(target, error)),
        }
        let found = self.find(target).await?;
        found.map_err(|error| self.unresolved(target, error))
    }

    /// The tool by a list that says what its definition is now, where a changed definition holds it.
    async fn checked(
        &self,
        target: &ToolTarget,
        resolved: Resolved,
    ) -> Result<Resolved, RefusedCall> {
        let tool = resolved.tool.id();
        let checked = self.context.live_catalog.check_before_call(&tool.server);
        match checked.await {
            Ok(false) => Ok(resolved),
            Ok(true) => self.resolve(target).await,
            Err(error) => Err(RefusedCall::of(&resolved.tool, error.to_call_error(tool))),
        }
    }

    /// The question about a call that a person was asked about before its tool was changed and held. `asked` is the tool and
    /// the pin of the earlier question. `None` where the tool is not held, where the person was asked about this definition
    /// already, and where the policy would not ask: then the call fails as one of a held tool.
    pub(super) fn question_about_held(
        &self,
        call: &HostCall,
        arguments: &str,
        (asked, pin): (&ToolId, Option<&str>),
    ) -> Option<(Arc<Tool>, Box<Question>)> {
        let live_catalog = &self.context.live_catalog;
        let tool = live_catalog.held_tool(asked)?;
        if pin == Some(live_catalog.pin_of(&tool).as_str()) {
            return None;
        }
        let key = self.key_of(tool.id(), call.id);
        let arguments = match &key {
            Some(key) => key.added_to(arguments).ok()?,
            None => arguments.into(),
        };
        let accepted = tool.accept(&arguments, self.language).ok()?;
        let call = ToolCall {
            tool: tool.id().clone(),
            arguments: accepted.arguments,
            effect: tool.effect(),
        };
        match self.decide_or_ask(call, &tool, None, None).ok()? {
            Err(question) => Some((tool, question)),
            Ok(_) => None,
        }
    }

    /// Looks the name up in the lists that are here. What the indexes of names do not have is looked for in the turns of the
    /// principal: similar names are searched among all tools.
    async fn find(
        &self,
        target: &ToolTarget,
    ) -> Result<Result<Resolved, ResolveError>, RefusedCall> {
        let catalog = self.context.live_catalog.snapshot();
        if let Some(resolved) = catalog.resolve_by_index(target)
            && self.scope.covers(resolved.tool.id())
        {
            return Ok(Ok(resolved));
        }
        let (scope, target) = (Arc::clone(&self.scope), target.clone());
        let found = self.computed(move || match catalog.resolve(&target) {
            // The usual case, without the cost of leaving tools out.
            Ok(resolved) if scope.covers(resolved.tool.id()) => Ok(resolved),
            Err(error) if scope.is_everything() => Err(error),
            Ok(_) | Err(_) => visible(&catalog, &scope).resolve(&target),
        });
        found
            .await
            .map_err(|error| RefusedCall { error, tool: None })
    }

    /// The server that a program names, among those that the scope reaches.
    pub(super) async fn resolve_server(
        &self,
        name: &str,
    ) -> Result<Result<ServerName, ResolveError>, CallError> {
        let catalog = self.context.live_catalog.snapshot();
        let exact = ServerName::from(name);
        if catalog.server(&exact).is_some() && self.scope.reaches(name) {
            return Ok(Ok(exact));
        }
        let (scope, name) = (Arc::clone(&self.scope), name.to_owned());
        self.computed(move || visible(&catalog, &scope).resolve_server(&name))
            .await
    }

    fn unresolved(&self, target: &ToolTarget, error: ResolveError) -> RefusedCall {
        match out_of_scope(&self.scope, target) {
            // Its tool is within the scope.
            Some(_) if matches!(error, ResolveError::UncertainName { .. }) => error.into(),
            Some(error) => RefusedCall { error, tool: None },
            None => error.into(),
        }
    }

    /// Asks `server` for its list, because `target` is not in the cached one.
    pub(super) async fn list_for(
        &self,
        server: &ServerName,
        target: &ToolTarget,
    ) -> Result<(), RefusedCall> {
        let refreshed = self.context.live_catalog.refresh(server).await;
        refreshed.map_err(|error| RefusedCall {
            error: error.to_call_error(&ToolId::new(server.clone(), target.tool.as_str())),
            tool: None,
        })
    }

    /// Validates the arguments, and once more by a fresh list when the cached schema refuses them.
    async fn validate(
        &self,
        target: &ToolTarget,
        resolved: Resolved,
        arguments: &str,
    ) -> Result<(Resolved, AcceptedArguments), RefusedCall> {
        let error = match self.accept(&resolved.tool, arguments).await {
            Ok(arguments) => return Ok((resolved, arguments)),
            Err(error) => error,
        };
        let server = &resolved.tool.id().server;
        if self.context.live_catalog.refresh(server).await.is_err() {
            return Err(RefusedCall::of(&resolved.tool, error));
        }
        // In the fresh list the name may mean another tool, or none.
        let fresh = self.find(target).await?;
        let fresh = fresh.map_err(|error| self.unresolved(target, error))?;
        match self.accept(&fresh.tool, arguments).await {
            Ok(arguments) => Ok((fresh, arguments)),
            Err(error) => Err(RefusedCall::of(&fresh.tool, error)),
        }
    }

    /// The arguments as they may be sent. Long ones are validated in the turns of the principal.
    async fn accept(
        &self,
        tool: &Arc<Tool>,
        arguments: &str,
    ) -> Result<AcceptedArguments, CallError> {
        if arguments.len() <= ACCEPTED_AT_ONCE_BYTES_MAX {
            return tool.accept(arguments, self.language);
        }
        let (tool, arguments, language) = (Arc::clone(tool), arguments.to_owned(), self.language);
        self.computed(move || tool.accept(&arguments, language))
            .await?
    }
}

/// The tools within `scope`, of the servers that it reaches.
pub(super) fn visible(catalog: &Arc<Catalog>, scope: &Scope) -> Arc<Catalog> {
    if scope.is_everything() {
        return Arc::clone(catalog);
    }
    Arc::new(catalog.within(
        |server| scope.reaches(server.as_str()),
        |tool| scope.covers(tool),
    ))
}

/// The error of a name that says, as it is written, a tool outside of `scope`: the same whether or not there is such a tool.
pub(super) fn out_of_scope(scope: &Scope, target: &ToolTarget) -> Option<CallError> {
    if scope.is_everything() {
        return None;
    }
    let readings = Catalog::readings(target);
    if readings.iter().any(|tool| scope.covers(tool)) {
        return None;
    }
    let shown = |name: &str| clean_line(name, NAME_SHOWN_BYTES_MAX);
    let tool = shown(&target.tool);
    let denied = match &target.server {
        Some(server) => {
            let server = shown(server);
            let message = outside(&format!("{server}.{tool}"));
            CallError::new(CallCode::Denied, message).with_target(server, tool)
        }
        None => CallError {
            tool: Some(tool.clone()),
            ..CallError::new(CallCode::Denied, outside(&tool))
        },
    };
    Some(denied.with_hint(HINT_OUTSIDE))
}

/// The error of the name of a server that `scope` does not reach: the same whether or not there is such a server.
pub(super) fn server_out_of_scope(scope: &Scope, server: &str) -> Option<CallError> {
    if scope.reaches(server) {
        return None;
    }
    let server = clean_line(server, NAME_SHOWN_BYTES_MAX);
    let denied = CallError {
        server: Some(server.clone()),
        ..CallError::new(CallCode::Denied, outside(&server))
    };
    Some(denied.with_hint(HINT_OUTSIDE))
}

fn outside(name: &str) -> String {
    format!("`{name}` is outside the tools this execution may use")
}

/// The error of a denied call, as the program reads it.
pub(super) fn denied_error(denied: &Denied) -> CallError {
    let (tool, hint) = match denied {
        Denied::OutOfScope { tool } => (tool, HINT_OUTSIDE),
        Denied::ByPolicy(denial) => (&denial.tool, HINT_POLICY),
    };
    let code = match denied {
        Denied::ByPolicy(denial) if denial.needs_approval => CallCode::ApprovalRequired,
        Denied::ByPolicy(_) | Denied::OutOfScope { .. } => CallCode::Denied,
    };
    CallError::new(code, denied.to_string())
        .with_target(tool.server.as_str(), &*tool.tool)
        .with_hint(hint)
}

/// The tool that a program's call names.
pub(super) fn target_of(call: &HostCall) -> Result<ToolTarget, CallError> {
    let too_long = |what: String| Err(CallError::new(CallCode::LimitExceeded, what));
    if call.head.len() > CALL_HEAD_BYTES_MAX {
        return too_long(format!("tool name of {} bytes", call.head.len()));
    }
    if call.body.len() > CALL_ARGS_BYTES_MAX {
        return too_long(format!(
            "arguments of {} bytes, at most {CALL_ARGS_BYTES_MAX} are allowed",
            call.body.len()
        ));
    }
    serde_json::from_str(&call.head)
        .map_err(|_| CallError::new(CallCode::UnknownTool, "the call names no tool"))
}
