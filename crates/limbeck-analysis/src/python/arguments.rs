//! Arguments of a call: their names, and their values where these are constants.

use std::collections::HashMap;

use limbeck_domain::SiteArgument;
use ruff_python_ast::{Expr, ExprDict, Keyword, Number, UnaryOp};
use serde_json::{Map, Value};

use super::names::text;

/// Nesting of a constant.
const DEPTH_MAX: usize = 64;
/// Reserved words that cannot be parameters in Python: a program writes `from_` for `from`.
const RESERVED: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

/// The arguments of one call.
pub(super) struct CallArguments {
    pub(super) named: Vec<SiteArgument>,
    /// Whether these are all there are.
    pub(super) complete: bool,
    /// Arguments that are surely none of an object of named ones.
    pub(super) positional: u32,
}

impl CallArguments {
    /// Reads what a tool is called with: an object and more, by position and by name.
    pub(super) fn new(positional: &[&Expr], keywords: &[&Keyword]) -> Self {
        let mut named = Named::default();
        let mut complete = true;
        if let Some(object) = positional.first() {
            complete = named.add_all_of(object);
        }
        for word in keywords {
            match &word.arg {
                Some(name) => named.add(unreserved(&name.id), &word.value),
                None => {
                    // Unlike in a dict display, a name that is there already would be refused, not replaced.
                    let mut more = Named::default();
                    complete &= more.add_all_of(&word.value);
                    more.arguments.into_iter().for_each(|each| named.put(each));
                }
            }
        }
        let is_one_too_many = positional.first().is_some_and(|object| is_no_dict(object));
        let rest = positional.iter().skip(1);
        let extra = rest.filter(|item| !item.is_starred_expr()).count();
        Self {
            named: named.arguments,
            complete,
            positional: u32::try_from(extra).unwrap_or(u32::MAX - 1) + u32::from(is_one_too_many),
        }
    }
}

/// Arguments in the order in which their names come first.
#[derive(Default)]
struct Named {
    arguments: Vec<SiteArgument>,
    places: HashMap<String, usize>,
}

impl Named {
    fn add(&mut self, name: &str, value: &Expr) {
        self.put(SiteArgument {
            name: name.to_owned(),
            value: constant(value, DEPTH_MAX),
        });
    }

    fn put(&mut self, argument: SiteArgument) {
        match self.places.get(&argument.name) {
            Some(place) => self.arguments[*place] = argument,
            None => {
                let place = self.arguments.len();
                self.places.insert(argument.name.clone(), place);
                self.arguments.push(argument);
            }
        }
    }

    /// Adds the members of a dict display. Returns whether the list of members is complete.
    ///
    /// A later entry replaces an earlier one of its name. What is not named may replace any: the values before
    /// it are not known.
    fn add_all_of(&mut self, object: &Expr) -> bool {
        match object {
            Expr::NoneLiteral(_) => true,
            Expr::Dict(dict) => self.add_items(dict),
            _ => {
                self.forget_values();
                false
            }
        }
    }

    fn add_items(&mut self, dict: &ExprDict) -> bool {
        let mut complete = true;
        for item in &dict.items {
            match item.key.as_ref().map(text) {
                None => complete &= self.add_all_of(&item.value),
                Some(Some(name)) => self.add(name, &item.value),
                Some(None) => {
                    self.forget_values();
                    complete = false;
                }
            }
        }
        complete
    }

    fn forget_values(&mut self) {
        for argument in &mut self.arguments {
            argument.value = None;
        }
    }
}

fn unreserved(name: &str) -> &str {
    match name.strip_suffix('_') {
        Some(reserved) if RESERVED.contains(&reserved) => reserved,
        _ => name,
    }
}

/// Whether an expression is surely neither a dictionary nor `None`.
fn is_no_dict(node: &Expr) -> bool {
    matches!(
        node,
        Expr::StringLiteral(_)
            | Expr::BytesLiteral(_)
            | Expr::NumberLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::EllipsisLiteral(_)
            | Expr::List(_)
            | Expr::Tuple(_)
            | Expr::Set(_)
            | Expr::ListComp(_)
            | Expr::SetComp(_)
            | Expr::FString(_)
    )
}

/// The JSON value of a literal as a call would send it. `None` for what is known only when the program runs, and
/// for the rare literals that are sent as something else than they look: sets, complex numbers, large integers.
fn constant(node: &Expr, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    let all = |items: &[Expr]| {
        let items = items.iter().map(|item| constant(item, depth));
        items.collect::<Option<Vec<Value>>>().map(Value::Array)
    };
    match node {
        Expr::NoneLiteral(_) => Some(Value::Null),
        Expr::BooleanLiteral(literal) => Some(literal.value.into()),
        Expr::StringLiteral(literal) => Some(literal.value.to_str().into()),
        Expr::NumberLiteral(literal) => number(&literal.value),
        Expr::UnaryOp(signed) => {
            let value = number(&signed.operand.as_number_literal_expr()?.value)?;
            match signed.op {
                UnaryOp::UAdd => Some(value),
                UnaryOp::USub => negated(&value),
                UnaryOp::Not | UnaryOp::Invert => None,
            }
        }
        Expr::List(list) => all(&list.elts),
        Expr::Tuple(tuple) => all(&tuple.elts),
        Expr::Dict(dict) => {
            let mut object = Map::new();
            for item in &dict.items {
                let name = text(item.key.as_ref()?)?;
                object.insert(name.to_owned(), constant(&item.value, depth)?);
            }
            Some(Value::Object(object))
        }
        _ => None,
    }
}

fn number(number: &Number) -> Option<Value> {
    match number {
        Number::Int(int) => int.as_u64().map(Value::from),
        Number::Float(float) => serde_json::Number::from_f64(*float).map(Value::Number),
        Number::Complex { .. } => None,
    }
}

fn negated(value: &Value) -> Option<Value> {
    match value.as_u64() {
        Some(int) => 0_i64.checked_sub_unsigned(int).map(Value::from),
        None => value.as_f64().map(|float| Value::from(-float)),
    }
}
