//! Functions that have names of their own.

use std::collections::{HashMap, HashSet};

use ruff_python_ast::{AnyNodeRef, ExprName};
use ruff_text_size::{Ranged, TextSize};

use super::super::names::name_of;
use super::super::tree::{NodeId, ProgramTree, id, is_one_of};

/// Which names are surely not the guest's where they are read.
pub(super) struct Scopes<'a> {
    /// Names that a function gives a value to, parameters included.
    bound: HashMap<NodeId, HashSet<&'a str>>,
    /// Names that a function declares as those of an outer scope.
    outer: HashMap<NodeId, HashSet<&'a str>>,
    /// How often a name is given a value in functions.
    times_in_functions: HashMap<&'a str, u32>,
    /// Where the first statement of the top level ends that gives a name a value, by the name.
    replaced: HashMap<&'a str, TextSize>,
}

impl<'a> Scopes<'a> {
    pub(super) fn new(tree: &ProgramTree<'a>) -> Self {
        let mut scopes = Self {
            bound: HashMap::new(),
            outer: HashMap::new(),
            times_in_functions: HashMap::new(),
            replaced: HashMap::new(),
        };
        for statement in tree.body() {
            if let Some(assignment) = statement.as_assign_stmt()
                && let [target] = assignment.targets.as_slice()
                && let Some(name) = name_of(target)
            {
                scopes.replaced.entry(name).or_insert(statement.end());
            }
        }
        for node in tree.nodes() {
            match node {
                AnyNodeRef::ExprName(name) if !name.ctx.is_load() => {
                    if let Some(function) = function_around(tree, id(name)) {
                        scopes.bind(function, &name.id);
                    }
                }
                AnyNodeRef::Parameter(parameter) => {
                    let mut around = tree.climb(id(parameter)).map(|(node, _)| node);
                    if let Some(function) = around.find_map(function_of) {
                        scopes.bind(function, &parameter.name.id);
                    }
                }
                AnyNodeRef::StmtGlobal(statement) => {
                    scopes.declare(
                        tree,
                        id(statement),
                        statement.names.iter().map(|name| &*name.id),
                    );
                }
                AnyNodeRef::StmtNonlocal(statement) => {
                    scopes.declare(
                        tree,
                        id(statement),
                        statement.names.iter().map(|name| &*name.id),
                    );
                }
                _ => {}
            }
        }
        scopes
    }

    fn bind(&mut self, function: NodeId, name: &'a str) {
        self.bound.entry(function).or_default().insert(name);
        *self.times_in_functions.entry(name).or_default() += 1;
    }

    fn declare(
        &mut self,
        tree: &ProgramTree<'a>,
        statement: NodeId,
        names: impl Iterator<Item = &'a str>,
    ) {
        if let Some(function) = function_around(tree, statement) {
            self.outer.entry(function).or_default().extend(names);
        }
    }

    /// Whether a name that is read at `at` was surely given its value by the program.
    pub(super) fn is_own(&self, tree: &ProgramTree<'a>, name: &ExprName) -> bool {
        let (at, start, name) = (id(name), name.start(), &*name.id);
        let has = |names: &HashMap<NodeId, HashSet<&str>>, function: NodeId| {
            names
                .get(&function)
                .is_some_and(|names| names.contains(name))
        };
        let mut functions = functions_around(tree, at);
        let is_local =
            functions.any(|function| has(&self.bound, function) && !has(&self.outer, function));
        // What is written behind a statement of the top level runs after it.
        is_local || self.replaced.get(name).is_some_and(|end| *end <= start)
    }

    /// Whether a name that is given a value `times` times has one where it is read, as far as that is known: not where all
    /// of them are those of functions around other places.
    pub(super) fn explain(&self, tree: &ProgramTree<'a>, name: &ExprName, times: u32) -> bool {
        let in_functions = self.times_in_functions.get(&*name.id).copied();
        times > in_functions.unwrap_or(0) || self.is_own(tree, name)
    }
}

/// The function in whose body a node is, where the node's names are those of a function.
fn function_around(tree: &ProgramTree<'_>, at: NodeId) -> Option<NodeId> {
    for (node, below) in tree.climb(at) {
        match node {
            // The names of a comprehension are its own, and those of a class are its members.
            AnyNodeRef::Comprehension(part) if id(&part.target) == below => return None,
            AnyNodeRef::StmtClassDef(_) => return None,
            node => {
                if let Some(function) = function_of(node).filter(|_| is_in_body(node, below)) {
                    return Some(function);
                }
            }
        }
    }
    None
}

/// The functions in whose bodies a node is, from the inside.
fn functions_around<'t>(
    tree: &'t ProgramTree<'_>,
    at: NodeId,
) -> impl Iterator<Item = NodeId> + 't {
    tree.climb(at)
        .filter_map(|(node, below)| function_of(node).filter(|_| is_in_body(node, below)))
}

fn function_of(node: AnyNodeRef<'_>) -> Option<NodeId> {
    match node {
        AnyNodeRef::StmtFunctionDef(function) => Some(id(function)),
        AnyNodeRef::ExprLambda(function) => Some(id(function)),
        _ => None,
    }
}

/// Whether the part `below` of a function runs inside of it. Decorators, defaults and annotations do not.
fn is_in_body(function: AnyNodeRef<'_>, below: NodeId) -> bool {
    match function {
        AnyNodeRef::StmtFunctionDef(function) => is_one_of(&function.body, below),
        AnyNodeRef::ExprLambda(function) => id(&*function.body) == below,
        _ => false,
    }
}

/// Whether a node is a statement of a class, outside of its methods.
pub(super) fn is_in_class(tree: &ProgramTree<'_>, at: NodeId) -> bool {
    for (node, _) in tree.climb(at) {
        match node {
            AnyNodeRef::StmtClassDef(_) => return true,
            AnyNodeRef::StmtFunctionDef(_) | AnyNodeRef::ExprLambda(_) => return false,
            _ => {}
        }
    }
    false
}
