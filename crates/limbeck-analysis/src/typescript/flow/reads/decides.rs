//! What a program decides by a part alone: tests by equality and negation, which have always the same outcome where no result has
//! the part.

use limbeck_domain::Decides;
use oxc::ast::AstKind;
use oxc::ast::ast::Expression;
use oxc::semantic::NodeId;
use oxc::span::{GetSpan, Span};
use oxc::syntax::operator::UnaryOperator;

use super::ReadFinder;
use crate::bounds::ALTERNATIVE_STEPS_MAX;
use crate::result_part::ResultPart;
use crate::result_read::{is_of_items, is_word_of_failure};
use crate::typescript::flow::guards::method;

/// Methods that keep or drop items by what their callback gives.
const CHOOSING: [&str; 7] = [
    "filter",
    "find",
    "findIndex",
    "findLast",
    "findLastIndex",
    "some",
    "every",
];

/// What is done by a test.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// A tool is called, or not.
    Call,
    /// Items are chosen.
    Choice,
    /// A value is one or another.
    Value,
    /// The program goes on or ends.
    Other,
}

impl<'a> ReadFinder<'_, '_, 'a> {
    /// What the program decides by the part at `at`, where that is an expression.
    pub(super) fn decided_by(&self, at: NodeId, part: &ResultPart) -> Decides {
        if part.is_shared || part.is_of_several || self.changes_members {
            return Decides::Nothing;
        }
        let name = part.path.last().map_or("", String::as_str);
        if is_word_of_failure(name) {
            return Decides::Nothing;
        }
        let Some((outer, kind, below)) = self.tree.outer(at) else {
            return Decides::Nothing;
        };
        let is_in = |of: &Expression<'_>| self.tree.is_inside(below, of.span());
        match kind {
            AstKind::BinaryExpression(binary) if binary.operator.is_equality() => {
                let other = match is_in(&binary.left) {
                    true => &binary.right,
                    false => &binary.left,
                };
                if self.is_of_absence(other) {
                    return Decides::Nothing;
                }
                match self.outcome(outer) {
                    Outcome::Call => Decides::Equality,
                    Outcome::Choice => Decides::Equality,
                    Outcome::Value | Outcome::Other if is_of_items(&part.path) => Decides::Equality,
                    Outcome::Value => Decides::Report,
                    Outcome::Other => Decides::Nothing,
                }
            }
            AstKind::SwitchStatement(statement) if is_in(&statement.discriminant) => {
                match self.has_call(statement.span) || is_of_items(&part.path) {
                    true => Decides::Equality,
                    false => Decides::Nothing,
                }
            }
            AstKind::UnaryExpression(unary) if unary.operator == UnaryOperator::LogicalNot => {
                match self.outcome(outer) {
                    Outcome::Call | Outcome::Choice => Decides::Negation,
                    Outcome::Value | Outcome::Other => Decides::Nothing,
                }
            }
            _ => Decides::Nothing,
        }
    }

    /// Whether a value that a part is compared with is one of a part that is absent, or of a failure.
    fn is_of_absence(&self, other: &Expression<'a>) -> bool {
        match self.tree.plain(other).get_inner_expression() {
            Expression::NullLiteral(_) | Expression::BooleanLiteral(_) => true,
            Expression::Identifier(name) => name.name == "undefined",
            Expression::UnaryExpression(unary) => unary.operator != UnaryOperator::UnaryNegation,
            Expression::StringLiteral(text) => {
                text.value.is_empty() || is_word_of_failure(&text.value)
            }
            _ => false,
        }
    }

    /// What is done by a test.
    fn outcome(&self, test: NodeId) -> Outcome {
        let mut at = test;
        for _ in 0..ALTERNATIVE_STEPS_MAX {
            let Some((outer, kind, below)) = self.tree.outer(at) else {
                return Outcome::Other;
            };
            let is_in = |part: Span| self.tree.is_inside(below, part);
            match kind {
                AstKind::LogicalExpression(logical) => {
                    if is_in(logical.left.span()) && self.has_call(logical.right.span()) {
                        return Outcome::Call;
                    }
                    at = outer;
                }
                AstKind::UnaryExpression(_) | AstKind::ReturnStatement(_) => at = outer,
                AstKind::FunctionBody(_) | AstKind::BlockStatement(_) => at = outer,
                AstKind::IfStatement(statement) => {
                    let otherwise = statement.alternate.as_ref();
                    let calls = is_in(statement.test.span())
                        && (self.has_call(statement.consequent.span())
                            || otherwise.is_some_and(|it| self.has_call(it.span())));
                    return match calls {
                        true => Outcome::Call,
                        false => Outcome::Other,
                    };
                }
                AstKind::ConditionalExpression(either) => {
                    let calls = self.has_call(either.consequent.span())
                        || self.has_call(either.alternate.span());
                    return match is_in(either.test.span()) {
                        true if calls => Outcome::Call,
                        true => Outcome::Value,
                        false => Outcome::Other,
                    };
                }
                AstKind::ArrowFunctionExpression(_) | AstKind::Function(_) => {
                    return match self.tree.outer(outer) {
                        Some((_, AstKind::CallExpression(call), _))
                            if method(&call.callee)
                                .is_some_and(|name| CHOOSING.contains(&name)) =>
                        {
                            Outcome::Choice
                        }
                        _ => Outcome::Other,
                    };
                }
                _ => return Outcome::Other,
            }
        }
        Outcome::Other
    }

    /// Whether a tool is called inside of what `part` spans.
    fn has_call(&self, part: Span) -> bool {
        self.has_call_between(part.start, part.end)
    }
}
