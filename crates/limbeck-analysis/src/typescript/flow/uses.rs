//! Dependencies between calls: results that are used in the arguments of other calls.
//!
//! A result goes with every name whose value is computed from it: through calls of the language's own functions,
//! loops and functions of the program. It does not go through conditions, and not through the result of another
//! tool.

use std::collections::{BTreeSet, HashMap, HashSet};

use oxc::ast::AstKind;
use oxc::ast::ast::{
    Argument, AssignmentTarget, BindingPattern, CallExpression, Expression, ForStatementLeft,
    FormalParameters, VariableDeclaration,
};
use oxc::semantic::{NodeId, SymbolId};
use oxc::span::GetSpan;

use super::guards::{declared, method, named};
use crate::typescript::names::NamedCall;
use crate::typescript::tree::ProgramTree;

/// Methods that put their arguments into what they are called on.
const ADDING: [&str; 5] = ["push", "unshift", "add", "set", "splice"];
/// Pairs of a name and a call whose result is in it.
const PAIRS_MAX: usize = 10_000;

/// For each call the calls whose results go into its arguments.
pub(super) fn uses(tree: &ProgramTree<'_, '_>, calls: &[NamedCall<'_>]) -> Vec<Vec<u32>> {
    let mut flows = Flows {
        tree,
        calls: calls
            .iter()
            .enumerate()
            .map(|(index, call)| (call.node.node_id(), index))
            .collect(),
        uses: vec![BTreeSet::new(); calls.len()],
        pairs: HashSet::new(),
        waiting: Vec::new(),
    };
    for (index, call) in calls.iter().enumerate() {
        flows.carry(call.node.node_id(), index);
        while let Some((symbol, source)) = flows.waiting.pop() {
            let uses: Vec<NodeId> = tree.uses(symbol).collect();
            for node in uses {
                flows.carry(node, source);
            }
        }
    }
    let uses = flows.uses.into_iter();
    uses.map(|of| {
        of.into_iter()
            .filter_map(|index| u32::try_from(index).ok())
            .collect()
    })
    .collect()
}

struct Flows<'t, 's, 'a> {
    tree: &'t ProgramTree<'s, 'a>,
    calls: HashMap<NodeId, usize>,
    uses: Vec<BTreeSet<usize>>,
    pairs: HashSet<(SymbolId, usize)>,
    waiting: Vec<(SymbolId, usize)>,
}

impl<'a> Flows<'_, '_, 'a> {
    /// Follows the result of `source` from a mention to the names and calls that receive it.
    fn carry(&mut self, from: NodeId, source: usize) {
        let tree = self.tree;
        let mut returned = false;
        for (id, kind, below) in tree.climb(from) {
            let is_function = matches!(
                kind,
                AstKind::Function(_) | AstKind::ArrowFunctionExpression(_)
            );
            if returned && !is_function {
                continue;
            }
            returned = false;
            let is_in = |part: oxc::span::Span| tree.is_inside(below, part);
            match kind {
                AstKind::CallExpression(call) => {
                    let is_argument = !is_in(call.callee.span());
                    match self.calls.get(&id) {
                        Some(&user) if is_argument => {
                            self.uses[user].insert(source);
                            return;
                        }
                        _ => self.through_call(call, is_argument, source),
                    }
                }
                AstKind::VariableDeclarator(declarator) => {
                    return self.give_pattern(&declarator.id, source);
                }
                AstKind::AssignmentExpression(assignment) if is_in(assignment.right.span()) => {
                    self.give_target(&assignment.left, source);
                }
                AstKind::ForOfStatement(statement) => {
                    if is_in(statement.right.span())
                        && let ForStatementLeft::VariableDeclaration(left) = &statement.left
                    {
                        self.give_declaration(left, source);
                    }
                    return;
                }
                AstKind::Function(function) => {
                    // What it returns is what a call of it gives.
                    match declared(function) {
                        Some(symbol) => return self.give(symbol, source),
                        None => {
                            if self.give_function_name(function.node_id(), source) {
                                return;
                            }
                        }
                    }
                }
                AstKind::ArrowFunctionExpression(function)
                    if self.give_function_name(function.node_id(), source) =>
                {
                    return;
                }
                AstKind::ConditionalExpression(conditional) if is_in(conditional.test.span()) => {
                    return;
                }
                AstKind::ReturnStatement(_) => returned = true,
                kind if kind.is_statement() => return,
                _ => {}
            }
        }
    }

    fn through_call(&mut self, call: &CallExpression<'a>, is_argument: bool, source: usize) {
        if is_argument {
            if method(&call.callee).is_some_and(|name| ADDING.contains(&name))
                && let Expression::StaticMemberExpression(member) =
                    call.callee.get_inner_expression()
            {
                self.give_root(&member.object, source);
            }
            // A function of the program has it under the name of a parameter.
            if let Expression::Identifier(name) = call.callee.get_inner_expression()
                && let Some(symbol) = self.tree.symbol(name)
                && let Some(parameters) = self.tree.parameters(symbol)
            {
                self.give_parameters(parameters, source);
            }
            return;
        }
        for argument in &call.arguments {
            match argument {
                Argument::ArrowFunctionExpression(function) => {
                    self.give_parameters(&function.params, source);
                }
                Argument::FunctionExpression(function) => {
                    self.give_parameters(&function.params, source);
                }
                _ => {}
            }
        }
    }

    /// Gives the name of a function that is the value of one; whether it is.
    fn give_function_name(&mut self, function: NodeId, source: usize) -> bool {
        match self.tree.outer(function) {
            Some((_, AstKind::VariableDeclarator(declarator), _)) => {
                if let Some(symbol) = named(declarator) {
                    self.give(symbol, source);
                }
                true
            }
            _ => false,
        }
    }

    fn give_parameters(&mut self, parameters: &FormalParameters<'a>, source: usize) {
        for parameter in &parameters.items {
            self.give_pattern(&parameter.pattern, source);
        }
    }

    fn give_declaration(&mut self, declaration: &VariableDeclaration<'a>, source: usize) {
        for declarator in &declaration.declarations {
            self.give_pattern(&declarator.id, source);
        }
    }

    fn give_pattern(&mut self, pattern: &BindingPattern<'a>, source: usize) {
        for name in pattern.get_binding_identifiers() {
            self.give(name.symbol_id(), source);
        }
    }

    fn give_target(&mut self, target: &AssignmentTarget<'a>, source: usize) {
        match target {
            AssignmentTarget::AssignmentTargetIdentifier(name) => {
                if let Some(symbol) = self.tree.symbol(name) {
                    self.give(symbol, source);
                }
            }
            AssignmentTarget::StaticMemberExpression(member) => {
                self.give_root(&member.object, source);
            }
            AssignmentTarget::ComputedMemberExpression(member) => {
                self.give_root(&member.object, source);
            }
            _ => {}
        }
    }

    /// Gives the name an expression of members begins with.
    fn give_root(&mut self, expression: &Expression<'a>, source: usize) {
        let mut at = expression.get_inner_expression();
        loop {
            at = match at {
                Expression::StaticMemberExpression(member) => &member.object,
                Expression::ComputedMemberExpression(member) => &member.object,
                Expression::Identifier(name) => {
                    if let Some(symbol) = self.tree.symbol(name) {
                        self.give(symbol, source);
                    }
                    return;
                }
                _ => return,
            };
        }
    }

    fn give(&mut self, symbol: SymbolId, source: usize) {
        if self.pairs.len() < PAIRS_MAX && self.pairs.insert((symbol, source)) {
            self.waiting.push((symbol, source));
        }
    }
}
