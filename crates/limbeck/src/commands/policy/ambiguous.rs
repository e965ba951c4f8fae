//! Patterns of tools that can mean several things among the servers that there are.

use std::collections::HashSet;

use limbeck_catalog::Catalog;
use limbeck_domain::ServerName;
use limbeck_domain::text::clean_line;
use limbeck_policy::rules::{Effect, Rule};
use limbeck_policy::{AmbiguousPattern, Policy, Scope, Subject};

use super::NAME_BYTES_MAX;

/// What the patterns of a rule can mean beside what their author meant.
pub(super) fn rule(rule: &Rule, catalog: &Catalog) -> Option<String> {
    let servers = servers(catalog);
    let of = |scope: &Scope| scope.ambiguous_among(&servers).into_iter().next();
    let does = |allows: bool| match allows {
        true => "allows none of them",
        false => "is about all of them",
    };
    let allows = rule.effect == Effect::Allow;
    if let Some(found) = of(&rule.tools) {
        return Some(format!(
            "{} and {}: {}",
            meanings(&found),
            does(allows),
            NEXT
        ));
    }
    if let Some(found) = rule.except.as_ref().and_then(of) {
        let leaves = match allows {
            true => "`except` leaves all of them out",
            false => "`except` leaves none of them out",
        };
        return Some(format!("{} and {leaves}: {NEXT}", meanings(&found)));
    }
    let mut tools = catalog.tools();
    let named = tools.find(|tool| {
        allows && rule.tools.may_mean(tool.id()) && !rule.tools.means(tool.id(), Subject::Tool)
    })?;
    let named = clean_line(&named.id().to_string(), NAME_BYTES_MAX);
    Some(format!(
        "allows reads of resources and prompts, and not the tool `{named}`, which has the name of such a read"
    ))
}

/// Patterns of classes, each with what it can mean.
pub(super) fn classes(policy: &Policy, catalog: &Catalog) -> Vec<(String, String)> {
    let servers = servers(catalog);
    let patterns = policy.classes.patterns().iter();
    let found = patterns.flat_map(|(scope, _)| scope.ambiguous_among(&servers));
    let finding = |found: AmbiguousPattern| {
        let meanings = meanings(&found);
        let text = format!("{meanings} and makes none of them less harmful: {NEXT}");
        (clean_line(&found.pattern, NAME_BYTES_MAX), text)
    };
    found.map(finding).collect()
}

/// What is done about it.
const NEXT: &str = "write the one that is meant";

fn meanings(found: &AmbiguousPattern) -> String {
    let shown = |text: &String| format!("`{}`", clean_line(text, NAME_BYTES_MAX));
    let meanings: Vec<String> = found.meanings.iter().map(shown).collect();
    format!(
        "has the pattern {}, which can mean {},",
        shown(&found.pattern),
        meanings.join(" or ")
    )
}

fn servers(catalog: &Catalog) -> HashSet<ServerName> {
    let servers = catalog.servers();
    servers.map(|server| server.name().clone()).collect()
}
