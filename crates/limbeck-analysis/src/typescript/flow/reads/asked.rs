//! What the program asks of a result before it reads it, or provides for its absence: no error then.

use limbeck_domain::Decides;
use oxc::ast::AstKind;
use oxc::ast::ast::Expression;
use oxc::semantic::NodeId;
use oxc::span::{GetSpan, Span};
use oxc::syntax::operator::{BinaryOperator, LogicalOperator, UnaryOperator};

use super::{Absence, ReadFinder};
use crate::bounds::{ALTERNATIVE_STEPS_MAX, WHOLE_BRANCHES_MAX};
use crate::result_part::ResultPart;
use crate::result_read::{ResultRead, WholeInstead};

impl<'a> ReadFinder<'_, '_, 'a> {
    /// Notes that the program asks whether a part is there, or what it is.
    pub(super) fn asked_itself(&mut self, at: NodeId, part: &ResultPart) {
        if !part.is_itself() {
            return;
        }
        self.form_asked |= part.path.is_empty();
        let decides = self.decided_by(at, part);
        if decides == Decides::Nothing {
            self.asks.push(part.path.clone());
        }
        let mut is_known = false;
        for read in &mut self.found.reads {
            if read.path == part.path {
                read.optional = true;
                if decides != Decides::Nothing {
                    read.decides = decides;
                }
                is_known = true;
            }
        }
        if !is_known {
            self.note(self.tree.span(at).start, part, Absence::ASKED, None);
        }
    }

    /// Whether a member is read only where a test of the result, which was followed before, failed:
    /// `"a" in r ? r.a : r.b`.
    pub(super) fn is_otherwise_read(&self, member: NodeId) -> bool {
        self.tree.climb(member).any(|(_, kind, below)| {
            let (test, otherwise) = match kind {
                AstKind::ConditionalExpression(conditional) => {
                    (conditional.test.span(), conditional.alternate.span())
                }
                AstKind::IfStatement(statement) => match &statement.alternate {
                    Some(alternate) => (statement.test.span(), alternate.span()),
                    None => return false,
                },
                _ => return false,
            };
            let is_test = |read: &ResultRead| (test.start..test.end).contains(&read.at);
            self.tree.is_inside(below, otherwise)
                && self
                    .found
                    .reads
                    .iter()
                    .any(|read| read.optional && is_test(read))
        })
    }

    /// Whether a member is read only where a test found it that decides whether to end here, as in
    /// `if (r.error) return r.error`, or where the result says that its call failed, as in `if (r.isError) f(r.content)`. A call
    /// that fails throws, so the second never is.
    pub(super) fn is_of_failure(&self, member: NodeId, part: &ResultPart) -> bool {
        let steps = self.tree.climb(member).take(ALTERNATIVE_STEPS_MAX);
        let mut branches = steps.filter_map(|(_, kind, below)| match kind {
            AstKind::ConditionalExpression(conditional) => Some((
                conditional.test.span(),
                self.tree.is_inside(below, conditional.consequent.span()),
            )),
            AstKind::IfStatement(statement) => Some((
                statement.test.span(),
                self.tree.is_inside(below, statement.consequent.span()),
            )),
            _ => None,
        });
        branches.any(|(test, is_in)| {
            let asks_for_failure = |read: &ResultRead| {
                let is_failure = read.path.last().is_some_and(|name| name == "isError");
                let is_guard = read.asked && part.path.starts_with(&read.path);
                (test.start..test.end).contains(&read.at) && (is_failure || is_guard)
            };
            is_in && self.found.reads.iter().any(asks_for_failure)
        })
    }

    /// Notes a condition of which one branch takes the whole result as it is at `at`, under `kind`.
    pub(super) fn whole_branch(&mut self, kind: &AstKind<'a>, at: NodeId) {
        // What is read of the whole says nothing about the whole.
        if matches!(
            kind,
            AstKind::StaticMemberExpression(_) | AstKind::ComputedMemberExpression(_)
        ) || self.whole_instead.len() >= WHOLE_BRANCHES_MAX
        {
            return;
        }
        for (_, kind, below) in self.tree.climb(at).take(ALTERNATIVE_STEPS_MAX) {
            let is_in = |part: Span| self.tree.is_inside(below, part);
            let (condition, test, branch) = match kind {
                AstKind::ConditionalExpression(conditional) => (
                    conditional.span,
                    conditional.test.span(),
                    match is_in(conditional.consequent.span()) {
                        true => conditional.consequent.span(),
                        false => conditional.alternate.span(),
                    },
                ),
                AstKind::IfStatement(statement) => (
                    statement.span,
                    statement.test.span(),
                    match &statement.alternate {
                        Some(alternate) if is_in(alternate.span()) => alternate.span(),
                        _ => statement.consequent.span(),
                    },
                ),
                AstKind::Function(_) | AstKind::ArrowFunctionExpression(_) => return,
                _ => continue,
            };
            if !is_in(test) {
                self.whole_instead.push(WholeInstead {
                    condition: (condition.start, condition.end),
                    branch: (branch.start, branch.end),
                });
                return;
            }
        }
    }

    /// Whether the program asks what a part is, of which `kind` is around `below`.
    pub(super) fn asks_for_form(&self, kind: &AstKind<'a>, below: NodeId) -> bool {
        match kind {
            AstKind::UnaryExpression(unary) => unary.operator == UnaryOperator::Typeof,
            AstKind::BinaryExpression(binary) => {
                binary.operator == BinaryOperator::Instanceof
                    && self.tree.is_inside(below, binary.left.span())
            }
            AstKind::ForInStatement(statement) => {
                self.tree.is_inside(below, statement.right.span())
            }
            _ => false,
        }
    }

    /// Whether the program asks if the member is there, or has something in its place.
    pub(super) fn provides_for_absence(&self, member: NodeId) -> bool {
        let Some((_, kind, below)) = self.tree.outer(member) else {
            return true;
        };
        let is_in = |part: &Expression<'_>| self.tree.is_inside(below, part.span());
        match kind {
            AstKind::LogicalExpression(logical) => {
                is_in(&logical.left) || logical.operator != LogicalOperator::And
            }
            AstKind::ConditionalExpression(conditional) => is_in(&conditional.test),
            AstKind::IfStatement(statement) => is_in(&statement.test),
            AstKind::SwitchStatement(statement) => is_in(&statement.discriminant),
            AstKind::CallExpression(call) => {
                matches!(&call.callee, Expression::Identifier(name) if name.name == "Boolean")
            }
            AstKind::WhileStatement(statement) => is_in(&statement.test),
            AstKind::DoWhileStatement(statement) => is_in(&statement.test),
            AstKind::UnaryExpression(unary) => matches!(
                unary.operator,
                UnaryOperator::Typeof | UnaryOperator::LogicalNot | UnaryOperator::Delete
            ),
            AstKind::BinaryExpression(binary) => matches!(
                binary.operator,
                BinaryOperator::Equality
                    | BinaryOperator::Inequality
                    | BinaryOperator::StrictEquality
                    | BinaryOperator::StrictInequality
            ),
            AstKind::StaticMemberExpression(member) => member.optional,
            AstKind::ComputedMemberExpression(member) => member.optional,
            // It is made here.
            AstKind::AssignmentExpression(assignment) => {
                self.tree.is_inside(below, assignment.left.span())
            }
            _ => false,
        }
    }
}
