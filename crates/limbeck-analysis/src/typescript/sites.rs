//! Calls of tools in a program, as facts that the gateway checks before the program runs.
//!
//! Everything begins at the names that reach tools and that the program does not declare itself: `tools`,
//! `globalThis`, `callMCPTool`, and names imported from generated wrappers. From there each use is followed
//! through members, constants and destructuring to the call (`names`). For each call follow its
//! between its parentheses (`arguments`), whether the program may catch its refusal (`flow::guards`), and how
//! often it is made and what becomes of its result (`flow`). Nothing is decided here.
//!
//! Start reading at [`collect`].

use limbeck_domain::limits::SITES_MAX;
use limbeck_domain::{DynamicSite, InputUse, Site, Sites, UnreadSites};
use oxc::semantic::Semantic;

use super::flow::{CallFlow, FailureHandlers};
use super::names::{NameResolver, ResultForm};
use super::positions::{TextOrigin, positions_of_bytes};
use super::tree::ProgramTree;
use crate::result_read::ValueUse;

/// Whether a text may call a tool or read its input at all: the names that reach them do not come out of nothing.
pub(super) fn may_have(text: &str) -> bool {
    [
        "tools",
        "callMCPTool",
        "callTool",
        "import",
        "mcp__",
        "eval",
        "Function",
        "globalThis",
        "constructor",
        // A name or a text may be written by the numbers of its characters, and a member by a text that is put together.
        "\\",
        "[",
        "input",
    ]
    .iter()
    .any(|name| text.contains(name))
}

/// The calls of a program, which was parsed from `text`, in the order of the text. `semantic` must have been
/// built with its nodes.
pub(super) fn collect(semantic: &Semantic<'_>, text: &str, origin: TextOrigin) -> Sites {
    let tree = ProgramTree::new(semantic);
    let mut names = NameResolver::find(&tree);
    names.calls.sort_by_key(|call| call.node.span.start);
    let unread = names.calls.get(SITES_MAX).map(|call| call.node.span.start);
    let unread_count = names.calls.len().saturating_sub(SITES_MAX);
    names.calls.truncate(SITES_MAX);
    names.dynamic.sort_unstable();
    names.dynamic.dedup();
    names.dynamic.truncate(SITES_MAX);
    let guards = FailureHandlers::new(&tree, names.looks_up);
    let flow = CallFlow::of(&tree, &names.calls);
    let calls = names.calls.iter().map(|call| call.node.span.start);
    let reads = flow.results.iter().flat_map(ValueUse::places);
    let reads = reads.chain(flow.input.places());
    let dynamic = names.dynamic.iter().map(|(at, _)| *at);
    let shown = calls.chain(reads).chain(dynamic).chain(unread);
    let places = positions_of_bytes(text, shown.collect(), origin);
    let place = |at: u32| places.get(&at).copied().unwrap_or((1, 1));

    let sites = names.calls.iter().enumerate().map(|(index, call)| {
        let (line, column) = place(call.node.span.start);
        let arguments = call.arguments(&tree);
        // Every other form gives the result itself in some form, and not its value.
        let nothing = ValueUse::default();
        let result = match call.form {
            ResultForm::Value => &flow.results[index],
            ResultForm::Other => &nothing,
        };
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
            reads: result.reads_at(place),
            compared: result.comparisons(place),
            listed: result.listing(place),
            as_text: result.as_text,
            certain: flow.certain[index],
            idle: flow.idle[index],
            reach: flow.reach[index],
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
        unread: unread.map(|at| {
            let (line, column) = place(at);
            UnreadSites {
                line,
                column,
                count: u32::try_from(unread_count).unwrap_or(u32::MAX),
            }
        }),
        input: InputUse {
            reads: flow.input.reads_at(place),
            listed: flow.input.listing(place),
            as_text: flow.input.as_text,
        },
        // Warnings of the text name them, as `slips` finds them.
        named: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
