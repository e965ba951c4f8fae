//! Values as TOML text, for rules that a person copies into a file.

use std::fmt::Write as _;

use serde_json::Value;

/// A text in quotes. Characters that a terminal would act on or not show are escaped.
pub(super) fn text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            ' '..='~' => quoted.push(c),
            c if c.is_alphanumeric() => quoted.push(c),
            c if u32::from(c) <= 0xFFFF => {
                // Writing into a text does not fail.
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => {
                let _ = write!(quoted, "\\U{:08X}", u32::from(c));
            }
        }
    }
    quoted.push('"');
    quoted
}

/// Conditions as an inline table; `None` when a value has no form in TOML.
pub(super) fn inline_table(conditions: &[(String, Value)]) -> Option<String> {
    let members = conditions
        .iter()
        .map(|(path, operators)| Some(format!("{} = {}", key(path), value(operators)?)));
    let members: Vec<String> = members.collect::<Option<_>>()?;
    Some(format!("{{ {} }}", members.join(", ")))
}

fn key(key: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    if !key.is_empty() && key.bytes().all(is_bare) {
        key.to_owned()
    } else {
        text(key)
    }
}

fn value(json: &Value) -> Option<String> {
    Some(match json {
        Value::Null => return None,
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.as_i64()?.to_string(),
        Value::String(string) => text(string),
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(value).collect::<Option<_>>()?;
            format!("[{}]", elements.join(", "))
        }
        Value::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .map(|(name, json)| (name.clone(), json.clone()))
                .collect();
            inline_table(&members)?
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_reads_back_as_it_was_and_shows_every_character() {
        let odd = "a \"b\" \\ \n \u{202e}é\u{1f600}";
        let written = text(odd);
        assert_eq!(written, "\"a \\\"b\\\" \\\\ \\u000A \\u202Eé\\U0001F600\"");
        let conditions = [
            ("to[*]".to_owned(), json!({ "glob": "*@x.org" })),
            ("n".to_owned(), json!({ "in": [1, true] })),
        ];
        let table = inline_table(&conditions).unwrap();
        assert_eq!(
            table,
            r#"{ "to[*]" = { glob = "*@x.org" }, n = { in = [1, true] } }"#
        );
        let null = ("x".to_owned(), json!({ "eq": null }));
        assert_eq!(inline_table(&[null]), None);
    }
}
