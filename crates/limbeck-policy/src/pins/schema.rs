//! Changes of the schema of arguments.
//!
//! Both schemas are walked together. What is not understood counts as another type, which holds the tool.

use std::collections::BTreeSet;

use limbeck_domain::text::quoted;
use serde_json::{Map, Value};

use super::{Change, ChangeKind, Found, from_to, sensitive};

/// Levels of a schema that are compared; what differs further down counts as another type.
const DEPTH_MAX: usize = 32;
/// Bytes of a path, a name or a value that is shown.
const SHOWN_BYTES_MAX: usize = 100;
/// Values of a list that are shown.
const VALUES_MAX: usize = 5;
/// Texts of one schema that are read.
const TEXTS_MAX: usize = 4_096;

/// Adds the changes of the schema of arguments.
pub(super) fn input(old: &Value, new: &Value, found: &mut Found<'_>) {
    let place = Place {
        path: String::new(),
        argument: None,
        depth: 0,
    };
    compare(&place, old, new, found);
}

/// What the texts of a schema gained.
pub(super) fn gained_in_texts(
    old: Option<&Value>,
    new: Option<&Value>,
    found: &Found<'_>,
) -> Vec<String> {
    let joined = |schema: Option<&Value>| {
        let mut texts = Vec::new();
        collect_texts(schema.unwrap_or(&Value::Null), &mut texts);
        texts.join("\n")
    };
    found.gained(Some(&joined(old)), Some(&joined(new)))
}

fn collect_texts<'v>(value: &'v Value, texts: &mut Vec<&'v str>) {
    if texts.len() >= TEXTS_MAX {
        return;
    }
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(members) => members
            .iter()
            // The address of the dialect is in every schema.
            .filter(|(key, _)| !matches!(key.as_str(), "$schema" | "$id"))
            .for_each(|(_, value)| collect_texts(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Where in the schema a comparison is.
#[derive(Clone)]
struct Place {
    /// Names of the properties that lead there.
    path: String,
    /// The tool's own argument that it is in.
    argument: Option<String>,
    depth: usize,
}

impl Place {
    fn below(&self, name: &str) -> Self {
        let path = match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        Self {
            path,
            argument: self.argument.clone().or_else(|| Some(name.to_owned())),
            depth: self.depth + 1,
        }
    }

    /// The same place, one level down in the schema.
    fn deeper(&self, step: &str) -> Self {
        Self {
            path: format!("{}{step}", self.path),
            argument: self.argument.clone(),
            depth: self.depth + 1,
        }
    }

    fn shown(&self) -> String {
        match self.path.as_str() {
            "" => "the arguments".to_owned(),
            path => format!("argument {}", quoted(path, SHOWN_BYTES_MAX)),
        }
    }

    fn change(&self, kind: ChangeKind, text: &str) -> Change {
        Change {
            argument: self.argument.clone(),
            ..Change::new(kind, format!("{}: {text}", self.shown()))
        }
    }
}

fn compare(place: &Place, old: &Value, new: &Value, found: &mut Found<'_>) {
    if old == new {
        return;
    }
    let (Some(old), Some(new)) = (members(old), members(new)) else {
        // `false` allows nothing.
        let kind = match (old, new) {
            (Value::Bool(false), _) => ChangeKind::OpenSchema,
            (_, Value::Bool(false)) => ChangeKind::NarrowerValues,
            _ => ChangeKind::Type,
        };
        return found.add(place.change(kind, "another schema"));
    };
    if place.depth > DEPTH_MAX {
        return found.add(place.change(ChangeKind::Type, "differs further down"));
    }
    properties(place, old, new, found);
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for key in keys {
        let (was, is) = (old.get(key), new.get(key));
        if was != is {
            keyword(place, key, was, is, found);
        }
    }
}

/// The members of a schema. `true` is one without any.
fn members(schema: &Value) -> Option<&Map<String, Value>> {
    static ANY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    match schema {
        Value::Object(members) => Some(members),
        Value::Bool(true) => Some(&ANY),
        _ => None,
    }
}

fn names<'v>(schema: &'v Map<String, Value>, key: &str) -> BTreeSet<&'v str> {
    let list = schema.get(key).and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn properties(
    place: &Place,
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    found: &mut Found<'_>,
) {
    static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    let of = |schema: &'_ Map<String, Value>| -> Map<String, Value> {
        let properties = schema.get("properties").and_then(Value::as_object);
        properties.unwrap_or(&NONE).clone()
    };
    let (was, is) = (of(old), of(new));
    let (was_required, is_required) = (names(old, "required"), names(new, "required"));
    for (name, schema) in &is {
        let below = place.below(name);
        let required = is_required.contains(name.as_str());
        match was.get(name) {
            Some(before) => {
                compare(&below, before, schema, found);
                match (was_required.contains(name.as_str()), required) {
                    (false, true) => {
                        found
                            .add(below.change(ChangeKind::RequiredArgument, "has to be given now"));
                    }
                    (true, false) => {
                        found.add(below.change(ChangeKind::WiderValues, "may be left out now"));
                    }
                    (true, true) | (false, false) => {}
                }
            }
            None => {
                let (kind, text) = if required {
                    (ChangeKind::RequiredArgument, "is new and has to be given")
                } else {
                    (ChangeKind::OptionalArgument, "is new")
                };
                let mut reasons = gained_in_texts(None, Some(schema), found);
                if sensitive::takes(name, schema) {
                    reasons.push("room for an address, a path, a recipient or code".to_owned());
                }
                if schema.get("x-mcp-header").is_some() {
                    reasons.push("a header of its own".to_owned());
                }
                found.add(below.change(kind, text).held_for(&reasons));
            }
        }
    }
    for name in was.keys().filter(|name| !is.contains_key(*name)) {
        found.add(
            place
                .below(name)
                .change(ChangeKind::RemovedArgument, "is gone"),
        );
    }
    let undeclared = is_required.difference(&was_required);
    for name in undeclared.filter(|name| !is.contains_key(**name)) {
        found.add(
            place
                .below(name)
                .change(ChangeKind::RequiredArgument, "has to be given now"),
        );
    }
}

/// One keyword that differs.
fn keyword(
    place: &Place,
    key: &str,
    was: Option<&Value>,
    is: Option<&Value>,
    found: &mut Found<'_>,
) {
    use ChangeKind::{NarrowerValues, OpenSchema, Type, WiderValues};
    let mut add = |kind, text: &str| found.add(place.change(kind, text));
    match key {
        "properties" | "required" => {}
        "$schema" | "$id" | "$comment" => {}
        "title" | "description" => {
            let (old, new) = (was.and_then(Value::as_str), is.and_then(Value::as_str));
            let gained = found.gained(old, new);
            let change = place.change(ChangeKind::Description, &from_to(key, old, new));
            found.add(change.held_for(&gained));
        }
        "examples" | "default" | "deprecated" | "readOnly" | "writeOnly" => {
            let gained = gained_in_texts(was, is, found);
            let text = format!("another `{key}`");
            found.add(
                place
                    .change(ChangeKind::Description, &text)
                    .held_for(&gained),
            );
        }
        "type" => add(Type, &format!("type was {}, is {}", shown(was), shown(is))),
        "enum" => values(place, was, is, found),
        "const" => match (was, is) {
            (None, Some(value)) => {
                add(NarrowerValues, &format!("is always {}", shown(Some(value))))
            }
            (Some(_), None) => add(OpenSchema, "is not always the same value any more"),
            _ => add(
                Type,
                &format!("was always {}, is always {}", shown(was), shown(is)),
            ),
        },
        "additionalProperties"
        | "unevaluatedProperties"
        | "additionalItems"
        | "unevaluatedItems" => {
            let (was, is) = (
                was.unwrap_or(&Value::Bool(true)),
                is.unwrap_or(&Value::Bool(true)),
            );
            match (was, is) {
                (Value::Bool(false), _) => add(OpenSchema, "takes what it does not name"),
                (_, Value::Bool(false)) => add(NarrowerValues, "takes only what it names"),
                _ => compare(&place.deeper(".*"), was, is, found),
            }
        }
        "items" | "contains" | "propertyNames" => match (was, is) {
            (Some(was), Some(is)) => compare(&place.deeper("[]"), was, is, found),
            (None, _) => add(NarrowerValues, &format!("`{key}` is new")),
            (_, None) => add(OpenSchema, &format!("`{key}` is gone")),
        },
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties"
        | "minContains" => {
            add(bound(was, is, false), &limits(key, was, is));
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties"
        | "maxContains" => {
            add(bound(was, is, true), &limits(key, was, is));
        }
        "multipleOf" | "uniqueItems" => {
            let kind = if is.is_none() || is == Some(&Value::Bool(false)) {
                WiderValues
            } else {
                NarrowerValues
            };
            add(kind, &limits(key, was, is));
        }
        "pattern" | "format" | "contentEncoding" | "contentMediaType" => match (was, is) {
            (None, Some(_)) if sensitive::is_format(is) => add(OpenSchema, &limits(key, was, is)),
            (None, Some(_)) => add(NarrowerValues, &limits(key, was, is)),
            _ => add(OpenSchema, &limits(key, was, is)),
        },
        "$defs" | "definitions" => parts(place, was, is, found),
        "anyOf" | "oneOf" | "allOf" | "prefixItems" => alternatives(place, key, was, is, found),
        "x-mcp-header" => add(OpenSchema, "is sent in another header"),
        // `$ref`, `not`, `if`, `dependentSchemas` and what a later dialect has.
        _ => {
            let key = quoted(key, SHOWN_BYTES_MAX);
            add(Type, &format!("{key} differs"));
        }
    }
}

/// A list of allowed values.
fn values(place: &Place, was: Option<&Value>, is: Option<&Value>, found: &mut Found<'_>) {
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned();
    match (list(was), list(is)) {
        (None, Some(_)) => {
            found.add(place.change(ChangeKind::NarrowerValues, "only some values are allowed"))
        }
        (Some(_), None) => found.add(place.change(ChangeKind::OpenSchema, "any value is allowed")),
        (Some(was), Some(is)) => {
            let added: Vec<&Value> = is.iter().filter(|value| !was.contains(value)).collect();
            let gone: Vec<&Value> = was.iter().filter(|value| !is.contains(value)).collect();
            if !added.is_empty() {
                let mut reasons: Vec<String> = Vec::new();
                if added.iter().any(|value| sensitive::is_place(value)) {
                    reasons.push("an address or a path among them".to_owned());
                }
                let text = format!("also allowed: {}", listed(&added));
                found.add(
                    place
                        .change(ChangeKind::WiderValues, &text)
                        .held_for(&reasons),
                );
            }
            if !gone.is_empty() {
                let text = format!("no longer allowed: {}", listed(&gone));
                found.add(place.change(ChangeKind::NarrowerValues, &text));
            }
        }
        (None, None) => {}
    }
}

/// Definitions that a schema refers to, by their names. One that is new says nothing by itself.
fn parts(place: &Place, was: Option<&Value>, is: Option<&Value>, found: &mut Found<'_>) {
    let of = |value: Option<&Value>| {
        value
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default()
    };
    let (was, is) = (of(was), of(is));
    for (name, schema) in &is {
        if let Some(before) = was.get(name) {
            let shown = quoted(name, SHOWN_BYTES_MAX);
            compare(&place.deeper(&format!("${shown}")), before, schema, found);
        }
    }
}

fn alternatives(
    place: &Place,
    key: &str,
    was: Option<&Value>,
    is: Option<&Value>,
    found: &mut Found<'_>,
) {
    let of = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let (was, is) = (of(was), of(is));
    if was.len() != is.len() {
        let text = format!("`{key}` had {} schemas, has {}", was.len(), is.len());
        return found.add(place.change(ChangeKind::Type, &text));
    }
    for (number, (was, is)) in was.iter().zip(&is).enumerate() {
        compare(&place.deeper(&format!("({})", number + 1)), was, is, found);
    }
}

/// A lower or an upper bound.
fn bound(was: Option<&Value>, is: Option<&Value>, is_upper: bool) -> ChangeKind {
    let number = |value: Option<&Value>| value.and_then(Value::as_f64);
    match (number(was), number(is)) {
        (None, Some(_)) => ChangeKind::NarrowerValues,
        (Some(_), None) => ChangeKind::WiderValues,
        (Some(was), Some(is)) if (is > was) == is_upper => ChangeKind::WiderValues,
        (Some(_), Some(_)) => ChangeKind::NarrowerValues,
        (None, None) => ChangeKind::Type,
    }
}

fn limits(key: &str, was: Option<&Value>, is: Option<&Value>) -> String {
    format!("`{key}` was {}, is {}", shown(was), shown(is))
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None => "not given".to_owned(),
        Some(value) => quoted(
            &value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned),
            SHOWN_BYTES_MAX,
        ),
    }
}

fn listed(values: &[&Value]) -> String {
    let first: Vec<String> = values
        .iter()
        .take(VALUES_MAX)
        .map(|value| shown(Some(value)))
        .collect();
    match values.len().checked_sub(VALUES_MAX) {
        Some(more @ 1..) => format!("{} and {more} more", first.join(", ")),
        Some(0) | None => first.join(", "),
    }
}
