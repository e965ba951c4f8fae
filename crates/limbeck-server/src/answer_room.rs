//! Room for the bytes of answers that are made and not yet written to their clients, of all principals and of each.
//!
//! The number of requests is bounded elsewhere, but a client that does not read keeps the answer of each in memory. An
//! answer without room waits in the queue of its principal, and principals take turns. One that would be made while it
//! waits is not made; one that exists already waits only while those of its principal fit into its share a second time.
//!
//! A principal that holds little may use the last quarter of the room, so those that hold much leave room for it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

/// Room for answers. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct AnswerRoom(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    bytes_max: usize,
    each_max: usize,
    /// Time that an answer waits at most.
    wait: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    held: usize,
    /// Bytes of answers that exist and wait.
    made: usize,
    /// Principals that hold room or wait.
    shares: HashMap<Arc<str>, Share>,
    /// Principals that wait, the next one first.
    order: VecDeque<Arc<str>>,
    tickets: u64,
}

#[derive(Debug, Default)]
struct Share {
    held: usize,
    made: usize,
    /// Answers that wait, by ticket.
    waiting: BTreeMap<u64, Waiter>,
}

#[derive(Debug)]
struct Waiter {
    bytes: usize,
    made: usize,
    granted: oneshot::Sender<HeldRoom>,
}

/// Room of one answer, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct HeldRoom {
    room: AnswerRoom,
    principal: Arc<str>,
    bytes: usize,
}

/// Refusal: answers that are not read take all room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BusyError;

/// An answer in the queue; leaves it when dropped.
struct Waiting {
    room: AnswerRoom,
    principal: Arc<str>,
    ticket: u64,
    /// Dropped after the answer left the queue, with the room in it, if it was given some.
    granted: oneshot::Receiver<HeldRoom>,
}

impl AnswerRoom {
    /// Room for `bytes_max` bytes, of which one principal holds `each_max` at most. An answer waits `wait` for it.
    pub(crate) fn new(bytes_max: usize, each_max: usize, wait: Duration) -> Self {
        Self(Arc::new(Inner {
            bytes_max,
            // One that holds much leaves the last quarter, so more than that is never given to one.
            each_max: each_max.min(bytes_max - bytes_max / 4),
            wait,
            state: Mutex::default(),
        }))
    }

    /// Bytes that answers hold now.
    pub(crate) fn held(&self) -> usize {
        self.state().held
    }

    /// Waits for room for `bytes` bytes of `principal`, of which `made` exist already. An answer that is larger than
    /// the share of a principal takes all of it; one of no bytes waits for the turn alone. Dropping the future leaves
    /// the queue.
    ///
    /// # Errors
    ///
    /// [`BusyError`], when the time has passed or too many bytes wait.
    pub(crate) async fn take(
        &self,
        principal: &Arc<str>,
        bytes: usize,
        made: usize,
    ) -> Result<HeldRoom, BusyError> {
        let mut waiting = self.enqueue(principal, bytes.min(self.0.each_max), made);
        self.give();
        if let Ok(held) = waiting.granted.try_recv() {
            return Ok(held);
        }
        if made > 0 && self.too_much_waits(principal) {
            return Err(BusyError);
        }
        match timeout(self.0.wait, &mut waiting.granted).await {
            Ok(Ok(held)) => Ok(held),
            Ok(Err(_)) | Err(_) => Err(BusyError),
        }
    }

    /// Counts `bytes` bytes that exist, with or without room.
    pub(crate) fn count(&self, principal: &Arc<str>, bytes: usize) -> HeldRoom {
        let mut held = self.held_by(principal, 0);
        held.set(bytes);
        held
    }

    fn enqueue(&self, principal: &Arc<str>, bytes: usize, made: usize) -> Waiting {
        let (sender, granted) = oneshot::channel();
        let mut guard = self.state();
        let state = &mut *guard;
        let ticket = state.tickets;
        state.tickets += 1;
        state.made += made;
        let share = state.shares.entry(Arc::clone(principal)).or_default();
        if share.waiting.is_empty() {
            state.order.push_back(Arc::clone(principal));
        }
        share.made += made;
        let waiter = Waiter {
            bytes,
            made,
            granted: sender,
        };
        share.waiting.insert(ticket, waiter);
        Waiting {
            room: self.clone(),
            principal: Arc::clone(principal),
            ticket,
            granted,
        }
    }

    fn too_much_waits(&self, principal: &Arc<str>) -> bool {
        let state = self.state();
        let theirs = state.shares.get(principal).map_or(0, |share| share.made);
        theirs > self.0.each_max || state.made > self.0.bytes_max
    }

    /// Gives free room to the next answers. Sends outside of the lock, because room that no caller takes is dropped,
    /// which locks again.
    fn give(&self) {
        while let Some((principal, waiter)) = self.next() {
            let _ = waiter.granted.send(self.held_by(&principal, waiter.bytes));
        }
    }

    fn next(&self) -> Option<(Arc<str>, Waiter)> {
        let mut guard = self.state();
        let state = &mut *guard;
        let turn = self.turn_of(state)?;
        let principal = state.order.remove(turn)?;
        let share = state.shares.get_mut(&principal)?;
        let (_, waiter) = share.waiting.pop_first()?;
        share.held += waiter.bytes;
        share.made -= waiter.made;
        state.held += waiter.bytes;
        state.made -= waiter.made;
        if !share.waiting.is_empty() {
            state.order.push_back(Arc::clone(&principal));
        }
        Some((principal, waiter))
    }

    /// Place in the order of the next principal whose first answer has room.
    fn turn_of(&self, state: &State) -> Option<usize> {
        let (bytes_max, each_max) = (self.0.bytes_max, self.0.each_max);
        for (turn, principal) in state.order.iter().enumerate() {
            let share = state.shares.get(principal)?;
            let (_, waiter) = share.waiting.first_key_value()?;
            let theirs = share.held + waiter.bytes;
            if theirs > each_max {
                // Its own answers have to be read first.
                continue;
            }
            let holds_little = theirs <= each_max / 4;
            let room = match holds_little {
                true => bytes_max,
                false => bytes_max - bytes_max / 4,
            };
            if state.held + waiter.bytes <= room {
                return Some(turn);
            }
            if holds_little {
                // No other takes the room that this one waits for.
                return None;
            }
        }
        None
    }

    fn held_by(&self, principal: &Arc<str>, bytes: usize) -> HeldRoom {
        HeldRoom {
            room: self.clone(),
            principal: Arc::clone(principal),
            bytes,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn forget_if_idle(&mut self, principal: &Arc<str>) {
        let is_idle = |share: &Share| share.held == 0 && share.waiting.is_empty();
        if self.shares.get(principal).is_some_and(is_idle) {
            self.shares.remove(principal);
        }
    }
}

impl HeldRoom {
    /// Holds `bytes` bytes from now on, with or without room for them: what the answer takes in fact.
    pub(crate) fn set(&mut self, bytes: usize) {
        {
            let mut guard = self.room.state();
            let state = &mut *guard;
            let share = state.shares.entry(Arc::clone(&self.principal)).or_default();
            share.held = share.held.saturating_sub(self.bytes) + bytes;
            state.held = state.held.saturating_sub(self.bytes) + bytes;
            state.forget_if_idle(&self.principal);
        }
        self.bytes = bytes;
        self.room.give();
    }

    /// Bytes that are held.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for HeldRoom {
    fn drop(&mut self) {
        self.set(0);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        {
            let mut guard = self.room.state();
            let state = &mut *guard;
            let Some(share) = state.shares.get_mut(&self.principal) else {
                return;
            };
            let Some(waiter) = share.waiting.remove(&self.ticket) else {
                return;
            };
            share.made -= waiter.made;
            state.made -= waiter.made;
            if share.waiting.is_empty() {
                state.order.retain(|waiting| *waiting != self.principal);
            }
            state.forget_if_idle(&self.principal);
        }
        // Answers behind this one may have room.
        self.room.give();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    const LONG: Duration = Duration::from_secs(3_600);

    fn principals() -> [Arc<str>; 3] {
        ["alice", "bob", "carol"].map(Arc::from)
    }

    #[tokio::test]
    async fn a_principal_that_does_not_read_holds_its_share_and_others_are_answered() {
        let room = AnswerRoom::new(400, 100, LONG);
        let [alice, bob, _] = principals();
        let first = room.take(&alice, 60, 60).now_or_never().unwrap().unwrap();
        let mut second = Box::pin(room.take(&alice, 60, 60));
        assert!(second.as_mut().now_or_never().is_none());
        // What is only asked for waits behind it.
        let mut turn = Box::pin(room.take(&alice, 0, 0));
        assert!(turn.as_mut().now_or_never().is_none());
        assert_eq!(room.held(), 60);
        // Too much of hers exists and waits.
        let refused = room.take(&alice, 60, 60).now_or_never().unwrap();
        assert_eq!(refused.unwrap_err(), BusyError);
        // The control: another principal has a share of its own.
        let other = room.take(&bob, 100, 100).now_or_never().unwrap().unwrap();
        assert_eq!(room.held(), 160);
        drop(first);
        let second = second.now_or_never().expect("there is room").unwrap();
        drop(turn.now_or_never().expect("it is her turn").unwrap());
        drop((second, other));
        let state = room.state();
        assert_eq!((state.held, state.made), (0, 0));
        assert!(state.shares.is_empty() && state.order.is_empty());
    }

    #[tokio::test]
    async fn principals_take_turns_and_leave_room_for_one_that_holds_little() {
        let room = AnswerRoom::new(160, 80, LONG);
        let [alice, bob, carol] = principals();
        let hers = room.take(&alice, 80, 0).now_or_never().unwrap().unwrap();
        let his = room.take(&bob, 40, 0).now_or_never().unwrap().unwrap();
        // Three quarters are held: one who holds much waits, one who holds little does not.
        let mut more = Box::pin(room.take(&bob, 20, 0));
        assert!(more.as_mut().now_or_never().is_none());
        let little = room.take(&carol, 20, 0).now_or_never().unwrap().unwrap();
        let mut again = Box::pin(room.take(&alice, 20, 0));
        assert!(again.as_mut().now_or_never().is_none());
        drop(hers);
        let more = more.now_or_never().expect("Bob asked first").unwrap();
        let again = again.now_or_never().expect("there is room").unwrap();
        assert_eq!(room.held(), 100);
        drop((his, more, little, again));
        assert_eq!(room.held(), 0);
    }

    #[tokio::test]
    async fn an_answer_that_is_given_up_or_waits_too_long_keeps_nothing() {
        let room = AnswerRoom::new(200, 100, LONG);
        let [alice, bob, _] = principals();
        let held = room.take(&alice, 100, 0).now_or_never().unwrap().unwrap();
        let mut waits = Box::pin(room.take(&alice, 10, 10));
        let mut given = Box::pin(room.take(&bob, 60, 0));
        assert!(waits.as_mut().now_or_never().is_none());
        assert!(given.as_mut().now_or_never().is_none());
        drop(waits);
        drop(held);
        // The room was given and not yet taken.
        drop(given);
        {
            let state = room.state();
            assert!(state.shares.is_empty() && state.order.is_empty());
            assert_eq!((state.held, state.made), (0, 0));
        }

        let room = AnswerRoom::new(200, 100, Duration::ZERO);
        let mut held = room.count(&alice, 120);
        assert_eq!(room.held(), 120);
        assert_eq!(room.take(&alice, 10, 0).await.unwrap_err(), BusyError);
        // The control: what is held less leaves room.
        held.set(90);
        drop(room.take(&alice, 10, 0).await.unwrap());
    }
}
