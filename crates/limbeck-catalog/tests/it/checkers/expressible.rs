//! The part of a schema that the types of a language can express, as a schema.
//!
//! A type checker must reject a mutated value exactly when this schema rejects it. Everything that is removed here is a
//! constraint that no declaration can express; the list is short so that it can be reviewed.

use serde_json::{Map, Value, json};

/// Whose types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checker {
    Typescript,
    Python,
}

/// Which properties an object may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Others {
    /// A name that no schema has: type checkers refuse it in every alternative.
    Unheard,
    /// A name of one alternative is taken in every other one too.
    OfAlternatives,
}

/// Keywords that a type expresses completely.
const SAID: [&str; 5] = ["$ref", "$schema", "required", "const", "enum"];
/// Names that every object of TypeScript has, so that a type cannot say what else is meant by them.
const INHERITED: [&str; 7] = [
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "toString",
    "valueOf",
];

/// `schema` without the constraints that the types of `checker` cannot express.
pub(crate) fn expressible(schema: &Value, checker: Checker, others: Others) -> Value {
    let weakener = Weakener {
        checker,
        others,
        ignores_siblings: ignores_siblings(schema),
    };
    weakener.weaken(schema, false)
}

fn ignores_siblings(root: &Value) -> bool {
    root["$schema"]
        .as_str()
        .is_some_and(|dialect| dialect.contains("draft-07"))
}

/// Whether every list has the properties that a value must have, and one that it may: TypeScript asks for no
/// more.
fn is_like_list(schema: &Map<String, Value>) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    let shared = |name: &String| name == "length" || INHERITED.contains(&name.as_str());
    schema
        .get("required")
        .is_none_or(|names| *names == json!([]))
        && properties.is_some_and(|properties| properties.keys().any(shared))
}

struct Weakener {
    checker: Checker,
    others: Others,
    ignores_siblings: bool,
}

impl Weakener {
    /// `in_part`: the schema is one of several that hold for the same value.
    fn weaken(&self, schema: &Value, in_part: bool) -> Value {
        let Value::Object(schema) = schema else {
            return if schema == &Value::Bool(false) {
                json!(false)
            } else {
                json!(true)
            };
        };
        if self.ignores_siblings && schema.contains_key("$ref") {
            let kept = ["$ref", "$schema", "definitions"].into_iter();
            let kept =
                kept.filter_map(|keyword| Some((keyword.to_owned(), schema.get(keyword)?.clone())));
            return Value::Object(kept.collect());
        }
        let combined = ["$ref", "anyOf", "oneOf", "allOf"];
        let is_combined = combined.iter().any(|keyword| schema.contains_key(*keyword));
        let in_part = in_part || is_combined;
        let mut kept = Map::new();
        for (keyword, value) in schema {
            match (keyword.as_str(), value) {
                ("$defs" | "definitions", Value::Object(map)) => {
                    let map = map
                        .iter()
                        .map(|(name, part)| (name.clone(), self.weaken(part, true)));
                    kept.insert(keyword.clone(), map.collect());
                }
                ("anyOf" | "oneOf" | "allOf", Value::Array(list)) => {
                    // One of the alternatives is as much as a type says.
                    let keyword = if keyword == "oneOf" { "anyOf" } else { keyword };
                    let list: Value = list.iter().map(|part| self.weaken(part, true)).collect();
                    kept.insert(keyword.to_owned(), list);
                }
                ("type", value) => drop(kept.insert(keyword.clone(), self.types(value))),
                ("properties", Value::Object(map)) => {
                    let map = map.iter().map(|(name, property)| {
                        let required = schema
                            .get("required")
                            .and_then(Value::as_array)
                            .is_some_and(|names| names.iter().any(|one| one == name));
                        let lost = self.checker == Checker::Typescript
                            && !required
                            && INHERITED.contains(&name.as_str());
                        (
                            name.clone(),
                            if lost {
                                json!(true)
                            } else {
                                self.weaken(property, false)
                            },
                        )
                    });
                    kept.insert(keyword.clone(), map.collect());
                }
                ("enum" | "const", value) => drop(kept.insert("enum".into(), value.clone())),
                _ if SAID.contains(&keyword.as_str()) => {
                    drop(kept.insert(keyword.clone(), value.clone()))
                }
                _ => {}
            }
        }
        if self.checker == Checker::Typescript && is_like_list(schema) {
            kept.remove("type");
        }
        self.arrays(schema, &mut kept);
        self.objects(schema, &mut kept, in_part);
        self.literals(&mut kept);
        if self.checker == Checker::Python {
            return self.one(schema, kept);
        }
        Value::Object(kept)
    }

    fn types(&self, types: &Value) -> Value {
        let names = match types {
            Value::Array(names) => names.clone(),
            name => vec![name.clone()],
        };
        let mut widened = Vec::new();
        for name in names {
            match (self.checker, name.as_str()) {
                // TypeScript has one kind of numbers; in Python a boolean is an integer.
                (Checker::Typescript, Some("integer")) => widened.push(json!("number")),
                (Checker::Python, Some("integer" | "number")) => {
                    widened.extend([name, json!("boolean")])
                }
                _ => widened.push(name),
            }
        }
        widened.dedup();
        let mut once: Vec<Value> = Vec::new();
        for name in widened {
            if !once.contains(&name) {
                once.push(name);
            }
        }
        Value::Array(once)
    }

    fn arrays(&self, schema: &Map<String, Value>, kept: &mut Map<String, Value>) {
        let (prefix, items) = match (schema.get("prefixItems"), schema.get("items")) {
            (Some(Value::Array(prefix)), items) => (prefix.clone(), items),
            (_, Some(Value::Array(prefix))) => (prefix.clone(), schema.get("additionalItems")),
            (_, items) => (Vec::new(), items),
        };
        let items = items.map(|items| self.weaken(items, false));
        if prefix.is_empty() {
            kept.extend(items.map(|items| ("items".to_owned(), items)));
            return;
        }
        let length = prefix.len() as u64;
        let prefix: Vec<Value> = prefix.iter().map(|item| self.weaken(item, false)).collect();
        if self.checker == Checker::Python {
            // A list has items of one type, wherever they are.
            let any: Vec<Value> = prefix
                .into_iter()
                .chain(items.filter(|items| *items != json!(false)))
                .collect();
            kept.insert("items".into(), json!({ "anyOf": any }));
            return;
        }
        let limit = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
        let is_full = limit("maxItems").is_some_and(|most| most <= length);
        let rest = if is_full {
            json!(false)
        } else {
            items.unwrap_or(json!(true))
        };
        let older = schema.get("prefixItems").is_none();
        let (first, then) = if older {
            ("items", "additionalItems")
        } else {
            ("prefixItems", "items")
        };
        kept.insert(first.into(), prefix.into());
        kept.insert(then.into(), rest);
        kept.insert(
            "minItems".into(),
            limit("minItems").unwrap_or(0).min(length).into(),
        );
    }

    fn objects(&self, schema: &Map<String, Value>, kept: &mut Map<String, Value>, in_part: bool) {
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        let has_fields = ["properties", "required"].iter().any(|keyword| {
            schema
                .get(*keyword)
                .is_some_and(|value| *value != json!({}) && *value != json!([]))
        });
        let others = schema.get("additionalProperties");
        let mut any: Vec<Value> = patterns
            .into_iter()
            .flat_map(Map::values)
            .map(|part| self.weaken(part, false))
            .collect();
        match others {
            Some(Value::Bool(false)) => {}
            Some(others) => any.push(self.weaken(others, false)),
            None if patterns.is_none() => return,
            None => {}
        }
        let is_closed = any.is_empty();
        let rest = if is_closed {
            json!(false)
        } else {
            json!({ "anyOf": any })
        };
        // Of one part that has no other properties a type cannot say that the others have none.
        let is_lost = if is_closed {
            in_part && self.others == Others::OfAlternatives
        } else {
            has_fields
        };
        if !is_lost {
            kept.insert("additionalProperties".into(), rest);
        }
    }

    /// Lists and objects cannot be literals; a checker gets their type.
    fn literals(&self, kept: &mut Map<String, Value>) {
        let Some(values) = kept.remove("enum") else {
            return;
        };
        let values = match values {
            Value::Array(values) => values,
            value => vec![value],
        };
        let any: Vec<Value> = values
            .into_iter()
            .map(|value| match value {
                Value::Array(_) => json!({"type": "array"}),
                Value::Object(_) => json!({"type": "object"}),
                // Python has no literals with a fraction.
                Value::Number(number) if self.checker == Checker::Python && number.is_f64() => {
                    json!({"type": ["number", "boolean"]})
                }
                value => json!({ "enum": [value] }),
            })
            .collect();
        let mut all = vec![json!({ "anyOf": any })];
        if let Some(Value::Array(had)) = kept.remove("allOf") {
            all.extend(had);
        }
        kept.insert("allOf".into(), all.into());
    }

    /// In Python a value has one type: objects are merged, and of other parts one is declared.
    fn one(&self, schema: &Map<String, Value>, mut kept: Map<String, Value>) -> Value {
        let object = schema.contains_key("properties");
        let own = object
            || schema.contains_key("required")
            || schema.get("type").is_some_and(|kind| kind != "object");
        let all = schema
            .get("allOf")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        let any = ["$ref", "anyOf", "oneOf"]
            .iter()
            .filter(|keyword| schema.contains_key(**keyword))
            .count();
        if usize::from(own) + all + any > 1 {
            kept.remove("anyOf");
            kept.remove("additionalProperties");
            if !object {
                kept.remove("allOf");
                kept.remove("$ref");
                kept.remove("items");
            }
        }
        // An object of known and other properties is a dictionary of anything.
        let others = schema.get("additionalProperties");
        let is_open = others.is_some_and(|others| *others != json!(false))
            || schema.contains_key("patternProperties");
        if object && is_open {
            return json!({"type": "object"});
        }
        Value::Object(kept)
    }
}
