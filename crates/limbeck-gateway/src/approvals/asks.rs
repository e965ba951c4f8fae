//! Questions of one run: which of its calls wait for a person, and what was denied so far.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use limbeck_domain::{ApprovalId, CallError, CallId, ErrorKind, ProgramError, ToolId};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Denials by a person that end a program: it asks for what is not wanted.
const DENIALS_MAX: usize = 3;
/// Different calls that are counted.
const COUNTED_MAX: usize = 1_000;
/// Denied calls that are remembered; a program that makes more has ended.
const DENIED_MAX: usize = 64;

/// What happens when a call has to be asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnAsk {
    /// The person behind the client is asked, and the answer waited for; after a while the execution is paused.
    #[default]
    Wait,
    /// The execution is paused at once.
    Pause,
    /// The call is denied.
    Deny,
    /// The execution ends.
    Fail,
}

/// Questions of one run.
#[derive(Debug, Default)]
pub(crate) struct Asks {
    on_ask: OnAsk,
    /// Questions that the journal has, by their call: they are not asked a second time.
    recorded: BTreeMap<CallId, ApprovalId>,
    state: Mutex<State>,
    /// Notified when a call begins to wait.
    began: Notify,
    /// Why the run has to end.
    end: OnceLock<ProgramError>,
    ended: CancellationToken,
}

/// One act of denying: who, and when, in microseconds since 1970.
#[derive(Debug, Default)]
pub(super) struct DenialAct {
    pub(super) by: String,
    pub(super) at_us: u64,
    /// Whether the person ends the program by it.
    pub(super) stop: bool,
}

#[derive(Debug, Default)]
struct State {
    /// Calls that wait, with their questions; `None` of one that is not asked about yet.
    waiting: BTreeMap<CallId, Option<ApprovalId>>,
    /// How often a call was made, by tool and hash of the arguments.
    made: BTreeMap<(ToolId, String), u32>,
    /// Calls that a person denied, by tool and hash of the arguments.
    denied: Vec<(ToolId, String, CallError)>,
    /// Acts of denying, each by who denied and when: the members of a group are denied in one.
    acts: BTreeSet<(String, u64)>,
}

/// A call that waits for a person.
pub(super) struct WaitingCall<'a> {
    asks: &'a Asks,
    call: CallId,
}

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        self.asks.state().waiting.remove(&self.call);
    }
}

impl Asks {
    pub(crate) fn new(on_ask: OnAsk, recorded: BTreeMap<CallId, ApprovalId>) -> Arc<Self> {
        Arc::new(Self {
            on_ask,
            recorded,
            ..Self::default()
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn on_ask(&self) -> OnAsk {
        self.on_ask
    }

    /// The question that the journal has of a call.
    pub(crate) fn recorded(&self, call: CallId) -> Option<&ApprovalId> {
        self.recorded.get(&call)
    }

    /// Notes that a call waits until the returned guard is dropped.
    pub(super) fn wait(&self, call: CallId, approval: &ApprovalId) -> WaitingCall<'_> {
        let approval = Some(approval.clone());
        self.state().waiting.insert(call, approval);
        self.began.notify_one();
        WaitingCall { asks: self, call }
    }

    /// Notes that a call waits until there is room for its question.
    pub(super) fn wait_unasked(&self, call: CallId) -> WaitingCall<'_> {
        self.state().waiting.insert(call, None);
        self.began.notify_one();
        WaitingCall { asks: self, call }
    }

    /// Returns once a call has begun to wait. It may wait no more by then.
    pub(crate) async fn began_waiting(&self) {
        self.began.notified().await;
    }

    /// Calls that wait for a person.
    pub(crate) fn waiting(&self) -> usize {
        self.state().waiting.len()
    }

    /// The calls that wait for a person.
    pub(crate) fn waiting_calls(&self) -> Vec<CallId> {
        self.state().waiting.keys().copied().collect()
    }

    /// Questions that calls wait for, in the order of the calls.
    pub(crate) fn pending(&self) -> Vec<ApprovalId> {
        self.state().waiting.values().flatten().cloned().collect()
    }

    /// Counts a call, and returns how often it was made before in this process, or `at_least`. Of a program that makes very many different
    /// calls the first ones are counted.
    pub(super) fn count(&self, tool: &ToolId, sha256: &str, at_least: u32) -> u32 {
        let mut state = self.state();
        let call = (tool.clone(), sha256.to_owned());
        let has_room = state.made.len() < COUNTED_MAX;
        match state.made.get_mut(&call) {
            Some(made) => {
                let before = (*made).max(at_least);
                *made = before.saturating_add(1);
                before
            }
            None => {
                if has_room {
                    state.made.insert(call, at_least.saturating_add(1));
                }
                at_least
            }
        }
    }

    /// The error of the same call, when a person has denied it in this run.
    pub(crate) fn denied_before(&self, tool: &ToolId, sha256: &str) -> Option<CallError> {
        let state = self.state();
        let mut denied = state.denied.iter();
        let same = denied.find(|(denied, hash, _)| denied == tool && hash == sha256);
        same.map(|(_, _, error)| error.clone())
    }

    /// Remembers a denial by a person. The third act of denying ends the run, and one that says so.
    pub(super) fn deny(&self, tool: &ToolId, sha256: &str, error: &CallError, act: DenialAct) {
        let mut state = self.state();
        if state.denied.len() < DENIED_MAX {
            let denied = (tool.clone(), sha256.to_owned(), error.clone());
            state.denied.push(denied);
        }
        let DenialAct { by, at_us, stop } = act;
        if state.acts.len() < DENIALS_MAX {
            state.acts.insert((by, at_us));
        }
        let is_stopped = stop || state.acts.len() >= DENIALS_MAX;
        let denials = state.denied.len();
        drop(state);
        if is_stopped {
            let calls = if denials == 1 { "call" } else { "calls" };
            let message = format!(
                "the user denied {denials} {calls} of this program; the last was {}",
                error.message
            );
            self.end(
                ProgramError::new(ErrorKind::Cancelled, message).with_hint(
                    "do not run it again in another way: ask the user what to do instead",
                ),
            );
        }
    }

    /// Ends the run with `error`; the program cannot catch that.
    pub(super) fn end(&self, error: ProgramError) {
        let _ = self.end.set(error);
        self.ended.cancel();
    }

    /// Returns once the run has to end, and why.
    pub(crate) async fn ended(&self) -> ProgramError {
        self.ended.cancelled().await;
        match self.end.get() {
            Some(error) => error.clone(),
            // It is set before the token is cancelled.
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use limbeck_domain::CallCode;

    use super::*;

    #[test]
    fn the_third_denial_ends_the_run_and_a_denied_call_is_not_asked_again() {
        let asks = Asks::new(OnAsk::Wait, BTreeMap::new());
        let tool = ToolId::new("mail", "send");
        let error = CallError::new(CallCode::Denied, "no");
        let act = |at_us| DenialAct {
            by: "user:local".to_owned(),
            at_us,
            stop: false,
        };
        for (at_us, hash) in [(1, "a"), (2, "b")] {
            asks.deny(&tool, hash, &error, act(at_us));
        }
        // Members of a group, denied in one act.
        asks.deny(&tool, "b2", &error, act(2));
        assert!(!asks.ended.is_cancelled());
        assert_eq!(asks.denied_before(&tool, "a"), Some(error.clone()));
        assert_eq!(asks.denied_before(&tool, "c"), None);
        assert_eq!(asks.denied_before(&ToolId::new("mail", "read"), "a"), None);
        asks.deny(&tool, "c", &error, act(3));
        assert!(asks.ended.is_cancelled());
        assert_eq!(asks.end.get().unwrap().kind, ErrorKind::Cancelled);
    }

    #[test]
    fn a_denial_that_says_so_ends_the_run_at_once() {
        let asks = Asks::new(OnAsk::Wait, BTreeMap::new());
        let tool = ToolId::new("mail", "send");
        let error = CallError::new(CallCode::Denied, "no");
        let act = DenialAct {
            by: "user:local".to_owned(),
            at_us: 1,
            stop: true,
        };
        asks.deny(&tool, "a", &error, act);
        assert!(asks.ended.is_cancelled());
        assert_eq!(asks.end.get().unwrap().kind, ErrorKind::Cancelled);
    }

    #[test]
    fn a_call_waits_until_its_guard_is_dropped() {
        let asks = Asks::new(OnAsk::Wait, BTreeMap::new());
        let id = ApprovalId::new("ap_1");
        let waiting = asks.wait(CallId(1), &id);
        assert_eq!((asks.waiting(), asks.pending()), (1, vec![id]));
        drop(waiting);
        assert_eq!(asks.waiting(), 0);
    }
}
