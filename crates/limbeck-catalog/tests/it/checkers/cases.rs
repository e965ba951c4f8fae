//! Values for every schema, each with the expected result of a checker.

use std::collections::BTreeMap;

use limbeck_captures::values::{Mutation, Size, Unnamed, instance, mutations, validator};
use serde_json::Value;

use super::expressible::{Checker, Others, expressible};

/// A schema of a tool.
pub(crate) struct Subject<'s> {
    pub(crate) server: &'s str,
    pub(crate) tool: &'s str,
    pub(crate) side: Side,
    pub(crate) schema: &'s Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Input,
    Output,
}

/// Values of one schema for a type checker.
#[derive(Default)]
pub(crate) struct Cases {
    pub(crate) right: Vec<Value>,
    pub(crate) wrong: Vec<(Mutation, Value)>,
}

/// Number of values of each kind, for the report.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) schemas: usize,
    pub(crate) instances: usize,
    /// Mutated values that the schema refuses, and so does every type that says it.
    pub(crate) refused: BTreeMap<Mutation, usize>,
    /// Mutated values that the schema refuses for a reason that no type can say.
    pub(crate) beyond: BTreeMap<Mutation, usize>,
    /// Mutated values that a checker would have to refuse and was not shown, because others of their kind were.
    pub(crate) spared: usize,
    /// Mutated values that the schema still accepts.
    pub(crate) accepted: usize,
    /// Schemas without a value, with the reason.
    pub(crate) empty: Vec<String>,
}

/// Makes the cases of `subject`: values of three sizes, and of each up to `mutations_max` mutations.
pub(crate) fn cases(
    subject: &Subject<'_>,
    checker: Checker,
    unnamed: Unnamed,
    mutations_max: usize,
    counts: &mut Counts,
) -> Cases {
    let mut cases = Cases::default();
    counts.schemas += 1;
    let name = format!("{}.{} {:?}", subject.server, subject.tool, subject.side);
    let schema = or_null(subject.schema);
    let truth = match validator(&schema) {
        Ok(validator) => validator,
        Err(error) => {
            counts.empty.push(format!("{name}: {error}"));
            return cases;
        }
    };
    for (seed, size) in (0..).zip([Size::Least, Size::Most, Size::Any]) {
        // Arguments are always an object.
        let value = instance(&schema, &truth, size, unnamed, seed)
            .filter(|value| subject.side == Side::Output || value.is_object());
        cases
            .right
            .extend(value.filter(|value| !cases.right.contains(value)));
    }
    if cases.right.is_empty() {
        counts.empty.push(format!("{name}: no value found"));
        return cases;
    }
    counts.instances += cases.right.len();
    let weak = [Others::Unheard, Others::OfAlternatives].map(|others| {
        let weak = expressible(&schema, checker, others);
        validator(&weak).unwrap_or_else(|error| panic!("{name}: {error}\n{weak}"))
    });
    let mut wrong = Vec::new();
    for value in &cases.right {
        for (mutation, value) in mutations(value) {
            if truth.is_valid(&value) {
                counts.accepted += 1;
                continue;
            }
            let weak = &weak[usize::from(mutation != Mutation::Added)];
            if weak.is_valid(&value) {
                *counts.beyond.entry(mutation).or_default() += 1;
            } else if !wrong.iter().any(|(_, known)| *known == value) {
                wrong.push((mutation, value));
            }
        }
    }
    let found = wrong.len();
    cases.wrong = spread(wrong, mutations_max);
    counts.spared += found - cases.wrong.len();
    for (mutation, _) in &cases.wrong {
        *counts.refused.entry(*mutation).or_default() += 1;
    }
    cases
}

/// At most `most` of `all`, of every mutation as many as of any other, from all over.
fn spread(all: Vec<(Mutation, Value)>, most: usize) -> Vec<(Mutation, Value)> {
    let mut kinds: BTreeMap<Mutation, Vec<Value>> = BTreeMap::new();
    for (mutation, value) in all {
        kinds.entry(mutation).or_default().push(value);
    }
    if most == 0 {
        return Vec::new();
    }
    let each = most.div_ceil(kinds.len().max(1));
    let mut some = Vec::new();
    for (mutation, values) in kinds {
        let step = values.len().div_ceil(each).max(1);
        some.extend(
            values
                .into_iter()
                .step_by(step)
                .map(|value| (mutation, value)),
        );
    }
    some
}

/// What OpenAPI means by `nullable`, in words of JSON Schema.
fn or_null(schema: &Value) -> Value {
    match schema {
        Value::Object(map) if map.get("nullable") == Some(&Value::Bool(true)) => {
            let mut inner = map.clone();
            inner.remove("nullable");
            let mut outer = serde_json::Map::new();
            for keyword in ["$defs", "definitions", "$schema"] {
                outer.extend(
                    inner
                        .remove(keyword)
                        .map(|value| (keyword.to_owned(), value)),
                );
            }
            let inner = or_null(&Value::Object(inner));
            outer.insert("anyOf".into(), serde_json::json!([inner, {"type": "null"}]));
            Value::Object(outer)
        }
        // A property may be called so too, but its schema is no boolean.
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), or_null(value)))
            .collect(),
        Value::Array(items) => items.iter().map(or_null).collect(),
        other => other.clone(),
    }
}

impl Counts {
    /// Makes sure that no schema was left out, and that every mutation had a part.
    pub(crate) fn assert_all_were_tried(&self) {
        assert_eq!(self.empty, Vec::<String>::new());
        for mutation in Mutation::ALL {
            assert!(
                self.refused.get(&mutation).is_some_and(|count| *count > 0),
                "{mutation:?}"
            );
        }
    }

    pub(crate) fn print(&self, what: &str) {
        let sum = |counts: &BTreeMap<Mutation, usize>| counts.values().sum::<usize>();
        println!(
            "{what}: {} schemas, {} instances, {} mutations refused",
            self.schemas,
            self.instances,
            sum(&self.refused)
        );
        for mutation in Mutation::ALL {
            let of = |counts: &BTreeMap<Mutation, usize>| {
                counts.get(&mutation).copied().unwrap_or_default()
            };
            println!(
                "  {mutation:?}: {} refused; {} beyond what a type can say",
                of(&self.refused),
                of(&self.beyond)
            );
        }
        println!(
            "  {} more to be refused, of the same schemas and kinds, were not shown",
            self.spared
        );
        println!("  {} mutations left the value valid", self.accepted);
        for empty in &self.empty {
            println!("  no instance: {empty}");
        }
    }
}
