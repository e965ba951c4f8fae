//! The same call again and again: where the preset `balanced` allows a call, the third of the same bytes in a run is asked about.

use limbeck_domain::HostCall;
use limbeck_policy::{Permit, Question};

use crate::broker::Broker;
use crate::sha256::sha256_hex;

/// Calls of the same bytes that are sent before one is asked about.
const SAME_MAX: u32 = 2;

impl Broker {
    /// The question about a call that the policy allows, where the program has made it as often as it may. The count is that
    /// of this process; a call that the journal has a question of had been made as often.
    pub(crate) fn repeated(&self, call: &HostCall, permit: &Permit) -> Option<Box<Question>> {
        let policy = self.context().policy.newest();
        let question = policy.ask_about_repeat(permit, self.scope(), &self.requester())?;
        let sha256 = sha256_hex(question.arguments().as_str().as_bytes());
        let is_recorded = self.asks.recorded(call.id).is_some();
        let at_least = if is_recorded { SAME_MAX } else { 0 };
        let made = self.asks.count(question.tool(), &sha256, at_least);
        (made >= SAME_MAX).then_some(question)
    }
}
