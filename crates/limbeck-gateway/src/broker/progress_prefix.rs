//! Prefix of the progress messages of one tool call: the name of the tool.

use std::sync::Arc;

use futures::future::BoxFuture;
use limbeck_domain::ToolId;
use limbeck_upstream::{
    CallObserver, ClientCapabilities, DeclinedError, ProgressUpdate, ServerRequest,
};
use serde_json::value::RawValue;

/// Observer of one call of a program that puts the tool's name in front of each progress message.
pub(super) struct ProgressPrefix {
    caller: Arc<dyn CallObserver>,
    tool: ToolId,
}

impl ProgressPrefix {
    /// Reports that the call begins, and returns the observer of the call.
    pub(super) fn begin(caller: Arc<dyn CallObserver>, tool: &ToolId) -> Arc<dyn CallObserver> {
        caller.progress(ProgressUpdate {
            progress: 0.0,
            total: None,
            message: Some(name(tool)),
        });
        let tool = tool.clone();
        Arc::new(Self { caller, tool })
    }
}

fn name(tool: &ToolId) -> String {
    format!("{}.{}", tool.server, tool.tool)
}

impl CallObserver for ProgressPrefix {
    fn progress(&self, progress: ProgressUpdate) {
        let name = name(&self.tool);
        let message = match &progress.message {
            Some(message) => format!("{name}: {message}"),
            None => name,
        };
        self.caller.progress(ProgressUpdate {
            message: Some(message),
            ..progress
        });
    }

    fn capabilities(&self) -> ClientCapabilities {
        self.caller.capabilities()
    }

    fn request(&self, ask: ServerRequest) -> BoxFuture<'_, Result<Box<RawValue>, DeclinedError>> {
        self.caller.request(ask)
    }

    fn log_level(&self) -> Option<&'static str> {
        self.caller.log_level()
    }

    fn log(&self, params: &RawValue) {
        self.caller.log(params);
    }
}
