//! Calls in functions that a program never mentions, or only names without calling them: they are never made.

use ruff_python_ast::{AnyNodeRef, ExprName};

use super::CallFlow;
use crate::python::tree::{NodeId, id};

/// Functions that a program is run by.
const ENTRIES: [&str; 2] = ["main", "run"];

impl CallFlow<'_, '_> {
    /// Whether a call is in a function outside of classes, without decorators, that the program never calls or passes on.
    pub(in crate::python) fn is_idle(&self, call: NodeId) -> bool {
        let mut idle = false;
        for (around, _) in self.tree.climb(call) {
            match around {
                AnyNodeRef::StmtClassDef(_) => return false,
                AnyNodeRef::StmtFunctionDef(function) => {
                    let name = &*function.name.id;
                    idle |= function.decorator_list.is_empty()
                        && self.facts.times_bound(name) == 1
                        && self
                            .tree
                            .uses(name)
                            .iter()
                            .all(|name| self.is_only_named(name))
                        && !ENTRIES.contains(&name);
                }
                _ => {}
            }
        }
        idle
    }

    /// Whether a name is a statement of its own, so that nothing is done with what it means.
    fn is_only_named(&self, name: &ExprName) -> bool {
        let around = self.tree.parent_node(id(name));
        around.is_some_and(|around| around.is_stmt_expr())
    }
}
