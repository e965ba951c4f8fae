//! Artifacts of each principal.

use limbeck_domain::{ArtifactId, ExecutionId};

use super::Store;
use crate::error::StoreError;
use crate::operation::{Durability, Write};
use crate::records::{ArtifactInfo, NewArtifact};
use crate::tables;

impl Store {
    /// Stores content for `principal`; returns once it is committed. Equal content is stored once.
    ///
    /// Artifacts that have expired by `new.created_us` are removed, and so are the oldest above a bound.
    ///
    /// # Errors
    ///
    /// [`StoreError::DiskShare`] when journals and artifacts of `principal` have their share of the disk; an error of SQLite.
    pub async fn keep_artifact(&self, principal: &str, new: NewArtifact) -> Result<(), StoreError> {
        self.make_room(principal)?;
        // Before the first `await`, so that artifacts which are saved at the same time count for each other.
        let queued = self.inner.room.keep(principal, new.content.len());
        let by = principal;
        let principal = principal.to_owned();
        let bounds = self.inner.retention.artifacts;
        let write = Write::new(new.content.len(), move |transaction| {
            let stored = tables::artifacts::put(transaction, &principal, &new, bounds);
            // What is read of the file from now on has it.
            drop(queued);
            stored
        });
        self.write_of(by, write, Durability::Committed).await
    }

    /// What is known of an artifact of `principal` without its content; `None` as for [`Self::artifact`].
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn artifact_info(
        &self,
        principal: &str,
        id: &ArtifactId,
        now_us: u64,
    ) -> Result<Option<ArtifactInfo>, StoreError> {
        let (by, principal, id) = (principal, principal.to_owned(), id.clone());
        self.query_of(by, move |connection| {
            tables::artifacts::get_info(connection, &principal, &id, now_us)
        })
        .await
    }

    /// An artifact of `principal` with its content; `None` when it has expired or belongs to another
    /// principal.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn artifact(
        &self,
        principal: &str,
        id: &ArtifactId,
        now_us: u64,
    ) -> Result<Option<(ArtifactInfo, Vec<u8>)>, StoreError> {
        let (by, principal, id) = (principal, principal.to_owned(), id.clone());
        self.query_of(by, move |connection| {
            tables::artifacts::get(connection, &principal, &id, now_us)
        })
        .await
    }

    /// Media type and content of an artifact that the journal of `execution` refers to. It stays as long as the journal.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn journalled_artifact(
        &self,
        execution: &ExecutionId,
        id: &ArtifactId,
    ) -> Result<Option<(String, Vec<u8>)>, StoreError> {
        let (execution, id) = (execution.clone(), id.clone());
        self.query(move |connection| tables::artifacts::held(connection, &execution, &id))
            .await
    }

    /// Artifacts of `principal`, newest first, at most `limit`.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn artifacts(
        &self,
        principal: &str,
        now_us: u64,
        limit: u32,
    ) -> Result<Vec<ArtifactInfo>, StoreError> {
        let (by, principal) = (principal, principal.to_owned());
        self.query_of(by, move |connection| {
            tables::artifacts::list(connection, &principal, now_us, limit)
        })
        .await
    }
}
