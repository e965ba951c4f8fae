//! Count of the steps of a check before it is made.
//!
//! Checking a value against a schema visits pairs of a schema and a part of the value. With references one pair can be
//! reached on many paths, and the checker follows each of them: with two alternatives per level that is exponential in
//! the depth. The count visits each pair once and reuses its result, so counting itself is cheap.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::schema::local_reference;

/// Most nested schemas during a check, followed references included. The checker recurses to the same depth, and a
/// thread's stack has 2 MiB.
const DEPTH_MAX: usize = 192;
/// Bytes of text that a pattern or a comparison processes in about one step.
const BYTES_PER_STEP: usize = 64;

/// Steps of checking `value` against `schema`, about 50 ns each. `None` when there are more than `steps_max`, or when a
/// reference leads to itself for the same part of the value.
pub(super) fn steps(schema: &Value, value: &Value, steps_max: u64) -> Option<u64> {
    let mut meter = StepCounter {
        root: schema,
        counted: HashMap::new(),
        left: steps_max,
        steps_max,
    };
    meter.count(schema, value, 0)
}

struct StepCounter<'s> {
    root: &'s Value,
    /// Steps by the addresses of a reference's target and of a part of the value; `None` while they are counted.
    counted: HashMap<(usize, usize), Option<u64>>,
    /// Pairs that may still be visited.
    left: u64,
    steps_max: u64,
}

impl<'s> StepCounter<'s> {
    fn count(&mut self, schema: &'s Value, value: &Value, depth: usize) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        let Value::Object(schema) = schema else {
            return Some(1);
        };
        if depth >= DEPTH_MAX {
            return None;
        }
        let depth = depth + 1;
        let mut steps = 1 + self.in_place(schema, value, depth)?;
        steps += match value {
            Value::Object(map) => self.properties(schema, map, depth)?,
            Value::Array(items) => self.items(schema, items, depth)?,
            Value::String(text) => text_steps(text),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        };
        if schema.contains_key("unevaluatedProperties") || schema.contains_key("unevaluatedItems") {
            // The checker walks the schema again to find the properties that were evaluated.
            steps *= 2;
        }
        (steps <= self.steps_max).then_some(steps)
    }

    /// Keywords that apply to the same part of the value.
    fn in_place(
        &mut self,
        schema: &'s Map<String, Value>,
        value: &Value,
        depth: usize,
    ) -> Option<u64> {
        let mut steps = 0;
        if let Some(Value::String(reference)) = schema.get("$ref") {
            steps += self.reference(reference, value, depth)?;
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            steps += self.sum(list(schema, keyword), value, depth)?;
        }
        for keyword in ["not", "if", "then", "else"] {
            steps += self.sum(schema.get(keyword).into_iter(), value, depth)?;
        }
        for keyword in ["dependentSchemas", "dependencies"] {
            steps += self.sum(map(schema, keyword).map(|(_, inner)| inner), value, depth)?;
        }
        for keyword in ["enum", "required"] {
            steps += list(schema, keyword).count() as u64;
        }
        Some(steps)
    }

    fn sum(
        &mut self,
        mut schemas: impl Iterator<Item = &'s Value>,
        value: &Value,
        depth: usize,
    ) -> Option<u64> {
        schemas.try_fold(0, |steps, inner| {
            Some(steps + self.count(inner, value, depth)?)
        })
    }

    fn reference(&mut self, reference: &str, value: &Value, depth: usize) -> Option<u64> {
        let Some(target) = local_reference(self.root, reference) else {
            return Some(1);
        };
        let pair = (
            std::ptr::from_ref(target).addr(),
            std::ptr::from_ref(value).addr(),
        );
        match self.counted.get(&pair) {
            Some(Some(steps)) => return Some(*steps),
            // A cycle: the reference leads to itself for the same part of the value.
            Some(None) => return None,
            None => {}
        }
        self.counted.insert(pair, None);
        let steps = self.count(target, value, depth)?;
        self.counted.insert(pair, Some(steps));
        Some(steps)
    }

    fn properties(
        &mut self,
        schema: &'s Map<String, Value>,
        value: &Map<String, Value>,
        depth: usize,
    ) -> Option<u64> {
        let mut steps = value.len() as u64;
        for (name, inner) in map(schema, "properties") {
            steps += 1;
            if let Some(part) = value.get(name) {
                steps += self.count(inner, part, depth)?;
            }
        }
        for (_, inner) in map(schema, "patternProperties") {
            for (name, part) in value {
                steps += 1 + text_steps(name) + self.count(inner, part, depth)?;
            }
        }
        let named = schema.get("properties").and_then(Value::as_object);
        let is_named = |name: &str| named.is_some_and(|named| named.contains_key(name));
        for keyword in ["additionalProperties", "unevaluatedProperties"] {
            let Some(inner) = schema.get(keyword) else {
                continue;
            };
            for (_, part) in value.iter().filter(|(name, _)| !is_named(name)) {
                steps += self.count(inner, part, depth)?;
            }
        }
        if let Some(inner) = schema.get("propertyNames") {
            // A name costs as much as null, plus its length.
            for name in value.keys() {
                steps += text_steps(name) + self.count(inner, &Value::Null, depth)?;
            }
        }
        Some(steps)
    }

    fn items(
        &mut self,
        schema: &'s Map<String, Value>,
        items: &[Value],
        depth: usize,
    ) -> Option<u64> {
        let mut steps = items.len() as u64;
        for keyword in ["items", "prefixItems"] {
            for (inner, item) in list(schema, keyword).zip(items) {
                steps += self.count(inner, item, depth)?;
            }
        }
        for keyword in ["items", "additionalItems", "contains", "unevaluatedItems"] {
            if let Some(inner @ (Value::Object(_) | Value::Bool(_))) = schema.get(keyword) {
                for item in items {
                    steps += self.count(inner, item, depth)?;
                }
            }
        }
        if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
            steps += 16 * items.len() as u64;
        }
        Some(steps)
    }
}

fn list<'s>(
    schema: &'s Map<String, Value>,
    keyword: &str,
) -> impl Iterator<Item = &'s Value> + use<'s> {
    let list = schema.get(keyword).and_then(Value::as_array);
    list.into_iter().flatten()
}

fn map<'s>(
    schema: &'s Map<String, Value>,
    keyword: &str,
) -> impl Iterator<Item = (&'s String, &'s Value)> + use<'s> {
    let map = schema.get(keyword).and_then(Value::as_object);
    map.into_iter().flatten()
}

fn text_steps(text: &str) -> u64 {
    (text.len() / BYTES_PER_STEP) as u64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_small_check_takes_few_steps() {
        let schema = json!({"properties": {"a": {"type": "string"}}, "required": ["a"]});
        let steps = steps(&schema, &json!({"a": "x"}), 1_000);
        assert!(steps.is_some_and(|steps| steps < 10), "{steps:?}");
    }

    #[test]
    fn alternatives_that_double_at_each_level_are_too_many_and_soon_found_out() {
        let mut definitions = Map::new();
        for level in 0..60 {
            let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
            definitions.insert(format!("l{level}"), json!({"allOf": [next, next]}));
        }
        definitions.insert("l60".into(), json!({"type": "object"}));
        let schema = json!({"$ref": "#/$defs/l0", "$defs": definitions});
        assert_eq!(steps(&schema, &json!({}), 1_000_000), None);
    }

    #[test]
    fn recursion_through_the_value_is_counted_and_in_place_is_refused() {
        let tree = json!({"properties": {"child": {"$ref": "#"}}});
        assert!(steps(&tree, &json!({"child": {"child": {}}}), 1_000).is_some());
        let circle = json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}});
        assert_eq!(steps(&circle, &json!({}), 1_000), None);
    }
}
