//! Error text for invalid arguments: up to five mismatches and a hint, in the syntax of the program's language.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use limbeck_domain::{CallCode, CallError, Language, ToolDefinition, text};
use serde_json::Value;

use super::display::{described, member, place, shown, shown_value};
use crate::names;
use crate::nearest::{is_slip_of, nearest};
use crate::signature;

/// Most mismatches in one error.
const FINDINGS_MAX: usize = 5;
/// Mismatches after which the rest is ignored.
const FINDINGS_COUNTED_MAX: usize = 100;
/// Most values of an enumeration shown.
const OPTIONS_SHOWN_MAX: usize = 12;
/// Most bytes of the parameter list in a hint.
const PARAMETERS_SHOWN_BYTES_MAX: usize = 600;
/// Levels of nested alternatives that are described.
const ALTERNATIVES_NESTED_MAX: usize = 4;

/// The values that the errors' paths point into.
#[derive(Clone, Copy)]
pub(super) struct CheckedArguments<'a> {
    /// The compiled schema.
    pub(super) schema: &'a Value,
    pub(super) arguments: &'a Value,
}

/// One problem of the arguments.
struct Mismatch {
    message: String,
    /// Likely correction.
    suggestion: Option<String>,
}

impl Mismatch {
    fn plain(message: String) -> Self {
        Self {
            message,
            suggestion: None,
        }
    }
}

/// Error of a call with invalid arguments.
pub(super) fn call_error(
    tool: &ToolDefinition,
    checked: CheckedArguments<'_>,
    errors: &[ValidationError<'_>],
    language: Language,
) -> CallError {
    let mut mismatches = Vec::new();
    for error in errors {
        report(checked, error, 0, &mut mismatches);
    }
    let more = mismatches.len().saturating_sub(FINDINGS_MAX);
    mismatches.truncate(FINDINGS_MAX);
    let mut message = joined(
        mismatches.iter().map(|mismatch| mismatch.message.as_str()),
        "; ",
    );
    if more > 0 {
        message.push_str(&format!("; and {more} more"));
    }
    // A misspelled required name is reported twice, as unknown and as missing, with the same suggestion.
    let mut suggestion: Vec<&str> = Vec::new();
    for guess in mismatches
        .iter()
        .filter_map(|mismatch| mismatch.suggestion.as_deref())
    {
        if !suggestion.contains(&guess) {
            suggestion.push(guess);
        }
    }
    let suggestion = suggestion.join(", ");
    let hint = if suggestion.is_empty() {
        parameters(tool, language)
    } else {
        format!("did you mean {suggestion}?")
    };
    let id = &tool.id;
    CallError::new(CallCode::InvalidArguments, message)
        .with_target(id.server.as_str(), &*id.tool)
        .with_hint(hint)
}

fn joined<'t>(parts: impl Iterator<Item = &'t str>, between: &str) -> String {
    parts.collect::<Vec<_>>().join(between)
}

fn parameters(tool: &ToolDefinition, language: Language) -> String {
    let parameters = signature::arguments(&tool.input_schema, language);
    let cut = text::cut(&parameters, PARAMETERS_SHOWN_BYTES_MAX);
    let mark = if cut.len() < parameters.len() {
        " …"
    } else {
        ""
    };
    let call = names::call_expression(tool.id.server.as_str(), &tool.id.tool);
    format!("call it as `{call}({cut}{mark})`")
}

fn report(
    checked: CheckedArguments<'_>,
    error: &ValidationError<'_>,
    nested: usize,
    mismatches: &mut Vec<Mismatch>,
) {
    if mismatches.len() >= FINDINGS_COUNTED_MAX {
        return;
    }
    let pointer = error.instance_path().as_str();
    let mismatch = match error.kind() {
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let unexpected = unexpected.iter().take(FINDINGS_COUNTED_MAX);
            mismatches.extend(unexpected.map(|name| unknown_argument(checked, error, name)));
            return;
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            return report_alternatives(checked, error, context, nested, mismatches);
        }
        // A closed object without listed properties reports a false schema and no names.
        Kind::FalseSchema if is_closed_by(error) => {
            let object = checked
                .arguments
                .pointer(pointer)
                .and_then(Value::as_object);
            let names = object.into_iter().flat_map(|object| object.keys());
            let names = names.take(FINDINGS_COUNTED_MAX);
            mismatches.extend(names.map(|name| unknown_argument(checked, error, name)));
            return;
        }
        Kind::Required { property } => missing_argument(checked, error, property),
        Kind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            not_an_option(&[], options, pointer, error.instance())
        }
        Kind::Constant { expected_value } => not_an_option(
            &[],
            &[(**expected_value).clone()],
            pointer,
            error.instance(),
        ),
        Kind::Type { kind } => not_an_option(&type_names(kind), &[], pointer, error.instance()),
        Kind::OneOfMultipleValid { .. } => Mismatch::plain(format!(
            "{} fits more than one of the alternatives",
            place(pointer)
        )),
        Kind::FalseSchema => Mismatch::plain(format!("{} is not accepted", place(pointer))),
        kind => Mismatch::plain(format!(
            "{} {}, got {}",
            place(pointer),
            bound(kind),
            described(error.instance())
        )),
    };
    mismatches.push(mismatch);
}

fn is_closed_by(error: &ValidationError<'_>) -> bool {
    let keyword = error.schema_path().as_str();
    keyword.ends_with("/additionalProperties") || keyword.ends_with("/unevaluatedProperties")
}

/// Describes the nearest alternative: the one that accepts this type of value and has the fewest errors. When none accepts
/// the type, lists everything the alternatives accept.
fn report_alternatives(
    checked: CheckedArguments<'_>,
    error: &ValidationError<'_>,
    alternatives: &[Vec<ValidationError<'static>>],
    nested: usize,
    mismatches: &mut Vec<Mismatch>,
) {
    let pointer = error.instance_path().as_str();
    let of_whole = |inner: &ValidationError<'static>| inner.instance_path().as_str() == pointer;
    let refuses_kind = |errors: &[ValidationError<'static>]| {
        errors.iter().any(|inner| {
            of_whole(inner)
                && matches!(
                    inner.kind(),
                    Kind::Type { .. } | Kind::Enum { .. } | Kind::Constant { .. }
                )
        })
    };
    let nearest = alternatives
        .iter()
        .filter(|errors| !errors.is_empty() && !refuses_kind(errors))
        .min_by_key(|errors| errors.len());
    if let Some(errors) = nearest
        && nested < ALTERNATIVES_NESTED_MAX
    {
        for inner in errors {
            report(checked, inner, nested + 1, mismatches);
        }
        return;
    }
    let (mut types, mut values) = (Vec::new(), Vec::new());
    for inner in alternatives
        .iter()
        .flatten()
        .filter(|inner| of_whole(inner))
    {
        match inner.kind() {
            Kind::Type { kind } => types.extend(type_names(kind)),
            Kind::Enum { options } => {
                values.extend(options.as_array().into_iter().flatten().cloned())
            }
            Kind::Constant { expected_value } => values.push((**expected_value).clone()),
            _ => {}
        }
    }
    types.dedup();
    mismatches.push(not_an_option(&types, &values, pointer, error.instance()));
}

/// Mismatch of a value that is not one of the accepted types and values.
fn not_an_option(types: &[String], options: &[Value], pointer: &str, found: &Value) -> Mismatch {
    let mut accepted = types.to_vec();
    if !options.is_empty() {
        let some = options
            .iter()
            .take(OPTIONS_SHOWN_MAX)
            .map(shown_value)
            .collect::<Vec<_>>();
        let more = options.len().saturating_sub(OPTIONS_SHOWN_MAX);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        let of = if options.len() > 1 { "one of " } else { "" };
        accepted.push(format!("{of}{}{more}", some.join(", ")));
    }
    let message = if accepted.is_empty() {
        format!(
            "{} matches none of the alternatives, got {}",
            place(pointer),
            described(found)
        )
    } else {
        format!(
            "{} must be {}, got {}",
            place(pointer),
            accepted.join(" or "),
            described(found)
        )
    };
    let texts = options.iter().filter_map(Value::as_str);
    let suggestion = found.as_str().and_then(|found| {
        let texts = texts.filter(|text| is_slip_of(found, text));
        let like = nearest(found, texts.map(|text| (text, text)));
        like.first().map(|text| shown(text))
    });
    Mismatch {
        message,
        suggestion,
    }
}

fn unknown_argument(
    checked: CheckedArguments<'_>,
    error: &ValidationError<'_>,
    name: &str,
) -> Mismatch {
    let given = error.instance().as_object();
    let free = properties_beside(checked, error)
        .filter(|known| given.is_none_or(|given| !given.contains_key(*known)));
    let like = nearest(name, free.map(|known| (known, known)));
    Mismatch {
        message: format!(
            "unknown argument {}",
            member(error.instance_path().as_str(), name)
        ),
        suggestion: like.first().map(|known| instead(known, name)),
    }
}

fn instead(right: &str, written: &str) -> String {
    format!("{} instead of {}", member("", right), member("", written))
}

fn missing_argument(
    checked: CheckedArguments<'_>,
    error: &ValidationError<'_>,
    property: &Value,
) -> Mismatch {
    let name = property.as_str().unwrap_or_default();
    let known = properties_beside(checked, error).collect::<Vec<_>>();
    let given = error.instance().as_object();
    let unknown = given
        .into_iter()
        .flat_map(|given| given.keys())
        .map(String::as_str)
        .filter(|key| !known.contains(key));
    let like = nearest(name, unknown.map(|key| (key, key)));
    Mismatch {
        message: format!(
            "missing required argument {}",
            member(error.instance_path().as_str(), name)
        ),
        suggestion: like.first().map(|written| instead(name, written)),
    }
}

/// Names under `properties` of the schema whose keyword failed.
fn properties_beside<'s>(
    checked: CheckedArguments<'s>,
    error: &ValidationError<'_>,
) -> impl Iterator<Item = &'s str> + use<'s> {
    let keyword = error.schema_path().as_str();
    let holder = keyword.rsplit_once('/').map_or("", |(holder, _)| holder);
    // Some errors of `required` have the position of the name at the end of their path.
    let holder = holder.strip_suffix("/required").unwrap_or(holder);
    let properties = checked
        .schema
        .pointer(holder)
        .and_then(|schema| schema.get("properties"))
        .and_then(Value::as_object);
    properties
        .into_iter()
        .flat_map(|map| map.keys())
        .map(String::as_str)
}

fn type_names(kind: &TypeKind) -> Vec<String> {
    match kind {
        TypeKind::Single(one) => vec![one.to_string()],
        TypeKind::Multiple(set) => set.iter().map(|one| one.to_string()).collect(),
    }
}

/// Requirement of a keyword about size or form.
fn bound(kind: &Kind) -> String {
    match kind {
        Kind::Minimum { limit } => format!("must be at least {limit}"),
        Kind::Maximum { limit } => format!("must be at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("must be above {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("must be below {limit}"),
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("must have at least {limit} characters"),
        Kind::MaxLength { limit } => format!("must have at most {limit} characters"),
        Kind::MinItems { limit } => format!("must have at least {limit} items"),
        Kind::MaxItems { limit } => format!("must have at most {limit} items"),
        Kind::AdditionalItems { limit } => format!("must have at most {limit} items"),
        Kind::MinProperties { limit } => format!("must have at least {limit} properties"),
        Kind::MaxProperties { limit } => format!("must have at most {limit} properties"),
        Kind::Pattern { pattern } => format!("must match /{}/", names::comment_line(pattern, 80)),
        Kind::UniqueItems => "must not contain the same item twice".into(),
        other => format!("does not satisfy `{}`", other.keyword()),
    }
}
