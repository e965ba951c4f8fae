//! Facts about each call: how often it is made, whether its refusal may be caught, and which parts of its result
//! are used.
//!
//! Only certain facts are reported: names with one value, loops with constant heads.

mod guards;
mod idle;
mod reach;
mod reads;
mod repeat;
mod uses;

use std::collections::HashMap;

use limbeck_domain::Repeat;
use ruff_python_ast::{ExprCall, ExprName, StmtFunctionDef};
use ruff_text_size::Ranged;

use self::reach::Conditions;
use super::facts::ProgramFacts;
use super::tree::{NodeId, ProgramTree, id};

pub(super) struct CallFlow<'t, 'a> {
    tree: &'t ProgramTree<'a>,
    facts: &'t ProgramFacts<'a>,
    /// Whether anything in the program may catch a refusal.
    any_guard: bool,
    /// What is known of functions; `None` while it is being computed.
    guarded: HashMap<NodeId, Option<bool>>,
    repeats: HashMap<NodeId, Option<Repeat>>,
    /// Server and tool of each call that gives the value of a result.
    tools: HashMap<NodeId, (Option<String>, String)>,
    /// Where these calls begin, in the order of the text.
    call_starts: Vec<u32>,
    conditions: Conditions,
}

impl<'t, 'a> CallFlow<'t, 'a> {
    pub(super) fn new(tree: &'t ProgramTree<'a>, facts: &'t ProgramFacts<'a>) -> Self {
        Self {
            tree,
            facts,
            any_guard: guards::any(facts),
            guarded: HashMap::new(),
            repeats: HashMap::new(),
            tools: HashMap::new(),
            call_starts: Vec::new(),
            conditions: Conditions::of(tree, facts),
        }
    }

    /// Takes server and tool of each call that gives the value of a result.
    pub(super) fn know_tools(&mut self, tools: HashMap<NodeId, (Option<String>, String)>) {
        let starts = tools
            .keys()
            .map(|call| self.tree.node(*call).start().into());
        self.call_starts = starts.collect();
        self.call_starts.sort_unstable();
        self.tools = tools;
    }

    /// Whether a tool is called between two places.
    fn has_call_between(&self, from: u32, to: u32) -> bool {
        let first = self.call_starts.partition_point(|start| *start < from);
        self.call_starts.get(first).is_some_and(|start| *start < to)
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
