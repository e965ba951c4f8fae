//! Tools that a program names without their server: `tools.read_file(…)`.

use std::sync::Arc;

use limbeck_domain::{ServerName, ToolId};

use crate::catalog::Catalog;
use crate::server::Match;
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
    /// No tool, or one of several.
    Unknown,
}

/// The tool called `name` when exactly one server has one. A tool with exactly this name comes before one with another
/// style of it. A tool that is switched off counts: the program may mean it, and another one would run in its place.
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
    let fitting = if exact.is_empty() { alias } else { exact };
    match (fitting.tools.as_slice(), fitting.switched_off) {
        ([one], None) => BareName::Tool(Arc::clone(one)),
        (others, Some(server)) => BareName::SwitchedOff {
            server: server.clone(),
            others: others.iter().map(|tool| tool.id().clone()).collect(),
        },
        (_, None) => BareName::Unknown,
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
