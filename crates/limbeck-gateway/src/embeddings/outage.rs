//! Back-off after failures of the endpoint, and the hourly budget of texts.

use std::time::Duration;

use tokio::time::Instant;

/// Back-off after the first failure; doubled by each further one.
const FIRST: Duration = Duration::from_secs(5);
/// Longest back-off.
const LONGEST: Duration = Duration::from_secs(600);
/// Period of a [`Budget`].
const HOUR: Duration = Duration::from_secs(3_600);

/// Failures since the last response in time.
#[derive(Debug, Default)]
pub(super) struct Outage {
    failures: u32,
    until: Option<Instant>,
}

impl Outage {
    /// Whether the endpoint may be asked at `now`.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| now >= until)
    }

    /// Records a failure, and returns whether it is the first.
    pub(super) fn failed(&mut self, now: Instant) -> bool {
        let alone = FIRST.saturating_mul(1 << self.failures.min(10));
        self.failures = self.failures.saturating_add(1);
        self.until = Some(now + alone.min(LONGEST));
        self.failures == 1
    }

    /// Records a response that arrived after its search stopped waiting. After a first failure a model may have had to
    /// be loaded, so the back-off ends; an endpoint that is always late keeps its back-off.
    pub(super) fn answered_late(&mut self) {
        if self.failures == 1 {
            self.until = None;
        }
    }

    /// Records a response in time, and returns whether an outage has ended.
    pub(super) fn ended(&mut self) -> bool {
        std::mem::take(self).failures > 0
    }
}

/// Texts that may be sent in an hour.
#[derive(Debug)]
pub(super) struct Budget {
    max: usize,
    spent: usize,
    since: Option<Instant>,
}

impl Budget {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            spent: 0,
            since: None,
        }
    }

    /// Whether `texts` more may be sent; then they count.
    pub(super) fn take(&mut self, texts: usize, now: Instant) -> bool {
        if self.since.is_none_or(|since| now - since >= HOUR) {
            (self.since, self.spent) = (Some(now), 0);
        }
        let spent = self.spent.saturating_add(texts);
        if spent > self.max {
            return false;
        }
        self.spent = spent;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_begins_once_and_takes_longer_with_each_failure() {
        let start = Instant::now();
        let mut outage = Outage::default();
        assert!(outage.is_over(start) && !outage.ended());
        assert!(outage.failed(start));
        assert!(!outage.is_over(start + Duration::from_millis(4_999)));
        assert!(outage.is_over(start + FIRST));
        assert!(!outage.failed(start));
        assert!(!outage.is_over(start + FIRST) && outage.is_over(start + 2 * FIRST));
        for _ in 0..100 {
            assert!(!outage.failed(start));
        }
        assert!(outage.is_over(start + LONGEST));
        assert!(outage.ended() && outage.is_over(start));
        assert!(outage.failed(start));
    }

    #[test]
    fn a_first_late_answer_ends_the_wait_and_not_the_outage_and_a_second_neither() {
        let start = Instant::now();
        let mut outage = Outage::default();
        outage.failed(start);
        outage.answered_late();
        assert!(outage.is_over(start));
        assert!(!outage.failed(start), "it was the same outage");
        outage.answered_late();
        assert!(!outage.is_over(start));
    }

    #[test]
    fn an_hour_has_its_texts_and_the_next_has_its_own() {
        let start = Instant::now();
        let mut budget = Budget::new(10);
        assert!(budget.take(6, start) && !budget.take(5, start) && budget.take(4, start));
        assert!(!budget.take(1, start + HOUR - FIRST));
        assert!(budget.take(10, start + HOUR));
    }
}
