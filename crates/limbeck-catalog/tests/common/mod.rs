//! Real tool lists, captured from the servers they are named after.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file uses a part of what is shared"
)]

use std::sync::Arc;

use limbeck_catalog::{Catalog, ServerTools, Tool};
use limbeck_domain::{ServerName, ToolAnnotations, ToolDefinition, ToolId};
use serde_json::{Value, json};

const LISTS: [(&str, &str); 7] = [
    ("everything", include_str!("../fixtures/everything.json")),
    ("filesystem", include_str!("../fixtures/filesystem.json")),
    ("git", include_str!("../fixtures/py-git.json")),
    ("github", include_str!("../fixtures/github.json")),
    ("gitlab", include_str!("../fixtures/gitlab.json")),
    ("memory", include_str!("../fixtures/memory.json")),
    ("slack", include_str!("../fixtures/slack-legacy.json")),
];

/// All captured servers.
pub fn catalog() -> Catalog {
    Catalog::new(
        LISTS
            .iter()
            .map(|(name, list)| server(name, list))
            .collect(),
    )
}

pub fn server(name: &str, list: &str) -> ServerTools {
    let list: Value = serde_json::from_str(list).expect("a fixture is JSON");
    let tools = list["tools"].as_array().expect("a fixture lists tools");
    let definitions = tools.iter().map(|tool| definition(name, tool)).collect();
    let instructions = list["instructions"].as_str().map(str::to_owned);
    ServerTools::new(ServerName::from(name), definitions, instructions)
}

fn definition(server: &str, tool: &Value) -> ToolDefinition {
    let text = |key: &str| tool[key].as_str().map(str::to_owned);
    ToolDefinition {
        id: ToolId::new(server, tool["name"].as_str().expect("a tool has a name")),
        title: text("title"),
        description: text("description"),
        input_schema: tool["inputSchema"].clone(),
        output_schema: tool.get("outputSchema").cloned(),
        annotations: ToolAnnotations {
            read_only: tool["annotations"]["readOnlyHint"].as_bool(),
            destructive: tool["annotations"]["destructiveHint"].as_bool(),
            idempotent: tool["annotations"]["idempotentHint"].as_bool(),
        },
    }
}

/// A server whose tools have these names and nothing else.
pub fn named(server: &str, tools: &[&str]) -> ServerTools {
    let definitions = tools
        .iter()
        .map(|tool| {
            definition(
                server,
                &json!({"name": tool, "inputSchema": {"type": "object"}}),
            )
        })
        .collect();
    ServerTools::new(ServerName::from(server), definitions, None)
}

/// A tool `s.t` with this input schema.
pub fn tool(input_schema: Value) -> Arc<Tool> {
    let definition = definition("s", &json!({"name": "t", "inputSchema": input_schema}));
    Arc::new(Tool::new(definition))
}

/// A tool `s.t` with these schemas.
pub fn tool_with_output(input_schema: Value, output_schema: Value) -> Arc<Tool> {
    let tool = json!({"name": "t", "inputSchema": input_schema, "outputSchema": output_schema});
    Arc::new(Tool::new(definition("s", &tool)))
}
