//! How many executions run, how many wait, whose turn it is, and who is told to come back.
//!
//! Principals take turns: a place that becomes free goes to the next principal that has requests
//! waiting, not to the next request. No principal can have all places or all of the queue, so one that
//! asks for more than there is makes nobody wait but itself. Requests of one principal are served in
//! the order they came; over standard input there is but one.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use limbeck_domain::limits;
use tokio::sync::oneshot;

/// How many executions a gateway admits.
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

/// Bounds executions. A place is held until its guard is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    size: AdmissionSize,
    state: Arc<Mutex<State>>,
}

/// A place among the running executions.
#[derive(Debug)]
pub(crate) struct Place {
    admission: Admission,
    principal: Arc<str>,
}

/// No place is free and the queue, or the principal's part of it, is full.
#[derive(Debug, thiserror::Error)]
#[error("{running} executions are running and {queued} are waiting")]
pub(crate) struct Busy {
    running: usize,
    queued: usize,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    queued: usize,
    /// Those that run or wait for something.
    shares: HashMap<Arc<str>, Share>,
    /// Principals that have requests waiting, the next one first.
    turns: VecDeque<Arc<str>>,
    tickets: u64,
}

/// What one principal has.
#[derive(Debug, Default)]
struct Share {
    running: usize,
    queue: VecDeque<Request>,
}

#[derive(Debug)]
struct Request {
    ticket: u64,
    place: oneshot::Sender<Place>,
}

/// A request in the queue; leaves it when dropped.
struct Waiting {
    admission: Admission,
    principal: Arc<str>,
    ticket: u64,
    place: oneshot::Receiver<Place>,
}

impl Admission {
    pub(crate) fn new(size: AdmissionSize) -> Self {
        Self {
            size,
            state: Arc::default(),
        }
    }

    /// Waits for a place; refused at once when the principal has as many requests waiting as it may.
    pub(crate) async fn enter(&self, principal: &str) -> Result<Place, Busy> {
        match self.ask(principal)? {
            Ok(place) => Ok(place),
            Err(mut waiting) => {
                let place = (&mut waiting.place).await;
                // The queue lets go of a request only with a place.
                place.map_err(|_| self.busy(&self.state()))
            }
        }
    }

    /// A place, or one in the queue.
    fn ask(&self, principal: &str) -> Result<Result<Place, Waiting>, Busy> {
        let principal: Arc<str> = principal.into();
        let mut state = self.state();
        let (running, queued) = match state.shares.get(&principal) {
            Some(share) => (share.running, share.queue.len()),
            None => (0, 0),
        };
        if queued == 0 && state.running < self.size.running && running < self.size.running_each {
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
            state.turns.push_back(Arc::clone(&principal));
        }
        Ok(Err(Waiting {
            admission: self.clone(),
            principal,
            ticket,
            place: receiver,
        }))
    }

    /// Executions running and requests waiting, now.
    pub(crate) fn load(&self) -> (usize, usize) {
        let state = self.state();
        (state.running, state.queued)
    }

    fn place(&self, principal: Arc<str>) -> Place {
        Place {
            admission: self.clone(),
            principal,
        }
    }

    fn busy(&self, state: &State) -> Busy {
        Busy {
            running: state.running,
            queued: state.queued,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives free places to those whose turn it is. Outside of the lock: a place nobody waits for any
    /// more comes back here.
    fn hand_on(&self) {
        loop {
            let next = self.state().next(&self.size);
            let Some((principal, request)) = next else {
                return;
            };
            // Comes back, dropped, when the request was given up just now.
            let _ = request.place.send(self.place(principal));
        }
    }
}

impl State {
    fn share(&mut self, principal: &Arc<str>) -> &mut Share {
        self.shares.entry(Arc::clone(principal)).or_default()
    }

    /// Takes the request that gets the next free place, and counts it as running.
    fn next(&mut self, size: &AdmissionSize) -> Option<(Arc<str>, Request)> {
        if self.running >= size.running {
            return None;
        }
        let turn = self.turns.iter().position(|principal| {
            let share = self.shares.get(principal);
            share.is_some_and(|share| share.running < size.running_each)
        })?;
        let principal = self.turns.remove(turn)?;
        let share = self.share(&principal);
        let request = share.queue.pop_front()?;
        share.running += 1;
        if !share.queue.is_empty() {
            self.turns.push_back(Arc::clone(&principal));
        }
        self.running += 1;
        self.queued -= 1;
        Some((principal, request))
    }

    /// Forgets a request that is still in the queue.
    fn give_up(&mut self, principal: &Arc<str>, ticket: u64) {
        let share = self.share(principal);
        let before = share.queue.len();
        share.queue.retain(|request| request.ticket != ticket);
        let given_up = before - share.queue.len();
        if given_up > 0 && share.queue.is_empty() {
            self.turns.retain(|other| other != principal);
        }
        self.queued -= given_up;
        self.forget_if_idle(principal);
    }

    fn forget_if_idle(&mut self, principal: &Arc<str>) {
        let share = self.shares.get(principal);
        if share.is_some_and(|share| share.running == 0 && share.queue.is_empty()) {
            self.shares.remove(principal);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        {
            let mut state = self.admission.state();
            state.running -= 1;
            state.share(&self.principal).running -= 1;
            state.forget_if_idle(&self.principal);
        }
        self.admission.hand_on();
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut state = self.admission.state();
        state.give_up(&self.principal, self.ticket);
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

    type Entering<'a> = futures::future::BoxFuture<'a, Result<Place, Busy>>;

    /// A request that has to wait.
    fn waiting<'a>(admission: &'a Admission, principal: &'a str) -> Entering<'a> {
        let mut entering = admission.enter(principal).boxed();
        assert!((&mut entering).now_or_never().is_none());
        entering
    }

    fn enter(admission: &Admission, principal: &str) -> Result<Place, Busy> {
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
            "1 executions are running and 1 are waiting"
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
        assert!(state.shares.is_empty() && state.turns.is_empty());
    }
}
