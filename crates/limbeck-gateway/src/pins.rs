//! Pins: what the definitions of tools were when they were first listed or accepted, and which tools are held.
//!
//! A server may describe a tool harmlessly for weeks and differently once it is trusted (a rug pull, OWASP MCP03). [`record`]
//! keeps what each list says, under every preset; [`judge`] decides from that and from the preset which tools are held.
//! Several gateways with different presets share the records.

pub(crate) mod judge;
pub(crate) mod lock;
pub(crate) mod names;
pub(crate) mod record;
pub(crate) mod report;

use std::collections::BTreeMap;

use limbeck_domain::ToolDefinition;
use limbeck_store::ToolPin;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Pins of one server, by tool.
pub(crate) type Pins = BTreeMap<String, ToolPin>;

/// SHA-256 of a definition and of the entry of its server, by `entry_hash`: the same tool of another program, or at another
/// address, is another tool.
pub(crate) fn of_approval(tool: &ToolDefinition, entry_hash: &str) -> String {
    let definition = digest(tool);
    let mut hasher = Sha256::new();
    absorb(&mut hasher, &json!([definition, entry_hash]));
    hex(&hasher.finalize())
}

/// SHA-256 of a definition, independent of the order of keys.
pub(crate) fn digest(tool: &ToolDefinition) -> String {
    let seen = json!({
        "title": tool.title,
        "description": tool.description,
        "input": tool.input_schema,
        "output": tool.output_schema,
        "read_only": tool.annotations.read_only,
        "destructive": tool.annotations.destructive,
        "idempotent": tool.annotations.idempotent,
    });
    let mut hasher = Sha256::new();
    absorb(&mut hasher, &seen);
    hex(&hasher.finalize())
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Hashes a value with the keys of objects sorted. A byte that JSON text cannot contain ends every part.
fn absorb(hasher: &mut Sha256, value: &Value) {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<&String, &Value> = members.iter().collect();
            hasher.update(b"{");
            for (key, value) in members {
                hasher.update(key.as_bytes());
                hasher.update([0]);
                absorb(hasher, value);
            }
            hasher.update(b"}\0");
        }
        Value::Array(items) => {
            hasher.update(b"[");
            for item in items {
                absorb(hasher, item);
            }
            hasher.update(b"]\0");
        }
        scalar => {
            hasher.update(scalar.to_string().as_bytes());
            hasher.update([0]);
        }
    }
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{ToolAnnotations, ToolId};

    use super::*;

    fn tool(name: &str, description: &str, schema: Value) -> ToolDefinition {
        ToolDefinition {
            id: ToolId::new("s", name),
            title: None,
            description: Some(description.to_owned()),
            input_schema: schema,
            output_schema: None,
            annotations: ToolAnnotations::default(),
        }
    }

    #[test]
    fn an_approval_is_for_a_definition_and_the_entry_of_its_server() {
        let one = tool("a", "", json!({}));
        let pin = of_approval(&one, "entry");
        assert_eq!(pin, of_approval(&one, "entry"));
        assert_ne!(pin, of_approval(&one, "other"));
        assert_ne!(pin, of_approval(&tool("a", "other", json!({})), "entry"));
    }

    #[test]
    fn values_that_look_alike_when_joined_are_told_apart() {
        let pairs = [
            (json!({"a": ["b", "c"]}), json!({"a": ["b,c"]})),
            (json!({"a": 1, "b": 2}), json!({"a": {"b": 2}})),
            (json!({"a": "1"}), json!({"a": 1})),
        ];
        for (one, other) in pairs {
            let (one, other) = (tool("a", "", one), tool("a", "", other));
            assert_ne!(digest(&one), digest(&other));
        }
    }
}
