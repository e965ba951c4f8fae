//! Tools that a client lists: `search` and `execute`, or those of earlier systems in their place, `resume` where executions can
//! pause, and those of exposed servers under their client names.

use std::sync::{Arc, Mutex, PoisonError};

use limbeck_domain::{ToolDefinition, ToolId, text};
use limbeck_gateway::exposure::{Exposed, definition_json};
use limbeck_gateway::{TimeLimits, ledger};
use rmcp::model::Tool;
use serde_json::{Map, Value, json};

use super::built_in_tools::BuiltInTool;
use super::client_names::client_names;

use super::compat::options::{CompatOptions, listed};
use super::instructions::instructions;

/// Names that no tool of a server is listed by.
const RESERVED: [&str; 3] = [
    BuiltInTool::Search.name(),
    BuiltInTool::Execute.name(),
    BuiltInTool::Resume.name(),
];
/// Bytes of one text in the members of a definition that the gateway does not use.
const EXTRA_TEXT_BYTES_MAX: usize = 4 << 10;

/// A tool of an exposed server.
#[derive(Debug)]
pub(super) struct ExposedTool {
    /// Server and name at that server.
    pub(super) id: ToolId,
    /// Its definition under its client name.
    pub(super) tool: Tool,
}

/// All tools of exposed servers, by server and in the server's order.
#[derive(Debug, Default)]
pub(super) struct ExposedTools(Vec<ExposedTool>);

impl ExposedTools {
    pub(super) fn of(exposed: &Exposed, options: &CompatOptions) -> Self {
        let ids: Vec<ToolId> = exposed
            .servers
            .iter()
            .flat_map(|server| server.tools.tools().iter().map(|tool| tool.id().clone()))
            .collect();
        let compat = listed(options);
        let compat = compat.iter().map(|tool| &*tool.name);
        let reserved: Vec<&str> = RESERVED.into_iter().chain(compat).collect();
        let mut names = client_names(&ids, &exposed.configured, &reserved).into_iter();
        let mut listed = Vec::new();
        for server in &exposed.servers {
            for tool in server.tools.tools() {
                let name = names.next().unwrap_or_default();
                let extra = server.extras.get(&*tool.id().tool);
                listed.push(ExposedTool {
                    id: tool.id().clone(),
                    tool: definition(tool.definition(), &name, extra),
                });
            }
        }
        Self(listed)
    }

    /// The tool listed as `name`.
    pub(super) fn get(&self, name: &str) -> Option<&ExposedTool> {
        self.0.iter().find(|listed| listed.tool.name == name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ExposedTool> {
        self.0.iter()
    }

    /// Every tool a client lists: those of the gateway or of earlier systems, then these.
    pub(super) fn with_built_in(
        &self,
        time: TimeLimits,
        can_pause: bool,
        options: &CompatOptions,
    ) -> Vec<Tool> {
        let exposed = self.iter().map(|listed| listed.tool.clone());
        let built_in = BuiltInTool::ALL.into_iter();
        let built_in = built_in.filter(|tool| match tool {
            // A paused execution goes on through it, with the tools of any system.
            BuiltInTool::Resume => can_pause,
            BuiltInTool::Search | BuiltInTool::Execute => {
                options.lists_own() && tool.is_listed(can_pause)
            }
        });
        let built_in = built_in.map(|tool| tool.definition(time));
        let compat = listed(options).into_iter();
        compat.chain(built_in).chain(exposed).collect()
    }
}

/// The exposed tools made last: clients list and call them far more often than servers change them.
#[derive(Debug, Default)]
pub(super) struct ExposedToolsCache(Mutex<Option<(Arc<Exposed>, Arc<ExposedTools>)>>);

impl ExposedToolsCache {
    /// `options` are those of the server, which every caller shares.
    pub(super) fn get(&self, exposed: Arc<Exposed>, options: &CompatOptions) -> Arc<ExposedTools> {
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*latest {
            Some((of, tools)) if Arc::ptr_eq(of, &exposed) => Arc::clone(tools),
            _ => {
                let tools = Arc::new(ExposedTools::of(&exposed, options));
                *latest = Some((exposed, Arc::clone(&tools)));
                tools
            }
        }
    }
}

/// What a model reads of the tools and instructions when a client connects, for the ledger: as a client without a surface of an
/// earlier system lists it.
pub fn client_listing(exposed: &Exposed, time: TimeLimits, can_pause: bool) -> Value {
    let own = CompatOptions::default();
    let tools = ExposedTools::of(exposed, &own).with_built_in(time, can_pause, &own);
    let tools: Vec<Value> = tools
        .iter()
        .map(|tool| {
            let schema = Value::Object((*tool.input_schema).clone());
            ledger::shown(&tool.name, tool.description.as_deref(), &schema)
        })
        .collect();
    let instructions = instructions(exposed.searched.catalog(), &own);
    json!({"tools": tools, "instructions": instructions})
}

/// Definition as a type of the SDK. Members that do not have the SDK's form are left out.
fn definition(definition: &ToolDefinition, name: &str, extra: Option<&Map<String, Value>>) -> Tool {
    let plain = definition_json(definition, name);
    let whole = extra.and_then(|extra| {
        let mut whole = plain.clone();
        for (key, value) in extra {
            whole[key] = cleaned(value);
        }
        serde_json::from_value(whole).ok()
    });
    whole
        .or_else(|| serde_json::from_value(plain).ok())
        .unwrap_or_else(|| Tool::new(name.to_owned(), "", Map::new()))
}

/// `value` without control and invisible characters in its texts.
fn cleaned(value: &Value) -> Value {
    match value {
        Value::String(text) => text::clean(text, EXTRA_TEXT_BYTES_MAX).into(),
        Value::Array(items) => items.iter().map(cleaned).collect(),
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(key, value)| (key.clone(), cleaned(value)))
                .collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use limbeck_catalog::ServerTools;

    use super::*;

    fn server(tools: usize, description: &str) -> ServerTools {
        let tool = |n| ToolDefinition {
            id: ToolId::new("s", format!("t{n}")),
            title: None,
            description: Some(description.to_owned()),
            input_schema: json!({"type": "object"}),
            output_schema: None,
            annotations: Default::default(),
        };
        ServerTools::new("s".into(), (0..tools).map(tool).collect(), None)
    }

    #[test]
    fn a_definition_keeps_what_we_do_not_use_and_loses_only_what_cannot_be_sent() {
        let server = server(1, "d");
        let of = |extra: Value| {
            let extra = extra.as_object().cloned();
            let tool = definition(server.tools()[0].definition(), "t", extra.as_ref());
            serde_json::to_value(tool).unwrap()
        };
        let whole = of(json!({
            "annotations": {"title": "T\u{202e}", "openWorldHint": true},
            "_meta": {"a/b": [1]},
            "icons": [{"src": "https://x.invalid/i.png"}]
        }));
        assert_eq!(whole["annotations"]["title"], "T");
        assert_eq!(whole["annotations"]["openWorldHint"], true);
        assert_eq!(whole["_meta"]["a/b"][0], 1);
        assert_eq!(whole["icons"][0]["src"], "https://x.invalid/i.png");
        let odd = of(json!({"annotations": {"openWorldHint": "perhaps"}}));
        assert_eq!(odd["name"], "t");
        assert_eq!(odd["inputSchema"]["type"], "object");
    }
}
