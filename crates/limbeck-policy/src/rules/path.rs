//! Paths into the arguments of a call: `to[*]`, `message.subject`, `"a.b"[0]`.

use std::fmt;

use serde_json::Value;

/// Bytes of a path.
const PATH_BYTES_MAX: usize = 512;
/// Steps of a path. A call's arguments are at most 128 levels deep.
const STEPS_MAX: usize = 32;

/// Where in the arguments a condition looks. It addresses the arguments as they are sent: nothing is filled in by default.
#[derive(Clone, PartialEq, Eq)]
pub struct ArgumentPath {
    text: String,
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Member(String),
    Element(usize),
    EveryElement,
}

/// Why a text is not a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It does not follow the grammar.
    #[error(
        "`{path}` is not a path: write `name`, `name.member`, `name[*]` or `name[0]`, and quote a name that has a dot or a bracket"
    )]
    Malformed {
        /// The text, at most 512 bytes.
        path: String,
    },
    /// It is longer than 512 bytes or has more than 32 steps.
    #[error("a path has at most {PATH_BYTES_MAX} bytes and {STEPS_MAX} steps")]
    TooLong,
}

impl ArgumentPath {
    /// Reads a path.
    ///
    /// # Errors
    ///
    /// [`PathError`].
    pub fn parse(text: &str) -> Result<Self, PathError> {
        if text.len() > PATH_BYTES_MAX {
            return Err(PathError::TooLong);
        }
        let malformed = || PathError::Malformed {
            path: text.to_owned(),
        };
        let mut steps = Vec::new();
        let mut rest = text;
        let mut needs_name = true;
        while needs_name || !rest.is_empty() {
            if steps.len() == STEPS_MAX {
                return Err(PathError::TooLong);
            }
            if needs_name {
                let (name, after) = name(rest).ok_or_else(malformed)?;
                steps.push(Step::Member(name.to_owned()));
                rest = after;
                needs_name = false;
            } else if let Some(after) = rest.strip_prefix('.') {
                rest = after;
                needs_name = true;
            } else {
                let inside = rest.strip_prefix('[').ok_or_else(malformed)?;
                let (index, after) = inside.split_once(']').ok_or_else(malformed)?;
                steps.push(match index {
                    "*" => Step::EveryElement,
                    digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                        Step::Element(digits.parse().map_err(|_| malformed())?)
                    }
                    _ => return Err(malformed()),
                });
                rest = after;
            }
        }
        Ok(Self {
            text: text.to_owned(),
            steps,
        })
    }

    /// The path as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Name of the argument that the path begins with.
    pub fn argument(&self) -> &str {
        match self.steps.first() {
            Some(Step::Member(name)) => name,
            _ => "",
        }
    }

    /// Names of the members on the way; `None` for a path into a list.
    pub fn members(&self) -> Option<Vec<&str>> {
        let mut names = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            match step {
                Step::Member(name) => names.push(name.as_str()),
                Step::Element(_) | Step::EveryElement => return None,
            }
        }
        Some(names)
    }

    /// Calls `found` with each value at the path, and with `None` for each place without a value: a member that is
    /// missing, or a value of another type on the way. Stops when `found` returns false. An empty list has no place.
    pub(super) fn visit<'a>(
        &self,
        arguments: &'a Value,
        found: &mut dyn FnMut(Option<&'a Value>) -> bool,
    ) {
        visit(&self.steps, arguments, found);
    }
}

fn visit<'a>(
    steps: &[Step],
    value: &'a Value,
    found: &mut dyn FnMut(Option<&'a Value>) -> bool,
) -> bool {
    let Some((step, rest)) = steps.split_first() else {
        return found(Some(value));
    };
    match step {
        Step::Member(name) => match value.get(name.as_str()) {
            Some(member) => visit(rest, member, found),
            None => found(None),
        },
        Step::Element(index) => match value.get(index) {
            Some(element) => visit(rest, element, found),
            None => found(None),
        },
        Step::EveryElement => match value {
            Value::Array(elements) => elements.iter().all(|element| visit(rest, element, found)),
            _ => found(None),
        },
    }
}

/// A name at the start of `text`, and what follows it.
fn name(text: &str) -> Option<(&str, &str)> {
    if let Some(quoted) = text.strip_prefix('"') {
        return quoted.split_once('"').filter(|(name, _)| !name.is_empty());
    }
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let is_plain = !name.is_empty() && !name.contains(['"', ']', '*']);
    is_plain.then_some((name, rest))
}

impl fmt::Display for ArgumentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for ArgumentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(path: &str, arguments: &Value) -> Vec<Option<Value>> {
        let mut values = Vec::new();
        ArgumentPath::parse(path)
            .unwrap()
            .visit(arguments, &mut |value| {
                values.push(value.cloned());
                true
            });
        values
    }

    #[test]
    fn a_path_finds_members_elements_and_what_is_missing() {
        let arguments = json!({ "to": ["a", "b"], "message": { "subject": "s" }, "a.b": [7] });
        assert_eq!(
            at("to[*]", &arguments),
            [Some(json!("a")), Some(json!("b"))]
        );
        assert_eq!(at("to[1]", &arguments), [Some(json!("b"))]);
        assert_eq!(at("message.subject", &arguments), [Some(json!("s"))]);
        assert_eq!(at("\"a.b\"[0]", &arguments), [Some(json!(7))]);
        for missing in ["cc", "to[2]", "to.x", "message[*]", "message.subject.x"] {
            assert_eq!(at(missing, &arguments), [None], "{missing}");
        }
        assert_eq!(at("to[*]", &json!({ "to": [] })), []);
        assert_eq!(at("to[*].x", &arguments), [None, None]);
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in [
            "", ".", "a.", "a..b", "[*]", "a[", "a[x]", "a[-1]", "a]b", "\"\"", "a*", "a[*]b",
        ] {
            assert!(
                matches!(ArgumentPath::parse(text), Err(PathError::Malformed { .. })),
                "{text}"
            );
        }
        let long = "a".repeat(513);
        assert_eq!(ArgumentPath::parse(&long), Err(PathError::TooLong));
        let deep = ["a"; 33].join(".");
        assert_eq!(ArgumentPath::parse(&deep), Err(PathError::TooLong));
        assert_eq!(ArgumentPath::parse("to[*].x").unwrap().argument(), "to");
    }
}
