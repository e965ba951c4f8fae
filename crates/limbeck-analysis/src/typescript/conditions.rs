//! Promises that a program uses as conditions. A promise counts as true also when it gives false, and the engine cannot see
//! that it is asked.

use limbeck_domain::text::clean_line;
use oxc::ast::AstKind;
use oxc::ast::ast::{CallExpression, Expression};
use oxc::semantic::{NodeId, Semantic, SymbolId};
use oxc::span::{GetSpan, Span};
use oxc::syntax::operator::{LogicalOperator, UnaryOperator};

use super::positions::{TextOrigin, positions_of_bytes};
use super::tree::ProgramTree;

const WARNINGS_MAX: usize = 5;
/// Bytes of a function's name in a warning.
const NAME_BYTES_MAX: usize = 64;
/// Operators around a call that are followed to the condition.
const STEPS_MAX: usize = 32;

/// A warning for each call of a tool, or of an async function of the program, whose promise is a condition. `semantic` must
/// have been built with its nodes.
pub(super) fn warnings(semantic: &Semantic<'_>, text: &str, origin: TextOrigin) -> Vec<String> {
    let tree = ProgramTree::new(semantic);
    let mut found: Vec<Span> = Vec::new();
    for node in tree.nodes.iter() {
        if let AstKind::CallExpression(call) = node.kind()
            && gives_promise(&tree, call)
            && is_condition(&tree, call.node_id())
        {
            found.push(call.callee.span());
        }
    }
    found.sort_unstable_by_key(|callee| callee.start);
    found.truncate(WARNINGS_MAX);
    let places = positions_of_bytes(
        text,
        found.iter().map(|callee| callee.start).collect(),
        origin,
    );
    let described = found.iter().map(|callee| {
        let (line, _) = places.get(&callee.start).copied().unwrap_or((1, 1));
        let name = text.get(callee.start as usize..callee.end as usize);
        let name = clean_line(name.unwrap_or_default(), NAME_BYTES_MAX);
        format!(
            "line {line}: `{name}` gives a promise, which counts as true in a condition: write `await {name}(…)`"
        )
    });
    described.collect()
}

fn gives_promise<'a>(tree: &ProgramTree<'_, 'a>, call: &CallExpression<'a>) -> bool {
    match call.callee.get_inner_expression() {
        Expression::Identifier(name) => tree
            .symbol(name)
            .is_some_and(|symbol| is_async_function(tree, symbol)),
        callee @ (Expression::StaticMemberExpression(_)
        | Expression::ComputedMemberExpression(_)) => is_tool(tree, callee),
        _ => false,
    }
}

/// Whether a name always means one async function, which is no generator.
fn is_async_function(tree: &ProgramTree<'_, '_>, symbol: SymbolId) -> bool {
    if tree.scoping.symbol_is_mutated(symbol)
        || !tree.scoping.symbol_redeclarations(symbol).is_empty()
    {
        return false;
    }
    if let AstKind::Function(function) = tree.nodes.kind(tree.scoping.symbol_declaration(symbol)) {
        return function.r#async && !function.generator;
    }
    match tree.value_of(symbol) {
        Some(Expression::ArrowFunctionExpression(function)) => function.r#async,
        Some(Expression::FunctionExpression(function)) => function.r#async && !function.generator,
        _ => false,
    }
}

/// Whether an expression is a member of `tools` or of one of its members.
fn is_tool<'a>(tree: &ProgramTree<'_, 'a>, callee: &Expression<'a>) -> bool {
    let mut at = callee;
    // `tools.server.tool.raw` is the longest.
    for _ in 0..=3 {
        at = match at {
            Expression::StaticMemberExpression(member) => member.object.get_inner_expression(),
            Expression::ComputedMemberExpression(member) => member.object.get_inner_expression(),
            Expression::Identifier(name) => {
                return name.name == "tools" && tree.symbol(name).is_none();
            }
            _ => return false,
        };
    }
    false
}

/// Whether the value at `at` decides alone, or as a side of `&&` and `||`, what the program does.
fn is_condition(tree: &ProgramTree<'_, '_>, at: NodeId) -> bool {
    let mut at = at;
    for _ in 0..STEPS_MAX {
        let Some((outer, kind, below)) = tree.outer(at) else {
            return false;
        };
        let is_in = |part: Span| tree.is_inside(below, part);
        return match kind {
            AstKind::IfStatement(statement) => is_in(statement.test.span()),
            AstKind::WhileStatement(statement) => is_in(statement.test.span()),
            AstKind::DoWhileStatement(statement) => is_in(statement.test.span()),
            AstKind::ForStatement(statement) => statement
                .test
                .as_ref()
                .is_some_and(|test| is_in(test.span())),
            AstKind::ConditionalExpression(conditional) => is_in(conditional.test.span()),
            AstKind::UnaryExpression(unary) => unary.operator == UnaryOperator::LogicalNot,
            AstKind::LogicalExpression(logical)
                if logical.operator != LogicalOperator::Coalesce =>
            {
                if is_in(logical.left.span()) {
                    return true;
                }
                at = outer;
                continue;
            }
            _ => false,
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::typescript::prepare;

    #[test]
    fn a_promise_that_is_a_condition_is_a_warning_with_its_line() {
        let declared = "const isOpen = async id => (await tools.desk.get({ id })).open;\n";
        for (program, name) in [
            (
                "for (const id of [1]) if (isOpen(id)) await tools.desk.add({ id })",
                "isOpen",
            ),
            ("return isOpen(1) ? 1 : 2", "isOpen"),
            ("return !isOpen(1)", "isOpen"),
            ("while (input.n > 1 && isOpen(1)) input.n -= 1", "isOpen"),
            ("return isOpen(1) && 5", "isOpen"),
            ("if (tools.desk.get({ id: 1 })) return 1", "tools.desk.get"),
            (
                "async function late() { await tools.desk.get({}) } if (late()) return 1",
                "late",
            ),
        ] {
            let prepared = prepare(&format!("{declared}{program}")).unwrap();
            let expected = format!(
                "line 2: `{name}` gives a promise, which counts as true in a condition: write `await {name}(…)`"
            );
            assert_eq!(prepared.warnings, [expected], "{program}");
        }
        // The controls: what is awaited, what is no condition, and what gives no promise.
        for program in [
            "if (await isOpen(1)) return 1",
            "if (!(await isOpen(1))) return 1",
            "return input.n && isOpen(1)",
            "return input.n ? isOpen(1) : tools.desk.get({})",
            "const list = id => [id]; if (list(1)) return await isOpen(1)",
            "let f = isOpen; f = () => true; if (f(1)) return await tools.desk.get({})",
            "const found = isOpen(1) ?? 5; return await found",
        ] {
            let prepared = prepare(&format!("{declared}{program}")).unwrap();
            assert_eq!(prepared.warnings, [""; 0], "{program}");
        }
    }
}
