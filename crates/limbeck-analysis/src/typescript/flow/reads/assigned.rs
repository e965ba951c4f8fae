//! Names that are given several values, each of them of the result of a tool, or nothing: `let r; r = await tools.a.b()`.

use oxc::ast::AstKind;
use oxc::ast::ast::{
    Argument, AssignmentTarget, BindingPattern, Expression, ForStatementLeft, VariableDeclarator,
};
use oxc::semantic::{NodeId, SymbolId};
use oxc::span::GetSpan;
use oxc::syntax::operator::AssignmentOperator;

use super::ReadFinder;
use crate::bounds::{ASSIGNED_VALUES_MAX, WHOLE_BRANCHES_MAX};
use crate::result_part::ResultPart;
use crate::result_read::WholeInstead;
use crate::typescript::flow::guards::method;

/// A value that a name is given.
enum Given {
    /// No value, or one without members.
    Nothing,
    /// A part of what this call gives.
    OfCall(NodeId),
}

impl<'a> ReadFinder<'_, '_, 'a> {
    /// Follows a name that gets a part of the result by an assignment, or at its declaration and has other values later.
    /// Where these are of several tools, a read may be of any of them.
    pub(super) fn follow_assigned(&mut self, symbol: SymbolId, part: &ResultPart) {
        let Some(calls) = self.calls_given(symbol) else {
            return;
        };
        let mut tools = calls.iter().filter_map(|call| self.tools.get(call));
        let first = tools.next();
        let part = match tools.all(|tool| Some(tool) == first) {
            true => part.clone(),
            false => part.clone().of_several(),
        };
        let uses: Vec<NodeId> = self.tree.uses(symbol).collect();
        for node in uses {
            self.follow(node, part.clone());
        }
    }

    /// Notes that a name is given the whole result in place of its first value, as in
    /// `let d = r.structuredContent; if (!d) d = r`.
    pub(super) fn whole_assigned(&mut self, symbol: SymbolId) {
        if self.whole_instead.len() < WHOLE_BRANCHES_MAX
            && let AstKind::VariableDeclarator(declared) = self
                .tree
                .nodes
                .kind(self.tree.scoping.symbol_declaration(symbol))
            && let Some(first) = &declared.init
        {
            let span = first.span();
            self.whole_instead.push(WholeInstead {
                condition: (span.start, span.end),
                branch: (0, 0),
            });
        }
    }

    /// The calls of tools that a name has its values from. `None` where it has any other value.
    fn calls_given(&self, symbol: SymbolId) -> Option<Vec<NodeId>> {
        let tree = self.tree;
        if !tree.scoping.symbol_redeclarations(symbol).is_empty() {
            return None;
        }
        let AstKind::VariableDeclarator(declared) =
            tree.nodes.kind(tree.scoping.symbol_declaration(symbol))
        else {
            return None;
        };
        if !matches!(declared.id, BindingPattern::BindingIdentifier(_)) || self.is_of_loop(declared)
        {
            return None;
        }
        let mut given: Vec<Given> = Vec::new();
        if let Some(value) = &declared.init {
            given.push(self.given(value)?);
        }
        let references = tree.scoping.get_resolved_references(symbol);
        for reference in references.filter(|reference| reference.is_write()) {
            let (_, AstKind::AssignmentExpression(assignment), _) =
                tree.outer(reference.node_id())?
            else {
                return None;
            };
            let is_name = matches!(
                assignment.left,
                AssignmentTarget::AssignmentTargetIdentifier(_)
            );
            if !is_name
                || assignment.operator != AssignmentOperator::Assign
                || given.len() >= ASSIGNED_VALUES_MAX
            {
                return None;
            }
            given.push(self.given(&assignment.right)?);
        }
        let calls = given.into_iter().filter_map(|given| match given {
            Given::OfCall(call) => Some(call),
            Given::Nothing => None,
        });
        Some(calls.collect())
    }

    /// Whether a loop gives a name its values.
    fn is_of_loop(&self, declared: &VariableDeclarator<'a>) -> bool {
        let mut around = self.tree.climb(declared.node_id()).skip(1);
        around.next().is_some_and(|(_, kind, _)| {
            let left = match &kind {
                AstKind::ForOfStatement(statement) => &statement.left,
                AstKind::ForInStatement(statement) => &statement.left,
                _ => return false,
            };
            matches!(left, ForStatementLeft::VariableDeclaration(_))
                && self.tree.is_inside(declared.node_id(), left.span())
        })
    }

    fn given(&self, value: &Expression<'a>) -> Option<Given> {
        let mut value = value.get_inner_expression();
        loop {
            value = match value {
                Expression::NullLiteral(_) => return Some(Given::Nothing),
                Expression::Identifier(name)
                    if name.name == "undefined" && self.tree.symbol(name).is_none() =>
                {
                    return Some(Given::Nothing);
                }
                Expression::ObjectExpression(object) if object.properties.is_empty() => {
                    return Some(Given::Nothing);
                }
                Expression::ArrayExpression(list) if list.elements.is_empty() => {
                    return Some(Given::Nothing);
                }
                Expression::AwaitExpression(awaited) => &awaited.argument,
                Expression::StaticMemberExpression(member) => &member.object,
                Expression::ComputedMemberExpression(member) => &member.object,
                Expression::CallExpression(call) if self.tools.contains_key(&call.node_id()) => {
                    return Some(Given::OfCall(call.node_id()));
                }
                Expression::CallExpression(call) if method(&call.callee) == Some("parse") => {
                    call.arguments.first().and_then(Argument::as_expression)?
                }
                _ => return None,
            }
            .get_inner_expression();
        }
    }
}
