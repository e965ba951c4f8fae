//! Checks a call's arguments before anything is sent.
//!
//! The schema is an upstream's and the arguments are a program's; the check must stay cheap whatever
//! they are. Three things keep it so. [`relax`] takes out what cannot be checked here (references
//! elsewhere, patterns that need backtracking), which makes the check weaker and never wrong.
//! [`cost`] counts the work before it is done, because alternatives inside recursion can make it
//! exponential. And a schema that still cannot be compiled is not checked at all: the server has the
//! last word anyway.

mod cost;
mod findings;
mod output;
mod partial;
mod relax;
mod words;

pub(crate) use partial::PartialArguments;

use std::panic::{AssertUnwindSafe, catch_unwind};

use jsonschema::{PatternOptions, ValidationError, ValidationOptions, Validator};
use limbeck_domain::{CallCode, CallError, Language, limits, text};
use serde_json::Value;

use crate::tool::Tool;

/// Steps of one check above which it is left out: some tens of milliseconds.
const CHECK_STEPS_MAX: u64 = 250_000;
/// Steps above which only the first finding is told, since each finding takes memory.
const FINDINGS_STEPS_MAX: u64 = 20_000;
/// Compiled size of one `pattern`; real ones stay under a tenth.
const PATTERN_BYTES_MAX: usize = 128 << 10;
/// Bytes of a reason.
const REASON_BYTES_MAX: usize = 200;

/// A tool's input schema, ready to check arguments.
pub(crate) struct ArgumentCheck {
    compiled: Option<Compiled>,
    unchecked: Option<String>,
}

struct Compiled {
    /// The schema that is checked: what is left of the server's.
    schema: Value,
    validator: Validator,
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

    pub(crate) fn validate(
        &self,
        tool: &Tool,
        arguments: &str,
        language: Language,
    ) -> Result<String, CallError> {
        let (value, sent) = parse(tool, arguments)?;
        let Some(compiled) = &self.compiled else {
            return Ok(sent);
        };
        let errors = compiled.errors(&value);
        if errors.is_empty() {
            return Ok(sent);
        }
        Err(compiled.refusal(tool, &value, &errors, language))
    }
}

impl Compiled {
    /// What is wrong with `value`; nothing when it is too much to check.
    fn errors<'a>(&'a self, value: &'a Value) -> Vec<ValidationError<'a>> {
        let Some(steps) = cost::steps(&self.schema, value, CHECK_STEPS_MAX) else {
            return Vec::new();
        };
        // The library panics on some schemas that refer to themselves beside `unevaluatedProperties`. A
        // schema comes from outside; one that cannot be checked is not.
        let checked = catch_unwind(AssertUnwindSafe(|| {
            if self.validator.is_valid(value) {
                Vec::new()
            } else if steps <= FINDINGS_STEPS_MAX {
                self.validator.iter_errors(value).collect()
            } else {
                self.validator.validate(value).err().into_iter().collect()
            }
        }));
        checked.unwrap_or_default()
    }

    fn refusal(
        &self,
        tool: &Tool,
        value: &Value,
        errors: &[ValidationError<'_>],
        language: Language,
    ) -> CallError {
        let checked = findings::Checked {
            schema: &self.schema,
            arguments: value,
        };
        findings::call_error(tool, checked, errors, language)
    }
}

/// Why `value` does not fit `schema`, one line without the value; nothing when it does, or when that cannot be
/// told. Both may be anybody's: this costs as little as a check of arguments.
pub fn misfit(schema: &Value, value: &Value) -> Option<String> {
    let compiled = ArgumentCheck::new(schema).compiled?;
    let errors = compiled.errors(value);
    let first = errors.first()?;
    let place = first.instance_path().as_str();
    let line = format!("{place} {}", first.masked());
    Some(text::clean_line(line.trim(), REASON_BYTES_MAX))
}

/// Options of every compilation: no reference is fetched, every pattern runs in linear time.
fn options() -> ValidationOptions<'static> {
    jsonschema::options()
        .offline()
        .should_validate_formats(false)
        .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES_MAX))
}

/// The arguments as a value, and as the text that is sent: the same text without white space.
fn parse(tool: &Tool, arguments: &str) -> Result<(Value, String), CallError> {
    let id = tool.id();
    let refuse = |code, message: String| {
        CallError::new(code, message).with_target(id.server.as_str(), &*id.tool)
    };
    if arguments.len() > limits::CALL_ARGS_BYTES_MAX {
        let message = format!(
            "arguments are {} bytes, over the limit of {}",
            arguments.len(),
            limits::CALL_ARGS_BYTES_MAX
        );
        return Err(refuse(CallCode::LimitExceeded, message));
    }
    // A call without arguments.
    if arguments.trim().is_empty() {
        return Ok((Value::Object(serde_json::Map::new()), "{}".to_owned()));
    }
    // `serde_json` enforces `limits::JSON_DEPTH_MAX`.
    let value: Value = serde_json::from_str(arguments).map_err(|error| {
        refuse(
            CallCode::InvalidArguments,
            format!("arguments are not JSON: {error}"),
        )
    })?;
    if !value.is_object() {
        let message = format!(
            "arguments must be one object, got {}",
            words::described(&value)
        );
        let hint = format!(
            "call it with named arguments: `{}({{ … }})`",
            tool.call_expression()
        );
        return Err(refuse(CallCode::InvalidArguments, message).with_hint(hint));
    }
    let (sent, keys) = compact(arguments);
    if keys != count_keys(&value) {
        // What we checked and what the server reads could be two different values.
        return Err(refuse(
            CallCode::InvalidArguments,
            "a key is given twice in one object".into(),
        ));
    }
    Ok((value, sent))
}

/// JSON text without white space, and how many keys it has. `json` is known to be valid.
///
/// The text itself is kept, not printed again from the value: numbers stay as the program wrote them.
fn compact(json: &str) -> (String, usize) {
    let mut sent = String::with_capacity(json.len());
    let mut keys = 0;
    let mut in_string = false;
    let mut escaped = false;
    for c in json.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => in_string = !in_string,
            ':' if !in_string => keys += 1,
            ' ' | '\t' | '\n' | '\r' if !in_string => continue,
            _ => {}
        }
        sent.push(c);
    }
    (sent, keys)
}

fn count_keys(value: &Value) -> usize {
    match value {
        Value::Object(map) => map.len() + map.values().map(count_keys).sum::<usize>(),
        Value::Array(items) => items.iter().map(count_keys).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}
