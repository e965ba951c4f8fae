//! Reads that a program makes whenever there is a value of which they are a part: in no branch, and behind nothing that may
//! leave before them.
//!
//! `if (r.kind === "file") return r.path; return r.entries` is right although no result has both names. So a read counts as
//! certain only where no such decision lies between the value and the read.

use std::collections::HashMap;

use oxc::ast::AstKind;
use oxc::ast::ast::{Expression, LogicalOperator};
use oxc::semantic::NodeId;
use oxc::span::{GetSpan, Span};

use super::{ReadFinder, is_true};
use crate::bounds::EXITS_MAX;
use crate::typescript::tree::ProgramTree;

/// Statements that leave a loop or a function.
pub(super) struct Exits {
    /// Where each is and the function it is in, in the order of the text.
    places: Vec<(Span, Option<NodeId>)>,
    /// Whether there are more.
    too_many: bool,
}

impl Exits {
    pub(super) fn of(tree: &ProgramTree<'_, '_>) -> Self {
        // A program that catches nothing ends with what it throws.
        let catches = tree.nodes.iter().any(|node| {
            matches!(node.kind(), AstKind::TryStatement(statement) if statement.handler.is_some())
        });
        let is_exit = |kind: &AstKind<'_>| match kind {
            AstKind::ReturnStatement(_)
            | AstKind::BreakStatement(_)
            | AstKind::ContinueStatement(_) => true,
            AstKind::ThrowStatement(_) => catches,
            _ => false,
        };
        let exits = tree.nodes.iter().filter(|node| is_exit(&node.kind()));
        let mut nodes: Vec<NodeId> = exits.take(EXITS_MAX + 1).map(|node| node.id()).collect();
        let too_many = nodes.len() > EXITS_MAX;
        nodes.truncate(if too_many { 0 } else { EXITS_MAX });
        let mut places: Vec<_> = nodes
            .into_iter()
            .map(|node| (tree.span(node), function_around(tree, node)))
            .collect();
        places.sort_unstable_by_key(|(exit, _)| exit.start);
        Self { places, too_many }
    }

    /// Whether there may be one between two places of a function. One that `to` is a part of is not.
    pub(super) fn any_between(&self, from: u32, to: u32, function: Option<NodeId>) -> bool {
        let first = self.places.partition_point(|(exit, _)| exit.start < from);
        let mut between = self.places[first..]
            .iter()
            .take_while(|(exit, _)| exit.start < to);
        self.too_many || between.any(|(exit, around)| exit.end <= to && *around == function)
    }
}

/// Functions of which a parameter is a part of the value, by where their parameters begin: whether they are called whenever
/// there is such a part.
#[derive(Default)]
pub(super) struct EnteredFunctions(HashMap<u32, bool>);

impl EnteredFunctions {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn enter(&mut self, parameters: Span, certain: bool) {
        let entered = self.0.entry(parameters.start).or_insert(true);
        *entered &= certain;
    }

    fn is_certain(&self, parameters: Span) -> bool {
        self.0.get(&parameters.start).copied().unwrap_or(false)
    }
}

impl ReadFinder<'_, '_, '_> {
    /// Whether the program does at `member` the same where it is absent as where it is true: `r.ok !== false`, `r.ok ?? true`.
    pub(super) fn absent_is_well(&self, member: NodeId) -> bool {
        let is_false = |expression: &Expression<'_>| matches!(expression.get_inner_expression(), Expression::BooleanLiteral(literal) if !literal.value);
        match self.tree.outer(member) {
            Some((_, AstKind::BinaryExpression(binary), _)) => {
                is_false(&binary.left) || is_false(&binary.right)
            }
            Some((_, AstKind::LogicalExpression(logical), _)) => {
                logical.operator == LogicalOperator::Coalesce && is_true(&logical.right)
            }
            _ => false,
        }
    }

    /// Whether the program comes to `at` whenever there is a value of which it is a part.
    pub(super) fn is_certain(&self, at: NodeId) -> bool {
        let tree = self.tree;
        let mut function = None;
        // The result of a call is read where it is made.
        if self
            .call
            .is_some_and(|call| tree.is_inside(call, tree.span(at)))
        {
            return true;
        }
        for (id, kind, below) in tree.climb(at) {
            if self
                .call
                .is_some_and(|call| tree.is_inside(call, tree.span(below)))
            {
                break;
            }
            let is_in = |part: Span| tree.is_inside(below, part);
            let is_branch = match &kind {
                AstKind::IfStatement(statement) => !is_in(statement.test.span()),
                AstKind::ConditionalExpression(either) => !is_in(either.test.span()),
                AstKind::LogicalExpression(either) => !is_in(either.left.span()),
                AstKind::SwitchCase(_) | AstKind::CatchClause(_) => true,
                AstKind::TryStatement(statement) => {
                    statement.handler.is_some() && is_in(statement.block.span)
                }
                AstKind::ForStatement(_) | AstKind::WhileStatement(_) => self.call.is_none(),
                _ => false,
            };
            if is_branch {
                return false;
            }
            let parameters = match &kind {
                AstKind::Function(function) => Some(function.params.span),
                AstKind::ArrowFunctionExpression(function) => Some(function.params.span),
                AstKind::Class(_) => return false,
                _ => None,
            };
            if let Some(parameters) = parameters {
                if !self.entered.is_certain(parameters) {
                    return false;
                }
                function = Some(id);
                break;
            }
        }
        let function = function.or_else(|| function_around(tree, at));
        let whole = function.map_or(Span::new(0, u32::MAX), |function| tree.span(function));
        let call = self.call.filter(|call| tree.is_inside(*call, whole));
        let from = call.map_or(whole.start, |call| tree.span(call).start);
        !self.exits.any_between(from, tree.span(at).start, function)
    }
}

pub(super) fn function_around(tree: &ProgramTree<'_, '_>, node: NodeId) -> Option<NodeId> {
    let mut around = tree.climb(node);
    around
        .find(|(_, kind, _)| {
            matches!(
                kind,
                AstKind::Function(_) | AstKind::ArrowFunctionExpression(_)
            )
        })
        .map(|(id, _, _)| id)
}
