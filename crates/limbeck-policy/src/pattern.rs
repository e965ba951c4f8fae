//! What a pattern of tools can mean.
//!
//! Names of servers and tools may have dots and `__` in them, so the text of a pattern alone does not say where the one ends and the
//! other begins: `x.y.z` is the tool `z` of the server `x.y` and the tool `y.z` of `x`, and `x.y` may be a server. Each of these
//! is a [`Reading`]. A rule that denies or asks is about all that some reading matches; one that allows is about a tool only where
//! the servers of the configuration leave one reading.

use limbeck_domain::ToolId;

use crate::scope::glob;

/// Beginnings of the names of methods that read resources, prompts and completions.
const READ_METHODS: [&str; 3] = ["resources/", "prompts/", "completion/"];

/// One meaning of a pattern: a pattern of servers with one of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading<'a> {
    pub(crate) server: &'a str,
    /// `None` where it is about all tools of the server.
    pub(crate) tool: Option<&'a str>,
    /// How the pattern comes to mean it.
    pub(crate) form: Form,
}

/// How a pattern comes to have a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `server.tool`, `mcp__server__tool`, or a name without a separator: what the author most likely means.
    Usual,
    /// The name of a server that has separators in it, or that begins with `mcp__`.
    Name,
    /// Such a name with a `*`, which elsewhere never reaches from a server into its tools.
    Loose,
}

/// What a call is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A tool.
    Tool,
    /// A method such as `resources/read`. A server may list a tool of the same name.
    Read,
}

impl<'a> Reading<'a> {
    pub(crate) fn matches(&self, tool: &ToolId) -> bool {
        self.reaches(tool.server.as_str()) && self.tool.is_none_or(|name| glob(name, &tool.tool))
    }

    pub(crate) fn reaches(&self, server: &str) -> bool {
        glob(self.server, server)
    }

    /// Whether it allows what it matches: a pattern of methods allows no tool of the same name.
    pub(crate) fn allows(&self, tool: &ToolId, subject: Subject) -> bool {
        let is_of_methods = self
            .tool
            .is_some_and(|name| READ_METHODS.iter().any(|start| name.starts_with(start)));
        self.matches(tool) && (subject == Subject::Read || !is_of_methods)
    }

    /// The pattern with this meaning alone, where the names have no `__`.
    pub(crate) fn exact(&self) -> String {
        format!("mcp__{}__{}", self.server, self.tool.unwrap_or("*"))
    }
}

/// All meanings of a pattern.
pub(crate) fn readings(pattern: &str) -> impl Iterator<Item = Reading<'_>> {
    let full = pattern.strip_prefix("mcp__");
    let usual = match full {
        Some(rest) => of_form(rest, "__", Form::Usual),
        None => of_form(pattern, ".", Form::Usual),
    };
    // A server may have a name that begins with `mcp__`.
    let dotted = full.map(|_| of_form(pattern, ".", Form::Name));
    usual.chain(dotted.into_iter().flatten())
}

fn of_form<'a>(
    text: &'a str,
    separator: &'static str,
    form: Form,
) -> impl Iterator<Item = Reading<'a>> {
    let splits = text.match_indices(separator).map(move |(at, _)| Reading {
        server: &text[..at],
        tool: Some(&text[at + separator.len()..]),
        form,
    });
    let has_star = text.contains('*');
    let whole_form = match (text.contains(separator), has_star) {
        (false, _) if form == Form::Usual => Form::Usual,
        (_, false) => Form::Name,
        (_, true) => Form::Loose,
    };
    // With a star at both ends it would mean nearly every server.
    let is_name = whole_form != Form::Loose || !(text.starts_with('*') && text.ends_with('*'));
    let whole = is_name.then_some(Reading {
        server: text,
        tool: None,
        form: whole_form,
    });
    splits.chain(whole)
}

/// The place of the one reading that counts for a rule that allows, among servers of which `exists` knows. `None` where several do.
pub(crate) fn only_reading(pattern: &str, exists: impl Fn(&Reading<'_>) -> bool) -> Option<usize> {
    let strict = || {
        readings(pattern)
            .enumerate()
            .filter(|(_, it)| it.form != Form::Loose)
    };
    let mut of_servers = strict().filter(|(_, reading)| exists(reading));
    match (of_servers.next(), of_servers.next()) {
        (Some((at, _)), None) => return Some(at),
        (Some(_), Some(_)) => return None,
        (None, _) => {}
    }
    // No server has such a name, or none is known: the text alone has to leave no doubt.
    let mut usual = strict().filter(|(_, reading)| reading.form == Form::Usual);
    match (usual.next(), usual.next()) {
        (Some((at, _)), None) => Some(at),
        _ => None,
    }
}
