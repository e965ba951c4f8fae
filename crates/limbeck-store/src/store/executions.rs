//! Executions: listings and single records.

use limbeck_domain::ExecutionId;

use super::Store;
use crate::error::StoreError;
use crate::records::{ExecutionRecord, ExecutionRow, RemovedExecutions};
use crate::tables;

/// Executions of one listing.
const LISTED_MAX: u32 = 1_000;

impl Store {
    /// The execution with this id, or the only one whose id begins with `id`; `ex_` may be left out.
    ///
    /// # Errors
    ///
    /// [`StoreError::AmbiguousExecution`], which names the newest candidates.
    pub async fn execution(&self, id: &str) -> Result<Option<ExecutionRecord>, StoreError> {
        let id = id.to_owned();
        self.barrier().await?;
        self.read(move |reader| tables::executions::find(reader, &id))
            .await
    }

    /// What retention removed, newest day first: at most one entry for each principal and day.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn removed(&self) -> Result<Vec<RemovedExecutions>, StoreError> {
        self.barrier().await?;
        self.query(tables::removed::list).await
    }

    /// Executions of every gateway on this file, newest first: at most `limit` (1,000 at most), those
    /// before `before` when it is given.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn executions(
        &self,
        limit: u32,
        before: Option<&ExecutionId>,
    ) -> Result<Vec<ExecutionRow>, StoreError> {
        let before = before.cloned();
        let limit = limit.min(LISTED_MAX);
        self.barrier().await?;
        self.query(move |connection| tables::executions::list(connection, limit, before.as_ref()))
            .await
    }
}
