//! Admission of the host calls of one execution: every call reserves room for its answer before its work starts, and
//! holds it until the answer is delivered to the guest.
//!
//! A guest that takes no answers, or a disk that is slower than the servers, would fill memory otherwise. The room is
//! [`ANSWERS_WAITING_BYTES_MAX`]; calls over it wait in the order they were made. Calls to servers, whose answers have
//! an unknown size and may take long, have [`REMOTE_BYTES_MAX`] of it, so that the rest is left for calls that the gateway
//! answers itself. What one of those needs is known before its work starts.
//!
//! A call holds one reservation at a time and waits for nothing that another waiting call holds. The run polls all of its
//! calls at all times, so what is granted to a call is used.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use limbeck_domain::ServerName;
use limbeck_domain::limits::ANSWERS_WAITING_BYTES_MAX;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Room of calls to servers.
const REMOTE_BYTES_MAX: usize = ANSWERS_WAITING_BYTES_MAX / 4 * 3;
/// Most room of a call. One that needs more is counted as this much; two such calls run at a time.
const CALL_BYTES_MAX: usize = ANSWERS_WAITING_BYTES_MAX / 2;
/// Least room of a call: 768 calls to servers can be in flight.
pub(super) const CALL_BYTES_MIN: usize = 64 << 10;

/// Who does the work of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// The gateway.
    Own,
    /// A server.
    Remote,
}

/// Room for the answers of one execution.
#[derive(Debug, Default)]
pub(crate) struct AnswerBudget {
    state: Mutex<State>,
    /// Calls in flight at each server.
    servers: Mutex<HashMap<ServerName, Arc<Semaphore>>>,
}

#[derive(Debug, Default)]
struct State {
    own: Class,
    remote: Class,
    /// Calls to servers that have a reservation and are ready to be sent, while answers are over the budget.
    ready: VecDeque<oneshot::Sender<()>>,
}

#[derive(Debug, Default)]
struct Class {
    held: usize,
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    bytes: usize,
    granted: oneshot::Sender<AnswerPermit>,
}

impl State {
    fn class(&mut self, work: Work) -> &mut Class {
        match work {
            Work::Own => &mut self.own,
            Work::Remote => &mut self.remote,
        }
    }

    fn held(&self) -> usize {
        self.own.held + self.remote.held
    }

    /// Whether `bytes` more may be held.
    fn fits(&self, work: Work, bytes: usize) -> bool {
        let remote_fits = match work {
            Work::Own => true,
            // A large call of the gateway's own would wait for ever behind small ones to servers otherwise.
            Work::Remote => {
                self.own.waiting.is_empty() && self.remote.held + bytes <= REMOTE_BYTES_MAX
            }
        };
        remote_fits && self.held() + bytes <= ANSWERS_WAITING_BYTES_MAX
    }
}

impl AnswerBudget {
    /// Waits until `bytes` are free. Calls of one kind get them in the order they asked.
    pub(super) async fn reserve(self: &Arc<Self>, work: Work, bytes: usize) -> AnswerPermit {
        let bytes = bytes.min(CALL_BYTES_MAX);
        let granted = {
            let mut state = self.state();
            if state.class(work).waiting.is_empty() && state.fits(work, bytes) {
                return self.permit(&mut state, work, bytes);
            }
            let (sender, granted) = oneshot::channel();
            let waiting = Waiting {
                bytes,
                granted: sender,
            };
            state.class(work).waiting.push_back(waiting);
            granted
        };
        match granted.await {
            Ok(permit) => permit,
            // The budget outlives those that wait in it, so this is never reached; such a call would be counted.
            Err(_) => self.permit(&mut self.state(), work, bytes),
        }
    }

    /// Waits until the answers that are here leave room for another. The caller holds its reservation.
    pub(super) async fn room_to_send(&self) {
        let granted = {
            let mut state = self.state();
            if state.held() <= ANSWERS_WAITING_BYTES_MAX {
                return;
            }
            let (sender, granted) = oneshot::channel();
            state.ready.push_back(sender);
            granted
        };
        // The budget is never dropped while this waits.
        let _ = granted.await;
    }

    /// Waits until fewer than `most` calls of the execution are in flight at `server`: those over that would wait at
    /// the server, where the answers of all of them have to be taken.
    pub(super) async fn in_flight(
        &self,
        server: &ServerName,
        most: Option<usize>,
    ) -> Option<OwnedSemaphorePermit> {
        let most = most?.min(Semaphore::MAX_PERMITS);
        let slots = {
            let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
            let slots = servers.entry(server.clone());
            Arc::clone(slots.or_insert_with(|| Arc::new(Semaphore::new(most))))
        };
        slots.acquire_owned().await.ok()
    }

    fn permit(self: &Arc<Self>, state: &mut State, work: Work, bytes: usize) -> AnswerPermit {
        state.class(work).held += bytes;
        AnswerPermit {
            budget: Arc::clone(self),
            work,
            bytes,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what one call holds and gives what is free to those that wait.
    fn change(self: &Arc<Self>, work: Work, from: usize, to: usize) {
        let mut granted = Vec::new();
        let mut ready = Vec::new();
        {
            let mut state = self.state();
            let class = state.class(work);
            class.held = class.held - from + to;
            for work in [Work::Own, Work::Remote] {
                while let Some(first) = state.class(work).waiting.front() {
                    let (bytes, is_gone) = (first.bytes, first.granted.is_closed());
                    if !is_gone && !state.fits(work, bytes) {
                        break;
                    }
                    if let Some(first) = state.class(work).waiting.pop_front()
                        && !is_gone
                    {
                        granted.push((first.granted, self.permit(&mut state, work, bytes)));
                    }
                }
            }
            if state.held() <= ANSWERS_WAITING_BYTES_MAX {
                ready.extend(state.ready.drain(..));
            }
        }
        // Outside of the lock: a permit whose call was dropped just now comes back here.
        for (call, permit) in granted {
            drop(call.send(permit));
        }
        for call in ready {
            let _ = call.send(());
        }
    }
}

/// Room of one call in an [`AnswerBudget`], given back when it is dropped.
#[derive(Debug)]
pub(crate) struct AnswerPermit {
    budget: Arc<AnswerBudget>,
    work: Work,
    bytes: usize,
}

impl AnswerPermit {
    /// Counts `bytes` from now on. What is here is counted, over the budget too.
    pub(super) fn set(&mut self, bytes: usize) {
        let before = std::mem::replace(&mut self.bytes, bytes);
        self.budget.change(self.work, before, bytes);
    }

    /// Gives the room to another owner, and leaves nothing here.
    pub(super) fn take(&mut self) -> Self {
        let nothing = Self {
            budget: Arc::clone(&self.budget),
            work: self.work,
            bytes: 0,
        };
        std::mem::replace(self, nothing)
    }

    /// Gives the room back and waits for `bytes`: two calls that kept what they have could wait for each other.
    pub(super) async fn exchange(&mut self, bytes: usize) {
        if bytes.min(CALL_BYTES_MAX) <= self.bytes {
            return;
        }
        self.set(0);
        *self = Arc::clone(&self.budget).reserve(self.work, bytes).await;
    }
}

impl Drop for AnswerPermit {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.budget.change(self.work, self.bytes, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn now<T>(waiting: impl Future<Output = T>) -> Option<T> {
        waiting.now_or_never()
    }

    #[test]
    fn a_call_starts_once_answers_were_taken_and_not_before_and_in_order() {
        let budget = Arc::new(AnswerBudget::default());
        let _half = now(budget.reserve(Work::Own, CALL_BYTES_MAX)).unwrap();
        let first = now(budget.reserve(Work::Own, CALL_BYTES_MAX - 2)).unwrap();
        let second = now(budget.reserve(Work::Own, 2)).unwrap();
        let mut third = budget.reserve(Work::Own, 3).boxed();
        let mut fourth = budget.reserve(Work::Own, 1).boxed();
        assert!((&mut third).now_or_never().is_none());
        assert!((&mut fourth).now_or_never().is_none());
        drop(second);
        assert!(
            (&mut fourth).now_or_never().is_none(),
            "not before the third"
        );
        drop(first);
        let third = (&mut third).now_or_never().unwrap();
        assert!((&mut fourth).now_or_never().is_some());
        drop(third);
        assert_eq!(budget.state().held(), CALL_BYTES_MAX);
    }

    #[test]
    fn calls_to_servers_leave_room_for_those_that_the_gateway_answers() {
        let budget = Arc::new(AnswerBudget::default());
        let mut remote = Vec::new();
        while let Some(permit) = now(budget.reserve(Work::Remote, CALL_BYTES_MIN)) {
            remote.push(permit);
        }
        assert_eq!(remote.len(), REMOTE_BYTES_MAX / CALL_BYTES_MIN);
        let mut next = budget.reserve(Work::Remote, CALL_BYTES_MIN).boxed();
        assert!((&mut next).now_or_never().is_none());
        assert!(now(budget.reserve(Work::Own, CALL_BYTES_MIN)).is_some());
        // One that waits goes first.
        let mut large = budget.reserve(Work::Own, CALL_BYTES_MAX).boxed();
        assert!((&mut large).now_or_never().is_none());
        remote.truncate(1);
        let large = (&mut large).now_or_never().unwrap();
        assert!((&mut next).now_or_never().is_some());
        drop((large, remote));
        assert_eq!(budget.state().held(), 0);
    }

    #[test]
    fn an_answer_over_the_budget_is_counted_and_holds_back_what_would_be_sent_next() {
        let budget = Arc::new(AnswerBudget::default());
        let mut large = now(budget.reserve(Work::Remote, CALL_BYTES_MIN)).unwrap();
        let _ready = now(budget.reserve(Work::Remote, CALL_BYTES_MIN)).unwrap();
        assert!(now(budget.room_to_send()).is_some());
        large.set(2 * ANSWERS_WAITING_BYTES_MAX);
        let mut sending = budget.room_to_send().boxed();
        let mut own = budget.reserve(Work::Own, 1).boxed();
        assert!((&mut sending).now_or_never().is_none());
        assert!((&mut own).now_or_never().is_none());
        drop(large);
        assert!((&mut sending).now_or_never().is_some());
        assert!((&mut own).now_or_never().is_some());
    }

    #[test]
    fn one_that_needs_more_gives_back_what_it_has_and_one_that_gave_up_holds_nothing() {
        let budget = Arc::new(AnswerBudget::default());
        let mut small = now(budget.reserve(Work::Own, 1)).unwrap();
        let rest = now(budget.reserve(Work::Own, CALL_BYTES_MAX)).unwrap();
        let given_up = budget.reserve(Work::Own, 10 * CALL_BYTES_MAX).boxed();
        let mut given_up = given_up;
        assert!((&mut given_up).now_or_never().is_none());
        let mut grown = small.exchange(CALL_BYTES_MAX).boxed();
        assert!(
            (&mut grown).now_or_never().is_none(),
            "behind the one that waits"
        );
        drop(given_up);
        drop(rest);
        assert!((&mut grown).now_or_never().is_some());
        drop(grown);
        assert_eq!(budget.state().held(), CALL_BYTES_MAX);
        drop(small);
        assert_eq!(budget.state().held(), 0);
    }

    #[test]
    fn calls_over_the_slots_of_a_server_wait_and_other_servers_do_not() {
        let budget = AnswerBudget::default();
        let (one, other) = (ServerName::from("one"), ServerName::from("other"));
        let held = now(budget.in_flight(&one, Some(1))).unwrap();
        assert!(now(budget.in_flight(&one, Some(1))).is_none());
        assert!(now(budget.in_flight(&other, Some(1))).unwrap().is_some());
        assert!(now(budget.in_flight(&other, None)).unwrap().is_none());
        drop(held);
        assert!(now(budget.in_flight(&one, Some(1))).is_some());
    }
}
