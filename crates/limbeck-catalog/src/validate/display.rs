//! Display of values and paths in error texts: cut, on one line, with invisible characters escaped.

use limbeck_domain::text;
use serde_json::Value;

use crate::names;

/// Most bytes of a value.
const VALUE_BYTES_MAX: usize = 80;
/// Most bytes of a path.
const PATH_BYTES_MAX: usize = 120;
/// Most keys of an object shown.
const KEYS_MAX: usize = 4;

/// A value's type, with the value itself when it is short.
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

/// A string in quotes.
pub(super) fn shown(text: &str) -> String {
    let cut = text::cut(text, VALUE_BYTES_MAX);
    let mark = if cut.len() < text.len() { "…" } else { "" };
    format!("{}{mark}", names::quoted(cut))
}

/// Path of a part of the arguments in program syntax: `filter.labels[0]`.
pub(super) fn place(pointer: &str) -> String {
    if pointer.is_empty() {
        return "the object of arguments".into();
    }
    ticked(&path(pointer))
}

/// Path of the property `name` of the part at `pointer`.
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
    fn paths_have_program_syntax() {
        assert_eq!(
            place("/filter/labels/0/a~1b"),
            "`filter.labels[0][\"a/b\"]`"
        );
        assert_eq!(member("/filter", "x"), "`filter.x`");
        assert_eq!(member("", "a-b"), "`\"a-b\"`");
        assert_eq!(place(""), "the object of arguments");
    }

    #[test]
    fn values_are_cut_and_show_invisible_characters() {
        assert_eq!(described(&json!("5")), "string \"5\"");
        assert_eq!(described(&json!("a\u{202e}")), "string \"a\\u202e\"");
        assert!(described(&json!("x".repeat(1_000))).len() < 100);
        assert_eq!(described(&json!({"a": 1})), "an object with `a`");
    }
}
