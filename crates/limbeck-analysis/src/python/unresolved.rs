//! Places where a program reaches tools in a way that is not followed: a plan lists them as unknown.
//!
//! Followed are calls by constant names and names that are assigned once. Everything else that may come to a call is
//! a place here: a part of `tools` that goes into a function, a list or a parameter, code that is made of text, names that
//! are looked up, and functions that nothing in the program explains, which an earlier program may have saved.

use std::collections::HashSet;

use ruff_python_ast::{AnyNodeRef, Expr, ExprCall, ExprName};
use ruff_text_size::{Ranged, TextSize};

use super::facts::ProgramFacts;
use super::names::{constant_names, name_of};
use super::tree::{NodeId, ProgramTree, id};

/// Names through which tools are called. The others of the roots only look up or store.
const CALLING: &[&str] = &[
    "tools",
    "call_tool",
    "acall_tool",
    "call_mcp_tool",
    "runtime",
    "mcp_servers",
];
/// Functions that look at their arguments and never call them.
const LOOKING_AT: &[&str] = &[
    "describe",
    "print",
    "str",
    "repr",
    "dir",
    "len",
    "list",
    "sorted",
    "tuple",
    "set",
    "bool",
    "type",
    "hasattr",
    "isinstance",
];
/// Functions that run text, or give everything that has a name.
const REFLECTING: &[&str] = &["eval", "exec", "compile", "__import__", "globals", "locals"];
/// Modules through which a program reaches its own names and frames.
const REFLECTING_MODULES: &[&str] = &[
    "importlib",
    "gc",
    "inspect",
    "runpy",
    "__main__",
    "builtins",
];
/// Attributes through which a program reaches names, frames and modules.
const REFLECTING_ATTRIBUTES: &[&str] = &[
    "__globals__",
    "__builtins__",
    "__dict__",
    "__subclasses__",
    "_getframe",
    "f_globals",
    "f_back",
    "modules",
];
/// Functions that every program has. A call of any other name that the program does not explain may be one that an
/// earlier program saved with `save_tool`.
const KNOWN: &[&str] = &[
    "abs",
    "aiter",
    "anext",
    "all",
    "any",
    "ascii",
    "bin",
    "bool",
    "breakpoint",
    "bytearray",
    "bytes",
    "callable",
    "chr",
    "classmethod",
    "compile",
    "complex",
    "delattr",
    "dict",
    "dir",
    "divmod",
    "enumerate",
    "eval",
    "exec",
    "exit",
    "filter",
    "float",
    "format",
    "frozenset",
    "getattr",
    "globals",
    "hasattr",
    "hash",
    "help",
    "hex",
    "id",
    "input",
    "int",
    "isinstance",
    "issubclass",
    "iter",
    "len",
    "list",
    "locals",
    "map",
    "max",
    "memoryview",
    "min",
    "next",
    "object",
    "oct",
    "open",
    "ord",
    "pow",
    "print",
    "property",
    "quit",
    "range",
    "repr",
    "reversed",
    "round",
    "set",
    "setattr",
    "slice",
    "sorted",
    "staticmethod",
    "str",
    "sum",
    "super",
    "tuple",
    "type",
    "vars",
    "zip",
    "__import__",
    "super",
];
/// Functions of the guest beside those that reach tools.
const OF_GUEST: &[&str] = &[
    "search",
    "describe",
    "servers",
    "store",
    "discover_mcp_tools",
    "get_tool_schema",
    "search_tools",
    "artifacts",
    "emit",
    "budget",
    "save_tool",
    "llm",
    "ToolError",
    "MCPError",
    "acall_tool",
];

/// The places, in any order. `found` are the calls whose tool is known.
pub(super) fn places(
    tree: &ProgramTree<'_>,
    facts: &ProgramFacts<'_>,
    found: &HashSet<NodeId>,
) -> Vec<TextSize> {
    let mut places = Vec::new();
    for node in tree.nodes() {
        match node {
            AnyNodeRef::ExprName(name)
                if name.ctx.is_load()
                    && reaches_tools(name, facts)
                    && !is_followed(tree, facts, found, name) =>
            {
                places.push(name.start());
            }
            AnyNodeRef::ExprCall(call) if may_be_anything(call, facts) => places.push(call.start()),
            AnyNodeRef::ExprAttribute(node) => {
                let is_reflecting = REFLECTING_ATTRIBUTES.contains(&&*node.attr.id)
                    && (node.attr.id != "modules" || name_of(&node.value) == Some("sys"));
                if is_reflecting {
                    places.push(node.start());
                }
            }
            AnyNodeRef::StmtImport(node) => {
                let mut names = node.names.iter();
                if names.any(|alias| REFLECTING_MODULES.contains(&&*alias.name.id)) {
                    places.push(node.start());
                }
            }
            AnyNodeRef::StmtImportFrom(node) => {
                let module = super::facts::module_of(node);
                let is_star = node.names.iter().any(|alias| alias.name.id == "*");
                let is_tools = is_star && super::facts::first_part(module) == "mcp";
                if is_tools || REFLECTING_MODULES.contains(&module) {
                    places.push(node.start());
                }
            }
            _ => {}
        }
    }
    places
}

fn reaches_tools(name: &ExprName, facts: &ProgramFacts<'_>) -> bool {
    let text = &*name.id;
    let is_root = CALLING.contains(&text) || text.starts_with("mcp_");
    if is_root && facts.times_bound(text) == 0 {
        return true;
    }
    if let Some(part) = facts.imported_parts.get(text) {
        return part.first().is_none_or(|first| CALLING.contains(first));
    }
    // A name that is given a part of `tools`.
    let value = facts
        .chains
        .get(text)
        .and_then(|value| constant_names(value));
    let root = value.and_then(|names| names.first().copied());
    root.is_some_and(|root| CALLING.contains(&root) && facts.times_bound(root) == 0)
}

/// Whether the use of a name is followed: a call that was found, a name of its own, or nothing that calls.
fn is_followed(
    tree: &ProgramTree<'_>,
    facts: &ProgramFacts<'_>,
    found: &HashSet<NodeId>,
    name: &ExprName,
) -> bool {
    for (parent, below) in tree.climb(id(name)) {
        match parent {
            AnyNodeRef::ExprAttribute(node) if id(&*node.value) == below => {}
            AnyNodeRef::ExprSubscript(node) if id(&*node.value) == below => {}
            AnyNodeRef::ExprAwait(_) => {}
            AnyNodeRef::ExprCall(call) if id(&*call.func) == below => {
                return found.contains(&id(call)) || gives_no_tool(call);
            }
            AnyNodeRef::ExprCall(call) => {
                return name_of(&call.func).is_some_and(|name| LOOKING_AT.contains(&name));
            }
            AnyNodeRef::StmtAssign(node) => {
                let [target] = node.targets.as_slice() else {
                    return false;
                };
                let is_alias = name_of(target).is_some_and(|name| facts.times_bound(name) == 1);
                return is_alias && constant_names(&node.value).is_some();
            }
            AnyNodeRef::StmtExpr(_)
            | AnyNodeRef::ExprCompare(_)
            | AnyNodeRef::ExprUnaryOp(_)
            | AnyNodeRef::InterpolatedElement(_)
            | AnyNodeRef::StmtIf(_)
            | AnyNodeRef::StmtFor(_)
            | AnyNodeRef::Comprehension(_)
            | AnyNodeRef::StmtAssert(_) => return true,
            _ => return false,
        }
    }
    false
}

/// Methods of the roots that look up names.
fn gives_no_tool(call: &ExprCall) -> bool {
    let names = constant_names(&call.func);
    names.is_some_and(|names| match names.as_slice() {
        ["runtime", name] | ["mcp", "runtime", name] => *name != "call_tool",
        [.., "list_tools"] => true,
        _ => false,
    })
}

/// Whether a call runs text, or calls what nothing in the program explains.
fn may_be_anything(call: &ExprCall, facts: &ProgramFacts<'_>) -> bool {
    let Expr::Name(name) = &*call.func else {
        return false;
    };
    let name = &*name.id;
    if facts.times_bound(name) > 0 {
        return false;
    }
    if REFLECTING.contains(&name) {
        return true;
    }
    let is_known = KNOWN.contains(&name)
        || OF_GUEST.contains(&name)
        || CALLING.contains(&name)
        || name.starts_with("mcp_")
        || name.starts_with(char::is_uppercase);
    !is_known
}
