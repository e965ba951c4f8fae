//! What a program decides by a part alone: tests by equality and negation, which have always the same outcome where no result has
//! the part.

use limbeck_domain::Decides;
use ruff_python_ast::{AnyNodeRef, CmpOp, Expr, Stmt, UnaryOp};
use ruff_text_size::Ranged;

use super::FoundReads;
use crate::bounds::ALTERNATIVE_STEPS_MAX;
use crate::python::flow::CallFlow;
use crate::python::names::text;
use crate::python::tree::{NodeId, id};
use crate::result_part::ResultPart;
use crate::result_read::{is_of_items, is_word_of_failure};

/// What is done by a test.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// A tool is called, or not.
    Call,
    /// Items are chosen.
    Choice,
    /// A value is one or another.
    Value,
    /// The program goes on or ends.
    Other,
}

impl CallFlow<'_, '_> {
    /// What the program decides by the part at `node`.
    pub(super) fn decides(&self, node: NodeId, part: &ResultPart) -> Decides {
        let name = part.path.last().map_or("", String::as_str);
        let is_assigned = || part.path.iter().any(|name| self.facts.assigns_member(name));
        if part.is_shared
            || part.is_of_several
            || is_word_of_failure(name)
            || self.facts.changes_members()
            || is_assigned()
        {
            return Decides::Nothing;
        }
        let Some(parent) = self.tree.parent_node(node) else {
            return Decides::Nothing;
        };
        match parent {
            AnyNodeRef::ExprCompare(compared) => {
                let ([operator], [right]) = (&*compared.ops, &*compared.comparators) else {
                    return Decides::Nothing;
                };
                let is_left = id(&*compared.left) == node;
                let other = if is_left { right } else { &*compared.left };
                let is_test = match operator {
                    CmpOp::Eq | CmpOp::NotEq => !is_of_absence(other),
                    CmpOp::In | CmpOp::NotIn => {
                        is_left && matches!(other, Expr::Tuple(_) | Expr::List(_) | Expr::Set(_))
                    }
                    _ => false,
                };
                if !is_test {
                    return Decides::Nothing;
                }
                match self.outcome(id(compared)) {
                    Outcome::Call | Outcome::Choice => Decides::Equality,
                    Outcome::Value | Outcome::Other if is_of_items(&part.path) => Decides::Equality,
                    Outcome::Value => Decides::Report,
                    Outcome::Other => Decides::Nothing,
                }
            }
            AnyNodeRef::ExprUnaryOp(unary) if unary.op == UnaryOp::Not => {
                match self.outcome(id(unary)) {
                    Outcome::Call | Outcome::Choice => Decides::Negation,
                    Outcome::Value | Outcome::Other => Decides::Nothing,
                }
            }
            AnyNodeRef::StmtMatch(choice) if id(&*choice.subject) == node => {
                match is_of_items(&part.path) || self.has_call(choice) {
                    true => Decides::Equality,
                    false => Decides::Nothing,
                }
            }
            _ => Decides::Nothing,
        }
    }

    /// Notes what the program decides by a part that a name has.
    pub(super) fn decided_by_name(&self, node: NodeId, part: &ResultPart, found: &mut FoundReads) {
        if !self.tree.node(node).is_expr_name() {
            return;
        }
        if self.asks_for_presence(node) {
            found.asks.push(part.path.clone());
        }
        let decides = self.decides(node, part);
        if decides != Decides::Nothing {
            let reads = found.used.reads.iter_mut();
            for read in reads.filter(|read| read.path == part.path) {
                read.decides = decides;
            }
        }
    }

    /// Whether the program asks if the part at `node` is there.
    pub(super) fn asks_for_presence(&self, node: NodeId) -> bool {
        match self.tree.parent_node(node) {
            Some(AnyNodeRef::StmtIf(branch)) => id(&*branch.test) == node,
            Some(AnyNodeRef::ExprIf(either)) => id(&*either.test) == node,
            Some(AnyNodeRef::StmtWhile(_) | AnyNodeRef::ExprBoolOp(_)) => true,
            Some(AnyNodeRef::Comprehension(each)) => id(&each.iter) != node,
            Some(AnyNodeRef::ExprCompare(compared)) => {
                let mut sides = std::iter::once(&*compared.left).chain(&compared.comparators);
                matches!(&*compared.ops, [CmpOp::Is | CmpOp::IsNot])
                    || sides.any(|side| id(side) != node && is_of_absence(side))
            }
            _ => false,
        }
    }

    fn outcome(&self, test: NodeId) -> Outcome {
        for (parent, below) in self.tree.climb(test).take(ALTERNATIVE_STEPS_MAX) {
            match parent {
                AnyNodeRef::ExprBoolOp(_) | AnyNodeRef::ExprUnaryOp(_) => {}
                AnyNodeRef::StmtIf(branch) => {
                    let calls = self.has_calls(&branch.body)
                        || branch
                            .elif_else_clauses
                            .iter()
                            .any(|clause| self.has_calls(&clause.body));
                    return match id(&*branch.test) == below && calls {
                        true => Outcome::Call,
                        false => Outcome::Other,
                    };
                }
                AnyNodeRef::ExprIf(either) => {
                    let calls = self.has_call(&*either.body) || self.has_call(&*either.orelse);
                    return match id(&*either.test) == below {
                        true if calls => Outcome::Call,
                        true => Outcome::Value,
                        false => Outcome::Other,
                    };
                }
                AnyNodeRef::Comprehension(each) => {
                    return match id(&each.iter) == below {
                        true => Outcome::Other,
                        false => Outcome::Choice,
                    };
                }
                _ => return Outcome::Other,
            }
        }
        Outcome::Other
    }

    fn has_calls(&self, body: &[Stmt]) -> bool {
        match (body.first(), body.last()) {
            (Some(first), Some(last)) => {
                self.has_call_between(first.start().into(), last.end().into())
            }
            _ => false,
        }
    }

    fn has_call(&self, node: &impl Ranged) -> bool {
        self.has_call_between(node.start().into(), node.end().into())
    }
}

/// Whether a value that a part is compared with is one of a part that is absent, or of a failure.
fn is_of_absence(other: &Expr) -> bool {
    match other {
        Expr::NoneLiteral(_) | Expr::BooleanLiteral(_) => true,
        other => text(other).is_some_and(|text| text.is_empty() || is_word_of_failure(text)),
    }
}
