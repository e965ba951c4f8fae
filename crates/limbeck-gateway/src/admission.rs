//! Admission of executions: a bounded number runs, a bounded queue waits, further requests are rejected.
//!
//! Scheduling is round robin over principals: a free slot goes to the next principal with queued requests,
//! not to the next request. No principal can take the whole queue, and while others have slots it begins another only while
//! it has fewer than half of those that they leave it ([`State::may_begin`]). So several principals that take all they may
//! still leave a slot for the next one, and the last free slot goes only to a principal that has none. Requests above that
//! wait in the principal's own queue. Requests of one principal run in order of arrival; over standard input there is one
//! principal.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use limbeck_domain::limits;
use tokio::sync::oneshot;

/// Limits on executions of a gateway.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionSize {
    /// Executions running at the same time.
    pub running: usize,
    /// Of one principal.
    pub running_each: usize,
    /// Requests waiting for a place.
    pub queued: usize,
    /// Of one principal.
    pub queued_each: usize,
}

impl Default for AdmissionSize {
    fn default() -> Self {
        Self {
            running: limits::EXECUTIONS_MAX,
            running_each: limits::EXECUTIONS_PER_PRINCIPAL_MAX,
            queued: limits::EXECUTIONS_QUEUED_MAX,
            queued_each: limits::EXECUTIONS_QUEUED_PER_PRINCIPAL_MAX,
        }
    }
}

/// Admits executions. A slot is held until its guard is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    size: AdmissionSize,
    state: Arc<Mutex<State>>,
}

/// Slot of a running execution.
#[derive(Debug)]
pub(crate) struct ExecutionSlot {
    admission: Admission,
    principal: Arc<str>,
}

/// Rejection of a request: no slot is free and the queue, or the principal's share of it, is full.
#[derive(Debug, thiserror::Error)]
#[error("{} and {}", running_text(.running), waiting_text(.queued))]
pub(crate) struct BusyError {
    running: usize,
    queued: usize,
}

fn running_text(count: &usize) -> String {
    match *count {
        1 => "1 execution is running".to_owned(),
        count => format!("{count} executions are running"),
    }
}

fn waiting_text(count: &usize) -> String {
    match *count {
        1 => "1 is waiting".to_owned(),
        count => format!("{count} are waiting"),
    }
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    queued: usize,
    /// Principals with running or queued requests.
    shares: HashMap<Arc<str>, Share>,
    /// Principals with queued requests, the next one first.
    next_principals: VecDeque<Arc<str>>,
    tickets: u64,
}

/// Running and queued requests of one principal.
#[derive(Debug, Default)]
struct Share {
    running: usize,
    queue: VecDeque<Request>,
}

#[derive(Debug)]
struct Request {
    ticket: u64,
    place: oneshot::Sender<ExecutionSlot>,
}

/// Queued request; leaves the queue when dropped.
struct Waiting {
    admission: Admission,
    principal: Arc<str>,
    ticket: u64,
    place: oneshot::Receiver<ExecutionSlot>,
}

impl Admission {
    pub(crate) fn new(size: AdmissionSize) -> Self {
        Self {
            size,
            state: Arc::default(),
        }
    }

    /// Waits for a slot. Rejects at once when the queue, or the principal's share of it, is full.
    pub(crate) async fn enter(&self, principal: &str) -> Result<ExecutionSlot, BusyError> {
        match self.ask(principal)? {
            Ok(place) => Ok(place),
            Err(mut waiting) => {
                let place = (&mut waiting.place).await;
                // The sender is dropped without a slot only if this gateway is going away.
                place.map_err(|_| self.busy(&self.state()))
            }
        }
    }

    /// Takes a free slot, or a position in the queue.
    fn ask(&self, principal: &str) -> Result<Result<ExecutionSlot, Waiting>, BusyError> {
        let principal: Arc<str> = principal.into();
        let mut state = self.state();
        let queued = state
            .shares
            .get(&principal)
            .map_or(0, |share| share.queue.len());
        if queued == 0 && state.may_begin(&principal, &self.size) {
            state.running += 1;
            state.share(&principal).running += 1;
            return Ok(Ok(self.place(principal)));
        }
        if state.queued >= self.size.queued || queued >= self.size.queued_each {
            return Err(self.busy(&state));
        }
        let (place, receiver) = oneshot::channel();
        state.tickets += 1;
        let ticket = state.tickets;
        state.queued += 1;
        let share = state.share(&principal);
        share.queue.push_back(Request { ticket, place });
        if queued == 0 {
            state.next_principals.push_back(Arc::clone(&principal));
        }
        Ok(Err(Waiting {
            admission: self.clone(),
            principal,
            ticket,
            place: receiver,
        }))
    }

    /// Numbers of running executions and of queued requests.
    pub(crate) fn load(&self) -> (usize, usize) {
        let state = self.state();
        (state.running, state.queued)
    }

    fn place(&self, principal: Arc<str>) -> ExecutionSlot {
        ExecutionSlot {
            admission: self.clone(),
            principal,
        }
    }

    fn busy(&self, state: &State) -> BusyError {
        BusyError {
            running: state.running,
            queued: state.queued,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives free slots to the next principals. Sends outside of the lock: a slot whose request was cancelled
    /// is dropped, and its `Drop` calls this function again.
    fn grant_free_slots(&self) {
        loop {
            let next = self.state().next(&self.size);
            let Some((principal, request)) = next else {
                return;
            };
            // An error returns the slot, which is dropped here: the request was cancelled just now.
            let _ = request.place.send(self.place(principal));
        }
    }
}

impl State {
    fn share(&mut self, principal: &Arc<str>) -> &mut Share {
        self.shares.entry(Arc::clone(principal)).or_default()
    }

    /// Whether a slot is free and within the principal's share of them. A principal alone may have `running_each`; beside
    /// others it may have half of what they leave, and always a first one. Of places that are all alike, `n` principals
    /// with many requests end up with one part of `n + 1` each, and the last part stays free for the next principal.
    fn may_begin(&self, principal: &Arc<str>, size: &AdmissionSize) -> bool {
        let own = self.shares.get(principal).map_or(0, |share| share.running);
        if self.running >= size.running || own >= size.running_each {
            return false;
        }
        let others = self.running - own;
        own == 0 || others == 0 || own < (size.running - others).div_ceil(2)
    }

    /// Removes the request that gets the next free slot, and counts it as running.
    fn next(&mut self, size: &AdmissionSize) -> Option<(Arc<str>, Request)> {
        let turn = self
            .next_principals
            .iter()
            .position(|principal| self.may_begin(principal, size))?;
        let principal = self.next_principals.remove(turn)?;
        let share = self.share(&principal);
        let request = share.queue.pop_front()?;
        share.running += 1;
        if !share.queue.is_empty() {
            self.next_principals.push_back(Arc::clone(&principal));
        }
        self.running += 1;
        self.queued -= 1;
        Some((principal, request))
    }

    /// Removes a request from the queue, if it is still there.
    fn cancel(&mut self, principal: &Arc<str>, ticket: u64) {
        let share = self.share(principal);
        let before = share.queue.len();
        share.queue.retain(|request| request.ticket != ticket);
        let cancelled = before - share.queue.len();
        if cancelled > 0 && share.queue.is_empty() {
            self.next_principals.retain(|other| other != principal);
        }
        self.queued -= cancelled;
        self.forget_if_idle(principal);
    }

    fn forget_if_idle(&mut self, principal: &Arc<str>) {
        let share = self.shares.get(principal);
        if share.is_some_and(|share| share.running == 0 && share.queue.is_empty()) {
            self.shares.remove(principal);
        }
    }
}

impl Drop for ExecutionSlot {
    fn drop(&mut self) {
        {
            let mut state = self.admission.state();
            state.running -= 1;
            state.share(&self.principal).running -= 1;
            state.forget_if_idle(&self.principal);
        }
        self.admission.grant_free_slots();
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut state = self.admission.state();
        state.cancel(&self.principal, self.ticket);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn admission(running: usize, each: usize, queued: usize, queued_each: usize) -> Admission {
        Admission::new(AdmissionSize {
            running,
            running_each: each,
            queued,
            queued_each,
        })
    }

    type Entering<'a> = futures::future::BoxFuture<'a, Result<ExecutionSlot, BusyError>>;

    /// A request that has to wait.
    fn waiting<'a>(admission: &'a Admission, principal: &'a str) -> Entering<'a> {
        let mut entering = admission.enter(principal).boxed();
        assert!((&mut entering).now_or_never().is_none());
        entering
    }

    fn enter(admission: &Admission, principal: &str) -> Result<ExecutionSlot, BusyError> {
        admission.enter(principal).now_or_never().unwrap()
    }

    #[test]
    fn beyond_running_and_queue_the_answer_is_busy_and_a_freed_place_goes_to_the_queue() {
        let admission = admission(1, 1, 1, 1);
        let first = enter(&admission, "a").unwrap();
        let next = waiting(&admission, "a");
        let refused = enter(&admission, "a").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "1 execution is running and 1 is waiting"
        );
        drop(first);
        drop(next.now_or_never().unwrap().unwrap());
        enter(&admission, "a").unwrap();
        assert!(admission.state().shares.is_empty());
    }

    #[test]
    fn principals_take_turns_however_many_requests_one_has_waiting() {
        let admission = admission(1, 1, 8, 4);
        let running = enter(&admission, "greedy").unwrap();
        let mut greedy: Vec<_> = (0..3).map(|_| waiting(&admission, "greedy")).collect();
        let polite = waiting(&admission, "polite");
        drop(running);
        let first = (&mut greedy[0]).now_or_never().unwrap().unwrap();
        drop(first);
        let second = polite.now_or_never().unwrap().unwrap();
        assert!((&mut greedy[1]).now_or_never().is_none());
        drop(second);
        assert!((&mut greedy[1]).now_or_never().unwrap().is_ok());
    }

    #[test]
    fn no_principal_has_every_place_or_all_of_the_queue() {
        let admission = admission(2, 1, 3, 2);
        let _running = enter(&admission, "greedy").unwrap();
        let _waiting = [waiting(&admission, "greedy"), waiting(&admission, "greedy")];
        assert!(enter(&admission, "greedy").is_err());
        let _running = enter(&admission, "polite").unwrap();
        let _last = waiting(&admission, "polite");
        assert!(enter(&admission, "polite").is_err());
        assert!(enter(&admission, "a third").is_err());
    }

    /// Takes slots until a request has to wait; returns the slots.
    fn take_all(admission: &Admission, principal: &str) -> Vec<ExecutionSlot> {
        let entering = || admission.enter(principal).now_or_never();
        std::iter::from_fn(entering).map(Result::unwrap).collect()
    }

    #[test]
    fn principals_that_hold_all_they_may_leave_a_slot_for_the_next_one() {
        let size = AdmissionSize::default();
        let admission = Admission::new(size);
        // The control: a principal alone has as many as one may have.
        let first = take_all(&admission, "first");
        assert_eq!(first.len(), size.running_each);
        let held =
            ["second", "third", "fourth", "fifth"].map(|principal| take_all(&admission, principal));
        assert_eq!(held.each_ref().map(Vec::len), [4, 2, 1, 1]);
        assert_eq!(admission.load(), (size.running, 0));
        drop((first, held));
        assert!(admission.state().shares.is_empty());
    }

    #[test]
    fn the_last_free_slot_goes_to_a_principal_that_has_none_and_shares_become_equal() {
        let admission = admission(6, 4, 8, 4);
        let mut greedy = take_all(&admission, "greedy");
        let other = take_all(&admission, "other");
        assert_eq!((greedy.len(), other.len()), (4, 1));
        let last = enter(&admission, "late").unwrap();
        let mut queued = waiting(&admission, "greedy");
        let mut first = waiting(&admission, "none");
        drop(greedy.pop());
        // `greedy` asked before, and has three.
        assert!((&mut queued).now_or_never().is_none());
        drop((&mut first).now_or_never().unwrap().unwrap());
        assert!((&mut queued).now_or_never().is_none());
        // As soon as it holds fewer than half of what others leave, it goes on.
        drop((last, other));
        assert!((&mut queued).now_or_never().unwrap().is_ok());
        assert_eq!(admission.load(), (3, 0));
    }

    #[test]
    fn a_request_that_is_given_up_leaves_no_trace() {
        let admission = admission(1, 1, 1, 1);
        let running = enter(&admission, "a").unwrap();
        drop(waiting(&admission, "b"));
        let given_a_place = waiting(&admission, "b");
        drop(running);
        // It has a place and does not know it.
        drop(given_a_place);
        drop(enter(&admission, "c").unwrap());
        let state = admission.state();
        assert_eq!((state.running, state.queued), (0, 0));
        assert!(state.shares.is_empty() && state.next_principals.is_empty());
    }
}
