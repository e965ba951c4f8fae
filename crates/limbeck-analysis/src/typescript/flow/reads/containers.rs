//! Lists, maps and sets that a program fills with parts of results, and what callbacks give of them.

use oxc::ast::AstKind;
use oxc::ast::ast::{ArrowFunctionExpression, CallExpression, Expression};
use oxc::semantic::{NodeId, SymbolId};
use oxc::span::GetSpan;

use super::ReadFinder;
use crate::result_part::ResultPart;
use crate::typescript::flow::guards::method;

/// Methods that put their arguments into a list, a set or a map.
const PUTTING: [&str; 4] = ["push", "unshift", "add", "set"];
/// Others that put something into a list.
const CHANGING: [&str; 2] = ["splice", "fill"];
/// What a program reads of a map that it fills, beside looping over it with the names.
const OF_VALUES: [&str; 3] = ["get", "values", "forEach"];
/// Uses of a list that are followed.
const USES_MAX: usize = 64;

impl<'a> ReadFinder<'_, '_, 'a> {
    /// Follows a list that the program made empty and that `call` adds its argument at `place` to: `part` is a list of that.
    pub(super) fn put(&mut self, call: &CallExpression<'a>, place: usize, part: ResultPart) {
        let Expression::StaticMemberExpression(member) = call.callee.get_inner_expression() else {
            return;
        };
        let name = member.property.name.as_str();
        let Expression::Identifier(object) = &member.object else {
            return;
        };
        // The name in a map comes first.
        let put_at = usize::from(name == "set");
        if !PUTTING.contains(&name) || place != put_at || call.arguments.len() != put_at + 1 {
            return;
        }
        let Some(symbol) = self.tree.symbol(object) else {
            return;
        };
        let Some(is_map) = self.is_made_empty(symbol) else {
            return;
        };
        let uses: Vec<NodeId> = self.tree.uses(symbol).take(USES_MAX + 1).collect();
        let adders = uses.iter().filter(|node| self.is_filled_at(**node)).count();
        // What is put there elsewhere may have other members.
        let is_alone = adders == 1 && uses.len() <= USES_MAX;
        let part = if is_alone { part } else { part.shared() };
        for node in uses {
            let is_read = match is_map {
                true => self
                    .method_at(node)
                    .is_some_and(|name| OF_VALUES.contains(&name)),
                false => !self.is_filled_at(node),
            };
            if is_read {
                self.follow(node, part.clone());
            }
        }
    }

    /// The member that is taken of the value at `node`.
    fn method_at(&self, node: NodeId) -> Option<&'a str> {
        match self.tree.outer(node) {
            Some((_, AstKind::StaticMemberExpression(member), _)) => {
                Some(member.property.name.as_str())
            }
            _ => None,
        }
    }

    /// Whether something is put into the list at `node`, by a method or at a place: `list[0] = item`.
    fn is_filled_at(&self, node: NodeId) -> bool {
        let puts = |name: &str| PUTTING.contains(&name) || CHANGING.contains(&name);
        match self.tree.outer(node) {
            Some((member, AstKind::ComputedMemberExpression(_), _)) => matches!(
                self.tree.outer(member),
                Some((_, AstKind::AssignmentExpression(assignment), below))
                    if self.tree.is_inside(below, assignment.left.span())
            ),
            _ => self.method_at(node).is_some_and(puts),
        }
    }

    /// Whether a name keeps a list, a set or a map that the program made empty, and whether it is a map.
    fn is_made_empty(&self, symbol: SymbolId) -> Option<bool> {
        match self.tree.value_of(symbol)? {
            Expression::ArrayExpression(list) if list.elements.is_empty() => Some(false),
            Expression::NewExpression(made) if made.arguments.is_empty() => {
                let Expression::Identifier(class) = &made.callee else {
                    return None;
                };
                match class.name.as_str() {
                    "Array" | "Set" => Some(false),
                    "Map" => Some(true),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The list that `map` or `flatMap` makes of what the expression `below` gives, which is all that `function` does.
    pub(super) fn mapped(
        &self,
        function: &ArrowFunctionExpression<'a>,
        at: NodeId,
        below: NodeId,
    ) -> Option<(NodeId, &'a str)> {
        if function.r#async || self.tree.is_inside(below, function.params.span) {
            return None;
        }
        let (list, AstKind::CallExpression(call), argument) = self.tree.outer(at)? else {
            return None;
        };
        let first = call.arguments.first()?;
        if !self.tree.is_inside(argument, first.span()) {
            return None;
        }
        let name = method(&call.callee)?;
        matches!(name, "map" | "flatMap").then_some((list, name))
    }
}
