//! Whether a result is what its tool declares.

use jsonschema::ValidationError;
use limbeck_domain::limits::CHECKED_RESULT_BYTES_MAX;
use limbeck_domain::text;
use serde_json::Value;

use super::ArgumentCheck;

/// Bytes of the place and of the reason, each, in what is said of a contradiction.
const PART_BYTES_MAX: usize = 160;

impl ArgumentCheck {
    /// Where `value`, JSON text, differs from the schema, without a word of the value itself.
    ///
    /// `None` when it fits, and when it is too large to look at or its check too much work.
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

fn described(error: &ValidationError<'_>) -> String {
    let reason = error.masked_with("the value").to_string();
    let reason = text::clean_line(&reason, PART_BYTES_MAX);
    match error.instance_path().as_str() {
        "" => reason,
        path => format!("at `{}` {reason}", text::clean_line(path, PART_BYTES_MAX)),
    }
}
