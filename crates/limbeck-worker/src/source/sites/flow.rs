//! How often a call is made, and what becomes of its result, where the text says so without doubt.

mod reads;
mod repeat;
mod uses;

use limbeck_wire::domain::Repeat;

pub(super) use self::reads::Read;
use self::reads::Reads;
use self::uses::uses;
use super::names::ToolCall;
use super::tree::Tree;

/// Facts about calls, in the order of the calls.
pub(super) struct Flow {
    pub(super) repeat: Vec<Repeat>,
    /// Whether a result is used as if it were there although it is not awaited.
    pub(super) taken_apart: Vec<bool>,
    pub(super) reads: Vec<Vec<Read>>,
    /// For each call the calls whose results go into its arguments, ascending.
    pub(super) uses: Vec<Vec<u32>>,
}

impl Flow {
    pub(super) fn of(tree: &Tree<'_, '_>, calls: &[ToolCall<'_>]) -> Self {
        let mut reads = Reads::new(tree);
        let nodes = || calls.iter().map(|call| call.node.node_id());
        Self {
            repeat: nodes().map(|node| repeat::of(tree, node)).collect(),
            taken_apart: nodes()
                .map(|node| reads::is_taken_apart(tree, node))
                .collect(),
            reads: nodes().map(|node| reads.of(node)).collect(),
            uses: uses(tree, calls),
        }
    }
}
