//! Checks a call of which only a part is known: what a program's text says before it runs.
//!
//! The known values are put beside nulls that stand for the others, the same validator runs over all of
//! it, and of its errors those are kept that hold whatever the unknown parts turn out to be. Two things
//! make an error sure. It was reached from the root over keywords that all hold at once (`allOf`, `$ref`,
//! `properties` and their like, never an alternative or a condition), so nothing else can make up for
//! it. And it depends on nothing unknown: on a known value, on names alone, or, when all names are
//! known, on a name that is not there.
//!
//! One thing is not foreseen: a value so large that the call is not checked at all. Then the server has
//! the last word on arguments whose other part is wrong.

use std::collections::HashSet;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use limbeck_domain::{CallError, Language};
use serde_json::{Map, Value};

use super::{ArgumentCheck, Compiled};
use crate::nearest::nearest;
use crate::tool::Tool;

/// Keywords beside which a name that is not listed may still mean something.
const OPENING: [&str; 10] = [
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "dependentSchemas",
    "if",
    "oneOf",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
];

/// Arguments as far as they are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartialArguments {
    /// All names that are given; null for those of `unknown`.
    values: Value,
    /// Names whose values are not known.
    unknown: HashSet<String>,
    /// Whether no other names are given.
    complete: bool,
}

impl PartialArguments {
    /// Takes names with their values where these are known. Of a name that is given twice the last counts.
    pub(crate) fn new<'a>(
        given: impl Iterator<Item = (&'a str, Option<&'a Value>)>,
        complete: bool,
    ) -> Self {
        let mut values = Map::new();
        let mut unknown = HashSet::new();
        for (name, value) in given {
            match value {
                Some(_) => unknown.remove(name),
                None => unknown.insert(name.to_owned()),
            };
            values.insert(name.to_owned(), value.cloned().unwrap_or(Value::Null));
        }
        Self {
            values: Value::Object(values),
            unknown,
            complete,
        }
    }

    fn is_whole(&self) -> bool {
        self.complete && self.unknown.is_empty()
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.values.as_object().into_iter().flatten();
        names.map(|(name, _)| name.as_str())
    }
}

impl ArgumentCheck {
    /// Why a call with these arguments is surely refused, in the words of the refusal; `None` when it may
    /// be accepted.
    pub(crate) fn refuses(
        &self,
        tool: &Tool,
        arguments: &PartialArguments,
        language: Language,
    ) -> Option<CallError> {
        let compiled = self.compiled.as_ref()?;
        let errors = compiled.sure_errors(arguments);
        (!errors.is_empty()).then(|| compiled.refusal(tool, &arguments.values, &errors, language))
    }

    /// Whether [`ArgumentCheck::refuses`] says why.
    pub(crate) fn is_refused(&self, arguments: &PartialArguments) -> bool {
        self.compiled
            .as_ref()
            .is_some_and(|compiled| !compiled.sure_errors(arguments).is_empty())
    }

    /// Names that are accepted and not listed, each with the listed one that was probably meant.
    ///
    /// Every pair of names that is compared is taken from `comparisons`; without any left the rest is not
    /// looked at.
    pub(crate) fn odd_names<'a>(
        &'a self,
        arguments: &'a PartialArguments,
        comparisons: &mut usize,
    ) -> Vec<(&'a str, Option<&'a str>)> {
        let Some(listed) = self.compiled.as_ref().and_then(Compiled::listed) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for name in arguments.names().filter(|name| !listed.contains_key(*name)) {
            let Some(left) = comparisons.checked_sub(listed.len()) else {
                break;
            };
            *comparisons = left;
            let free = listed.keys().map(String::as_str);
            let free = free.filter(|known| arguments.values.get(known).is_none());
            let meant = nearest(name, free.map(|known| (known, known)));
            found.push((name, meant.first().copied()));
        }
        found
    }
}

impl Compiled {
    /// The names that are listed, when others are accepted and surely mean nothing.
    fn listed(&self) -> Option<&Map<String, Value>> {
        let schema = self.schema.as_object()?;
        let opens = OPENING.iter().any(|keyword| schema.contains_key(*keyword));
        schema.get("properties")?.as_object().filter(|_| !opens)
    }

    fn sure_errors<'a>(&'a self, arguments: &'a PartialArguments) -> Vec<ValidationError<'a>> {
        let mut errors = self.errors(&arguments.values);
        if !arguments.is_whole() {
            errors.retain(|error| is_sure(error, arguments));
        }
        errors
    }
}

fn is_sure(error: &ValidationError<'_>, arguments: &PartialArguments) -> bool {
    let mut place = error.instance_path().as_str().split('/').skip(1);
    match (reached(error.evaluation_path().as_str()), place.next()) {
        (Reached::Perhaps, _) => false,
        (Reached::Argument, Some(name)) => {
            let name = name.replace("~1", "/").replace("~0", "~");
            // A schema that takes no value at all needs no value to refuse.
            let refuses_all = matches!(error.kind(), Kind::FalseSchema) && place.next().is_none();
            refuses_all || !arguments.unknown.contains(&name)
        }
        (Reached::Argument | Reached::Whole, _) => match error.kind() {
            Kind::Required { .. } | Kind::MinProperties { .. } => arguments.complete,
            Kind::AdditionalProperties { .. }
            | Kind::FalseSchema
            | Kind::MaxProperties { .. }
            | Kind::PropertyNames { .. }
            | Kind::Type { .. } => true,
            _ => false,
        },
    }
}

/// What the keyword that failed is about.
enum Reached {
    /// The object of arguments as a whole.
    Whole,
    /// One argument, or a part of it.
    Argument,
    /// Something that need not hold.
    Perhaps,
}

/// Follows the keywords from the root to the one that failed.
fn reached(evaluation_path: &str) -> Reached {
    let mut keywords = evaluation_path.split('/').skip(1).peekable();
    while let Some(keyword) = keywords.next() {
        match keyword {
            "$ref" => {}
            "allOf" => {
                // The position in the list.
                keywords.next();
            }
            "properties" | "patternProperties" => return Reached::Argument,
            "additionalProperties" if keywords.peek().is_some() => return Reached::Argument,
            "additionalProperties"
            | "maxProperties"
            | "minProperties"
            | "propertyNames"
            | "required"
            | "type" => return Reached::Whole,
            _ => return Reached::Perhaps,
        }
    }
    Reached::Whole
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(schema: Value, known: Value, unknown: &[&str], complete: bool) -> Option<String> {
        let known = known.as_object().cloned().unwrap_or_default();
        let given = known
            .iter()
            .map(|(name, value)| (name.as_str(), Some(value)))
            .chain(unknown.iter().map(|name| (*name, None)));
        let arguments = PartialArguments::new(given, complete);
        let check = ArgumentCheck::new(&schema);
        let compiled = check.compiled.as_ref()?;
        let errors = compiled.sure_errors(&arguments);
        errors.first().map(ToString::to_string)
    }

    #[test]
    fn a_known_value_is_refused_beside_unknown_ones_and_an_unknown_one_never() {
        let schema = json!({"properties": {"a": {"enum": ["x"]}, "b": {"type": "string"}}, "required": ["a", "b"]});
        assert!(refused(schema.clone(), json!({"a": "y"}), &["b"], true).is_some());
        assert!(refused(schema.clone(), json!({"a": "y"}), &[], false).is_some());
        assert_eq!(
            refused(schema.clone(), json!({"a": "x"}), &["b"], true),
            None
        );
        assert_eq!(refused(schema.clone(), json!({"a": "x"}), &[], false), None);
        assert!(refused(schema, json!({"a": "x"}), &[], true).is_some());
    }

    #[test]
    fn names_are_refused_whatever_their_values_when_the_schema_is_closed() {
        let closed = json!({"properties": {"a": {}}, "additionalProperties": false});
        assert!(refused(closed.clone(), json!({}), &["b"], false).is_some());
        assert_eq!(refused(closed, json!({}), &["a"], false), None);
        let gone = json!({"properties": {"old": false}});
        assert!(refused(gone, json!({}), &["old"], true).is_some());
        let empty = json!({"type": "object", "additionalProperties": false});
        assert!(refused(empty, json!({}), &["a"], true).is_some());
    }

    #[test]
    fn what_another_branch_may_make_up_for_is_not_sure() {
        for schema in [
            json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            json!({"if": {"properties": {"kind": {"const": "x"}}}, "then": {"required": ["b"]}}),
            json!({"not": {"required": ["c"]}}),
            json!({"oneOf": [{"properties": {"c": {"const": 2}}, "required": ["d"]}, {"properties": {"c": {"const": 1}}}]}),
            json!({"dependentSchemas": {"c": {"required": ["d"]}}}),
        ] {
            let shown = schema.to_string();
            assert_eq!(
                refused(schema, json!({"c": 1}), &["kind"], false),
                None,
                "{shown}"
            );
        }
    }

    #[test]
    fn what_holds_in_every_branch_is_sure_through_references_and_all_of() {
        let schema = json!({
            "allOf": [{"$ref": "#/$defs/base"}],
            "$defs": {"base": {"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "required": ["b"]}}
        });
        assert!(refused(schema.clone(), json!({"a": 5}), &["b"], true).is_some());
        assert!(refused(schema.clone(), json!({"a": "x"}), &[], true).is_some());
        assert_eq!(refused(schema, json!({"a": "x"}), &["b"], true), None);
    }
}
