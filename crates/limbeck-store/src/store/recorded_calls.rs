//! Calls that executions made, read to decide about them again.

use limbeck_domain::Approval;

use super::Store;
use crate::error::StoreError;
use crate::tables;
use crate::tables::recorded_calls::RecordedCall;

impl Store {
    /// Passes each call of a tool of executions since `since_us`, the oldest execution first, to `each` with a state, and
    /// returns the state. Memory is that of one execution's calls; `each` runs on the thread that reads.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] when an entry cannot be decoded, and an error of SQLite.
    pub async fn fold_calls<T: Send + 'static>(
        &self,
        since_us: u64,
        mut state: T,
        mut each: impl FnMut(&mut T, RecordedCall<'_>) + Send + 'static,
    ) -> Result<T, StoreError> {
        self.barrier().await?;
        self.read(move |reader| {
            tables::recorded_calls::each(reader, since_us, |call| each(&mut state, call))?;
            Ok(state)
        })
        .await
    }

    /// Passes each question that was asked since `since_us`, the oldest first, to `each` with a state, and returns the state.
    /// `each` runs on the thread that reads.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] when a question cannot be decoded, and an error of SQLite.
    pub async fn fold_questions<T: Send + 'static>(
        &self,
        since_us: u64,
        mut state: T,
        mut each: impl FnMut(&mut T, Approval) + Send + 'static,
    ) -> Result<T, StoreError> {
        self.barrier().await?;
        self.read(move |reader| {
            tables::approvals::each(reader, since_us, |question| each(&mut state, question))?;
            Ok(state)
        })
        .await
    }
}
