//! Finds the rules that may be about a tool without trying all of them.

use std::collections::HashMap;

use limbeck_domain::ToolId;

use super::rule::Rule;

/// Rules by the names in their patterns. What it finds may match; [`Rule::covers`] says whether it does.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Rules with a pattern that names a server and a tool without wildcards.
    by_tool: HashMap<(String, String), Vec<usize>>,
    /// Rules with a pattern that names a server without wildcards, and many of its tools.
    by_server: HashMap<String, Vec<usize>>,
    /// Rules with a wildcard in the name of the server.
    others: Vec<usize>,
}

impl Index {
    pub(super) fn of(rules: &[Rule]) -> Self {
        let mut index = Self::default();
        for (at, rule) in rules.iter().enumerate() {
            let Some(patterns) = rule.tools.patterns() else {
                index.others.push(at);
                continue;
            };
            for pattern in patterns {
                index.add(pattern, at);
            }
        }
        index
    }

    fn add(&mut self, pattern: &str, at: usize) {
        // A name may contain separators, so a pattern may have several readings; each is an entry.
        for (server, tool) in crate::scope::parts(pattern) {
            let list = match tool {
                _ if server.contains('*') => &mut self.others,
                Some(tool) if !tool.contains('*') => self
                    .by_tool
                    .entry((server.to_owned(), tool.to_owned()))
                    .or_default(),
                _ => self.by_server.entry(server.to_owned()).or_default(),
            };
            if list.last() != Some(&at) {
                list.push(at);
            }
        }
    }

    /// Positions of the rules that may be about `tool`, each once and in ascending order.
    pub(super) fn candidates(&self, tool: &ToolId) -> Vec<usize> {
        let key = (tool.server.as_str().to_owned(), tool.tool.to_string());
        let mut found: Vec<usize> = self
            .by_tool
            .get(&key)
            .into_iter()
            .chain(self.by_server.get(&key.0))
            .chain([&self.others])
            .flatten()
            .copied()
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}
