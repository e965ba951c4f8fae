//! Tools that a program names without their server: `tools.read_file(…)`.

use std::sync::Arc;

use crate::catalog::Catalog;
use crate::server::Match;
use crate::tool::Tool;

/// The tool called `name` when exactly one server has one. A tool with exactly this name comes before one with another
/// style of it.
pub(crate) fn find(catalog: &Catalog, name: &str) -> Option<Arc<Tool>> {
    let mut exact = Vec::new();
    let mut alias = Vec::new();
    for server in catalog.servers() {
        match server.find(name) {
            Match::Exact(tool) => exact.push(tool),
            Match::Alias(tool) => alias.push(tool),
            // As good as two servers with the name.
            Match::Many(tools) => alias.extend(tools),
            Match::None => {}
        }
    }
    match (exact.as_slice(), alias.as_slice()) {
        ([one], _) | ([], [one]) => Some(Arc::clone(one)),
        _ => None,
    }
}
