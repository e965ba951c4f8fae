//! Resolution of the names in a program to tools, with suggestions for names that do not exist.

use std::sync::Arc;

use limbeck_domain::{CallCode, CallError, ServerName, ToolId, ToolTarget, text};

use crate::absence::AbsentServer;
use crate::bare_name::{self, BareName};
use crate::catalog::Catalog;
use crate::names;
use crate::nearest::{NEAREST_MAX, nearest, nearest_tools};
use crate::server::{Match, Off, ServerTools};
use crate::tool::Tool;

/// Bytes of a name shown in a message.
const NAME_SHOWN_BYTES_MAX: usize = 80;

impl Catalog {
    /// Finds the tool that a program names.
    ///
    /// With a server, exact names come first, then other styles of them: `readFile` or `read-file` for
    /// `read_file`. Without one, `target.tool` is a full name: `mcp__server__tool`, `server.tool` or
    /// `server/tool`. Where it can be split in several ways, exact names come before other styles, and two tools of
    /// the same rank are an error. A name without a server is that of a tool that exactly one server has, once the tools of
    /// all servers are known.
    ///
    /// # Errors
    ///
    /// [`ResolveError`], with similar names. A style that matches two names is an error too.
    pub fn resolve(&self, target: &ToolTarget) -> Result<Resolved, ResolveError> {
        resolve(self, target, Suggest::Nearest)
    }

    /// [`Catalog::resolve`] of a name with its server, when the indexes of names have both. `None` does not mean that there
    /// is no such tool: the look at all tools, which finds the others and similar names, is left to the caller.
    pub fn resolve_by_index(&self, target: &ToolTarget) -> Option<Resolved> {
        let name = target.server.as_deref()?;
        let (server, note) = server(self, name, Suggest::Nothing).ok()?;
        match server.find_by_index(&target.tool) {
            Match::Exact(_) | Match::Alias(_) => {
                tool(server, &target.tool, note, Suggest::Nothing).ok()
            }
            Match::Many(_) | Match::None => None,
        }
    }

    /// Every tool that a name says as it is written, whether or not there is one: several for a full name that can be
    /// split in several ways, none for a name without a server.
    pub fn readings(target: &ToolTarget) -> Vec<ToolId> {
        match &target.server {
            Some(server) => vec![ToolId::new(server.as_str(), target.tool.as_str())],
            None => splits(&target.tool)
                .map(|(server, tool)| ToolId::new(server, tool))
                .collect(),
        }
    }

    /// Finds the server that a program names, by the rules of [`Catalog::resolve`].
    ///
    /// # Errors
    ///
    /// [`ResolveError`], never one of its tool variants.
    pub fn resolve_server(&self, name: &str) -> Result<ServerName, ResolveError> {
        server(self, name, Suggest::Nearest).map(|(server, _)| server.name().clone())
    }
}

/// A resolved tool.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The tool.
    pub tool: Arc<Tool>,
    /// Note for the program's log when a name was resolved to another one.
    pub note: Option<String>,
}

/// Error of resolving a name to a tool or a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The catalog has no servers.
    #[error("no servers are configured")]
    NoServers,
    /// No server has the name.
    #[error("no server is called `{}`", shown(asked))]
    UnknownServer {
        /// The name as the program wrote it.
        asked: String,
        /// Servers with similar names, the most similar first.
        nearest: Vec<ServerName>,
        /// The servers there are, when none has a similar name.
        listed: ListedServers,
        /// Tools of other servers with the requested tool name, those of servers with similar names first.
        elsewhere: Vec<ToolId>,
    },
    /// The name is a style of several server names.
    #[error("`{}` is ambiguous: it matches {}", shown(asked), list(candidates.iter().map(ServerName::as_str)))]
    AmbiguousServer {
        /// The name as the program wrote it.
        asked: String,
        /// Matching servers.
        candidates: Vec<ServerName>,
    },
    /// The server has no tool of this name, as far as its list is known.
    #[error("{}", unknown_tool(server.as_ref(), asked))]
    UnknownTool {
        /// The server, when the program named one.
        server: Option<ServerName>,
        /// The name as the program wrote it.
        asked: String,
        /// Tools with similar names, the most similar first.
        nearest: Vec<ToolId>,
    },
    /// The full name can be split into server and tool in several ways.
    #[error(
        "`{}` is ambiguous: it is the full name of {}",
        shown(asked),
        list_calls(candidates)
    )]
    AmbiguousName {
        /// The name as the program wrote it.
        asked: String,
        /// Tools with this full name.
        candidates: Vec<ToolId>,
    },
    /// The name has no server, and a server other than that of the one known tool may have such a tool too.
    #[error(
        "`{}` may be a tool of another server: {}",
        shown(asked),
        others_of(unlisted, disabled)
    )]
    UncertainName {
        /// The name as the program wrote it.
        asked: String,
        /// The only known tool with the name.
        tool: ToolId,
        /// Servers whose tools are not known.
        unlisted: Vec<ServerName>,
        /// Disabled servers that had such a tool when they were last listed.
        disabled: Vec<ServerName>,
    },
    /// The server is in the configuration and must not be used.
    #[error("server `{}` cannot be used: {}", shown(server), absence.reason)]
    AbsentServer {
        /// The name as the program wrote it, which is the server's.
        server: String,
        /// Why it must not be used.
        absence: AbsentServer,
    },
    /// The server's entry switches the tool off, or it is held.
    #[error("{}", not_used(server, tool, *off))]
    SwitchedOff {
        /// The server.
        server: ServerName,
        /// The name as the program wrote it.
        tool: String,
        /// Why it is not used.
        off: Off,
        /// Tools of other servers that a name without a server fits as well.
        others: Vec<ToolId>,
    },
    /// The name is a style of several tool names of the server.
    #[error("`{}` is ambiguous: it matches {} of server `{server}`", shown(asked), list(candidates.iter().map(|id| &*id.tool)))]
    AmbiguousTool {
        /// The server.
        server: ServerName,
        /// The name as the program wrote it.
        asked: String,
        /// Matching tools.
        candidates: Vec<ToolId>,
    },
}

impl ResolveError {
    /// Server that may have the tool in a newer list.
    pub fn server_to_ask(&self) -> Option<&ServerName> {
        match self {
            Self::UnknownTool { server, .. } => server.as_ref(),
            Self::NoServers
            | Self::UnknownServer { .. }
            | Self::AmbiguousServer { .. }
            | Self::AmbiguousName { .. }
            | Self::UncertainName { .. }
            | Self::AbsentServer { .. }
            | Self::SwitchedOff { .. }
            | Self::AmbiguousTool { .. } => None,
        }
    }

    /// Whether the tool is held.
    pub fn is_of_held_tool(&self) -> bool {
        matches!(self, Self::SwitchedOff { off: Off::Held, .. })
    }

    /// Whether the name is ambiguous and the alias that an earlier Python system gave the first of the tools.
    pub(crate) fn is_of_aliases(&self) -> bool {
        match self {
            Self::AmbiguousTool {
                asked, candidates, ..
            } => candidates
                .iter()
                .all(|tool| names::earlier_alias(&tool.tool) == *asked),
            Self::NoServers
            | Self::UnknownServer { .. }
            | Self::UnknownTool { .. }
            | Self::AmbiguousServer { .. }
            | Self::AmbiguousName { .. }
            | Self::UncertainName { .. }
            | Self::AbsentServer { .. }
            | Self::SwitchedOff { .. } => false,
        }
    }

    /// The next step, when there is one to name.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoServers => {
                Some("the user adds one with `limbeck add` or `limbeck import FILE`".into())
            }
            Self::UnknownServer {
                nearest,
                listed,
                elsewhere,
                ..
            } => unknown_server_hint(nearest, listed, elsewhere),
            Self::UnknownTool { nearest, .. } => {
                (!nearest.is_empty()).then(|| format!("try {}", list_calls(nearest)))
            }
            Self::AmbiguousServer { candidates, .. } => candidates.first().map(|server| {
                format!(
                    "write the name exactly, as in `tools[{}]`",
                    names::quoted(server.as_str())
                )
            }),
            Self::AmbiguousTool { candidates, .. } | Self::AmbiguousName { candidates, .. } => {
                Some(format!("write one exactly: {}", list_calls(candidates)))
            }
            Self::UncertainName { tool, .. } => Some(format!(
                "write `{}` if you mean the tool of server `{}`",
                names::call_expression(tool.server.as_str(), &tool.tool),
                shown(tool.server.as_str())
            )),
            Self::AbsentServer { absence, .. } => absence.hint.clone(),
            Self::SwitchedOff {
                server,
                off: Off::Held,
                ..
            } => Some(format!(
                "the user looks at the change with `limbeck pins diff {}` and accepts or rejects it; use another tool meanwhile",
                shown(server.as_str())
            )),
            Self::SwitchedOff { server, others, .. } => Some(match others.as_slice() {
                [] => format!("the user switched it off; use another tool of `{server}`"),
                others => format!(
                    "the user switched it off; if you mean another, write it with its server: {}",
                    list_calls(others)
                ),
            }),
        }
    }

    pub(crate) fn code(&self) -> CallCode {
        match self {
            Self::NoServers | Self::UnknownServer { .. } | Self::AmbiguousServer { .. } => {
                CallCode::UnknownServer
            }
            Self::UnknownTool { .. }
            | Self::AmbiguousTool { .. }
            | Self::AmbiguousName { .. }
            | Self::UncertainName { .. } => CallCode::UnknownTool,
            Self::AbsentServer { .. } => CallCode::ServerUnavailable,
            Self::SwitchedOff { .. } => CallCode::Denied,
        }
    }
}

impl From<ResolveError> for CallError {
    fn from(error: ResolveError) -> Self {
        let mut call = Self::new(error.code(), error.to_string());
        call.hint = error.hint();
        match error {
            ResolveError::NoServers => {}
            ResolveError::UnknownServer { asked, .. }
            | ResolveError::AmbiguousServer { asked, .. } => {
                call.server = Some(shown(&asked));
            }
            ResolveError::UnknownTool { server, asked, .. } => {
                call.server = server.map(|server| server.to_string());
                call.tool = Some(shown(&asked));
            }
            ResolveError::AmbiguousName { asked, .. }
            | ResolveError::UncertainName { asked, .. } => call.tool = Some(shown(&asked)),
            ResolveError::AbsentServer { server, .. } => call.server = Some(shown(&server)),
            ResolveError::SwitchedOff { server, tool, .. } => {
                call.server = Some(server.to_string());
                call.tool = Some(shown(&tool));
            }
            ResolveError::AmbiguousTool { server, asked, .. } => {
                call.server = Some(server.to_string());
                call.tool = Some(shown(&asked));
            }
        }
        call
    }
}

fn not_used(server: &ServerName, tool: &str, off: Off) -> String {
    let tool = shown(tool);
    match off {
        Off::ByEntry => format!("tool `{tool}` is switched off in the entry of server `{server}`"),
        Off::Held => format!(
            "tool `{tool}` of server `{server}` is held: its definition is not one that was accepted"
        ),
    }
}

/// The first servers of a catalog and the number of all, for a name that is similar to no server's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedServers {
    /// The first servers by name.
    pub first: Vec<ServerName>,
    /// Number of all servers.
    pub count: usize,
}

/// Whether an error has suggestions. Finding similar names costs more than finding that a name does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suggest {
    Nearest,
    Nothing,
}

impl Suggest {
    fn tools<'c>(self, tools: impl Iterator<Item = &'c Arc<Tool>>, name: &str) -> Vec<ToolId> {
        match self {
            Self::Nearest => nearest_tools(tools.map(|tool| tool.id()), name),
            Self::Nothing => Vec::new(),
        }
    }

    /// Error of a server name that does not exist; `tool` is the tool that was requested of it.
    fn unknown_server(self, catalog: &Catalog, name: &str, tool: Option<&str>) -> ResolveError {
        let nearest = match self {
            Self::Nearest => nearest_servers(catalog, name),
            Self::Nothing => Vec::new(),
        };
        let listed = match self {
            Self::Nearest if nearest.is_empty() => ListedServers::of(catalog),
            Self::Nearest | Self::Nothing => ListedServers::default(),
        };
        let elsewhere = match (self, tool) {
            (Self::Nearest, Some(tool)) => elsewhere(catalog, tool, &nearest),
            (Self::Nearest | Self::Nothing, _) => Vec::new(),
        };
        ResolveError::UnknownServer {
            asked: name.to_owned(),
            nearest,
            listed,
            elsewhere,
        }
    }
}

pub(crate) fn resolve(
    catalog: &Catalog,
    target: &ToolTarget,
    suggest: Suggest,
) -> Result<Resolved, ResolveError> {
    match &target.server {
        // Suggestions are made once, with the tool.
        Some(name) => match server(catalog, name, Suggest::Nothing) {
            Ok((server, note)) => tool(server, &target.tool, note, suggest),
            Err(ResolveError::UnknownServer { .. }) => {
                Err(suggest.unknown_server(catalog, name, Some(&target.tool)))
            }
            Err(error) => Err(error),
        },
        None => full_name(catalog, &target.tool, suggest),
    }
}

/// Servers without known tools that `target` may name. Their tools must be listed before the name can be resolved.
pub(crate) fn unlisted(catalog: &Catalog, target: &ToolTarget) -> Vec<ServerName> {
    if target.server.is_none()
        && let Err(ResolveError::UncertainName { unlisted, .. }) =
            resolve(catalog, target, Suggest::Nothing)
    {
        return unlisted;
    }
    let named: Vec<&str> = match &target.server {
        Some(server) => vec![server],
        // Any server may have a tool of a name without a server.
        None if splits(&target.tool).next().is_none() => {
            if resolve(catalog, target, Suggest::Nothing).is_ok() {
                return Vec::new();
            }
            let names = catalog.servers().map(|server| server.name().as_str());
            names.collect()
        }
        // Also where one split resolves: a server that was not listed yet may have a tool of the same full name.
        None => splits(&target.tool).map(|(server, _)| server).collect(),
    };
    named
        .into_iter()
        .filter_map(|name| server(catalog, name, Suggest::Nothing).ok())
        .filter(|(server, _)| server.tools().is_empty())
        .map(|(server, _)| server.name().clone())
        .collect()
}

/// Finds the server that `name` means, with a note when its name is written differently.
pub(crate) fn server<'c>(
    catalog: &'c Catalog,
    name: &str,
    suggest: Suggest,
) -> Result<(&'c ServerTools, Option<String>), ResolveError> {
    match find_server(catalog, name) {
        Match::Exact(server) => Ok((server, None)),
        Match::Alias(server) => Ok((server, Some(note(name, server.name().as_str())))),
        Match::Many(servers) => Err(ResolveError::AmbiguousServer {
            asked: name.to_owned(),
            candidates: servers.iter().map(|server| server.name().clone()).collect(),
        }),
        Match::None if let Some(absence) = catalog.absent(name) => {
            Err(ResolveError::AbsentServer {
                server: name.to_owned(),
                absence: absence.clone(),
            })
        }
        Match::None if catalog.has_no_server() => Err(ResolveError::NoServers),
        Match::None => Err(suggest.unknown_server(catalog, name, None)),
    }
}

fn find_server<'c>(catalog: &'c Catalog, name: &str) -> Match<&'c ServerTools> {
    if let Some(server) = catalog.server(&ServerName::from(name)) {
        return Match::Exact(server);
    }
    let identifier = catalog
        .servers()
        .filter(|server| names::identifier(server.name().as_str()) == name);
    let mut fitting = identifier.collect::<Vec<_>>();
    if fitting.is_empty() {
        let fold = names::style(name);
        if fold.is_empty() {
            return Match::None;
        }
        fitting = catalog
            .servers()
            .filter(|server| folds_to(server.name().as_str(), &fold))
            .collect();
    }
    match fitting.as_slice() {
        [] => Match::None,
        [server] => Match::Alias(server),
        _ => Match::Many(fitting),
    }
}

fn folds_to(name: &str, fold: &str) -> bool {
    names::fold(name) == fold || names::fold(&names::identifier(name)) == fold
}

fn tool(
    server: &ServerTools,
    name: &str,
    note_so_far: Option<String>,
    suggest: Suggest,
) -> Result<Resolved, ResolveError> {
    match server.find(name) {
        Match::Exact(tool) => Ok(Resolved {
            tool: Arc::clone(tool),
            note: note_so_far,
        }),
        // It counts as taken: a name that is a style of it must not run another tool in its place.
        Match::Alias(_) | Match::Many(_) | Match::None if let Some(off) = server.off(name) => {
            Err(ResolveError::SwitchedOff {
                server: server.name().clone(),
                tool: name.to_owned(),
                off,
                others: Vec::new(),
            })
        }
        Match::Alias(tool) => {
            let tool_note = note(name, &tool.id().tool);
            let note = match note_so_far {
                Some(server_note) => format!("{server_note}, {tool_note}"),
                None => tool_note,
            };
            Ok(Resolved {
                tool: Arc::clone(tool),
                note: Some(note),
            })
        }
        Match::Many(tools) => Err(ResolveError::AmbiguousTool {
            server: server.name().clone(),
            asked: name.to_owned(),
            candidates: tools.iter().map(|tool| tool.id().clone()).collect(),
        }),
        Match::None => match without_server_name(server, name) {
            Some(own) => tool(server, own, Some(note(name, own)), suggest),
            None => Err(ResolveError::UnknownTool {
                server: Some(server.name().clone()),
                asked: name.to_owned(),
                nearest: suggest.tools(server.tools().iter(), name),
            }),
        },
    }
}

/// The name of a tool behind the name of its server, as generated functions have it: `filesystem_readFile`.
fn without_server_name<'n>(server: &ServerTools, name: &'n str) -> Option<&'n str> {
    // As with a full name, each separator costs a lookup.
    let name = text::cut(name, 4 * NAME_SHOWN_BYTES_MAX);
    let wanted = names::fold(server.name().as_str());
    let ends = name.match_indices('_').map(|(at, _)| at);
    let mut ends = ends.filter(|at| !wanted.is_empty() && names::fold(&name[..*at]) == wanted);
    ends.find_map(|at| {
        let own = name[at..].trim_start_matches('_');
        let is_known = !matches!(server.find(own), Match::None) || server.is_switched_off(own);
        (!own.is_empty() && is_known).then_some(own)
    })
}

/// Resolves `mcp__server__tool`, `server.tool` and `server/tool`. Exact names of server and tool come before other
/// styles; of two tools with the same rank neither is taken, because the program may mean the other one.
fn full_name(catalog: &Catalog, name: &str, suggest: Suggest) -> Result<Resolved, ResolveError> {
    let mut first_error = None;
    let (mut exact, mut alike) = (Vec::<Resolved>::new(), Vec::<Resolved>::new());
    let (mut exact_off, mut alike_off) = (None, None);
    for (server_name, tool_name) in splits(name) {
        let found = match server(catalog, server_name, Suggest::Nothing) {
            Ok((server, note)) => tool(server, tool_name, note, suggest),
            Err(ResolveError::UnknownServer { .. } | ResolveError::NoServers) => continue,
            Err(error) => Err(error),
        };
        match found {
            Ok(resolved) => {
                let rank = match &resolved.note {
                    None => &mut exact,
                    Some(_) => &mut alike,
                };
                // Overlapping separators lead to one tool in two styles.
                if rank
                    .iter()
                    .all(|other| other.tool.id() != resolved.tool.id())
                {
                    rank.push(resolved);
                }
            }
            Err(error) => {
                if let ResolveError::SwitchedOff { server, .. } = &error {
                    let off = if is_exactly_off(catalog, server, server_name, tool_name) {
                        &mut exact_off
                    } else {
                        &mut alike_off
                    };
                    off.get_or_insert_with(|| error.clone());
                }
                first_error = first_error.or(Some(error));
            }
        }
    }
    // A tool that is switched off counts as one that the name can mean.
    let off = if exact.is_empty() {
        exact_off.or(alike_off)
    } else {
        exact_off
    };
    if let Some(error) = off {
        return Err(error);
    }
    let mut found = if exact.is_empty() { alike } else { exact };
    match found.len() {
        0 => {
            if let Some(error) = first_error {
                return Err(error);
            }
            match bare_name::find(catalog, name) {
                BareName::Tool(tool) => {
                    let note = Some(note(name, &tool.id().to_string()));
                    Ok(Resolved { tool, note })
                }
                BareName::SwitchedOff { server, others } => {
                    let tools = catalog.server(&server);
                    Err(ResolveError::SwitchedOff {
                        off: tools
                            .and_then(|tools| tools.off(name))
                            .unwrap_or(Off::ByEntry),
                        server,
                        tool: name.to_owned(),
                        others,
                    })
                }
                BareName::Uncertain {
                    tool,
                    unlisted,
                    disabled,
                } => Err(ResolveError::UncertainName {
                    asked: name.to_owned(),
                    tool,
                    unlisted,
                    disabled,
                }),
                BareName::Unknown => Err(unknown_full_name(catalog, name, suggest)),
            }
        }
        1 => Ok(found.remove(0)),
        _ => Err(ResolveError::AmbiguousName {
            asked: name.to_owned(),
            candidates: found
                .iter()
                .map(|resolved| resolved.tool.id().clone())
                .collect(),
        }),
    }
}

/// Whether both names are as they are in the entry of `server`, which switches the tool off.
fn is_exactly_off(catalog: &Catalog, server: &ServerName, written: &str, tool: &str) -> bool {
    server.as_str() == written
        && catalog
            .server(server)
            .is_some_and(|server| server.has_switched_off(tool))
}

fn unknown_full_name(catalog: &Catalog, name: &str, suggest: Suggest) -> ResolveError {
    match splits(name).last() {
        _ if catalog.has_no_server() => ResolveError::NoServers,
        Some((server, tool)) => suggest.unknown_server(catalog, server, Some(tool)),
        None => ResolveError::UnknownTool {
            server: None,
            asked: name.to_owned(),
            nearest: suggest.tools(catalog.tools(), name),
        },
    }
}

/// Every split of a full name into server and tool, the longest server name first.
fn splits(name: &str) -> impl DoubleEndedIterator<Item = (&str, &str)> {
    // Each separator costs one lookup, so the name is cut first.
    let name = text::cut(name, 4 * NAME_SHOWN_BYTES_MAX);
    let (rest, separators): (&str, &'static [&'static str]) = match name.strip_prefix("mcp__") {
        Some(rest) => (rest, &["__"]),
        None => (name, &[".", "/", "__"]),
    };
    let mut at = separators
        .iter()
        .flat_map(|separator| overlapping(rest, separator).map(|at| (at, separator.len())))
        .filter(|(at, len)| *at > 0 && at + len < rest.len())
        .collect::<Vec<_>>();
    at.sort_unstable();
    at.into_iter()
        .rev()
        .map(|(at, len)| (&rest[..at], &rest[at + len..]))
}

/// Offsets of `separator` in `text`, overlaps included: `a___b` splits into `a`/`_b` and `a_`/`b`.
fn overlapping<'t>(text: &'t str, separator: &'t str) -> impl Iterator<Item = usize> + 't {
    text.char_indices()
        .map(|(at, _)| at)
        .filter(move |at| text[*at..].starts_with(separator))
}

/// Tools of any server with the name `name`, in any style; those of `similar` servers first.
fn elsewhere(catalog: &Catalog, name: &str, similar: &[ServerName]) -> Vec<ToolId> {
    let found = catalog
        .servers()
        .filter_map(|server| match server.find(name) {
            Match::Exact(tool) | Match::Alias(tool) => Some(tool.id()),
            Match::Many(_) | Match::None => None,
        });
    let mut found: Vec<&ToolId> = found.collect();
    let rank = |id: &ToolId| similar.iter().position(|server| *server == id.server);
    found.sort_by_key(|id| rank(id).unwrap_or(similar.len()));
    found.into_iter().take(NEAREST_MAX).cloned().collect()
}

fn nearest_servers(catalog: &Catalog, name: &str) -> Vec<ServerName> {
    let servers = catalog
        .servers()
        .map(|server| (server.name().as_str(), server.name()));
    nearest(name, servers).into_iter().cloned().collect()
}

impl ListedServers {
    fn of(catalog: &Catalog) -> Self {
        let servers = catalog.servers().map(|server| server.name().clone());
        Self {
            first: servers.take(NEAREST_MAX).collect(),
            count: catalog.servers().len(),
        }
    }
}

/// Next step for a server name that does not exist.
///
/// Another server may have chosen the name of a tool, or its own name, to be taken for the one that was meant. So the hint
/// says that a tool is another server's and leaves it to the reader to call it.
fn unknown_server_hint(
    nearest: &[ServerName],
    listed: &ListedServers,
    elsewhere: &[ToolId],
) -> Option<String> {
    let mut parts = Vec::new();
    // A server of a similar name is probably the one that was meant.
    let (near, elsewhere): (Vec<ToolId>, Vec<ToolId>) = elsewhere
        .iter()
        .cloned()
        .partition(|tool| nearest.contains(&tool.server));
    if !nearest.is_empty() {
        let names = list(nearest.iter().map(ServerName::as_str));
        let calls = if near.is_empty() {
            String::new()
        } else {
            format!(", try {}", list_calls(&near))
        };
        parts.push(format!("servers with a similar name: {names}{calls}"));
    }
    if !elsewhere.is_empty() {
        let calls = list_calls(&elsewhere);
        parts.push(format!(
            "other servers have a tool of this name, call it only if you mean that server: {calls}"
        ));
    }
    if parts.is_empty() && !listed.first.is_empty() {
        let names = list(listed.first.iter().map(ServerName::as_str));
        let more = match listed.count.saturating_sub(listed.first.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        parts.push(format!("configured servers: {names}{more}"));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn note(written: &str, meant: &str) -> String {
    format!("`{}` resolved to `{}`", shown(written), shown(meant))
}

fn shown(name: &str) -> String {
    names::comment_line(name, NAME_SHOWN_BYTES_MAX)
}

fn unknown_tool(server: Option<&ServerName>, asked: &str) -> String {
    match server {
        Some(server) => format!("server `{server}` has no tool `{}`", shown(asked)),
        None => format!(
            "`{}` is not a tool name; write `server.tool` or `mcp__server__tool`",
            shown(asked)
        ),
    }
}

/// Why servers may have a tool of a name without a server.
fn others_of(unlisted: &[ServerName], disabled: &[ServerName]) -> String {
    let some = |servers: &[ServerName]| {
        let named = list(servers.iter().take(NEAREST_MAX).map(ServerName::as_str));
        match servers.len().saturating_sub(NEAREST_MAX) {
            0 => named,
            more => format!("{named} and {more} more"),
        }
    };
    let mut parts = Vec::new();
    if !unlisted.is_empty() {
        parts.push(format!("the tools of {} are not known", some(unlisted)));
    }
    if !disabled.is_empty() {
        let is = if disabled.len() == 1 { "is" } else { "are" };
        let named = some(disabled);
        parts.push(format!(
            "{named} had one when last listed and {is} disabled"
        ));
    }
    parts.join("; ")
}

fn list<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names
        .map(|name| format!("`{}`", shown(name)))
        .collect::<Vec<_>>()
        .join(", ")
}

fn list_calls(ids: &[ToolId]) -> String {
    ids.iter()
        .take(NEAREST_MAX)
        .map(|id| format!("`{}`", names::call_expression(id.server.as_str(), &id.tool)))
        .collect::<Vec<_>>()
        .join(", ")
}
