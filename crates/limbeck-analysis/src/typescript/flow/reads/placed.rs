//! What is around a read: whether an absent part may matter, and what the program has in its place.

use std::collections::HashSet;

use oxc::ast::AstKind;
use oxc::ast::ast::{
    Argument, AssignmentTarget, Expression, ObjectPropertyKind, SimpleAssignmentTarget, Statement,
};
use oxc::semantic::NodeId;
use oxc::span::GetSpan;
use oxc::syntax::operator::{LogicalOperator, UnaryOperator};

use super::changes::is_of_own_object;
use crate::bounds::ALTERNATIVE_STEPS_MAX;
use crate::typescript::flow::guards::method;
use crate::typescript::tree::ProgramTree;

impl ProgramTree<'_, '_> {
    /// Whether a read decides only whether to end here, or is part of what is thrown, as in `if (r.error) throw r.error`.
    pub(super) fn is_guard(&self, member: NodeId) -> bool {
        let mut around = self.climb(member).take(ALTERNATIVE_STEPS_MAX);
        if around.any(|(_, kind, _)| matches!(kind, AstKind::ThrowStatement(_))) {
            return true;
        }
        let mut at = member;
        for _ in 0..ALTERNATIVE_STEPS_MAX {
            match self.outer(at) {
                Some((outer, AstKind::LogicalExpression(_), _)) => at = outer,
                Some((outer, kind, _)) if asks_for_kind(&kind) => at = outer,
                Some((_, AstKind::IfStatement(branch), below)) => {
                    return self.is_inside(below, branch.test.span())
                        && ends_early(&branch.consequent);
                }
                _ => return false,
            }
        }
        false
    }

    /// The number of the alternatives that a part is one of, as in `r.a ?? r.b`: where the outermost `??` or `||` ends. 0 for
    /// none.
    pub(super) fn either(&self, part: NodeId) -> u32 {
        let mut at = part;
        let mut number = 0;
        for _ in 0..ALTERNATIVE_STEPS_MAX {
            let Some((outer, kind, below)) = self.outer(at) else {
                return number;
            };
            let is_in = |of: &Expression<'_>| self.is_inside(below, of.span());
            match kind {
                AstKind::LogicalExpression(logical) if logical.operator != LogicalOperator::And => {
                    number = self.span(outer).end;
                }
                _ if number != 0 => return number,
                AstKind::StaticMemberExpression(_) => {}
                AstKind::ComputedMemberExpression(member) if is_in(&member.object) => {}
                AstKind::CallExpression(call) if is_in(&call.callee) => {}
                _ => return 0,
            }
            at = outer;
        }
        number
    }
}

/// Whether an expression asks what the value in it is: `Array.isArray(r.content)`, `typeof r.text === "string"`,
/// `r.result !== undefined`.
fn asks_for_kind(kind: &AstKind<'_>) -> bool {
    let asks_for = |side: &Expression<'_>| match side.get_inner_expression() {
        Expression::NullLiteral(_) => true,
        Expression::Identifier(name) => name.name == "undefined",
        Expression::UnaryExpression(unary) => unary.operator == UnaryOperator::Typeof,
        _ => false,
    };
    match kind {
        AstKind::UnaryExpression(unary) => unary.operator == UnaryOperator::Typeof,
        AstKind::BinaryExpression(binary) => {
            binary.operator.is_equality() && (asks_for(&binary.left) || asks_for(&binary.right))
        }
        AstKind::CallExpression(call) => method(&call.callee) == Some("isArray"),
        _ => false,
    }
}

/// Whether a statement leaves the function that it is in.
fn ends_early(statement: &Statement<'_>) -> bool {
    match statement {
        Statement::ThrowStatement(_) | Statement::ReturnStatement(_) => true,
        Statement::BlockStatement(block) => matches!(
            block.body.last(),
            Some(Statement::ThrowStatement(_) | Statement::ReturnStatement(_))
        ),
        _ => false,
    }
}

/// Names of members that the program gives to what may be a result.
pub(super) fn assigned_names(tree: &ProgramTree<'_, '_>) -> HashSet<String> {
    let mut names = HashSet::new();
    for node in tree.nodes.iter() {
        match node.kind() {
            AstKind::AssignmentExpression(assignment) => {
                names.extend(assigned_name(tree, &assignment.left));
            }
            AstKind::CallExpression(call) if method(&call.callee) == Some("assign") => {
                for given in call.arguments.iter().filter_map(Argument::as_expression) {
                    if let Expression::ObjectExpression(object) = given.get_inner_expression() {
                        for property in &object.properties {
                            if let ObjectPropertyKind::ObjectProperty(property) = property
                                && let Some(name) = property.key.static_name()
                            {
                                names.insert(name.into_owned());
                            }
                        }
                    }
                }
            }
            _ => {}
        }
    }
    names
}

fn assigned_name<'a>(tree: &ProgramTree<'_, 'a>, target: &AssignmentTarget<'a>) -> Option<String> {
    let target = target.as_simple_assignment_target()?;
    if is_of_own_object(tree, target) {
        return None;
    }
    match target {
        SimpleAssignmentTarget::StaticMemberExpression(member) => {
            Some(member.property.name.as_str().to_owned())
        }
        SimpleAssignmentTarget::ComputedMemberExpression(member) => {
            tree.text(&member.expression).map(str::to_owned)
        }
        _ => None,
    }
}
