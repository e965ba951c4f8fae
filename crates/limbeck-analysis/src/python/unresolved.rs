//! Places where a program reaches tools in a way that is not followed: a plan lists them as unknown.
//!
//! Followed are calls by constant names and names that are assigned once. Everything else that may come to a call is
//! a place here: a part of `tools` that goes into a function, a list or a parameter, code that is made of text, names that
//! are looked up (`reflection`), and names that nothing in the program explains, which an earlier program may have saved.
//! Where a name has another meaning in a part of the program, `scopes` decides; in doubt it is a place.

use std::collections::HashSet;

use ruff_python_ast::{AnyNodeRef, ExprCall, ExprName};
use ruff_text_size::{Ranged, TextSize};

use self::reflection::ImportedModules;
use self::scopes::Scopes;
use super::facts::{ProgramFacts, first_part, given_name, gives_tools, module_of};
use super::names::{constant_names, name_of};
use super::tree::{NodeId, ProgramTree, id};

mod reflection;
mod scopes;

/// Names through which tools are called. The others of the roots only look up or store.
const CALLING: &[&str] = &[
    "tools",
    "call_tool",
    "acall_tool",
    "call_mcp_tool",
    "runtime",
    "mcp_servers",
    "mcp",
];
/// Functions that look at their arguments and never call them. An iteration over `tools` gives names.
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
    "hasattr",
    "isinstance",
];

/// The places, in any order. `found` are the calls whose tool is known.
pub(super) fn places(
    tree: &ProgramTree<'_>,
    facts: &ProgramFacts<'_>,
    found: &HashSet<NodeId>,
) -> Vec<TextSize> {
    let modules = ImportedModules::new(tree);
    let names = ReachingNames::new(tree, facts);
    let mut places = Vec::new();
    for node in tree.nodes() {
        let is_place = match node {
            AnyNodeRef::ExprName(name) if name.ctx.is_load() => {
                names.reach(tree, facts, name) && !is_followed(tree, facts, found, name)
                    || !names.is_root(&name.id)
                        && reflection::may_be_anything(tree, facts, &names.scopes, name)
                    || modules.is_passed_on(tree, name)
            }
            AnyNodeRef::ExprAttribute(node) => {
                reflection::is_reflecting(&node.attr.id) || modules.reaches_module(tree, node)
            }
            AnyNodeRef::StmtImport(node) => {
                let mut names = node.names.iter();
                names.any(|alias| reflection::is_unknown_module(&alias.name.id))
            }
            AnyNodeRef::StmtImportFrom(node) => reflection::imports_unknown(node),
            node => reflection::pattern_reflects(node),
        };
        if is_place {
            places.push(node.start());
        }
    }
    places
}

/// Names that may mean a part of `tools`.
struct ReachingNames<'a> {
    scopes: Scopes<'a>,
    /// Names that import statements or assignments give to such parts.
    given: HashSet<&'a str>,
}

impl<'a> ReachingNames<'a> {
    fn new(tree: &ProgramTree<'a>, facts: &ProgramFacts<'a>) -> Self {
        let mut given = HashSet::new();
        for (name, part) in &facts.imported_parts {
            if part.first().is_none_or(|first| is_root(first)) {
                given.insert(*name);
            }
        }
        for node in tree.nodes() {
            match node {
                AnyNodeRef::StmtImportFrom(node) if gives_tools(module_of(node)) => {
                    let calling = node.names.iter().filter(|alias| !looks_up(&alias.name.id));
                    given.extend(calling.map(given_name));
                }
                AnyNodeRef::StmtImport(node) => {
                    let of_mcp = node
                        .names
                        .iter()
                        .filter(|alias| gives_tools(&alias.name.id));
                    given.extend(of_mcp.map(|alias| {
                        let itself = || first_part(&alias.name.id);
                        alias.asname.as_ref().map_or_else(itself, |name| &*name.id)
                    }));
                }
                _ => {}
            }
        }
        // Each round finds the names that are given those of the round before.
        loop {
            let more: Vec<&str> = facts
                .chains
                .iter()
                .filter(|(name, value)| {
                    let root = tree.root_of(*value);
                    !given.contains(*name)
                        && root.is_some_and(|root| is_root(root) || given.contains(root))
                })
                .map(|(name, _)| *name)
                .collect();
            if more.is_empty() {
                break;
            }
            given.extend(more);
        }
        Self {
            scopes: Scopes::new(tree),
            given,
        }
    }

    fn is_root(&self, name: &str) -> bool {
        is_root(name) || self.given.contains(name)
    }

    fn reach(&self, tree: &ProgramTree<'a>, facts: &ProgramFacts<'a>, name: &'a ExprName) -> bool {
        let text = &*name.id;
        if self.given.contains(text) {
            return true;
        }
        let is_own = || self.scopes.is_own(tree, name);
        is_root(text) && (facts.times_bound(text) == 0 || !is_own())
    }
}

/// Whether the guest has a name through which tools are called.
fn is_root(name: &str) -> bool {
    CALLING.contains(&name) || name.starts_with("mcp_")
}

/// Names of the module `mcp` that call nothing.
fn looks_up(name: &str) -> bool {
    matches!(
        name,
        "search"
            | "describe"
            | "store"
            | "discover_mcp_tools"
            | "get_tool_schema"
            | "search_tools"
            | "ToolError"
            | "MCPError"
    )
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
                let function = name_of(&call.func);
                return function.is_some_and(|name| {
                    LOOKING_AT.contains(&name) && facts.times_bound(name) == 0
                });
            }
            AnyNodeRef::StmtAssign(node) => {
                let [target] = node.targets.as_slice() else {
                    return false;
                };
                let is_alias = name_of(target).is_some_and(|name| facts.times_bound(name) == 1);
                // The members of a class are not followed.
                return is_alias
                    && constant_names(&node.value).is_some()
                    && !scopes::is_in_class(tree, id(node));
            }
            AnyNodeRef::ExprCompare(node) => return reflection::only_compares(node),
            AnyNodeRef::StmtExpr(_)
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
