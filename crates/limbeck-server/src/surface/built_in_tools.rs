//! Definitions of `search`, `execute` and `resume`, within a token budget that a test below checks.

use limbeck_domain::limits::OUTPUT_TOKENS_DEFAULT;
use limbeck_gateway::{Render, TimeLimits};
use rmcp::model::{JsonObject, MetaObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::resume_arguments::ResumeAction;

/// Characters of the largest result: a whole answer with a small margin.
const RESULT_CHARS_MAX: usize = 300_000;

const SEARCH_DESCRIPTION: &str = "Find tools of the connected MCP servers. Returns for each query the exact calls with their input and output types, \
enough to write the program for `execute`.";

const EXECUTE_DESCRIPTION: &str = "Run a TypeScript or Python program that calls tools of the connected MCP servers; only what it returns and prints comes back.
`await tools.server.tool({...})` calls a tool and returns its value (a text without a declared type is a string, not parsed); failures throw ToolError {code, message, hint}. Use Promise.all for parallel calls, loops for pages. \
Also available: search(query), describe(server, tool), servers(), servers.x.resources.read(uri), servers.x.prompts.get(name, args), input, console, store.get/set, artifacts.open(id), emit(block), timers, URL, crypto. No network, files or modules.
Top-level await and return. Python: `await tools.server.tool(a=1)`, asyncio.gather, standard library. Example:
const issues = await tools.github.list_issues({ owner: \"o\", repo: \"r\" });
return issues.filter(i => i.comments > 5).map(i => i.title);";

// The list has 650 tokens for all tools: what `resume` takes besides its id is in the errors of wrong arguments.
const RESUME_DESCRIPTION: &str = "Wait until a person decides about a paused execution.";

/// Tool of the gateway itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuiltInTool {
    Search,
    Execute,
    Resume,
}

impl BuiltInTool {
    /// All tools, in the order they are listed.
    pub(super) const ALL: [Self; 3] = [Self::Search, Self::Execute, Self::Resume];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Execute => "execute",
            Self::Resume => "resume",
        }
    }

    /// Whether clients list the tool, of a gateway whose executions can pause or not. Each is callable, listed or not.
    pub(super) fn is_listed(self, can_pause: bool) -> bool {
        match self {
            Self::Search | Self::Execute => true,
            Self::Resume => can_pause,
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Definition of the tool in `tools/list` of a gateway with these time limits.
    pub(super) fn definition(self, time: TimeLimits) -> Tool {
        let (description, schema) = match self {
            Self::Search => (SEARCH_DESCRIPTION, search_schema()),
            Self::Execute => (EXECUTE_DESCRIPTION, execute_schema(time)),
            // Without annotations, whose defaults are the careful ones.
            Self::Resume => return tool(self.name(), RESUME_DESCRIPTION, resume_schema()),
        };
        let annotations = ToolAnnotations::new().read_only(self == Self::Search);
        let mut tool = tool(self.name(), description, schema).with_annotations(annotations);
        tool.meta = Some(always_loaded());
        tool
    }
}

fn search_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "queries": {"type": "array", "items": {"type": "string"}, "description": "what a tool should do, one intent each"},
            "server": {"type": "string", "description": "only this server"},
            "limit": {"type": "integer", "maximum": 50, "default": 5, "description": "per query"},
            "detail": {"enum": ["brief", "signature", "full"], "default": "signature"},
            "cursor": {"type": "string"},
            "language": language()
        },
        "required": ["queries"]
    })
}

fn execute_schema(time: TimeLimits) -> Value {
    let TimeLimits { default_ms, max_ms } = time;
    json!({
        "type": "object",
        "properties": {
            "code": {"type": "string", "description": "the program"},
            "language": language(),
            "input": {"description": "any JSON, `input` in the program"},
            "mode": {"enum": ["run", "check", "plan"], "default": "run", "description": "only check for mistakes, or only list calls"},
            "timeout_ms": {"type": "integer", "maximum": max_ms, "default": default_ms},
            "max_output_tokens": {"type": "integer", "default": OUTPUT_TOKENS_DEFAULT},
            "render": {"enum": Render::ALL.map(|(name, _)| name), "default": "json", "description": "of the answer"},
            "tools": {"type": "array", "items": {"type": "string"}, "description": "allow only these, e.g. `github.list_*`"}
        },
        "required": ["code"]
    })
}

fn resume_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "execution_id": {"type": "string"},
            "action": {"enum": ResumeAction::NAMES},
            "content": {}
        },
        "required": ["execution_id"]
    })
}

fn language() -> Value {
    json!({"enum": ["typescript", "python"], "default": "typescript"})
}

fn tool(name: &'static str, description: &'static str, schema: Value) -> Tool {
    let schema = match schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    Tool::new(name, description, schema)
}

/// Asks clients that load tools by a search of their own to load a tool always, and to show its results whole.
fn always_loaded() -> MetaObject {
    let mut meta = JsonObject::new();
    meta.insert("anthropic/alwaysLoad".to_owned(), true.into());
    // Without it Claude Code truncates results above some 50,000 characters; `execute` has its own budget.
    meta.insert(
        "anthropic/maxResultSizeChars".to_owned(),
        RESULT_CHARS_MAX.into(),
    );
    MetaObject(meta)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: TimeLimits = TimeLimits {
        default_ms: 60_000,
        max_ms: 300_000,
    };

    #[test]
    fn the_list_stays_within_its_token_budget() {
        let tools = BuiltInTool::ALL.map(|tool| tool.definition(TIME));
        let json = serde_json::to_string(&json!({"tools": tools})).unwrap();
        let tokens = limbeck_gateway::tokens::count(&json);
        assert!(
            tokens <= 650,
            "tools/list has {tokens} tokens, 650 are allowed"
        );
    }

    #[test]
    fn resume_is_listed_where_executions_can_pause_and_known_everywhere() {
        let listed = |can_pause| {
            let all = BuiltInTool::ALL.into_iter();
            let listed = all.filter(|tool| tool.is_listed(can_pause));
            listed.map(BuiltInTool::name).collect::<Vec<_>>()
        };
        assert_eq!(listed(false), ["search", "execute"]);
        assert_eq!(listed(true), ["search", "execute", "resume"]);
        assert_eq!(BuiltInTool::from_name("resume"), Some(BuiltInTool::Resume));
        let tool = BuiltInTool::Resume.definition(TIME);
        assert_eq!(
            tool.input_schema["properties"]["action"]["enum"],
            json!(["wait", "approve", "deny", "answer", "cancel"])
        );
        assert_eq!(tool.annotations, None);
    }

    #[test]
    fn the_schema_states_the_limits_of_this_gateway_and_every_way_to_render() {
        let time = TimeLimits {
            default_ms: 5_000,
            max_ms: 7_000,
        };
        let tool = BuiltInTool::Execute.definition(time);
        let properties = &tool.input_schema["properties"];
        let timeout = &properties["timeout_ms"];
        assert_eq!(
            (&timeout["maximum"], &timeout["default"]),
            (&json!(7_000), &json!(5_000))
        );
        let render = &properties["render"];
        assert_eq!(render["enum"], json!(["json", "toon", "auto"]));
        let default = Render::from_name(render["default"].as_str().unwrap());
        assert_eq!(default, Some(Render::default()));
    }
}
