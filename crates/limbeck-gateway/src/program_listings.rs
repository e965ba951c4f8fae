//! Servers and tools as programs see them: the answers of `describe`, and what `tools` lists without asking.

use limbeck_catalog::{Catalog, Detail, Tool};
use limbeck_domain::{Language, ServerName};
use limbeck_policy::{PolicyNote, Scope};
use serde_json::{Value, json};

use crate::policy_notes::signature;

/// Members that JavaScript reads of every object. The guest treats such a name as a tool only when it is listed
/// here; `ASKED_OF_OBJECTS` in the guest's `tools.js` must be equal.
const ASKED_OF_OBJECTS: [&str; 4] = ["toJSON", "toString", "valueOf", "constructor"];

/// Bytes of the names of tools that a program's start lists. Of further servers it has the number of tools alone.
const NAMES_BYTES_MAX: usize = 32 << 10;

/// Servers and tools within `scope` that `tools` lists without a host call; part of the program's start. `state` gives
/// the state of a server, `cut` how its list was cut.
pub(crate) fn server_names_json(
    catalog: &Catalog,
    scope: &Scope,
    state: impl Fn(&ServerName) -> &'static str,
    cut: impl Fn(&ServerName) -> Option<String>,
) -> Value {
    let mut bytes_left = NAMES_BYTES_MAX;
    let reached = catalog
        .servers()
        .filter(|server| scope.reaches(server.name().as_str()));
    let listed = reached.map(|server| {
        let tools = server.tools().iter();
        let covered = tools.filter(|tool| scope.covers(tool.id()));
        let names: Vec<&str> = covered.map(|tool| &*tool.id().tool).collect();
        let bytes = names.iter().map(|name| name.len() + 3).sum::<usize>();
        let mut entry = json!({"name": server.name(), "state": state(server.name())});
        match bytes_left.checked_sub(bytes) {
            Some(left) => {
                bytes_left = left;
                entry["tools"] = json!(names);
            }
            None => entry["tools"] = json!(names.len()),
        }
        // A narrower scope must not show how many tools there are.
        let cut = cut(server.name()).filter(|_| names.len() == server.tools().len());
        if let Some(cut) = cut {
            entry["incomplete"] = cut.into();
        }
        let namesakes: Vec<&str> = names
            .into_iter()
            .filter(|name| ASKED_OF_OBJECTS.contains(name))
            .collect();
        if !namesakes.is_empty() {
            entry["namesakes"] = json!(namesakes);
        }
        entry
    });
    listed.collect()
}

/// Answer of `describe(server, tool)` in a program, with the keys of every earlier format.
pub(crate) fn tool_json(tool: &Tool, language: Language, note: Option<&PolicyNote>) -> Value {
    let mut entry = hit_json(tool, language, note);
    entry["declaration"] = tool.declaration(Detail::Full, language).into();
    entry["parameters"] = tool.definition().input_schema.clone();
    entry
}

/// A tool that `search(query)` finds in a program. Programs print hits for a model to read, so the schema is in it once and
/// not as a declaration as well, which `describe` has.
pub(crate) fn hit_json(tool: &Tool, language: Language, note: Option<&PolicyNote>) -> Value {
    let definition = tool.definition();
    let id = tool.id();
    let mut entry = json!({
        "name": format!("mcp__{}__{}", id.server, id.tool),
        "server": id.server,
        "tool": id.tool,
        "call": tool.call_expression(),
        "signature": signature(tool, language, note),
        "effect": tool.effect(),
        "description": definition.description.as_deref().unwrap_or_default(),
        "inputSchema": definition.input_schema,
    });
    if let (Some(schema), Value::Object(entry)) = (&definition.output_schema, &mut entry) {
        entry.insert("outputSchema".to_owned(), schema.clone());
    }
    entry
}

/// Answer of `describe(server)` in a program: the tools that its scope covers, with whole definitions when
/// `full`. `cut` says how the server's list was cut, `note` what the policy says about calls of a tool.
pub(crate) fn server_json(
    catalog: &Catalog,
    server: &ServerName,
    scope: &Scope,
    language: Language,
    full: bool,
    cut: Option<String>,
    note: impl Fn(&Tool) -> Option<PolicyNote>,
) -> Value {
    let all = catalog.tools_of(server);
    let tools: Vec<Value> = all
        .iter()
        .filter(|tool| scope.covers(tool.id()))
        .map(|tool| {
            let note = note(tool);
            if full {
                return tool_json(tool, language, note.as_ref());
            }
            json!({
                "tool": tool.id().tool,
                "call": tool.call_expression(),
                "signature": signature(tool, language, note.as_ref()),
                "description": tool.summary(),
                "effect": tool.effect(),
            })
        })
        .collect();
    // Without a description the line names the server's tools, which a narrower scope must not show.
    let line = catalog.server(server).filter(|_| tools.len() == all.len());
    let line = line.map(|server| server.line());
    let cut = cut.filter(|_| tools.len() == all.len());
    let mut entry =
        json!({"server": server, "description": line.unwrap_or_default(), "tools": tools});
    if let Some(cut) = cut {
        entry["incomplete"] = cut.into();
    }
    entry
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{ToolDefinition, ToolId};

    use super::*;

    #[test]
    fn a_hit_has_its_schema_once_and_a_description_under_the_names_of_earlier_formats() {
        let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
        let tool = Tool::new(ToolDefinition {
            id: ToolId::new("files", "read"),
            title: None,
            description: Some("Reads.".to_owned()),
            input_schema: schema.clone(),
            output_schema: None,
            annotations: Default::default(),
        });
        let hit = hit_json(&tool, Language::Typescript, None);
        assert_eq!(hit["inputSchema"], schema);
        assert_eq!(
            (hit.get("parameters"), hit.get("declaration")),
            (None, None)
        );
        let described = tool_json(&tool, Language::Typescript, None);
        assert_eq!(
            (&described["inputSchema"], &described["parameters"]),
            (&schema, &schema)
        );
        let declaration = described["declaration"].as_str().unwrap();
        assert!(declaration.contains("path?: string"), "{declaration}");
    }
}
