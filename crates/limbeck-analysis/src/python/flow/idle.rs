//! Calls in functions that a program never mentions: they are never made.

use ruff_python_ast::AnyNodeRef;

use super::CallFlow;
use crate::python::tree::NodeId;

/// Functions that a program is run by.
const ENTRIES: [&str; 2] = ["main", "run"];

impl CallFlow<'_, '_> {
    /// Whether a call is in a function outside of classes, without decorators, that the program never mentions.
    pub(in crate::python) fn is_idle(&self, call: NodeId) -> bool {
        let mut idle = false;
        for (around, _) in self.tree.climb(call) {
            match around {
                AnyNodeRef::StmtClassDef(_) => return false,
                AnyNodeRef::StmtFunctionDef(function) => {
                    let name = &*function.name.id;
                    idle |= function.decorator_list.is_empty()
                        && self.facts.times_bound(name) == 1
                        && self.tree.uses(name).is_empty()
                        && !ENTRIES.contains(&name);
                }
                _ => {}
            }
        }
        idle
    }
}
