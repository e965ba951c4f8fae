//! How many executions and calls ended in which way since the gateway started.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use limbeck_domain::{CallError, Envelope};

/// Counts by names that are ours, never a program's or a server's: there are as many as the code has.
#[derive(Debug, Default)]
pub(crate) struct Counters {
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
    /// Counts an execution that ended, by its status, those that were refused a place among the failed.
    pub(crate) fn execution(&self, envelope: &Envelope) {
        self.executions.add(envelope.status.as_str());
    }

    /// Counts a call of a program, by `ok` or its error's code.
    pub(crate) fn call<T>(&self, result: &Result<T, CallError>) {
        self.calls.add(match result {
            Ok(_) => "ok",
            Err(error) => error.code.as_str(),
        });
    }

    /// Executions by status.
    pub(crate) fn executions(&self) -> BTreeMap<&'static str, u64> {
        self.executions.get()
    }

    /// Calls by outcome.
    pub(crate) fn calls(&self) -> BTreeMap<&'static str, u64> {
        self.calls.get()
    }
}
