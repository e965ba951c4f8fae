//! Names of tools that look like others, or that pass for tools of other servers.

use std::collections::HashMap;
use std::sync::Arc;

use limbeck_domain::ServerName;
use limbeck_domain::text::quoted;
use limbeck_policy::pins::ToolNames;

use crate::lookalike::skeleton;

/// Bytes of a name that a message shows.
const SHOWN_BYTES_MAX: usize = 80;

/// A tool and when it was first listed.
#[derive(Clone, Debug)]
struct Known {
    server: ServerName,
    tool: Arc<str>,
    first_us: u64,
}

/// Names of all servers and tools.
#[derive(Debug, Default)]
pub(crate) struct KnownNames {
    /// Servers by what their name looks like.
    servers: HashMap<String, Vec<ServerName>>,
    /// Tools by their exact name.
    tools: HashMap<Arc<str>, Vec<Known>>,
    /// Tools by what their name looks like, and the exact names.
    looks: HashMap<String, Vec<Known>>,
}

impl KnownNames {
    /// A server of the configuration.
    pub(crate) fn add_server(&mut self, server: &ServerName) {
        let look = skeleton(server.as_str()).into_owned();
        let alike = self.servers.entry(look).or_default();
        if !alike.contains(server) {
            alike.push(server.clone());
        }
    }

    /// A tool that was first listed at `first_us`.
    pub(crate) fn add(&mut self, server: &ServerName, tool: &Arc<str>, first_us: u64) {
        let known = Known {
            server: server.clone(),
            tool: Arc::clone(tool),
            first_us,
        };
        let looks = self.looks.entry(skeleton(tool).into_owned()).or_default();
        looks.push(known.clone());
        self.tools.entry(Arc::clone(tool)).or_default().push(known);
    }

    /// What is wrong with the name of a tool, as a fragment. `is_new` is whether it was not in the first list of its server:
    /// only then another tool may not have exactly the name.
    pub(crate) fn problem(
        &self,
        server: &ServerName,
        tool: &Arc<str>,
        first_us: u64,
        is_new: bool,
    ) -> Option<String> {
        let shown = |name: &str| quoted(name, SHOWN_BYTES_MAX);
        if let Some(other) = self.full_name(server, tool) {
            return Some(format!(
                "its name is that of {} of server {} with the server before it",
                shown(&other.tool),
                shown(other.server.as_str())
            ));
        }
        let look = skeleton(tool);
        let alike = self.looks.get(&*look).into_iter().flatten();
        let mut alike = alike.filter(|other| {
            // Of two names that look alike, that of the tool that was there before is the right one.
            other.tool != *tool
                && (other.first_us, is_odd(&other.tool), &other.tool)
                    < (first_us, is_odd(tool), tool)
        });
        if let Some(other) = alike.next() {
            return Some(format!(
                "its name looks like {} of server {}",
                shown(&other.tool),
                shown(other.server.as_str())
            ));
        }
        let imitated = self.servers.get(&*look).into_iter().flatten();
        let mut imitated =
            imitated.filter(|other| *other != server && (is_new || other.as_str() != &**tool));
        if let Some(other) = imitated.next() {
            return Some(format!(
                "its name is, or looks like, that of server {}",
                shown(other.as_str())
            ));
        }
        let same = self.tools.get(tool).into_iter().flatten();
        let mut same = same.filter(|other| other.server != *server && other.first_us <= first_us);
        match same.next() {
            Some(other) if is_new => Some(format!(
                "it is new and has the name of a tool of server {}",
                shown(other.server.as_str())
            )),
            Some(_) | None => None,
        }
    }

    /// The tool of another server whose full name this is.
    fn full_name(&self, server: &ServerName, tool: &str) -> Option<&Known> {
        let name = tool.strip_prefix("mcp__").unwrap_or(tool);
        let splits = ["__", ".", "/", ":"].into_iter().flat_map(|separator| {
            let at = name.match_indices(separator);
            at.map(|(at, separator)| (&name[..at], &name[at + separator.len()..]))
        });
        for (of, own) in splits {
            let known = self.tools.get(own).into_iter().flatten();
            let mut known = known.filter(|known| known.server != *server);
            if let Some(known) = known.find(|known| known.server.as_str() == of) {
                return Some(known);
            }
        }
        None
    }
}

impl ToolNames for KnownNames {
    fn has_other(&self, name: &str, own: &str) -> bool {
        name != own && self.tools.contains_key(name)
    }
}

/// Whether a name has other letters than those of ASCII, which most imitations have.
fn is_odd(name: &str) -> bool {
    !name.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(tools: &[(&str, &str, u64)]) -> KnownNames {
        let mut names = KnownNames::default();
        for (server, tool, first_us) in tools {
            let server = ServerName::from(*server);
            names.add_server(&server);
            names.add(&server, &Arc::from(*tool), *first_us);
        }
        names
    }

    fn problem(
        names: &KnownNames,
        server: &str,
        tool: &str,
        first_us: u64,
        is_new: bool,
    ) -> String {
        let problem = names.problem(
            &ServerName::from(server),
            &Arc::from(tool),
            first_us,
            is_new,
        );
        problem.unwrap_or_default()
    }

    #[test]
    fn of_two_names_that_look_alike_the_later_one_is_wrong() {
        // A Cyrillic letter in the place of `a`.
        let twin = "re\u{430}d";
        let names = known(&[("files", "read", 1), ("evil", twin, 2), ("evil", "list", 2)]);
        assert!(problem(&names, "evil", twin, 2, false).contains("looks like \"read\""));
        assert_eq!(problem(&names, "files", "read", 1, false), "");
        assert_eq!(problem(&names, "evil", "list", 2, true), "");
        // In one list it is the one with the foreign letter.
        let names = known(&[("files", "read", 1), ("evil", twin, 1)]);
        assert_eq!(problem(&names, "files", "read", 1, false), "");
        assert_ne!(problem(&names, "evil", twin, 1, false), "");
    }

    #[test]
    fn a_name_of_another_server_or_its_tool_is_wrong() {
        let names = known(&[("files", "read", 1), ("mail", "send", 1)]);
        for full in [
            "mcp__files__read",
            "files__read",
            "files.read",
            "files/read",
        ] {
            assert!(
                problem(&names, "mail", full, 1, false).contains("of server \"files\""),
                "{full}"
            );
        }
        assert_eq!(problem(&names, "files", "files.read", 1, true), "");
        assert_eq!(problem(&names, "mail", "files.other", 1, true), "");
        assert!(problem(&names, "mail", "f\u{456}les", 1, false).contains("server \"files\""));
    }

    #[test]
    fn the_same_name_is_wrong_only_for_a_tool_that_came_later() {
        let names = known(&[("files", "search", 1), ("web", "search", 2)]);
        assert_eq!(problem(&names, "web", "search", 2, false), "");
        assert!(problem(&names, "web", "search", 2, true).contains("it is new"));
        assert_eq!(problem(&names, "files", "search", 1, true), "");
    }
}
