//! Results of calls in the order in which people decided about them.
//!
//! While a program runs, each decision has its effect before the next one is made. A program that was paused goes on when all are
//! made, and its calls run beside each other. Their results reach it in the order of the decisions all the same, so that
//! `Promise.race`, and any other code that depends on the order, has the same outcome.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

/// How long a result is held for the call that was decided before: one that does not end must not keep the others.
const HELD_FOR: Duration = Duration::from_secs(1);

/// Gives the calls their turns, in the order in which it is asked.
#[derive(Debug, Default)]
pub(super) struct DecidedOrder {
    last: Option<oneshot::Receiver<()>>,
}

/// Turn of one call.
#[derive(Debug)]
pub(super) struct Turn {
    /// Completes when the call before has its result.
    before: Option<oneshot::Receiver<()>>,
    /// Dropped when this one has.
    _ended: oneshot::Sender<()>,
}

impl DecidedOrder {
    /// The turn after those before.
    pub(super) fn next(&mut self) -> Turn {
        let (ended, after) = oneshot::channel();
        Turn {
            before: self.last.replace(after),
            _ended: ended,
        }
    }
}

impl Turn {
    /// Does `work` at once, and gives its result when the calls before have theirs.
    pub(super) async fn hold<T>(self, work: impl Future<Output = T>) -> T {
        self.hold_for(HELD_FOR, work).await
    }

    async fn hold_for<T>(self, at_most: Duration, work: impl Future<Output = T>) -> T {
        let done = work.await;
        if let Some(before) = self.before {
            // An error is the end of the call before as well.
            let _ = timeout(at_most, before).await;
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures::FutureExt as _;
    use futures::stream::{FuturesUnordered, StreamExt as _};

    use super::*;

    #[tokio::test]
    async fn results_come_in_the_order_of_the_turns() {
        let mut order = DecidedOrder::default();
        let [first, second, third] = [order.next(), order.next(), order.next()];
        let (release, released) = oneshot::channel();
        let first = first.hold(async move { released.await.map_or(0, |()| 1) });
        let mut results = FuturesUnordered::new();
        results.push(third.hold(ready(3)).boxed());
        results.push(second.hold(ready(2)).boxed());
        results.push(first.boxed());
        assert_eq!(results.next().now_or_never(), None);
        release.send(()).unwrap();
        assert_eq!(results.collect::<Vec<i32>>().await, [1, 2, 3]);
    }

    #[tokio::test]
    async fn a_call_that_does_not_end_or_is_gone_keeps_no_other() {
        let mut order = DecidedOrder::default();
        let [endless, gone, last] = [order.next(), order.next(), order.next()];
        let endless = endless.hold(pending::<i32>());
        drop(gone);
        assert_eq!(last.hold(ready(3)).await, 3);
        let mut order = DecidedOrder::default();
        let [also_endless, other] = [order.next(), order.next()];
        let also_endless = also_endless.hold(pending::<i32>());
        let at_most = Duration::from_millis(1);
        assert_eq!(other.hold_for(at_most, ready(2)).await, 2);
        drop((endless, also_endless));
    }
}
