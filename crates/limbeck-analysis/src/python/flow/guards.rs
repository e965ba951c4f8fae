//! Handlers around a call: a program that may catch a refusal may make the refused call on purpose.

use ruff_python_ast::{
    AnyNodeRef, ExceptHandler, Expr, ExprCall, StmtFunctionDef, StmtTry, StmtWith,
};

use super::CallFlow;
use crate::python::facts::ProgramFacts;
use crate::python::names::last_name;
use crate::python::tree::{NodeId, id, is_one_of};

/// What a handler has to catch to catch the refusal of a call.
const CATCHING: [&str; 7] = [
    "ToolError",
    "MCPError",
    "RuntimeError",
    "Exception",
    "BaseException",
    "ExceptionGroup",
    "BaseExceptionGroup",
];

/// Whether there is anything that may catch one.
pub(super) fn any(facts: &ProgramFacts<'_>) -> bool {
    facts.tries.iter().any(|node| catches(node))
        || facts.withs.iter().any(|node| suppresses(node))
        || facts.gathers.iter().any(|call| gathers_failures(call))
}

impl CallFlow<'_, '_> {
    /// Whether the program may catch what comes out of a call.
    pub(in crate::python) fn is_guarded(&mut self, node: NodeId) -> bool {
        if !self.any_guard {
            return false;
        }
        let tree = self.tree;
        for (parent, below) in tree.climb(node) {
            match parent {
                AnyNodeRef::StmtTry(node) if is_one_of(&node.body, below) && catches(node) => {
                    return true;
                }
                AnyNodeRef::StmtWith(node)
                    if !node.is_async && is_one_of(&node.body, below) && suppresses(node) =>
                {
                    return true;
                }
                AnyNodeRef::ExprCall(call)
                    if gathers_failures(call) || tree.node(below).is_expr_lambda() =>
                {
                    return true;
                }
                AnyNodeRef::ExprLambda(_) | AnyNodeRef::StmtClassDef(_) => return true,
                AnyNodeRef::StmtFunctionDef(function) => return self.is_function_guarded(function),
                // It may be kept to be awaited elsewhere.
                AnyNodeRef::StmtAssign(_)
                | AnyNodeRef::StmtAnnAssign(_)
                | AnyNodeRef::ExprNamed(_)
                    if self.facts.is_async && !tree.node(below).is_expr_await() =>
                {
                    return true;
                }
                _ => {}
            }
        }
        false
    }

    /// Whether a call of the function may be, or it may be called from anywhere. One that calls itself may.
    fn is_function_guarded(&mut self, function: &StmtFunctionDef) -> bool {
        if let Some(known) = self.guarded.get(&id(function)) {
            return known.unwrap_or(true);
        }
        self.guarded.insert(id(function), None);
        let guarded = self
            .calls_of(function)
            .any(|call| call.is_none_or(|call| self.is_guarded(id(call))));
        self.guarded.insert(id(function), Some(guarded));
        guarded
    }
}

fn catches(node: &StmtTry) -> bool {
    node.handlers
        .iter()
        .any(
            |ExceptHandler::ExceptHandler(handler)| match handler.type_.as_deref() {
                None => true,
                Some(Expr::Tuple(kinds)) => kinds.iter().any(is_catching),
                Some(kind) => is_catching(kind),
            },
        )
}

fn suppresses(node: &StmtWith) -> bool {
    let entered = node.items.iter().map(|item| &item.context_expr);
    let calls = entered.filter_map(|entered| entered.as_call_expr());
    calls
        .filter(|call| last_name(&call.func) == Some("suppress"))
        .any(|call| call.arguments.args.iter().any(is_catching))
}

fn is_catching(kind: &Expr) -> bool {
    last_name(kind).is_some_and(|name| CATCHING.contains(&name))
}

/// Whether failures are results of a call: `gather(…, return_exceptions=True)`.
fn gathers_failures(call: &ExprCall) -> bool {
    call.arguments.keywords.iter().any(|word| {
        let name = word.arg.as_ref().map(|name| &*name.id);
        name == Some("return_exceptions") && !is_surely_false(&word.value)
    })
}

fn is_surely_false(value: &Expr) -> bool {
    match value {
        Expr::BooleanLiteral(literal) => !literal.value,
        Expr::NoneLiteral(_) => true,
        Expr::NumberLiteral(literal) => {
            literal.value.as_int().and_then(|int| int.as_u8()) == Some(0)
        }
        _ => false,
    }
}
