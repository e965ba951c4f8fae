//! Tools that a program names without their server: `tools.read_file(…)`.

use std::sync::Arc;

use limbeck_domain::{ServerName, ToolId};

use crate::catalog::Catalog;
use crate::server::{Match, is_style};
use crate::tool::Tool;

/// What a name without a server means.
pub(crate) enum BareName {
    /// The tool that exactly one server has.
    Tool(Arc<Tool>),
    /// A tool that the entry of `server` switches off. `others` are tools of other servers that the name fits as well:
    /// the program must name one exactly.
    SwitchedOff {
        server: ServerName,
        others: Vec<ToolId>,
    },
    /// A tool that is the only known one with the name, while another server may have one too: its list is not known, or
    /// it is disabled and its last known list has the name.
    Uncertain {
        tool: ToolId,
        unlisted: Vec<ServerName>,
        disabled: Vec<ServerName>,
    },
    /// No tool, or one of several.
    Unknown,
}

/// The tool called `name` when exactly one server has one, which takes the lists of all servers to know: the program may
/// mean the tool of a server that does not start, and a like-named one would get its arguments. A tool with exactly this
/// name comes before one with another style of it. A tool that is switched off counts, and so does one of a disabled server.
pub(crate) fn find(catalog: &Catalog, name: &str) -> BareName {
    let (mut exact, mut alias) = (Fitting::default(), Fitting::default());
    for server in catalog.servers() {
        match server.find(name) {
            Match::Exact(tool) => exact.tools.push(tool),
            Match::Alias(tool) => alias.tools.push(tool),
            // As good as two servers with the name.
            Match::Many(tools) => alias.tools.extend(tools),
            Match::None => {}
        }
        if server.has_switched_off(name) {
            exact.switched_off.get_or_insert(server.name());
        } else if server.is_switched_off(name) {
            alias.switched_off.get_or_insert(server.name());
        }
    }
    let is_exact = !exact.is_empty();
    let fitting = if is_exact { exact } else { alias };
    match (fitting.tools.as_slice(), fitting.switched_off) {
        ([one], None) => certain(catalog, name, one, is_exact),
        (others, Some(server)) => BareName::SwitchedOff {
            server: server.clone(),
            others: others.iter().map(|tool| tool.id().clone()).collect(),
        },
        (_, None) => BareName::Unknown,
    }
}

/// `tool`, unless a server whose tools are not known, or a disabled one, may have a tool that `name` fits as well.
fn certain(catalog: &Catalog, name: &str, tool: &Arc<Tool>, is_exact: bool) -> BareName {
    let unlisted: Vec<ServerName> = catalog
        .servers()
        .filter(|server| !server.is_listed())
        .map(|server| server.name().clone())
        .collect();
    let fits = |other: &str| other == name || (!is_exact && is_style(other, name));
    let absent = catalog.absences().servers.iter();
    let disabled: Vec<ServerName> = absent
        .filter(|(_, absence)| absence.tools.iter().any(|other| fits(other)))
        .map(|(server, _)| server.clone())
        .collect();
    if unlisted.is_empty() && disabled.is_empty() {
        return BareName::Tool(Arc::clone(tool));
    }
    BareName::Uncertain {
        tool: tool.id().clone(),
        unlisted,
        disabled,
    }
}

/// Tools that a name fits equally well.
#[derive(Default)]
struct Fitting<'c> {
    tools: Vec<&'c Arc<Tool>>,
    /// The first server that has a switched-off one.
    switched_off: Option<&'c ServerName>,
}

impl Fitting<'_> {
    fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.switched_off.is_none()
    }
}
