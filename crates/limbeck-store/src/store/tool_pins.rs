//! Pins of tools.

use super::Store;
use crate::error::StoreError;
use crate::journal_operation::encode;
use crate::operation::Durability;
use crate::records::ToolPin;
use crate::tables::tool_lists::LIST_BYTES_MAX;
use crate::tables::tool_pins;

/// Texts written at once: less than the queue of writes has room for.
const PINS_BYTES_MAX: usize = LIST_BYTES_MAX + LIST_BYTES_MAX / 2;

impl Store {
    /// Pins of the server whose configuration entry hashes to `spec_hash`, by the name of the tool; `None` before its first
    /// list. Texts are read only of definitions that are not the pinned ones.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn tool_pins(&self, spec_hash: &str) -> Result<Option<Vec<ToolPin>>, StoreError> {
        self.pins(spec_hash, false).await
    }

    /// [`Store::tool_pins`] with all texts.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn whole_tool_pins(
        &self,
        spec_hash: &str,
    ) -> Result<Option<Vec<ToolPin>>, StoreError> {
        self.pins(spec_hash, true).await
    }

    async fn pins(&self, spec_hash: &str, whole: bool) -> Result<Option<Vec<ToolPin>>, StoreError> {
        let spec_hash = spec_hash.to_owned();
        self.barrier().await?;
        self.query(move |connection| tool_pins::list(connection, &spec_hash, whole))
            .await
    }

    /// Writes changed pins of a server, all or none, and notes that it was listed; returns once that is on disk. Returns
    /// `false` where another process changed one of them since it was read.
    ///
    /// # Errors
    ///
    /// [`StoreError::CatalogTooLarge`], or an error of SQLite; then nothing is written.
    pub async fn put_tool_pins(
        &self,
        spec_hash: &str,
        server: &str,
        pins: Vec<ToolPin>,
        now_us: u64,
    ) -> Result<bool, StoreError> {
        let mut rows = Vec::with_capacity(pins.len());
        let mut bytes = 0;
        for pin in pins {
            let facts = encode(&pin.facts)?;
            let texts = [&pin.pinned, &pin.current].into_iter().flatten();
            bytes += facts.len() + texts.map(String::len).sum::<usize>();
            rows.push((pin, facts));
        }
        if bytes > PINS_BYTES_MAX {
            return Err(StoreError::CatalogTooLarge {
                bytes,
                bytes_max: PINS_BYTES_MAX,
            });
        }
        let (spec_hash, server) = (spec_hash.to_owned(), server.to_owned());
        self.write_returning(bytes, Durability::Synced, move |transaction| {
            tool_pins::put(transaction, (&spec_hash, &server), &rows, now_us).map(Ok)
        })
        .await
    }

    /// Counts changes of pins by any process.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn pin_changes(&self) -> Result<u64, StoreError> {
        self.query(tool_pins::changes).await
    }
}
