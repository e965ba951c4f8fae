//! The calls of tools that stand in a program, as facts for the gateway to judge before it runs.
//!
//! Only names that are constants count, and only where `tools` (or whatever the call begins with) is not a name
//! that the program gives another meaning. A call whose refusal the program may catch is marked: it may try it
//! on purpose. Nothing is decided here.

use limbeck_wire::domain::{DynamicSite, Site, SiteRead, Sites};
use limbeck_wire::limits::SITES_MAX;
use ruff_python_ast::{Expr, ExprCall, ModModule};
use ruff_text_size::Ranged;

use super::arguments::Arguments;
use super::facts::Facts;
use super::flow::Flow;
use super::names::constant_names;
use super::places::Places;
use super::servers::Servers;
use super::targets::{Imported, Target};
use super::tree::{Tree, id};
use super::unawaited::Unawaited;

/// Names that stand for one another.
const ALIASES_MAX: usize = 8;
/// Reads of results told of all calls together.
const READS_MAX: usize = 1_000;

/// One call of a tool.
struct Found<'a> {
    call: &'a ExprCall,
    target: Target<'a>,
    /// The names it is called by, when all are constants; otherwise its root.
    names: Option<Vec<&'a str>>,
    root: &'a str,
}

/// The calls of a program, which was parsed from `text`, in the order of the text.
pub(super) fn collect(module: &ModModule, text: &str, servers: &Servers) -> Sites {
    let tree = Tree::new(module);
    let facts = Facts::new(&tree);
    let (mut found, mut dynamic) = find(&facts, servers);
    if found.is_empty() && dynamic.is_empty() {
        return Sites::default();
    }
    found.sort_by_key(|found| found.call.start());
    found.truncate(SITES_MAX);
    dynamic.sort_by_key(|call| call.start());
    dynamic.truncate(SITES_MAX);
    let places = Places::new(text);
    let unawaited = facts.is_async.then(|| Unawaited::new(&tree));
    let mut flow = Flow::new(&tree, &facts);
    let calls: Vec<&ExprCall> = found.iter().map(|found| found.call).collect();
    let mut uses = flow.uses(&calls).into_iter();
    let mut reads_left = READS_MAX;
    let sites = found.into_iter().map(|found| {
        let call = found.call;
        let (line, column) = places.of(call.start());
        // Every other form gives the result itself in some form, and not its value.
        let is_value = matches!(found.names.as_deref(), Some(["tools", _, _]));
        let mut reads = if is_value {
            flow.reads(call)
        } else {
            Vec::new()
        };
        reads.truncate(reads_left);
        reads_left -= reads.len();
        let reads = reads.into_iter().map(|read| {
            let (line, column) = places.of(read.at);
            SiteRead {
                line,
                column,
                path: read.path,
                optional: read.optional,
            }
        });
        let arguments = Arguments::new(&found.target.positional, &found.target.keywords);
        let is_mistake = |unawaited: &Unawaited<'_, '_>| unawaited.is_mistake(call);
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
            repeat: flow.repeat(id(call)),
            reads: reads.collect(),
            uses: uses.next().unwrap_or_default(),
        }
    });
    let sites = sites.collect();
    let dynamic = dynamic.into_iter().map(|call| {
        let (line, column) = places.of(call.start());
        DynamicSite {
            line,
            column,
            server: None,
        }
    });
    Sites {
        sites,
        dynamic: dynamic.collect(),
    }
}

/// The calls of tools, and those of which is not known of which.
fn find<'a>(facts: &Facts<'a>, servers: &Servers) -> (Vec<Found<'a>>, Vec<&'a ExprCall>) {
    let chains = chains(facts);
    let imported = Imported::new(facts, servers);
    let own = facts.calls.iter().map(|(root, call)| (vec![*root], *call));
    let through = chains.into_iter().flat_map(|(name, chain)| {
        let calls = facts.other_calls.get(name).into_iter().flatten();
        calls.map(move |call| (chain.clone(), *call))
    });
    let mut found = Vec::new();
    let mut dynamic = Vec::new();
    for (chain, call) in own.chain(through) {
        let root = chain[0];
        let names = constant_names(&call.func);
        let names = names.map(|names| [chain.as_slice(), &names[1..]].concat());
        let mut target = imported.target(root, call);
        if target.is_none() && (facts.times_bound(root) == 0 || imported.means(root)) {
            let named = names.as_deref();
            target = named.and_then(|names| Target::of(names, call, servers));
            if target.is_none() && is_dynamic(&chain, call) {
                dynamic.push(call);
            }
        }
        if let Some(target) = target {
            found.push(Found {
                call,
                target,
                names,
                root,
            });
        }
    }
    (found, dynamic)
}

/// Names that stand for parts of `tools` and its like, as in `s = tools.server`: each given one value, once.
fn chains<'a>(facts: &Facts<'a>) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut chains = Vec::new();
    for name in facts.chains.keys() {
        let mut names = vec![*name];
        for _ in 0..ALIASES_MAX {
            let root = names[0];
            let value = facts
                .chains
                .get(root)
                .filter(|_| facts.times_bound(root) == 1);
            let Some(longer) = value.and_then(|value| constant_names(value)) else {
                break;
            };
            names = [longer.as_slice(), &names[1..]].concat();
        }
        let root = names[0];
        let is_of_tools = matches!(root, "tools" | "mcp_servers") || root.starts_with("mcp_");
        if names.len() > 1 && is_of_tools && root != *name {
            chains.push((*name, names));
        }
    }
    chains
}

/// Whether a call is surely one of a tool, and only the running program knows which.
fn is_dynamic(chain: &[&str], call: &ExprCall) -> bool {
    let root = chain[0];
    if matches!(root, "call_tool" | "acall_tool" | "call_mcp_tool") {
        return call.func.is_name_expr();
    }
    let mut depth = chain.len() - 1;
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
