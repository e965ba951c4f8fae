//! Calls in functions that a program never mentions, or only names without calling them: they are never made.

use oxc::ast::AstKind;
use oxc::semantic::{NodeId, SymbolId};

use super::guards::{declared, named};
use crate::typescript::tree::ProgramTree;

/// Functions that a program is run by.
const ENTRIES: [&str; 3] = ["default", "main", "run"];

/// Whether a call is in a function with a name that the program neither calls, passes on nor exports.
pub(super) fn is_idle(tree: &ProgramTree<'_, '_>, call: NodeId) -> bool {
    let mut idle = false;
    for (id, kind, _) in tree.climb(call) {
        let symbol = match kind {
            AstKind::Function(function) => declared(function).or_else(|| name_of(tree, id)),
            AstKind::ArrowFunctionExpression(_) => name_of(tree, id),
            AstKind::ExportDeclaration(_)
            | AstKind::ExportDefaultDeclaration(_)
            | AstKind::ExportNamedDeclaration(_) => {
                return false;
            }
            _ => None,
        };
        idle |= symbol.is_some_and(|symbol| is_never_called(tree, symbol));
    }
    idle
}

/// The name of which a function is the value.
fn name_of(tree: &ProgramTree<'_, '_>, function: NodeId) -> Option<SymbolId> {
    match tree.outer(function) {
        Some((_, AstKind::VariableDeclarator(declarator), _)) => named(declarator),
        _ => None,
    }
}

fn is_never_called(tree: &ProgramTree<'_, '_>, symbol: SymbolId) -> bool {
    let references = tree.scoping.get_resolved_references(symbol);
    let mut mentions = references.map(|reference| reference.node_id());
    !ENTRIES.contains(&tree.scoping.symbol_name(symbol))
        && mentions.all(|node| is_only_named(tree, node))
}

/// Whether a name is a statement of its own, as `save;`, so that nothing is done with what it means.
fn is_only_named(tree: &ProgramTree<'_, '_>, name: NodeId) -> bool {
    match tree.outer(name) {
        Some((_, AstKind::ExpressionStatement(_), _)) => true,
        Some((awaited, AstKind::AwaitExpression(_), _)) => matches!(
            tree.outer(awaited),
            Some((_, AstKind::ExpressionStatement(_), _))
        ),
        _ => false,
    }
}
