//! Comparisons of a part with constant texts: `r.state === "open"`, `switch (r.state)`, `["open", "new"].includes(r.state)`.

use limbeck_domain::text::cut;
use oxc::ast::AstKind;
use oxc::ast::ast::{Argument, ArrayExpression, ArrayExpressionElement, Expression};
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
        if part.is_shared || part.is_of_several || self.changes_members {
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
                // `want === "all" || r.state === want` is right for any `want`.
                if self.is_choice(other) {
                    return;
                }
                // `r.count == "3"` takes the text for a number.
                let is_loose = matches!(
                    binary.operator,
                    BinaryOperator::Equality | BinaryOperator::Inequality
                );
                let text = tree.text(other);
                let text = text.filter(|text| !is_loose || text.parse::<f64>().is_err());
                text.into_iter().collect()
            }
            AstKind::SwitchStatement(statement) if is_in(&statement.discriminant) => {
                // A case more than there are values does no harm.
                for test in statement.cases.iter().filter_map(|case| case.test.as_ref()) {
                    let texts = tree.text(test).into_iter().collect();
                    let condition = statement.span.end;
                    self.note_comparison(texts, test.span().start, condition, part);
                }
                return;
            }
            AstKind::CallExpression(call)
                if matches!(method(&call.callee), Some("includes" | "has"))
                    && !is_in(&call.callee) =>
            {
                let Expression::StaticMemberExpression(member) = call.callee.get_inner_expression()
                else {
                    return;
                };
                let Some(list) = self.constants(&member.object) else {
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

    /// The list that an expression is, or that a name keeps which the program only asks whether it has a value: a list, or a
    /// set made of one.
    fn constants<'e>(&self, expression: &'e Expression<'a>) -> Option<&'e ArrayExpression<'a>>
    where
        'a: 'e,
    {
        let inner = expression.get_inner_expression();
        let value = match inner {
            Expression::Identifier(name) => {
                let symbol = self.tree.symbol(name)?;
                let mut uses = self.tree.uses(symbol);
                let only_asks = uses.all(|node| {
                    matches!(
                        self.tree.outer(node),
                        Some((_, AstKind::StaticMemberExpression(member), _))
                            if matches!(member.property.name.as_str(), "has" | "includes")
                    )
                });
                self.tree.value_of(symbol).filter(|_| only_asks)?
            }
            inner => inner,
        };
        match value {
            Expression::ArrayExpression(list) => Some(list),
            Expression::NewExpression(made) if matches!(&made.callee, Expression::Identifier(name) if name.name == "Set") =>
            {
                let first = made.arguments.first().and_then(Argument::as_expression)?;
                match first.get_inner_expression() {
                    Expression::ArrayExpression(list) => Some(list),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Whether a constant is a name that the program compares with other constants elsewhere: it may have any of their values.
    fn is_choice(&self, constant: &Expression<'a>) -> bool {
        let Expression::Identifier(name) = constant.get_inner_expression() else {
            return false;
        };
        let Some(symbol) = self.tree.symbol(name) else {
            return false;
        };
        let mut uses = self.tree.uses(symbol).take(ALTERNATIVE_STEPS_MAX);
        uses.any(|node| match self.tree.outer(node) {
            Some((_, AstKind::BinaryExpression(binary), below)) => {
                let other = match self.tree.is_inside(below, binary.left.span()) {
                    true => &binary.right,
                    false => &binary.left,
                };
                binary.operator.is_equality()
                    && matches!(
                        other.get_inner_expression(),
                        Expression::StringLiteral(_) | Expression::NullLiteral(_)
                    )
            }
            _ => false,
        })
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
