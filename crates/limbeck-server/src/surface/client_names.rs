//! Names under which clients list tools and prompts of exposed servers.

use std::collections::{BTreeMap, BTreeSet};

use limbeck_domain::{ServerName, ToolId, text};

/// Characters of a name that every client takes (specification 2025-11-25, "Tool Names").
const NAME_CHARS_MAX: usize = 128;
/// What separates the server from the tool in a qualified name.
const SEPARATOR: &str = "__";
/// Name under which clients have the gateway: they show its own tools as `mcp__limbeck__execute`.
const GATEWAY: &str = "limbeck";

/// Client names in the order of `ids`: the tool's own name, or `server__tool` when several tools share a name or
/// it is one of `reserved`.
///
/// All tools that share a name are prefixed, so no server takes a name from another by being listed first. A name
/// that begins as programs and clients write a tool of one of `servers`, or of the gateway, is for that server's tools
/// alone: a tool of another server that calls itself so is always listed with its own server. The names do not depend on
/// the order of `ids`.
pub(super) fn client_names(
    ids: &[ToolId],
    servers: &[ServerName],
    reserved: &[&str],
) -> Vec<String> {
    let prefixes = Prefixes::of(servers);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for id in ids {
        let own = plain(&id.tool);
        // A name that it cannot be listed by takes nothing from the server that it belongs to.
        if !prefixes.is_of_another(&own, &id.server) {
            *counts.entry(own).or_default() += 1;
        }
    }
    let is_free = |name: &str| counts.get(name) == Some(&1) && !reserved.contains(&name);
    let mut taken: BTreeSet<String> = reserved.iter().map(|&name| name.to_owned()).collect();
    taken.extend(counts.keys().filter(|name| is_free(name)).cloned());
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_by(|&one, &other| ids[one].cmp(&ids[other]));
    let mut named = vec![String::new(); ids.len()];
    for index in order {
        let id = &ids[index];
        let own = plain(&id.tool);
        named[index] = match is_free(&own) && !prefixes.is_of_another(&own, &id.server) {
            true => own,
            false => numbered(&prefixes.qualified(id), &mut taken),
        };
    }
    named
}

/// `name`, with a number when it is taken. The number comes last, so the name stays with its server.
fn numbered(name: &str, taken: &mut BTreeSet<String>) -> String {
    let mut free = name.to_owned();
    let mut number = 2_u32;
    while !taken.insert(free.clone()) {
        let digits = number.to_string();
        let base = text::cut(name, NAME_CHARS_MAX.saturating_sub(digits.len() + 1));
        // Two underscores would make a separator, and with it the prefix of another server.
        let joint = if base.ends_with('_') { '-' } else { '_' };
        free = format!("{base}{joint}{digits}");
        number += 1;
    }
    free
}

/// Beginnings of names, each with the [`prefix`] of the servers that it belongs to: a server may itself be called
/// `mcp__bank`.
type Beginnings = BTreeMap<String, BTreeSet<String>>;

/// Beginnings of the names of each server's tools, and of the gateway's.
struct Prefixes {
    /// In lower case: a reader takes `Bank__pay` for `bank__pay`.
    lower: Beginnings,
    /// As [`folded`]: a program may write `my_bank` for `my-bank`.
    folded: Beginnings,
}

impl Prefixes {
    fn of(servers: &[ServerName]) -> Self {
        let gateway = ServerName::from(GATEWAY);
        let mut prefixes = Self {
            lower: Beginnings::new(),
            folded: Beginnings::new(),
        };
        for server in servers.iter().chain([&gateway]) {
            // A program may write all three.
            for beginning in [
                format!("{server}{SEPARATOR}"),
                format!("{server}."),
                format!("mcp{SEPARATOR}{server}{SEPARATOR}"),
            ] {
                let of_lower = prefixes.lower.entry(lower(&beginning)).or_default();
                of_lower.insert(prefix(server));
                let of_folded = prefixes.folded.entry(folded(&beginning)).or_default();
                of_folded.insert(prefix(server));
            }
        }
        prefixes
    }

    /// Whether `name` belongs to another server than `server`: to the one with the longest beginning that it has, so
    /// `a__b__c` is the tool `c` of `a__b` when there are `a` and `a__b`.
    fn is_of_another(&self, name: &str, server: &ServerName) -> bool {
        let prefix = prefix(server);
        let excludes = |beginnings: &Beginnings, name: &str| {
            let starts = beginnings
                .iter()
                .filter(|(start, _)| name.starts_with(start.as_str()));
            let longest = starts.max_by_key(|(start, _)| start.len());
            longest.is_some_and(|(_, owners)| !owners.contains(&prefix))
        };
        excludes(&self.lower, &lower(name)) || excludes(&self.folded, &folded(name))
    }

    /// `server__tool`. When another server has names that begin so too, the tool's part has no separator.
    fn qualified(&self, id: &ToolId) -> String {
        let whole = plain(&format!("{}{SEPARATOR}{}", id.server, id.tool));
        if !self.is_of_another(&whole, &id.server) {
            return whole;
        }
        let tool = plain(&id.tool);
        let words = tool.split(['_', '.']).filter(|word| !word.is_empty());
        let words: Vec<&str> = words.collect();
        let tool = match words.is_empty() {
            true => "tool".to_owned(),
            false => words.join("_"),
        };
        plain(&format!("{}{SEPARATOR}{tool}", id.server))
    }
}

fn prefix(server: &ServerName) -> String {
    lower(&format!("{server}{SEPARATOR}"))
}

fn lower(name: &str) -> String {
    plain(name).to_ascii_lowercase()
}

/// `name` as all the styles in which a program may write it: words without what joins them, and `/` as the separator.
fn folded(name: &str) -> String {
    lower(name).replace(SEPARATOR, "/").replace(['_', '-'], "")
}

/// `name` with every character replaced that a client may reject.
fn plain(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let plain = name.chars().map(|c| if allowed(c) { c } else { '_' });
    plain.take(NAME_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(names: &[(&str, &str)]) -> Vec<ToolId> {
        let id = |&(server, tool): &(&str, &str)| ToolId::new(server, tool);
        names.iter().map(id).collect()
    }

    fn named(names: &[(&str, &str)], servers: &[&str]) -> Vec<String> {
        let servers: Vec<ServerName> = servers.iter().map(|&name| name.into()).collect();
        client_names(&ids(names), &servers, &["search", "execute"])
    }

    #[test]
    fn names_that_collide_are_all_prefixed_and_built_in_ones_stay_ours() {
        let tools = [
            ("a", "read"),
            ("a", "search"),
            ("b", "read"),
            ("b", "a__read"),
            ("b", "odd name!"),
        ];
        assert_eq!(
            named(&tools, &["a", "b"]),
            ["a__read", "a__search", "b__read", "b__a__read", "odd_name_"]
        );
    }

    #[test]
    fn a_name_with_the_prefix_of_a_server_is_of_that_server_in_any_order() {
        let tools = [
            ("aaa", "transfer"),
            ("aaa", "bank__transfer"),
            ("aaa", "Bank__transfer"),
            ("bank", "transfer"),
        ];
        let expected = [
            "aaa__transfer",
            "aaa__bank__transfer",
            "aaa__Bank__transfer",
            "bank__transfer",
        ];
        assert_eq!(named(&tools, &["aaa", "bank"]), expected);
        let mut reversed = tools;
        reversed.reverse();
        let mut names = named(&reversed, &["bank", "aaa"]);
        names.reverse();
        assert_eq!(names, expected);
        // The server's own name with its prefix stays, with another server's tool of that name or without.
        let own = [("bank", "bank__pay"), ("aaa", "bank__pay")];
        assert_eq!(
            named(&own, &["aaa", "bank"]),
            ["bank__pay", "aaa__bank__pay"]
        );
        // A server that is configured and lists nothing keeps its names.
        let alone = [("aaa", "bank__transfer")];
        assert_eq!(named(&alone, &["aaa", "bank"]), ["aaa__bank__transfer"]);
        // The control: without such a server, and without a collision, names are as the server has them.
        assert_eq!(named(&alone, &["aaa"]), ["bank__transfer"]);
        let plain = [("aaa", "list"), ("bank", "transfer"), ("bank", "x__y")];
        assert_eq!(
            named(&plain, &["aaa", "bank"]),
            ["list", "transfer", "x__y"]
        );
    }

    #[test]
    fn every_way_to_write_a_tool_of_a_server_is_for_that_server_alone() {
        let forged = [
            ("evil", "bank.pay"),
            ("evil", "Bank.pay"),
            ("evil", "mcp__bank__pay"),
            ("evil", "MCP__bank__pay"),
            ("evil", "mcp__limbeck__execute"),
            ("evil", "limbeck__search"),
            ("evil", "limbeck.search"),
        ];
        let expected = forged.map(|(server, tool)| format!("{server}__{tool}"));
        assert_eq!(named(&forged, &["bank", "evil"]), expected);
        // The control: tools of the server itself, and names that no server has.
        let own = [
            ("bank", "bank.pay"),
            ("bank", "mcp__bank__list"),
            ("evil", "bank.transfer.list"),
            ("evil", "mcp__other__pay"),
            ("evil", "other.pay"),
            ("evil", "limbeck"),
        ];
        assert_eq!(
            named(&own, &["bank", "evil"]),
            [
                "bank.pay",
                "mcp__bank__list",
                "evil__bank.transfer.list",
                "mcp__other__pay",
                "other.pay",
                "limbeck",
            ]
        );
        // In any style.
        let styles = [
            ("evil", "my_bank__pay"),
            ("evil", "myBank.pay"),
            ("evil", "mcp__mybank__pay"),
            ("evil", "their_bank__pay"),
        ];
        assert_eq!(
            named(&styles, &["my-bank", "evil"]),
            [
                "evil__my_bank__pay",
                "evil__myBank.pay",
                "evil__mcp__mybank__pay",
                "their_bank__pay",
            ]
        );
        // A server may be called so that its own prefix is a way to write another's tool.
        let odd = [("mcp", "bank__pay"), ("a", "b.pay"), ("limbeck", "search")];
        assert_eq!(
            named(&odd, &["bank", "mcp", "a", "limbeck"]),
            ["mcp__bank_pay", "b.pay", "limbeck__search"]
        );
        let joined = [("a", "b.pay"), ("z", "b.pay")];
        assert_eq!(
            named(&joined, &["a", "a__b", "z"]),
            ["a__b_pay", "z__b.pay"]
        );
    }

    #[test]
    fn a_number_keeps_a_name_with_its_server_and_a_longer_server_name_wins() {
        // `a__b__c` is the tool `c` of `a__b`.
        let tools = [("a", "b__c"), ("a__b", "c"), ("z", "c"), ("z", "b__c")];
        assert_eq!(
            named(&tools, &["a", "a__b", "z"]),
            ["a__b_c", "a__b__c", "z__c", "z__b__c"]
        );
        let taken = [("a", "t!"), ("a", "t?"), ("b", "a__t_")];
        assert_eq!(named(&taken, &["a", "b"]), ["a__t_", "a__t_-2", "b__a__t_"]);
    }
}
