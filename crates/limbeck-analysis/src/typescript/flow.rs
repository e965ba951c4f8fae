//! Facts about each call: how often it is made, and which parts of its result are used. Only certain facts are
//! reported.

mod guards;
mod idle;
mod reads;
mod repeat;
mod taken_apart;
mod uses;

use limbeck_domain::{Reach, Repeat};
use oxc::semantic::NodeId;

pub(super) use self::guards::FailureHandlers;
use self::idle::is_idle;
use self::reads::ReadFinder;
pub(super) use self::reads::is_member_of_texts;
use self::taken_apart::is_taken_apart;
use self::uses::uses;
use super::names::NamedCall;
use super::tree::ProgramTree;
use crate::result_read::ValueUse;

/// Facts about calls, in the order of the calls.
pub(super) struct CallFlow {
    pub(super) repeat: Vec<Repeat>,
    /// Whether the promise of a call is used as if it were the result.
    pub(super) taken_apart: Vec<bool>,
    pub(super) results: Vec<ValueUse>,
    /// The use of `input`.
    pub(super) input: ValueUse,
    /// Whether the program surely makes the call.
    pub(super) certain: Vec<bool>,
    /// Whether the call is in a function that the program never mentions.
    pub(super) idle: Vec<bool>,
    /// Whether a program that completes has made the call.
    pub(super) reach: Vec<Reach>,
    /// For each call the calls whose results go into its arguments, ascending.
    pub(super) uses: Vec<Vec<u32>>,
}

impl CallFlow {
    pub(super) fn of(tree: &ProgramTree<'_, '_>, calls: &[NamedCall<'_>]) -> Self {
        let mut reads = ReadFinder::new(tree, calls);
        let nodes = || calls.iter().map(|call| call.node.node_id());
        let repeat: Vec<Repeat> = nodes().map(|node| repeat::of(tree, node)).collect();
        let reach = nodes().zip(&repeat);
        Self {
            reach: reach
                .map(|(node, repeat)| reads.reach(node, *repeat))
                .collect(),
            repeat,
            taken_apart: nodes().map(|node| is_taken_apart(tree, node)).collect(),
            results: nodes().map(|node| reads.of(node)).collect(),
            input: reads.of_values(global_uses(tree, "input")),
            certain: nodes().map(|node| reads.is_certain_call(node)).collect(),
            idle: nodes().map(|node| is_idle(tree, node)).collect(),
            uses: uses(tree, calls),
        }
    }
}

/// Where a global is used that the program does not declare itself.
fn global_uses(tree: &ProgramTree<'_, '_>, global: &str) -> Vec<NodeId> {
    let unresolved = tree.scoping.root_unresolved_references().iter();
    let references = unresolved
        .filter(|(name, _)| name.as_str() == global)
        .flat_map(|(_, references)| references);
    let reads = references.map(|reference| tree.scoping.get_reference(*reference));
    let reads = reads.filter(|reference| reference.is_read() && reference.is_value());
    reads.map(|reference| reference.node_id()).collect()
}
