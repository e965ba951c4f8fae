//! Facts about each call: how often it is made, and which parts of its result are used. Only certain facts are
//! reported.

mod guards;
mod reads;
mod repeat;
mod taken_apart;
mod uses;

use limbeck_domain::Repeat;

pub(super) use self::guards::FailureHandlers;
use self::reads::ReadFinder;
use self::taken_apart::is_taken_apart;
use self::uses::uses;
use super::names::NamedCall;
use super::tree::ProgramTree;
use crate::result_read::ResultRead;

/// Facts about calls, in the order of the calls.
pub(super) struct CallFlow {
    pub(super) repeat: Vec<Repeat>,
    /// Whether the promise of a call is used as if it were the result.
    pub(super) taken_apart: Vec<bool>,
    pub(super) reads: Vec<Vec<ResultRead>>,
    /// For each call the calls whose results go into its arguments, ascending.
    pub(super) uses: Vec<Vec<u32>>,
}

impl CallFlow {
    pub(super) fn of(tree: &ProgramTree<'_, '_>, calls: &[NamedCall<'_>]) -> Self {
        let mut reads = ReadFinder::new(tree);
        let nodes = || calls.iter().map(|call| call.node.node_id());
        Self {
            repeat: nodes().map(|node| repeat::of(tree, node)).collect(),
            taken_apart: nodes().map(|node| is_taken_apart(tree, node)).collect(),
            reads: nodes().map(|node| reads.of(node)).collect(),
            uses: uses(tree, calls),
        }
    }
}
