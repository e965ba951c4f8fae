//! What warnings say of a call beside its outcome: whether its tool seems to read, and whether a result that the program got as
//! its server sent it says that the call failed.

use limbeck_catalog::Resolved;
use limbeck_domain::{CallCode, CallError, CallForm, ToolId, ToolTarget};
use serde_json::value::RawValue;

use super::Broker;
use super::result_value::value_for_program;

/// Names under which a program looks whether a result is of a failed call.
const FAILURE_NAMES: [&str; 2] = ["isError", "is_error"];

impl Broker {
    /// Whether the tool of a call with this head seems to read, so that no warning speaks of a write. Nothing else depends on it.
    pub(crate) fn seems_to_read(&self, head: &str) -> bool {
        let target = serde_json::from_str::<ToolTarget>(head).ok();
        let resolved = target.and_then(|target| self.found(&target));
        resolved.is_some_and(|resolved| resolved.tool.seems_to_read())
    }

    /// The failure that a result says which the program got as its server sent it, where the program never asks for one.
    pub(crate) fn unread_failure(&self, head: &str, result: &str) -> Option<CallError> {
        let asks = FAILURE_NAMES
            .iter()
            .any(|name| self.program.text.contains(name));
        if asks || !result.contains("isError") {
            return None;
        }
        let target = serde_json::from_str::<ToolTarget>(head).ok()?;
        if target.form != CallForm::Raw {
            return None;
        }
        let tool = self.found(&target)?.tool;
        let result: &RawValue = serde_json::from_str(result).ok()?;
        let error = value_for_program(result, tool.definition()).err()?;
        (error.code == CallCode::ToolFailed).then_some(error)
    }

    /// Looks at a result that a continued program gets once more, as far as a read of it is open.
    pub(crate) fn see_again(&self, head: &str, tool: &ToolId, result: &str) {
        let target = serde_json::from_str::<ToolTarget>(head);
        if target.is_ok_and(|target| target.form != CallForm::Raw) {
            self.questions.see(tool, result);
        }
    }

    fn found(&self, target: &ToolTarget) -> Option<Resolved> {
        let catalog = self.context.live_catalog.snapshot();
        let exact = catalog.resolve_by_index(target);
        exact.or_else(|| catalog.resolve(target).ok())
    }
}
