//! Answers of servers that the guest has not taken yet, counted from the moment they come.
//!
//! An answer waits in this process until it is in the journal and the guest takes it. A guest that takes
//! none, or a disk that is slower than the servers, would fill memory with answers if calls went on
//! leaving meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use limbeck_domain::limits::ANSWERS_WAITING_BYTES_MAX;
use tokio::sync::Notify;

/// Bytes of one execution's answers.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    bytes: AtomicUsize,
    taken: Notify,
}

impl Backlog {
    /// Waits until one more call may leave: its answer, of whatever size, may wait with the others.
    pub(super) async fn room(&self) {
        loop {
            // Registered before the look: what is taken in between must not be missed.
            let taken = self.taken.notified();
            tokio::pin!(taken);
            taken.as_mut().enable();
            if self.bytes.load(Ordering::Acquire) < ANSWERS_WAITING_BYTES_MAX {
                return;
            }
            taken.await;
        }
    }

    /// Counts an answer that has come, until the guard is dropped.
    pub(super) fn holds(self: &Arc<Self>, bytes: usize) -> Held {
        self.bytes.fetch_add(bytes, Ordering::AcqRel);
        Held {
            backlog: Arc::clone(self),
            bytes,
        }
    }
}

/// An answer that waits.
#[derive(Debug)]
pub(crate) struct Held {
    backlog: Arc<Backlog>,
    bytes: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.backlog.bytes.fetch_sub(self.bytes, Ordering::AcqRel);
        self.backlog.taken.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn a_call_leaves_when_what_waits_was_taken_and_not_before() {
        let backlog = Arc::new(Backlog::default());
        let first = backlog.holds(ANSWERS_WAITING_BYTES_MAX - 1);
        assert_eq!(backlog.room().now_or_never(), Some(()));

        let second = backlog.holds(1);
        let mut waiting = [backlog.room().boxed(), backlog.room().boxed()];
        assert!(waiting.iter_mut().all(|room| room.now_or_never().is_none()));

        drop(second);
        assert!(waiting.iter_mut().all(|room| room.now_or_never().is_some()));
        drop(first);
    }
}
