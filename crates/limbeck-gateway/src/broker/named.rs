//! Says which tool of a program works, to who hears of the program.

use std::sync::Arc;

use futures::future::BoxFuture;
use limbeck_domain::ToolId;
use limbeck_upstream::{Answers, Ask, Caller, Declined, Progress};
use serde_json::value::RawValue;

/// Puts the tool's name before whatever its server reports.
pub(super) struct Named {
    caller: Arc<dyn Caller>,
    tool: ToolId,
}

impl Named {
    /// Tells that the call begins, and gives who hears the rest of it.
    pub(super) fn begin(caller: Arc<dyn Caller>, tool: &ToolId) -> Arc<dyn Caller> {
        caller.progress(Progress {
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

impl Caller for Named {
    fn progress(&self, progress: Progress) {
        let name = name(&self.tool);
        let message = match &progress.message {
            Some(message) => format!("{name}: {message}"),
            None => name,
        };
        self.caller.progress(Progress {
            message: Some(message),
            ..progress
        });
    }

    fn answers(&self) -> Answers {
        self.caller.answers()
    }

    fn ask(&self, ask: Ask) -> BoxFuture<'_, Result<Box<RawValue>, Declined>> {
        self.caller.ask(ask)
    }

    fn log_level(&self) -> Option<&'static str> {
        self.caller.log_level()
    }

    fn log(&self, params: &RawValue) {
        self.caller.log(params);
    }
}
