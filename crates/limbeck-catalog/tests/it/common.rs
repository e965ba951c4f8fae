//! Catalogs and tools that several test files use.

use std::sync::Arc;

use limbeck_captures::{definition, samples};
use limbeck_catalog::{Catalog, ServerTools, Tool};
use limbeck_domain::ServerName;
use serde_json::{Value, json};

/// All sample servers.
pub(crate) fn catalog() -> Catalog {
    let servers = samples().into_iter().map(|sample| {
        let definitions = sample.definitions();
        ServerTools::new(sample.name(), definitions, sample.instructions)
    });
    Catalog::new(servers.collect())
}

/// A server with the tools of `list`, the JSON text of a `tools/list` answer.
pub(crate) fn server(name: &str, list: &str) -> ServerTools {
    let list: Value = serde_json::from_str(list).expect("the list is JSON");
    let tools = list["tools"].as_array().expect("the list has tools");
    let definitions = tools.iter().map(|tool| definition(name, tool)).collect();
    let instructions = list["instructions"].as_str().map(str::to_owned);
    ServerTools::new(ServerName::from(name), definitions, instructions)
}

/// A server whose tools have these names and nothing else.
pub(crate) fn named(server: &str, tools: &[&str]) -> ServerTools {
    let schema = json!({"type": "object"});
    let definitions = tools
        .iter()
        .map(|tool| definition(server, &json!({"name": tool, "inputSchema": schema})));
    ServerTools::new(ServerName::from(server), definitions.collect(), None)
}

/// A tool `s.t` with this input schema.
pub(crate) fn tool(input_schema: Value) -> Arc<Tool> {
    let tool = json!({"name": "t", "inputSchema": input_schema});
    Arc::new(Tool::new(definition("s", &tool)))
}

/// A tool `s.t` with these schemas.
pub(crate) fn tool_with_output(input_schema: Value, output_schema: Value) -> Arc<Tool> {
    let tool = json!({"name": "t", "inputSchema": input_schema, "outputSchema": output_schema});
    Arc::new(Tool::new(definition("s", &tool)))
}
