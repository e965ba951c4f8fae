//! Server capabilities declared to a client, by whether any upstream server may be exposed to it.

use rmcp::ErrorData;
use rmcp::model::{ConstString, ServerCapabilities};

use super::client_surface::Surface;

impl Surface {
    /// Whether the entry of any server allows that clients see its tools.
    pub(super) fn may_expose(&self) -> bool {
        !self.gateway.exposable().is_empty()
    }

    pub(super) fn offered<M: ConstString>(&self) -> Result<(), ErrorData> {
        if self.may_expose() {
            Ok(())
        } else {
            Err(ErrorData::method_not_found::<M>())
        }
    }

    pub(super) fn capabilities(&self) -> ServerCapabilities {
        let mut capabilities = self.lists_and_tasks();
        if !self.gateway.can_pause() {
            // No call waits for a person, so none becomes a task.
            capabilities.extensions = None;
        }
        capabilities
    }

    fn lists_and_tasks(&self) -> ServerCapabilities {
        if !self.may_expose() {
            // Tools of the gateway, artifacts as resources, and empty lists of the rest. A changed configuration may add to them.
            return ServerCapabilities::builder()
                .enable_tools()
                .enable_tool_list_changed()
                .enable_prompts()
                .enable_prompts_list_changed()
                .enable_resources()
                .enable_resources_list_changed()
                .enable_tasks()
                .build();
        }
        ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_logging()
            .enable_completions()
            .enable_tasks()
            .build()
    }
}
