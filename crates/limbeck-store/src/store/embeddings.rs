//! Cached vectors of an embedding endpoint.

use super::Store;
use crate::error::StoreError;
use crate::operation::{Durability, Write};
use crate::tables;

impl Store {
    /// Stored vectors of `texts`, which are hashes of texts; in no order.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn embeddings(
        &self,
        space: &str,
        texts: Vec<String>,
    ) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let space = space.to_owned();
        self.query(move |connection| tables::embeddings::get(connection, &space, &texts))
            .await
    }

    /// Stores vectors under the hashes of their texts; returns once they are committed. Vectors of more
    /// than 16 KiB are not stored, and the oldest above 8,192 are removed.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn keep_embeddings(
        &self,
        space: &str,
        vectors: Vec<(String, Vec<u8>)>,
    ) -> Result<(), StoreError> {
        let space = space.to_owned();
        let bytes = vectors
            .iter()
            .map(|(hash, vector)| hash.len() + vector.len())
            .sum();
        let write = Write::new(bytes, move |transaction| {
            tables::embeddings::put(transaction, &space, &vectors)
        });
        self.write(write, Durability::Committed).await
    }
}
