//! Finds the patterns that may be about a tool without trying all of them.
//!
//! Patterns are filed under the name of their server, or under that of no server where it has a wildcard, and there under
//! the longest text that the name of a tool has to begin or end with.

use std::collections::{BTreeSet, HashMap};

use limbeck_domain::ToolId;

use crate::Scope;
use crate::pattern::{Form, Reading};

/// Positions of scopes by the names in their patterns. What it finds may match; [`Scope::may_mean`] says whether it does.
#[derive(Debug, Default)]
pub(crate) struct ScopeIndex {
    by_server: HashMap<String, ToolTable>,
    /// Patterns with a wildcard in the name of the server.
    any_server: ToolTable,
    /// Patterns that are read whole as one of servers' names, by such names.
    by_server_pattern: ToolTable,
}

/// Positions by the pattern of the tool's name.
#[derive(Debug, Default)]
struct ToolTable {
    /// Without a wildcard.
    by_name: HashMap<String, Vec<usize>>,
    /// With text before the first wildcard.
    by_start: AffixTable,
    /// With text behind the last wildcard, longer than that before the first.
    by_end: AffixTable,
    /// Patterns of every tool, and those that neither begin nor end with text.
    others: Vec<usize>,
}

/// Positions by a text at the border of a name.
#[derive(Debug, Default)]
struct AffixTable {
    by_text: HashMap<String, Vec<usize>>,
    /// Lengths of the texts, in bytes.
    lengths: BTreeSet<usize>,
}

impl ScopeIndex {
    /// The index of `scopes`, each under its position.
    pub(crate) fn of<'a>(scopes: impl IntoIterator<Item = &'a Scope>) -> Self {
        let mut index = Self::default();
        for (at, scope) in scopes.into_iter().enumerate() {
            let Some(patterns) = scope.patterns() else {
                push(&mut index.any_server.others, at);
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
        for Reading { server, tool, form } in crate::pattern::readings(pattern) {
            let list = match (form, server.contains('*')) {
                (Form::Loose, _) => self.by_server_pattern.list(Some(server)),
                (Form::Usual | Form::Name, true) => self.any_server.list(tool),
                (Form::Usual | Form::Name, false) => {
                    let of_server = self.by_server.entry(server.to_owned()).or_default();
                    of_server.list(tool)
                }
            };
            push(list, at);
        }
    }

    /// Positions of the scopes that may cover `tool`, each once and in ascending order.
    pub(crate) fn candidates(&self, tool: &ToolId) -> Vec<usize> {
        let mut found = Vec::new();
        let of_server = self.by_server.get(tool.server.as_str());
        for table in of_server.into_iter().chain([&self.any_server]) {
            table.find(&tool.tool, &mut found);
        }
        self.by_server_pattern
            .find(tool.server.as_str(), &mut found);
        found.sort_unstable();
        found.dedup();
        found
    }
}

impl ToolTable {
    fn list(&mut self, tool: Option<&str>) -> &mut Vec<usize> {
        let Some(tool) = tool else {
            return &mut self.others;
        };
        let (Some(first), Some(last)) = (tool.find('*'), tool.rfind('*')) else {
            return self.by_name.entry(tool.to_owned()).or_default();
        };
        let (start, end) = (&tool[..first], &tool[last + 1..]);
        match start.len().max(end.len()) {
            0 => &mut self.others,
            longest if longest == start.len() => self.by_start.list(start),
            _ => self.by_end.list(end),
        }
    }

    fn find(&self, name: &str, found: &mut Vec<usize>) {
        let starts = self.by_start.lengths.iter();
        let starts =
            starts.map_while(|length| (*length <= name.len()).then(|| name.get(..*length)));
        let ends = self.by_end.lengths.iter();
        let ends = ends.map_while(|length| Some(name.get(name.len().checked_sub(*length)?..)));
        let by_start = starts
            .flatten()
            .filter_map(|start| self.by_start.by_text.get(start));
        let by_end = ends
            .flatten()
            .filter_map(|end| self.by_end.by_text.get(end));
        let by_name = self.by_name.get(name).into_iter();
        let lists = by_name.chain(by_start).chain(by_end).chain([&self.others]);
        found.extend(lists.flatten());
    }
}

impl AffixTable {
    fn list(&mut self, text: &str) -> &mut Vec<usize> {
        self.lengths.insert(text.len());
        self.by_text.entry(text.to_owned()).or_default()
    }
}

/// Adds a position that is not there yet. Positions come in ascending order.
fn push(list: &mut Vec<usize>, at: usize) {
    if list.last() != Some(&at) {
        list.push(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scope_that_covers_a_tool_is_found_and_few_others() {
        let patterns = [
            "*",
            "files",
            "files.*",
            "files.read_*",
            "files.*_all",
            "files.r*_all",
            "files.*ea*",
            "*.read_*",
            "*.read_é",
            "f*.read_all",
            "mcp__files__read_all",
            "a.b.c",
            "a.b",
            "a.*.c",
            "files.é*",
            "files.*é",
            "other.read_all",
            "files.write",
        ];
        let scopes: Vec<Scope> = patterns
            .iter()
            .map(|pattern| Scope::parse([*pattern]).unwrap())
            .chain([Scope::everything()])
            .collect();
        let index = ScopeIndex::of(&scopes);
        for (server, tool) in [
            ("files", "read_all"),
            ("files", "read_é"),
            ("files", "é"),
            ("files", ""),
            ("a", "b.c"),
            ("a.b", "c"),
            ("x", "read_"),
        ] {
            let tool = ToolId::new(server, tool);
            let found = index.candidates(&tool);
            assert!(found.is_sorted_by(|one, next| one < next));
            for (at, scope) in scopes.iter().enumerate() {
                assert!(
                    !scope.may_mean(&tool) || found.contains(&at),
                    "{tool}: {scope:?}"
                );
            }
        }
        let found = index.candidates(&ToolId::new("files", "read_all"));
        let named = |pattern| patterns.iter().position(|one| *one == pattern).unwrap();
        for other in [
            "a.b",
            "files.é*",
            "files.*é",
            "other.read_all",
            "files.write",
        ] {
            assert!(!found.contains(&named(other)), "{other}");
        }
    }

    #[test]
    fn ten_thousand_patterns_of_the_usual_forms_leave_few_to_try() {
        let forms: [fn(usize) -> String; 5] = [
            |n| format!("server{n}.*"),
            |n| format!("files.tool_{n}"),
            |n| format!("files.tool_{n}_*"),
            |n| format!("*.tool_{n}_*"),
            |n| format!("mcp__files__*_{n}_all"),
        ];
        for form in forms {
            let scopes: Vec<Scope> = (0..10_000)
                .map(|n| Scope::parse([form(n)]).unwrap())
                .collect();
            let index = ScopeIndex::of(&scopes);
            for tool in ["tool_7", "tool_7_all", "tool_77_77_all", "x"] {
                let found = index.candidates(&ToolId::new("files", tool));
                assert!(found.len() <= 5, "{tool}: {}", found.len());
            }
        }
    }
}
