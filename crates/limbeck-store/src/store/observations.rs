//! Types learnt from tool results.

use super::Store;
use crate::error::StoreError;
use crate::operation::{Durability, Write};
use crate::records::{MergeObservation, Observation};
use crate::tables;

impl Store {
    /// Observations of the tools of one server, least recently seen first.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn observations(&self, spec_hash: &str) -> Result<Vec<Observation>, StoreError> {
        let spec_hash = spec_hash.to_owned();
        self.query(move |connection| tables::observations::list(connection, &spec_hash))
            .await
    }

    /// Merges an observation with the stored one of the same definition; returns once that is committed.
    ///
    /// Reading and writing are one transaction, so that no process undoes what another learnt. The least
    /// recently seen observations above a bound are removed.
    ///
    /// # Errors
    ///
    /// An error of SQLite; then nothing of it is stored.
    pub async fn merge_observation(
        &self,
        observation: Observation,
        merge: MergeObservation,
    ) -> Result<(), StoreError> {
        let write = Write::new(observation.body.len(), move |transaction| {
            tables::observations::merge(transaction, &observation, merge)
        });
        self.write(write, Durability::Committed).await
    }
}
