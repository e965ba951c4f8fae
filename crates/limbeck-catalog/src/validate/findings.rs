//! Says what is wrong with arguments, in the words of the program that made the call.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use limbeck_domain::{CallCode, CallError, Language, text};
use serde_json::Value;

use super::words::{described, member, place, shown, shown_value};
use crate::names;
use crate::nearest::nearest;
use crate::signature;
use crate::tool::Tool;

/// Findings of one error.
const FINDINGS_MAX: usize = 5;
/// Findings after which no more are looked at.
const FINDINGS_COUNTED_MAX: usize = 100;
/// Values of an enumeration that are named.
const OPTIONS_SHOWN_MAX: usize = 12;
/// Bytes of the parameter list in a hint.
const PARAMETERS_SHOWN_BYTES_MAX: usize = 600;
/// Alternatives inside alternatives that are looked into.
const ALTERNATIVES_NESTED_MAX: usize = 4;

/// What the errors' paths point into.
#[derive(Clone, Copy)]
pub(super) struct Checked<'a> {
    /// The schema that was compiled.
    pub(super) schema: &'a Value,
    pub(super) arguments: &'a Value,
}

/// One thing that is wrong.
struct Finding {
    message: String,
    /// What was probably meant.
    meant: Option<String>,
}

impl Finding {
    fn plain(message: String) -> Self {
        Self {
            message,
            meant: None,
        }
    }
}

/// The error a program reads: up to five findings and the next step.
pub(super) fn call_error(
    tool: &Tool,
    checked: Checked<'_>,
    errors: &[ValidationError<'_>],
    language: Language,
) -> CallError {
    let mut findings = Vec::new();
    for error in errors {
        report(checked, error, 0, &mut findings);
    }
    let more = findings.len().saturating_sub(FINDINGS_MAX);
    findings.truncate(FINDINGS_MAX);
    let mut message = joined(
        findings.iter().map(|finding| finding.message.as_str()),
        "; ",
    );
    if more > 0 {
        message.push_str(&format!("; and {more} more"));
    }
    // A mistyped name that is required is found twice: as unknown and as missing.
    let mut meant: Vec<&str> = Vec::new();
    for guess in findings
        .iter()
        .filter_map(|finding| finding.meant.as_deref())
    {
        if !meant.contains(&guess) {
            meant.push(guess);
        }
    }
    let meant = meant.join(", ");
    let hint = if meant.is_empty() {
        parameters(tool, language)
    } else {
        format!("did you mean {meant}?")
    };
    let id = tool.id();
    CallError::new(CallCode::InvalidArguments, message)
        .with_target(id.server.as_str(), &*id.tool)
        .with_hint(hint)
}

fn joined<'t>(parts: impl Iterator<Item = &'t str>, between: &str) -> String {
    parts.collect::<Vec<_>>().join(between)
}

fn parameters(tool: &Tool, language: Language) -> String {
    let parameters = signature::arguments(&tool.definition().input_schema, language);
    let cut = text::cut(&parameters, PARAMETERS_SHOWN_BYTES_MAX);
    let mark = if cut.len() < parameters.len() {
        " …"
    } else {
        ""
    };
    format!("the call is `{}({cut}{mark})`", tool.call_expression())
}

fn report(
    checked: Checked<'_>,
    error: &ValidationError<'_>,
    nested: usize,
    findings: &mut Vec<Finding>,
) {
    if findings.len() >= FINDINGS_COUNTED_MAX {
        return;
    }
    let pointer = error.instance_path().as_str();
    let finding = match error.kind() {
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let unexpected = unexpected.iter().take(FINDINGS_COUNTED_MAX);
            findings.extend(unexpected.map(|name| unknown_argument(checked, error, name)));
            return;
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            return report_alternatives(checked, error, context, nested, findings);
        }
        // How an object that is closed and lists no properties refuses them: it names none.
        Kind::FalseSchema if is_closed_by(error) => {
            let object = checked
                .arguments
                .pointer(pointer)
                .and_then(Value::as_object);
            let names = object.into_iter().flat_map(|object| object.keys());
            let names = names.take(FINDINGS_COUNTED_MAX);
            findings.extend(names.map(|name| unknown_argument(checked, error, name)));
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
        Kind::OneOfMultipleValid { .. } => Finding::plain(format!(
            "{} fits more than one of the alternatives",
            place(pointer)
        )),
        Kind::FalseSchema => Finding::plain(format!("{} is not accepted", place(pointer))),
        kind => Finding::plain(format!(
            "{} {}, got {}",
            place(pointer),
            bound(kind),
            described(error.instance())
        )),
    };
    findings.push(finding);
}

fn is_closed_by(error: &ValidationError<'_>) -> bool {
    let keyword = error.schema_path().as_str();
    keyword.ends_with("/additionalProperties") || keyword.ends_with("/unevaluatedProperties")
}

/// Of alternatives the nearest is told: one that takes this kind of value and finds least wrong with
/// it. When none takes it, all they would take is told.
fn report_alternatives(
    checked: Checked<'_>,
    error: &ValidationError<'_>,
    alternatives: &[Vec<ValidationError<'static>>],
    nested: usize,
    findings: &mut Vec<Finding>,
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
            report(checked, inner, nested + 1, findings);
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
    findings.push(not_an_option(&types, &values, pointer, error.instance()));
}

/// A value is none of the types and values that are accepted in its place.
fn not_an_option(types: &[String], options: &[Value], pointer: &str, found: &Value) -> Finding {
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
            "{} fits none of the alternatives, got {}",
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
    let meant = found.as_str().and_then(|found| {
        let like = nearest(found, texts.map(|text| (text, text)));
        like.first().map(|text| shown(text))
    });
    Finding { message, meant }
}

fn unknown_argument(checked: Checked<'_>, error: &ValidationError<'_>, name: &str) -> Finding {
    let given = error.instance().as_object();
    let free = properties_beside(checked, error)
        .filter(|known| given.is_none_or(|given| !given.contains_key(*known)));
    let like = nearest(name, free.map(|known| (known, known)));
    Finding {
        message: format!(
            "unknown argument {}",
            member(error.instance_path().as_str(), name)
        ),
        meant: like.first().map(|known| instead(known, name)),
    }
}

fn instead(right: &str, written: &str) -> String {
    format!("{} instead of {}", member("", right), member("", written))
}

fn missing_argument(
    checked: Checked<'_>,
    error: &ValidationError<'_>,
    property: &Value,
) -> Finding {
    let name = property.as_str().unwrap_or_default();
    let known = properties_beside(checked, error).collect::<Vec<_>>();
    let given = error.instance().as_object();
    let unknown = given
        .into_iter()
        .flat_map(|given| given.keys())
        .map(String::as_str)
        .filter(|key| !known.contains(key));
    let like = nearest(name, unknown.map(|key| (key, key)));
    Finding {
        message: format!(
            "missing required argument {}",
            member(error.instance_path().as_str(), name)
        ),
        meant: like.first().map(|written| instead(name, written)),
    }
}

/// Names listed under `properties` of the schema that holds the keyword that failed.
fn properties_beside<'s>(
    checked: Checked<'s>,
    error: &ValidationError<'_>,
) -> impl Iterator<Item = &'s str> + use<'s> {
    let keyword = error.schema_path().as_str();
    let holder = keyword.rsplit_once('/').map_or("", |(holder, _)| holder);
    // `required` is one keyword, and in some reports the name's position follows it.
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

/// What a keyword about size or form asks for.
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
        Kind::UniqueItems => "must not hold an item twice".into(),
        other => format!("does not satisfy `{}`", other.keyword()),
    }
}
