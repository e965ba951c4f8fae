//! Comparisons of a part with constant texts: `r.state === "open"`, `switch (r.state)`, `["open", "new"].includes(r.state)`.

use limbeck_domain::text::cut;
use oxc::ast::AstKind;
use oxc::ast::ast::{Argument, ArrayExpressionElement, Expression};
use oxc::semantic::NodeId;
use oxc::span::GetSpan;
use oxc::syntax::operator::BinaryOperator;

use super::ReadFinder;
use crate::bounds::{ALTERNATIVE_STEPS_MAX, COMPARED_BYTES_MAX, COMPARED_VALUES_MAX};
use crate::result_part::ResultPart;
use crate::result_read::Comparison;
use crate::typescript::flow::guards::method;

impl<'a> ReadFinder<'_, '_, 'a> {
    /// Notes the constants with which the part at `at` is compared by `kind`, the node around it.
    pub(super) fn compared(
        &mut self,
        kind: &AstKind<'a>,
        at: NodeId,
        outer: NodeId,
        below: NodeId,
        part: &ResultPart,
    ) {
        // A part that may be of another value is compared with the constants of both.
        if part.is_shared || self.changes_members {
            return;
        }
        let tree = self.tree;
        let is_in = |of: &Expression<'_>| tree.is_inside(below, of.span());
        let texts: Vec<&str> = match kind {
            AstKind::BinaryExpression(binary)
                if matches!(
                    binary.operator,
                    BinaryOperator::Equality
                        | BinaryOperator::Inequality
                        | BinaryOperator::StrictEquality
                        | BinaryOperator::StrictInequality
                ) =>
            {
                let other = match is_in(&binary.left) {
                    true => &binary.right,
                    false => &binary.left,
                };
                tree.text(other).into_iter().collect()
            }
            AstKind::SwitchStatement(statement) if is_in(&statement.discriminant) => {
                let mut condition = 0;
                // Cases without statements are one with the next case that has some.
                for case in statement.cases.iter().rev() {
                    if condition == 0 || !case.consequent.is_empty() {
                        condition = case.span.end;
                    }
                    if let Some(test) = &case.test {
                        let texts = tree.text(test).into_iter().collect();
                        self.note_comparison(texts, test.span().start, condition, part);
                    }
                }
                return;
            }
            AstKind::CallExpression(call)
                if method(&call.callee) == Some("includes") && !is_in(&call.callee) =>
            {
                let Expression::StaticMemberExpression(member) = call.callee.get_inner_expression()
                else {
                    return;
                };
                let Expression::ArrayExpression(list) = member.object.get_inner_expression() else {
                    return;
                };
                let first = call.arguments.first().and_then(Argument::as_expression);
                if !first.is_some_and(is_in) {
                    return;
                }
                let items = list
                    .elements
                    .iter()
                    .filter_map(ArrayExpressionElement::as_expression);
                items.filter_map(|item| tree.text(item)).collect()
            }
            _ => return,
        };
        let condition = self.condition(outer);
        self.note_comparison(texts, tree.span(at).start, condition, part);
    }

    fn note_comparison(&mut self, texts: Vec<&str>, at: u32, condition: u32, part: &ResultPart) {
        let values = texts.into_iter().take(COMPARED_VALUES_MAX);
        let values: Vec<String> = values
            .map(|text| cut(text, COMPARED_BYTES_MAX).to_owned())
            .collect();
        if !values.is_empty() {
            self.found.note_compared(Comparison {
                at,
                path: part.path.clone(),
                condition,
                values,
            });
        }
    }

    /// Where the condition ends that a comparison is a side of.
    fn condition(&self, comparison: NodeId) -> u32 {
        let mut at = comparison;
        for _ in 0..ALTERNATIVE_STEPS_MAX {
            match self.tree.outer(at) {
                Some((outer, AstKind::LogicalExpression(_) | AstKind::UnaryExpression(_), _)) => {
                    at = outer;
                }
                _ => break,
            }
        }
        self.tree.span(at).end
    }
}
