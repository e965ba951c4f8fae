//! Comparisons of a part with constant texts: `r["state"] == "open"`, `r.state in ("open", "new")`, `match r.state`.

use limbeck_domain::text::cut;
use ruff_python_ast::{AnyNodeRef, CmpOp, Expr, Pattern};
use ruff_text_size::Ranged;

use super::FoundReads;
use crate::bounds::{ALTERNATIVE_STEPS_MAX, COMPARED_BYTES_MAX, COMPARED_VALUES_MAX};
use crate::python::flow::CallFlow;
use crate::python::names::text;
use crate::python::tree::{NodeId, id};
use crate::result_part::ResultPart;
use crate::result_read::Comparison;

impl CallFlow<'_, '_> {
    /// Notes the constants with which the part at `node` is compared by `parent`, the node around it.
    pub(super) fn compared(
        &self,
        parent: AnyNodeRef<'_>,
        node: NodeId,
        part: &ResultPart,
        found: &mut FoundReads,
    ) {
        // A part that may be of another value is compared with the constants of both.
        let is_assigned = || part.path.iter().any(|name| self.facts.assigns_member(name));
        if part.is_shared || part.is_of_several || self.facts.changes_members() || is_assigned() {
            return;
        }
        let at = u32::from(self.tree.node(node).start());
        match parent {
            AnyNodeRef::ExprCompare(compared) => {
                let ([operator], [right]) = (&*compared.ops, &*compared.comparators) else {
                    return;
                };
                let is_left = id(&*compared.left) == node;
                let other = if is_left { right } else { &*compared.left };
                let texts: Vec<&str> = match (operator, other) {
                    (CmpOp::Eq | CmpOp::NotEq, other) => text(other).into_iter().collect(),
                    (CmpOp::In | CmpOp::NotIn, Expr::Tuple(list)) if is_left => texts(&list.elts),
                    (CmpOp::In | CmpOp::NotIn, Expr::List(list)) if is_left => texts(&list.elts),
                    (CmpOp::In | CmpOp::NotIn, Expr::Set(list)) if is_left => texts(&list.elts),
                    _ => return,
                };
                let condition = self.condition(id(compared));
                note(texts, at, condition, part, found);
            }
            AnyNodeRef::StmtMatch(choice) if id(&*choice.subject) == node => {
                for case in &choice.cases {
                    let alternatives = match &case.pattern {
                        Pattern::MatchOr(either) => either.patterns.as_slice(),
                        one => std::slice::from_ref(one),
                    };
                    let values = alternatives.iter().filter_map(|pattern| match pattern {
                        Pattern::MatchValue(value) => text(&value.value),
                        _ => None,
                    });
                    // A case more than there are values does no harm.
                    let at = case.pattern.start().into();
                    note(values.collect(), at, choice.end().into(), part, found);
                }
            }
            _ => {}
        }
    }

    /// Where the condition ends that a comparison is a side of.
    fn condition(&self, comparison: NodeId) -> u32 {
        let mut end = u32::from(self.tree.node(comparison).end());
        for (parent, _) in self.tree.climb(comparison).take(ALTERNATIVE_STEPS_MAX) {
            match parent {
                AnyNodeRef::ExprBoolOp(_) | AnyNodeRef::ExprUnaryOp(_) => {
                    end = parent.end().into();
                }
                _ => break,
            }
        }
        end
    }

    /// Whether the program does at `node` the same where it is absent as where it is true: `r.get("ok", True)`,
    /// `r.get("ok") is not False`.
    pub(super) fn absent_is_well(&self, node: NodeId) -> bool {
        let is_constant = |value: &Expr, is: bool| matches!(value, Expr::BooleanLiteral(literal) if literal.value == is);
        if let AnyNodeRef::ExprCall(call) = self.tree.node(node)
            && call
                .arguments
                .args
                .last()
                .is_some_and(|default| call.arguments.args.len() > 1 && is_constant(default, true))
        {
            return true;
        }
        match self.tree.parent_node(node) {
            Some(AnyNodeRef::ExprCompare(compared)) => {
                let mut sides = std::iter::once(&*compared.left).chain(&compared.comparators);
                sides.any(|side| is_constant(side, false))
            }
            _ => false,
        }
    }
}

fn texts(items: &[Expr]) -> Vec<&str> {
    items.iter().filter_map(text).collect()
}

fn note(texts: Vec<&str>, at: u32, condition: u32, part: &ResultPart, found: &mut FoundReads) {
    let values = texts.into_iter().take(COMPARED_VALUES_MAX);
    let values: Vec<String> = values
        .map(|text| cut(text, COMPARED_BYTES_MAX).to_owned())
        .collect();
    if !values.is_empty() {
        found.used.note_compared(Comparison {
            at,
            path: part.path.clone(),
            condition,
            values,
        });
    }
}
