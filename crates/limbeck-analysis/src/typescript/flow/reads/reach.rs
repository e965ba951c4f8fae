//! Whether a program that completes has made a call: no condition, no earlier exit and no caught failure decides about it, neither
//! where it is nor where the functions are mentioned that it is in.

use limbeck_domain::{Reach, Repeat};
use oxc::ast::AstKind;
use oxc::ast::ast::{CallExpression, Expression};
use oxc::semantic::{NodeId, SymbolId};
use oxc::span::{GetSpan, Span};

use super::ReadFinder;
use super::certain::function_around;
use crate::typescript::flow::guards::{declared, method, named};
use crate::typescript::tree::ProgramTree;

/// Nodes that are visited for all calls of a program.
const STEPS_MAX: u32 = 20_000;
/// Functions called by functions that are followed.
const FUNCTIONS_MAX: usize = 8;
/// Mentions of a function that are followed.
const MENTIONS_MAX: usize = 16;
/// Globals that give a program what its text does not have.
const FROM_OUTSIDE: [&str; 6] = [
    "input",
    "artifacts",
    "store",
    "search",
    "describe",
    "process",
];
/// Names of what gives calls up that take too long.
const GIVING_UP: [&str; 5] = ["race", "any", "timeout", "abort", "signal"];

/// What of a program may keep a call from being made.
pub(super) struct Conditions {
    steps_left: u32,
    /// Whether there is any branch.
    any: bool,
    /// Whether it has values from outside, so that a list may be empty.
    from_outside: bool,
    /// Whether it may give up what takes too long.
    gives_up: bool,
}

impl Conditions {
    pub(super) fn of(tree: &ProgramTree<'_, '_>) -> Self {
        let is_branch = |kind: &AstKind<'_>| {
            matches!(
                kind,
                AstKind::IfStatement(_)
                    | AstKind::ConditionalExpression(_)
                    | AstKind::LogicalExpression(_)
                    | AstKind::SwitchStatement(_)
            )
        };
        let gives_up = |kind: &AstKind<'_>| match kind {
            AstKind::StaticMemberExpression(member) => {
                GIVING_UP.contains(&member.property.name.as_str())
            }
            _ => false,
        };
        let mut unresolved = tree.scoping.root_unresolved_references().keys();
        Self {
            steps_left: STEPS_MAX,
            any: tree.nodes.iter().any(|node| is_branch(&node.kind())),
            from_outside: unresolved.any(|name| FROM_OUTSIDE.contains(&name.as_str())),
            gives_up: tree.nodes.iter().any(|node| gives_up(&node.kind())),
        }
    }

    /// What is known of a function that the program keeps in an object or gives away.
    fn of_kept_function(&self) -> Reach {
        match self.any {
            true => Reach::Open,
            false => Reach::Unconditional,
        }
    }
}

impl ReadFinder<'_, '_, '_> {
    /// Whether a program that completes has made a call that is made as often as `repeat` says.
    pub(in crate::typescript::flow) fn reach(&mut self, call: NodeId, repeat: Repeat) -> Reach {
        if self.tree.is_too_deep(call) {
            return Reach::Open;
        }
        let most = match repeat {
            Repeat::AtMost(0) => Reach::Open,
            Repeat::Once | Repeat::AtMost(_) if !self.conditions.gives_up => Reach::Always,
            _ => Reach::Unconditional,
        };
        most.min(self.reach_of(call, FUNCTIONS_MAX))
    }

    fn reach_of(&mut self, from: NodeId, functions_left: usize) -> Reach {
        let tree = self.tree;
        let mut reach = Reach::Always;
        // The place in the function that is being left.
        let mut at = from;
        for (id, kind, below) in tree.climb(from) {
            let Some(left) = self.conditions.steps_left.checked_sub(1) else {
                return Reach::Open;
            };
            self.conditions.steps_left = left;
            let is_in = |part: Span| tree.is_inside(below, part);
            let is_decided = match &kind {
                AstKind::IfStatement(statement) => !is_in(statement.test.span()),
                AstKind::ConditionalExpression(either) => !is_in(either.test.span()),
                AstKind::LogicalExpression(either) => !is_in(either.left.span()),
                AstKind::SwitchCase(_) | AstKind::CatchClause(_) => true,
                AstKind::TryStatement(statement) => {
                    statement.handler.is_some()
                        && is_in(statement.block.span)
                        && self.may_fail_between(statement.block.span.start, at)
                }
                AstKind::ForOfStatement(statement) => {
                    is_in(statement.body.span()) && self.conditions.from_outside
                }
                AstKind::ForInStatement(statement) => {
                    is_in(statement.body.span()) && self.conditions.from_outside
                }
                AstKind::ForStatement(_) | AstKind::WhileStatement(_) => {
                    self.conditions.from_outside
                }
                AstKind::CallExpression(call) => {
                    call.optional
                        || !is_in(call.callee.span()) && is_for_failures(call, below, tree)
                }
                _ => false,
            };
            if is_decided {
                return Reach::Open;
            }
            match &kind {
                AstKind::Function(_) | AstKind::ArrowFunctionExpression(_) => {
                    if self.exits_before(id, at) {
                        return Reach::Open;
                    }
                    at = id;
                    let symbol = match &kind {
                        AstKind::Function(function) => declared(function),
                        _ => None,
                    };
                    let symbol = symbol.or_else(|| name_of(tree, id));
                    if let Some(symbol) = symbol {
                        return reach.min(self.reach_of_name(symbol, id, functions_left));
                    }
                    reach = reach.min(self.reach_of_nameless(id));
                }
                AstKind::Class(_) => reach = reach.min(self.conditions.of_kept_function()),
                _ => {}
            }
            if reach == Reach::Open {
                return Reach::Open;
            }
        }
        match self.exits_between(0, at, None) {
            true => Reach::Open,
            false => reach,
        }
    }

    /// What a function without a name is for: called here, given to what calls it, or kept.
    fn reach_of_nameless(&self, function: NodeId) -> Reach {
        let tree = self.tree;
        let kept = self.conditions.of_kept_function();
        match tree.outer(function) {
            Some((_, AstKind::CallExpression(call), below)) => {
                if tree.is_inside(below, call.callee.span()) {
                    return Reach::Always;
                }
                let called = match call.callee.get_inner_expression() {
                    Expression::Identifier(name) => name.name.as_str(),
                    callee => method(callee).unwrap_or_default(),
                };
                match called {
                    "then" | "finally" | "setTimeout" | "setImmediate" | "queueMicrotask" => {
                        Reach::Always
                    }
                    "forEach" | "map" | "flatMap" | "from" if self.conditions.from_outside => {
                        Reach::Open
                    }
                    "forEach" | "map" | "flatMap" | "from" => Reach::Always,
                    _ => kept,
                }
            }
            Some((_, AstKind::NewExpression(_), _)) => Reach::Always,
            // The program itself is this function.
            Some((_, AstKind::ExportDefaultDeclaration(_), _)) => Reach::Always,
            _ => kept,
        }
    }

    /// Whether it is reached wherever a function is mentioned. One that nothing mentions is the program's entry, or never called.
    fn reach_of_name(
        &mut self,
        symbol: SymbolId,
        function: NodeId,
        functions_left: usize,
    ) -> Reach {
        let tree = self.tree;
        let Some(left) = functions_left.checked_sub(1) else {
            return Reach::Open;
        };
        if tree.scoping.symbol_is_mutated(symbol)
            || !tree.scoping.symbol_redeclarations(symbol).is_empty()
        {
            return Reach::Open;
        }
        let own = tree.span(function);
        let mentions = tree.uses(symbol).filter(|node| !tree.is_inside(*node, own));
        let mentions: Vec<NodeId> = mentions.take(MENTIONS_MAX + 1).collect();
        if mentions.len() > MENTIONS_MAX {
            return Reach::Open;
        }
        let mut reach = Reach::Always;
        for node in mentions {
            let kept = match tree.outer(node) {
                Some((_, AstKind::CallExpression(call), below))
                    if tree.is_inside(below, call.callee.span()) =>
                {
                    Reach::Always
                }
                Some((_, AstKind::ExpressionStatement(_) | AstKind::AwaitExpression(_), _)) => {
                    Reach::Always
                }
                Some((_, AstKind::CallExpression(call), _))
                    if matches!(
                        method(&call.callee),
                        Some("then" | "forEach" | "map" | "flatMap")
                    ) || matches!(&call.callee, Expression::Identifier(name) if name.name == "setTimeout") =>
                {
                    Reach::Always
                }
                _ => self.conditions.of_kept_function(),
            };
            reach = reach.min(kept).min(self.reach_of(node, left));
            if reach == Reach::Open {
                break;
            }
        }
        reach
    }

    /// Whether what is before a place in a block that catches may fail: a call of a tool, or a value from outside.
    fn may_fail_between(&self, from: u32, to: NodeId) -> bool {
        let to = self.tree.span(to).start;
        self.conditions.from_outside || self.has_call_between(from, to)
    }

    fn exits_before(&self, function: NodeId, at: NodeId) -> bool {
        self.exits_between(self.tree.span(function).start, at, Some(function))
    }

    fn exits_between(&self, from: u32, at: NodeId, function: Option<NodeId>) -> bool {
        let to = self.tree.span(at).start;
        debug_assert!(function.is_some() || function_around(self.tree, at).is_none());
        self.exits.any_between(from, to, function)
    }
}

/// Whether a function is called for a failure: it is given to `catch`, or second to `then`.
fn is_for_failures(call: &CallExpression<'_>, below: NodeId, tree: &ProgramTree<'_, '_>) -> bool {
    match method(&call.callee) {
        Some("catch") => true,
        Some("then") => {
            let second = call.arguments.get(1);
            second.is_some_and(|second| tree.is_inside(below, second.span()))
        }
        _ => false,
    }
}

/// The name of which a function is the value.
fn name_of(tree: &ProgramTree<'_, '_>, function: NodeId) -> Option<SymbolId> {
    match tree.outer(function) {
        Some((_, AstKind::VariableDeclarator(declarator), _)) => named(declarator),
        _ => None,
    }
}
