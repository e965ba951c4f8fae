//! Whether a program that completes has made a call: no condition, no earlier exit and no caught failure decides about it, neither
//! where it is nor where the functions are mentioned that it is in.

use limbeck_domain::{Reach, Repeat};
use ruff_python_ast::{AnyNodeRef, Expr, StmtFunctionDef, StmtIf};
use ruff_text_size::Ranged;

use super::CallFlow;
use crate::bounds::EXITS_MAX;
use crate::python::facts::ProgramFacts;
use crate::python::names::{last_name, name_of, text};
use crate::python::tree::{NodeId, ProgramTree, id, is_one_of};

/// Nodes that are visited for all calls of a program.
const STEPS_MAX: u32 = 20_000;
/// Functions called by functions that are followed.
const FUNCTIONS_MAX: usize = 8;
/// Mentions of a function that are followed.
const MENTIONS_MAX: usize = 16;
/// Names that give a program what its text does not have.
const FROM_OUTSIDE: [&str; 10] = [
    "input",
    "artifacts",
    "store",
    "search",
    "describe",
    "open",
    "Path",
    "os",
    "sys",
    "globals",
];
/// Names of what gives calls up that take too long, or ends them.
const GIVING_UP: [&str; 8] = [
    "wait_for",
    "wait",
    "timeout",
    "timeout_at",
    "as_completed",
    "cancel",
    "FIRST_COMPLETED",
    "shield",
];

/// What of a program may keep a call from being made.
pub(super) struct Conditions {
    steps_left: u32,
    /// Whether there is any branch.
    any: bool,
    /// Whether it has values from outside, so that a list may be empty.
    from_outside: bool,
    /// Whether it may give up what takes too long.
    gives_up: bool,
    /// Where it may leave a loop or a function, with the function, in the order of the text.
    exits: Vec<(u32, u32, Option<NodeId>)>,
}

impl Conditions {
    pub(super) fn of(tree: &ProgramTree<'_>, facts: &ProgramFacts<'_>) -> Self {
        let is_branch = |node: AnyNodeRef<'_>| {
            matches!(
                node,
                AnyNodeRef::ExprIf(_) | AnyNodeRef::ExprBoolOp(_) | AnyNodeRef::StmtMatch(_)
            ) || matches!(node, AnyNodeRef::StmtIf(branch) if !is_main(branch))
        };
        let is_exit = |node: AnyNodeRef<'_>| match node {
            AnyNodeRef::StmtReturn(_)
            | AnyNodeRef::StmtBreak(_)
            | AnyNodeRef::StmtContinue(_)
            | AnyNodeRef::StmtRaise(_) => true,
            AnyNodeRef::ExprCall(call) => {
                matches!(last_name(&call.func), Some("exit" | "quit" | "_exit"))
            }
            _ => false,
        };
        let exits = tree.nodes().filter(|node| is_exit(*node));
        let exits = exits.take(EXITS_MAX + 1).map(|node| {
            let around = function_around(tree, id(&node));
            (u32::from(node.start()), u32::from(node.end()), around)
        });
        let gives_up = |node: AnyNodeRef<'_>| match node {
            AnyNodeRef::ExprAttribute(member) => GIVING_UP.contains(&&*member.attr.id),
            AnyNodeRef::ExprName(name) => GIVING_UP.contains(&&*name.id),
            _ => false,
        };
        Self {
            steps_left: STEPS_MAX,
            any: tree.nodes().any(is_branch),
            from_outside: FROM_OUTSIDE
                .iter()
                .any(|name| !tree.uses(name).is_empty() && facts.times_bound(name) <= 1),
            gives_up: tree.nodes().any(gives_up),
            exits: exits.collect(),
        }
    }

    /// What is known of a function that the program keeps in an object or gives away.
    fn of_kept_function(&self) -> Reach {
        match self.any {
            true => Reach::Open,
            false => Reach::Unconditional,
        }
    }

    fn has_exit(&self, from: u32, to: u32, function: Option<NodeId>) -> bool {
        let first = self.exits.partition_point(|(start, ..)| *start < from);
        let mut between = self.exits[first..]
            .iter()
            .take_while(|(start, ..)| *start < to);
        self.exits.len() > EXITS_MAX
            || between.any(|(_, end, around)| *end <= to && *around == function)
    }
}

impl CallFlow<'_, '_> {
    /// Whether a program that completes has made a call that is made as often as `repeat` says.
    pub(in crate::python) fn reach(&mut self, call: NodeId, repeat: Repeat) -> Reach {
        let most = match repeat {
            Repeat::AtMost(0) => Reach::Open,
            Repeat::Once | Repeat::AtMost(_) if !self.conditions.gives_up => Reach::Always,
            _ => Reach::Unconditional,
        };
        most.min(self.reach_of(call, FUNCTIONS_MAX))
    }

    fn reach_of(&mut self, from: NodeId, functions_left: usize) -> Reach {
        let tree = self.tree;
        let mut reach = Reach::Always;
        let start = |node: NodeId| u32::from(tree.node(node).start());
        for (parent, below) in tree.climb(from) {
            let Some(left) = self.conditions.steps_left.checked_sub(1) else {
                return Reach::Open;
            };
            self.conditions.steps_left = left;
            let is_decided = match parent {
                AnyNodeRef::StmtIf(branch) => id(&*branch.test) != below && !is_main(branch),
                AnyNodeRef::ExprIf(either) => id(&*either.test) != below,
                AnyNodeRef::ExprBoolOp(either) => {
                    either.values.first().is_none_or(|first| id(first) != below)
                }
                AnyNodeRef::StmtMatch(choice) => id(&*choice.subject) != below,
                AnyNodeRef::ExceptHandlerExceptHandler(_) => true,
                AnyNodeRef::StmtTry(attempt) if is_one_of(&attempt.body, below) => {
                    !attempt.handlers.is_empty()
                        && self.may_fail_between(u32::from(attempt.start()), start(from))
                }
                AnyNodeRef::StmtTry(attempt) => !is_one_of(&attempt.finalbody, below),
                AnyNodeRef::StmtFor(each) => {
                    id(&*each.iter) != below && self.conditions.from_outside
                }
                AnyNodeRef::StmtWhile(_) => self.conditions.from_outside,
                AnyNodeRef::StmtWith(with) => {
                    is_one_of(&with.body, below)
                        && with.items.iter().any(|item| {
                            let call = item.context_expr.as_call_expr();
                            call.is_some_and(|call| last_name(&call.func) == Some("suppress"))
                        })
                }
                AnyNodeRef::ExprListComp(_)
                | AnyNodeRef::ExprSetComp(_)
                | AnyNodeRef::ExprDictComp(_)
                | AnyNodeRef::ExprGenerator(_) => {
                    self.conditions.from_outside || has_choice(parent)
                }
                _ => false,
            };
            if is_decided {
                return Reach::Open;
            }
            match parent {
                AnyNodeRef::StmtFunctionDef(function) => {
                    let begins = u32::from(function.start());
                    if self
                        .conditions
                        .has_exit(begins, start(from), Some(id(function)))
                    {
                        return Reach::Open;
                    }
                    return reach.min(self.reach_of_function(function, functions_left));
                }
                AnyNodeRef::ExprLambda(_) | AnyNodeRef::StmtClassDef(_) => {
                    reach = reach.min(self.conditions.of_kept_function());
                }
                _ => {}
            }
            if reach == Reach::Open {
                return Reach::Open;
            }
        }
        match self.conditions.has_exit(0, start(from), None) {
            true => Reach::Open,
            false => reach,
        }
    }

    /// Whether it is reached wherever a function is mentioned.
    fn reach_of_function(&mut self, function: &StmtFunctionDef, functions_left: usize) -> Reach {
        let tree = self.tree;
        let Some(left) = functions_left.checked_sub(1) else {
            return Reach::Open;
        };
        let name = &*function.name.id;
        let is_method = tree
            .climb(id(function))
            .any(|(parent, _)| parent.is_stmt_class_def());
        if !function.decorator_list.is_empty() || self.facts.times_bound(name) != 1 {
            return Reach::Open;
        }
        if is_method {
            return self.conditions.of_kept_function();
        }
        let own = function.range();
        let mentions = tree.uses(name).iter();
        let mentions = mentions.filter(|mention| !own.contains_range(mention.range()));
        let mentions: Vec<NodeId> = mentions.map(|mention| id(*mention)).collect();
        if mentions.len() > MENTIONS_MAX {
            return Reach::Open;
        }
        let mut reach = Reach::Always;
        for mention in mentions {
            let kept = match tree.parent_node(mention) {
                Some(AnyNodeRef::ExprCall(call)) if id(&*call.func) == mention => Reach::Always,
                Some(AnyNodeRef::StmtExpr(_)) => Reach::Always,
                _ => self.conditions.of_kept_function(),
            };
            reach = reach.min(kept).min(self.reach_of(mention, left));
            if reach == Reach::Open {
                break;
            }
        }
        reach
    }

    /// Whether what is before a place in a block that catches may fail: a call of a tool, or a value from outside.
    fn may_fail_between(&self, from: u32, to: u32) -> bool {
        self.conditions.from_outside || self.has_call_between(from, to)
    }
}

/// Whether a comprehension chooses among its items.
fn has_choice(comprehension: AnyNodeRef<'_>) -> bool {
    let generators = match comprehension {
        AnyNodeRef::ExprListComp(list) => &list.generators,
        AnyNodeRef::ExprSetComp(set) => &set.generators,
        AnyNodeRef::ExprDictComp(dict) => &dict.generators,
        AnyNodeRef::ExprGenerator(generator) => &generator.generators,
        _ => return false,
    };
    generators.iter().any(|each| !each.ifs.is_empty())
}

/// `if __name__ == "__main__":`, which is so here.
fn is_main(branch: &StmtIf) -> bool {
    let Expr::Compare(compared) = &*branch.test else {
        return false;
    };
    name_of(&compared.left) == Some("__name__")
        && matches!(&*compared.comparators, [main] if text(main) == Some("__main__"))
}

fn function_around(tree: &ProgramTree<'_>, node: NodeId) -> Option<NodeId> {
    let mut around = tree.climb(node);
    around.find_map(|(parent, _)| match parent {
        AnyNodeRef::StmtFunctionDef(function) => Some(id(function)),
        _ => None,
    })
}
