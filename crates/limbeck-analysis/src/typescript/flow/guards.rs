//! Handlers around a call: a program that may catch a refusal may make the refused call on purpose.
//!
//! A refusal goes where any failure of the call goes: out of the expression that awaits it, out of the
//! function around it, to the caller of that function. On the way a `try` with a `catch`, `.catch(…)`, the second
//! function of `.then(…)`, `Promise.allSettled` or `Promise.any` may stop it. Where the way cannot be followed,
//! because a function or a promise is given to others, any of these in the program is enough.

use oxc::ast::AstKind;
use oxc::ast::ast::{BindingIdentifier, CallExpression, Expression, Function, VariableDeclarator};
use oxc::semantic::{NodeId, SymbolId};
use oxc::span::{GetSpan, Span};

use crate::typescript::tree::ProgramTree;

/// Methods that call what they are given, and pass a failure on.
pub(in crate::typescript) const CALLING: [&str; 17] = [
    "map",
    "forEach",
    "filter",
    "flatMap",
    "find",
    "findIndex",
    "findLast",
    "some",
    "every",
    "reduce",
    "reduceRight",
    "sort",
    "toSorted",
    "then",
    "finally",
    "from",
    "all",
];
/// Functions that call what they are given, and pass a failure on.
const CALLING_FUNCTIONS: [&str; 3] = ["setTimeout", "setInterval", "queueMicrotask"];
/// Functions called by functions that are followed.
const FUNCTIONS_MAX: usize = 8;

/// Error handlers of a program.
pub(in crate::typescript) struct FailureHandlers<'t, 's, 'a> {
    tree: &'t ProgramTree<'s, 'a>,
    /// Whether there is anything in the program that stops a failure.
    any: bool,
    /// Whether the program asks which tools there are: a call in a branch may depend on it.
    looks_up: bool,
}

impl<'t, 's, 'a> FailureHandlers<'t, 's, 'a> {
    pub(in crate::typescript) fn new(tree: &'t ProgramTree<'s, 'a>, looks_up: bool) -> Self {
        let any = tree.nodes.iter().any(|node| match node.kind() {
            AstKind::TryStatement(statement) => statement.handler.is_some(),
            AstKind::CallExpression(call) => stops_failures(call),
            _ => false,
        });
        Self {
            tree,
            any,
            looks_up,
        }
    }

    /// Whether a refusal of `call` may be caught.
    pub(in crate::typescript) fn may_catch(&self, call: &CallExpression<'_>) -> bool {
        let node = call.node_id();
        call.optional || self.tree.is_too_deep(node) || self.stops(node, true, FUNCTIONS_MAX)
    }

    /// Whether a failure that leaves `from` may be caught. `pending` is true while it is still in a promise.
    fn stops(&self, from: NodeId, mut pending: bool, functions_left: usize) -> bool {
        for (_, kind, below) in self.tree.climb(from) {
            let below_is_in = |part: Span| self.tree.is_inside(below, part);
            match kind {
                AstKind::TryStatement(statement)
                    if statement.handler.is_some() && below_is_in(statement.block.span) =>
                {
                    return true;
                }
                AstKind::CallExpression(call) => {
                    if stops_failures(call) {
                        return true;
                    }
                    let is_argument = !below_is_in(call.callee.span());
                    if pending && is_argument && !passes_failures_on(&call.callee) {
                        return self.any;
                    }
                }
                AstKind::AwaitExpression(_) => pending = false,
                AstKind::Function(_) | AstKind::ArrowFunctionExpression(_) => {
                    return self.stops_from_function(kind, functions_left);
                }
                AstKind::VariableDeclarator(_)
                | AstKind::AssignmentExpression(_)
                | AstKind::NewExpression(_)
                    if pending =>
                {
                    return self.any;
                }
                AstKind::YieldExpression(_) | AstKind::Class(_) => return self.any,
                AstKind::IfStatement(_)
                | AstKind::ConditionalExpression(_)
                | AstKind::LogicalExpression(_)
                | AstKind::SwitchStatement(_)
                    if self.looks_up =>
                {
                    return true;
                }
                _ => {}
            }
        }
        false
    }

    /// Whether a caller of a function may catch its failure.
    fn stops_from_function(&self, function: AstKind<'a>, functions_left: usize) -> bool {
        let Some(left) = functions_left.checked_sub(1) else {
            return self.any;
        };
        let id = match function {
            AstKind::Function(function) => {
                if let Some(symbol) = declared(function) {
                    return self.stops_from_name(symbol, left);
                }
                function.node_id()
            }
            AstKind::ArrowFunctionExpression(function) => function.node_id(),
            _ => return self.any,
        };
        let Some((outer, kind, below)) = self.tree.outer(id) else {
            return self.any;
        };
        match kind {
            AstKind::CallExpression(call) => {
                if stops_failures(call) {
                    return true;
                }
                let is_callee = self.tree.is_inside(below, call.callee.span());
                if is_callee || calls_back(&call.callee) {
                    self.stops(outer, true, left)
                } else {
                    self.any
                }
            }
            AstKind::VariableDeclarator(declarator) => match named(declarator) {
                Some(symbol) if !self.tree.scoping.symbol_is_mutated(symbol) => {
                    self.stops_from_name(symbol, left)
                }
                _ => self.any,
            },
            // The program itself is this function.
            AstKind::ExportDefaultDeclaration(_) => false,
            AstKind::ReturnStatement(_) | AstKind::ExpressionStatement(_) => {
                let functions = self.tree.climb(outer).any(|(_, kind, _)| {
                    matches!(
                        kind,
                        AstKind::Function(_) | AstKind::ArrowFunctionExpression(_)
                    )
                });
                functions && self.any
            }
            _ => self.any,
        }
    }

    /// Whether a caller of a named function may catch its failure: every mention of the name may be a call.
    fn stops_from_name(&self, symbol: SymbolId, functions_left: usize) -> bool {
        self.any
            && self
                .tree
                .uses(symbol)
                .any(|node| match self.tree.outer(node) {
                    Some((outer, AstKind::CallExpression(call), below))
                        if self.tree.is_inside(below, call.callee.span()) =>
                    {
                        self.stops(outer, true, functions_left)
                    }
                    Some((_, AstKind::ExportDefaultDeclaration(_), _)) => false,
                    _ => self.any,
                })
    }
}

/// The name of a function that is a statement.
pub(in crate::typescript) fn declared(function: &Function<'_>) -> Option<SymbolId> {
    let name = function.id.as_ref()?;
    function.is_declaration().then(|| name.symbol_id())
}

/// The one name a declaration gives.
pub(in crate::typescript) fn named(declarator: &VariableDeclarator<'_>) -> Option<SymbolId> {
    declarator
        .id
        .get_binding_identifier()
        .map(BindingIdentifier::symbol_id)
}

/// The name of a called method.
pub(in crate::typescript) fn method<'e>(callee: &'e Expression<'_>) -> Option<&'e str> {
    match callee.get_inner_expression() {
        Expression::StaticMemberExpression(member) => Some(member.property.name.as_str()),
        _ => None,
    }
}

fn stops_failures(call: &CallExpression<'_>) -> bool {
    match method(&call.callee) {
        Some("catch" | "allSettled" | "any") => true,
        Some("then") => call.arguments.len() > 1,
        _ => match call.callee.get_inner_expression() {
            Expression::ComputedMemberExpression(member) => {
                // `promise["catch"](…)`.
                matches!(&member.expression, Expression::StringLiteral(name) if name.value == "catch" || name.value == "then")
            }
            _ => false,
        },
    }
}

/// Whether a function fails when a promise among its arguments does.
fn passes_failures_on(callee: &Expression<'_>) -> bool {
    matches!(
        method(callee),
        Some("all" | "race" | "resolve" | "then" | "finally")
    )
}

/// Whether a function calls what it is given and passes its failure on.
pub(in crate::typescript) fn calls_back(callee: &Expression<'_>) -> bool {
    match callee.get_inner_expression() {
        Expression::Identifier(name) => CALLING_FUNCTIONS.contains(&name.name.as_str()),
        callee => method(callee).is_some_and(|name| CALLING.contains(&name)),
    }
}
