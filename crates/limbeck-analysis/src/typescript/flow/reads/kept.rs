//! Reads whose value is kept for a decision elsewhere: `cursor = r.next` of a loop `while (cursor)` is right where it is absent.

use oxc::ast::AstKind;
use oxc::ast::ast::{AssignmentTarget, CallExpression};
use oxc::semantic::{NodeId, SymbolId};
use oxc::span::GetSpan;

use super::ReadFinder;
use crate::bounds::ALTERNATIVE_STEPS_MAX;
use crate::typescript::flow::guards::{declared, method, named};

/// Functions that a program is run by: what they return is its value.
const ENTRIES: [&str; 2] = ["main", "run"];
/// Methods that decide by what their callback gives.
const DECIDING: [&str; 7] = [
    "every",
    "filter",
    "find",
    "findIndex",
    "findLast",
    "findLastIndex",
    "some",
];

impl ReadFinder<'_, '_, '_> {
    /// Whether what is read at `member` may decide something elsewhere: under another name, or as what a function returns.
    pub(super) fn is_kept(&self, member: NodeId) -> bool {
        let mut at = member;
        for _ in 0..ALTERNATIVE_STEPS_MAX {
            let Some((outer, kind, below)) = self.tree.outer(at) else {
                return false;
            };
            match kind {
                AstKind::ObjectProperty(_)
                | AstKind::ObjectExpression(_)
                | AstKind::ArrayExpression(_) => at = outer,
                AstKind::AssignmentExpression(assignment) => {
                    return self.tree.is_inside(below, assignment.right.span())
                        && self.target_decides(&assignment.left);
                }
                AstKind::VariableDeclarator(declarator) => {
                    return named(declarator).is_some_and(|symbol| {
                        self.tree.scoping.symbol_is_mutated(symbol) && self.decides(symbol)
                    });
                }
                AstKind::ReturnStatement(_) => {
                    let mut around = self.tree.climb(outer);
                    let function = around.find(|(_, kind, _)| {
                        matches!(
                            kind,
                            AstKind::Function(_) | AstKind::ArrowFunctionExpression(_)
                        )
                    });
                    return function.is_some_and(|(function, kind, _)| {
                        self.is_asked_by_others(function, &kind, at == member)
                    });
                }
                AstKind::ArrowFunctionExpression(_) => {
                    return self.is_asked_by_others(outer, &kind, at == member);
                }
                _ => return false,
            }
        }
        false
    }

    fn target_decides(&self, target: &AssignmentTarget<'_>) -> bool {
        match target {
            AssignmentTarget::AssignmentTargetIdentifier(name) => self
                .tree
                .symbol(name)
                .is_none_or(|symbol| self.decides(symbol)),
            // A member of an object of the program: who reads it is not followed.
            _ => true,
        }
    }

    /// Whether the program asks anywhere whether a name has a value.
    fn decides(&self, symbol: SymbolId) -> bool {
        let mut uses = self.tree.uses(symbol);
        uses.any(|node| {
            let is_end_of_loop = matches!(
                self.tree.outer(node),
                Some((_, AstKind::ForStatement(_), _))
            );
            is_end_of_loop || self.provides_for_absence(node)
        })
    }

    /// Whether what a function gives may be asked for elsewhere: by code that calls it under a name or gets it, or, for a value
    /// `itself`, by a method that decides by what its callback gives.
    fn is_asked_by_others(&self, function: NodeId, kind: &AstKind<'_>, itself: bool) -> bool {
        if let AstKind::Function(declaration) = kind
            && let Some(symbol) = declared(declaration)
        {
            return !ENTRIES.contains(&self.tree.scoping.symbol_name(symbol));
        }
        match self.tree.outer(function) {
            Some((_, AstKind::CallExpression(call), _)) => itself && is_deciding(call),
            Some((_, AstKind::VariableDeclarator(declarator), _)) => named(declarator)
                .is_none_or(|symbol| !ENTRIES.contains(&self.tree.scoping.symbol_name(symbol))),
            Some((
                _,
                AstKind::ExportDefaultDeclaration(_) | AstKind::ExpressionStatement(_),
                _,
            )) => false,
            _ => true,
        }
    }
}

fn is_deciding(call: &CallExpression<'_>) -> bool {
    method(&call.callee).is_some_and(|name| DECIDING.contains(&name))
}
