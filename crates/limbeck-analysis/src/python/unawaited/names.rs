//! Names through which tools are reached, and names whose values are awaited.

use std::collections::{HashMap, HashSet};

use ruff_python_ast::{AnyNodeRef, Expr};

use super::{AWAITERS, KEEPERS};
use crate::python::facts::{TOOL_ROOTS, first_part, given_name, gives_tools, module_of};
use crate::python::names::{last_name, name_of};
use crate::python::tree::{ProgramTree, id};

/// Names that lead to others.
#[derive(Default)]
struct Leads<'a> {
    to: Vec<Vec<&'a str>>,
    /// By name, the places in `to` it leads to.
    from: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Leads<'a> {
    /// Has each of `from` lead to all of `to`.
    fn add(&mut self, from: impl IntoIterator<Item = &'a str>, to: Vec<&'a str>) {
        let place = self.to.len();
        for name in from {
            self.from.entry(name).or_default().push(place);
        }
        self.to.push(to);
    }

    /// `names` and all that they lead to.
    fn followed(mut self, names: Vec<&'a str>) -> HashSet<&'a str> {
        let mut reached = HashSet::new();
        let mut waiting = names;
        while let Some(name) = waiting.pop() {
            if reached.insert(name) {
                for place in self.from.remove(name).unwrap_or_default() {
                    waiting.append(&mut self.to[place]);
                }
            }
        }
        reached
    }
}

/// Names and attributes through which a program may reach tools: found by what mentions them.
pub(super) fn toolish_names<'a>(tree: &ProgramTree<'a>) -> HashSet<&'a str> {
    let mut toolish: Vec<&str> = TOOL_ROOTS.into();
    let mut leads = Leads::default();
    let mentions = |node| tree.below(node).filter_map(name_in);
    for node in tree.nodes() {
        match node {
            AnyNodeRef::StmtFunctionDef(function) if !function.is_async => {
                leads.add(mentions(id(function)), vec![&function.name.id]);
            }
            AnyNodeRef::StmtAssign(node)
                if matches!(
                    *node.value,
                    Expr::Attribute(_) | Expr::Subscript(_) | Expr::Name(_) | Expr::Lambda(_)
                ) =>
            {
                let names = node.targets.iter().filter_map(last_name);
                leads.add(mentions(id(&*node.value)), names.collect());
            }
            AnyNodeRef::StmtImportFrom(node) if gives_tools(module_of(node)) => {
                toolish.extend(node.names.iter().map(given_name));
            }
            _ => {}
        }
    }
    leads.followed(toolish)
}

fn name_in(node: AnyNodeRef<'_>) -> Option<&str> {
    match node {
        AnyNodeRef::ExprName(name) => Some(&name.id),
        AnyNodeRef::ExprAttribute(node) => Some(&node.attr.id),
        _ => None,
    }
}

/// Names whose values may be awaited somewhere, in any scope: where `await` precedes them, where they
/// go to something that awaits or keeps them, where they are returned, and where they are items of a collection.
/// Awaiting or keeping a part of a value (`await a.b`, `[a["c"]]`) does not await the call.
pub(super) fn collected_names<'a>(tree: &ProgramTree<'a>) -> HashSet<&'a str> {
    let roots = Roots { tree };
    let mut awaited = Vec::new();
    let mut items = Vec::new();
    // When the first is awaited, so are the others.
    let mut leads = Leads::default();
    for node in tree.nodes() {
        match node {
            AnyNodeRef::ExprAwait(node) => roots.add_wholes(&node.value, &mut awaited),
            AnyNodeRef::ExprCall(call) if keeps(tree, &call.func) => {
                let named = call.arguments.keywords.iter().map(|word| &word.value);
                for item in call.arguments.args.iter().chain(named) {
                    roots.add_wholes(item, &mut awaited);
                }
            }
            AnyNodeRef::StmtReturn(node) => awaited.extend(node.value.as_deref().and_then(name_of)),
            AnyNodeRef::ExprYield(node) => awaited.extend(node.value.as_deref().and_then(name_of)),
            AnyNodeRef::StmtFor(node) if !node.is_async => {
                leads.add(roots.of(&node.target), roots.wholes_of(&node.iter));
            }
            AnyNodeRef::Comprehension(node) => {
                leads.add(roots.of(&node.target), roots.wholes_of(&node.iter));
            }
            AnyNodeRef::StmtAssign(node) => {
                let targets = node.targets.iter().flat_map(|target| roots.of(target));
                leads.add(targets, roots.wholes_of(&node.value));
            }
            AnyNodeRef::ExprListComp(node) => roots.add_wholes(&node.elt, &mut items),
            AnyNodeRef::ExprSetComp(node) => roots.add_wholes(&node.elt, &mut items),
            AnyNodeRef::ExprGenerator(node) => roots.add_wholes(&node.elt, &mut items),
            _ => {}
        }
        for item in displayed(node) {
            roots.add_wholes(item, &mut items);
        }
    }
    let mut names = leads.followed(awaited);
    names.extend(items);
    names
}

/// The names that an expression is or collects: `a` of `a`, `*a`, `[a]`, `{"k": a}`, `a.values()` and `a[0]`.
struct Roots<'t, 'a> {
    tree: &'t ProgramTree<'a>,
}

impl<'a> Roots<'_, 'a> {
    fn of(&self, node: &'a Expr) -> Vec<&'a str> {
        let mut found = Vec::new();
        self.add_all(node, &mut found);
        found
    }

    fn wholes_of(&self, node: &'a Expr) -> Vec<&'a str> {
        let mut found = Vec::new();
        self.add_wholes(node, &mut found);
        found
    }

    fn add_all(&self, node: &'a Expr, found: &mut Vec<&'a str>) {
        match inner(node) {
            Some(items) => items.for_each(|item| self.add_all(item, found)),
            None => found.extend(self.tree.root_of(node)),
        }
    }

    /// Like `add_all`, but skips attributes and named items.
    fn add_wholes(&self, node: &'a Expr, found: &mut Vec<&'a str>) {
        match inner(node) {
            Some(items) => items.for_each(|item| self.add_wholes(item, found)),
            None if node.is_attribute_expr() || is_named_item(node) => {}
            None => found.extend(self.tree.root_of(node)),
        }
    }
}

/// Items of a starred expression, or of a display of a collection.
fn inner(node: &Expr) -> Option<Box<dyn Iterator<Item = &Expr> + '_>> {
    Some(match node {
        Expr::Starred(node) => Box::new(std::iter::once(&*node.value)),
        Expr::List(node) => Box::new(node.elts.iter()),
        Expr::Tuple(node) => Box::new(node.elts.iter()),
        Expr::Set(node) => Box::new(node.elts.iter()),
        Expr::Dict(node) => Box::new(node.items.iter().map(|item| &item.value)),
        _ => return None,
    })
}

/// The items of a display.
fn displayed(node: AnyNodeRef<'_>) -> Vec<&Expr> {
    match node {
        AnyNodeRef::ExprList(node) => node.elts.iter().collect(),
        AnyNodeRef::ExprTuple(node) => node.elts.iter().collect(),
        AnyNodeRef::ExprSet(node) => node.elts.iter().collect(),
        AnyNodeRef::ExprDict(node) => node.items.iter().map(|item| &item.value).collect(),
        _ => Vec::new(),
    }
}

fn is_named_item(node: &Expr) -> bool {
    node.as_subscript_expr()
        .is_some_and(|node| node.slice.is_string_literal_expr())
}

fn keeps(tree: &ProgramTree<'_>, function: &Expr) -> bool {
    last_name(function).is_some_and(|name| KEEPERS.contains(&name))
        || tree
            .root_of(function)
            .is_some_and(|root| AWAITERS.contains(&root))
}

/// Names of imported modules.
pub(super) fn imported_modules<'a>(tree: &ProgramTree<'a>) -> HashSet<&'a str> {
    let imports = tree.nodes().filter_map(AnyNodeRef::stmt_import);
    let names = imports.flat_map(|node| &node.names);
    let given = names.map(|alias| match &alias.asname {
        Some(name) => &*name.id,
        None => first_part(&alias.name.id),
    });
    given.collect()
}
