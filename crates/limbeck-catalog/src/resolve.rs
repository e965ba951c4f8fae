//! Finds the tool a program means, or says which ones there are.

use std::sync::Arc;

use limbeck_domain::{CallCode, CallError, ServerName, ToolId, ToolTarget, text};

use crate::catalog::Catalog;
use crate::names;
use crate::nearest::{NEAREST_MAX, nearest, nearest_tools};
use crate::server::{Match, ServerTools};
use crate::tool::Tool;

/// Bytes of a name that is repeated in a message.
const NAME_SHOWN_BYTES_MAX: usize = 80;

/// A tool that was found.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The tool.
    pub tool: Arc<Tool>,
    /// Says, for the program's log, that a name was read as another one.
    pub note: Option<String>,
}

/// Why no tool, or no single tool, is meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// There is nothing to call at all.
    #[error("no servers are configured")]
    NoServers,
    /// No server has this name.
    #[error("no server is called `{}`", shown(asked))]
    UnknownServer {
        /// The name as the program wrote it.
        asked: String,
        /// Servers with a name like it, nearest first.
        nearest: Vec<ServerName>,
        /// Tools of other servers that the program may have meant.
        elsewhere: Vec<ToolId>,
    },
    /// The name fits several servers, none of them verbatim.
    #[error("`{}` may be any of {}", shown(asked), list(candidates.iter().map(ServerName::as_str)))]
    AmbiguousServer {
        /// The name as the program wrote it.
        asked: String,
        /// The servers it fits.
        candidates: Vec<ServerName>,
    },
    /// The server has no tool of this name, as far as its list is known.
    #[error("{}", unknown_tool(server.as_ref(), asked))]
    UnknownTool {
        /// The server, when one was named.
        server: Option<ServerName>,
        /// The name as the program wrote it.
        asked: String,
        /// Tools with a name like it, nearest first.
        nearest: Vec<ToolId>,
    },
    /// The name fits several tools of the server, none of them verbatim.
    #[error("`{}` may be any of {} of server `{server}`", shown(asked), list(candidates.iter().map(|id| &*id.tool)))]
    AmbiguousTool {
        /// The server.
        server: ServerName,
        /// The name as the program wrote it.
        asked: String,
        /// The tools it fits.
        candidates: Vec<ToolId>,
    },
}

impl ResolveError {
    /// The server whose list, asked anew, may still hold the tool.
    pub fn server_to_ask(&self) -> Option<&ServerName> {
        match self {
            Self::UnknownTool { server, .. } => server.as_ref(),
            Self::NoServers
            | Self::UnknownServer { .. }
            | Self::AmbiguousServer { .. }
            | Self::AmbiguousTool { .. } => None,
        }
    }

    /// The error without tools that `may_call` refuses: nobody is told of what they may not use.
    #[must_use]
    pub fn suggesting(mut self, may_call: impl Fn(&ToolId) -> bool) -> Self {
        match &mut self {
            Self::UnknownServer { elsewhere, .. } => elsewhere.retain(may_call),
            Self::UnknownTool { nearest, .. } => nearest.retain(may_call),
            Self::AmbiguousTool { candidates, .. } => candidates.retain(may_call),
            Self::NoServers | Self::AmbiguousServer { .. } => {}
        }
        self
    }

    /// The next step, when there is one to name.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoServers => Some(
                "add a server to the configuration; `limbeck tools` says where it is looked for"
                    .into(),
            ),
            Self::UnknownServer {
                nearest, elsewhere, ..
            } if !elsewhere.is_empty() => {
                let calls = list_calls(elsewhere);
                Some(match nearest.as_slice() {
                    [] => format!("call {calls}"),
                    _ => format!(
                        "call {calls}; servers with a like name: {}",
                        list(nearest.iter().map(ServerName::as_str))
                    ),
                })
            }
            Self::UnknownServer { nearest, .. } => {
                hint_from(&list(nearest.iter().map(ServerName::as_str)))
            }
            Self::UnknownTool { nearest, .. } => hint_from(&list_calls(nearest)),
            Self::AmbiguousServer { candidates, .. } => candidates.first().map(|server| {
                format!(
                    "write the name exactly, as in `tools[{}]`",
                    names::quoted(server.as_str())
                )
            }),
            Self::AmbiguousTool { candidates, .. } => {
                Some(format!("write one exactly: {}", list_calls(candidates)))
            }
        }
    }

    pub(crate) fn code(&self) -> CallCode {
        match self {
            Self::NoServers | Self::UnknownServer { .. } | Self::AmbiguousServer { .. } => {
                CallCode::UnknownServer
            }
            Self::UnknownTool { .. } | Self::AmbiguousTool { .. } => CallCode::UnknownTool,
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
            ResolveError::AmbiguousTool { server, asked, .. } => {
                call.server = Some(server.to_string());
                call.tool = Some(shown(&asked));
            }
        }
        call
    }
}

/// Whether an error looks for names like the one that is not there, which costs more than finding out
/// that it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suggest {
    Nearest,
    Nothing,
}

impl Suggest {
    fn tools<'c>(self, tools: impl Iterator<Item = &'c Arc<Tool>>, name: &str) -> Vec<ToolId> {
        match self {
            Self::Nearest => nearest_tools(tools, name),
            Self::Nothing => Vec::new(),
        }
    }

    fn servers(self, catalog: &Catalog, name: &str) -> Vec<ServerName> {
        match self {
            Self::Nearest => nearest_servers(catalog, name),
            Self::Nothing => Vec::new(),
        }
    }

    fn elsewhere(self, catalog: &Catalog, name: &str) -> Vec<ToolId> {
        match self {
            Self::Nearest => elsewhere(catalog, name),
            Self::Nothing => Vec::new(),
        }
    }
}

pub(crate) fn resolve(
    catalog: &Catalog,
    target: &ToolTarget,
    suggest: Suggest,
) -> Result<Resolved, ResolveError> {
    if catalog.servers().len() == 0 {
        return Err(ResolveError::NoServers);
    }
    match &target.server {
        Some(name) => match server(catalog, name, suggest) {
            Ok((server, note)) => tool(server, &target.tool, note, suggest),
            Err(ResolveError::UnknownServer { asked, nearest, .. }) => {
                Err(ResolveError::UnknownServer {
                    asked,
                    nearest,
                    elsewhere: suggest.elsewhere(catalog, &target.tool),
                })
            }
            Err(error) => Err(error),
        },
        None => full_name(catalog, &target.tool, suggest),
    }
}

/// The servers without a tool that a call of `target` may mean: nothing is known of them until they are
/// asked for their list.
pub(crate) fn unlisted(catalog: &Catalog, target: &ToolTarget) -> Vec<ServerName> {
    let named: Vec<&str> = match &target.server {
        Some(server) => vec![server],
        None if resolve(catalog, target, Suggest::Nothing).is_ok() => Vec::new(),
        None => splits(&target.tool).map(|(server, _)| server).collect(),
    };
    named
        .into_iter()
        .filter_map(|name| server(catalog, name, Suggest::Nothing).ok())
        .filter(|(server, _)| server.tools().is_empty())
        .map(|(server, _)| server.name().clone())
        .collect()
}

/// The server meant by `name`, and a note when it was written otherwise.
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
        Match::None if catalog.servers().len() == 0 => Err(ResolveError::NoServers),
        Match::None => Err(ResolveError::UnknownServer {
            asked: name.to_owned(),
            nearest: suggest.servers(catalog, name),
            elsewhere: Vec::new(),
        }),
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
        Match::None => Err(ResolveError::UnknownTool {
            server: Some(server.name().clone()),
            asked: name.to_owned(),
            nearest: suggest.tools(server.tools().iter(), name),
        }),
    }
}

/// Reads `mcp__server__tool`, `server.tool` and `server/tool`, the longest server first.
fn full_name(catalog: &Catalog, name: &str, suggest: Suggest) -> Result<Resolved, ResolveError> {
    let mut first_error = None;
    for (server_name, tool_name) in splits(name) {
        let found = match server(catalog, server_name, suggest) {
            Ok((server, note)) => tool(server, tool_name, note, suggest),
            Err(ResolveError::UnknownServer { .. }) => continue,
            Err(error) => Err(error),
        };
        match found {
            Ok(resolved) => return Ok(resolved),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(first_error.unwrap_or_else(|| unknown_full_name(catalog, name, suggest)))
}

fn unknown_full_name(catalog: &Catalog, name: &str, suggest: Suggest) -> ResolveError {
    match splits(name).last() {
        Some((server, tool)) => ResolveError::UnknownServer {
            asked: server.to_owned(),
            nearest: suggest.servers(catalog, server),
            elsewhere: suggest.elsewhere(catalog, tool),
        },
        None => ResolveError::UnknownTool {
            server: None,
            asked: name.to_owned(),
            nearest: suggest.tools(catalog.tools(), name),
        },
    }
}

/// Every way to part a full name into server and tool, the longest server first.
fn splits(name: &str) -> impl DoubleEndedIterator<Item = (&str, &str)> {
    // A name is cut before it is searched, so that a hostile one costs no more than a long one.
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

/// Where `separator` starts in `text`, overlaps included: `a___b` parts as `a`/`_b` and `a_`/`b`.
fn overlapping<'t>(text: &'t str, separator: &'t str) -> impl Iterator<Item = usize> + 't {
    text.char_indices()
        .map(|(at, _)| at)
        .filter(move |at| text[*at..].starts_with(separator))
}

/// Tools of any server that `name` may stand for: of this very name first, then like it.
fn elsewhere(catalog: &Catalog, name: &str) -> Vec<ToolId> {
    let found = catalog
        .servers()
        .filter_map(|server| match server.find(name) {
            Match::Exact(tool) | Match::Alias(tool) => Some(tool.id().clone()),
            Match::Many(_) | Match::None => None,
        });
    found.take(NEAREST_MAX).collect()
}

fn nearest_servers(catalog: &Catalog, name: &str) -> Vec<ServerName> {
    let servers = catalog
        .servers()
        .map(|server| (server.name().as_str(), server.name()));
    let near = nearest(name, servers);
    if near.is_empty() {
        // Nothing is like it: telling which servers there are is still the next step.
        return catalog
            .servers()
            .take(NEAREST_MAX)
            .map(|server| server.name().clone())
            .collect();
    }
    near.into_iter().cloned().collect()
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
            "`{}` names no tool; a full name is `server.tool` or `mcp__server__tool`",
            shown(asked)
        ),
    }
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

fn hint_from(names: &str) -> Option<String> {
    (!names.is_empty()).then(|| format!("there is {names}"))
}
