//! Reads: on a connection of their own, where principals take turns.

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::Store;
use crate::error::StoreError;
use crate::reader::Reader;
use crate::writer::Message;

impl Store {
    /// Returns once everything queued before is committed and so visible to the reading connection.
    pub(super) async fn barrier(&self) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Query(Box::new(|_| {
            let _ = reply.send(());
        })))?;
        answer.await.map_err(|_| StoreError::Closed)
    }

    /// Runs statements of the gateway's own that only SQLite can fail.
    pub(super) async fn query<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.read_in_turn(None, move |reader| reader.run(query))
            .await
    }

    /// Runs statements for `principal`, which takes turns with others, that only SQLite can fail.
    pub(super) async fn query_of<T: Send + 'static>(
        &self,
        principal: &str,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.read_in_turn(Some(principal), move |reader| reader.run(query))
            .await
    }

    /// Runs `read`, which the gateway itself needs.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Reader<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.read_in_turn(None, read).await
    }

    /// Runs `read` on the reading connection when it is the turn of `principal`; for a store in memory, on the writer's, in
    /// the order of all operations.
    async fn read_in_turn<T: Send + 'static>(
        &self,
        principal: Option<&str>,
        read: impl FnOnce(&Reader<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let path = self.inner.path.clone();
        let query = move |connection: &Connection| {
            // A caller that is gone needs no answer.
            if !reply.is_closed() {
                let path = &path;
                drop(reply.send(read(&Reader { connection, path })));
            }
        };
        match &self.inner.reader {
            Some(reader) => reader.send(principal, Box::new(query))?,
            None => self.send(Message::Query(Box::new(query)))?,
        }
        answer.await.map_err(|_| StoreError::Closed)?
    }
}
