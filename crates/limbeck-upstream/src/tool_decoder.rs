//! Decoder of tool definitions, one by one, so that an invalid one does not hide the rest.

mod hidden;
mod messages;
mod raw_tool;
mod weight;

use std::collections::{BTreeMap, HashSet};

use limbeck_domain::{ServerName, ToolAnnotations, ToolDefinition, ToolId, limits, text};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::http::params;
use crate::report::ToolList;
use messages::BoundedMessages;
use raw_tool::{RawTool, extra, parse_tool};
use weight::DefinitionWeight;

/// Bytes shown of a tool's name in a message.
const NAME_SHOWN_BYTES_MAX: usize = 60;
/// Bytes kept of a tool's title.
const TITLE_BYTES_MAX: usize = 256;

/// Decoder of the tools of one server.
pub(crate) struct ToolDecoder<'a> {
    server: &'a ServerName,
    annotated: bool,
    names: HashSet<String>,
    count: usize,
    tools: Vec<ToolDefinition>,
    extras: BTreeMap<String, Map<String, Value>>,
    hidden: BTreeMap<String, u32>,
    /// Bytes and JSON values of all definitions so far.
    weight: DefinitionWeight,
    dropped: BoundedMessages,
    notes: BoundedMessages,
    is_full: bool,
    /// Whether a part of the list is left out.
    is_cut: bool,
}

impl<'a> ToolDecoder<'a> {
    /// `annotated` is true when calls mirror annotated parameters in headers.
    pub(crate) fn new(server: &'a ServerName, annotated: bool) -> Self {
        Self {
            server,
            annotated,
            names: HashSet::new(),
            count: 0,
            tools: Vec::new(),
            extras: BTreeMap::new(),
            hidden: BTreeMap::new(),
            weight: DefinitionWeight::default(),
            dropped: BoundedMessages::default(),
            notes: BoundedMessages::default(),
            is_full: false,
            is_cut: false,
        }
    }

    /// Decodes the next tool of the list, or records why it was dropped.
    pub(crate) fn push(&mut self, raw: &RawValue) {
        if self.is_full {
            return;
        }
        if self.tools.len() == limits::TOOLS_PER_SERVER_MAX {
            return self.stop(&format!(
                "the server offers more than {} tools",
                limits::TOOLS_PER_SERVER_MAX
            ));
        }
        self.count += 1;
        let position = self.count;
        let parsed = match parse_tool(raw) {
            Ok(parsed) => parsed,
            Err(reason) => return self.dropped.push(format!("tool {position}: {reason}")),
        };
        // Weighed before it is decoded: a tree takes many times the bytes of its text.
        let weight = self.weight.plus(DefinitionWeight::of(&parsed, raw));
        if !weight.fits() {
            return self.stop(&format!(
                "the definitions have more than {} bytes or {} values",
                limits::TOOL_LIST_BYTES_MAX,
                limits::TOOL_LIST_VALUES_MAX
            ));
        }
        match self.tool(&parsed) {
            Ok(tool) => {
                self.weight = weight;
                if parsed.may_keep_others(raw)
                    && let Some(extra) = extra(raw)
                {
                    self.extras.insert(tool.id.tool.to_string(), extra);
                }
                let hidden = parsed.used().map(hidden::count).sum();
                if hidden > 0 {
                    self.hidden.insert(tool.id.tool.to_string(), hidden);
                }
                self.tools.push(tool);
            }
            Err(reason) => self.dropped.push(format!("tool {position}: {reason}")),
        }
    }

    /// Whether the maximum number of tools is reached.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Takes no further tools, unless it is full already, and records the reason.
    pub(crate) fn stop(&mut self, reason: &str) {
        if !std::mem::replace(&mut self.is_full, true) {
            self.drop_rest(reason);
        }
    }

    /// Records that the rest of the list is left out.
    pub(crate) fn drop_rest(&mut self, reason: &str) {
        self.is_cut = true;
        self.dropped.last = Some(format!("{reason}: the rest was left out"));
    }

    pub(crate) fn finish(self) -> ToolList {
        ToolList {
            tools: self.tools,
            extras: self.extras,
            hidden: self.hidden,
            dropped: self.dropped.finish(),
            is_cut: self.is_cut,
            notes: self.notes.finish(),
            ..ToolList::default()
        }
    }

    fn tool(&mut self, tool: &RawTool<'_>) -> Result<ToolDefinition, String> {
        let name = name(tool.name)?;
        // The first one counts: a later duplicate must not be able to replace a tool that the user knows.
        if !self.names.insert(name.clone()) {
            let shown = shown(&name);
            return Err(format!(
                "`{shown}` was listed before; only the first one is used"
            ));
        }
        let input_schema = self.schema(&name, "input schema", tool.input_schema);
        if let (true, Some(schema)) = (self.annotated, &input_schema) {
            params::annotations(schema)?;
        }
        let annotations = parse(tool.annotations).unwrap_or(Value::Null);
        let title = text_of(tool.title, TITLE_BYTES_MAX)
            .or_else(|| cleaned(annotations.get("title")?.as_str()?, TITLE_BYTES_MAX));
        Ok(ToolDefinition {
            title,
            description: text_of(tool.description, limits::DESCRIPTION_BYTES_MAX),
            input_schema: input_schema.unwrap_or_else(any),
            output_schema: self.schema(&name, "output schema", tool.output_schema),
            annotations: hints(&annotations),
            id: ToolId::new(self.server.clone(), name),
        })
    }

    /// Returns the schema, or `None` with a note when it cannot be used.
    fn schema(&mut self, name: &str, what: &str, raw: Option<&RawValue>) -> Option<Value> {
        let raw = raw?;
        let problem = if raw.get().len() > limits::SCHEMA_BYTES_MAX {
            let (bytes, limit) = (raw.get().len(), limits::SCHEMA_BYTES_MAX);
            format!("has {bytes} bytes, more than {limit}")
        } else {
            match serde_json::from_str(raw.get()) {
                Ok(mut schema @ (Value::Object(_) | Value::Bool(_))) => {
                    if text::clean_json(&mut schema, limits::SCHEMA_BYTES_MAX) {
                        return Some(schema);
                    }
                    // Without them the name of an argument would be another one.
                    "holds control or invisible characters in a name".to_owned()
                }
                Ok(_) => "is neither an object nor a boolean".to_owned(),
                Err(error) => format!("cannot be read: {error}"),
            }
        };
        let shown = shown(name);
        self.notes.push(format!(
            "tool `{shown}`: its {what} {problem}, and was left out"
        ));
        None
    }
}

/// Schema of a tool that declares none: any object.
fn any() -> Value {
    serde_json::json!({ "type": "object" })
}

/// Returns the name unchanged, if it can be displayed and typed.
fn name(raw: Option<&RawValue>) -> Result<String, String> {
    let raw = raw.ok_or("it has no name")?;
    let name: String = serde_json::from_str(raw.get()).map_err(|_| "its name is not a string")?;
    let chars = name.chars().count();
    if chars > limits::TOOL_NAME_CHARS_MAX {
        let limit = limits::TOOL_NAME_CHARS_MAX;
        return Err(format!(
            "its name has {chars} characters, more than {limit}"
        ));
    }
    if name.trim().is_empty() {
        return Err("its name is empty".to_owned());
    }
    // Invisible characters could make two different tools look alike.
    if name.contains(['\n', '\t']) || !text::is_clean(&name) {
        let escaped = name.escape_default().to_string();
        let escaped = text::cut(&escaped, NAME_SHOWN_BYTES_MAX);
        return Err(format!(
            "its name holds control or invisible characters: {escaped}"
        ));
    }
    Ok(name)
}

fn shown(name: &str) -> String {
    text::clean_line(name, NAME_SHOWN_BYTES_MAX)
}

fn parse(raw: Option<&RawValue>) -> Option<Value> {
    serde_json::from_str(raw?.get()).ok()
}

fn text_of(raw: Option<&RawValue>, bytes_max: usize) -> Option<String> {
    cleaned(parse(raw)?.as_str()?, bytes_max)
}

fn cleaned(words: &str, bytes_max: usize) -> Option<String> {
    let words = text::clean(words, bytes_max);
    (!words.trim().is_empty()).then_some(words)
}

/// Reads the hints that are booleans; others count as absent.
fn hints(annotations: &Value) -> ToolAnnotations {
    let hint = |name: &str| annotations.get(name).and_then(Value::as_bool);
    ToolAnnotations {
        read_only: hint("readOnlyHint"),
        destructive: hint("destructiveHint"),
        idempotent: hint("idempotentHint"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(tools: &[&str]) -> ToolList {
        let server = ServerName::from("s");
        let mut decoder = ToolDecoder::new(&server, true);
        for tool in tools {
            decoder.push(&RawValue::from_string((*tool).to_owned()).unwrap());
        }
        decoder.finish()
    }

    fn names(list: &ToolList) -> Vec<&str> {
        list.tools.iter().map(|tool| &*tool.id.tool).collect()
    }

    #[test]
    fn a_bad_tool_is_dropped_with_its_reason_and_the_others_stay() {
        let list = decode(&[
            r#"{"name":5}"#,
            r#"{"name":"good","inputSchema":{"type":"object"}}"#,
            "null",
            r#"{"description":"x"}"#,
            r#"{"name":"a\nb"}"#,
            r#"{"name":""}"#,
            r#"{"name":"good","description":"second"}"#,
            r#"{"name":"x","name":"y"}"#,
            r#"{"name":"read me"}"#,
        ]);
        assert_eq!(names(&list), ["good", "read me"]);
        assert_eq!(list.tools[0].description, None);
        assert_eq!(
            list.dropped,
            [
                "tool 1: its name is not a string",
                "tool 3: it is not an object",
                "tool 4: it has no name",
                "tool 5: its name holds control or invisible characters: a\\nb",
                "tool 6: its name is empty",
                "tool 7: `good` was listed before; only the first one is used",
                "tool 8: duplicate field `name` at line 1 column 18",
            ]
        );
    }

    #[test]
    fn hidden_characters_are_counted_before_they_are_removed() {
        let list = decode(&[
            r#"{"name":"plain","description":"a\nb"}"#,
            "{\"name\":\"tags\",\"description\":\"a\u{e0041}\u{e0042}b\",\"inputSchema\":{\"title\":\"\\u200b\"}}",
        ]);
        assert_eq!(list.hidden, BTreeMap::from([("tags".to_owned(), 3)]));
        assert_eq!(list.tools[1].description.as_deref(), Some("ab"));
    }

    #[test]
    fn a_name_at_the_limit_is_kept_and_one_above_is_dropped() {
        let at = format!(
            r#"{{"name":"{}"}}"#,
            "é".repeat(limits::TOOL_NAME_CHARS_MAX)
        );
        let above = format!(
            r#"{{"name":"{}"}}"#,
            "a".repeat(limits::TOOL_NAME_CHARS_MAX + 1)
        );
        let list = decode(&[&at, &above]);
        assert_eq!(list.tools.len(), 1);
        assert_eq!(
            list.dropped,
            ["tool 2: its name has 129 characters, more than 128"]
        );
    }

    #[test]
    fn schemas_that_cannot_be_used_are_replaced_with_a_note() {
        let large = format!(
            r#"{{"name":"large","inputSchema":{{"d":"{}"}}}}"#,
            "x".repeat(limits::SCHEMA_BYTES_MAX)
        );
        let list = decode(&[
            &large,
            r#"{"name":"none"}"#,
            r#"{"name":"null","inputSchema":null,"outputSchema":null}"#,
            r#"{"name":"bool","inputSchema":true,"outputSchema":"x"}"#,
        ]);
        let any = serde_json::json!({"type": "object"});
        assert_eq!(list.tools[0].input_schema, any);
        assert_eq!(list.tools[1].input_schema, any);
        assert_eq!(list.tools[2].input_schema, any);
        assert_eq!(list.tools[3].input_schema, Value::Bool(true));
        assert_eq!(list.tools[3].output_schema, None);
        assert_eq!(list.notes.len(), 2);
        assert!(list.notes[0].starts_with("tool `large`: its input schema has 2621"));
        assert_eq!(
            list.notes[1],
            "tool `bool`: its output schema is neither an object nor a boolean, and was left out"
        );
    }

    #[test]
    fn texts_are_cleaned_and_cut_and_hints_must_be_booleans() {
        let long = format!(
            r#"{{"name":"t","description":"\u001b[1m{}","title":5,
                "annotations":{{"title":"T\u202e","readOnlyHint":"true","destructiveHint":false,"x":1}}}}"#,
            "d".repeat(limits::DESCRIPTION_BYTES_MAX * 2)
        );
        let list = decode(&[&long]);
        let tool = &list.tools[0];
        let description = tool.description.as_ref().unwrap();
        assert!(
            description.starts_with("[1md") && description.len() < limits::DESCRIPTION_BYTES_MAX
        );
        assert_eq!(tool.title.as_deref(), Some("T"));
        assert_eq!(tool.annotations.read_only, None);
        assert_eq!(tool.annotations.destructive, Some(false));
    }

    #[test]
    fn hidden_characters_are_removed_from_every_text_of_a_definition() {
        let list = decode(&[
            r#"{"name":"t","description":"d\u061c\ufe0f","inputSchema":{"type":"object","description":"s\u001b[2J",
                "properties":{"a":{"enum":["x\udb40\udc41"],"description":"p\u202e\udb40\udd41"}}},
                "annotations":{"note":"n\u3164"}}"#,
            r#"{"name":"k","inputSchema":{"properties":{"a\u115f":{}}}}"#,
            r#"{"name":"hidden\u3164"}"#,
            r#"{"name":"control","description":"Größe 日本語 🦀","inputSchema":{"description":"line\n\ttab"}}"#,
        ]);
        let shown = serde_json::to_string(&(&list.tools, &list.extras)).unwrap();
        assert!(text::is_clean(&shown), "{shown}");
        let schema = &list.tools[0].input_schema;
        assert_eq!(schema["description"], "s[2J");
        assert_eq!(schema["properties"]["a"]["enum"][0], "x");
        assert_eq!(list.tools[1].input_schema, any());
        assert!(list.notes[0].contains("holds control or invisible characters in a name"));
        assert_eq!(names(&list), ["t", "k", "control"]);
        let description = list.tools[2].description.as_deref();
        assert_eq!(description, Some("Größe 日本語 🦀"));
        assert_eq!(list.tools[2].input_schema["description"], "line\n\ttab");
    }

    #[test]
    fn a_list_is_cut_where_its_definitions_together_have_too_many_bytes_or_values() {
        let large = |n: usize| {
            let text = "x".repeat(200 << 10);
            format!(r#"{{"name":"t{n}","inputSchema":{{"description":"{text}"}}}}"#)
        };
        let tools: Vec<String> = (0..100).map(large).collect();
        let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
        let list = decode(&tools);
        assert_eq!(list.tools.len(), limits::TOOL_LIST_BYTES_MAX / (201 << 10));
        let cut =
            "the definitions have more than 4194304 bytes or 100000 values: the rest was left out";
        assert_eq!(list.dropped, [cut]);

        let many = |n: usize| {
            let items = "0,".repeat(20_000);
            format!(r#"{{"name":"t{n}","inputSchema":{{"enum":[{items}0]}}}}"#)
        };
        let tools: Vec<String> = (0..100).map(many).collect();
        let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
        let list = decode(&tools);
        assert_eq!(list.tools.len(), 4);
        assert_eq!(list.dropped, [cut]);

        // The control: many tools of an ordinary size.
        let tool = |n: usize| {
            format!(
                r#"{{"name":"t{n}","description":"{}","inputSchema":{{"type":"object","properties":
                    {{"a":{{"type":"string"}},"b":{{"type":"number"}}}},"required":["a"]}},"annotations":{{"readOnlyHint":true}}}}"#,
                "d".repeat(500)
            )
        };
        let tools: Vec<String> = (0..limits::TOOLS_PER_SERVER_MAX).map(tool).collect();
        let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
        let list = decode(&tools);
        assert_eq!(list.tools.len(), limits::TOOLS_PER_SERVER_MAX);
        assert_eq!(list.dropped, [] as [&str; 0]);
        assert!(!list.is_cut);
    }

    #[test]
    fn tools_above_the_limit_are_left_out_with_a_message() {
        let tools: Vec<String> = (0..limits::TOOLS_PER_SERVER_MAX + 5)
            .map(|n| format!(r#"{{"name":"t{n}"}}"#))
            .collect();
        let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
        let list = decode(&tools);
        assert_eq!(list.tools.len(), limits::TOOLS_PER_SERVER_MAX);
        assert_eq!(
            list.dropped,
            ["the server offers more than 2000 tools: the rest was left out"]
        );
        assert!(list.is_cut);
    }
}
