//! Lookup of the part of a result that a program reads, in the tool's output schema.

use limbeck_domain::site::{ANY_ITEM, ANY_MEMBER, PARSED};
use serde_json::{Map, Value};

use crate::nearest::nearest;
use crate::schema::local_reference;

/// References and alternatives followed for one lookup.
const STEPS_MAX: usize = 64;
/// Keywords that may allow properties other than the listed ones.
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

/// Result of a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PartLookup {
    /// The part may exist.
    Possible,
    /// The schema does not list the part.
    Missing(MissingPart),
}

/// A part that the schema does not list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MissingPart {
    /// Whether the schema forbids parts that it does not list.
    pub(crate) surely: bool,
    /// Number of names in the path up to the part, itself included.
    pub(crate) depth: usize,
    /// Parts that the schema lists in its place.
    pub(crate) available: Available,
}

/// Parts of a value that lacks the requested one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Available {
    /// Names of properties, the most similar first, and the total number of properties.
    Properties(Vec<String>, usize),
    /// JSON type of a value without properties.
    Kind(&'static str),
}

/// Looks up the part at `path` in values that `schema` describes.
pub(crate) fn part(schema: &Value, path: &[String]) -> PartLookup {
    let mut steps = STEPS_MAX;
    find(schema, schema, path, 0, &mut steps)
}

/// Whether `schema` lists the part at `path`, in one of its alternatives at least: the part is there, or may be absent in some
/// results.
pub(crate) fn lists(schema: &Value, path: &[String]) -> bool {
    let mut steps = STEPS_MAX;
    !schemas_at(schema, schema, path, &mut steps).is_empty()
}

/// The texts that the part at `path` may be: those of its `enum` or `const`, in all alternatives. `None` where it may be others.
pub(crate) fn texts(schema: &Value, path: &[String]) -> Option<Vec<String>> {
    let mut steps = STEPS_MAX;
    let found = schemas_at(schema, schema, path, &mut steps);
    if found.is_empty() || steps == 0 {
        return None;
    }
    let mut texts = Vec::new();
    for schema in found {
        if schema.get("type").is_some_and(|kind| kind == "null") {
            continue;
        }
        let values = match (schema.get("enum"), schema.get("const")) {
            (Some(Value::Array(values)), _) => values.as_slice(),
            (_, Some(value)) => std::slice::from_ref(value),
            _ => return None,
        };
        texts.extend(values.iter().filter_map(Value::as_str).map(str::to_owned));
    }
    Some(texts)
}

/// The type of the part at `path`, where it is surely a number or a truth value in every alternative.
pub(crate) fn plain_kind(schema: &Value, path: &[String]) -> Option<&'static str> {
    let mut steps = STEPS_MAX;
    let found = schemas_at(schema, schema, path, &mut steps);
    if steps == 0 {
        return None;
    }
    let mut plain = None;
    for schema in found {
        let keywords = schema.as_object()?;
        if keywords.get("type").is_some_and(|kind| kind == "null") {
            continue;
        }
        let kind =
            kind_of(keywords).filter(|kind| matches!(*kind, "number" | "integer" | "boolean"))?;
        if plain.is_some_and(|before| before != kind) {
            return None;
        }
        plain = Some(kind);
    }
    plain
}

/// The schemas of the part at `path`, of every alternative that lists it.
fn schemas_at<'v>(
    root: &'v Value,
    schema: &'v Value,
    path: &[String],
    steps: &mut usize,
) -> Vec<&'v Value> {
    let Some(left) = steps.checked_sub(1) else {
        return Vec::new();
    };
    *steps = left;
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        return match local_reference(root, reference) {
            Some(target) => schemas_at(root, target, path, steps),
            None => Vec::new(),
        };
    }
    let mut found = Vec::new();
    let mut alternatives = false;
    for keyword in ["anyOf", "oneOf", "allOf"] {
        let schemas = schema.get(keyword).and_then(Value::as_array);
        for schema in schemas.into_iter().flatten() {
            alternatives = true;
            found.extend(schemas_at(root, schema, path, steps));
        }
    }
    let Some((name, rest)) = path.split_first() else {
        if !alternatives {
            found.push(schema);
        }
        return found;
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let members: Vec<&Value> = match name.as_str() {
        ANY_ITEM => schema.get("items").into_iter().collect(),
        ANY_MEMBER => {
            let others = schema.get("additionalProperties").into_iter();
            let items = schema.get("items").into_iter();
            let listed = properties.into_iter().flat_map(|listed| listed.values());
            listed.chain(others).chain(items).collect()
        }
        "length" if schema.get("items").is_some() => vec![schema],
        name => properties
            .and_then(|listed| listed.get(name))
            .into_iter()
            .collect(),
    };
    for member in members {
        found.extend(schemas_at(root, member, rest, steps));
    }
    found
}

fn find(
    root: &Value,
    schema: &Value,
    path: &[String],
    depth: usize,
    steps: &mut usize,
) -> PartLookup {
    let Some(name) = path.get(depth).filter(|name| *name != PARSED) else {
        // What a text holds is no part of a type.
        return PartLookup::Possible;
    };
    let Some(left) = steps.checked_sub(1) else {
        return PartLookup::Possible;
    };
    *steps = left;
    let Some(keywords) = schema.as_object() else {
        return PartLookup::Possible;
    };
    if let Some(reference) = keywords.get("$ref").and_then(Value::as_str) {
        let only = keywords.keys().all(|key| !says_more(key));
        return match local_reference(root, reference) {
            Some(target) if only => find(root, target, path, depth, steps),
            _ => PartLookup::Possible,
        };
    }
    if OPENING
        .iter()
        .any(|keyword| keywords.contains_key(*keyword))
    {
        return PartLookup::Possible;
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(alternatives) = keywords.get(keyword).and_then(Value::as_array) {
            return any_of(root, alternatives, path, depth, steps);
        }
    }
    let name = name.as_str();
    match kind_of(keywords) {
        Some("object") => match name {
            ANY_ITEM => PartLookup::Possible,
            ANY_MEMBER => any_member(root, keywords, path, depth, steps),
            name => property(root, keywords, name, path, depth, steps),
        },
        // The members of a list are its items.
        Some("array") if matches!(name, ANY_ITEM | ANY_MEMBER) => match keywords.get("items") {
            Some(items) if !keywords.contains_key("prefixItems") => {
                find(root, items, path, depth + 1, steps)
            }
            _ => PartLookup::Possible,
        },
        Some(_) if name == ANY_MEMBER => PartLookup::Possible,
        // A character of a text has what texts have.
        Some("string") if name == ANY_ITEM => match path.get(depth + 1).map(String::as_str) {
            None | Some("length" | ANY_ITEM | ANY_MEMBER) => PartLookup::Possible,
            Some(_) => other("string", depth + 1),
        },
        Some(kind @ ("array" | "string")) if name != "length" && name != ANY_ITEM => {
            other(kind, depth)
        }
        Some(kind @ ("number" | "integer" | "boolean")) => other(kind, depth),
        _ => PartLookup::Possible,
    }
}

/// Whether a keyword beside `$ref` may allow more than the reference does.
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
        // `["object", "null"]`: a nullable object is checked as an object.
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
) -> PartLookup {
    let Some(properties) = keywords.get("properties").and_then(Value::as_object) else {
        return PartLookup::Possible;
    };
    if let Some(schema) = properties.get(name) {
        return find(root, schema, path, depth + 1, steps);
    }
    let surely = match keywords.get("additionalProperties") {
        Some(Value::Bool(false)) => true,
        // The object accepts any name.
        Some(_) => return PartLookup::Possible,
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
    PartLookup::Missing(MissingPart {
        surely,
        depth: depth + 1,
        available: Available::Properties(names, count),
    })
}

/// A part of a member is missing when no member that an object may have lists it.
fn any_member(
    root: &Value,
    keywords: &Map<String, Value>,
    path: &[String],
    depth: usize,
    steps: &mut usize,
) -> PartLookup {
    let listed = keywords.get("properties").and_then(Value::as_object);
    let mut members: Vec<&Value> = listed
        .into_iter()
        .flat_map(|listed| listed.values())
        .collect();
    let is_closed = match keywords.get("additionalProperties") {
        Some(Value::Bool(true)) => return PartLookup::Possible,
        Some(Value::Bool(false)) => true,
        Some(others) => {
            members.push(others);
            true
        }
        None => false,
    };
    match any_of(root, members, path, depth + 1, steps) {
        PartLookup::Possible => PartLookup::Possible,
        PartLookup::Missing(missing) => PartLookup::Missing(MissingPart {
            surely: missing.surely && is_closed,
            ..missing
        }),
    }
}

fn other(kind: &'static str, depth: usize) -> PartLookup {
    PartLookup::Missing(MissingPart {
        surely: true,
        depth: depth + 1,
        available: Available::Kind(kind),
    })
}

/// A part is missing when no alternative lists it, and certainly missing when all of them forbid it.
fn any_of<'v>(
    root: &Value,
    alternatives: impl IntoIterator<Item = &'v Value>,
    path: &[String],
    depth: usize,
    steps: &mut usize,
) -> PartLookup {
    let mut missing: Option<MissingPart> = None;
    for alternative in alternatives {
        if alternative.get("type").is_some_and(|kind| kind == "null") {
            continue;
        }
        match find(root, alternative, path, depth, steps) {
            PartLookup::Possible => return PartLookup::Possible,
            PartLookup::Missing(this) => {
                missing = Some(match missing {
                    None => this,
                    Some(before) => MissingPart {
                        surely: before.surely && this.surely,
                        ..before
                    },
                });
            }
        }
    }
    missing.map_or(PartLookup::Possible, PartLookup::Missing)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn looked_up(schema: &Value, path: &[&str]) -> Option<bool> {
        let path: Vec<String> = path.iter().map(|name| (*name).to_owned()).collect();
        match part(schema, &path) {
            PartLookup::Possible => None,
            PartLookup::Missing(missing) => Some(missing.surely),
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
    fn a_part_of_any_member_is_absent_where_no_member_lists_it() {
        let price =
            json!({"type": "object", "properties": {"cents": {}}, "additionalProperties": false});
        let map = json!({"type": "object", "additionalProperties": price});
        assert_eq!(looked_up(&map, &["*", "cents"]), None);
        assert_eq!(looked_up(&map, &["*", "amount"]), Some(true));
        let record = json!({"type": "object", "properties": {"a": price, "b": {"type": "string"}}});
        assert_eq!(looked_up(&record, &["*", "cents"]), None);
        assert_eq!(looked_up(&record, &["*", "amount"]), Some(false));
        let list = json!({"type": "array", "items": price});
        assert_eq!(looked_up(&list, &["*", "amount"]), Some(true));
        for open in [
            json!({"type": "object", "properties": {"a": price}, "additionalProperties": true}),
            json!({"type": "object", "properties": {"a": price, "b": {}}}),
            json!({"type": "object"}),
            json!({"type": "string"}),
            json!({"type": "number"}),
        ] {
            assert_eq!(looked_up(&open, &["*", "amount"]), None, "{open}");
        }
    }

    #[test]
    fn a_schema_that_may_allow_the_name_never_reports_it_missing() {
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
