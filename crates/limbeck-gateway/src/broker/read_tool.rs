//! Methods that read, in the form of tools: what questions about reads, and changes of their params, are checked against.

use std::sync::Arc;

use limbeck_catalog::Tool;
use limbeck_domain::{Approval, ReadMethod, ServerName, ToolAnnotations, ToolDefinition, ToolId};
use serde_json::{Value, json};

use crate::sha256::sha256_hex;

/// The method as a tool of `server`, which has no description: the protocol defines it, and not the server.
pub(crate) fn tool_of(server: &ServerName, method: ReadMethod) -> Arc<Tool> {
    Arc::new(Tool::new(ToolDefinition {
        id: ToolId::new(server.clone(), method.as_str()),
        title: None,
        description: None,
        input_schema: schema_of(method),
        output_schema: None,
        annotations: ToolAnnotations::default(),
    }))
}

/// What a question about a read is pinned to. It is the pin of no tool: an approval of a read does not count for a tool that a
/// server gives the name of the method.
pub(crate) fn pin_of(method: ReadMethod) -> String {
    sha256_hex(format!("method {method}").as_bytes())
}

/// The method, or the question to a model, that a question is about; `None` for a question about a tool.
pub(crate) fn asked_about(approval: &Approval) -> Option<Arc<Tool>> {
    if let Some(model) = super::model_tool::asked_about(approval) {
        return Some(model);
    }
    let method: ReadMethod = serde_json::from_value(json!(approval.tool.tool)).ok()?;
    let is_read = approval.pin.as_deref() == Some(pin_of(method).as_str());
    is_read.then(|| tool_of(&approval.tool.server, method))
}

fn schema_of(method: ReadMethod) -> Value {
    let (properties, required) = match method {
        ReadMethod::ListResources | ReadMethod::ListResourceTemplates | ReadMethod::ListPrompts => {
            (json!({"cursor": {"type": "string"}}), json!([]))
        }
        ReadMethod::ReadResource => (json!({"uri": {"type": "string"}}), json!(["uri"])),
        ReadMethod::GetPrompt => (
            json!({"name": {"type": "string"}, "arguments": {"type": "object"}}),
            json!(["name"]),
        ),
        ReadMethod::Complete => (
            json!({"ref": {"type": "object"}, "argument": {"type": "object"}, "context": {"type": "object"}}),
            json!(["ref", "argument"]),
        ),
    };
    json!({"type": "object", "properties": properties, "required": required})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pins;

    #[test]
    fn no_tool_has_the_pin_of_a_method() {
        let method = ReadMethod::ReadResource;
        let same = tool_of(&"library".into(), method);
        assert_ne!(pins::digest(same.definition()), pin_of(method));
        assert_ne!(pin_of(ReadMethod::GetPrompt), pin_of(method));
    }
}
