//! Counters and durations of executions and calls since the gateway started.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use limbeck_domain::{CallError, Envelope, ExecutionStatus};

/// Upper bounds of the duration buckets in milliseconds: an empty program takes some, a call may take minutes.
const BUCKETS_MS: [u64; 10] = [
    10, 50, 100, 500, 1_000, 5_000, 10_000, 30_000, 60_000, 300_000,
];
/// Statuses that an execution of this gateway ends with, so that each has a count before the first one.
const END_STATUSES: [ExecutionStatus; 3] = [
    ExecutionStatus::Completed,
    ExecutionStatus::Failed,
    ExecutionStatus::Cancelled,
];
/// Outcome of a call that succeeded.
const OK: &str = "ok";

/// Counts by status or error code. No name comes from a program or a server, so their number is bounded.
#[derive(Debug)]
pub struct Counters {
    executions: Counter,
    calls: Counter,
}

/// Counts by outcome, and the durations of all outcomes together.
#[derive(Debug)]
struct Counter(Mutex<Counts>);

#[derive(Debug)]
struct Counts {
    outcomes: BTreeMap<&'static str, u64>,
    durations: DurationCounts,
}

/// Durations in buckets.
#[derive(Clone, Copy, Debug, Default)]
pub struct DurationCounts {
    /// Counts of the durations up to each of [`BUCKETS_MS`] that the bucket before does not have.
    buckets: [u64; BUCKETS_MS.len()],
    count: u64,
    sum: Duration,
}

impl DurationCounts {
    fn add(&mut self, took: Duration) {
        self.count += 1;
        self.sum = self.sum.saturating_add(took);
        let bucket = BUCKETS_MS
            .iter()
            .position(|bound_ms| took <= Duration::from_millis(*bound_ms));
        if let Some(bucket) = bucket {
            self.buckets[bucket] += 1;
        }
    }

    /// Upper bounds, shortest first, each with the count of all durations up to it.
    pub fn cumulative(&self) -> impl Iterator<Item = (Duration, u64)> {
        let mut total = 0;
        let counts = self.buckets.into_iter().map(move |count| {
            total += count;
            total
        });
        BUCKETS_MS
            .into_iter()
            .map(Duration::from_millis)
            .zip(counts)
    }

    /// Number of durations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of the durations.
    pub fn sum(&self) -> Duration {
        self.sum
    }
}

impl Counter {
    /// Counter in which each of `outcomes` has a count of zero.
    fn of(outcomes: impl IntoIterator<Item = &'static str>) -> Self {
        Self(Mutex::new(Counts {
            outcomes: outcomes.into_iter().map(|outcome| (outcome, 0)).collect(),
            durations: DurationCounts::default(),
        }))
    }

    fn add(&self, outcome: &'static str, took: Duration) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.outcomes.entry(outcome).or_default() += 1;
        counts.durations.add(took);
    }

    fn outcomes(&self) -> BTreeMap<&'static str, u64> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.outcomes.clone()
    }

    fn durations(&self) -> DurationCounts {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.durations
    }
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            executions: Counter::of(END_STATUSES.map(ExecutionStatus::as_str)),
            calls: Counter::of([OK]),
        }
    }
}

impl Counters {
    /// Counts an ended execution by its status; a rejected one counts as failed. `took` includes its wait for a place.
    pub(crate) fn execution(&self, envelope: &Envelope, took: Duration) {
        self.executions.add(envelope.status.as_str(), took);
    }

    /// Counts a program's call by `ok` or the code of its error. `took` includes its wait for a turn.
    pub(crate) fn call<T>(&self, result: &Result<T, CallError>, took: Duration) {
        let outcome = match result {
            Ok(_) => OK,
            Err(error) => error.code.as_str(),
        };
        self.calls.add(outcome, took);
    }

    /// Executions by status.
    pub fn executions(&self) -> BTreeMap<&'static str, u64> {
        self.executions.outcomes()
    }

    /// Durations of executions of every status.
    pub fn execution_durations(&self) -> DurationCounts {
        self.executions.durations()
    }

    /// Calls by outcome.
    pub fn calls(&self) -> BTreeMap<&'static str, u64> {
        self.calls.outcomes()
    }

    /// Durations of calls with every outcome.
    pub fn call_durations(&self) -> DurationCounts {
        self.calls.durations()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_in_its_bucket_and_in_all_longer_ones() {
        let mut durations = DurationCounts::default();
        for ms in [3, 10, 11, 400, 400_000] {
            durations.add(Duration::from_millis(ms));
        }
        let counts: Vec<u64> = durations.cumulative().map(|(_, count)| count).collect();
        assert_eq!(counts, [2, 3, 3, 4, 4, 4, 4, 4, 4, 4]);
        assert_eq!(durations.count(), 5);
        assert_eq!(durations.sum(), Duration::from_millis(400_424));
    }

    #[test]
    fn every_outcome_that_is_counted_has_a_count_before_the_first_one() {
        let counters = Counters::default();
        let zero = [("cancelled", 0), ("completed", 0), ("failed", 0)];
        assert_eq!(counters.executions(), BTreeMap::from(zero));
        counters.call(&Ok(()), Duration::from_millis(1));
        assert_eq!(counters.calls(), BTreeMap::from([("ok", 1)]));
    }
}
