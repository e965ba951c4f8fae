//! Arguments of a tool call in the one form that policy, journal and upstream agree on.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

/// Arguments of a tool call: a JSON object without white space between its tokens and without a key given twice.
///
/// Made once, by validation, and passed on unchanged to the connection that writes it into a request. Numbers stay
/// as the caller wrote them. Clones share the text.
#[derive(Clone, Debug)]
pub struct CompactArguments(Arc<RawValue>);

/// Why a text is not the arguments of a call.
#[derive(Debug, thiserror::Error)]
pub enum ArgumentsError {
    /// Not JSON, or nested too deeply.
    #[error("arguments are not JSON")]
    NotJson(#[source] serde_json::Error),
    /// JSON, but not an object.
    #[error("arguments must be one object")]
    NotAnObject(Value),
    /// The checked value and the value a server reads could differ.
    #[error("a key is given twice in one object")]
    DuplicateKey,
}

impl CompactArguments {
    /// Reads `text`, and returns the arguments together with the value they were checked as. A text of white space
    /// alone is the empty object.
    ///
    /// # Errors
    ///
    /// [`ArgumentsError`]. JSON deeper than [`JSON_DEPTH_MAX`](crate::limits::JSON_DEPTH_MAX) is not JSON here.
    pub fn parse(text: &str) -> Result<(Self, Value), ArgumentsError> {
        let text = match text.trim() {
            "" => "{}",
            _ => text,
        };
        let value: Value = serde_json::from_str(text).map_err(ArgumentsError::NotJson)?;
        if !value.is_object() {
            return Err(ArgumentsError::NotAnObject(value));
        }
        let (compact, keys) = compact(text);
        if keys != count_keys(&value) {
            return Err(ArgumentsError::DuplicateKey);
        }
        let raw = RawValue::from_string(compact).map_err(ArgumentsError::NotJson)?;
        Ok((Self(raw.into()), value))
    }

    /// JSON text of the object, on one line.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// The object as it is put into a request.
    pub fn into_raw(self) -> Arc<RawValue> {
        self.0
    }
}

impl PartialEq for CompactArguments {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for CompactArguments {}

impl PartialEq<str> for CompactArguments {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for CompactArguments {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Display for CompactArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// JSON text without white space, and how many keys it has. `json` is valid.
///
/// The text is kept, not printed again from the value: numbers stay as the caller wrote them.
fn compact(json: &str) -> (String, usize) {
    let mut compact = String::with_capacity(json.len());
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
        compact.push(c);
    }
    (compact, keys)
}

fn count_keys(value: &Value) -> usize {
    match value {
        Value::Object(map) => map.len() + map.values().map(count_keys).sum::<usize>(),
        Value::Array(items) => items.iter().map(count_keys).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<String, ArgumentsError> {
        CompactArguments::parse(text).map(|(arguments, _)| arguments.to_string())
    }

    #[test]
    fn arguments_are_one_line_and_numbers_stay_as_they_were_written() {
        let compact = parsed(" {\n \"a\":\r\n\"b \\n\" , \"n\": 1.50 }").unwrap();
        assert_eq!(compact, r#"{"a":"b \n","n":1.50}"#);
        assert_eq!(parsed(" \n").unwrap(), "{}");
    }

    #[test]
    fn a_text_that_is_not_one_object_with_distinct_keys_is_refused() {
        assert!(matches!(parsed("[]"), Err(ArgumentsError::NotAnObject(_))));
        assert!(matches!(
            parsed(r#"{"a":{"b":1,"b":2}}"#),
            Err(ArgumentsError::DuplicateKey)
        ));
        for bad in ["{\"a\":}", "{} {}", "{"] {
            assert!(
                matches!(parsed(bad), Err(ArgumentsError::NotJson(_))),
                "{bad}"
            );
        }
    }
}
