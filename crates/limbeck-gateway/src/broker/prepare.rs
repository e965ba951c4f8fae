//! The steps of a tool call before it is sent: resolve, check the scope, validate, decide.
//!
//! Names and schemas come from the cached list of a server. Where the cached list refuses a call, the server is
//! asked for a fresh list and the step is made once more.

use std::sync::Arc;

use limbeck_catalog::{AcceptedArguments, ResolveError, Resolved, Tool};
use limbeck_domain::limits::{CALL_ARGS_BYTES_MAX, CALL_HEAD_BYTES_MAX};
use limbeck_domain::{CallCode, CallError, HostCall, ServerName, ToolId, ToolTarget};
use limbeck_policy::{Denied, Facts, Permit, ToolCall, decide};

use super::Broker;
use crate::clock::now_us;
use crate::live_catalog::FIRST_LIST_TIMEOUT;

/// A tool call that may be sent.
pub(super) struct PreparedCall {
    pub(super) tool: Arc<Tool>,
    pub(super) permit: Permit,
    /// What the gateway made of names in the call, for the warnings.
    pub(super) note: Option<String>,
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

    fn of(tool: &Tool, error: CallError) -> Self {
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
    /// Decides whether a call may be sent. Nothing is sent or written.
    pub(super) async fn prepare(
        &self,
        target: &ToolTarget,
        arguments: &str,
    ) -> Result<PreparedCall, RefusedCall> {
        let resolved = self.resolve(target).await?;
        // Before validation: an error about the arguments would show the schema of a tool outside of the scope.
        self.check_scope(&resolved.tool)
            .map_err(|error| RefusedCall::of(&resolved.tool, error))?;
        let (resolved, accepted) = self.validate(target, resolved, arguments).await?;
        let Resolved { tool, note } = resolved;
        let AcceptedArguments { arguments, notes } = accepted;
        let notes: Vec<String> = note.into_iter().chain(notes).collect();
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        let call = ToolCall {
            tool: tool.id().clone(),
            arguments,
            effect: tool.effect(),
        };
        let facts = Facts {
            scope: &self.scope,
            now_us: now_us(),
        };
        let permit =
            decide(call, &facts).map_err(|denied| RefusedCall::of(&tool, denied_error(&denied)))?;
        Ok(PreparedCall { tool, permit, note })
    }

    /// Refuses a tool outside of the scope.
    pub(super) fn check_scope(&self, tool: &Tool) -> Result<(), CallError> {
        let allowed = self.scope.allows(tool.id());
        allowed.map_err(|denied| denied_error(&denied))
    }

    /// Looks the name up, and once more in a fresh list when the cached one does not have it. Names that an error
    /// suggests are within the scope.
    pub(super) async fn resolve(&self, target: &ToolTarget) -> Result<Resolved, RefusedCall> {
        let live_catalog = &self.context.live_catalog;
        let error = match live_catalog.snapshot().resolve(target) {
            Ok(resolved) => return Ok(resolved),
            Err(error) => error,
        };
        match error.server_to_ask() {
            Some(server) => self.list_for(server, target).await?,
            // A full name without a server part that fits: any server might have it.
            None if target.server.is_none() => {
                live_catalog.discover(FIRST_LIST_TIMEOUT).await;
            }
            None => return Err(self.within_scope(error)),
        }
        let resolved = live_catalog.snapshot().resolve(target);
        resolved.map_err(|error| self.within_scope(error))
    }

    fn within_scope(&self, error: ResolveError) -> RefusedCall {
        error.suggesting(|tool| self.scope.covers(tool)).into()
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
        let error = match resolved.tool.accept(arguments, self.language) {
            Ok(arguments) => return Ok((resolved, arguments)),
            Err(error) => error,
        };
        let server = &resolved.tool.id().server;
        if self.context.live_catalog.refresh(server).await.is_err() {
            return Err(RefusedCall::of(&resolved.tool, error));
        }
        let fresh = self.context.live_catalog.snapshot().resolve(target);
        let fresh = fresh.map_err(|error| self.within_scope(error))?;
        // In the fresh list the name may mean another tool, whose schema the error would show.
        self.check_scope(&fresh.tool)
            .map_err(|error| RefusedCall::of(&fresh.tool, error))?;
        match fresh.tool.accept(arguments, self.language) {
            Ok(arguments) => Ok((fresh, arguments)),
            Err(error) => Err(RefusedCall::of(&fresh.tool, error)),
        }
    }
}

/// The error of a denied call, as the program reads it.
pub(super) fn denied_error(denied: &Denied) -> CallError {
    let Denied::OutOfScope { tool } = denied;
    CallError::new(CallCode::Denied, denied.to_string())
        .with_target(tool.server.as_str(), &*tool.tool)
        .with_hint("add the tool to the `tools` patterns of this execution, or leave them out")
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
