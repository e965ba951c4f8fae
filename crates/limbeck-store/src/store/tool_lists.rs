//! Cached tool lists of servers.

use super::Store;
use crate::error::StoreError;
use crate::operation::{Durability, Write};
use crate::records::CachedTools;
use crate::tables::tool_lists::{self, LIST_BYTES_MAX};

impl Store {
    /// Latest tool list of the server whose configuration entry hashes to `spec_hash`.
    ///
    /// # Errors
    ///
    /// An error of SQLite. A list that cannot be decoded counts as absent.
    pub async fn cached_tools(&self, spec_hash: &str) -> Result<Option<CachedTools>, StoreError> {
        let spec_hash = spec_hash.to_owned();
        self.query(move |connection| tool_lists::get(connection, &spec_hash))
            .await
    }

    /// Stores the tool list of a server; returns once it is committed. The oldest lists above 1,024 are
    /// removed.
    ///
    /// # Errors
    ///
    /// [`StoreError::CatalogTooLarge`]; the previous list stays.
    pub async fn cache_tools(
        &self,
        spec_hash: &str,
        tools: &CachedTools,
    ) -> Result<(), StoreError> {
        let body = serde_json::to_string(tools).map_err(|error| StoreError::encode(&error))?;
        if body.len() > LIST_BYTES_MAX {
            return Err(StoreError::CatalogTooLarge {
                bytes: body.len(),
                bytes_max: LIST_BYTES_MAX,
            });
        }
        let spec_hash = spec_hash.to_owned();
        let listed_us = tools.listed_us;
        let write = Write::new(body.len(), move |transaction| {
            tool_lists::put(transaction, &spec_hash, listed_us, &body)
        });
        self.write(write, Durability::Committed).await
    }
}
