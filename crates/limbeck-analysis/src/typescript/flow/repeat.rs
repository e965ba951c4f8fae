//! Number of times that a call is made.

use limbeck_domain::Repeat;
use oxc::ast::AstKind;
use oxc::ast::ast::{
    ArrayExpressionElement, Expression, ForStatement, ForStatementInit, ObjectPropertyKind,
};
use oxc::semantic::{NodeId, SymbolId};
use oxc::span::GetSpan;
use oxc::syntax::operator::{BinaryOperator, UpdateOperator};

use super::guards::{calls_back, declared, method, named};
use crate::repeats::{per_item, sum};
use crate::typescript::tree::ProgramTree;

/// Functions called by functions that are followed.
const FUNCTIONS_MAX: usize = 8;

pub(super) fn of(tree: &ProgramTree<'_, '_>, call: NodeId) -> Repeat {
    if tree.is_too_deep(call) {
        return Repeat::Many;
    }
    around(tree, call, FUNCTIONS_MAX)
}

/// How often `from` is reached when the program runs once.
fn around(tree: &ProgramTree<'_, '_>, from: NodeId, functions_left: usize) -> Repeat {
    let mut repeat = Repeat::Once;
    for (_, kind, below) in tree.climb(from) {
        let is_in = |part: oxc::span::Span| tree.is_inside(below, part);
        let loops = match kind {
            AstKind::WhileStatement(statement) => while_loop(tree, &statement.test),
            AstKind::DoWhileStatement(statement) => match statement.test.get_inner_expression() {
                Expression::BooleanLiteral(test) if !test.value => Repeat::Once,
                test => while_loop(tree, test),
            },
            AstKind::ForStatement(statement) => {
                let begins = statement
                    .init
                    .as_ref()
                    .is_some_and(|init| is_in(init.span()));
                if begins {
                    Repeat::Once
                } else {
                    counted(tree, statement)
                }
            }
            AstKind::ForOfStatement(statement) if is_in(statement.body.span()) => {
                items_of(tree, &statement.right)
            }
            AstKind::ForInStatement(statement) if is_in(statement.body.span()) => Repeat::Many,
            AstKind::Function(_) | AstKind::ArrowFunctionExpression(_) => {
                return repeat.within(of_function(tree, kind, functions_left));
            }
            AstKind::Class(_) => return repeat.within(Repeat::Many),
            _ => Repeat::Once,
        };
        repeat = repeat.within(loops);
    }
    repeat
}

/// How often a function is called.
fn of_function(tree: &ProgramTree<'_, '_>, function: AstKind<'_>, functions_left: usize) -> Repeat {
    let Some(left) = functions_left.checked_sub(1) else {
        return Repeat::Many;
    };
    let id = match function {
        AstKind::Function(function) => {
            if let Some(symbol) = declared(function) {
                return of_name(tree, symbol, left);
            }
            function.node_id()
        }
        AstKind::ArrowFunctionExpression(function) => function.node_id(),
        _ => return Repeat::Many,
    };
    let Some((outer, kind, below)) = tree.outer(id) else {
        return Repeat::Many;
    };
    let inner = match kind {
        AstKind::CallExpression(call) if tree.is_inside(below, call.callee.span()) => Repeat::Once,
        AstKind::CallExpression(call) if calls_back(&call.callee) => {
            let callee = call.callee.get_inner_expression();
            let first = call
                .arguments
                .first()
                .and_then(|first| first.as_expression());
            match (callee, method(callee)) {
                (_, Some("then" | "finally")) => Repeat::Once,
                (_, Some("from")) => first.map_or(Repeat::Many, |first| length_of(tree, first)),
                (Expression::StaticMemberExpression(member), Some(_)) => {
                    items_of(tree, &member.object)
                }
                (Expression::Identifier(name), _) if name.name == "setInterval" => {
                    match mentions_global(tree, "clearInterval") {
                        true => Repeat::Many,
                        false => Repeat::Endless,
                    }
                }
                (Expression::Identifier(_), _) => Repeat::Once,
                _ => Repeat::Many,
            }
        }
        AstKind::VariableDeclarator(declarator) => {
            return named(declarator).map_or(Repeat::Many, |symbol| of_name(tree, symbol, left));
        }
        // The program itself is this function.
        AstKind::ExportDefaultDeclaration(_)
        | AstKind::ReturnStatement(_)
        | AstKind::ExpressionStatement(_) => Repeat::Once,
        _ => Repeat::Many,
    };
    inner.within(around(tree, outer, left))
}

/// Whether the program mentions a global function.
fn mentions_global(tree: &ProgramTree<'_, '_>, global: &str) -> bool {
    let unresolved = tree.scoping.root_unresolved_references();
    unresolved.iter().any(|(name, _)| name.as_str() == global)
}

/// How often a named function is called. One that is never mentioned is the program's entry, which is called once.
fn of_name(tree: &ProgramTree<'_, '_>, symbol: SymbolId, functions_left: usize) -> Repeat {
    let mut all: Option<Repeat> = None;
    for node in tree.uses(symbol) {
        let one = match tree.outer(node) {
            Some((outer, AstKind::CallExpression(call), below))
                if tree.is_inside(below, call.callee.span()) =>
            {
                around(tree, outer, functions_left)
            }
            Some((_, AstKind::ExportDefaultDeclaration(_), _)) => Repeat::Once,
            // A function that is passed on may be called any number of times.
            _ => Repeat::Many,
        };
        all = Some(match all {
            None => one,
            Some(before) => sum(before, one),
        });
    }
    all.unwrap_or_default()
}

/// How often a loop with this condition runs.
fn while_loop(tree: &ProgramTree<'_, '_>, test: &Expression<'_>) -> Repeat {
    match test.get_inner_expression() {
        Expression::BooleanLiteral(test) if test.value => Repeat::Endless,
        Expression::NumericLiteral(test) if test.value != 0.0 => Repeat::Endless,
        Expression::Identifier(name) => {
            match tree.symbol(name).and_then(|symbol| tree.value_of(symbol)) {
                Some(Expression::BooleanLiteral(test)) if test.value => Repeat::Endless,
                _ => Repeat::Many,
            }
        }
        _ => Repeat::Many,
    }
}

/// `for (let i = 0; i < 10; i++)`.
fn counted(tree: &ProgramTree<'_, '_>, statement: &ForStatement<'_>) -> Repeat {
    let Some(test) = statement
        .test
        .as_ref()
        .map(Expression::get_inner_expression)
    else {
        return Repeat::Endless;
    };
    times(tree, statement, test).map_or_else(|| while_loop(tree, test), Repeat::AtMost)
}

fn times(
    tree: &ProgramTree<'_, '_>,
    statement: &ForStatement<'_>,
    test: &Expression<'_>,
) -> Option<u32> {
    let Some(ForStatementInit::VariableDeclaration(declaration)) = &statement.init else {
        return None;
    };
    let [declarator] = declaration.declarations.as_slice() else {
        return None;
    };
    let Some(Expression::NumericLiteral(first)) = &declarator.init else {
        return None;
    };
    let counter = named(declarator)?;
    let Some(Expression::UpdateExpression(update)) = &statement.update else {
        return None;
    };
    // Another write may keep the counter from reaching its end.
    let writes = tree.scoping.get_resolved_references(counter);
    if update.operator != UpdateOperator::Increment
        || writes.filter(|reference| reference.is_write()).count() != 1
    {
        return None;
    }
    let Expression::BinaryExpression(test) = test else {
        return None;
    };
    let is_counter =
        matches!(&test.left, Expression::Identifier(name) if tree.symbol(name) == Some(counter));
    let Expression::NumericLiteral(last) = tree.plain(&test.right) else {
        return None;
    };
    let count = match test.operator {
        BinaryOperator::LessThan => last.value - first.value,
        BinaryOperator::LessEqualThan => last.value - first.value + 1.0,
        _ => return None,
    };
    // Saturates at both ends.
    is_counter.then_some(count.ceil() as u32)
}

/// How many items a list has that is written down.
fn items_of(tree: &ProgramTree<'_, '_>, list: &Expression<'_>) -> Repeat {
    let list = list.get_inner_expression();
    let declared = match list {
        Expression::Identifier(name) => tree.symbol(name).and_then(|symbol| {
            // A list that is only looked at has the items it was declared with.
            let grows = tree.uses(symbol).any(|node| !is_looked_at(tree, node));
            tree.value_of(symbol).filter(|_| !grows)
        }),
        _ => None,
    };
    let items = match declared.unwrap_or(list) {
        Expression::ArrayExpression(array) => &array.elements,
        _ => return Repeat::Many,
    };
    let spreads = |item: &ArrayExpressionElement<'_>| {
        matches!(item, ArrayExpressionElement::SpreadElement(_))
    };
    if items.iter().any(spreads) {
        return Repeat::Many;
    }
    per_item(items.len())
}

fn is_looked_at(tree: &ProgramTree<'_, '_>, node: NodeId) -> bool {
    match tree.outer(node) {
        Some((_, AstKind::ForOfStatement(_) | AstKind::SpreadElement(_), _)) => true,
        Some((_, AstKind::StaticMemberExpression(member), _)) => {
            let name = member.property.name.as_str();
            name == "length" || matches!(name, "map" | "forEach" | "filter" | "flatMap" | "join")
        }
        _ => false,
    }
}

/// `{ length: 10 }`.
fn length_of(tree: &ProgramTree<'_, '_>, object: &Expression<'_>) -> Repeat {
    let Expression::ObjectExpression(object) = object.get_inner_expression() else {
        return items_of(tree, object);
    };
    let [ObjectPropertyKind::ObjectProperty(property)] = object.properties.as_slice() else {
        return Repeat::Many;
    };
    match (property.key.static_name().as_deref(), &property.value) {
        // Saturates at both ends.
        (Some("length"), Expression::NumericLiteral(length)) => Repeat::AtMost(length.value as u32),
        _ => Repeat::Many,
    }
}
