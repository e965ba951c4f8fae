//! Conditions of rules as Cedar expressions.

use std::fmt::Write as _;

use limbeck_domain::ToolId;
use limbeck_policy::rules::{ArgumentPath, Condition, Effect, Operator, Rule, ValueType};
use serde_json::{Number, Value};

use super::schema::{Argument, Arguments, Kind};

/// The conditions of a rule for one tool.
pub(super) struct Conditions {
    pub(super) meaning: Meaning,
    /// What could not be said.
    pub(super) missing: Vec<String>,
}

/// When the rule matches.
pub(super) enum Meaning {
    /// Never.
    Never,
    /// When this holds; always when it is empty.
    When(String),
}

/// Truth of an operator for a value of the type that the schema says.
enum Said {
    Expression(String),
    /// It is about another type: unknown, so an allowing rule does not match and others do.
    OtherType,
    /// Cedar has no way to say it.
    Not(&'static str),
}

/// The conditions of `rule` for calls of a tool with these arguments. What cannot be said makes an allowing rule match never, and
/// is left out of the conditions of others, which match more often.
pub(super) fn conditions(rule: &Rule, arguments: &Arguments, tool: &ToolId) -> Conditions {
    let is_allowing = rule.effect == Effect::Allow;
    let mut parts: Vec<String> = Vec::new();
    let mut missing = Vec::new();
    for (path, condition) in &rule.arguments {
        match condition_at(path, condition, arguments, is_allowing) {
            Ok(Some(said)) => parts.extend(said),
            Ok(None) => {
                return Conditions {
                    meaning: Meaning::Never,
                    missing,
                };
            }
            Err(why) => missing.push(format!("`{}` of `{tool}` {why}", path.as_str())),
        }
    }
    let meaning = if is_allowing && !missing.is_empty() {
        Meaning::Never
    } else {
        Meaning::When(parts.join(" && "))
    };
    Conditions { meaning, missing }
}

/// The expressions of one condition. `None` when it can hold for no call.
fn condition_at(
    path: &ArgumentPath,
    condition: &Condition,
    arguments: &Arguments,
    is_allowing: bool,
) -> Result<Option<Vec<String>>, &'static str> {
    let members = path.members().ok_or("is about elements of a list")?;
    let Some(place) = Place::of(&members, arguments)? else {
        // The tool has no such argument.
        return Ok(without_argument(condition, is_allowing).then(Vec::new));
    };
    let mut parts = Vec::new();
    for operator in condition.operators() {
        let given = &place.given;
        let part = match said(operator, &place) {
            Said::Not(why) => return Err(why),
            Said::OtherType if is_allowing => return Ok(None),
            Said::OtherType => continue,
            Said::Expression(expression) => match operator {
                Operator::Present | Operator::Absent | Operator::Missing => expression,
                _ if is_allowing => format!("{given} && {expression}"),
                // Not with `||`: Cedar's validator follows what is given through `if` alone.
                _ => format!("(if {given} then {expression} else true)"),
            },
        };
        parts.push(part);
    }
    Ok(Some(parts))
}

/// Whether a rule matches calls of a tool that has no such argument.
fn without_argument(condition: &Condition, is_allowing: bool) -> bool {
    condition.operators().iter().all(|operator| match operator {
        Operator::Absent | Operator::Missing => true,
        Operator::Present => false,
        // Unknown.
        _ => !is_allowing,
    })
}

/// Where a condition looks.
struct Place<'a> {
    /// Whether there is a value.
    given: String,
    /// The value.
    value: String,
    argument: &'a Argument,
}

impl<'a> Place<'a> {
    fn of(members: &[&str], arguments: &'a Arguments) -> Result<Option<Self>, &'static str> {
        let mut value = "context[\"arguments\"]".to_owned();
        let mut given: Vec<String> = Vec::new();
        let mut within = arguments;
        let mut found = None;
        for (index, name) in members.iter().enumerate() {
            if within.left_out.iter().any(|left_out| left_out == name) {
                return Err("has a type that Cedar does not have");
            }
            let Some(argument) = within.get(name) else {
                return Ok(None);
            };
            given.push(format!("{value} has {}", text(name)));
            let _ = write!(value, "[{}]", text(name));
            found = Some(argument);
            match &argument.kind {
                Kind::Record(members) => within = members,
                _ if index + 1 < members.len() => return Ok(None),
                _ => {}
            }
        }
        Ok(found.map(|argument| Self {
            given: given.join(" && "),
            value,
            argument,
        }))
    }
}

fn said(operator: &Operator, place: &Place<'_>) -> Said {
    let Place {
        given,
        value,
        argument,
    } = place;
    let is_text = matches!(argument.kind, Kind::Text);
    let of_text = |expression: String| match is_text {
        true => Said::Expression(expression),
        false => Said::OtherType,
    };
    match operator {
        Operator::Present => Said::Expression(given.clone()),
        Operator::Absent => Said::Expression(format!("!({given})")),
        Operator::Missing if argument.may_be_null => {
            Said::Not("may be null, which Cedar does not tell from missing")
        }
        Operator::Missing => Said::Expression(format!("!({given})")),
        Operator::Glob(pattern) => of_text(format!("{value} like {}", text(pattern))),
        Operator::NotGlob(pattern) => of_text(format!("!({value} like {})", text(pattern))),
        Operator::Eq(operand) => match literal(operand, argument) {
            Literal::Of(literal) => Said::Expression(format!("{value} == {literal}")),
            Literal::OtherType => Said::OtherType,
            Literal::None => Said::Not("is compared with a number that has a fraction"),
        },
        Operator::In(operands) => among(operands, place, false),
        Operator::NotIn(operands) => among(operands, place, true),
        Operator::Lt(number) => compared("<", number, place),
        Operator::Le(number) => compared("<=", number, place),
        Operator::Gt(number) => compared(">", number, place),
        Operator::Ge(number) => compared(">=", number, place),
        Operator::Type(of) => {
            let is_of = matches!(
                (of, &argument.kind),
                (ValueType::Text, Kind::Text)
                    | (ValueType::Number, Kind::Whole)
                    | (ValueType::Boolean, Kind::Boolean)
                    | (ValueType::List, Kind::Texts)
                    | (ValueType::Object, Kind::Record(_))
            );
            Said::Expression(is_of.to_string())
        }
        Operator::Regex { .. } => Said::Not("is compared with a regular expression"),
        Operator::LenLe(_) => Said::Not("has a bound on its length"),
        Operator::Host(_) => Said::Not("is compared with a host"),
        Operator::Under(_) => Said::Not("is compared with a directory"),
    }
}

fn compared(sign: &str, number: &Number, place: &Place<'_>) -> Said {
    match (&place.argument.kind, number.as_i64()) {
        (Kind::Whole, Some(number)) => Said::Expression(format!("{} {sign} {number}", place.value)),
        (Kind::Whole, None) => Said::Not("is compared with a number that has a fraction"),
        _ => Said::OtherType,
    }
}

fn among(operands: &[Value], place: &Place<'_>, negated: bool) -> Said {
    let mut literals = Vec::new();
    for operand in operands {
        match literal(operand, place.argument) {
            Literal::Of(literal) => literals.push(literal),
            // A value of this type is equal to none of another.
            Literal::OtherType => {}
            Literal::None => return Said::Not("is compared with a number that has a fraction"),
        }
    }
    if literals.is_empty() {
        return Said::OtherType;
    }
    let not = if negated { "!" } else { "" };
    Said::Expression(format!(
        "{not}[{}].contains({})",
        literals.join(", "),
        place.value
    ))
}

enum Literal {
    Of(String),
    OtherType,
    None,
}

fn literal(operand: &Value, argument: &Argument) -> Literal {
    match (operand, &argument.kind) {
        (Value::String(operand), Kind::Text) => Literal::Of(text(operand)),
        (Value::Bool(operand), Kind::Boolean) => Literal::Of(operand.to_string()),
        (Value::Number(operand), Kind::Whole) => match operand.as_i64() {
            Some(number) => Literal::Of(number.to_string()),
            None => Literal::None,
        },
        _ => Literal::OtherType,
    }
}

/// A text in quotes, as policies and schemas have it. A star stays one, as the patterns of `like` need it.
pub(super) fn text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            ' '..='~' => quoted.push(c),
            c => {
                // Writing into a text does not fail.
                let _ = write!(quoted, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    quoted.push('"');
    quoted
}
