//! Counters of executions and calls by outcome since the gateway started.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use limbeck_domain::{CallError, Envelope};

/// Counts by status or error code. No name comes from a program or a server, so their number is bounded.
#[derive(Debug, Default)]
pub struct Counters {
    executions: Counter,
    calls: Counter,
}

#[derive(Debug, Default)]
struct Counter(Mutex<BTreeMap<&'static str, u64>>);

impl Counter {
    fn add(&self, name: &'static str) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(name).or_default() += 1;
    }

    fn get(&self) -> BTreeMap<&'static str, u64> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Counters {
    /// Counts an ended execution by its status; a rejected one counts as failed.
    pub(crate) fn execution(&self, envelope: &Envelope) {
        self.executions.add(envelope.status.as_str());
    }

    /// Counts a program's call by `ok` or the code of its error.
    pub(crate) fn call<T>(&self, result: &Result<T, CallError>) {
        self.calls.add(match result {
            Ok(_) => "ok",
            Err(error) => error.code.as_str(),
        });
    }

    /// Executions by status.
    pub fn executions(&self) -> BTreeMap<&'static str, u64> {
        self.executions.get()
    }

    /// Calls by outcome.
    pub fn calls(&self) -> BTreeMap<&'static str, u64> {
        self.calls.get()
    }
}
