//! Questions about the keywords of a schema.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::types::{Plain, Type};

/// Number of parts of a schema that each describe the value: its own keywords, a reference, alternatives and the
/// members of `allOf`.
pub(super) fn parts(schema: &Map<String, Value>) -> usize {
    const OWN: [&str; 8] = [
        "additionalProperties",
        "const",
        "enum",
        "items",
        "patternProperties",
        "prefixItems",
        "properties",
        "required",
    ];
    let says_type = schema.get("type").is_some_and(|kind| kind != "object");
    let own = says_type || OWN.iter().any(|keyword| schema.contains_key(*keyword));
    let others = ["$ref", "anyOf", "oneOf"];
    let others = others
        .iter()
        .filter(|keyword| schema.contains_key(**keyword));
    let all = schema.get("allOf").and_then(Value::as_array);
    usize::from(own) + others.count() + all.map_or(0, Vec::len)
}

/// Whether the target of a reference gets a name: it may contain itself, or is too large to be printed twice.
pub(super) fn deserves_name(target: &Value) -> bool {
    const HOLD: [&str; 8] = [
        "additionalProperties",
        "allOf",
        "anyOf",
        "items",
        "oneOf",
        "patternProperties",
        "prefixItems",
        "properties",
    ];
    let holds = |keyword: &&str| {
        matches!(
            target.get(keyword),
            Some(Value::Object(_) | Value::Array(_))
        )
    };
    HOLD.iter().any(holds)
}

/// Name of a reference's target: the last part of the reference that is a name.
pub(super) fn name_of(reference: &str) -> &str {
    const PLACES: [&str; 9] = [
        "items",
        "prefixItems",
        "properties",
        "additionalProperties",
        "patternProperties",
        "allOf",
        "anyOf",
        "oneOf",
        "#",
    ];
    let is_name = |part: &&str| {
        !part.is_empty()
            && !PLACES.contains(part)
            && !part.bytes().all(|byte| byte.is_ascii_digit())
    };
    reference.rsplit('/').find(is_name).unwrap_or("the whole")
}

/// Whether a schema without a `type` describes objects. JSON Schema lets it accept any other value too, which its author
/// does not intend.
pub(super) fn says_object(schema: &Map<String, Value>) -> bool {
    match schema.get("type") {
        Some(kind) => kind == "object",
        None => {
            schema.contains_key("properties")
                || schema.contains_key("patternProperties")
                || matches!(schema.get("additionalProperties"), Some(Value::Object(_)))
        }
    }
}

/// Whether references or alternatives describe the values of this schema.
pub(super) fn combines(schema: &Map<String, Value>) -> bool {
    ["$ref", "allOf", "anyOf", "oneOf"]
        .into_iter()
        .any(|keyword| schema.contains_key(keyword))
}

/// Names in `required`, without duplicates.
pub(super) fn required_names(schema: &Map<String, Value>) -> Vec<&str> {
    let Some(Value::Array(names)) = schema.get("required") else {
        return Vec::new();
    };
    let mut seen = HashSet::new();
    let names = names.iter().filter_map(Value::as_str);
    names.filter(|name| seen.insert(*name)).collect()
}

pub(super) fn kind_of(value: &Value) -> Type {
    match value {
        Value::Null => Type::Plain(Plain::Null),
        Value::Bool(_) => Type::Plain(Plain::Boolean),
        Value::Number(number) if number.is_f64() => Type::Plain(Plain::Number),
        Value::Number(_) => Type::Plain(Plain::Integer),
        Value::String(_) => Type::Plain(Plain::String),
        Value::Array(_) => Type::Array(Box::new(Type::Unknown(None))),
        Value::Object(_) => Type::any_object(),
    }
}
