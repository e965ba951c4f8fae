//! What we declare to a client, which follows from what the servers' entries allow it to see.

use rmcp::ErrorData;
use rmcp::model::{ConstString, ServerCapabilities};

use super::Surface;

impl Surface {
    /// Whether any server's entry allows that its tools are listed as they are.
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
        if !self.may_expose() {
            // Two tools that never change, artifacts, and lists of everything else that are empty.
            return ServerCapabilities::builder()
                .enable_tools()
                .enable_prompts()
                .enable_resources()
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
            .build()
    }
}
