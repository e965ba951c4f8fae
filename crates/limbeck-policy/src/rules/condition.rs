//! Conditions on one argument of a call, in three-valued logic.
//!
//! A condition about an argument that is missing, or that has another type than the condition is about, is neither true
//! nor false: it is unknown. A rule that allows needs true; one that asks or denies fires on true and on unknown.

mod host;
mod number;
mod under;

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::path::ArgumentPath;
use super::truth::Truth;
use crate::scope::glob;

/// Bytes of a glob, of a regular expression, and of each value of a condition.
const OPERAND_BYTES_MAX: usize = 4096;
/// Values of one `in` or `not_in`.
const LIST_MAX: usize = 1024;
/// Memory of a compiled regular expression.
const REGEX_BYTES_MAX: usize = 256 << 10;
/// Smallest bound of that memory that is tried.
const REGEX_BYTES_MIN: usize = 4 << 10;
/// Bytes of a text that a regular expression is tried on; a longer text is unknown.
const REGEX_TEXT_BYTES_MAX: usize = 64 << 10;
/// Product of the memory of an expression and the bytes of a text. Matching takes time in proportion to both: a counted
/// repetition of a thousand states visits each of them at every byte.
const REGEX_STEPS_MAX: usize = 1 << 28;
/// Bytes of a text that a glob is tried on. Its time is the product of both lengths.
const GLOB_TEXT_BYTES_MAX: usize = 16 << 10;
/// Elements that `[*]` looks at in one decision. With more, what the others would be is unknown.
pub(super) const ELEMENTS_MAX: usize = 10_000;

/// What one argument has to be: all of its operators together.
#[derive(Clone, Debug)]
pub struct Condition {
    operators: Vec<Operator>,
}

/// One operator with its operand.
#[derive(Clone, Debug)]
pub enum Operator {
    /// A text that the pattern matches, with `*` for any run of characters.
    Glob(String),
    /// A text that the pattern does not match.
    NotGlob(String),
    /// A value equal to this one.
    Eq(Value),
    /// A value equal to one of these.
    In(Vec<Value>),
    /// A value equal to none of these.
    NotIn(Vec<Value>),
    /// A text in which the regular expression finds a match. A text of more than `text_bytes_max` bytes is unknown.
    Regex {
        /// The expression.
        regex: Regex,
        /// Longest text that it is tried on.
        text_bytes_max: usize,
    },
    /// A number below.
    Lt(serde_json::Number),
    /// A number below or equal.
    Le(serde_json::Number),
    /// A number above.
    Gt(serde_json::Number),
    /// A number above or equal.
    Ge(serde_json::Number),
    /// A text of at most so many characters, a list or an object of at most so many members.
    LenLe(u64),
    /// The argument is given, and is not null.
    Present,
    /// The argument is not given, or is null.
    Absent,
    /// The argument is not given, not even as null.
    Missing,
    /// A value of this type.
    Type(ValueType),
    /// An address whose host the pattern matches, with `*` for any run of characters.
    Host(String),
    /// An absolute path of a file beneath the directory, or the directory itself.
    Under(String),
}

/// Types of values, as conditions name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// A text.
    Text,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A list.
    List,
    /// An object.
    Object,
}

impl ValueType {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "text" => Self::Text,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "list" => Self::List,
            "object" => Self::Object,
            _ => return None,
        })
    }

    fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => return None,
            Value::String(_) => Self::Text,
            Value::Number(_) => Self::Number,
            Value::Bool(_) => Self::Boolean,
            Value::Array(_) => Self::List,
            Value::Object(_) => Self::Object,
        })
    }
}

/// Why a condition cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// The name of an operator is not known.
    #[error(
        "`{name}` is no operator; known are glob, not_glob, eq, in, not_in, regex, lt, le, gt, ge, len_le, present, absent, missing, type, host and under"
    )]
    UnknownOperator {
        /// The name, at most 80 bytes.
        name: String,
    },
    /// There is no operator.
    #[error("a condition needs an operator")]
    Empty,
    /// The operand has the wrong type or is out of bounds.
    #[error("`{operator}` needs {needs}")]
    Operand {
        /// Name of the operator.
        operator: &'static str,
        /// What it needs.
        needs: &'static str,
    },
    /// The regular expression is not one, or is too large when compiled.
    #[error("the regular expression cannot be used: {problem}")]
    Regex {
        /// Problem in the words of the library.
        problem: String,
    },
}

impl Condition {
    /// Reads a condition: a text is a glob, an object has operators.
    ///
    /// # Errors
    ///
    /// [`ConditionError`].
    pub fn from_value(value: &Value) -> Result<Self, ConditionError> {
        let operators = match value {
            Value::String(pattern) => vec![Operator::new("glob", &Value::from(&**pattern))?],
            Value::Object(operators) => operators
                .iter()
                .map(|(name, operand)| Operator::new(name, operand))
                .collect::<Result<_, _>>()?,
            _ => {
                return Err(ConditionError::Operand {
                    operator: "args",
                    needs: "a text or an object of operators for each path",
                });
            }
        };
        if operators.is_empty() {
            return Err(ConditionError::Empty);
        }
        Ok(Self { operators })
    }

    /// Its operators, which all have to hold.
    pub fn operators(&self) -> &[Operator] {
        &self.operators
    }

    /// Whether it is about the type of a value alone.
    pub(super) fn is_about_type(&self) -> bool {
        let mut operators = self.operators.iter();
        operators.all(|operator| matches!(operator, Operator::Type(_)))
    }

    /// Truth of one place.
    pub(super) fn truth(&self, value: Option<&Value>) -> Truth {
        Truth::all(self.operators.iter().map(|operator| operator.truth(value)))
    }
}

impl Operator {
    fn new(name: &str, operand: &Value) -> Result<Self, ConditionError> {
        let text = |operator| bounded_text(operator, operand);
        let values = |operator| list(operator, operand);
        let number = |operator| match operand {
            Value::Number(number) => Ok(number.clone()),
            _ => Err(ConditionError::Operand {
                operator,
                needs: "a number",
            }),
        };
        let is_true = |operator, then| match operand {
            Value::Bool(true) => Ok(then),
            _ => Err(ConditionError::Operand {
                operator,
                needs: "`true`",
            }),
        };
        match name {
            "glob" => Ok(Self::Glob(text("glob")?)),
            "not_glob" => Ok(Self::NotGlob(text("not_glob")?)),
            "eq" => Ok(Self::Eq(scalar("eq", operand)?)),
            "in" => Ok(Self::In(values("in")?)),
            "not_in" => Ok(Self::NotIn(values("not_in")?)),
            "regex" => regex(&text("regex")?),
            "lt" => Ok(Self::Lt(number("lt")?)),
            "le" => Ok(Self::Le(number("le")?)),
            "gt" => Ok(Self::Gt(number("gt")?)),
            "ge" => Ok(Self::Ge(number("ge")?)),
            "len_le" => match operand.as_u64() {
                Some(most) => Ok(Self::LenLe(most)),
                None => Err(ConditionError::Operand {
                    operator: "len_le",
                    needs: "a whole number of zero or more",
                }),
            },
            "present" => is_true("present", Self::Present),
            "absent" => is_true("absent", Self::Absent),
            "missing" => is_true("missing", Self::Missing),
            "type" => match operand.as_str().and_then(ValueType::named) {
                Some(of) => Ok(Self::Type(of)),
                None => Err(ConditionError::Operand {
                    operator: "type",
                    needs: "`text`, `number`, `boolean`, `list` or `object`",
                }),
            },
            "host" => match host::pattern(&text("host")?) {
                Some(pattern) => Ok(Self::Host(pattern)),
                None => Err(ConditionError::Operand {
                    operator: "host",
                    needs: "the name of a host, such as `example.com` or `*.example.com`",
                }),
            },
            "under" => match under::directory(&text("under")?) {
                Some(directory) => Ok(Self::Under(directory)),
                None => Err(ConditionError::Operand {
                    operator: "under",
                    needs: "an absolute directory without `..`, `//` and backslashes",
                }),
            },
            _ => Err(ConditionError::UnknownOperator {
                name: limbeck_domain::text::clean_line(name, 80),
            }),
        }
    }

    fn truth(&self, value: Option<&Value>) -> Truth {
        let given = value.filter(|value| !value.is_null());
        match self {
            Self::Present => return Truth::from(given.is_some()),
            Self::Absent => return Truth::from(given.is_none()),
            Self::Missing => return Truth::from(value.is_none()),
            _ => {}
        }
        let Some(value) = value else {
            return Truth::Unknown;
        };
        let of_text =
            |decide: &dyn Fn(&str) -> Truth| value.as_str().map_or(Truth::Unknown, decide);
        match self {
            Self::Glob(pattern) => of_text(&|text| matches_glob(pattern, text)),
            Self::NotGlob(pattern) => of_text(&|text| matches_glob(pattern, text).not()),
            Self::Eq(operand) => equal(value, operand),
            Self::In(operands) => Truth::any(operands.iter().map(|operand| equal(value, operand))),
            Self::NotIn(operands) => {
                Truth::any(operands.iter().map(|operand| equal(value, operand))).not()
            }
            Self::Regex {
                regex,
                text_bytes_max,
            } => of_text(&|text| {
                if text.len() > *text_bytes_max {
                    return Truth::Unknown;
                }
                regex.is_match(text).into()
            }),
            Self::Lt(bound) => number::compare(value, bound, std::cmp::Ordering::is_lt),
            Self::Le(bound) => number::compare(value, bound, std::cmp::Ordering::is_le),
            Self::Gt(bound) => number::compare(value, bound, std::cmp::Ordering::is_gt),
            Self::Ge(bound) => number::compare(value, bound, std::cmp::Ordering::is_ge),
            Self::LenLe(most) => {
                length(value).map_or(Truth::Unknown, |length| (length <= *most).into())
            }
            Self::Host(pattern) => of_text(&|text| host::matches(pattern, text)),
            Self::Under(directory) => of_text(&|text| under::is_under(directory, text)),
            Self::Type(of) => Truth::from(ValueType::of(value) == Some(*of)),
            Self::Present | Self::Absent | Self::Missing => unreachable!("returned above"),
        }
    }
}

/// The conditions of a rule, joined as its effect needs.
pub(super) struct Conditions<'a> {
    conditions: &'a [(ArgumentPath, Condition)],
    needs_certainty: bool,
}

impl<'a> Conditions<'a> {
    pub(super) fn new(conditions: &'a [(ArgumentPath, Condition)], needs_certainty: bool) -> Self {
        Self {
            conditions,
            needs_certainty,
        }
    }

    /// The first condition by which the rule does not match, if there is one.
    pub(super) fn first_failed(&self, arguments: &Value) -> Option<&'a ArgumentPath> {
        let mut elements_left = ELEMENTS_MAX;
        self.conditions
            .iter()
            .find(|(path, condition)| {
                let truth = self.joined(path, condition, arguments, &mut elements_left);
                match truth {
                    Truth::True => false,
                    Truth::False => true,
                    Truth::Unknown => self.needs_certainty,
                }
            })
            .map(|(path, _)| path)
    }

    /// Truth over all places of a path: of every one for a rule that allows, of any for another. Without a place, because a
    /// list is empty, a rule that allows learns nothing, and another has nothing to fire on.
    fn joined(
        &self,
        path: &ArgumentPath,
        condition: &Condition,
        arguments: &Value,
        elements_left: &mut usize,
    ) -> Truth {
        let mut joined = None;
        path.visit(arguments, &mut |value| {
            if *elements_left == 0 {
                joined = Some(match (self.needs_certainty, joined) {
                    (true, Some(Truth::False)) => Truth::False,
                    (false, Some(Truth::True)) => Truth::True,
                    _ => Truth::Unknown,
                });
                return false;
            }
            *elements_left -= 1;
            let truth = condition.truth(value);
            let before = joined.unwrap_or(truth);
            let now = if self.needs_certainty {
                Truth::all([before, truth])
            } else {
                Truth::any([before, truth])
            };
            joined = Some(now);
            // Nothing that follows changes a decided answer.
            now != Truth::from(!self.needs_certainty)
        });
        joined.unwrap_or(if self.needs_certainty {
            Truth::Unknown
        } else {
            Truth::False
        })
    }
}

fn matches_glob(pattern: &str, text: &str) -> Truth {
    if text.len() > GLOB_TEXT_BYTES_MAX {
        return Truth::Unknown;
    }
    glob(pattern, text).into()
}

/// Whether two values are equal. Values of two types cannot be compared.
fn equal(value: &Value, operand: &Value) -> Truth {
    match (value, operand) {
        (Value::Number(_), Value::Number(bound)) => {
            number::compare(value, bound, std::cmp::Ordering::is_eq)
        }
        (Value::String(value), Value::String(operand)) => (value == operand).into(),
        (Value::Bool(value), Value::Bool(operand)) => (value == operand).into(),
        _ => Truth::Unknown,
    }
}

/// Characters of a text, elements of a list, members of an object.
fn length(value: &Value) -> Option<u64> {
    let length = match value {
        Value::String(text) => text.chars().count(),
        Value::Array(elements) => elements.len(),
        Value::Object(members) => members.len(),
        _ => return None,
    };
    u64::try_from(length).ok()
}

fn bounded_text(operator: &'static str, operand: &Value) -> Result<String, ConditionError> {
    match operand.as_str() {
        Some(text) if text.len() <= OPERAND_BYTES_MAX => Ok(text.to_owned()),
        _ => Err(ConditionError::Operand {
            operator,
            needs: "a text of at most 4096 bytes",
        }),
    }
}

fn scalar(operator: &'static str, operand: &Value) -> Result<Value, ConditionError> {
    match operand {
        Value::String(_) => bounded_text(operator, operand).map(Value::from),
        Value::Number(_) | Value::Bool(_) => Ok(operand.clone()),
        _ => Err(ConditionError::Operand {
            operator,
            needs: "a text, a number or a boolean",
        }),
    }
}

fn list(operator: &'static str, operand: &Value) -> Result<Vec<Value>, ConditionError> {
    let needs = ConditionError::Operand {
        operator,
        needs: "a list of 1 to 1024 texts, numbers and booleans",
    };
    match operand.as_array() {
        Some(values) if (1..=LIST_MAX).contains(&values.len()) => {
            values.iter().map(|value| scalar(operator, value)).collect()
        }
        _ => Err(needs),
    }
}

/// The expression with the longest text that it may be tried on: the less memory it compiles to, the longer.
fn regex(pattern: &str) -> Result<Operator, ConditionError> {
    let mut bytes_max = REGEX_BYTES_MIN;
    loop {
        let built = RegexBuilder::new(pattern)
            .size_limit(bytes_max)
            .dfa_size_limit(REGEX_BYTES_MAX)
            .build();
        match built {
            Ok(regex) => {
                return Ok(Operator::Regex {
                    regex,
                    text_bytes_max: REGEX_TEXT_BYTES_MAX.min(REGEX_STEPS_MAX / bytes_max),
                });
            }
            Err(regex::Error::CompiledTooBig(_)) if bytes_max < REGEX_BYTES_MAX => bytes_max *= 2,
            Err(error) => {
                return Err(ConditionError::Regex {
                    problem: limbeck_domain::text::clean_line(&error.to_string(), 200),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests;
