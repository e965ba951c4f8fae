//! Counts of queued and in-flight requests of one server.

use std::sync::Mutex;

use tokio::time::Instant;

use crate::sync::lock;

/// Request counts of one server.
pub(crate) struct RequestCounter(Mutex<Counts>);

struct Counts {
    in_flight: usize,
    queued: usize,
    last_used: Instant,
}

/// Stage of a counted request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestStage {
    Queued,
    InFlight,
}

impl RequestCounter {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Counts {
            in_flight: 0,
            queued: 0,
            last_used: Instant::now(),
        }))
    }

    /// Counts a request that waits for a slot.
    pub(crate) fn queue(&self) -> CountedRequest<'_> {
        lock(&self.0).queued += 1;
        CountedRequest {
            load: self,
            stage: RequestStage::Queued,
        }
    }

    /// Numbers of requests in flight and in the queue.
    pub(crate) fn now(&self) -> (usize, usize) {
        let counts = lock(&self.0);
        (counts.in_flight, counts.queued)
    }

    /// Time of the last request; `None` while there are any.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let counts = lock(&self.0);
        (counts.in_flight + counts.queued == 0).then_some(counts.last_used)
    }
}

/// A request that is counted until it is dropped.
pub(crate) struct CountedRequest<'a> {
    load: &'a RequestCounter,
    stage: RequestStage,
}

impl CountedRequest<'_> {
    /// Moves the request from the queue to those in flight.
    pub(crate) fn begin(&mut self) {
        let mut counts = lock(&self.load.0);
        if self.stage == RequestStage::Queued {
            counts.queued -= 1;
            counts.in_flight += 1;
            self.stage = RequestStage::InFlight;
        }
    }
}

impl Drop for CountedRequest<'_> {
    fn drop(&mut self) {
        let mut counts = lock(&self.load.0);
        match self.stage {
            RequestStage::Queued => counts.queued -= 1,
            RequestStage::InFlight => counts.in_flight -= 1,
        }
        // The idle timeout starts at the end of a request, not at its beginning.
        counts.last_used = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_counted_in_its_stage_until_it_is_dropped() {
        let load = RequestCounter::new();
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
