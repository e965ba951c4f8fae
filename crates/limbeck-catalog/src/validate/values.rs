//! Checks of values other than arguments: results against their declared schema, and answers to a server's form.

use jsonschema::ValidationError;
use limbeck_domain::limits::CHECKED_RESULT_BYTES_MAX;
use limbeck_domain::text;
use serde_json::Value;

use super::{ArgumentCheck, REASON_BYTES_MAX};

/// Most bytes of the path and of the reason, each, in the description of a contradiction.
const PART_BYTES_MAX: usize = 160;

impl ArgumentCheck {
    /// Describes how `value`, JSON text, differs from the schema, without any part of the value.
    ///
    /// `None` when it matches, is too large, or its check takes too many steps.
    pub(crate) fn contradiction(&self, value: &str) -> Option<String> {
        let compiled = self.compiled.as_ref()?;
        if value.len() > CHECKED_RESULT_BYTES_MAX {
            return None;
        }
        let value: Value = serde_json::from_str(value).ok()?;
        let errors = compiled.errors(&value);
        errors.first().map(described)
    }
}

/// Describes on one line how `value` differs from `schema`, without the value itself.
///
/// `None` when it matches and when it cannot be checked within bounds. Neither needs to be trusted: the cost is bounded as
/// for arguments.
pub fn schema_mismatch(schema: &Value, value: &Value) -> Option<String> {
    let compiled = ArgumentCheck::new(schema).compiled?;
    let errors = compiled.errors(value);
    let first = errors.first()?;
    let place = first.instance_path().as_str();
    let line = format!("{place} {}", first.masked());
    Some(text::clean_line(line.trim(), REASON_BYTES_MAX))
}

fn described(error: &ValidationError<'_>) -> String {
    let reason = error.masked_with("the value").to_string();
    let reason = text::clean_line(&reason, PART_BYTES_MAX);
    match error.instance_path().as_str() {
        "" => reason,
        path => format!("at `{}` {reason}", text::clean_line(path, PART_BYTES_MAX)),
    }
}
