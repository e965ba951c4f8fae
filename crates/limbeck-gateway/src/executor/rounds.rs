//! Count of the rounds of tool calls of a program: the turns that a model would have taken for the same calls, if it
//! made calls in parallel wherever the program did.
//!
//! A call belongs to the round after that of the results delivered last. Calls that do not reach a server, such as a read
//! of `store`, have no round of their own.

use std::collections::BTreeMap;

use limbeck_domain::{CallId, HostCall, HostOp};

#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// Round of the results delivered last.
    delivered: u32,
    most: u32,
    /// Rounds of the calls whose results are not delivered yet.
    pending: BTreeMap<CallId, u32>,
}

impl Rounds {
    /// Counts a call of the program.
    pub(super) fn called(&mut self, call: &HostCall) {
        let round = self.delivered + u32::from(call.op == HostOp::Tool);
        self.most = self.most.max(round);
        self.pending.insert(call.id, round);
    }

    /// Counts a delivery. One without results means that only time has passed, which ends every round so far.
    pub(super) fn delivered(&mut self, calls: impl Iterator<Item = CallId>) {
        let rounds = calls.filter_map(|id| self.pending.remove(&id));
        self.delivered = rounds.max().unwrap_or(self.most);
    }

    pub(super) fn most(&self) -> u32 {
        self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(rounds: &mut Rounds, id: u32, op: HostOp) {
        rounds.called(&HostCall {
            id: CallId(id),
            op,
            head: String::new(),
            body: String::new(),
        });
    }

    fn hear(rounds: &mut Rounds, ids: &[u32]) {
        rounds.delivered(ids.iter().map(|id| CallId(*id)));
    }

    #[test]
    fn calls_one_after_another_are_a_round_each_and_calls_side_by_side_are_one() {
        let mut rounds = Rounds::default();
        for id in 1..=3 {
            call(&mut rounds, id, HostOp::Tool);
            hear(&mut rounds, &[id]);
        }
        assert_eq!(rounds.most(), 3);
        for id in 4..=9 {
            call(&mut rounds, id, HostOp::Tool);
        }
        hear(&mut rounds, &[4, 5, 6]);
        hear(&mut rounds, &[7, 8, 9]);
        assert_eq!(rounds.most(), 4);
    }

    #[test]
    fn chains_side_by_side_are_as_long_as_one_of_them() {
        let mut rounds = Rounds::default();
        call(&mut rounds, 1, HostOp::Tool);
        call(&mut rounds, 2, HostOp::Tool);
        hear(&mut rounds, &[1]);
        call(&mut rounds, 3, HostOp::Tool);
        hear(&mut rounds, &[3]);
        hear(&mut rounds, &[2]);
        call(&mut rounds, 4, HostOp::Tool);
        assert_eq!(rounds.most(), 2);
    }

    #[test]
    fn questions_to_the_gateway_take_no_round_and_waiting_ends_one() {
        let mut rounds = Rounds::default();
        call(&mut rounds, 1, HostOp::StoreGet);
        hear(&mut rounds, &[1]);
        assert_eq!(rounds.most(), 0);
        call(&mut rounds, 2, HostOp::Tool);
        hear(&mut rounds, &[2]);
        hear(&mut rounds, &[]);
        call(&mut rounds, 3, HostOp::Tool);
        assert_eq!(rounds.most(), 2);
    }
}
