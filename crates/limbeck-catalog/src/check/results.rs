//! Whether a part that a program reads of a result can be there at all.

use limbeck_domain::site::ANY_ITEM;
use serde_json::{Map, Value};

use crate::nearest::nearest;
use crate::schema::local_reference;

/// References and alternatives that are followed for one read.
const STEPS_MAX: usize = 64;
/// Keywords that may bring in properties which are not listed beside them.
const OPENING: [&str; 9] = [
    "$dynamicRef",
    "allOf",
    "dependentSchemas",
    "else",
    "if",
    "not",
    "patternProperties",
    "then",
    "unevaluatedProperties",
];

/// What a schema says about a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// It may be there.
    Possible,
    /// It is not listed.
    Absent(Absent),
}

/// A part that is not listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Absent {
    /// Whether nothing but what is listed can be there.
    pub(super) surely: bool,
    /// How many names of the path lead to the part, itself included.
    pub(super) depth: usize,
    /// What there is in its place: names, or another kind of value.
    pub(super) instead: Instead,
}

/// What a value has that lacks a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Instead {
    /// Properties, those most like the name in front, and how many there are in all.
    Properties(Vec<String>, usize),
    /// No properties: the JSON type.
    Kind(&'static str),
}

/// Looks for the part at `path` in results that `schema` describes.
pub(super) fn part(schema: &Value, path: &[String]) -> Part {
    let mut steps = STEPS_MAX;
    find(schema, schema, path, 0, &mut steps)
}

fn find(root: &Value, schema: &Value, path: &[String], depth: usize, steps: &mut usize) -> Part {
    let Some(name) = path.get(depth) else {
        return Part::Possible;
    };
    let Some(left) = steps.checked_sub(1) else {
        return Part::Possible;
    };
    *steps = left;
    let Some(keywords) = schema.as_object() else {
        return Part::Possible;
    };
    if let Some(reference) = keywords.get("$ref").and_then(Value::as_str) {
        let only = keywords.keys().all(|key| !says_more(key));
        return match local_reference(root, reference) {
            Some(target) if only => find(root, target, path, depth, steps),
            _ => Part::Possible,
        };
    }
    if OPENING
        .iter()
        .any(|keyword| keywords.contains_key(*keyword))
    {
        return Part::Possible;
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(alternatives) = keywords.get(keyword).and_then(Value::as_array) {
            return any_of(root, alternatives, path, depth, steps);
        }
    }
    match kind_of(keywords) {
        Some("object") => match name.as_str() {
            ANY_ITEM => Part::Possible,
            name => property(root, keywords, name, path, depth, steps),
        },
        Some("array") if name == ANY_ITEM => match keywords.get("items") {
            Some(items) if !keywords.contains_key("prefixItems") => {
                find(root, items, path, depth + 1, steps)
            }
            _ => Part::Possible,
        },
        Some(kind @ ("array" | "string")) if name != "length" && name != ANY_ITEM => {
            other(kind, depth)
        }
        Some(kind @ ("number" | "integer" | "boolean")) => other(kind, depth),
        _ => Part::Possible,
    }
}

/// Whether a keyword beside `$ref` may add to what it refers to.
fn says_more(keyword: &str) -> bool {
    !matches!(
        keyword,
        "$ref" | "title" | "description" | "default" | "examples" | "deprecated" | "$comment"
    )
}

fn kind_of(keywords: &Map<String, Value>) -> Option<&'static str> {
    let kinds = ["object", "array", "string", "number", "integer", "boolean"];
    let named = match keywords.get("type") {
        None if keywords.contains_key("properties") => "object",
        Some(Value::String(kind)) => kind,
        // `["object", "null"]`: a read of null fails for another reason.
        Some(Value::Array(kinds)) => {
            let mut others = kinds.iter().filter(|kind| *kind != "null");
            match (others.next(), others.next()) {
                (Some(Value::String(kind)), None) => kind,
                _ => return None,
            }
        }
        _ => return None,
    };
    kinds.into_iter().find(|kind| *kind == named)
}

fn property(
    root: &Value,
    keywords: &Map<String, Value>,
    name: &str,
    path: &[String],
    depth: usize,
    steps: &mut usize,
) -> Part {
    let Some(properties) = keywords.get("properties").and_then(Value::as_object) else {
        return Part::Possible;
    };
    if let Some(schema) = properties.get(name) {
        return find(root, schema, path, depth + 1, steps);
    }
    let surely = match keywords.get("additionalProperties") {
        Some(Value::Bool(false)) => true,
        // An object that is made to hold any names may hold this one.
        Some(_) => return Part::Possible,
        None => false,
    };
    let listed = || properties.keys().map(String::as_str);
    let mut names: Vec<String> = nearest(name, listed().map(|name| (name, name)))
        .into_iter()
        .map(str::to_owned)
        .collect();
    let others: Vec<String> = listed()
        .filter(|name| !names.iter().any(|near| near == name))
        .map(str::to_owned)
        .collect();
    names.extend(others);
    let count = names.len();
    names.truncate(8);
    Part::Absent(Absent {
        surely,
        depth: depth + 1,
        instead: Instead::Properties(names, count),
    })
}

fn other(kind: &'static str, depth: usize) -> Part {
    Part::Absent(Absent {
        surely: true,
        depth: depth + 1,
        instead: Instead::Kind(kind),
    })
}

/// Absent is what no alternative has; surely so, when all of them say so.
fn any_of(
    root: &Value,
    alternatives: &[Value],
    path: &[String],
    depth: usize,
    steps: &mut usize,
) -> Part {
    let mut absent: Option<Absent> = None;
    for alternative in alternatives {
        if alternative.get("type").is_some_and(|kind| kind == "null") {
            continue;
        }
        match find(root, alternative, path, depth, steps) {
            Part::Possible => return Part::Possible,
            Part::Absent(this) => {
                absent = Some(match absent {
                    None => this,
                    Some(before) => Absent {
                        surely: before.surely && this.surely,
                        ..before
                    },
                });
            }
        }
    }
    absent.map_or(Part::Possible, Part::Absent)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn looked_up(schema: &Value, path: &[&str]) -> Option<bool> {
        let path: Vec<String> = path.iter().map(|name| (*name).to_owned()).collect();
        match part(schema, &path) {
            Part::Possible => None,
            Part::Absent(absent) => Some(absent.surely),
        }
    }

    #[test]
    fn a_part_is_surely_absent_only_where_the_schema_is_closed() {
        let closed = json!({"type": "object", "properties": {"items": {"type": "array", "items": {"$ref": "#/$defs/item"}}},
            "additionalProperties": false,
            "$defs": {"item": {"type": "object", "properties": {"id": {"type": "integer"}, "by": {}}}}});
        for (path, surely) in [
            (&["items"][..], None),
            (&["item"], Some(true)),
            (&["items", "length"], None),
            (&["items", "first"], Some(true)),
            (&["items", "[]", "id"], None),
            (&["items", "[]", "name"], Some(false)),
            (&["items", "[]", "id", "x"], Some(true)),
            (&["items", "[]", "by", "anything"], None),
            (&["[]"], None),
        ] {
            assert_eq!(looked_up(&closed, path), surely, "{path:?}");
        }
    }

    #[test]
    fn whatever_may_bring_in_a_name_speaks_for_the_program() {
        for schema in [
            json!(true),
            json!({}),
            json!({"type": "object"}),
            json!({"type": "object", "properties": {"b": {}}, "additionalProperties": {"type": "string"}}),
            json!({"type": "object", "properties": {"b": {}}, "patternProperties": {"^a": {}}}),
            json!({"type": ["object", "string"], "properties": {"b": {}}, "additionalProperties": false}),
            json!({"allOf": [{"properties": {"a": {}}}], "properties": {"b": {}}, "additionalProperties": false}),
            json!({"anyOf": [{"type": "object", "properties": {"a": {}}}, {"type": "object", "properties": {"b": {}}, "additionalProperties": false}]}),
            json!({"$ref": "https://example.com/schema"}),
            json!({"$ref": "#"}),
        ] {
            assert_eq!(looked_up(&schema, &["a"]), None, "{schema}");
        }
        let nullable = json!({"anyOf": [{"type": "null"}, {"type": "object", "properties": {"b": {}}, "additionalProperties": false}]});
        assert_eq!(looked_up(&nullable, &["a"]), Some(true));
    }
}
