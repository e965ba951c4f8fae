//! Parts of JSON Schema that signatures and checks share.

use std::borrow::Cow;

use serde_json::Value;

/// Target of a local reference in `root`; `None` for any other reference, which is never fetched.
///
/// Accepts `#` and JSON Pointers in a fragment (RFC 6901 §6). Anchors are not looked up.
pub(crate) fn local_reference<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let pointer = percent_decoded(reference.strip_prefix('#')?);
    root.pointer(&pointer)
}

/// Whether `value` has the type, or one of the types, of the keyword `type`. True without the keyword.
pub(crate) fn is_of(value: &Value, types: Option<&Value>) -> bool {
    match types {
        Some(Value::String(name)) => is_of_type(value, name),
        Some(Value::Array(names)) => names
            .iter()
            .any(|name| name.as_str().is_none_or(|name| is_of_type(value, name))),
        _ => true,
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "number" => value.is_number(),
        // JSON Schema counts `1.0` as an integer.
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

/// Whether the dialect of `root` ignores keywords beside `$ref`, as the dialects up to draft 7 do (section 8.3).
pub(crate) fn ignores_siblings_of_references(root: &Value) -> bool {
    let dialect = root
        .get("$schema")
        .and_then(Value::as_str)
        .unwrap_or_default();
    ["draft-04/", "draft-06/", "draft-07/"]
        .iter()
        .any(|name| dialect.contains(name))
}

fn percent_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = (byte == b'%')
            .then(|| after.get(..2))
            .flatten()
            .and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(escaped.unwrap_or(byte));
        rest = if escaped.is_some() {
            &after[2..]
        } else {
            after
        };
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_pointers_into_the_same_document_are_followed() {
        let root = json!({"$defs": {"A<B>": 1, "c/d": 2}});
        assert_eq!(local_reference(&root, "#/$defs/A%3CB%3E"), Some(&json!(1)));
        assert_eq!(local_reference(&root, "#/$defs/c~1d"), Some(&json!(2)));
        assert_eq!(local_reference(&root, "#"), Some(&root));
        for other in [
            "https://example.com/a#",
            "file:///etc/passwd",
            "#anchor",
            "",
            "#/%zz%",
            "#/%",
        ] {
            assert_eq!(local_reference(&root, other), None, "{other}");
        }
    }
}
