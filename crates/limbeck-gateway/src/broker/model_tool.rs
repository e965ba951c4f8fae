//! Questions to models in the form of tools: what questions to people about them, and changes of them, are checked against.

use std::sync::Arc;

use limbeck_catalog::Tool;
use limbeck_domain::{Approval, ToolAnnotations, ToolDefinition};
use limbeck_policy::{MODEL_SERVER, ModelAction};
use serde_json::{Value, json};

use crate::sha256::sha256_hex;

/// The action as a tool, which no server has.
pub(crate) fn tool_of(action: ModelAction) -> Arc<Tool> {
    Arc::new(Tool::new(ToolDefinition {
        id: action.tool(),
        title: None,
        description: None,
        input_schema: schema_of(action),
        output_schema: None,
        annotations: ToolAnnotations::default(),
    }))
}

/// What a question about it is pinned to. It is the pin of no tool: an approval does not count for a tool `ask` of a server that
/// is called `llm`.
pub(crate) fn pin_of(action: ModelAction) -> String {
    sha256_hex(format!("model {}", action.as_str()).as_bytes())
}

/// The action that a question to a person is about, as a tool; `None` for a question about anything else.
pub(crate) fn asked_about(approval: &Approval) -> Option<Arc<Tool>> {
    if approval.tool.server.as_str() != MODEL_SERVER {
        return None;
    }
    let action = ModelAction::named(&approval.tool.tool)?;
    let is_model = approval.pin.as_deref() == Some(pin_of(action).as_str());
    is_model.then(|| tool_of(action))
}

/// Whether a question to a person is about a question to a model.
pub(crate) fn is_asked_about(approval: &Approval) -> bool {
    asked_about(approval).is_some()
}

fn schema_of(action: ModelAction) -> Value {
    let (name, question) = match action {
        ModelAction::Ask => ("prompt", json!({"type": "string"})),
        ModelAction::Think => ("messages", json!({"type": "array"})),
    };
    let mut properties = json!({
        "systemPrompt": {"type": "string"}, "maxTokens": {"type": "integer", "minimum": 1},
        "model": {"type": "string"}, "schema": {},
    });
    properties[name] = question;
    json!({"type": "object", "properties": properties, "required": [name]})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pins;

    #[test]
    fn no_tool_has_the_pin_of_a_question_to_a_model() {
        let same = tool_of(ModelAction::Ask);
        assert_ne!(pins::digest(same.definition()), pin_of(ModelAction::Ask));
        assert_ne!(pin_of(ModelAction::Think), pin_of(ModelAction::Ask));
    }
}
