//! Ledger rows and the listings they refer to.

use limbeck_domain::{ExecutionId, TokenUsage};

use super::Store;
use crate::error::StoreError;
use crate::operation::{Durability, Write};
use crate::records::{LedgerRow, NewLedgerRow};
use crate::tables::ledger::{self, EncodedLedgerRow, LISTING_BYTES_MAX};

impl Store {
    /// Adds a row to the ledger; returns once it is queued.
    ///
    /// # Errors
    ///
    /// [`StoreError::Closed`].
    pub async fn add_ledger_row(&self, row: NewLedgerRow) -> Result<(), StoreError> {
        let encoded = EncodedLedgerRow {
            sizes: serde_json::to_string(&row.sizes).map_err(|error| StoreError::encode(&error))?,
            texts: serde_json::to_string(&row.texts).map_err(|error| StoreError::encode(&error))?,
            id: row.id,
            created_us: row.created_us,
            origin: row.origin,
        };
        let write = Write::new(encoded.texts.len(), move |transaction| {
            ledger::add(transaction, &encoded)
        });
        self.write(write, Durability::Queued).await
    }

    /// Stores definitions under the hash by which ledger rows refer to them; returns once they are queued.
    ///
    /// Definitions of more than 4 MiB are not stored, and the oldest above 512 are removed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Closed`].
    pub async fn keep_listing(
        &self,
        hash: &str,
        body: String,
        seen_us: u64,
    ) -> Result<(), StoreError> {
        if body.len() > LISTING_BYTES_MAX {
            return Ok(());
        }
        let hash = hash.to_owned();
        let write = Write::new(body.len(), move |transaction| {
            ledger::put_listing(transaction, &hash, &body, seen_us)
        });
        self.write(write, Durability::Queued).await
    }

    /// Stores the counted tokens of a row and removes the texts they were counted from; returns once that
    /// is committed.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn set_token_usage(&self, id: &str, usage: &TokenUsage) -> Result<(), StoreError> {
        let usage = serde_json::to_string(usage).map_err(|error| StoreError::encode(&error))?;
        let id = id.to_owned();
        let write = Write::new(usage.len(), move |transaction| {
            ledger::set_token_usage(transaction, &id, &usage)
        });
        self.write(write, Durability::Committed).await
    }

    /// Rows of the ledger since `since_us`, newest first: at most some 20,000.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn ledger(&self, since_us: u64) -> Result<Vec<LedgerRow>, StoreError> {
        self.barrier().await?;
        self.query(move |connection| ledger::since(connection, since_us))
            .await
    }

    /// The ledger's row of one execution.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn ledger_of(&self, id: &ExecutionId) -> Result<Option<LedgerRow>, StoreError> {
        let id = id.clone();
        self.barrier().await?;
        self.query(move |connection| ledger::get(connection, id.as_str()))
            .await
    }

    /// Definitions by their hash; `None` when they have been removed.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn listing(&self, hash: &str) -> Result<Option<String>, StoreError> {
        let hash = hash.to_owned();
        self.query(move |connection| ledger::listing(connection, &hash))
            .await
    }
}
