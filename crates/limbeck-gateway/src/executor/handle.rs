//! Handle of the executor: the parts of the gateway that executions use.

use std::sync::Arc;

use limbeck_domain::{Language, Sandbox};
use limbeck_launcher::{Pools, WorkerError};

use crate::admission::Admission;
use crate::broker::BrokerContext;
use crate::ledger::Ledger;

/// Runs, checks and replays programs.
#[derive(Debug)]
pub(crate) struct Executor {
    pub(crate) workers: Pools,
    pub(crate) admission: Admission,
    pub(crate) broker: Arc<BrokerContext>,
    pub(crate) ledger: Arc<Ledger>,
    /// Wall-clock limit of an execution whose request has none, in milliseconds.
    pub(crate) wall_ms: u64,
    /// Longest wall-clock limit of a request, in milliseconds.
    pub(crate) wall_ms_max: u64,
    /// Processor time of one execution, in milliseconds.
    pub(crate) cpu_ms: u64,
    /// Journal of one execution, in bytes.
    pub(crate) journal_bytes: u64,
}

impl Executor {
    /// Sandbox of the next worker, by its own report. Uses up the worker.
    ///
    /// # Errors
    ///
    /// [`WorkerError`] when no worker can be started, [`WorkerError::Tier`] when its tier is below the minimum.
    pub(crate) async fn sandbox(&self) -> Result<Sandbox, WorkerError> {
        let worker = self.workers.take(Language::Typescript).await?;
        let sandbox = worker.sandbox().clone();
        worker.kill().await;
        Ok(sandbox)
    }
}
