//! Semaphore whose places go round robin to principals.
//!
//! A plain semaphore serves in order of arrival, so a principal with six hundred requests in the queue delays
//! every other one behind them. Here a free place goes to the next principal with a request, and no principal
//! holds more than its share, so a principal whose requests all hang leaves places to the others.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use crate::sync::lock;

/// Principal that waits; `None` is the user who runs the gateway.
type Principal = Option<Arc<str>>;

/// Places that principals take in turns. Clones share them.
#[derive(Clone, Debug)]
pub struct TurnQueue(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    places: usize,
    /// Places that one other principal may hold.
    each: usize,
    state: Mutex<State>,
}

/// A place, held until it is dropped.
#[derive(Debug)]
pub struct Turn {
    queue: TurnQueue,
    principal: Principal,
}

#[derive(Debug, Default)]
struct State {
    held: usize,
    /// Principals that hold places or wait.
    shares: HashMap<Principal, Share>,
    /// Principals that wait, the next one first.
    order: VecDeque<Principal>,
    tickets: u64,
}

#[derive(Debug, Default)]
struct Share {
    held: usize,
    /// Requests that wait, by ticket.
    waiting: BTreeMap<u64, oneshot::Sender<Turn>>,
}

impl TurnQueue {
    /// A queue for `places`, of which one principal holds `each` at most; zero counts as one. The user who runs
    /// the gateway may hold all of them.
    pub fn new(places: usize, each: usize) -> Self {
        let places = places.max(1);
        Self(Arc::new(Inner {
            places,
            each: each.clamp(1, places),
            state: Mutex::default(),
        }))
    }

    /// Waits for a place. Dropping the future leaves the queue.
    pub async fn take(&self, principal: Option<&Arc<str>>) -> Turn {
        let mut waiting = match self.ask(principal.cloned()) {
            Ok(turn) => return turn,
            Err(waiting) => waiting,
        };
        (&mut waiting.turn)
            .await
            .expect("a queue with a waiting request is not dropped")
    }

    fn ask(&self, principal: Principal) -> Result<Turn, Waiting> {
        let mut state = lock(&self.0.state);
        let may_hold = self.may_hold(&principal);
        let has_room = state.held < self.0.places;
        let share = state.shares.entry(principal.clone()).or_default();
        // No other principal waits for a place that this principal could take: a free place is given away at once.
        if has_room && share.waiting.is_empty() && share.held < may_hold {
            share.held += 1;
            state.held += 1;
            return Ok(self.turn(principal));
        }
        let (sender, turn) = oneshot::channel();
        let is_first = share.waiting.is_empty();
        let ticket = state.tickets;
        state.tickets += 1;
        if let Some(share) = state.shares.get_mut(&principal) {
            share.waiting.insert(ticket, sender);
        }
        if is_first {
            state.order.push_back(principal.clone());
        }
        Err(Waiting {
            queue: self.clone(),
            principal,
            ticket,
            turn,
        })
    }

    fn may_hold(&self, principal: &Principal) -> usize {
        match principal {
            Some(_) => self.0.each,
            None => self.0.places,
        }
    }

    fn turn(&self, principal: Principal) -> Turn {
        Turn {
            queue: self.clone(),
            principal,
        }
    }

    /// Gives free places to the next principals. Sends outside of the lock, because a place that no caller takes
    /// is dropped, which locks again.
    fn give_free_places(&self) {
        loop {
            let next = self.next();
            let Some((principal, sender)) = next else {
                return;
            };
            let _ = sender.send(self.turn(principal));
        }
    }

    fn next(&self) -> Option<(Principal, oneshot::Sender<Turn>)> {
        let mut state = lock(&self.0.state);
        if state.held >= self.0.places {
            return None;
        }
        let turn = state.order.iter().position(|principal| {
            let held = state.shares.get(principal).map_or(0, |share| share.held);
            held < self.may_hold(principal)
        })?;
        let principal = state.order.remove(turn)?;
        let share = state.shares.get_mut(&principal)?;
        let (_, sender) = share.waiting.pop_first()?;
        share.held += 1;
        let waits_again = !share.waiting.is_empty();
        state.held += 1;
        if waits_again {
            state.order.push_back(principal.clone());
        }
        Some((principal, sender))
    }
}

impl Turn {
    /// Whether the place is one of `queue`.
    pub(crate) fn is_of(&self, queue: &TurnQueue) -> bool {
        Arc::ptr_eq(&self.queue.0, &queue.0)
    }
}

impl State {
    fn forget_if_idle(&mut self, principal: &Principal) {
        let is_idle = |share: &Share| share.held == 0 && share.waiting.is_empty();
        if self.shares.get(principal).is_some_and(is_idle) {
            self.shares.remove(principal);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        {
            let mut state = lock(&self.queue.0.state);
            state.held -= 1;
            if let Some(share) = state.shares.get_mut(&self.principal) {
                share.held -= 1;
            }
            state.forget_if_idle(&self.principal);
        }
        self.queue.give_free_places();
    }
}

/// A request in the queue; leaves it when dropped.
struct Waiting {
    queue: TurnQueue,
    principal: Principal,
    ticket: u64,
    /// Dropped after the request left the queue, with the place in it, if it was given one.
    turn: oneshot::Receiver<Turn>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut state = lock(&self.queue.0.state);
        let Some(share) = state.shares.get_mut(&self.principal) else {
            return;
        };
        let was_waiting = share.waiting.remove(&self.ticket).is_some();
        if was_waiting && share.waiting.is_empty() {
            state.order.retain(|waiting| *waiting != self.principal);
        }
        state.forget_if_idle(&self.principal);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn principal(name: &str) -> Arc<str> {
        Arc::from(name)
    }

    #[tokio::test]
    async fn a_principal_that_floods_leaves_places_and_turns_to_others() {
        let queue = TurnQueue::new(4, 3);
        let (alice, bob) = (principal("alice"), principal("bob"));
        let mut held = Vec::new();
        for _ in 0..3 {
            held.push(queue.take(Some(&alice)).now_or_never().unwrap());
        }
        let mut flood: Vec<_> = (0..100)
            .map(|_| Box::pin(queue.take(Some(&alice))))
            .collect();
        for request in &mut flood {
            assert!(request.as_mut().now_or_never().is_none());
        }
        // Alice holds her share, so the last place is Bob's at once.
        let first = queue.take(Some(&bob)).now_or_never().unwrap();
        let mut second = Box::pin(queue.take(Some(&bob)));
        assert!(second.as_mut().now_or_never().is_none());
        // Both wait: the places go in turns.
        drop(held.pop());
        assert!(
            flood[0].as_mut().now_or_never().is_some(),
            "who waited first"
        );
        drop(held.pop());
        let second = second.now_or_never().expect("then the other");
        drop((first, second));
    }

    #[tokio::test]
    async fn a_request_that_is_given_up_keeps_no_place() {
        let queue = TurnQueue::new(1, 1);
        let alice = principal("alice");
        let held = queue.take(Some(&alice)).await;
        let mut waits = Box::pin(queue.take(Some(&alice)));
        let mut given = Box::pin(queue.take(None));
        assert!(waits.as_mut().now_or_never().is_none());
        assert!(given.as_mut().now_or_never().is_none());
        drop(waits);
        drop(held);
        // The place was given and not yet taken.
        drop(given);
        drop(queue.take(Some(&alice)).now_or_never().unwrap());
        assert!(lock(&queue.0.state).shares.is_empty());
        assert!(lock(&queue.0.state).order.is_empty());
    }

    #[tokio::test]
    async fn the_user_of_the_gateway_may_take_every_place() {
        let queue = TurnQueue::new(4, 1);
        let turns: Vec<Turn> = (0..4)
            .map(|_| queue.take(None).now_or_never().unwrap())
            .collect();
        assert!(queue.take(None).now_or_never().is_none());
        drop(turns);
    }
}
