//! Names under which clients list tools and prompts of exposed servers.

use std::collections::{BTreeMap, BTreeSet};

use limbeck_domain::{ToolId, text};

/// Characters of a name that every client takes (specification 2025-11-25, "Tool Names").
const NAME_CHARS_MAX: usize = 128;

/// Client names in the order of `ids`: the tool's own name, or `server__tool` when several tools share a name or
/// it is one of `reserved`.
///
/// All tools that share a name are prefixed, so no server takes a name from another by being listed first.
pub(super) fn client_names(ids: &[ToolId], reserved: &[&str]) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for id in ids {
        *counts.entry(plain(&id.tool)).or_default() += 1;
    }
    let is_free = |name: &str| counts.get(name) == Some(&1) && !reserved.contains(&name);
    let mut taken: BTreeSet<String> = reserved.iter().map(|&name| name.to_owned()).collect();
    taken.extend(counts.keys().filter(|name| is_free(name)).cloned());
    let mut named = Vec::new();
    for id in ids {
        let own = plain(&id.tool);
        if is_free(&own) {
            named.push(own);
            continue;
        }
        let prefixed = plain(&format!("{}__{}", id.server, id.tool));
        let mut name = prefixed.clone();
        let mut number = 2;
        while !taken.insert(name.clone()) {
            let suffix = format!("_{number}");
            let room = NAME_CHARS_MAX.saturating_sub(suffix.len());
            name = format!("{}{suffix}", text::cut(&prefixed, room));
            number += 1;
        }
        named.push(name);
    }
    named
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

    #[test]
    fn names_that_collide_are_all_prefixed_and_built_in_ones_stay_ours() {
        let ids = ids(&[
            ("a", "read"),
            ("a", "search"),
            ("b", "read"),
            ("b", "a__read"),
            ("b", "odd name!"),
        ]);
        let names = client_names(&ids, &["search", "execute"]);
        assert_eq!(
            names,
            ["a__read_2", "a__search", "b__read", "a__read", "odd_name_"]
        );
    }
}
