//! Queue in front of the reading connection, in which principals take turns.
//!
//! One read is done at a time. Of several principals with reads that wait, each has one done before the first has its next
//! one, so that many large reads of one principal delay a read of another by one of them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

/// A read, with where its answer goes.
pub(crate) type Query = Box<dyn FnOnce(&Connection) + Send>;

/// Whose turn it is: a principal, or the gateway itself.
type Turn = Option<Arc<str>>;

/// Reads that wait for the reading connection.
#[derive(Default)]
pub(crate) struct ReadQueue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Reads that wait, in the order they came; no queue is empty.
    waiting: HashMap<Turn, VecDeque<Query>>,
    /// The keys of `waiting`, the next one first.
    turns: VecDeque<Turn>,
    is_closed: bool,
}

impl ReadQueue {
    /// Adds a read that `principal` caused; `None` for one of the gateway. Returns whether the queue is open and took it.
    pub(crate) fn push(&self, principal: Option<&str>, query: Query) -> bool {
        let turn: Turn = principal.map(Arc::from);
        let mut state = self.state();
        if state.is_closed {
            return false;
        }
        if let Some(waiting) = state.waiting.get_mut(&turn) {
            waiting.push_back(query);
        } else {
            state.turns.push_back(turn.clone());
            state.waiting.insert(turn, VecDeque::from([query]));
        }
        drop(state);
        self.changed.notify_one();
        true
    }

    /// Waits for a read and takes it. `None` once the queue is closed and empty.
    pub(crate) fn next(&self) -> Option<Query> {
        let mut state = self.state();
        loop {
            if let Some(query) = state.take() {
                return Some(query);
            }
            if state.is_closed {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends [`Self::next`] once the reads that wait are taken.
    pub(crate) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes the next read of the principal whose turn it is, which is then behind all others.
    fn take(&mut self) -> Option<Query> {
        let turn = self.turns.pop_front()?;
        let waiting = self.waiting.get_mut(&turn)?;
        let query = waiting.pop_front();
        if waiting.is_empty() {
            self.waiting.remove(&turn);
        } else {
            self.turns.push_back(turn);
        }
        query
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn principals_take_turns_and_the_reads_of_each_stay_in_order() {
        let queue = ReadQueue::default();
        let done = Arc::new(Mutex::new(Vec::new()));
        let push = |principal: Option<&str>, name: &'static str| {
            let done = Arc::clone(&done);
            let query: Query = Box::new(move |_| done.lock().unwrap().push(name));
            assert!(queue.push(principal, query));
        };
        for name in ["a1", "a2", "a3", "a4"] {
            push(Some("alice"), name);
        }
        push(Some("bob"), "b1");
        push(None, "own");
        push(Some("bob"), "b2");
        queue.close();
        let connection = Connection::open_in_memory().unwrap();
        while let Some(query) = queue.next() {
            query(&connection);
        }
        let done = done.lock().unwrap();
        assert_eq!(*done, ["a1", "b1", "own", "a2", "b2", "a3", "a4"]);
        // What is taken is not kept, and a closed queue takes no more.
        assert!(queue.state().waiting.is_empty() && queue.state().turns.is_empty());
        assert!(!queue.push(None, Box::new(|_| ())));
    }
}
