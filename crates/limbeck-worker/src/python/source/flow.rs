//! How often a call is made, whether its refusal may be caught, and what becomes of its result.
//!
//! Only what the text says without doubt: names that are given one value, loops whose heads are constants.

mod guards;
mod reads;
mod repeat;
mod uses;

use std::collections::HashMap;

use limbeck_wire::domain::Repeat;
use ruff_python_ast::{ExprCall, ExprName, StmtFunctionDef};

use super::facts::Facts;
use super::tree::{NodeId, Tree, id};

pub(super) struct Flow<'t, 'a> {
    tree: &'t Tree<'a>,
    facts: &'t Facts<'a>,
    /// Whether anything in the program may catch a refusal.
    any_guard: bool,
    /// What is known of functions; `None` while it is found out.
    guarded: HashMap<NodeId, Option<bool>>,
    repeats: HashMap<NodeId, Option<Repeat>>,
}

impl<'t, 'a> Flow<'t, 'a> {
    pub(super) fn new(tree: &'t Tree<'a>, facts: &'t Facts<'a>) -> Self {
        Self {
            tree,
            facts,
            any_guard: guards::any(facts),
            guarded: HashMap::new(),
            repeats: HashMap::new(),
        }
    }

    /// Where the name of a function is read, each with the call of it when it is one.
    fn calls_of(
        &self,
        function: &StmtFunctionDef,
    ) -> impl Iterator<Item = Option<&'a ExprCall>> + use<'t, 'a> {
        let tree = self.tree;
        let uses: &'t [&'a ExprName] = tree.uses(&function.name.id);
        uses.iter().map(move |name| {
            let around = tree.parent_node(id(*name))?;
            let call = around.expr_call()?;
            (id(&*call.func) == id(*name)).then_some(call)
        })
    }
}
