//! When the endpoint is left alone: after it failed, and when it was asked too much.

use std::time::Duration;

use tokio::time::Instant;

/// How long it is left alone after its first failure; twice as long after each further one.
const FIRST: Duration = Duration::from_secs(5);
/// At most.
const LONGEST: Duration = Duration::from_secs(600);
/// What a [`Budget`] is for.
const HOUR: Duration = Duration::from_secs(3_600);

/// Failures since the last answer in time.
#[derive(Debug, Default)]
pub(super) struct Outage {
    failures: u32,
    until: Option<Instant>,
}

impl Outage {
    /// Whether it may be asked.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| now >= until)
    }

    /// Notes a failure; whether it is the first.
    pub(super) fn failed(&mut self, now: Instant) -> bool {
        let alone = FIRST.saturating_mul(1 << self.failures.min(10));
        self.failures = self.failures.saturating_add(1);
        self.until = Some(now + alone.min(LONGEST));
        self.failures == 1
    }

    /// Notes an answer that nobody waited for any more. After a first failure it may be that a model had to be
    /// loaded; an endpoint that is always late stays left alone.
    pub(super) fn answered_late(&mut self) {
        if self.failures == 1 {
            self.until = None;
        }
    }

    /// Notes an answer in time; whether there was an outage.
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
