//! Arguments of a call that are known before it runs, in the JSON that would be sent.
//!
//! JSON has no `undefined` and no functions: a property of such a value is as good as absent.

use std::collections::HashSet;

use limbeck_domain::SiteArgument;
use oxc::ast::ast::{
    Argument, ArrayExpressionElement, Expression, ObjectExpression, ObjectProperty,
    ObjectPropertyKind, PropertyKey, PropertyKind, UnaryOperator,
};
use serde_json::{Map, Number, Value};

use super::tree::ProgramTree;

/// Constants inside one another that are read; JSON from outside may nest deeper.
const DEPTH_MAX: usize = 32;
/// Largest magnitude up to which JavaScript numbers are exact integers.
const SAFE_INTEGER_MAX: f64 = 9_007_199_254_740_992.0;

/// Arguments of a call.
#[derive(Debug, PartialEq)]
pub(super) struct CallArguments {
    /// Properties of the one object, each name once.
    pub(super) named: Vec<SiteArgument>,
    /// Whether there are surely no others.
    pub(super) complete: bool,
    /// Arguments that are not that object.
    pub(super) positional: u32,
}

impl CallArguments {
    /// Of a call that takes one object and refuses everything else.
    pub(super) fn of<'a>(arguments: &[Argument<'a>], tree: &ProgramTree<'_, 'a>) -> Self {
        let spread = |argument: &Argument<'_>| matches!(argument, Argument::SpreadElement(_));
        if arguments.iter().any(spread) {
            return Self::unknown();
        }
        let object = arguments.first().and_then(Argument::as_expression);
        let mut read = object.map_or_else(Self::none, |object| Self::of_object(object, tree));
        let others = arguments.len().saturating_sub(1);
        read.positional = read
            .positional
            .max(u32::try_from(others).unwrap_or(u32::MAX));
        read
    }

    /// Of a call where null is as good as nothing, and what follows is not looked at.
    pub(super) fn of_optional<'a>(
        argument: Option<&Argument<'a>>,
        tree: &ProgramTree<'_, 'a>,
    ) -> Self {
        match argument {
            None => Self::none(),
            Some(Argument::SpreadElement(_)) => Self::unknown(),
            Some(argument) => match argument.as_expression() {
                None | Some(Expression::NullLiteral(_)) => Self::none(),
                Some(object) => Self::of_object(object, tree),
            },
        }
    }

    fn none() -> Self {
        Self {
            named: Vec::new(),
            complete: true,
            positional: 0,
        }
    }

    fn unknown() -> Self {
        Self {
            complete: false,
            ..Self::none()
        }
    }

    fn of_object<'a>(expression: &Expression<'a>, tree: &ProgramTree<'_, 'a>) -> Self {
        match tree.sole_object(tree.plain(expression)) {
            Expression::ObjectExpression(object) => {
                let mut read = Properties::default();
                read.add(object, 0, tree);
                Self {
                    complete: !read.open,
                    named: read.named(),
                    positional: 0,
                }
            }
            Expression::StringLiteral(_)
            | Expression::TemplateLiteral(_)
            | Expression::NumericLiteral(_)
            | Expression::BigIntLiteral(_)
            | Expression::BooleanLiteral(_)
            | Expression::NullLiteral(_)
            | Expression::ArrayExpression(_)
            | Expression::ArrowFunctionExpression(_)
            | Expression::FunctionExpression(_) => Self {
                positional: 1,
                ..Self::none()
            },
            other if other.is_undefined() => Self::none(),
            _ => Self::unknown(),
        }
    }
}

/// Properties of an object expression, the later replacing the earlier.
#[derive(Default)]
struct Properties {
    /// All names that are there; null for those that are `unknown`.
    values: Map<String, Value>,
    unknown: HashSet<String>,
    /// Whether there may be others.
    open: bool,
}

impl Properties {
    fn add<'a>(&mut self, object: &ObjectExpression<'a>, depth: usize, tree: &ProgramTree<'_, 'a>) {
        for property in &object.properties {
            match property {
                ObjectPropertyKind::ObjectProperty(property) => {
                    self.add_property(property, depth, tree);
                }
                ObjectPropertyKind::SpreadProperty(spread) => {
                    match tree.sole_object(&spread.argument) {
                        Expression::ObjectExpression(inner) if depth < DEPTH_MAX => {
                            self.add(inner, depth + 1, tree);
                        }
                        _ => self.add_unknown(),
                    }
                }
            }
        }
    }

    fn add_property<'a>(
        &mut self,
        property: &ObjectProperty<'a>,
        depth: usize,
        tree: &ProgramTree<'_, 'a>,
    ) {
        let Some(name) = key(property, tree) else {
            return self.add_unknown();
        };
        let value = match property.kind {
            PropertyKind::Init => constant(&property.value, depth + 1, tree),
            PropertyKind::Get => Constant::Unknown,
            PropertyKind::Set => Constant::Absent,
        };
        match name.as_str() {
            // With a `toJSON` the object computes its own JSON.
            "toJSON" => {
                self.values.clear();
                self.open = true;
            }
            "__proto__" if !property.shorthand && !property.computed => {}
            _ => self.put(name, value),
        }
    }

    fn put(&mut self, name: String, value: Constant) {
        match value {
            Constant::Known(value) => {
                self.unknown.remove(&name);
                self.values.insert(name, value);
            }
            Constant::Unknown => {
                self.unknown.insert(name.clone());
                self.values.insert(name, Value::Null);
            }
            Constant::Absent => {
                self.values.remove(&name);
            }
        }
    }

    /// Adds properties with unknown names. Each may replace an earlier property.
    fn add_unknown(&mut self) {
        self.open = true;
        self.unknown.extend(self.values.keys().cloned());
    }

    fn named(self) -> Vec<SiteArgument> {
        let known = |name: &str| !self.unknown.contains(name);
        self.values
            .into_iter()
            .map(|(name, value)| SiteArgument {
                value: known(&name).then_some(value),
                name,
            })
            .collect()
    }
}

/// The name of a property, when it is constant.
fn key<'a>(property: &ObjectProperty<'a>, tree: &ProgramTree<'_, 'a>) -> Option<String> {
    match &property.key {
        PropertyKey::StaticIdentifier(name) => Some(name.name.to_string()),
        key => match tree.plain(key.as_expression()?) {
            Expression::StringLiteral(text) if !text.lone_surrogates => {
                Some(text.value.to_string())
            }
            Expression::NumericLiteral(number) => Some(number_value(number.value)?.to_string()),
            _ => None,
        },
    }
}

/// What JSON makes of an expression.
enum Constant {
    Known(Value),
    /// Known when the program runs.
    Unknown,
    /// Nothing: `undefined`, a function.
    Absent,
}

fn constant<'a>(expression: &Expression<'a>, depth: usize, tree: &ProgramTree<'_, 'a>) -> Constant {
    if depth > DEPTH_MAX {
        return Constant::Unknown;
    }
    let known = match tree.plain(expression) {
        Expression::NullLiteral(_) => Some(Value::Null),
        Expression::BooleanLiteral(literal) => Some(Value::Bool(literal.value)),
        Expression::NumericLiteral(literal) => number_value(literal.value),
        Expression::UnaryExpression(unary) if unary.operator == UnaryOperator::UnaryNegation => {
            match unary.argument.get_inner_expression() {
                Expression::NumericLiteral(literal) => number_value(-literal.value),
                _ => None,
            }
        }
        Expression::StringLiteral(text) if !text.lone_surrogates => {
            Some(text.value.as_str().into())
        }
        Expression::TemplateLiteral(template) => match template.quasis.as_slice() {
            [only] if !only.lone_surrogates => only.value.cooked.map(|text| text.as_str().into()),
            _ => None,
        },
        Expression::ArrayExpression(array) => array
            .elements
            .iter()
            .map(|element| item(element, depth + 1, tree))
            .collect::<Option<Vec<Value>>>()
            .map(Value::Array),
        Expression::ObjectExpression(object) => object_value(object, depth, tree),
        Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_) => {
            return Constant::Absent;
        }
        other if other.is_undefined() => return Constant::Absent,
        _ => None,
    };
    known.map_or(Constant::Unknown, Constant::Known)
}

fn item<'a>(
    element: &ArrayExpressionElement<'a>,
    depth: usize,
    tree: &ProgramTree<'_, 'a>,
) -> Option<Value> {
    match element {
        ArrayExpressionElement::Elision(_) => Some(Value::Null),
        ArrayExpressionElement::SpreadElement(_) => None,
        element => match constant(element.as_expression()?, depth, tree) {
            Constant::Known(value) => Some(value),
            Constant::Absent => Some(Value::Null),
            Constant::Unknown => None,
        },
    }
}

fn object_value<'a>(
    object: &ObjectExpression<'a>,
    depth: usize,
    tree: &ProgramTree<'_, 'a>,
) -> Option<Value> {
    let mut properties = Properties::default();
    properties.add(object, depth, tree);
    if properties.open {
        return None;
    }
    let is_known = |name: &String| !properties.unknown.contains(name);
    let all_known = properties.values.keys().all(is_known);
    all_known.then_some(Value::Object(properties.values))
}

/// A number as JSON prints it; infinity would become null.
fn number_value(number: f64) -> Option<Value> {
    if number.fract() == 0.0 && number.abs() <= SAFE_INTEGER_MAX {
        // Whole and within 2^53, so nothing is lost.
        return Some(Value::from(number as i64));
    }
    Number::from_f64(number).map(Value::Number)
}
