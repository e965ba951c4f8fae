//! What is around a read: whether an absent part may matter, and what the program has in its place.

use ruff_python_ast::{AnyNodeRef, BoolOp, Stmt};
use ruff_text_size::Ranged;

use crate::bounds::ALTERNATIVE_STEPS_MAX;
use crate::python::flow::CallFlow;
use crate::python::tree::{NodeId, id};
use crate::result_part::ResultPart;

impl CallFlow<'_, '_> {
    /// Whether nothing is wrong where a part is absent: the program makes it itself, raises it, or reads it only to decide
    /// whether to end here, as in `if r.get("error"): raise …`.
    pub(super) fn asks(&self, node: NodeId, part: &ResultPart) -> bool {
        part.path.iter().any(|name| self.facts.assigns_member(name)) || self.is_guard(node)
    }

    fn is_guard(&self, node: NodeId) -> bool {
        let mut around = self.tree.climb(node).take(ALTERNATIVE_STEPS_MAX);
        if around.any(|(parent, _)| parent.is_stmt_raise()) {
            return true;
        }
        for (parent, below) in self.tree.climb(node).take(ALTERNATIVE_STEPS_MAX) {
            match parent {
                AnyNodeRef::ExprBoolOp(_) => {}
                AnyNodeRef::StmtIf(branch) if id(&*branch.test) == below => {
                    let last = branch.body.last();
                    return matches!(last, Some(Stmt::Raise(_) | Stmt::Return(_)));
                }
                _ => return false,
            }
        }
        false
    }

    /// The number of the alternatives that a part is one of, as in `r.get("a") or r.get("b")`: where the outermost `or` ends.
    /// 0 for none.
    pub(super) fn either(&self, node: NodeId) -> u32 {
        let mut number = 0;
        for (parent, below) in self.tree.climb(node).take(ALTERNATIVE_STEPS_MAX) {
            match parent {
                AnyNodeRef::ExprBoolOp(either) if either.op == BoolOp::Or => {
                    number = u32::from(either.end());
                }
                _ if number != 0 => return number,
                AnyNodeRef::ExprAttribute(_) => {}
                AnyNodeRef::ExprCall(call) if id(&*call.func) == below => {}
                AnyNodeRef::ExprSubscript(item) if id(&*item.value) == below => {}
                _ => return 0,
            }
        }
        number
    }
}
