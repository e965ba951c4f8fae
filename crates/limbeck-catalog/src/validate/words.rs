//! Values and places of the arguments, in few words: cut, on one line, nothing hidden.

use limbeck_domain::text;
use serde_json::Value;

use crate::names;

/// Bytes of a value that is repeated.
const VALUE_BYTES_MAX: usize = 80;
/// Bytes of a path that is repeated.
const PATH_BYTES_MAX: usize = 120;
/// Keys of an object that are named.
const KEYS_MAX: usize = 4;

/// A value by its type and, when it is short, itself.
pub(super) fn described(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(_) => format!("boolean {value}"),
        Value::Number(_) => format!("number {value}"),
        Value::String(text) => format!("string {}", shown(text)),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(map) if map.is_empty() => "an empty object".into(),
        Value::Object(map) => {
            let keys = map.keys().take(KEYS_MAX).map(|key| member("", key));
            let more = if map.len() > KEYS_MAX { ", …" } else { "" };
            format!(
                "an object with {}{more}",
                keys.collect::<Vec<_>>().join(", ")
            )
        }
    }
}

/// A value as JSON.
pub(super) fn shown_value(value: &Value) -> String {
    match value {
        Value::String(text) => shown(text),
        other => names::comment_line(&other.to_string(), VALUE_BYTES_MAX),
    }
}

/// A text in quotes.
pub(super) fn shown(text: &str) -> String {
    let cut = text::cut(text, VALUE_BYTES_MAX);
    let mark = if cut.len() < text.len() { "…" } else { "" };
    format!("{}{mark}", names::quoted(cut))
}

/// A part of the arguments as a program writes it: `filter.labels[0]`.
pub(super) fn place(pointer: &str) -> String {
    if pointer.is_empty() {
        return "the object of arguments".into();
    }
    ticked(&path(pointer))
}

/// The property `name` of the part that `pointer` names.
pub(super) fn member(pointer: &str, name: &str) -> String {
    let mut path = path(pointer);
    push_member(&mut path, name, false);
    ticked(&path)
}

fn ticked(path: &str) -> String {
    let cut = text::cut(path, PATH_BYTES_MAX);
    let mark = if cut.len() < path.len() { "…" } else { "" };
    format!("`{cut}{mark}`")
}

fn path(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        let index = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        push_member(
            &mut path,
            &part.replace("~1", "/").replace("~0", "~"),
            index,
        );
    }
    path
}

fn push_member(path: &mut String, name: &str, index: bool) {
    if index {
        path.push_str(&format!("[{name}]"));
    } else if !names::is_identifier(name) {
        let name = shown(name);
        path.push_str(&if path.is_empty() {
            name
        } else {
            format!("[{name}]")
        });
    } else if path.is_empty() {
        path.push_str(name);
    } else {
        path.push('.');
        path.push_str(name);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn places_read_as_a_program_writes_them() {
        assert_eq!(
            place("/filter/labels/0/a~1b"),
            "`filter.labels[0][\"a/b\"]`"
        );
        assert_eq!(member("/filter", "x"), "`filter.x`");
        assert_eq!(member("", "a-b"), "`\"a-b\"`");
        assert_eq!(place(""), "the object of arguments");
    }

    #[test]
    fn values_are_cut_and_hide_nothing() {
        assert_eq!(described(&json!("5")), "string \"5\"");
        assert_eq!(described(&json!("a\u{202e}")), "string \"a\\u202e\"");
        assert!(described(&json!("x".repeat(1_000))).len() < 100);
        assert_eq!(described(&json!({"a": 1})), "an object with `a`");
    }
}
