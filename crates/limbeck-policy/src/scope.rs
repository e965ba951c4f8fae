//! Scope of an execution: the tools it may use.

use std::collections::HashSet;
use std::fmt;

use limbeck_domain::{ServerName, ToolId};

use crate::pattern::{Form, Subject, only_reading, readings as meanings};
use crate::{Denied, ModelAction};

/// One pattern: two names and a prefix.
const PATTERN_BYTES_MAX: usize = 512;
/// Patterns of one request.
const PATTERNS_MAX: usize = 256;

/// The tools an execution may use: everything, or what a list of patterns matches.
///
/// A pattern is `server.tool` or `mcp__server__tool`; `*` matches any number of characters in
/// either part, a name without a dot means all tools of that server, and `*` alone means
/// everything. Names are compared exactly, letter case included.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Scope {
    patterns: Option<Vec<String>>,
    /// For each pattern the place of the reading that counts where a tool is allowed, and `None` where several could. Set when
    /// the servers are known.
    only: Option<Vec<Option<usize>>>,
}

/// Leaves out what the servers make of the patterns: the text of a rule depends on its files alone.
impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("patterns", &self.patterns)
            .finish()
    }
}

/// A pattern that can mean tools of several servers of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmbiguousPattern {
    /// The pattern.
    pub pattern: String,
    /// Patterns of one meaning each.
    pub meanings: Vec<String>,
}

/// Error of [`Scope::parse`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// A pattern is empty.
    #[error("empty tool pattern")]
    Empty,
    /// A pattern is longer than any pair of names.
    #[error("tool pattern of {bytes} bytes, at most {PATTERN_BYTES_MAX} are allowed")]
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// There are too many patterns.
    #[error("more than {PATTERNS_MAX} tool patterns")]
    TooMany,
}

impl Scope {
    /// A scope of every tool.
    pub fn everything() -> Self {
        Self::default()
    }

    /// A scope of the tools that `patterns` match; an empty list matches none.
    ///
    /// # Errors
    ///
    /// [`PatternError`] for an empty or overlong pattern, or too many of them.
    pub fn parse<I, P>(patterns: I) -> Result<Self, PatternError>
    where
        I: IntoIterator<Item = P>,
        P: AsRef<str>,
    {
        let mut parsed = Vec::new();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            if pattern.is_empty() {
                return Err(PatternError::Empty);
            }
            if pattern.len() > PATTERN_BYTES_MAX {
                return Err(PatternError::TooLong {
                    bytes: pattern.len(),
                });
            }
            if parsed.len() == PATTERNS_MAX {
                return Err(PatternError::TooMany);
            }
            parsed.push(pattern.to_owned());
        }
        Ok(Self {
            patterns: Some(parsed),
            only: None,
        })
    }

    /// Its patterns; `None` when nothing limits it.
    pub fn patterns(&self) -> Option<&[String]> {
        self.patterns.as_deref()
    }

    /// Whether no pattern limits it.
    pub fn is_everything(&self) -> bool {
        self.patterns.is_none()
    }

    /// The same patterns, read with the servers of a configuration.
    pub fn resolved(mut self, servers: &HashSet<ServerName>) -> Self {
        let only =
            |pattern: &String| only_reading(pattern, |reading| exists(reading.server, servers));
        self.only = self
            .patterns
            .as_ref()
            .map(|patterns| patterns.iter().map(only).collect());
        self
    }

    /// Whether some reading of some pattern is about `tool`. For what denies or asks.
    pub fn may_mean(&self, tool: &ToolId) -> bool {
        self.patterns.as_ref().is_none_or(|patterns| {
            let mut all = patterns.iter().flat_map(|pattern| meanings(pattern));
            all.any(|reading| reading.matches(tool))
        })
    }

    /// Whether a pattern is about `tool` and can mean nothing else. For what allows.
    pub fn means(&self, tool: &ToolId, subject: Subject) -> bool {
        let Some(patterns) = &self.patterns else {
            return true;
        };
        patterns.iter().enumerate().any(|(at, pattern)| {
            let only = match &self.only {
                Some(only) => only.get(at).copied().flatten(),
                None => only_reading(pattern, |_| false),
            };
            let reading = only.and_then(|only| meanings(pattern).nth(only));
            reading.is_some_and(|reading| reading.allows(tool, subject))
        })
    }

    /// Patterns that can mean tools of several of these servers.
    pub fn ambiguous_among(&self, servers: &HashSet<ServerName>) -> Vec<AmbiguousPattern> {
        let patterns = self.patterns.iter().flatten();
        let found = patterns.filter_map(|pattern| {
            let possible = meanings(pattern)
                .filter(|reading| reading.form != Form::Loose && exists(reading.server, servers));
            let meanings: Vec<String> = possible.map(|reading| reading.exact()).collect();
            (meanings.len() > 1).then(|| AmbiguousPattern {
                pattern: pattern.clone(),
                meanings,
            })
        });
        found.collect()
    }

    /// Whether some reading of some pattern is about tools of `server`.
    pub fn may_reach(&self, server: &str) -> bool {
        self.patterns.as_ref().is_none_or(|patterns| {
            let mut all = patterns.iter().flat_map(|pattern| meanings(pattern));
            all.any(|reading| reading.reaches(server))
        })
    }

    /// Whether some pattern could match a tool of `server`.
    pub fn reaches(&self, server: &str) -> bool {
        let Some(patterns) = &self.patterns else {
            return true;
        };
        patterns.iter().any(|pattern| may_match(pattern, server))
    }

    /// Whether the execution may use `tool`.
    pub fn covers(&self, tool: &ToolId) -> bool {
        let Some(patterns) = &self.patterns else {
            return true;
        };
        patterns.iter().any(|pattern| matches(pattern, tool))
    }

    /// Patterns that match nothing of what there is: none of `tools`, and no server of `unlisted`, whose tools are not
    /// known yet.
    pub fn unmatched(&self, tools: &[&ToolId], unlisted: &[&ServerName]) -> Vec<&str> {
        let models = [ModelAction::Ask.tool(), ModelAction::Think.tool()];
        let is_matched = |pattern: &str| {
            // No list has these either.
            if models.iter().any(|tool| matches(pattern, tool)) {
                return true;
            }
            // Methods such as `resources/read` are in no list of tools.
            let may_be_method = pattern.contains('/');
            tools.iter().any(|tool| {
                matches(pattern, tool) || may_be_method && may_match(pattern, tool.server.as_str())
            }) || unlisted
                .iter()
                .any(|server| may_match(pattern, server.as_str()))
        };
        let patterns = self.patterns.iter().flatten().map(String::as_str);
        patterns.filter(|pattern| !is_matched(pattern)).collect()
    }

    /// A pattern without wildcards that is the full name of several tools, and these tools: `mcp__a__b__c` of `a.b__c` and
    /// of `a__b.c`. Its author means one of them and [`Scope::covers`] matches both. `may_exist` returns whether there
    /// can be such a tool.
    pub fn ambiguous_pattern(
        &self,
        may_exist: impl Fn(&ToolId) -> bool,
    ) -> Option<(&str, Vec<ToolId>)> {
        let patterns = self.patterns.iter().flatten().map(String::as_str);
        let mut full_names = patterns.filter(|pattern| !pattern.contains('*'));
        full_names.find_map(|pattern| {
            let tools: Vec<ToolId> = readings(pattern).filter(|tool| may_exist(tool)).collect();
            (tools.len() > 1).then_some((pattern, tools))
        })
    }

    /// The pattern that matches `tool` alone: `server.tool`, or the full name where the dots of the names would make that
    /// ambiguous.
    pub fn pattern_of(tool: &ToolId) -> String {
        let dotted = tool.to_string();
        match dotted.matches('.').count() {
            1 => dotted,
            _ => format!("mcp__{}__{}", tool.server, tool.tool),
        }
    }

    /// Refuses a tool that the execution may not use.
    ///
    /// # Errors
    ///
    /// [`Denied::OutOfScope`] when no pattern matches.
    pub fn allows(&self, tool: &ToolId) -> Result<(), Denied> {
        if self.covers(tool) {
            return Ok(());
        }
        Err(Denied::OutOfScope { tool: tool.clone() })
    }
}

/// Whether one of `servers` fits the pattern of a name.
fn exists(pattern: &str, servers: &HashSet<ServerName>) -> bool {
    match pattern.contains('*') {
        true => servers.iter().any(|server| glob(pattern, server.as_str())),
        false => servers.contains(&ServerName::from(pattern)),
    }
}

/// What a pattern of an execution's scope can match: a pattern of servers with one of tools, or with `None` where it is about all
/// tools.
fn parts(pattern: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let (pattern, separator) = split_form(pattern);
    let mut parted = pattern.match_indices(separator).peekable();
    let whole = parted.peek().is_none().then_some((pattern, None));
    whole.into_iter().chain(parted.map(move |(at, _)| {
        let tool = &pattern[at + separator.len()..];
        (&pattern[..at], Some(tool))
    }))
}

/// A pattern without `mcp__`, and the separator of its names.
fn split_form(pattern: &str) -> (&str, &'static str) {
    match pattern.strip_prefix("mcp__") {
        Some(rest) => (rest, "__"),
        None => (pattern, "."),
    }
}

/// Matches server and tool each against its own part of the pattern, and tries every separator as the border: names
/// may contain separators, and a `*` must not match across the border.
fn matches(pattern: &str, tool: &ToolId) -> bool {
    let (server, name) = (tool.server.as_str(), &*tool.tool);
    parts(pattern).any(|(of_server, of_tool)| {
        glob(of_server, server) && of_tool.is_none_or(|of_tool| glob(of_tool, name))
    })
}

/// The tools that a pattern without wildcards matches: one for each separator that may be the border.
fn readings(pattern: &str) -> impl Iterator<Item = ToolId> {
    let (pattern, separator) = split_form(pattern);
    pattern
        .match_indices(separator)
        .map(move |(at, _)| ToolId::new(&pattern[..at], &pattern[at + separator.len()..]))
}

/// Whether a pattern matches some name of a tool of `server`.
fn may_match(pattern: &str, server: &str) -> bool {
    parts(pattern).any(|(of_server, _)| glob(of_server, server))
}

/// Matches `*` against any run of characters, everything else against itself.
///
/// Greedy with a single backtracking point, so the time is at most `pattern.len() * text.len()`.
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        if p < pattern.len() && pattern[p] == b'*' {
            retry = Some((p + 1, t));
            p += 1;
        } else if p < pattern.len() && pattern[p] == text[t] {
            p += 1;
            t += 1;
        } else if let Some((after_star, from)) = retry {
            p = after_star;
            t = from + 1;
            retry = Some((after_star, from + 1));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_does_not_reach_from_one_name_into_the_other() {
        let covers = |pattern: &str, server: &str, tool: &str| {
            let scope = Scope::parse([pattern]).unwrap();
            scope.covers(&ToolId::new(server, tool))
        };
        assert!(covers("*.read_*", "files", "read_all"));
        assert!(!covers("*.read_*", "files", "delete.read_all"));
        assert!(covers("shop.list_*", "shop", "list_all"));
        assert!(!covers("shop.list_*", "shop.list_all", "delete"));
        assert!(covers("shop.eu.list", "shop.eu", "list"));
        assert!(covers("mcp__shop__list_*", "shop", "list_all"));
        assert!(!covers("mcp__shop__list_*", "shop__list_all", "delete"));
    }

    #[test]
    fn a_scope_reaches_the_servers_of_its_patterns_and_no_others() {
        let reaches =
            |pattern: &str, server: &str| Scope::parse([pattern]).unwrap().reaches(server);
        for pattern in [
            "files",
            "files.read_*",
            "mcp__files__read",
            "*",
            "f*.x",
            "files.a.b",
        ] {
            assert!(reaches(pattern, "files"), "{pattern}");
            assert!(!reaches(pattern, "vault") || pattern == "*", "{pattern}");
        }
        assert!(reaches("shop.eu.list", "shop.eu") && reaches("shop.eu.list", "shop"));
        assert!(!Scope::parse::<_, &str>([]).unwrap().reaches("files"));
        assert!(Scope::everything().reaches("files"));
        // It reaches every server whose tools it covers.
        for pattern in ["*.read_*", "mcp__*", "my-server.*"] {
            let scope = Scope::parse([pattern]).unwrap();
            assert!(scope.covers(&ToolId::new("my-server", "read_file")));
            assert!(scope.reaches("my-server"), "{pattern}");
        }
    }

    #[test]
    fn patterns_match_dotted_and_full_names_with_wildcards() {
        let tool = ToolId::new("my-server", "read_file");
        for pattern in [
            "*",
            "my-server",
            "my-server.*",
            "my-server.read_file",
            "*.read_*",
            "mcp__my-server__*",
            "mcp__*",
            "mcp__my-server__read_file",
        ] {
            assert!(Scope::parse([pattern]).unwrap().covers(&tool), "{pattern}");
        }
        for pattern in [
            "my-serve",
            "my-server.write_*",
            "mcp__other__*",
            "My-Server.*",
        ] {
            assert!(!Scope::parse([pattern]).unwrap().covers(&tool), "{pattern}");
        }
    }

    #[test]
    fn no_list_allows_everything_and_an_empty_list_nothing() {
        let tool = ToolId::new("a", "b");
        assert!(Scope::everything().covers(&tool));
        assert!(!Scope::parse::<_, &str>([]).unwrap().covers(&tool));
    }

    #[test]
    fn a_pattern_that_matches_nothing_is_found_and_one_that_may_match_is_not() {
        let tools = [
            ToolId::new("shop", "list_orders"),
            ToolId::new("my.shop", "pay"),
        ];
        let tools: Vec<&ToolId> = tools.iter().collect();
        let files = ServerName::from("files");
        let unlisted = [&files];
        let unmatched = |pattern: &str| {
            let scope = Scope::parse([pattern]).unwrap();
            !scope.unmatched(&tools, &unlisted).is_empty()
        };
        for pattern in [
            "shp.*",
            "shop.lst_*",
            "mcp__shp__pay",
            "file",
            "fils.read",
            "sho.resources/*",
        ] {
            assert!(unmatched(pattern), "{pattern}");
        }
        for pattern in [
            "*",
            "shop",
            "shop.list_*",
            "my.shop.pay",
            "mcp__shop__list_*",
            "files.anything",
            "mcp__files__anything",
            "f*.read",
            "shop.resources/*",
        ] {
            assert!(!unmatched(pattern), "{pattern}");
        }
        assert_eq!(Scope::everything().unmatched(&[], &[]), [""; 0]);
        let scope = Scope::parse(["shop", "shp", "fils"]).unwrap();
        assert_eq!(scope.unmatched(&tools, &unlisted), ["shp", "fils"]);
    }

    #[test]
    fn a_full_name_of_two_tools_is_found_and_other_patterns_are_not() {
        let tools = [
            ToolId::new("a", "b__c"),
            ToolId::new("a__b", "c"),
            ToolId::new("shop", "eu.list"),
            ToolId::new("shop.eu", "list"),
        ];
        let ambiguous = |pattern: &str| {
            let scope = Scope::parse(["x.y", pattern]).unwrap();
            let found = scope.ambiguous_pattern(|tool| tools.contains(tool));
            found.map(|(found, of)| {
                assert_eq!(found, pattern);
                assert!(of.iter().all(|tool| scope.covers(tool)));
                let exact = of.iter().map(Scope::pattern_of);
                exact.collect::<Vec<_>>().join(" ")
            })
        };
        assert_eq!(ambiguous("mcp__a__b__c").as_deref(), Some("a.b__c a__b.c"));
        assert_eq!(
            ambiguous("shop.eu.list").as_deref(),
            Some("mcp__shop__eu.list mcp__shop.eu__list")
        );
        // The controls: each exact form, wildcards, and a name of which only one reading exists.
        for pattern in [
            "a.b__c",
            "a__b.c",
            "mcp__shop__eu.list",
            "mcp__shop.eu__list",
            "mcp__a__*",
            "a",
            "*",
            "mcp__a__b__d",
        ] {
            assert_eq!(ambiguous(pattern), None, "{pattern}");
        }
        let one = Scope::parse(["mcp__a__b__c"]).unwrap();
        assert_eq!(one.ambiguous_pattern(|tool| *tool == tools[1]), None);
        assert_eq!(Scope::everything().ambiguous_pattern(|_| true), None);
    }

    #[test]
    fn hostile_patterns_are_rejected_or_matched_in_bounded_time() {
        assert_eq!(Scope::parse([""]), Err(PatternError::Empty));
        assert!(matches!(
            Scope::parse(["x".repeat(513)]),
            Err(PatternError::TooLong { bytes: 513 })
        ));
        assert_eq!(Scope::parse(vec!["a"; 257]), Err(PatternError::TooMany));
        let stars = "*a".repeat(200);
        assert!(!glob(&stars, &"a".repeat(199)));
    }

    fn resolved(pattern: &str, servers: &[&str]) -> Scope {
        let servers = servers.iter().map(|name| ServerName::from(*name)).collect();
        Scope::parse([pattern]).unwrap().resolved(&servers)
    }

    #[test]
    fn what_denies_is_about_each_meaning_and_what_allows_about_the_only_one() {
        let servers = ["x", "x.y", "a", "a__b", "io.github.acme/bank", "mcp__m"];
        let tool = ToolId::new;
        for (pattern, may_mean, means) in [
            ("x.y.z", vec![tool("x.y", "z"), tool("x", "y.z")], vec![]),
            (
                "mcp__a__b__c",
                vec![tool("a__b", "c"), tool("a", "b__c")],
                vec![],
            ),
            ("x.y", vec![tool("x", "y"), tool("x.y", "any")], vec![]),
            ("x.y.*", vec![tool("x.y", "any"), tool("x", "y.z")], vec![]),
            // The controls: one meaning among these servers.
            (
                "io.github.acme/bank",
                vec![tool("io.github.acme/bank", "pay")],
                vec![tool("io.github.acme/bank", "pay")],
            ),
            (
                "mcp__x.y__z",
                vec![tool("x.y", "z")],
                vec![tool("x.y", "z")],
            ),
            ("a__b.c", vec![tool("a__b", "c")], vec![tool("a__b", "c")]),
            (
                "x.*",
                vec![tool("x", "y"), tool("x.y", "z")],
                vec![tool("x", "y")],
            ),
            (
                "io.github.*",
                vec![tool("io.github.acme/bank", "pay")],
                vec![],
            ),
            (
                "mcp__m.pay",
                vec![tool("mcp__m", "pay")],
                vec![tool("mcp__m", "pay")],
            ),
            ("*.pay", vec![tool("a", "pay")], vec![tool("a", "pay")]),
            ("x", vec![tool("x", "y.z")], vec![tool("x", "y.z")]),
        ] {
            let scope = resolved(pattern, &servers);
            for tool in &may_mean {
                assert!(scope.may_mean(tool), "{pattern} {tool}");
                let expected = means.contains(tool);
                assert_eq!(
                    scope.means(tool, Subject::Tool),
                    expected,
                    "{pattern} {tool}"
                );
            }
            assert!(!scope.may_mean(&tool("other", "thing")), "{pattern}");
        }
        // Without the other server the pattern is clear.
        let clear = resolved("x.y.z", &["x.y"]);
        assert!(clear.means(&tool("x.y", "z"), Subject::Tool));
        assert!(!clear.means(&tool("x", "y.z"), Subject::Tool));
        let names = ["x", "x.y"].map(ServerName::from).into();
        let ambiguous = clear.ambiguous_among(&names);
        assert_eq!(ambiguous[0].meanings, ["mcp__x__y.z", "mcp__x.y__z"]);
    }

    #[test]
    fn a_pattern_of_methods_allows_no_tool_of_such_a_name() {
        let named = ToolId::new("x", "resources/purge");
        let allowed = |pattern: &str, subject| resolved(pattern, &["x"]).means(&named, subject);
        assert!(!allowed("x.resources/*", Subject::Tool));
        assert!(!allowed("mcp__x__resources/purge", Subject::Tool));
        assert!(resolved("x.resources/*", &["x"]).may_mean(&named));
        assert!(allowed("x.resources/*", Subject::Read));
        assert!(allowed("x.*", Subject::Tool) && allowed("x", Subject::Tool));
    }
}
