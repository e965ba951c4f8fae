//! Missing `await`: calls of tools in coroutine functions whose coroutine is used as if it were the result.
//!
//! Elsewhere a call that is used as its answer becomes its answer; the guest's `unawaited.py` sees to that, by the
//! same rules about what is used as an answer.

mod names;

use std::collections::HashSet;

use ruff_python_ast::{AnyNodeRef, Expr, ExprCall};

use self::names::{collected_names, imported_modules, toolish_names};
use super::facts::TOOL_ROOTS;
use super::tree::{NodeId, ProgramTree, id};

/// Functions that use the value of an argument, so that a call there is meant as its answer.
const USERS: [&str; 37] = [
    "print",
    "len",
    "str",
    "int",
    "float",
    "bool",
    "repr",
    "list",
    "dict",
    "set",
    "tuple",
    "sorted",
    "sum",
    "min",
    "max",
    "any",
    "all",
    "enumerate",
    "isinstance",
    "type",
    "round",
    "abs",
    "reversed",
    "iter",
    "next",
    "vars",
    "dir",
    "hash",
    "format",
    "bytes",
    "frozenset",
    "divmod",
    "pow",
    "ord",
    "chr",
    "getattr",
    "hasattr",
];
/// Modules whose functions take things to await.
const AWAITERS: [&str; 8] = [
    "asyncio",
    "concurrent",
    "functools",
    "itertools",
    "contextlib",
    "mcp",
    "contextvars",
    "inspect",
];
/// Methods and functions that keep or await what they are given.
const KEEPERS: [&str; 22] = [
    "gather",
    "wait",
    "wait_for",
    "create_task",
    "ensure_future",
    "as_completed",
    "shield",
    "run",
    "run_until_complete",
    "append",
    "add",
    "extend",
    "insert",
    "put",
    "put_nowait",
    "setdefault",
    "to_thread",
    "start_soon",
    "submit",
    "appendleft",
    "push",
    "enter_async_context",
];

/// Facts about a program that identify such calls.
pub(super) struct MissingAwaits<'t, 'a> {
    tree: &'t ProgramTree<'a>,
    /// Names and attributes through which it may reach tools.
    toolish: HashSet<&'a str>,
    /// Names of modules.
    modules: HashSet<&'a str>,
    /// Names whose values may be awaited somewhere.
    collected: HashSet<&'a str>,
}

impl<'t, 'a> MissingAwaits<'t, 'a> {
    pub(super) fn new(tree: &'t ProgramTree<'a>) -> Self {
        Self {
            tree,
            toolish: toolish_names(tree),
            modules: imported_modules(tree),
            collected: collected_names(tree),
        }
    }

    /// Whether a call in a coroutine function is used as its result and is not awaited.
    pub(super) fn is_mistake(&self, call: &ExprCall) -> bool {
        self.is_inside_async(call) && self.is_toolish(call) && self.is_meant_as_answer(call)
    }

    fn is_inside_async(&self, call: &ExprCall) -> bool {
        let around = self.tree.climb(id(call)).find_map(|(node, _)| match node {
            AnyNodeRef::StmtFunctionDef(function) => Some(function.is_async),
            AnyNodeRef::ExprLambda(_) => Some(false),
            _ => None,
        });
        around == Some(true)
    }

    fn is_toolish(&self, call: &ExprCall) -> bool {
        let mut function = &*call.func;
        loop {
            function = match function {
                Expr::Name(name) => {
                    return self.toolish.contains(&*name.id) || name.id.starts_with("mcp_");
                }
                // `self.github`, but not every `re.search`.
                Expr::Attribute(node) => {
                    let name = &*node.attr.id;
                    if self.toolish.contains(name) && !TOOL_ROOTS.contains(&name) {
                        return true;
                    }
                    &node.value
                }
                Expr::Subscript(node) => &node.value,
                Expr::Call(node) => &node.func,
                _ => return false,
            };
        }
    }

    fn is_meant_as_answer(&self, call: &ExprCall) -> bool {
        let below = id(call);
        let Some(parent) = self.tree.parent_node(below) else {
            return false;
        };
        match parent {
            AnyNodeRef::StmtAssign(node) => !node.targets.iter().any(|to| self.may_be_awaited(to)),
            AnyNodeRef::StmtAnnAssign(node) => !self.may_be_awaited(&node.target),
            AnyNodeRef::ExprNamed(node) => !self.may_be_awaited(&node.target),
            AnyNodeRef::ExprCall(outer) => {
                outer.arguments.args.iter().any(|item| id(item) == below)
                    && self.uses_values(&outer.func)
            }
            parent if is_display(parent) => self.is_display_used(below),
            parent => is_used(parent, below),
        }
    }

    /// Whether a display, or one around it, is the argument of what uses the values of its items.
    fn is_display_used(&self, item: NodeId) -> bool {
        for (parent, below) in self.tree.climb(item) {
            match parent {
                AnyNodeRef::ExprCall(outer) => {
                    return outer.arguments.args.iter().any(|item| id(item) == below)
                        && self.uses_values(&outer.func);
                }
                parent if is_display(parent) => {}
                _ => return false,
            }
        }
        false
    }

    fn uses_values(&self, function: &Expr) -> bool {
        match function {
            Expr::Name(name) => return USERS.contains(&&*name.id),
            Expr::Attribute(node) if KEEPERS.contains(&&*node.attr.id) => return false,
            Expr::Attribute(node) if node.attr.id == "join" => return true,
            _ => {}
        }
        let root = self.tree.root_of(function);
        root.is_some_and(|root| self.modules.contains(root) && !AWAITERS.contains(&root))
    }

    fn may_be_awaited(&self, target: &Expr) -> bool {
        match target {
            Expr::Name(name) => self.collected.contains(&*name.id),
            Expr::Attribute(_) | Expr::Subscript(_) => true,
            _ => false,
        }
    }
}

fn is_display(node: AnyNodeRef<'_>) -> bool {
    matches!(
        node,
        AnyNodeRef::ExprList(_)
            | AnyNodeRef::ExprTuple(_)
            | AnyNodeRef::ExprSet(_)
            | AnyNodeRef::ExprDict(_)
            | AnyNodeRef::ExprListComp(_)
            | AnyNodeRef::ExprSetComp(_)
            | AnyNodeRef::ExprDictComp(_)
            | AnyNodeRef::ExprGenerator(_)
    )
}

/// Whether the parent uses the value of `below`.
fn is_used(parent: AnyNodeRef<'_>, below: NodeId) -> bool {
    match parent {
        AnyNodeRef::ExprAttribute(_)
        | AnyNodeRef::ExprSubscript(_)
        | AnyNodeRef::ExprBinOp(_)
        | AnyNodeRef::ExprUnaryOp(_)
        | AnyNodeRef::ExprBoolOp(_)
        | AnyNodeRef::ExprCompare(_)
        | AnyNodeRef::StmtWhile(_)
        | AnyNodeRef::StmtIf(_)
        | AnyNodeRef::ElifElseClause(_)
        | AnyNodeRef::StmtAssert(_)
        | AnyNodeRef::StmtMatch(_)
        | AnyNodeRef::StmtDelete(_) => true,
        AnyNodeRef::InterpolatedElement(node) => id(&*node.expression) == below,
        AnyNodeRef::StmtFor(node) => !node.is_async && id(&*node.iter) == below,
        AnyNodeRef::Comprehension(node) => id(&node.iter) == below,
        AnyNodeRef::ExprIf(node) => id(&*node.test) == below,
        AnyNodeRef::WithItem(node) => id(&node.context_expr) == below,
        AnyNodeRef::StmtRaise(node) => node.exc.as_deref().is_some_and(|exc| id(exc) == below),
        AnyNodeRef::StmtAugAssign(node) => id(&*node.value) == below,
        _ => false,
    }
}
