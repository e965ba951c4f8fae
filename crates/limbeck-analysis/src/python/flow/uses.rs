//! Dependencies between calls: results that are used in the arguments of other calls.

use std::collections::{BTreeSet, HashMap, HashSet};

use ruff_python_ast::{AnyNodeRef, Expr, ExprCall};

use super::CallFlow;
use crate::python::tree::{NodeId, id};

/// Methods that put something into the object they are of.
const ADDERS: [&str; 7] = [
    "append",
    "add",
    "extend",
    "insert",
    "update",
    "appendleft",
    "setdefault",
];

/// Where a value goes: calls that take it, by their places, and names that have it then.
#[derive(Default)]
struct Carried<'a> {
    takers: BTreeSet<usize>,
    names: Vec<&'a str>,
}

impl<'a> CallFlow<'_, 'a> {
    /// For each call the calls whose results go into its arguments, by their places in the list.
    pub(in crate::python) fn uses(&self, sites: &[&'a ExprCall]) -> Vec<Vec<u32>> {
        let places: HashMap<NodeId, usize> = sites
            .iter()
            .enumerate()
            .map(|(place, call)| (id(*call), place))
            .collect();
        let mut users = vec![Vec::new(); sites.len()];
        // Names are used in many places, so the use of each is looked up once.
        let mut of_names: HashMap<&str, Carried<'a>> = HashMap::new();
        // Sites are bounded, so that their places fit.
        for (source, call) in (0_u32..).zip(sites) {
            let mut takers = BTreeSet::new();
            let from = self.carried_from(id(*call), &places);
            takers.extend(from.takers);
            let mut waiting = from.names;
            let mut given = HashSet::new();
            while let Some(name) = waiting.pop() {
                if !given.insert(name) {
                    continue;
                }
                let carried = of_names
                    .entry(name)
                    .or_insert_with(|| self.carried_by(name, &places));
                takers.extend(&carried.takers);
                waiting.extend(&carried.names);
            }
            for taker in takers {
                users[taker].push(source);
            }
        }
        users
    }

    fn carried_by(&self, name: &str, places: &HashMap<NodeId, usize>) -> Carried<'a> {
        let mut all = Carried::default();
        let mut known = HashSet::new();
        for name in self.tree.uses(name) {
            let carried = self.carried_from(id(*name), places);
            all.takers.extend(carried.takers);
            let names = carried.names.into_iter();
            all.names.extend(names.filter(|name| known.insert(*name)));
        }
        all
    }

    fn carried_from(&self, node: NodeId, places: &HashMap<NodeId, usize>) -> Carried<'a> {
        let mut carried = Carried::default();
        let names = &mut carried.names;
        let mut is_returned = false;
        for (parent, below) in self.tree.climb(node) {
            match parent {
                AnyNodeRef::StmtFunctionDef(function) => {
                    if is_returned {
                        names.push(&function.name.id);
                    }
                    break;
                }
                _ if is_returned => {}
                AnyNodeRef::ExprCall(call) if id(&*call.func) != below => {
                    if let Some(place) = places.get(&id(call)) {
                        carried.takers.insert(*place);
                        break;
                    }
                    names.extend(self.through(call));
                }
                AnyNodeRef::StmtAssign(node) => {
                    let targets = node.targets.iter();
                    names.extend(targets.flat_map(|target| self.tree.names(target)));
                    break;
                }
                AnyNodeRef::StmtAnnAssign(node) => {
                    names.extend(self.tree.names(&node.target));
                    break;
                }
                AnyNodeRef::StmtAugAssign(node) => {
                    names.extend(self.tree.names(&node.target));
                    break;
                }
                AnyNodeRef::ExprNamed(node) => names.extend(self.tree.names(&node.target)),
                AnyNodeRef::WithItem(node) => {
                    let target = node.optional_vars.iter();
                    names.extend(target.flat_map(|target| self.tree.names(target)));
                }
                AnyNodeRef::StmtFor(node) if id(&*node.iter) == below => {
                    names.extend(self.tree.names(&node.target));
                    break;
                }
                AnyNodeRef::Comprehension(node) if id(&node.iter) == below => {
                    names.extend(self.tree.names(&node.target));
                }
                AnyNodeRef::StmtReturn(_) => is_returned = true,
                // A condition chooses between values and gives none.
                AnyNodeRef::ExprIf(node) if id(&*node.test) == below => break,
                node if node.is_statement() => break,
                _ => {}
            }
        }
        carried
    }

    /// Names that have what goes into a call.
    fn through(&self, call: &'a ExprCall) -> Vec<&'a str> {
        match &*call.func {
            Expr::Attribute(function) if ADDERS.contains(&&*function.attr.id) => {
                self.tree.names(&function.value).collect()
            }
            Expr::Name(name) => {
                let function = self.facts.functions.get(&*name.id);
                let parameters = function.iter().flat_map(|node| &node.parameters.args);
                parameters.map(|each| &*each.parameter.name.id).collect()
            }
            _ => Vec::new(),
        }
    }
}
