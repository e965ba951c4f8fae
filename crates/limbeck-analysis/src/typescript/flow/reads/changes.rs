//! Whether a program gives members of its own to objects and lists that may be results, or takes some away.

use oxc::ast::AstKind;
use oxc::ast::ast::{
    ArrayExpression, AssignmentTarget, CallExpression, Expression, IdentifierReference,
    SimpleAssignmentTarget,
};
use oxc::syntax::operator::UnaryOperator;

use crate::typescript::flow::guards::method;
use crate::typescript::tree::ProgramTree;

/// Methods that put their arguments into a list.
const INTO_LISTS: [&str; 4] = ["push", "unshift", "splice", "fill"];

/// Whether something that may be a result is given a member, or loses one.
pub(super) fn changes_members<'a>(tree: &ProgramTree<'_, 'a>, kind: &AstKind<'a>) -> bool {
    match kind {
        AstKind::AssignmentExpression(assignment) => match &assignment.left {
            AssignmentTarget::AssignmentTargetIdentifier(_) => false,
            left => !left
                .as_simple_assignment_target()
                .is_some_and(|left| is_of_own_object(tree, left)),
        },
        AstKind::UpdateExpression(update) => match &update.argument {
            SimpleAssignmentTarget::AssignmentTargetIdentifier(_) => false,
            argument => !is_of_own_object(tree, argument),
        },
        AstKind::UnaryExpression(unary) => unary.operator == UnaryOperator::Delete,
        AstKind::CallExpression(call) => gives_members(tree, call),
        _ => false,
    }
}

fn gives_members<'a>(tree: &ProgramTree<'_, 'a>, call: &CallExpression<'a>) -> bool {
    let (object, name) = match call.callee.get_inner_expression() {
        Expression::StaticMemberExpression(member) => {
            (&member.object, member.property.name.as_str())
        }
        Expression::ComputedMemberExpression(member) => match tree.text(&member.expression) {
            Some(name) => (&member.object, name),
            None => return false,
        },
        _ => return false,
    };
    match name {
        "assign" | "defineProperty" | "defineProperties" | "setPrototypeOf" => true,
        // `Reflect.set(result, …)`, and not that of a map.
        "set" => {
            matches!(object.get_inner_expression(), Expression::Identifier(name) if name.name == "Reflect")
        }
        // `Array.prototype.push.apply(rows, …)`.
        "apply" | "call" => method(object).is_some_and(|name| INTO_LISTS.contains(&name)),
        name => {
            INTO_LISTS.contains(&name) && !is_own_list(tree, object) && !is_of_global(tree, object)
        }
    }
}

/// Whether a list is one that the program itself wrote down, which therefore is not a result.
fn is_own_list<'a>(tree: &ProgramTree<'_, 'a>, list: &Expression<'a>) -> bool {
    match list.get_inner_expression() {
        Expression::Identifier(name) => is_own_name(tree, name),
        // `(groups[key] ??= []).push(item)`: `groups` itself is looked at where it gets the member.
        Expression::AssignmentExpression(assignment) => {
            !matches!(
                assignment.left,
                AssignmentTarget::AssignmentTargetIdentifier(_)
            ) && is_own_value(&assignment.right)
        }
        list => is_own_value(list),
    }
}

/// Whether an expression begins with a global, as the tool `tools.git.push` does: no result has such a name.
fn is_of_global<'a>(tree: &ProgramTree<'_, 'a>, expression: &Expression<'a>) -> bool {
    let mut inner = expression.get_inner_expression();
    loop {
        let object = match inner {
            Expression::StaticMemberExpression(member) => &member.object,
            Expression::ComputedMemberExpression(member) => &member.object,
            Expression::Identifier(name) => return tree.symbol(name).is_none(),
            _ => return false,
        };
        inner = object.get_inner_expression();
    }
}

/// Whether a member is one of an object or a list that the program itself wrote down under this name, which
/// therefore is not a result.
pub(super) fn is_of_own_object<'a>(
    tree: &ProgramTree<'_, 'a>,
    target: &SimpleAssignmentTarget<'a>,
) -> bool {
    let object = match target {
        SimpleAssignmentTarget::StaticMemberExpression(member) => &member.object,
        SimpleAssignmentTarget::ComputedMemberExpression(member) => &member.object,
        _ => return false,
    };
    match object.get_inner_expression() {
        Expression::Identifier(name) => is_own_name(tree, name),
        _ => false,
    }
}

fn is_own_name<'a>(tree: &ProgramTree<'_, 'a>, name: &IdentifierReference<'a>) -> bool {
    let value = tree.symbol(name).and_then(|symbol| tree.value_of(symbol));
    value.is_some_and(is_own_value)
}

/// Whether a value is written down. `[...rows]` has the items of another list, and reads of it are followed.
fn is_own_value(value: &Expression<'_>) -> bool {
    match value.get_inner_expression() {
        Expression::ObjectExpression(_) => true,
        Expression::ArrayExpression(array) => !has_spread(array),
        Expression::NewExpression(made) => {
            matches!(&made.callee, Expression::Identifier(name) if name.name == "Array")
        }
        _ => false,
    }
}

fn has_spread(array: &ArrayExpression<'_>) -> bool {
    array.elements.iter().any(|element| element.is_spread())
}
