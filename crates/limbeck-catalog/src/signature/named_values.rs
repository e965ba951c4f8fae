//! Values of a text argument that its description names and its schema does not.
//!
//! Many servers declare `"type": "string"` and write `'local', 'remote' or 'all'` into the description, which a signature
//! leaves out. The values go into a comment: no server is bound by a description, so they are not part of the type.

use serde_json::{Map, Value};

/// Fewest and most values that are a choice. One quoted word is rarely one, many belong to a text about something else.
const VALUES: std::ops::RangeInclusive<usize> = 2..=8;
/// Bytes of a value, and of a description that is read.
const VALUE_BYTES_MAX: usize = 32;
const DESCRIPTION_BYTES_MAX: usize = 600;
/// Keywords with which a schema says itself what a text may be.
const SAYS_VALUES: [&str; 5] = ["enum", "const", "format", "pattern", "contentMediaType"];
/// Parts of descriptions whose quoted words are examples, names of other arguments, or conditions. In the captured lists 47
/// arguments have a choice that is found, and 116 more descriptions quote several words for another reason.
const OTHER_MEANINGS: [&str; 16] = [
    "e.g", "xample", "such as", "etc", "like ", "equired", "for '", "for \"", "For '", "For \"",
    "if '", "If '", "hen ", "ropert", "->", "=\"",
];

/// Comment with the values that the description of a text argument names; `None` when it names no choice. `siblings`
/// are the properties of the same object, whose quoted names are no values.
pub(super) fn named_values(schema: &Value, siblings: &Map<String, Value>) -> Option<String> {
    let is_text = schema.get("type").and_then(Value::as_str) == Some("string");
    let says_values = |keyword: &&str| schema.get(keyword).is_some();
    if !is_text || SAYS_VALUES.iter().any(says_values) {
        return None;
    }
    let description = schema.get("description")?.as_str()?;
    let has_other_meaning = |part: &&str| description.contains(part);
    if description.len() > DESCRIPTION_BYTES_MAX || OTHER_MEANINGS.iter().any(has_other_meaning) {
        return None;
    }
    let mut values: Vec<&str> = Vec::new();
    for value in quoted_words(description) {
        if siblings.contains_key(value) {
            return None;
        }
        if !values.contains(&value) {
            values.push(value);
        }
    }
    let shown = || values.iter().map(|value| format!("\"{value}\""));
    VALUES
        .contains(&values.len())
        .then(|| format!("such as {}", shown().collect::<Vec<_>>().join(", ")))
}

/// Words of letters, digits, `_`, `.` and `-` in quotation marks of any kind.
fn quoted_words(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    text.char_indices().filter_map(move |(at, quote)| {
        let opens = matches!(quote, '\'' | '"' | '`')
            && !text[..at].ends_with(|before: char| before.is_alphanumeric() || before == quote);
        if !opens {
            return None;
        }
        let inner = &text[at + 1..];
        let end = inner.find(|c: char| !is_word(c))?;
        let (word, rest) = inner.split_at(end);
        let rest = rest.strip_prefix(quote)?;
        let is_value = word.starts_with(|c: char| c.is_ascii_alphanumeric())
            && word.len() <= VALUE_BYTES_MAX
            && !rest.starts_with(|after: char| after.is_alphanumeric());
        is_value.then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(description: &str) -> Option<String> {
        let schema = json!({"type": "string", "description": description});
        let siblings = json!({"operations": {}});
        named_values(&schema, siblings.as_object()?)
    }

    #[test]
    fn a_choice_of_quoted_words_is_found() {
        for (description, values) in [
            (
                "Whether to list local branches ('local'), remote branches ('remote') or all branches('all').",
                r#"such as "local", "remote", "all""#,
            ),
            (
                "Valid values: \"pod\", \"node\". A \"pod\" is small.",
                r#"such as "pod", "node""#,
            ),
            (
                "Either `range` or `instant`",
                r#"such as "range", "instant""#,
            ),
            ("'a.b-c' or 'd_e'", r#"such as "a.b-c", "d_e""#),
        ] {
            assert_eq!(of(description).as_deref(), Some(values), "{description}");
        }
    }

    #[test]
    fn examples_conditions_and_names_of_other_arguments_are_no_choice() {
        for description in [
            "",
            "The 'main' one",
            "Names (e.g. 'a', 'b')",
            "For example 'a' or 'b'",
            "Required for 'create' and 'update'",
            "Used when 'mode' is 'fast'",
            "Needs 'operations' and 'uid'",
            "It's the user's; they're 'a one' and '*/'",
            "'a' 'b' 'c' 'd' 'e' 'f' 'g' 'h' 'i'",
            "'",
            "''a'' \"",
        ] {
            assert_eq!(of(description), None, "{description}");
        }
        let listed = json!({"type": "string", "enum": ["a"], "description": "'a' or 'b'"});
        assert_eq!(named_values(&listed, &Map::new()), None);
        let long = format!("{} 'a' or 'b'", "x".repeat(DESCRIPTION_BYTES_MAX));
        assert_eq!(of(&long), None);
    }
}
