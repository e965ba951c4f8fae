//! Slips that surely give another value than the program means, and no error: an item that is looked for in its place, a function
//! that is named and not called, and a callback that gives nothing.

use limbeck_domain::text::clean_line;
use oxc::ast::AstKind;
use oxc::ast::ast::{
    Argument, ArrowFunctionBody, ArrowFunctionExpression, CallExpression, Expression,
    ExpressionStatement, ForInStatement, ForStatementLeft, Statement,
};
use oxc::semantic::{Semantic, SymbolId};
use oxc::span::GetSpan;

use super::flow::is_member_of_texts;
use super::positions::{TextOrigin, positions_of_bytes};
use super::tree::ProgramTree;

const WARNINGS_MAX: usize = 5;
/// Bytes of a name in a warning.
const NAME_BYTES_MAX: usize = 64;
/// Uses of a name that are looked at.
const USES_MAX: usize = 64;
/// Methods that take what their callback gives.
const TAKING: [&str; 12] = [
    "every",
    "filter",
    "find",
    "findIndex",
    "findLast",
    "findLastIndex",
    "flatMap",
    "map",
    "reduce",
    "some",
    "sort",
    "toSorted",
];

/// A warning for each slip. `semantic` must have been built with its nodes.
pub(super) fn warnings(semantic: &Semantic<'_>, text: &str, origin: TextOrigin) -> Vec<String> {
    let tree = ProgramTree::new(semantic);
    let mut found: Vec<(u32, String)> = Vec::new();
    for node in tree.nodes.iter() {
        if found.len() >= WARNINGS_MAX {
            break;
        }
        match node.kind() {
            AstKind::ForInStatement(statement) => found.extend(item_of_place(&tree, statement)),
            AstKind::ExpressionStatement(statement) => found.extend(only_named(&tree, statement)),
            AstKind::CallExpression(call) => {
                found.extend(empty_callback(call).or_else(|| tool_for_each(&tree, call)));
            }
            _ => {}
        }
    }
    if found.is_empty() {
        return Vec::new();
    }
    found.sort_unstable();
    let at = found.iter().map(|(at, _)| *at).collect();
    let places = positions_of_bytes(text, at, origin);
    let described = found.into_iter().map(|(at, words)| {
        let (line, _) = places.get(&at).copied().unwrap_or((1, 1));
        format!("line {line}: {words}")
    });
    described.collect()
}

/// `for (const o in list) f(o.status)`: `o` is a text.
fn item_of_place<'a>(
    tree: &ProgramTree<'_, 'a>,
    statement: &ForInStatement<'a>,
) -> Option<(u32, String)> {
    let ForStatementLeft::VariableDeclaration(left) = &statement.left else {
        return None;
    };
    let [declarator] = left.declarations.as_slice() else {
        return None;
    };
    let name = declarator.id.get_binding_identifier()?;
    let symbol = name.symbol_id();
    if tree.scoping.symbol_is_mutated(symbol)
        || !tree.scoping.symbol_redeclarations(symbol).is_empty()
    {
        return None;
    }
    let mut uses = tree.uses(symbol).take(USES_MAX);
    let (at, member) = uses.find_map(|node| match tree.outer(node) {
        Some((_, AstKind::StaticMemberExpression(member), _))
            if !is_member_of_texts(&member.property.name) =>
        {
            Some((member.property.span.start, member.property.name.as_str()))
        }
        _ => None,
    })?;
    let (name, member) = (
        clean_line(&name.name, NAME_BYTES_MAX),
        clean_line(member, NAME_BYTES_MAX),
    );
    let words = format!(
        "`{name}` is a name or a place as `for … in` gives them, a text without `{member}`: write `for (const {name} of …)`"
    );
    Some((at, words))
}

/// `save;` and `await save;`.
fn only_named<'a>(
    tree: &ProgramTree<'_, 'a>,
    statement: &ExpressionStatement<'a>,
) -> Option<(u32, String)> {
    let named = match statement.expression.get_inner_expression() {
        Expression::AwaitExpression(awaited) => awaited.argument.get_inner_expression(),
        expression => expression,
    };
    let Expression::Identifier(name) = named else {
        return named_tool(tree, statement, named);
    };
    if !is_function(tree, tree.symbol(name)?) || is_last(tree, statement) {
        return None;
    }
    let shown = clean_line(&name.name, NAME_BYTES_MAX);
    let words = format!("`{shown}` is named here and not called: write `{shown}(…)`");
    Some((name.span.start, words))
}

/// `tools.shop.save;` and `await tools.shop.save;`.
fn named_tool<'a>(
    tree: &ProgramTree<'_, 'a>,
    statement: &ExpressionStatement<'a>,
    named: &Expression<'a>,
) -> Option<(u32, String)> {
    if !is_tool(tree, named) || is_last(tree, statement) {
        return None;
    }
    Some((named.span().start, NAMED_TOOL.to_owned()))
}

const NAMED_TOOL: &str =
    "a tool is named here and not called: write `({…})` with its arguments behind it";

/// Whether an expression is `tools.server.tool`.
fn is_tool<'a>(tree: &ProgramTree<'_, 'a>, expression: &Expression<'a>) -> bool {
    let Expression::StaticMemberExpression(tool) = expression else {
        return false;
    };
    let Expression::StaticMemberExpression(server) = tool.object.get_inner_expression() else {
        return false;
    };
    matches!(server.object.get_inner_expression(), Expression::Identifier(name) if name.name == "tools" && tree.symbol(name).is_none())
}

/// `ids.forEach(id => tools.shop.save)`.
fn tool_for_each<'a>(
    tree: &ProgramTree<'_, 'a>,
    call: &CallExpression<'a>,
) -> Option<(u32, String)> {
    let Expression::StaticMemberExpression(member) = call.callee.get_inner_expression() else {
        return None;
    };
    let Some(Argument::ArrowFunctionExpression(callback)) = call.arguments.first() else {
        return None;
    };
    let given = callback.get_expression()?.get_inner_expression();
    let is_named = member.property.name == "forEach" && is_tool(tree, given);
    is_named.then(|| (given.span().start, NAMED_TOOL.to_owned()))
}

/// Whether a name always means one function.
fn is_function(tree: &ProgramTree<'_, '_>, symbol: SymbolId) -> bool {
    if tree.scoping.symbol_is_mutated(symbol)
        || !tree.scoping.symbol_redeclarations(symbol).is_empty()
    {
        return false;
    }
    let declared = tree.scoping.symbol_declaration(symbol);
    matches!(tree.nodes.kind(declared), AstKind::Function(_))
        || matches!(
            tree.value_of(symbol),
            Some(Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_))
        )
}

/// Whether a statement is the last of the program: its value is that of the program, of which the guest warns.
fn is_last<'a>(tree: &ProgramTree<'_, 'a>, statement: &ExpressionStatement<'a>) -> bool {
    let Some((_, AstKind::Program(program), _)) = tree.climb(statement.node_id()).last() else {
        return true;
    };
    matches!(program.body.last(), Some(Statement::ExpressionStatement(last)) if last.span == statement.span)
}

/// `list.map(o => { o.id })` and `list.map(o => { id: o.id })`.
fn empty_callback(call: &CallExpression<'_>) -> Option<(u32, String)> {
    let Expression::StaticMemberExpression(member) = call.callee.get_inner_expression() else {
        return None;
    };
    let method = member.property.name.as_str();
    let Some(Argument::ArrowFunctionExpression(callback)) = call.arguments.first() else {
        return None;
    };
    if !TAKING.contains(&method) || !gives_nothing(callback) {
        return None;
    }
    let words = format!(
        "the callback of `{method}` has a body in braces without `return`, so it gives nothing: leave the braces out, with `(…)` around an object"
    );
    Some((callback.span.start, words))
}

/// Whether the body of a function is one expression in braces that does nothing.
fn gives_nothing(function: &ArrowFunctionExpression<'_>) -> bool {
    let ArrowFunctionBody::FunctionBody(body) = &function.body else {
        return false;
    };
    let [only] = body.statements.as_slice() else {
        return false;
    };
    match only {
        Statement::ExpressionStatement(only) => does_nothing(&only.expression),
        // The braces of an object are taken for those of a body, and its key for a label.
        Statement::LabeledStatement(label) => {
            matches!(&label.body, Statement::ExpressionStatement(only) if does_nothing(&only.expression))
        }
        _ => false,
    }
}

fn does_nothing(expression: &Expression<'_>) -> bool {
    match expression.get_inner_expression() {
        Expression::StaticMemberExpression(member) => does_nothing(&member.object),
        Expression::BinaryExpression(binary) => {
            does_nothing(&binary.left) && does_nothing(&binary.right)
        }
        Expression::Identifier(_)
        | Expression::StringLiteral(_)
        | Expression::NumericLiteral(_)
        | Expression::BooleanLiteral(_)
        | Expression::NullLiteral(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::typescript::prepare;

    fn warned(program: &str) -> Vec<String> {
        let program = format!("const r = await tools.shop.orders({{}});\n{program}");
        prepare(&program).unwrap().warnings
    }

    #[test]
    fn an_item_that_is_looked_for_in_its_place_is_a_warning() {
        let warnings =
            warned("let n = 0; for (const o in r.items) if (o.status === 'x') n++; return n");
        let [warning] = warnings.as_slice() else {
            panic!("{warnings:?}")
        };
        assert!(
            warning.starts_with("line 2: `o` is a name or a place"),
            "{warning}"
        );
        assert!(
            warning.contains("without `status`: write `for (const o of …)`"),
            "{warning}"
        );
        // The controls: names that are used as names, what texts have, and a loop over the items.
        for program in [
            "for (const k in r) console.log(k, r[k].status, k.length, k.toUpperCase())",
            "for (const o of r.items) console.log(o.status)",
            "let o; for (o in r) console.log(o); o = r; console.log(o.status)",
        ] {
            assert_eq!(warned(program), [""; 0], "{program}");
        }
    }

    #[test]
    fn a_function_that_is_named_and_not_called_is_a_warning() {
        for program in [
            "async function close(id) { await tools.desk.close({ id }) } for (const id of [1]) { close; } return 1",
            "const close = async () => { await tools.desk.close({}) }; await close; return 1",
        ] {
            assert_eq!(
                warned(program),
                ["line 2: `close` is named here and not called: write `close(…)`"],
                "{program}"
            );
        }
        // The controls: a call, a function that is passed on, the last expression, and what is no function.
        for program in [
            "const close = () => 1; close(); return [1].map(close)",
            "async function main() { return 1 }\nmain",
            "const n = 1; n; return n",
            "let close = () => 1; close = r; close; return 1",
        ] {
            assert_eq!(warned(program), [""; 0], "{program}");
        }
    }

    #[test]
    fn a_callback_that_gives_nothing_is_a_warning() {
        for program in [
            "return r.items.map(o => { o.id })",
            "return r.items.map(o => { id: o.id })",
            "return r.items.filter(o => { o.state === 'open' })",
        ] {
            let warnings = warned(program).join("\n");
            assert!(
                warnings.contains("has a body in braces without `return`"),
                "{program}: {warnings}"
            );
        }
        // The controls: callbacks that give something, that do something, and that nothing is taken of.
        for program in [
            "return r.items.map(o => o.id)",
            "return r.items.map(o => { return o.id })",
            "return r.items.map(o => ({ id: o.id }))",
            "r.items.map(o => { console.log(o.id) })",
            "r.items.map(o => {})",
            "r.items.forEach(o => { o.id })",
        ] {
            assert_eq!(warned(program), [""; 0], "{program}");
        }
    }
}
