//! Names that are given several values, each of them of the result of a tool, or nothing: `r = None` and later
//! `r = tools.a.b()`.

use ruff_python_ast::{AnyNodeRef, Expr, ExprName};
use ruff_text_size::Ranged;

use super::FoundReads;
use crate::bounds::{ASSIGNED_VALUES_MAX, WHOLE_BRANCHES_MAX};
use crate::python::flow::CallFlow;
use crate::python::names::{last_name, name_of};
use crate::python::tree::{NodeId, id};
use crate::result_part::ResultPart;
use crate::result_read::WholeInstead;

/// A value that a name is given.
enum Given {
    /// No value, or one without members.
    Nothing,
    /// A part of what this call gives.
    OfCall(NodeId),
}

impl<'a> CallFlow<'_, 'a> {
    /// Follows a name that gets a part of the result at `target` and has other values elsewhere in the program. Where those of
    /// the same function are of several tools, a read may be of any of them.
    pub(super) fn follow_assigned(
        &self,
        target: &ExprName,
        part: &ResultPart,
        found: &mut FoundReads,
    ) {
        let function = self.function_around(id(target));
        let Some(calls) = self.calls_given(&target.id, function) else {
            return;
        };
        let mut tools = calls.iter().filter_map(|call| self.tools.get(call));
        let first = tools.next();
        let part = match tools.all(|tool| Some(tool) == first) {
            true => part.clone(),
            false => part.clone().of_several(),
        };
        for name in self.tree.uses(&target.id) {
            if self.function_around(id(*name)) == function {
                self.follow(id(*name), part.clone(), found);
            }
        }
    }

    /// Notes that a name is given the whole result at `node` in place of another value, as in
    /// `d = r.get("data")` and `if d is None: d = r`.
    pub(super) fn whole_assigned(&self, target: &Expr, node: NodeId, found: &mut FoundReads) {
        let Some(name) = name_of(target) else {
            return;
        };
        for value in self.facts.assigned_values(name) {
            if id(*value) != node && found.whole_instead.len() < WHOLE_BRANCHES_MAX {
                found.whole_instead.push(WholeInstead {
                    condition: (value.start().into(), value.end().into()),
                    branch: (0, 0),
                });
            }
        }
    }

    /// The calls of tools that a name has its values from in a function. `None` where it has any other value.
    fn calls_given(&self, name: &str, function: Option<NodeId>) -> Option<Vec<NodeId>> {
        let values = self.facts.assigned_values(name);
        // A loop, a parameter or a pattern gives it other values.
        if values.len() > ASSIGNED_VALUES_MAX
            || values.len() as u64 != u64::from(self.facts.times_bound(name))
        {
            return None;
        }
        let mut calls = Vec::new();
        for value in values {
            if self.function_around(id(*value)) == function {
                match self.given(value)? {
                    Given::OfCall(call) => calls.push(call),
                    Given::Nothing => {}
                }
            }
        }
        Some(calls)
    }

    fn function_around(&self, node: NodeId) -> Option<NodeId> {
        let mut around = self.tree.climb(node);
        let function = around.find(|(parent, _)| {
            matches!(
                parent,
                AnyNodeRef::StmtFunctionDef(_)
                    | AnyNodeRef::ExprLambda(_)
                    | AnyNodeRef::StmtClassDef(_)
            )
        });
        let (_, below) = function?;
        self.tree.parent(below)
    }

    fn given(&self, mut value: &'a Expr) -> Option<Given> {
        loop {
            value = match value {
                Expr::NoneLiteral(_) => return Some(Given::Nothing),
                Expr::Dict(dict) if dict.items.is_empty() => return Some(Given::Nothing),
                Expr::List(list) if list.elts.is_empty() => return Some(Given::Nothing),
                Expr::Await(awaited) => &awaited.value,
                Expr::Attribute(member) => &member.value,
                Expr::Subscript(item) => &item.value,
                Expr::Call(call) if self.tools.contains_key(&id(call)) => {
                    return Some(Given::OfCall(id(call)));
                }
                Expr::Call(call) => match &*call.func {
                    Expr::Attribute(function) if &*function.attr.id == "get" => &function.value,
                    Expr::Attribute(function)
                        if name_of(&function.value) == Some("json")
                            && last_name(&call.func) == Some("loads") =>
                    {
                        call.arguments.args.first()?
                    }
                    _ => return None,
                },
                _ => return None,
            };
        }
    }
}
