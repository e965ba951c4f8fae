//! Starts workers of one executable and checks that they are ready and sandboxed.

use std::time::Duration;

use limbeck_domain::Language;
use tokio::time::timeout;

use crate::process_source::ProcessSource;
use crate::{MemoryBound, SandboxFloor, Worker, WorkerError, WorkerProgram};

/// Time for a worker to get ready: a hundred times what it takes on an idle machine.
pub(crate) const READY_MS: u64 = 5_000;

/// Starts workers. Clones share what workers come from: on Linux one zygote for each language, started
/// with its first worker.
#[derive(Clone, Debug)]
pub struct Launcher {
    pub(crate) program: WorkerProgram,
    minimum: SandboxFloor,
    pub(crate) process_source: ProcessSource,
}

impl Launcher {
    /// A launcher for one executable, whose workers have a sandbox of at least `minimum`.
    pub fn new(program: WorkerProgram, minimum: impl Into<SandboxFloor>) -> Self {
        Self {
            program,
            minimum: minimum.into(),
            process_source: ProcessSource::default(),
        }
    }

    /// The weakest sandbox a worker may have.
    pub fn minimum(&self) -> &SandboxFloor {
        &self.minimum
    }

    /// Starts one worker and waits until it is ready for a program in `language`.
    ///
    /// # Errors
    ///
    /// [`WorkerError`]; a half-started worker is killed.
    pub async fn launch(&self, language: Language) -> Result<Worker, WorkerError> {
        let parent = self.process_source.parent(&self.program, language).await?;
        let (process, channel) = parent.worker().await?;
        let mut worker = Worker::new(process, channel);
        timeout(Duration::from_millis(READY_MS), worker.handshake())
            .await
            .map_err(|_| WorkerError::NotReady { limit_ms: READY_MS })??;
        parent.confirm().await?;
        let sandbox = worker.sandbox();
        if !self.minimum.is_met_by(sandbox) {
            return Err(WorkerError::Tier {
                sandbox: Box::new(sandbox.clone()),
                minimum: self.minimum.clone(),
            });
        }
        Ok(worker)
    }

    /// What bounds the memory of all workers for `language` together. Starts what they come from, if
    /// that is not running.
    ///
    /// # Errors
    ///
    /// [`WorkerError`], when that does not start.
    pub async fn memory_bound(&self, language: Language) -> Result<MemoryBound, WorkerError> {
        let parent = self.process_source.parent(&self.program, language).await?;
        Ok(parent.memory_bound())
    }

    /// Kills what workers come from, and with it every worker that is left; elsewhere than on Linux
    /// workers end with their [`Worker`] alone. A later launch starts another.
    pub async fn shutdown(&self) {
        self.process_source.shutdown().await;
    }
}
