//! A connection that is being read, with the path that error messages name, and the thread that reads.

use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;

use rusqlite::Connection;
use serde::de::DeserializeOwned;

use crate::error::StoreError;
use crate::schema;

/// One connection and the file it reads.
pub(crate) struct Reader<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) path: &'a Path,
}

impl Reader<'_> {
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

/// A query, with where its answer goes.
pub(crate) type Query = Box<dyn FnOnce(&Connection) + Send>;

/// The thread that owns the reading connection.
///
/// One thread, and not the runtime's threads for blocking work: these are shared with the whole gateway, and every
/// one of them would wait for the one connection.
pub(crate) struct ReaderThread {
    /// `None` only while dropping: the thread ends when its last sender is gone.
    queue: Option<mpsc::Sender<Query>>,
    thread: Option<JoinHandle<()>>,
}

impl ReaderThread {
    pub(crate) fn start(connection: Connection, path: &Path) -> Result<Self, StoreError> {
        let (queue, queries) = mpsc::channel::<Query>();
        let thread = std::thread::Builder::new()
            .name("limbeck-reader".to_owned())
            .spawn(move || {
                for query in queries {
                    // A query that panics loses its answer; it only reads, so the connection is still good.
                    let query = std::panic::AssertUnwindSafe(|| query(&connection));
                    drop(std::panic::catch_unwind(query));
                }
            })
            .map_err(|error| StoreError::io(path, error))?;
        Ok(Self {
            queue: Some(queue),
            thread: Some(thread),
        })
    }

    pub(crate) fn send(&self, query: Query) -> Result<(), StoreError> {
        let queue = self.queue.as_ref();
        queue
            .and_then(|queue| queue.send(query).ok())
            .ok_or(StoreError::Closed)
    }
}

impl Drop for ReaderThread {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's reading thread panicked");
        }
    }
}
