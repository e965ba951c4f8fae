//! Comment of a property.

use limbeck_domain::Language;
use serde_json::Value;

use crate::names;

/// Most bytes of a value in a comment.
const VALUE_BYTES_MAX: usize = 80;

/// Keywords whose values a comment shows, with their labels.
const TOLD: [(&str, &str); 11] = [
    ("default", "Default"),
    ("format", "Format"),
    ("pattern", "Pattern"),
    ("minimum", "Minimum"),
    ("exclusiveMinimum", "Above"),
    ("maximum", "Maximum"),
    ("exclusiveMaximum", "Below"),
    ("minLength", "Minimum length"),
    ("maxLength", "Maximum length"),
    ("minItems", "Minimum items"),
    ("maxItems", "Maximum items"),
];

/// Comment of a property: its description, then the constraints that a type cannot express.
pub(super) fn doc(schema: &Value, bytes_max: usize, language: Language) -> String {
    if bytes_max == 0 {
        return String::new();
    }
    let mut parts = Vec::new();
    let described = schema.get("description").or_else(|| schema.get("title"));
    if let Some(text) = described.and_then(Value::as_str) {
        parts.push(names::comment_line(text, bytes_max));
    }
    if schema.get("deprecated") == Some(&Value::Bool(true)) {
        parts.push("Deprecated.".to_owned());
    }
    let is_integer = schema.get("type").and_then(Value::as_str) == Some("integer");
    match language {
        Language::Typescript if is_integer => parts.push("Integer.".to_owned()),
        Language::Typescript | Language::Python => {}
    }
    for (keyword, words) in TOLD {
        if let Some(value) = schema.get(keyword).filter(|value| !value.is_null()) {
            let value = names::comment_line(&value.to_string(), VALUE_BYTES_MAX);
            parts.push(format!("{words}: {value}."));
        }
    }
    parts.retain(|part| !part.is_empty());
    let last = parts.len().saturating_sub(1);
    for part in &mut parts[..last] {
        if !part.ends_with(['.', '!', '?', ':', ';', '…']) {
            part.push('.');
        }
    }
    parts.join(" ")
}
