//! The calls of tools that stand in a program, as facts for the gateway to judge before it runs.
//!
//! Everything begins at the names that reach tools and that the program does not declare itself: `tools`,
//! `globalThis`, `callMCPTool`, and names imported from generated wrappers. From there each use is followed
//! through members, constants and destructuring to the call ([`names`]). Of a call is told what stands
//! between its parentheses ([`arguments`]), whether the program may catch its refusal ([`guards`]), and how
//! often it is made and what becomes of its result ([`flow`]). Nothing is decided here.
//!
//! Start reading at [`collect`].

mod arguments;
mod flow;
mod guards;
mod names;
mod tree;

use limbeck_wire::domain::{DynamicSite, Site, SiteRead, Sites};
use limbeck_wire::limits::SITES_MAX;
use oxc::semantic::Semantic;

use self::flow::Flow;
use self::guards::Guards;
use self::names::{Form, Names};
use self::tree::Tree;
use super::positions::{Origin, positions_of_bytes};

/// Whether a text may call a tool at all: the names that reach tools do not come out of nothing.
pub(super) fn may_have(text: &str) -> bool {
    ["tools", "callMCPTool", "import"]
        .iter()
        .any(|name| text.contains(name))
}

/// The calls of a program, which was parsed from `text`, in the order of the text. `semantic` must have been
/// built with its nodes.
pub(super) fn collect(semantic: &Semantic<'_>, text: &str, origin: Origin) -> Sites {
    let tree = Tree::new(semantic);
    let mut names = Names::find(&tree);
    names.calls.sort_by_key(|call| call.node.span.start);
    names.calls.truncate(SITES_MAX);
    names.dynamic.sort_unstable();
    names.dynamic.dedup();
    names.dynamic.truncate(SITES_MAX);
    let guards = Guards::new(&tree, names.looks_up);
    let flow = Flow::of(&tree, &names.calls);
    let calls = names.calls.iter().map(|call| call.node.span.start);
    let reads = flow.reads.iter().flatten().map(|read| read.at);
    let dynamic = names.dynamic.iter().map(|(at, _)| *at);
    let places = positions_of_bytes(text, calls.chain(reads).chain(dynamic).collect(), origin);
    let place = |at: u32| places.get(&at).copied().unwrap_or((1, 1));

    let sites = names.calls.iter().enumerate().map(|(index, call)| {
        let (line, column) = place(call.node.span.start);
        let arguments = call.arguments(&tree);
        let reads = flow.reads[index].iter().map(|read| {
            let (line, column) = place(read.at);
            SiteRead {
                line,
                column,
                path: read.path.clone(),
                optional: read.optional,
            }
        });
        Site {
            line,
            column,
            server: call.server.clone(),
            tool: call.tool.clone(),
            arguments: arguments.named,
            complete: arguments.complete,
            positional: arguments.positional,
            awaited: !flow.taken_apart[index],
            guarded: guards.may_catch(call.node),
            repeat: flow.repeat[index],
            reads: if call.form == Form::Value {
                reads.collect()
            } else {
                Vec::new()
            },
            uses: flow.uses[index].clone(),
        }
    });
    let sites = sites.collect();
    let dynamic = names.dynamic.iter().map(|(at, server)| {
        let (line, column) = place(*at);
        DynamicSite {
            line,
            column,
            server: server.clone(),
        }
    });
    Sites {
        sites,
        dynamic: dynamic.collect(),
    }
}

#[cfg(test)]
mod tests;
