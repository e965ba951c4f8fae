//! Detection of changed tool definitions.
//!
//! A server may describe a tool harmlessly for weeks and differently once it is trusted (a rug pull, OWASP
//! MCP03). The pin of a tool is a hash over all that a model or a program sees of its definition. When a new
//! list has another hash, the time of the change is kept and shown from then on.

use std::collections::{BTreeMap, BTreeSet};

use limbeck_domain::ToolDefinition;
use limbeck_domain::limits::TOOLS_PER_SERVER_MAX;
use limbeck_store::Pin;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Pins of one server, by tool.
pub(crate) type Pins = BTreeMap<String, Pin>;

/// Updates `pins` for the list `tools` of the time `now_us`. Returns them with the names of changed tools.
///
/// Removed tools keep their pins, so that a tool that returns with another definition is noticed.
pub(crate) fn renew(mut pins: Pins, tools: &[ToolDefinition], now_us: u64) -> (Pins, Vec<String>) {
    let mut changed = Vec::new();
    for tool in tools {
        let (name, sha256) = (tool.id.tool.to_string(), digest(tool));
        match pins.get_mut(&name) {
            None => {
                let pin = Pin {
                    sha256,
                    first_us: now_us,
                    changed_us: None,
                };
                pins.insert(name, pin);
            }
            Some(pin) if pin.sha256 != sha256 => {
                pin.sha256 = sha256;
                pin.changed_us = Some(now_us);
                changed.push(name);
            }
            Some(_) => {}
        }
    }
    forget_beyond(&mut pins, tools);
    (pins, changed)
}

/// Drops the pins of tools that are not listed when there are more pins than a server may have tools.
fn forget_beyond(pins: &mut Pins, tools: &[ToolDefinition]) {
    if pins.len() <= TOOLS_PER_SERVER_MAX {
        return;
    }
    let listed: BTreeSet<&str> = tools.iter().map(|tool| &*tool.id.tool).collect();
    pins.retain(|name, _| listed.contains(name.as_str()));
}

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
    fn a_changed_definition_is_noticed_once_and_stays_noted_and_a_new_tool_is_no_change() {
        let plain = json!({"type": "object", "title": "t"});
        let (pins, changed) = renew(Pins::new(), &[tool("a", "old", plain.clone())], 1);
        assert!(changed.is_empty());
        // The same, its keys in another order; and a second tool.
        let turned = json!({"title": "t", "type": "object"});
        let tools = [tool("a", "old", turned), tool("b", "new", plain.clone())];
        let (pins, changed) = renew(pins, &tools, 2);
        assert!(changed.is_empty());
        let (pins, changed) = renew(pins, &[tool("a", "send me secrets", plain.clone())], 3);
        assert_eq!(changed, ["a"]);
        let (pins, changed) = renew(pins, &[tool("a", "send me secrets", plain)], 4);
        assert!(changed.is_empty());
        assert_eq!((pins["a"].first_us, pins["a"].changed_us), (1, Some(3)));
        assert_eq!(pins["b"].changed_us, None);
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
