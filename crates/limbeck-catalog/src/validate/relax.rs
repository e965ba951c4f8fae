//! Removal of keywords that cannot or need not be checked here.
//!
//! Removing a keyword accepts more values, except under `not`, `if` and `oneOf`; those are removed too when something
//! inside them is. The result is never stricter than the server's schema.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::schema::local_reference;

/// Most subschemas of one schema.
const SCHEMAS_MAX: usize = 20_000;
/// Most patterns of one schema; each is compiled.
const PATTERNS_MAX: usize = 32;
/// Most bytes of one pattern.
const PATTERN_TEXT_BYTES_MAX: usize = 2 << 10;
/// Most levels of nested schemas.
const DEPTH_MAX: usize = 128;

/// Keywords with one schema.
const HOLDS_SCHEMA: [&str; 11] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords with a list of schemas.
const HOLDS_LIST: [&str; 5] = ["allOf", "anyOf", "items", "oneOf", "prefixItems"];
/// Keywords with schemas by name.
const HOLDS_MAP: [&str; 6] = [
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
];
/// Keywords that do not validate. `$id` would only change the base of references.
const IGNORED: [&str; 17] = [
    "$anchor",
    "$comment",
    "$dynamicAnchor",
    "$id",
    "$recursiveAnchor",
    "$schema",
    "$vocabulary",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "default",
    "deprecated",
    "description",
    "discriminator",
    "examples",
    "format",
    "title",
];
/// The published dialects; they differ in what `items` and `definitions` mean.
const DIALECTS: [&str; 5] = [
    "draft-04/schema",
    "draft-06/schema",
    "draft-07/schema",
    "draft/2019-09/schema",
    "draft/2020-12/schema",
];

/// A relaxed schema.
pub(super) struct Relaxed {
    pub(super) schema: Value,
    /// Description of what was removed, when that weakens the check.
    pub(super) left_out: Option<String>,
}

/// Returns the part of `schema` that can be checked.
///
/// # Errors
///
/// The reason why nothing can be checked: the schema is too large or too deep.
pub(super) fn relax(schema: &Value) -> Result<Relaxed, &'static str> {
    let mut relaxer = Relaxer {
        root: schema,
        schemas: 0,
        patterns: 0,
        refers_to_itself: None,
        left_out: None,
    };
    let (mut relaxed, _) = relaxer.schema(schema, 0)?;
    if let (Some(map), Some(dialect)) = (relaxed.as_object_mut(), known_dialect(schema)) {
        map.insert("$schema".into(), dialect);
    }
    Ok(Relaxed {
        schema: relaxed,
        left_out: relaxer.left_out,
    })
}

fn known_dialect(schema: &Value) -> Option<Value> {
    let uri = schema.get("$schema")?.as_str()?;
    let (_, dialect) = uri
        .trim_end_matches('#')
        .split_once("://json-schema.org/")?;
    DIALECTS.contains(&dialect).then(|| json!(uri))
}

struct Relaxer<'s> {
    root: &'s Value,
    schemas: usize,
    patterns: usize,
    /// Whether the schema refers to itself, once that was needed.
    refers_to_itself: Option<bool>,
    left_out: Option<String>,
}

/// Whether the relaxed schema accepts exactly the same values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fidelity {
    Same,
    Wider,
}

impl Fidelity {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Same, Self::Same) => Self::Same,
            (Self::Wider, _) | (_, Self::Wider) => Self::Wider,
        }
    }
}

type Relaxing<T> = Result<(T, Fidelity), &'static str>;

impl Relaxer<'_> {
    fn schema(&mut self, schema: &Value, depth: usize) -> Relaxing<Value> {
        self.schemas += 1;
        if self.schemas > SCHEMAS_MAX {
            return Err("the input schema is too large to check");
        }
        if depth > DEPTH_MAX {
            return Err("the input schema is too deep to check");
        }
        match schema {
            Value::Bool(_) => Ok((schema.clone(), Fidelity::Same)),
            Value::Object(map) => self.keywords(map, depth + 1),
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => Ok((
                Value::Bool(true),
                self.leave_out("a part that is not a schema"),
            )),
        }
    }

    fn keywords(&mut self, schema: &Map<String, Value>, depth: usize) -> Relaxing<Value> {
        let mut kept = Map::new();
        let mut fidelity = Fidelity::Same;
        for (keyword, value) in schema {
            let keyword = keyword.as_str();
            if IGNORED.contains(&keyword) {
                continue;
            }
            let (value, part) = self.keyword(keyword, value, depth)?;
            fidelity = fidelity.and(part);
            if let Some(value) = value {
                kept.insert(keyword.to_owned(), value);
            }
        }
        drop_dependents(schema, &mut kept);
        if schema.get("nullable") == Some(&Value::Bool(true)) {
            kept = or_null(kept);
        }
        Ok((Value::Object(kept), fidelity))
    }

    /// Relaxes the value of a keyword; `None` removes the keyword.
    fn keyword(&mut self, keyword: &str, value: &Value, depth: usize) -> Relaxing<Option<Value>> {
        match (keyword, value) {
            ("$ref", _) => Ok(self.reference(value)),
            ("$dynamicRef" | "$recursiveRef", _) => {
                Ok((None, self.leave_out("a dynamic reference")))
            }
            ("pattern", Value::String(pattern)) if !self.takes_pattern(pattern) => {
                Ok((None, self.leave_out("a pattern")))
            }
            // The checker panics on some of these, depending on the value. Without them a call and the check of a program,
            // which does not know all values, come to the same answer.
            ("unevaluatedProperties" | "unevaluatedItems", _) if self.refers_to_itself() => Ok((
                None,
                self.leave_out("a rule about what is not evaluated, beside a reference to itself,"),
            )),
            // Draft 4 has flags here where later dialects have a number or a list, and schemas often do not name it.
            ("required" | "exclusiveMinimum" | "exclusiveMaximum", Value::Bool(_)) => {
                Ok((None, self.leave_out("a keyword of an older dialect")))
            }
            // The checker counts duplicates, and an object can have a name only once.
            ("required", Value::Array(names)) => {
                let mut seen = HashSet::new();
                let once = names.iter().filter(|name| seen.insert(*name));
                let once = once.cloned().collect();
                Ok((Some(Value::Array(once)), Fidelity::Same))
            }
            (_, Value::Array(list)) if HOLDS_LIST.contains(&keyword) => {
                self.list(keyword, list, depth)
            }
            (_, Value::Object(map)) if HOLDS_MAP.contains(&keyword) => {
                self.map(keyword, map, depth)
            }
            (_, Value::Object(_) | Value::Bool(_)) if HOLDS_SCHEMA.contains(&keyword) => {
                self.inner(keyword, value, depth)
            }
            _ => Ok((Some(value.clone()), Fidelity::Same)),
        }
    }

    /// Keeps a reference into the schema itself. [`Fidelity`] does not follow references: a `not` around a reference to a
    /// removed pattern may reject values that the server accepts. No schema seen in practice does that.
    fn reference(&mut self, value: &Value) -> (Option<Value>, Fidelity) {
        let target = value
            .as_str()
            .and_then(|reference| local_reference(self.root, reference));
        match target {
            Some(Value::Object(_) | Value::Bool(_)) => (Some(value.clone()), Fidelity::Same),
            _ => (None, self.leave_out("a reference that leads elsewhere")),
        }
    }

    fn list(&mut self, keyword: &str, list: &[Value], depth: usize) -> Relaxing<Option<Value>> {
        let mut kept = Vec::with_capacity(list.len());
        let mut fidelity = Fidelity::Same;
        for schema in list {
            let (schema, part) = self.schema(schema, depth)?;
            fidelity = fidelity.and(part);
            kept.push(schema);
        }
        // A relaxed alternative may match beside the intended one, and `oneOf` would then reject the value.
        let narrows = keyword == "oneOf" && fidelity == Fidelity::Wider;
        Ok(((!narrows).then_some(Value::Array(kept)), fidelity))
    }

    fn map(
        &mut self,
        keyword: &str,
        map: &Map<String, Value>,
        depth: usize,
    ) -> Relaxing<Option<Value>> {
        let mut kept = Map::new();
        let mut fidelity = Fidelity::Same;
        for (name, schema) in map {
            if keyword == "patternProperties" && !self.takes_pattern(name) {
                fidelity = self.leave_out("a pattern");
                continue;
            }
            // `dependencies` has lists of names too.
            let (schema, part) = match schema {
                Value::Array(_) if keyword == "dependencies" => (schema.clone(), Fidelity::Same),
                _ => self.schema(schema, depth)?,
            };
            fidelity = fidelity.and(part);
            kept.insert(name.clone(), schema);
        }
        let defines = matches!(keyword, "$defs" | "definitions");
        let fidelity = if defines { Fidelity::Same } else { fidelity };
        Ok((Some(Value::Object(kept)), fidelity))
    }

    fn inner(&mut self, keyword: &str, schema: &Value, depth: usize) -> Relaxing<Option<Value>> {
        let (schema, fidelity) = self.schema(schema, depth)?;
        let narrows = matches!(keyword, "not" | "if") && fidelity == Fidelity::Wider;
        Ok(((!narrows).then_some(schema), fidelity))
    }

    fn refers_to_itself(&mut self) -> bool {
        let root = self.root;
        *self
            .refers_to_itself
            .get_or_insert_with(|| refers_to_itself(root))
    }

    /// Whether the linear engine compiles `pattern`.
    fn takes_pattern(&mut self, pattern: &str) -> bool {
        self.patterns += 1;
        self.patterns <= PATTERNS_MAX
            && pattern.len() <= PATTERN_TEXT_BYTES_MAX
            && super::options()
                .build(&json!({ "pattern": pattern }))
                .is_ok()
    }

    fn leave_out(&mut self, what: &str) -> Fidelity {
        self.left_out
            .get_or_insert_with(|| format!("{what} in the input schema is not checked"));
        Fidelity::Wider
    }
}

/// Whether a part of `root` is reached again from inside of itself, over references into `root`.
fn refers_to_itself(root: &Value) -> bool {
    enum Step<'v> {
        Enter(&'v Value),
        Leave(&'v Value),
    }
    let mut seen = HashSet::new();
    // The parts around the next one.
    let mut open = HashSet::new();
    let mut steps = vec![Step::Enter(root)];
    while let Some(step) = steps.pop() {
        let part = match step {
            Step::Leave(part) => {
                open.remove(&std::ptr::from_ref(part));
                continue;
            }
            Step::Enter(part) => part,
        };
        if open.contains(&std::ptr::from_ref(part)) {
            return true;
        }
        if !seen.insert(std::ptr::from_ref(part)) {
            continue;
        }
        open.insert(std::ptr::from_ref(part));
        steps.push(Step::Leave(part));
        match part {
            Value::Object(map) => {
                let reference = map.get("$ref").and_then(Value::as_str);
                let target = reference.and_then(|reference| local_reference(root, reference));
                steps.extend(target.map(Step::Enter));
                steps.extend(map.values().map(Step::Enter));
            }
            Value::Array(list) => steps.extend(list.iter().map(Step::Enter)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    false
}

/// Removes keywords of `kept` that would reject more values because another keyword of `schema` was removed.
fn drop_dependents(schema: &Map<String, Value>, kept: &mut Map<String, Value>) {
    let lost = |keyword: &str| schema.contains_key(keyword) && !kept.contains_key(keyword);
    let named = |map: &Map<String, Value>| {
        map.get("patternProperties")
            .and_then(Value::as_object)
            .map_or(0, Map::len)
    };
    let lost_pattern = named(schema) != named(kept);
    let lost_applicator = ["$ref", "$dynamicRef", "$recursiveRef", "oneOf", "if", "not"]
        .into_iter()
        .any(lost);
    let lost_if = lost("if");
    if lost_pattern {
        kept.remove("additionalProperties");
    }
    if lost_pattern || lost_applicator {
        kept.remove("unevaluatedProperties");
        kept.remove("unevaluatedItems");
    }
    if lost_if {
        kept.remove("then");
        kept.remove("else");
    }
}

/// Applies `nullable: true` of OpenAPI. Definitions stay at their path, where references expect them.
fn or_null(mut schema: Map<String, Value>) -> Map<String, Value> {
    schema.remove("nullable");
    let mut outer = Map::new();
    for keyword in ["$defs", "definitions"] {
        if let Some(definitions) = schema.remove(keyword) {
            outer.insert(keyword.into(), definitions);
        }
    }
    outer.insert(
        "anyOf".into(),
        json!([{ "type": "null" }, Value::Object(schema)]),
    );
    outer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(schema: Value) -> Value {
        relax(&schema)
            .unwrap_or_else(|reason| panic!("{reason}"))
            .schema
    }

    #[test]
    fn what_cannot_be_checked_goes_and_what_depends_on_it_too() {
        let remote = json!({"properties": {"a": {"$ref": "https://example.com/a"}, "b": {"type": "string"}}});
        assert_eq!(
            left(remote),
            json!({"properties": {"a": {}, "b": {"type": "string"}}})
        );
        let backtracking = json!({"patternProperties": {"(?=a)b": true, "^x-": true}, "additionalProperties": false});
        assert_eq!(
            left(backtracking),
            json!({"patternProperties": {"^x-": true}})
        );
        let negated = json!({"not": {"pattern": "(?=a)b"}, "type": "string"});
        assert_eq!(left(negated), json!({"type": "string"}));
        let exact = json!({"not": {"pattern": "^a"}, "oneOf": [{"type": "string"}]});
        assert_eq!(left(exact.clone()), exact);
    }

    #[test]
    fn rules_about_what_is_not_evaluated_go_only_beside_a_reference_to_itself() {
        let inner = |reference: &str| {
            json!({"$ref": "#/$defs/a", "unevaluatedProperties": false,
                "$defs": {"a": {"properties": {"x": {"$ref": reference}}}, "b": {"type": "string"}}})
        };
        for reference in ["#", "#/$defs/a"] {
            let mut without = inner(reference);
            without
                .as_object_mut()
                .unwrap()
                .remove("unevaluatedProperties");
            assert_eq!(left(inner(reference)), without, "{reference}");
        }
        assert_eq!(left(inner("#/$defs/b")), inner("#/$defs/b"));
    }

    #[test]
    fn a_property_that_is_called_like_a_keyword_is_a_property() {
        let schema = json!({"properties": {"$ref": {"type": "string"}, "title": {"type": "string"}, "pattern": {"const": {"$ref": "x"}}}});
        assert_eq!(left(schema.clone()), schema);
    }

    #[test]
    fn too_large_is_said() {
        let many = json!({"allOf": vec![json!({}); SCHEMAS_MAX + 1]});
        assert!(relax(&many).is_err());
    }
}
