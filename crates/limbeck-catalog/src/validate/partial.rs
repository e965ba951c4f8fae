//! Validation of partly known arguments: the constants in a program's text, before it runs.
//!
//! The known values are combined with nulls for the unknown ones, and the usual validator checks the whole. Only errors
//! that hold for every possible value of the unknown parts are kept. An error is certain under two conditions. It was
//! reached from the root over keywords that all apply (`allOf`, `$ref`, `properties` and the like, never an alternative or
//! a condition), so no other keyword can accept the value. And it depends only on known parts: on a known value, on names
//! alone, or, when all names are known, on a missing name.
//!
//! An argument whose value is unknown may be null at the call, and then be left out (`adapt`). So an error about a name or a
//! value that is too much is looked for without those arguments, and one about a name that is missing with them.
//!
//! One case is not covered: an unknown value so large that the real call is not checked. Then the check may report an
//! error that validation of the call would not.

use std::collections::HashSet;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use limbeck_domain::{CallError, Language, ToolDefinition};
use serde_json::{Map, Value};

use super::{ArgumentCheck, Compiled};
use crate::nearest::nearest;

/// Keywords that may give a meaning to names that are not listed.
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

/// Partly known arguments.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartialArguments {
    /// All given names, with null for those in `unknown`.
    values: Value,
    /// Names with unknown values.
    unknown: HashSet<String>,
    /// Whether no other names are given.
    complete: bool,
}

impl PartialArguments {
    /// Takes names with their values, `None` for unknown ones. The last of several equal names counts.
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

    fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.values.as_object().into_iter().flatten();
        names.map(|(name, _)| name.as_str())
    }
}

/// Partly known arguments as a call may send them: names in the style of the schema, without nulls that it refuses.
struct SentArguments {
    /// With all that may be sent. Unknown values are null.
    most: Value,
    /// Without those that may be left out.
    least: Value,
    unknown: HashSet<String>,
    complete: bool,
}

impl SentArguments {
    fn is_whole(&self) -> bool {
        self.complete && self.unknown.is_empty()
    }
}

impl ArgumentCheck {
    /// The error of a call with these arguments when it is certain; `None` when the call may be accepted.
    pub(crate) fn refuses(
        &self,
        tool: &ToolDefinition,
        arguments: &PartialArguments,
        language: Language,
    ) -> Option<CallError> {
        let compiled = self.compiled.as_ref()?;
        let arguments = compiled.adapted(arguments);
        let errors = compiled.sure_errors(&arguments);
        (!errors.is_empty()).then(|| compiled.refusal(tool, &arguments.most, &errors, language))
    }

    /// Whether [`ArgumentCheck::refuses`] returns an error.
    pub(crate) fn is_refused(&self, arguments: &PartialArguments) -> bool {
        self.compiled.as_ref().is_some_and(|compiled| {
            !compiled
                .sure_errors(&compiled.adapted(arguments))
                .is_empty()
        })
    }

    /// Accepted names that the schema does not list, each with the most similar listed name.
    ///
    /// Each comparison of two names is subtracted from `comparisons`; at zero the rest is skipped.
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
    fn adapted(&self, arguments: &PartialArguments) -> SentArguments {
        let mut most = arguments.values.clone();
        let mut unknown = arguments.unknown.clone();
        for (written, listed) in self.rename(&mut most) {
            // The listed name may be given as well, and then this one is not changed.
            if unknown.remove(&written) || !arguments.complete {
                unknown.insert(listed);
            }
        }
        let mut least;
        if self.has_conditions && !unknown.is_empty() {
            // Which nulls are refused may depend on unknown values.
            least = most.clone();
            if let Some(least) = least.as_object_mut() {
                least.retain(|name, value| {
                    self.requires(name) || !(value.is_null() || unknown.contains(name))
                });
            }
        } else {
            self.remove_refused_nulls(&mut most, |name| !unknown.contains(name));
            least = most.clone();
            self.remove_refused_nulls(&mut least, |name| unknown.contains(name));
        }
        SentArguments {
            most,
            least,
            unknown,
            complete: arguments.complete,
        }
    }

    /// Listed names, when other names are accepted and certainly have no meaning.
    pub(super) fn listed(&self) -> Option<&Map<String, Value>> {
        let schema = self.schema.as_object()?;
        let opens = OPENING.iter().any(|keyword| schema.contains_key(*keyword));
        schema.get("properties")?.as_object().filter(|_| !opens)
    }

    fn sure_errors<'a>(&'a self, arguments: &'a SentArguments) -> Vec<ValidationError<'a>> {
        let mut errors = self.errors(&arguments.least);
        if arguments.is_whole() {
            return errors;
        }
        errors.retain(|error| is_sure(error, arguments));
        if arguments.least != arguments.most {
            errors.retain(|error| !is_of_absence(error));
            let with_all = self.errors(&arguments.most).into_iter();
            errors
                .extend(with_all.filter(|error| is_of_absence(error) && is_sure(error, arguments)));
        }
        errors
    }
}

/// Whether the error is that something is missing: more arguments may correct it, and fewer cannot.
fn is_of_absence(error: &ValidationError<'_>) -> bool {
    matches!(
        error.kind(),
        Kind::Required { .. } | Kind::MinProperties { .. }
    )
}

fn is_sure(error: &ValidationError<'_>, arguments: &SentArguments) -> bool {
    let mut place = error.instance_path().as_str().split('/').skip(1);
    match (reached(error.evaluation_path().as_str()), place.next()) {
        (KeywordScope::Conditional, _) => false,
        (KeywordScope::Argument, Some(name)) => {
            let name = name.replace("~1", "/").replace("~0", "~");
            // A schema that accepts no value rejects an unknown one too.
            let refuses_all = matches!(error.kind(), Kind::FalseSchema) && place.next().is_none();
            refuses_all || !arguments.unknown.contains(&name)
        }
        (KeywordScope::Argument | KeywordScope::Whole, _) => match error.kind() {
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

/// Part of the arguments that a failed keyword applies to.
enum KeywordScope {
    /// The whole object of arguments.
    Whole,
    /// One argument, or a part of it.
    Argument,
    /// A part of an alternative or a condition, which need not apply.
    Conditional,
}

/// Follows the keywords from the root to the one that failed.
fn reached(evaluation_path: &str) -> KeywordScope {
    let mut keywords = evaluation_path.split('/').skip(1).peekable();
    while let Some(keyword) = keywords.next() {
        match keyword {
            "$ref" => {}
            "allOf" => {
                // Skips the position in the list.
                keywords.next();
            }
            "properties" | "patternProperties" => return KeywordScope::Argument,
            "additionalProperties" if keywords.peek().is_some() => return KeywordScope::Argument,
            "additionalProperties"
            | "maxProperties"
            | "minProperties"
            | "propertyNames"
            | "required"
            | "type" => return KeywordScope::Whole,
            _ => return KeywordScope::Conditional,
        }
    }
    KeywordScope::Whole
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
        let check = ArgumentCheck::new(&schema);
        let compiled = check.compiled.as_ref()?;
        let arguments = compiled.adapted(&PartialArguments::new(given, complete));
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
        let gone = json!({"properties": {"old": false}, "required": ["old"]});
        assert!(refused(gone, json!({}), &["old"], true).is_some());
        let empty = json!({"type": "object", "additionalProperties": false});
        assert!(refused(empty, json!({}), &["a"], true).is_some());
    }

    #[test]
    fn an_unknown_value_that_may_be_null_and_left_out_is_no_error() {
        let text = json!({"type": "string"});
        for (schema, known) in [
            (json!({"properties": {"a": false}}), json!({})),
            (
                json!({"properties": {"a": text}, "maxProperties": 1}),
                json!({"b": 1}),
            ),
            (
                json!({"properties": {"a": text}, "propertyNames": {"pattern": "b"}}),
                json!({"b": 1}),
            ),
            (
                json!({"properties": {"b": {}}, "allOf": [{"properties": {"a": text}}], "additionalProperties": false}),
                json!({"b": 1}),
            ),
            (
                json!({"properties": {"b": {}}, "if": {"required": ["c"]}, "then": {"properties": {"a": text}}, "additionalProperties": false}),
                json!({"b": 1}),
            ),
        ] {
            let shown = schema.to_string();
            assert_eq!(
                refused(schema.clone(), known.clone(), &["a"], true),
                None,
                "{shown}"
            );
            // The control: what cannot be left out is refused with any value.
            let mut required = schema;
            required["required"] = json!(["a"]);
            assert!(refused(required, known, &["a"], true).is_some(), "{shown}");
        }
        let least = json!({"properties": {"a": text}, "minProperties": 3});
        assert!(refused(least, json!({"b": 1}), &["a"], true).is_some());
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
