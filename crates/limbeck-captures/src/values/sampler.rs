//! Generator of values that a schema accepts, each confirmed by a validator.

use jsonschema::Validator;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::string::string_regex;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

use super::rng::Rng;
use super::validator;

/// Depth below which nothing optional is added.
const DEPTH_MAX: usize = 5;
/// Number of nested values after which nothing optional is added.
const VALUES_MAX: usize = 150;
/// Depth at which an attempt ends, because the schema requires itself recursively.
const DEPTH_END: usize = 24;
/// Attempts for one value.
const TRIES: u64 = 40;

/// Size of the generated value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Required parts only.
    Least,
    /// Every property, and items in every array.
    Most,
    /// Optional parts at random.
    Any,
}

/// Treatment of objects that may have properties besides the named ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unnamed {
    /// Add such properties.
    Given,
    /// Add them only to objects without named properties.
    Left,
}

/// Generates a value that `validator`, compiled from `schema`, accepts. `None` when no attempt succeeds.
pub fn instance(
    schema: &Value,
    validator: &Validator,
    size: Size,
    unnamed: Unnamed,
    seed: u64,
) -> Option<Value> {
    (0..TRIES).find_map(|attempt| {
        // A minimal or maximal value may not exist, so later attempts accept any size.
        let size = if attempt < TRIES / 2 { size } else { Size::Any };
        let mut sampler = SchemaSampler {
            root: schema,
            size,
            unnamed,
            left: VALUES_MAX,
            rng: Rng::new(seed.wrapping_mul(1_000).wrapping_add(attempt)),
        };
        let value = sampler.value(schema, 0)?;
        validator.is_valid(&value).then_some(value)
    })
}

struct SchemaSampler<'s> {
    root: &'s Value,
    size: Size,
    unnamed: Unnamed,
    left: usize,
    rng: Rng,
}

impl SchemaSampler<'_> {
    fn value(&mut self, schema: &Value, depth: usize) -> Option<Value> {
        if depth > DEPTH_END {
            return None;
        }
        self.left = self.left.saturating_sub(1);
        let Value::Object(schema) = schema else {
            return (schema != &Value::Bool(false)).then(|| self.anything());
        };
        let whole = self.whole(schema, 0)?;
        if let Some(value) = whole.get("const") {
            return Some(value.clone());
        }
        if let Some(Value::Array(values)) = whole.get("enum") {
            return (!values.is_empty()).then(|| self.rng.pick(values).clone());
        }
        let types: Vec<String> = match whole.get("type") {
            Some(Value::String(name)) => vec![name.clone()],
            Some(Value::Array(names)) => names
                .iter()
                .filter_map(|name| Some(name.as_str()?.to_owned()))
                .collect(),
            _ if [
                "properties",
                "required",
                "patternProperties",
                "additionalProperties",
            ]
            .iter()
            .any(|keyword| whole.contains_key(*keyword)) =>
            {
                vec!["object".into()]
            }
            _ if whole.contains_key("items") || whole.contains_key("prefixItems") => {
                vec!["array".into()]
            }
            _ if whole.contains_key("pattern") || whole.contains_key("format") => {
                vec!["string".into()]
            }
            _ => return Some(self.anything()),
        };
        let kind = match self.size {
            // Most keywords constrain non-null values.
            Size::Most => types
                .iter()
                .find(|name| *name != "null")
                .or(types.first())?
                .clone(),
            Size::Least | Size::Any if types.is_empty() => return None,
            Size::Least | Size::Any => self.rng.pick(&types).clone(),
        };
        match kind.as_str() {
            "string" => self.string(&whole),
            "number" => self.number(&whole, false),
            "integer" => self.number(&whole, true),
            "boolean" => Some(self.rng.half().into()),
            "null" => Some(Value::Null),
            "array" => self.array(&whole, depth),
            "object" => self.object(&whole, depth),
            _ => Some(self.anything()),
        }
    }

    /// Merges the schema with the targets of its references, one of its alternatives and all of `allOf`.
    fn whole(&mut self, schema: &Map<String, Value>, depth: usize) -> Option<Map<String, Value>> {
        if depth > DEPTH_END {
            return None;
        }
        let mut whole = schema.clone();
        let mut parts = Vec::new();
        if let Some(Value::String(reference)) = whole.remove("$ref") {
            let dialect = self.root["$schema"].as_str().unwrap_or_default();
            if dialect.contains("draft-07") {
                whole.clear();
            }
            parts.push(self.root.pointer(reference.strip_prefix('#')?)?.clone());
        }
        if let Some(Value::Array(all)) = whole.remove("allOf") {
            parts.extend(all);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(any)) = whole.remove(keyword) {
                parts.push(self.rng.pick(&any).clone());
            }
        }
        for part in parts {
            match part {
                Value::Object(part) => {
                    let part = self.whole(&part, depth + 1)?;
                    whole = both(whole, part)?;
                }
                Value::Bool(false) => return None,
                _ => {}
            }
        }
        Some(whole)
    }

    fn has_room(&self, depth: usize) -> bool {
        depth < DEPTH_MAX && self.left > 0
    }

    fn anything(&mut self) -> Value {
        let values = [
            json!("any"),
            json!(3),
            json!(true),
            json!(["a", 1]),
            json!({"k": "v"}),
        ];
        self.rng.pick(&values).clone()
    }

    fn string(&mut self, schema: &Map<String, Value>) -> Option<Value> {
        let limit = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
            return self.matching(pattern).map(Value::from);
        }
        let mut text = match schema.get("format").and_then(Value::as_str) {
            Some("date-time") => "2026-01-02T03:04:05Z".to_owned(),
            Some("date") => "2026-01-02".to_owned(),
            Some("time") => "03:04:05Z".to_owned(),
            Some("email") => "a@example.com".to_owned(),
            Some("uri" | "url" | "uri-reference") => "https://example.com/a".to_owned(),
            Some("uuid") => "3f2b0c1e-5a4d-4e6f-8a9b-0c1d2e3f4a5b".to_owned(),
            _ => (*self.rng.pick(&[
                "text",
                "",
                "two words",
                "quote \" \\ */",
                "\u{fc}\u{2028}\n",
            ]))
            .to_owned(),
        };
        let least = limit("minLength").unwrap_or(0) as usize;
        while text.chars().count() < least {
            text.push('x');
        }
        let most = limit("maxLength").unwrap_or(u64::MAX);
        Some(
            text.chars()
                .take(usize::try_from(most).unwrap_or(usize::MAX))
                .collect::<String>()
                .into(),
        )
    }

    /// A text that matches `pattern`, when it is simple enough to be turned round.
    fn matching(&mut self, pattern: &str) -> Option<String> {
        let inner = pattern.strip_prefix('^').unwrap_or(pattern);
        let inner = inner.strip_suffix('$').unwrap_or(inner);
        let mut runner = TestRunner::new_with_rng(
            proptest::test_runner::Config::default(),
            proptest::test_runner::TestRng::from_seed(
                proptest::test_runner::RngAlgorithm::XorShift,
                &[self.rng.number(), self.rng.number()]
                    .map(u64::to_le_bytes)
                    .concat(),
            ),
        );
        if let Ok(texts) = string_regex(inner)
            && let Ok(tree) = texts.new_tree(&mut runner)
        {
            return Some(tree.current());
        }
        // What looks around cannot be turned round; texts of the usual kinds may do.
        let fits = validator(&json!({ "pattern": pattern })).ok()?;
        let usual = [
            "text",
            "https://example.com/a",
            "2026-01-02",
            "A1",
            "a-b",
            "1",
        ];
        let usual: Vec<&str> = usual
            .into_iter()
            .filter(|text| fits.is_valid(&json!(text)))
            .collect();
        (!usual.is_empty()).then(|| (*self.rng.pick(&usual)).to_owned())
    }

    fn number(&mut self, schema: &Map<String, Value>, whole: bool) -> Option<Value> {
        let limit = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
        let step = limit("multipleOf").unwrap_or(1.0);
        let above = limit("exclusiveMinimum").map(|least| least + step);
        let below = limit("exclusiveMaximum").map(|most| most - step);
        let least = limit("minimum").into_iter().chain(above).reduce(f64::max);
        let most = limit("maximum").into_iter().chain(below).reduce(f64::min);
        let least = least.unwrap_or_else(|| most.map_or(0.0, |most| most.min(0.0)));
        let span = most.map_or(20.0, |most| (most - least).clamp(0.0, 20.0));
        let steps = (span / step).floor();
        let mut number = least + step * (self.rng.below(steps.max(0.0) as usize + 1) as f64);
        if whole {
            number = number.ceil();
        } else if schema.get("multipleOf").is_none() && self.rng.half() && span > 1.0 {
            number += 0.5;
        }
        if number.fract() == 0.0 && number.abs() < 9e18 {
            return Some((number as i64).into());
        }
        serde_json::Number::from_f64(number).map(Value::Number)
    }

    fn array(&mut self, schema: &Map<String, Value>, depth: usize) -> Option<Value> {
        let limit = |keyword: &str| {
            schema
                .get(keyword)
                .and_then(Value::as_u64)
                .map(|n| n as usize)
        };
        let (prefix, items) = match (schema.get("prefixItems"), schema.get("items")) {
            (Some(Value::Array(prefix)), items) => (prefix.clone(), items),
            (_, Some(Value::Array(prefix))) => (prefix.clone(), schema.get("additionalItems")),
            (_, items) => (Vec::new(), items),
        };
        let least = limit("minItems").unwrap_or(0);
        let wanted = match self.size {
            Size::Most if self.has_room(depth) => 2.max(prefix.len()),
            Size::Any if self.has_room(depth) => self.rng.below(3).max(prefix.len()),
            Size::Least | Size::Most | Size::Any => 0,
        };
        let length = wanted
            .max(least)
            .min(limit("maxItems").unwrap_or(usize::MAX));
        let mut values: Vec<Value> = Vec::new();
        if let Some(contained) = schema.get("contains") {
            values.push(self.value(contained, depth + 1)?);
        }
        for at in values.len()..length {
            let item = match prefix.get(at) {
                Some(item) => item,
                None => match items {
                    Some(Value::Bool(false)) => break,
                    Some(items) => items,
                    None => &Value::Bool(true),
                },
            };
            match self.value(item, depth + 1) {
                Some(value) => values.push(value),
                None if at >= least => break,
                None => return None,
            }
        }
        Some(Value::Array(values))
    }

    fn object(&mut self, schema: &Map<String, Value>, depth: usize) -> Option<Value> {
        let empty = Map::new();
        let map = |keyword: &str| schema.get(keyword).and_then(Value::as_object);
        let properties = map("properties").unwrap_or(&empty);
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut object = Map::new();
        for (name, property) in properties {
            let is_required = required.contains(&name.as_str());
            let is_wanted = match self.size {
                Size::Most => self.has_room(depth),
                Size::Any => self.has_room(depth) && self.rng.half(),
                Size::Least => false,
            };
            if !is_required && !is_wanted {
                continue;
            }
            match self.value(property, depth + 1) {
                Some(value) => drop(object.insert(name.clone(), value)),
                None if is_required => return None,
                None => {}
            }
        }
        let others = schema.get("additionalProperties");
        for name in required
            .iter()
            .filter(|name| !properties.contains_key(**name))
        {
            let value = self.value(others.unwrap_or(&Value::Bool(true)), depth + 1)?;
            object.insert((*name).to_owned(), value);
        }
        if self.size == Size::Least && !schema.contains_key("minProperties")
            || !self.has_room(depth)
        {
            return Some(object.into());
        }
        for (pattern, property) in map("patternProperties").into_iter().flatten() {
            if let Some(name) = self.matching(pattern)
                && let Some(value) = self.value(property, depth + 1)
            {
                object.insert(name, value);
            }
        }
        // Without `additionalProperties`, other members are unconstrained, so none are added.
        let is_named = self.unnamed == Unnamed::Left && !properties.is_empty();
        if let Some(others @ (Value::Bool(true) | Value::Object(_))) = others.filter(|_| !is_named)
        {
            let names = schema
                .get("propertyNames")
                .cloned()
                .unwrap_or(json!({"enum": ["another-1", "other"]}));
            if let Some(Value::String(name)) = self.value(&names, depth + 1)
                && !object.contains_key(&name)
                && let Some(value) = self.value(others, depth + 1)
            {
                object.insert(name, value);
            }
        }
        Some(object.into())
    }
}

/// Merges two schemas that both apply; `None` when they contradict each other.
fn both(mut one: Map<String, Value>, other: Map<String, Value>) -> Option<Map<String, Value>> {
    for (keyword, value) in other {
        let Some(mine) = one.remove(&keyword) else {
            one.insert(keyword, value);
            continue;
        };
        let joined = match (keyword.as_str(), mine, value) {
            ("properties" | "patternProperties", Value::Object(mut mine), Value::Object(other)) => {
                for (name, property) in other {
                    let joined = match mine.remove(&name) {
                        Some(had) if had != property => json!({"allOf": [had, property]}),
                        _ => property,
                    };
                    mine.insert(name, joined);
                }
                Value::Object(mine)
            }
            ("required", Value::Array(mut mine), Value::Array(other)) => {
                mine.extend(other);
                Value::Array(mine)
            }
            ("type", mine, other) => {
                let list = |value: Value| match value {
                    Value::Array(names) => names,
                    name => vec![name],
                };
                let (mine, other) = (list(mine), list(other));
                let is_number = |name: &Value| name == "number";
                let kept: Vec<Value> = mine
                    .iter()
                    .filter(|name| {
                        other.contains(name) || (*name == "integer" && other.iter().any(is_number))
                    })
                    .chain(
                        other
                            .iter()
                            .filter(|name| *name == "integer" && mine.iter().any(is_number)),
                    )
                    .cloned()
                    .collect();
                if kept.is_empty() {
                    return None;
                }
                Value::Array(kept)
            }
            ("enum", Value::Array(mine), Value::Array(other)) => Value::Array(
                mine.into_iter()
                    .filter(|value| other.contains(value))
                    .collect(),
            ),
            ("additionalProperties", Value::Bool(false), _) => Value::Bool(false),
            (_, _, other) => other,
        };
        one.insert(keyword, joined);
    }
    Some(one)
}
