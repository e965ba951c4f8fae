//! Validation of a call's arguments before anything is sent.
//!
//! The schema comes from an upstream and the arguments from a program, and the check must be cheap for all of them. Three
//! measures keep it cheap. [`relax`] removes keywords that cannot be checked here (remote references, patterns that need
//! backtracking), which makes the check weaker and never wrong. [`cost`] counts the work before it is done, because
//! alternatives inside recursion can make it exponential. And arguments of a schema that cannot be compiled are not checked:
//! the server checks them anyway.

mod adapt;
mod arguments;
mod cost;
mod display;
mod mismatches;
mod partial;
mod relax;
mod values;

pub(crate) use partial::PartialArguments;
pub use values::schema_mismatch;

use std::panic::{AssertUnwindSafe, catch_unwind};

use jsonschema::{PatternOptions, ValidationError, ValidationOptions, Validator};
use limbeck_domain::{CallError, CompactArguments, Language, ToolDefinition, text};
use serde_json::Value;

use crate::names;
use crate::nearest::nearest;

/// Most steps of one check, which take some tens of milliseconds. Above, arguments are not checked.
const CHECK_STEPS_MAX: u64 = 250_000;
/// Most steps of a check that collects every mismatch, since each takes memory. Above, only the first is reported.
const ALL_MISMATCHES_STEPS_MAX: u64 = 20_000;
/// Most bytes of one compiled `pattern`; real ones have less than a tenth.
const PATTERN_BYTES_MAX: usize = 128 << 10;
/// Most bytes of a name in a warning.
const NAME_SHOWN_BYTES_MAX: usize = 80;
/// Most names of one call that a warning is about.
const UNLISTED_SHOWN_MAX: usize = 5;
/// Most listed names that a warning compares with, and shows.
const LISTED_COMPARED_MAX: usize = 200;
const LISTED_SHOWN_MAX: usize = 8;
/// Most bytes of a reason.
const REASON_BYTES_MAX: usize = 200;

/// A compiled schema, ready to check values.
pub(crate) struct ArgumentCheck {
    compiled: Option<Compiled>,
    unchecked: Option<String>,
}

struct Compiled {
    /// The relaxed schema.
    schema: Value,
    validator: Validator,
    /// Whether what it requires of one argument may depend on another.
    has_conditions: bool,
}

impl ArgumentCheck {
    pub(crate) fn new(schema: &Value) -> Self {
        let relaxed = match relax::relax(schema) {
            Ok(relaxed) => relaxed,
            Err(reason) => return Self::none(reason.into()),
        };
        match options().build(&relaxed.schema) {
            Ok(validator) => Self {
                compiled: Some(Compiled {
                    has_conditions: has_conditions(&relaxed.schema),
                    schema: relaxed.schema,
                    validator,
                }),
                unchecked: relaxed.left_out,
            },
            Err(error) => {
                let reason = text::clean_line(&error.to_string(), REASON_BYTES_MAX);
                Self::none(format!("the input schema is not valid: {reason}"))
            }
        }
    }

    fn none(reason: String) -> Self {
        Self {
            compiled: None,
            unchecked: Some(reason),
        }
    }

    pub(crate) fn unchecked(&self) -> Option<&str> {
        self.unchecked.as_deref()
    }

    pub(crate) fn accept(
        &self,
        tool: &ToolDefinition,
        arguments: &str,
        language: Language,
    ) -> Result<AcceptedArguments, CallError> {
        let (sent, given) = arguments::parse(tool, arguments)?;
        let Some(compiled) = &self.compiled else {
            return Ok(AcceptedArguments::plain(sent));
        };
        let mut value = given.clone();
        let renamed = compiled.adapt(&mut value);
        let errors = compiled.errors(&value);
        if !errors.is_empty() {
            return Err(compiled.refusal(tool, &value, &errors, language));
        }
        let mut accepted = AcceptedArguments::plain(sent);
        if value != given {
            let text = arguments::rewritten(accepted.arguments.as_str(), &value, &renamed);
            (accepted.arguments, _) = arguments::parse(tool, &text)?;
        }
        let call = names::call_expression(tool.id.server.as_str(), &tool.id.tool);
        for (written, listed) in renamed {
            let (written, listed) = (shown(&written), shown(&listed));
            accepted
                .notes
                .push(format!("`{call}`: `{written}` was sent as `{listed}`"));
        }
        accepted.notes.extend(compiled.unlisted(&call, &value));
        Ok(accepted)
    }
}

/// Arguments that may be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedArguments {
    /// The arguments as the server reads them.
    pub arguments: CompactArguments,
    /// Warnings for the program: names that were changed, and names that the tool does not declare.
    pub notes: Vec<String>,
}

impl AcceptedArguments {
    fn plain(arguments: CompactArguments) -> Self {
        Self {
            arguments,
            notes: Vec::new(),
        }
    }
}

fn shown(name: &str) -> String {
    names::comment_line(name, NAME_SHOWN_BYTES_MAX)
}

impl Compiled {
    /// A warning for each given name that the tool does not declare.
    fn unlisted(&self, call: &str, value: &Value) -> Vec<String> {
        let (Some(listed), Some(given)) = (self.listed(), value.as_object()) else {
            return Vec::new();
        };
        let unknown = given.keys().filter(|name| !listed.contains_key(*name));
        let unknown = unknown.take(UNLISTED_SHOWN_MAX).map(|name| {
            let free = listed.keys().filter(|listed| !given.contains_key(*listed));
            let free = free.take(LISTED_COMPARED_MAX).map(String::as_str);
            let meant = nearest(name, free.map(|name| (name, name)));
            let next = match meant.first() {
                Some(meant) => format!("did you mean `{}`?", shown(meant)),
                None if listed.is_empty() => "it takes no arguments".to_owned(),
                None => {
                    let names = listed.keys().take(LISTED_SHOWN_MAX);
                    let names: Vec<String> =
                        names.map(|name| format!("`{}`", shown(name))).collect();
                    format!("it has {}", names.join(", "))
                }
            };
            let name = shown(name);
            format!("`{call}` declares no argument `{name}`, which was sent all the same; {next}")
        });
        unknown.collect()
    }

    /// Errors of `value`; none when the check would take too many steps.
    fn errors<'a>(&'a self, value: &'a Value) -> Vec<ValidationError<'a>> {
        let Some(steps) = cost::steps(&self.schema, value, CHECK_STEPS_MAX) else {
            return Vec::new();
        };
        // The library panics on some schemas with a reference to themselves beside `unevaluatedProperties`. Schemas come
        // from upstreams, so a panic must not end the gateway; arguments of such a schema are not checked.
        let checked = catch_unwind(AssertUnwindSafe(|| {
            if self.validator.is_valid(value) {
                Vec::new()
            } else if steps <= ALL_MISMATCHES_STEPS_MAX {
                self.validator.iter_errors(value).collect()
            } else {
                self.validator.validate(value).err().into_iter().collect()
            }
        }));
        checked.unwrap_or_default()
    }

    fn refusal(
        &self,
        tool: &ToolDefinition,
        value: &Value,
        errors: &[ValidationError<'_>],
        language: Language,
    ) -> CallError {
        let checked = mismatches::CheckedArguments {
            schema: &self.schema,
            arguments: value,
        };
        mismatches::call_error(tool, checked, errors, language)
    }
}

/// Whether a schema has a keyword that applies to one argument because of another.
fn has_conditions(schema: &Value) -> bool {
    match schema {
        Value::Object(keywords) => keywords.iter().any(|(keyword, schema)| {
            matches!(keyword.as_str(), "if" | "dependentSchemas" | "dependencies")
                || has_conditions(schema)
        }),
        Value::Array(schemas) => schemas.iter().any(has_conditions),
        _ => false,
    }
}

/// Options of every compilation: no reference is fetched, and every pattern runs in linear time.
fn options() -> ValidationOptions<'static> {
    jsonschema::options()
        .offline()
        .should_validate_formats(false)
        .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES_MAX))
}
