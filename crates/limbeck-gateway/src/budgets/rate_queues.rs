//! Calls that wait their turn in a rate.
//!
//! Only the first of a bucket waits for the time at which a call flows back; the others wait for their turn behind it, and
//! principals take turns. What waits leaves when its future is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use limbeck_upstream::{Turn, TurnQueue};

/// Buckets that are kept while nothing waits in them.
const IDLE_MAX: usize = 1_024;

/// The buckets in which calls wait, by budget and subject.
#[derive(Debug, Default)]
pub(crate) struct RateQueues(Mutex<HashMap<(String, String), Arc<TurnQueue>>>);

/// The turn in one bucket, until it is dropped.
#[derive(Debug)]
pub(crate) struct RateTurn {
    _turn: Turn,
    /// A bucket with a turn is not idle.
    _queue: Arc<TurnQueue>,
}

impl RateQueues {
    /// Waits for the turn in a bucket.
    pub(crate) async fn take(
        &self,
        bucket: (String, String),
        principal: Option<&Arc<str>>,
    ) -> RateTurn {
        let queue = self.queue(bucket);
        RateTurn {
            _turn: queue.take(principal).await,
            _queue: queue,
        }
    }

    fn queue(&self, bucket: (String, String)) -> Arc<TurnQueue> {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if queues.len() >= IDLE_MAX {
            queues.retain(|_, queue| Arc::strong_count(queue) > 1);
        }
        let queue = queues
            .entry(bucket)
            .or_insert_with(|| Arc::new(TurnQueue::new(1, 1)));
        Arc::clone(queue)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn bucket() -> (String, String) {
        ("rate".to_owned(), "{}".to_owned())
    }

    #[test]
    fn principals_take_turns_in_a_bucket_and_one_that_leaves_holds_nobody_up() {
        let queues = RateQueues::default();
        let (greedy, polite): (Arc<str>, Arc<str>) = ("greedy".into(), "polite".into());
        let of = |principal| Box::pin(queues.take(bucket(), Some(principal)));
        let first = of(&greedy).now_or_never().unwrap();
        let mut flood: Vec<_> = (0..5).map(|_| of(&greedy)).collect();
        for waiting in &mut flood {
            assert!(waiting.as_mut().now_or_never().is_none());
        }
        let mut other = of(&polite);
        assert!(other.as_mut().now_or_never().is_none());
        // It was the next of its principal, and its program has ended.
        drop(flood.remove(0));
        drop(first);
        let second = flood[0].as_mut().now_or_never().expect("the next in turn");
        drop(second);
        assert!(
            other.as_mut().now_or_never().is_some(),
            "not behind the flood"
        );
    }
}
