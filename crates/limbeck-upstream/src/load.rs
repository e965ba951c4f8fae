//! How busy a server is, and since when it is not.

use std::sync::Mutex;

use tokio::time::Instant;

use crate::sync::lock;

/// Requests of one server.
pub(crate) struct Load(Mutex<Counts>);

struct Counts {
    under_way: usize,
    queued: usize,
    last_used: Instant,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Queued,
    UnderWay,
}

impl Load {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Counts {
            under_way: 0,
            queued: 0,
            last_used: Instant::now(),
        }))
    }

    /// Counts a request in that waits for its turn.
    pub(crate) fn queue(&self) -> Counted<'_> {
        lock(&self.0).queued += 1;
        Counted {
            load: self,
            stage: Stage::Queued,
        }
    }

    /// Requests under way, and those that wait for one of them to end.
    pub(crate) fn now(&self) -> (usize, usize) {
        let counts = lock(&self.0);
        (counts.under_way, counts.queued)
    }

    /// Since when there is nothing to do; `None` while there is.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let counts = lock(&self.0);
        (counts.under_way + counts.queued == 0).then_some(counts.last_used)
    }
}

/// A request that is counted until it is dropped.
pub(crate) struct Counted<'a> {
    load: &'a Load,
    stage: Stage,
}

impl Counted<'_> {
    /// It has its turn.
    pub(crate) fn begin(&mut self) {
        let mut counts = lock(&self.load.0);
        if self.stage == Stage::Queued {
            counts.queued -= 1;
            counts.under_way += 1;
            self.stage = Stage::UnderWay;
        }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let mut counts = lock(&self.load.0);
        match self.stage {
            Stage::Queued => counts.queued -= 1,
            Stage::UnderWay => counts.under_way -= 1,
        }
        counts.last_used = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_counted_where_it_stands_and_never_after() {
        let load = Load::new();
        assert!(load.idle_since().is_some());
        let mut first = load.queue();
        let second = load.queue();
        first.begin();
        assert_eq!(load.now(), (1, 1));
        assert!(load.idle_since().is_none());
        drop(second);
        drop(first);
        assert_eq!(load.now(), (0, 0));
        assert!(load.idle_since().is_some());
    }
}
