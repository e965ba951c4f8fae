//! Texts of a server's question as a person or a model reads them: bounded, and further lines indented.
//!
//! A question begins with `[server]`. A line of its text that began so as well would read as the question of another
//! server, so every line but the first begins with two spaces.

use limbeck_domain::text;
use serde_json::Value;

/// Bytes of a message; published ones are below 1 KiB.
pub(super) const MESSAGE_BYTES_MAX: usize = 4 << 10;
/// Bytes of a prompt for sampling, which no person has to read.
pub(super) const PROMPT_BYTES_MAX: usize = 64 << 10;
/// Bytes of the title of a field or choice.
const TITLE_BYTES_MAX: usize = 256;
/// Bytes of the description of a field.
const DESCRIPTION_BYTES_MAX: usize = 1 << 10;

/// The first `bytes_max` bytes of `said`, with the number of those that were left out.
pub(super) fn shown(said: &str, bytes_max: usize) -> String {
    let kept = text::cut(said, bytes_max);
    let mut shown = kept.replace('\n', "\n  ");
    let left_out = said.len() - kept.len();
    if left_out > 0 {
        shown.push_str(&format!("… ({left_out} more bytes were left out)"));
    }
    shown
}

/// Bounds titles and descriptions in a form's schema. Values that an answer repeats stay as they are.
pub(super) fn bound_fields(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for (key, member) in members {
                bound_member(key, member);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(bound_fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn bound_member(key: &str, member: &mut Value) {
    match (key, member) {
        ("title", Value::String(title)) => *title = shown(title, TITLE_BYTES_MAX),
        ("description", Value::String(description)) => {
            *description = shown(description, DESCRIPTION_BYTES_MAX);
        }
        ("enumNames", Value::Array(names)) => {
            for name in names {
                bound_member("title", name);
            }
        }
        (_, member) => bound_fields(member),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn titles_are_bounded_and_what_an_answer_repeats_is_not_changed() {
        let mut schema = json!({"properties": {"a": {
            "title": "t".repeat(300),
            "enum": ["x\ny"],
            "enumNames": ["n\n[bank]"],
            "oneOf": [{"const": "c\nd", "title": "o\np"}]
        }}});
        bound_fields(&mut schema);
        let field = &schema["properties"]["a"];
        let title = format!("{}… (44 more bytes were left out)", "t".repeat(256));
        assert_eq!(field["title"], title);
        assert_eq!(field["enum"], json!(["x\ny"]));
        assert_eq!(field["enumNames"], json!(["n\n  [bank]"]));
        assert_eq!(
            field["oneOf"],
            json!([{"const": "c\nd", "title": "o\n  p"}])
        );
        // The control: a short text stays.
        assert_eq!(shown("short", 5), "short");
    }
}
