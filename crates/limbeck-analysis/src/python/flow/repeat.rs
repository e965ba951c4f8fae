//! Number of times that a call is made.

use limbeck_domain::Repeat;
use ruff_python_ast::{AnyNodeRef, Comprehension, Expr, ExprCall, StmtFunctionDef};

use super::CallFlow;
use crate::python::names::last_name;
use crate::python::tree::{NodeId, id, is_one_of};
use crate::repeats::{per_item, sum};

/// Functions that give items without end.
const ENDLESS: [&str; 3] = ["count", "cycle", "repeat"];

impl CallFlow<'_, '_> {
    /// How often a node is reached when the program runs once.
    pub(in crate::python) fn repeat(&mut self, node: NodeId) -> Repeat {
        let tree = self.tree;
        let mut times = Repeat::Once;
        for (parent, below) in tree.climb(node) {
            match parent {
                AnyNodeRef::StmtFor(node) if is_one_of(&node.body, below) => {
                    times = times.within(items(&node.iter));
                }
                AnyNodeRef::StmtWhile(node) => {
                    times = times.within(if is_endless(&node.test) {
                        Repeat::Endless
                    } else {
                        Repeat::Many
                    });
                }
                AnyNodeRef::ExprListComp(node) => {
                    times = times.within(of_loops(&node.generators, below));
                }
                AnyNodeRef::ExprSetComp(node) => {
                    times = times.within(of_loops(&node.generators, below));
                }
                AnyNodeRef::ExprDictComp(node) => {
                    times = times.within(of_loops(&node.generators, below));
                }
                AnyNodeRef::ExprGenerator(node) => {
                    times = times.within(of_loops(&node.generators, below));
                }
                AnyNodeRef::Comprehension(node) if id(&node.iter) != below => {
                    times = times.within(Repeat::Many);
                }
                AnyNodeRef::StmtClassDef(_) | AnyNodeRef::ExprLambda(_) => {
                    return times.within(Repeat::Many);
                }
                AnyNodeRef::StmtFunctionDef(function) => {
                    return times.within(self.of_function(function));
                }
                _ => {}
            }
        }
        times
    }

    /// How often a function is called; one that nothing calls is the program itself.
    fn of_function(&mut self, function: &StmtFunctionDef) -> Repeat {
        if self.facts.times_bound(&function.name.id) > 1 {
            return Repeat::Many;
        }
        if let Some(known) = self.repeats.get(&id(function)) {
            return known.unwrap_or(Repeat::Many);
        }
        self.repeats.insert(id(function), None);
        let mut total = None;
        for call in self.calls_of(function) {
            let times = call.map_or(Repeat::Many, |call| self.repeat(id(call)));
            total = Some(total.map_or(times, |total| sum(total, times)));
        }
        let total = total.unwrap_or(Repeat::Once);
        self.repeats.insert(id(function), Some(total));
        total
    }
}

/// How often the loops of a comprehension evaluate the node below it. The first iterable is evaluated once.
fn of_loops(generators: &[Comprehension], below: NodeId) -> Repeat {
    let loops = generators.iter().take_while(|loops| id(*loops) != below);
    loops.fold(Repeat::Once, |times, loops| {
        times.within(items(&loops.iter))
    })
}

fn is_endless(test: &Expr) -> bool {
    match test {
        Expr::BooleanLiteral(literal) => literal.value,
        Expr::NumberLiteral(literal) => literal
            .value
            .as_int()
            .is_none_or(|int| int.as_u8() != Some(0)),
        Expr::StringLiteral(literal) => !literal.value.is_empty(),
        Expr::EllipsisLiteral(_) => true,
        _ => false,
    }
}

/// How many items a list has that is written down.
fn items(node: &Expr) -> Repeat {
    match node {
        Expr::List(list) => of_items(&list.elts),
        Expr::Tuple(tuple) => of_items(&tuple.elts),
        Expr::Set(set) => of_items(&set.elts),
        Expr::Call(call) => of_call(call),
        _ => Repeat::Many,
    }
}

fn of_items(items: &[Expr]) -> Repeat {
    if items.iter().any(Expr::is_starred_expr) {
        return Repeat::Many;
    }
    per_item(items.len())
}

fn of_call(call: &ExprCall) -> Repeat {
    let arguments = &call.arguments.args;
    match last_name(&call.func) {
        Some("range") => of_range(arguments),
        Some(name) if ENDLESS.contains(&name) && arguments.len() < 2 => Repeat::Endless,
        Some("enumerate") => arguments.first().map_or(Repeat::Many, items),
        _ => Repeat::Many,
    }
}

/// The items of `range(stop)`, `range(start, stop)` and `range(start, stop, step)`.
fn of_range(bounds: &[Expr]) -> Repeat {
    let bound = |node: &Expr| node.as_number_literal_expr()?.value.as_int()?.as_i64();
    let bounds: Option<Vec<i64>> = bounds.iter().map(bound).collect();
    let (start, stop, step) = match bounds.as_deref() {
        Some([stop]) => (0, *stop, 1),
        Some([start, stop]) => (*start, *stop, 1),
        Some([start, stop, step]) if *step > 0 => (*start, *stop, *step),
        _ => return Repeat::Many,
    };
    // A literal has no sign.
    let items = (stop - start)
        .max(0)
        .unsigned_abs()
        .div_ceil(step.unsigned_abs());
    Repeat::AtMost(u32::try_from(items).unwrap_or(u32::MAX))
}
