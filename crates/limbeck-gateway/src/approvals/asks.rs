//! Questions of one run: which of its calls wait for a person, and what was denied so far.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use limbeck_domain::{ApprovalId, CallError, CallId, ErrorKind, ProgramError, ToolId};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Denials by a person that end a program: it asks for what is not wanted.
const DENIALS_MAX: usize = 3;
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

#[derive(Debug, Default)]
struct State {
    /// Calls that wait, with their questions; `None` of one that is not asked about yet.
    waiting: BTreeMap<CallId, Option<ApprovalId>>,
    /// Calls that a person denied, by tool and hash of the arguments.
    denied: Vec<(ToolId, String, CallError)>,
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
    pub(super) fn recorded(&self, call: CallId) -> Option<&ApprovalId> {
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

    /// Questions that calls wait for, in the order of the calls.
    pub(crate) fn pending(&self) -> Vec<ApprovalId> {
        self.state().waiting.values().flatten().cloned().collect()
    }

    /// The error of the same call, when a person has denied it in this run.
    pub(crate) fn denied_before(&self, tool: &ToolId, sha256: &str) -> Option<CallError> {
        let state = self.state();
        let mut denied = state.denied.iter();
        let same = denied.find(|(denied, hash, _)| denied == tool && hash == sha256);
        same.map(|(_, _, error)| error.clone())
    }

    /// Remembers a denial by a person. The third ends the run.
    pub(super) fn deny(&self, tool: &ToolId, sha256: &str, error: &CallError) {
        let mut state = self.state();
        if state.denied.len() < DENIED_MAX {
            let denied = (tool.clone(), sha256.to_owned(), error.clone());
            state.denied.push(denied);
        }
        let denials = state.denied.len();
        drop(state);
        if denials >= DENIALS_MAX {
            let message = format!(
                "the user denied {denials} calls of this program; the last was {}",
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
        for hash in ["a", "b"] {
            asks.deny(&tool, hash, &error);
        }
        assert!(!asks.ended.is_cancelled());
        assert_eq!(asks.denied_before(&tool, "a"), Some(error.clone()));
        assert_eq!(asks.denied_before(&tool, "c"), None);
        assert_eq!(asks.denied_before(&ToolId::new("mail", "read"), "a"), None);
        asks.deny(&tool, "c", &error);
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
