//! Results that are used without being awaited, which is certainly a mistake.

use oxc::ast::AstKind;
use oxc::ast::ast::{AssignmentTarget, BindingPattern, Expression};
use oxc::semantic::NodeId;
use oxc::span::GetSpan;

use super::guards::method;
use crate::typescript::tree::ProgramTree;

/// Methods of a promise.
const OF_PROMISES: [&str; 3] = ["then", "catch", "finally"];

/// Whether the result of a call is used on the spot, or under a name that keeps it, as if it were there,
/// although nothing awaits it.
pub(super) fn is_taken_apart(tree: &ProgramTree<'_, '_>, call: NodeId) -> bool {
    if is_used_as_value(tree, call) {
        return true;
    }
    let Some((_, AstKind::VariableDeclarator(declarator), _)) = tree.outer(call) else {
        return false;
    };
    let Some(name) = declarator.id.get_binding_identifier() else {
        return false;
    };
    let symbol = name.symbol_id();
    !tree.scoping.symbol_is_mutated(symbol)
        && tree.uses(symbol).any(|node| is_used_as_value(tree, node))
}

/// Whether something that a promise does not have is looked for in the value at `at`.
fn is_used_as_value(tree: &ProgramTree<'_, '_>, at: NodeId) -> bool {
    let Some((outer, kind, below)) = tree.outer(at) else {
        return false;
    };
    let is_in = |part: oxc::span::Span| tree.is_inside(below, part);
    match kind {
        AstKind::StaticMemberExpression(member) => {
            let assigned = matches!(
                tree.outer(outer),
                Some((_, AstKind::AssignmentExpression(_), _))
            );
            !OF_PROMISES.contains(&member.property.name.as_str()) && !assigned
        }
        AstKind::ComputedMemberExpression(member) if is_in(member.object.span()) => {
            match member.expression.get_inner_expression() {
                Expression::StringLiteral(name) => !OF_PROMISES.contains(&name.value.as_str()),
                Expression::NumericLiteral(_) => true,
                _ => false,
            }
        }
        AstKind::SpreadElement(_) => true,
        AstKind::ForOfStatement(statement) => !statement.r#await && is_in(statement.right.span()),
        AstKind::TemplateLiteral(_) => !matches!(
            tree.outer(outer),
            Some((_, AstKind::TaggedTemplateExpression(_), _))
        ),
        AstKind::BinaryExpression(binary) => binary.operator.is_arithmetic(),
        AstKind::VariableDeclarator(declarator) => matches!(
            declarator.id,
            BindingPattern::ObjectPattern(_) | BindingPattern::ArrayPattern(_)
        ),
        AstKind::AssignmentExpression(assignment) => {
            is_in(assignment.right.span())
                && matches!(
                    assignment.left,
                    AssignmentTarget::ObjectAssignmentTarget(_)
                        | AssignmentTarget::ArrayAssignmentTarget(_)
                )
        }
        AstKind::CallExpression(call) => {
            // It makes `{}` of every promise.
            !is_in(call.callee.span())
                && method(&call.callee) == Some("stringify")
                && matches!(call.callee.get_inner_expression(),
                    Expression::StaticMemberExpression(member)
                        if matches!(&member.object, Expression::Identifier(object) if object.name == "JSON"))
        }
        _ => false,
    }
}
