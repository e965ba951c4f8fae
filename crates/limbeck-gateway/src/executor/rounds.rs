//! How many rounds of tool calls a program made: the turns that a model would have taken for the same
//! calls, given that it makes calls side by side wherever the program did.
//!
//! A call belongs to the round behind that of the answers its program had just heard. Calls that do not reach
//! a server, such as a look into `store`, take no round of their own.

use std::collections::BTreeMap;

use limbeck_domain::{CallId, HostCall, HostOp};

#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// Round of the answers heard last.
    heard: u32,
    most: u32,
    /// Of the calls whose answers were not heard yet.
    of: BTreeMap<CallId, u32>,
}

impl Rounds {
    /// The program calls.
    pub(super) fn called(&mut self, call: &HostCall) {
        let round = self.heard + u32::from(call.op == HostOp::Tool);
        self.most = self.most.max(round);
        self.of.insert(call.id, round);
    }

    /// It hears answers; of none when only time passed, which is waited for like an answer to everything.
    pub(super) fn heard(&mut self, calls: impl Iterator<Item = CallId>) {
        let rounds = calls.filter_map(|id| self.of.remove(&id));
        self.heard = rounds.max().unwrap_or(self.most);
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
        rounds.heard(ids.iter().map(|id| CallId(*id)));
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
