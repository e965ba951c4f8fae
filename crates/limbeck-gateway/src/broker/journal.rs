//! Both ends of every host call, written before anybody acts on them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use limbeck_domain::{
    CallCode, CallError, CallId, Delivered, EffectClass, ExecutionId, HostCall, JournalEntry,
    ServerName, ToolId,
};
use limbeck_store::{Store, StoreError};

use crate::ledger::{Spent, Tally};

/// The journal of one execution. Entries of reads are queued; entries of calls that may write are
/// on disk before the method returns.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    store: Store,
    id: ExecutionId,
    tally: Arc<Mutex<Tally>>,
}

impl Journal {
    pub(crate) fn new(store: Store, id: ExecutionId) -> Self {
        Self {
            store,
            id,
            tally: Arc::default(),
        }
    }

    /// What the calls that left had in them so far, by server.
    pub(crate) fn spent(&self) -> BTreeMap<ServerName, Spent> {
        self.tally().spent()
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call that does not reach an upstream.
    pub(crate) async fn call(
        &self,
        call: HostCall,
        tool: Option<ToolId>,
        effect: EffectClass,
        sent: bool,
    ) {
        let entry = JournalEntry::Call {
            call,
            tool,
            effect,
            sent,
        };
        self.note(self.store.append(&self.id, entry).await);
    }

    /// A call that is about to leave.
    ///
    /// # Errors
    ///
    /// [`CallError`] when it may write and the intent is not on disk: it must not leave.
    pub(crate) async fn intent(
        &self,
        call: HostCall,
        tool: &ToolId,
        effect: EffectClass,
    ) -> Result<(), CallError> {
        self.tally().sent(call.id, &tool.server, call.body.len());
        if !effect.may_write() {
            self.call(call, Some(tool.clone()), effect, true).await;
            return Ok(());
        }
        let entry = JournalEntry::Call {
            call,
            tool: Some(tool.clone()),
            effect,
            sent: true,
        };
        let written = self.store.append_durable(&self.id, entry).await;
        written.map_err(|error| {
            fault(
                &error,
                "the journal could not be written, so the call was not sent",
            )
            .with_target(tool.server.as_str(), &*tool.tool)
        })
    }

    /// The end of a call that did not reach an upstream.
    pub(crate) async fn outcome(
        &self,
        id: CallId,
        result: &Result<String, CallError>,
        started: Instant,
    ) {
        let entry = outcome_entry(id, result.clone(), started);
        self.note(self.store.append(&self.id, entry).await);
    }

    /// The end of a call that did. Gives the result back once the guest may hear of it.
    ///
    /// # Errors
    ///
    /// [`CallError`] when the call may have written and its outcome is not on disk.
    pub(crate) async fn outcome_of(
        &self,
        id: CallId,
        result: Result<String, CallError>,
        effect: EffectClass,
        started: Instant,
    ) -> Result<Result<String, CallError>, CallError> {
        self.tally().ended(id, result_bytes(&result));
        let entry = outcome_entry(id, result.clone(), started);
        if effect.may_write() {
            self.store
                .append_durable(&self.id, entry)
                .await
                .map_err(|error| {
                    fault(
                        &error,
                        "the call was made but its outcome could not be written",
                    )
                })?;
        } else {
            self.note(self.store.append(&self.id, entry).await);
        }
        Ok(result)
    }

    /// What the guest is about to hear.
    pub(crate) async fn delivered(&self, delivered: Delivered) {
        let entry = JournalEntry::Delivered(delivered);
        self.note(self.store.append(&self.id, entry).await);
    }

    /// A queued entry that could not be queued costs the replay of this execution, nothing else.
    fn note(&self, queued: Result<(), StoreError>) {
        if let Err(error) = queued {
            tracing::error!(execution = %self.id, error = &error as &dyn std::error::Error, "journal entry lost");
        }
    }
}

/// Bytes that a model would have read.
pub(super) fn result_bytes(result: &Result<String, CallError>) -> usize {
    match result {
        Ok(text) => text.len(),
        Err(error) => error.message.len(),
    }
}

fn outcome_entry(id: CallId, result: Result<String, CallError>, started: Instant) -> JournalEntry {
    let took_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    JournalEntry::Outcome {
        id,
        result,
        took_us,
    }
}

fn fault(error: &StoreError, what: &str) -> CallError {
    tracing::error!(error = error as &dyn std::error::Error, "journal failed");
    CallError::new(CallCode::GatewayFault, format!("{what}: {error}"))
        .with_hint("free disk space or choose another `--state-dir`, then run the program again")
}
