//! The tools we list. What the model reads of them is counted: see the budget test below.

use limbeck_domain::limits::OUTPUT_TOKENS_DEFAULT;
use rmcp::model::{JsonObject, MetaObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// Characters of the largest result: a whole answer and little more.
const RESULT_CHARS_MAX: usize = 300_000;

pub(super) const SEARCH: &str = "search";
pub(super) const EXECUTE: &str = "execute";

const SEARCH_DESCRIPTION: &str = "Find tools of the connected MCP servers. Gives for each query the exact callable expression with its input and output types, \
enough to write the program for `execute`.";

const EXECUTE_DESCRIPTION: &str = "Run a TypeScript or Python program that calls tools of the connected MCP servers; only what it returns and prints comes back.
`await tools.server.tool({...})` calls a tool and gives its value; failures throw ToolError {code, message, hint}. Use Promise.all for parallel calls, loops for pages. \
Also there: search(query), describe(server, tool), servers(), servers.x.resources.read(uri), servers.x.prompts.get(name, args), input, console, store.get/set, artifacts.open(id), emit(block), timers, URL, crypto. No network, files or modules.
Top-level await and return. Python: `await tools.server.tool(a=1)`, asyncio.gather, whole standard library. Example:
const issues = await tools.github.list_issues({ owner: \"o\", repo: \"r\" });
return issues.filter(i => i.comments > 5).map(i => i.title);";

/// All tools, in the order they are listed.
pub(super) fn all() -> Vec<Tool> {
    let search = tool(
        SEARCH,
        SEARCH_DESCRIPTION,
        json!({
            "type": "object",
            "properties": {
                "queries": {"type": "array", "items": {"type": "string"}, "description": "what the tools should do, one intent each"},
                "server": {"type": "string", "description": "only this server"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 5, "description": "per query"},
                "detail": {"enum": ["brief", "signature", "full"], "default": "signature"},
                "cursor": {"type": "string"},
                "language": language()
            },
            "required": ["queries"]
        }),
    );
    let execute = tool(
        EXECUTE,
        EXECUTE_DESCRIPTION,
        json!({
            "type": "object",
            "properties": {
                "code": {"type": "string", "description": "the program"},
                "language": language(),
                "input": {"description": "any JSON, `input` in the program"},
                "timeout_ms": {"type": "integer", "minimum": 1, "maximum": 300_000, "default": 60_000},
                "max_output_tokens": {"type": "integer", "default": OUTPUT_TOKENS_DEFAULT},
                "tools": {"type": "array", "items": {"type": "string"}, "description": "allow only these, e.g. `github.list_*`; default all"}
            },
            "required": ["code"]
        }),
    );
    vec![
        search.with_annotations(ToolAnnotations::new().read_only(true)),
        execute.with_annotations(ToolAnnotations::new().read_only(false)),
    ]
}

fn language() -> Value {
    json!({"enum": ["typescript", "python"], "default": "typescript"})
}

fn tool(name: &'static str, description: &'static str, schema: Value) -> Tool {
    let schema = match schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    let mut tool = Tool::new(name, description, schema);
    // Clients that hide tools behind a search of their own keep ours in view.
    let mut meta = JsonObject::new();
    meta.insert("anthropic/alwaysLoad".to_owned(), true.into());
    // Else Claude Code replaces what is above some 50,000 characters by its beginning; the budget is ours.
    meta.insert(
        "anthropic/maxResultSizeChars".to_owned(),
        RESULT_CHARS_MAX.into(),
    );
    tool.meta = Some(MetaObject(meta));
    tool
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_stays_within_its_token_budget() {
        let json = serde_json::to_string(&json!({"tools": all()})).unwrap();
        let tokens = crate::tokens::count(&json);
        assert!(
            tokens <= 650,
            "tools/list has {tokens} tokens, 650 are allowed"
        );
    }
}
