//! Calls of tools in a program, as facts that the gateway checks before the program runs.
//!
//! Only constant names count, and only where the program does not rebind `tools` (or the name that the call begins
//! with). A call whose refusal the program may catch is marked, because the program may make it on purpose. Nothing
//! is decided here.

use std::collections::HashSet;

use limbeck_domain::limits::SITES_MAX;
use limbeck_domain::{DynamicSite, InputUse, Site, Sites, UnreadSites};
use ruff_python_ast::{AnyNodeRef, Expr, ExprCall, ModModule};
use ruff_text_size::{Ranged, TextSize};

use super::arguments::CallArguments;
use super::facts::ProgramFacts;
use super::flow::CallFlow;
use super::names::constant_names;
use super::positions::Positions;
use super::servers::ServerAliases;
use super::targets::{CallTarget, ImportedTools};
use super::tree::{NodeId, ProgramTree, id};
use super::unawaited::MissingAwaits;
use super::unresolved;
use crate::bounds::READS_MAX;
use crate::result_read::ValueUse;

/// Names in one chain of aliases.
const ALIASES_MAX: usize = 8;

/// One call of a tool.
struct FoundCall<'a> {
    call: &'a ExprCall,
    target: CallTarget<'a>,
    /// The names it is called by, when all are constants; otherwise its root.
    names: Option<Vec<&'a str>>,
    root: &'a str,
}

impl FoundCall<'_> {
    /// Whether it gives the value of the result. Every other form gives the result itself in some form.
    fn gives_value(&self) -> bool {
        matches!(self.names.as_deref(), Some(["tools", _] | ["tools", _, _]))
            || matches!(self.names.as_deref(), Some([name]) if name.starts_with("mcp__"))
    }
}

/// The calls of a program, which was parsed from `text`, in the order of the text.
pub(super) fn collect(module: &ModModule, text: &str, servers: &ServerAliases) -> Sites {
    let tree = ProgramTree::new(module);
    let facts = ProgramFacts::new(&tree);
    let (mut found, called_dynamically) = find(&facts, servers);
    let calls: HashSet<NodeId> = found.iter().map(|found| id(found.call)).collect();
    let mut dynamic: Vec<TextSize> = called_dynamically.iter().map(|call| call.start()).collect();
    dynamic.extend(unresolved::places(&tree, &facts, &calls));
    found.sort_by_key(|found| found.call.start());
    let unread = found.get(SITES_MAX).map(|found| found.call.start());
    let unread_count = found.len().saturating_sub(SITES_MAX);
    found.truncate(SITES_MAX);
    dynamic.sort_unstable();
    dynamic.dedup();
    dynamic.truncate(SITES_MAX);
    let places = Positions::new(text);
    let place = |at: u32| places.of(at.into());
    let unawaited = facts.is_async.then(|| MissingAwaits::new(&tree));
    let mut flow = CallFlow::new(&tree, &facts);
    let input = flow.global("input");
    let named = named_only(&tree, &facts);
    if found.is_empty() && dynamic.is_empty() && named.is_empty() && input.is_unused() {
        return Sites::default();
    }
    let values = found.iter().filter(|found| found.gives_value());
    let values = values.map(|found| {
        let target = &found.target;
        (id(found.call), (target.server.clone(), target.tool.clone()))
    });
    flow.know_tools(values.collect());
    let calls: Vec<&ExprCall> = found.iter().map(|found| found.call).collect();
    let mut uses = flow.uses(&calls).into_iter();
    let mut reads_left = READS_MAX;
    let sites = found.into_iter().map(|found| {
        let call = found.call;
        let (line, column) = places.of(call.start());
        let mut result = if found.gives_value() {
            flow.result(call)
        } else {
            ValueUse::default()
        };
        result.reads.truncate(reads_left);
        reads_left -= result.reads.len();
        let arguments = CallArguments::new(&found.target.positional, &found.target.keywords);
        let repeat = flow.repeat(id(call));
        let is_mistake = |unawaited: &MissingAwaits<'_, '_>| unawaited.is_mistake(call);
        Site {
            line,
            column,
            server: found.target.server,
            tool: found.target.tool,
            arguments: arguments.named,
            complete: arguments.complete,
            positional: arguments.positional,
            // This function is never to be awaited.
            awaited: found.root == "call_mcp_tool" || !unawaited.as_ref().is_some_and(is_mistake),
            guarded: flow.is_guarded(id(call)),
            repeat,
            reads: result.reads_at(place),
            compared: result.comparisons(place),
            listed: result.listing(place),
            as_text: result.as_text,
            // Where reads are certain; those of this language are not.
            certain: false,
            idle: flow.is_idle(id(call)),
            reach: flow.reach(id(call), repeat),
            uses: uses.next().unwrap_or_default(),
        }
    });
    let sites = sites.collect();
    let dynamic = dynamic.into_iter().map(|place| {
        let (line, column) = places.of(place);
        DynamicSite {
            line,
            column,
            server: None,
        }
    });
    Sites {
        sites,
        dynamic: dynamic.collect(),
        unread: unread.map(|place| {
            let (line, column) = places.of(place);
            UnreadSites {
                line,
                column,
                count: u32::try_from(unread_count).unwrap_or(u32::MAX),
            }
        }),
        input: InputUse {
            reads: input.reads_at(place),
            listed: input.listing(place),
            as_text: input.as_text,
        },
        named: named
            .into_iter()
            .map(|at| {
                let (line, column) = places.of(at);
                DynamicSite {
                    line,
                    column,
                    server: None,
                }
            })
            .collect(),
    }
}

/// Where a tool is named as a statement and not called: `tools.shop.save`. The last statement is the value of the program.
fn named_only(tree: &ProgramTree<'_>, facts: &ProgramFacts<'_>) -> Vec<TextSize> {
    if facts.times_bound("tools") > 0 {
        return Vec::new();
    }
    let last = tree.body().last().map(id);
    let named = tree.uses("tools").iter().filter_map(|root| {
        let (server, _) = attribute_of(tree, id(*root))?;
        let (tool, _) = attribute_of(tree, server)?;
        let statement = match tree.parent_node(tool)? {
            AnyNodeRef::ExprAwait(awaited) => tree.parent_node(id(awaited))?.stmt_expr()?,
            around => around.stmt_expr()?,
        };
        (Some(id(statement)) != last).then(|| root.start())
    });
    named.take(SITES_MAX).collect()
}

/// The attribute of an expression, and its name.
fn attribute_of<'a>(tree: &ProgramTree<'a>, node: NodeId) -> Option<(NodeId, &'a str)> {
    let member = tree.parent_node(node)?.expr_attribute()?;
    Some((id(member), &*member.attr.id))
}

/// The calls of tools, and those of which is not known of which.
fn find<'a>(
    facts: &ProgramFacts<'a>,
    servers: &ServerAliases,
) -> (Vec<FoundCall<'a>>, Vec<&'a ExprCall>) {
    let chains = chains(facts);
    let imported = ImportedTools::new(facts, servers);
    let own = facts.calls.iter().map(|(root, call)| (vec![*root], *call));
    let through = chains.into_iter().flat_map(|(name, chain)| {
        let calls = facts.other_calls.get(name).into_iter().flatten();
        calls.map(move |call| (chain.clone(), *call))
    });
    let mut found = Vec::new();
    let mut dynamic = Vec::new();
    for (chain, call) in own.chain(through) {
        let names = constant_names(&call.func);
        let names = names.map(|names| [chain.as_slice(), &names[1..]].concat());
        // A chain is empty for the module `limbeck`, whose members are the globals.
        let first = names.as_ref().and_then(|names| names.first().copied());
        let Some(root) = chain.first().copied().or(first) else {
            continue;
        };
        let mut target = imported.target(root, call);
        let is_global = facts.times_bound(root) == 0
            || imported.means(root)
            || is_imported_as_itself(facts, root);
        if target.is_none() && is_global {
            let named = names.as_deref();
            target = named.and_then(|names| CallTarget::of(names, call, servers));
            if target.is_none() && is_dynamic(root, &chain, call) {
                dynamic.push(call);
            }
        }
        if let Some(target) = target {
            found.push(FoundCall {
                call,
                target,
                names,
                root,
            });
        }
    }
    (found, dynamic)
}

/// Aliases of parts of `tools` and similar roots, as in `s = tools.server`: names that are assigned once.
fn chains<'a>(facts: &ProgramFacts<'a>) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut chains = Vec::new();
    for name in facts.chains.keys().chain(facts.imported_parts.keys()) {
        let mut names = vec![*name];
        for _ in 0..ALIASES_MAX {
            let Some(root) = names.first().copied() else {
                break;
            };
            if facts.times_bound(root) != 1 {
                break;
            }
            let imported = facts.imported_parts.get(root).cloned();
            let assigned = || constant_names(facts.chains.get(root)?);
            let Some(longer) = imported.or_else(assigned) else {
                break;
            };
            let is_itself = longer.first() == Some(&root);
            names = [longer.as_slice(), &names[1..]].concat();
            if is_itself {
                break;
            }
        }
        let root = names.first().copied();
        let is_of_tools = root.is_none_or(|root| {
            matches!(
                root,
                "tools" | "mcp_servers" | "call_tool" | "acall_tool" | "call_mcp_tool"
            ) || root.starts_with("mcp_")
        });
        if is_of_tools && root != Some(*name) {
            chains.push((*name, names));
        }
    }
    chains
}

/// Whether a name is imported under its own name and nothing else is called so: `import tools`.
fn is_imported_as_itself(facts: &ProgramFacts<'_>, name: &str) -> bool {
    let part = facts.imported_parts.get(name);
    part.is_some_and(|part| part.as_slice() == [name]) && facts.times_bound(name) == 1
}

/// Whether a call is surely one of a tool, and only the running program knows which.
fn is_dynamic(root: &str, chain: &[&str], call: &ExprCall) -> bool {
    if matches!(root, "call_tool" | "acall_tool" | "call_mcp_tool") {
        return call.func.is_name_expr();
    }
    let mut depth = chain.len().saturating_sub(1);
    let mut node = &*call.func;
    loop {
        node = match node {
            Expr::Attribute(node) => &node.value,
            Expr::Subscript(node) => &node.value,
            Expr::Name(_) => return root == "tools" && depth == 2,
            _ => return false,
        };
        depth += 1;
    }
}
