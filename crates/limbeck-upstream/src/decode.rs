//! Decodes tools one by one, so that a bad one never hides the rest.

use std::collections::{BTreeMap, HashSet};

use limbeck_domain::{ServerName, ToolAnnotations, ToolDefinition, ToolId, limits, text};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::ToolList;
use crate::http::params;

/// Messages about dropped tools, and about changed ones; more are counted.
const MESSAGES_MAX: usize = 64;
/// A tool's name in a message.
const NAME_SHOWN_BYTES_MAX: usize = 60;
/// Title of a tool.
const TITLE_BYTES_MAX: usize = 256;

/// Annotations, icons and the like of one tool; for comparison, real ones have below 2 KiB.
pub const TOOL_EXTRA_BYTES_MAX: usize = 16 << 10;
/// The parts of a definition that [`ToolDefinition`] has.
const USED: [&str; 5] = [
    "name",
    "title",
    "description",
    "inputSchema",
    "outputSchema",
];

#[derive(Deserialize)]
struct RawTool<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    title: Option<&'a RawValue>,
    #[serde(borrow, default)]
    description: Option<&'a RawValue>,
    #[serde(rename = "inputSchema", borrow, default)]
    input_schema: Option<&'a RawValue>,
    #[serde(rename = "outputSchema", borrow, default)]
    output_schema: Option<&'a RawValue>,
    #[serde(borrow, default)]
    annotations: Option<&'a RawValue>,
}

/// Collects the tools of one server.
pub(crate) struct Decoder<'a> {
    server: &'a ServerName,
    annotated: bool,
    names: HashSet<String>,
    count: usize,
    tools: Vec<ToolDefinition>,
    extras: BTreeMap<String, Map<String, Value>>,
    dropped: Messages,
    notes: Messages,
    is_full: bool,
}

impl<'a> Decoder<'a> {
    /// `annotated` says whether calls repeat annotated parameters in headers.
    pub(crate) fn new(server: &'a ServerName, annotated: bool) -> Self {
        Self {
            server,
            annotated,
            names: HashSet::new(),
            count: 0,
            tools: Vec::new(),
            extras: BTreeMap::new(),
            dropped: Messages::default(),
            notes: Messages::default(),
            is_full: false,
        }
    }

    /// Decodes the next tool of the list, or notes why not.
    pub(crate) fn push(&mut self, raw: &RawValue) {
        if self.is_full {
            return;
        }
        if self.tools.len() == limits::TOOLS_PER_SERVER_MAX {
            self.is_full = true;
            self.drop_rest(&format!(
                "the server offers more than {} tools",
                limits::TOOLS_PER_SERVER_MAX
            ));
            return;
        }
        self.count += 1;
        let position = self.count;
        match self.tool(raw) {
            Ok(tool) => {
                if let Some(extra) = extra(raw) {
                    self.extras.insert(tool.id.tool.to_string(), extra);
                }
                self.tools.push(tool);
            }
            Err(reason) => self.dropped.push(format!("tool {position}: {reason}")),
        }
    }

    /// Whether further tools are of no use.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Notes that tools are missing at the end.
    pub(crate) fn drop_rest(&mut self, reason: &str) {
        self.dropped.last = Some(format!("{reason}: the rest was left out"));
    }

    pub(crate) fn finish(self) -> ToolList {
        ToolList {
            tools: self.tools,
            extras: self.extras,
            dropped: self.dropped.finish(),
            notes: self.notes.finish(),
            ..ToolList::default()
        }
    }

    fn tool(&mut self, raw: &RawValue) -> Result<ToolDefinition, String> {
        let tool: RawTool<'_> = match raw.get().as_bytes().first() {
            Some(b'{') => serde_json::from_str(raw.get()).map_err(|error| error.to_string())?,
            _ => return Err("it is not an object".to_owned()),
        };
        let name = name(tool.name)?;
        if !self.names.insert(name.clone()) {
            let shown = shown(&name);
            return Err(format!(
                "`{shown}` was listed before, and the first one counts"
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

    /// The schema, or nothing with a note when it cannot be used.
    fn schema(&mut self, name: &str, what: &str, raw: Option<&RawValue>) -> Option<Value> {
        let raw = raw?;
        let problem = if raw.get().len() > limits::SCHEMA_BYTES_MAX {
            let (bytes, limit) = (raw.get().len(), limits::SCHEMA_BYTES_MAX);
            format!("has {bytes} bytes, more than {limit}")
        } else {
            match serde_json::from_str(raw.get()) {
                Ok(schema @ (Value::Object(_) | Value::Bool(_))) => return Some(schema),
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

/// What a definition has beside the parts that are used.
fn extra(raw: &RawValue) -> Option<Map<String, Value>> {
    let parts: BTreeMap<String, &RawValue> = serde_json::from_str(raw.get()).ok()?;
    let rest = parts
        .into_iter()
        .filter(|(key, _)| !USED.contains(&key.as_str()));
    let (mut extra, mut bytes) = (Map::new(), 0);
    for (key, part) in rest {
        bytes += key.len() + part.get().len();
        if bytes > TOOL_EXTRA_BYTES_MAX {
            return None;
        }
        extra.insert(key, serde_json::from_str(part.get()).ok()?);
    }
    Some(extra).filter(|extra| !extra.is_empty())
}

/// The schema of a tool that declares none: any object.
fn any() -> Value {
    serde_json::json!({ "type": "object" })
}

/// The name verbatim, if it can be shown and written by anybody.
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
    if text::clean_line(&name, name.len()) != name {
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

/// The hints that are booleans; anything else is no hint.
fn hints(annotations: &Value) -> ToolAnnotations {
    let hint = |name: &str| annotations.get(name).and_then(Value::as_bool);
    ToolAnnotations {
        read_only: hint("readOnlyHint"),
        destructive: hint("destructiveHint"),
        idempotent: hint("idempotentHint"),
    }
}

/// A bounded list of messages that counts what did not fit.
#[derive(Default)]
struct Messages {
    kept: Vec<String>,
    more: usize,
    last: Option<String>,
}

impl Messages {
    fn push(&mut self, message: String) {
        if self.kept.len() < MESSAGES_MAX {
            self.kept.push(message);
        } else {
            self.more += 1;
        }
    }

    fn finish(mut self) -> Vec<String> {
        if self.more > 0 {
            self.kept.push(format!("and {} more", self.more));
        }
        self.kept.extend(self.last);
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(tools: &[&str]) -> ToolList {
        let server = ServerName::from("s");
        let mut decoder = Decoder::new(&server, true);
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
                "tool 7: `good` was listed before, and the first one counts",
                "tool 8: duplicate field `name` at line 1 column 18",
            ]
        );
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
    fn schemas_that_cannot_be_used_are_replaced_and_said() {
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
    fn tools_above_the_limit_are_left_out_and_said() {
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
    }
}
