//! A connection that is being read, with the path that error messages name, and the thread that reads.

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use rusqlite::Connection;
use serde::de::DeserializeOwned;

use crate::error::StoreError;
use crate::read_queue::{Query, ReadQueue};
use crate::schema;

/// One connection and the file it reads.
pub(crate) struct Reader<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) path: &'a Path,
}

impl Reader<'_> {
    /// Runs statements that only SQLite can fail.
    pub(crate) fn run<T>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        query(self.connection).map_err(|error| self.error(error))
    }

    pub(crate) fn error(&self, error: rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(self.path, schema::BUSY_MS, error)
    }

    /// Decodes a stored JSON text; `what` names it in the message.
    pub(crate) fn decode<T: DeserializeOwned>(
        &self,
        what: &str,
        json: &str,
    ) -> Result<T, StoreError> {
        serde_json::from_str(json).map_err(|error| self.damaged(what, &error))
    }

    /// The error of a stored JSON text that cannot be decoded.
    pub(crate) fn damaged(&self, what: &str, error: &serde_json::Error) -> StoreError {
        StoreError::Damaged {
            path: self.path.to_owned(),
            detail: format!("{what}: {error}"),
        }
    }
}

/// The thread that owns the reading connection.
///
/// One thread, and not the runtime's threads for blocking work: these are shared with the whole gateway, and every
/// one of them would wait for the one connection.
pub(crate) struct ReaderThread {
    queue: Arc<ReadQueue>,
    /// `None` only while dropping.
    thread: Option<JoinHandle<()>>,
}

impl ReaderThread {
    pub(crate) fn start(connection: Connection, path: &Path) -> Result<Self, StoreError> {
        let queue = Arc::<ReadQueue>::default();
        let queries = Arc::clone(&queue);
        let thread = std::thread::Builder::new()
            .name("limbeck-reader".to_owned())
            .spawn(move || {
                while let Some(query) = queries.next() {
                    // A query that panics loses its answer; it only reads, so the connection is still good.
                    let query = std::panic::AssertUnwindSafe(|| query(&connection));
                    drop(std::panic::catch_unwind(query));
                }
            })
            .map_err(|error| StoreError::io(path, error))?;
        Ok(Self {
            queue,
            thread: Some(thread),
        })
    }

    /// Queues a read that `principal` caused; `None` for one of the gateway.
    pub(crate) fn send(&self, principal: Option<&str>, query: Query) -> Result<(), StoreError> {
        match self.queue.push(principal, query) {
            true => Ok(()),
            false => Err(StoreError::Closed),
        }
    }
}

impl Drop for ReaderThread {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's reading thread panicked");
        }
    }
}
