//! Pins: tool definitions as a server first listed them or as a person accepted them, and what was seen of them since.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{ServerName, ToolAnnotations, ToolDefinition, ToolId};

/// Earlier definitions of one tool whose hashes are kept, to notice that it changes back.
pub const EARLIER_MAX: usize = 16;

/// A definition with what cleaning took out of it.
#[derive(Clone, Debug, PartialEq)]
pub struct PinnedDefinition {
    /// The definition, its texts cut and cleaned.
    pub definition: ToolDefinition,
    /// Hidden characters that its texts had before they were cleaned.
    pub hidden: u32,
}

/// The members of a canonical definition, by their names in MCP.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Canonical {
    server: String,
    name: String,
    title: Option<String>,
    description: Option<String>,
    input_schema: Value,
    output_schema: Option<Value>,
    #[serde(default)]
    annotations: CanonicalHints,
    #[serde(default)]
    hidden_characters: u32,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CanonicalHints {
    read_only_hint: Option<bool>,
    destructive_hint: Option<bool>,
    idempotent_hint: Option<bool>,
}

impl PinnedDefinition {
    /// The definition as canonical JSON: every object with its keys in order, without spaces. Equal definitions have equal
    /// texts, in any order that their server writes them in.
    pub fn canonical(&self) -> String {
        canonical_json(&self.members())
    }

    /// The definition without its title, which says nothing that is sent or decided by.
    pub fn canonical_without_title(&self) -> String {
        let mut members = self.members();
        if let Value::Object(members) = &mut members {
            members.remove("title");
        }
        canonical_json(&members)
    }

    fn members(&self) -> Value {
        let ToolDefinition {
            id,
            title,
            description,
            input_schema,
            output_schema,
            annotations,
        } = &self.definition;
        let mut members = Map::new();
        members.insert("server".to_owned(), json!(id.server));
        members.insert("name".to_owned(), json!(id.tool));
        if let Some(title) = title {
            members.insert("title".to_owned(), json!(title));
        }
        if let Some(description) = description {
            members.insert("description".to_owned(), json!(description));
        }
        members.insert("inputSchema".to_owned(), input_schema.clone());
        if let Some(schema) = output_schema {
            members.insert("outputSchema".to_owned(), schema.clone());
        }
        let hints = [
            ("readOnlyHint", annotations.read_only),
            ("destructiveHint", annotations.destructive),
            ("idempotentHint", annotations.idempotent),
        ];
        let hints: Map<String, Value> = hints
            .into_iter()
            .filter_map(|(name, hint)| Some((name.to_owned(), Value::Bool(hint?))))
            .collect();
        if !hints.is_empty() {
            members.insert("annotations".to_owned(), Value::Object(hints));
        }
        if self.hidden > 0 {
            members.insert("hiddenCharacters".to_owned(), json!(self.hidden));
        }
        Value::Object(members)
    }

    /// Reads what [`PinnedDefinition::canonical`] wrote; `None` for anything else.
    pub fn from_canonical(text: &str) -> Option<Self> {
        Self::from_value(serde_json::from_str(text).ok()?)
    }

    /// [`PinnedDefinition::from_canonical`] of a value that was parsed.
    pub fn from_value(value: Value) -> Option<Self> {
        let read: Canonical = serde_json::from_value(value).ok()?;
        Some(Self {
            hidden: read.hidden_characters,
            definition: ToolDefinition {
                id: ToolId::new(ServerName::from(read.server.as_str()), read.name),
                title: read.title,
                description: read.description,
                input_schema: read.input_schema,
                output_schema: read.output_schema,
                annotations: ToolAnnotations {
                    read_only: read.annotations.read_only_hint,
                    destructive: read.annotations.destructive_hint,
                    idempotent: read.annotations.idempotent_hint,
                },
            },
        })
    }
}

/// JSON with the keys of all objects in order and without spaces, as RFC 8785 has it but for numbers, which stay as they
/// are written.
pub fn canonical_json(value: &Value) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(members) => {
                let mut keys: Vec<&String> = members.keys().collect();
                keys.sort_unstable();
                let members = keys.into_iter().filter_map(|key| {
                    let value = members.get(key)?;
                    Some((key.clone(), sorted(value)))
                });
                Value::Object(members.collect())
            }
            Value::Array(items) => items.iter().map(sorted).collect(),
            scalar => scalar.clone(),
        }
    }
    sorted(value).to_string()
}

/// What a person said about a definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinDecision {
    /// Who, as a principal.
    pub by: String,
    /// When, in microseconds since 1970.
    pub at_us: u64,
    /// SHA-256 of the definition that was decided about.
    pub sha256: String,
}

/// What is known of one tool besides its definitions. Whether it is held follows from this, the definitions and the preset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinFacts {
    /// When it was first listed, in microseconds since 1970.
    pub first_us: u64,
    /// When its definition last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_us: Option<u64>,
    /// Since when its server does not list it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed_us: Option<u64>,
    /// The person who accepted the pinned definition; absent for the first list of a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<PinDecision>,
    /// The person who rejected the current definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<PinDecision>,
    /// Whether it came back to a definition that it had had before.
    #[serde(default)]
    pub is_back: bool,
    /// Whether it came back, after it had been absent, with another definition.
    #[serde(default)]
    pub is_returned: bool,
    /// SHA-256 of the current definition without its title.
    pub substance: String,
    /// The same of its earlier definitions, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(schema: Value) -> PinnedDefinition {
        PinnedDefinition {
            definition: ToolDefinition {
                id: ToolId::new("files", "read"),
                title: Some("Read".to_owned()),
                description: Some("Reads a file.".to_owned()),
                input_schema: schema,
                output_schema: None,
                annotations: ToolAnnotations {
                    read_only: Some(true),
                    ..ToolAnnotations::default()
                },
            },
            hidden: 2,
        }
    }

    #[test]
    fn the_canonical_text_has_its_keys_in_order_and_is_read_back() {
        let one = definition(json!({"type": "object", "properties": {"b": {}, "a": {}}}));
        let other = definition(json!({"properties": {"a": {}, "b": {}}, "type": "object"}));
        assert_eq!(
            one.canonical(),
            r#"{"annotations":{"readOnlyHint":true},"description":"Reads a file.","hiddenCharacters":2,"inputSchema":{"properties":{"a":{},"b":{}},"type":"object"},"name":"read","server":"files","title":"Read"}"#
        );
        assert_eq!(one.canonical(), other.canonical());
        let read = PinnedDefinition::from_canonical(&one.canonical());
        assert_eq!(read, Some(other));
        assert_eq!(PinnedDefinition::from_canonical("{}"), None);
    }

    #[test]
    fn a_title_is_in_the_canonical_text_and_not_in_the_other() {
        let titled = definition(json!({}));
        let mut untitled = titled.clone();
        untitled.definition.title = None;
        assert_ne!(titled.canonical(), untitled.canonical());
        assert_eq!(
            titled.canonical_without_title(),
            untitled.canonical_without_title()
        );
    }
}
