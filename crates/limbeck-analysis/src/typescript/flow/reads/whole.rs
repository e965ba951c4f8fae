//! What a program takes a whole value for: a list, of which it takes or counts the items, or a text. Characters of a text that
//! are taken for items of a list are no error of the language.

use oxc::ast::AstKind;
use oxc::ast::ast::{Argument, CallExpression, Expression};
use oxc::semantic::NodeId;
use oxc::span::GetSpan;
use oxc::syntax::operator::{BinaryOperator, UnaryOperator};

use super::ReadFinder;

/// Methods that lists have too, and that a program calls on a text which it knows to be one.
const OF_TEXTS_TOO: [&str; 4] = ["includes", "indexOf", "lastIndexOf", "slice"];
/// Methods of texts alone.
const OF_TEXTS: [&str; 22] = [
    "charAt",
    "charCodeAt",
    "codePointAt",
    "endsWith",
    "localeCompare",
    "match",
    "matchAll",
    "normalize",
    "padEnd",
    "padStart",
    "replace",
    "replaceAll",
    "search",
    "split",
    "startsWith",
    "substr",
    "substring",
    "toLowerCase",
    "toUpperCase",
    "trim",
    "trimEnd",
    "trimStart",
];

/// What other members every text has.
const MEMBERS_OF_TEXTS: [&str; 12] = [
    "at",
    "concat",
    "constructor",
    "hasOwnProperty",
    "isWellFormed",
    "length",
    "repeat",
    "toLocaleLowerCase",
    "toLocaleUpperCase",
    "toString",
    "toWellFormed",
    "valueOf",
];

/// Whether every text has a member.
pub(in crate::typescript) fn is_member_of_texts(name: &str) -> bool {
    [&OF_TEXTS[..], &OF_TEXTS_TOO, &MEMBERS_OF_TEXTS]
        .iter()
        .any(|names| names.contains(&name))
}

impl<'a> ReadFinder<'_, '_, 'a> {
    /// Notes what the whole value is taken for by `kind`, the node around `below`.
    pub(super) fn whole_value(&mut self, kind: &AstKind<'a>, outer: NodeId, below: NodeId) {
        let tree = self.tree;
        let is_in = |of: &Expression<'_>| tree.is_inside(below, of.span());
        match kind {
            AstKind::UnaryExpression(unary) if unary.operator == UnaryOperator::Typeof => {
                self.found.as_text = true;
            }
            AstKind::BinaryExpression(binary)
                if matches!(
                    binary.operator,
                    BinaryOperator::Instanceof
                        | BinaryOperator::Equality
                        | BinaryOperator::StrictEquality
                        | BinaryOperator::Inequality
                        | BinaryOperator::StrictInequality
                ) =>
            {
                // A whole value that is compared is no list.
                self.found.as_text = true;
            }
            AstKind::StaticMemberExpression(member) => {
                let name = member.property.name.as_str();
                if OF_TEXTS.contains(&name) || OF_TEXTS_TOO.contains(&name) {
                    self.found.as_text = true;
                } else if name == "length" {
                    self.found.note_listed(member.property.span.start, true);
                } else if name == "at" {
                    self.found.note_listed(member.property.span.start, false);
                }
            }
            AstKind::ComputedMemberExpression(member)
                if is_in(&member.object)
                    && matches!(member.expression, Expression::NumericLiteral(_)) =>
            {
                self.found.note_listed(member.span.start, false);
            }
            AstKind::ForOfStatement(statement) if is_in(&statement.right) => {
                self.found.note_listed(statement.right.span().start, false);
            }
            AstKind::SpreadElement(spread) => {
                if matches!(
                    tree.outer(outer),
                    Some((
                        _,
                        AstKind::ArrayExpression(_) | AstKind::CallExpression(_),
                        _
                    ))
                ) {
                    self.found.note_listed(spread.span.start, false);
                }
            }
            AstKind::CallExpression(call) if !is_in(&call.callee) => {
                self.whole_argument(call, below);
            }
            _ => {}
        }
    }

    fn whole_argument(&mut self, call: &CallExpression<'a>, below: NodeId) {
        let Expression::StaticMemberExpression(member) = call.callee.get_inner_expression() else {
            return;
        };
        let name = member.property.name.as_str();
        // `/x/.test(text)`.
        if matches!(name, "test" | "exec") {
            self.found.as_text = true;
            return;
        }
        let Expression::Identifier(object) = &member.object else {
            return;
        };
        let first = call.arguments.first().and_then(Argument::as_expression);
        if self.tree.symbol(object).is_some()
            || !first.is_some_and(|first| self.tree.is_inside(below, first.span()))
        {
            return;
        }
        match (object.name.as_str(), name) {
            ("JSON", "parse") | ("Array", "isArray") => self.found.as_text = true,
            ("Array", "from") | ("Object", "keys" | "values" | "entries") => {
                self.found.note_listed(call.span.start, false);
            }
            _ => {}
        }
    }
}
