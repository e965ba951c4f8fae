//! Rules of a server's entry about which of its tools exist for programs and clients.

/// Tools of one server that its entry allows. The default allows every tool.
///
/// A pattern is a tool's exact name, in which `*` matches any characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolRules {
    /// Lists of patterns: a tool must match one pattern of each list. An empty list matches no tool.
    pub only: Vec<Vec<String>>,
    /// Patterns of tools that are switched off, even where `only` allows them.
    pub except: Vec<String>,
}

impl ToolRules {
    /// Patterns of one server's entry, all lists together: as many as a server may have tools.
    pub const PATTERNS_MAX: usize = crate::limits::TOOLS_PER_SERVER_MAX;

    /// Whether every tool is allowed.
    pub fn allow_everything(&self) -> bool {
        self.only.is_empty() && self.except.is_empty()
    }

    /// Whether the tool `name` exists for programs and clients.
    pub fn allows(&self, name: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, name));
        self.only.iter().all(|patterns| any(patterns)) && !any(&self.except)
    }
}

/// Whether `name` matches `pattern`, in time proportional to the product of their lengths.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut p, mut n) = (0, 0);
    // Position after the last `*`, and how much of the name it matches so far.
    let mut star = None;
    while n < name.len() {
        if p < pattern.len() && pattern[p] == b'*' {
            p += 1;
            star = Some((p, n));
        } else if p < pattern.len() && pattern[p] == name[n] {
            p += 1;
            n += 1;
        } else if let Some((after, taken)) = star {
            p = after;
            n = taken + 1;
            star = Some((after, n));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(patterns: &[&str]) -> Vec<String> {
        patterns.iter().map(|&pattern| pattern.to_owned()).collect()
    }

    #[test]
    fn a_pattern_is_an_exact_name_or_has_wildcards() {
        for (pattern, name, expected) in [
            ("push", "push", true),
            ("push", "push_all", false),
            ("*", "", true),
            ("get_*", "get_log", true),
            ("*_log*", "get_log_of_log", true),
            ("a*b*c", "a1b2b3c", true),
            ("a*b*c", "a1b2b3", false),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_tool_must_be_in_every_list_and_not_be_switched_off() {
        let rules = ToolRules {
            only: vec![list(&["get_*", "push"]), list(&["*"])],
            except: list(&["get_secret"]),
        };
        assert!(rules.allows("get_log") && rules.allows("push"));
        assert!(!rules.allows("get_secret") && !rules.allows("commit"));
        assert!(ToolRules::default().allows("x"));
        let none = ToolRules {
            only: vec![Vec::new()],
            except: Vec::new(),
        };
        assert!(!none.allows("x") && !none.allow_everything());
    }
}
