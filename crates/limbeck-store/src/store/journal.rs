//! Journals: begin, append, finish, read and recover.

use limbeck_domain::{Envelope, ExecutionId, ExecutionStatus, JournalEntry};
use tokio::sync::oneshot;

use super::Store;
use crate::error::StoreError;
use crate::journal_operation::{JournalOperation, envelope_bytes};
use crate::operation::{Durability, OVERHEAD_BYTES, Operation};
use crate::records::{ExecutionSummary, NewExecution};
use crate::tables;
use crate::writer::Message;

impl Store {
    /// Records an execution as running and owned by this process; returns once it is queued.
    ///
    /// It reaches the disk with the next synced write of any caller. If it cannot be stored, the store
    /// rejects every later entry of this execution.
    ///
    /// # Errors
    ///
    /// [`StoreError::DiskShare`] and [`StoreError::JournalsFull`] when the journals of its principal have no room left;
    /// [`StoreError::Closed`].
    pub async fn begin(&self, new: NewExecution) -> Result<(), StoreError> {
        self.make_room(&new.principal)?;
        let room = &self.inner.room;
        let durability = if self.fails_closed() {
            self.check_durable()?;
            Durability::Synced
        } else if room.may_be_refused(&new.principal) {
            Durability::Committed
        } else {
            Durability::Queued
        };
        let (id, principal) = (new.id.clone(), new.principal.clone());
        let operation = Operation::Journal(JournalOperation::Begin(Box::new(new)));
        let bytes = operation.bytes();
        self.submit(operation, durability, Some(&principal)).await?;
        // After the last `await`: a caller that is gone leaves no execution behind that never ends.
        room.begin(id, &principal, bytes);
        Ok(())
    }

    /// Adds an entry for something that may be repeated; returns once it is queued.
    ///
    /// # Errors
    ///
    /// [`StoreError::Closed`]. When the entry is lost later, the next [`Self::append_durable`] of the
    /// execution reports it.
    pub async fn append(&self, id: &ExecutionId, entry: JournalEntry) -> Result<(), StoreError> {
        self.append_entry(id, entry, Durability::Queued).await
    }

    /// Adds an entry; returns once it and everything queued before it is on disk.
    ///
    /// Dropping the future does not take the entry back once it is queued.
    ///
    /// # Errors
    ///
    /// The reason why the entry is not in the journal; the execution takes no further entries.
    pub async fn append_durable(
        &self,
        id: &ExecutionId,
        entry: JournalEntry,
    ) -> Result<(), StoreError> {
        self.check_durable()?;
        self.append_entry(id, entry, Durability::Synced).await
    }

    async fn append_entry(
        &self,
        id: &ExecutionId,
        entry: JournalEntry,
        durability: Durability,
    ) -> Result<(), StoreError> {
        let operation = JournalOperation::Append {
            id: id.clone(),
            entry: Box::new(entry),
        };
        let operation = Operation::Journal(operation);
        let principal = self.inner.room.append(id, operation.bytes());
        self.submit(operation, durability, principal.as_deref())
            .await
    }

    /// Ends the journal with `envelope` and moves the execution to its final status; returns once that is
    /// committed: every process sees the whole journal, and it survives this process.
    ///
    /// # Errors
    ///
    /// The reason why the end is not stored.
    pub async fn finish(
        &self,
        id: &ExecutionId,
        envelope: &Envelope,
        summary: ExecutionSummary,
    ) -> Result<(), StoreError> {
        let bytes = OVERHEAD_BYTES + envelope_bytes(envelope);
        let queued = self.inner.room.finish(id, bytes);
        let principal = queued.as_ref().map(|queued| queued.principal().to_owned());
        let operation = Operation::Journal(JournalOperation::Finish {
            id: id.clone(),
            envelope: Box::new(envelope.clone()),
            summary,
            queued,
        });
        self.submit(operation, Durability::Committed, principal.as_deref())
            .await
    }

    /// Entries of an execution in order; empty for an unknown execution.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] when an entry cannot be decoded.
    pub async fn journal(&self, id: &ExecutionId) -> Result<Vec<JournalEntry>, StoreError> {
        let id = id.clone();
        self.barrier().await?;
        self.read(move |reader| tables::journal::entries(reader, &id))
            .await
    }

    /// Hands on the executions of gateways that no longer run and returns them with their new status, oldest first.
    ///
    /// One with a call in doubt becomes `needs_reconciliation` and gets an envelope with the reason. Any other becomes
    /// `paused`, and a process that takes it goes on with it; a direct call has `failed`. Executions of this gateway and of others that still run stay as
    /// they are.
    ///
    /// # Errors
    ///
    /// An error of SQLite; then nothing was changed.
    pub async fn recover(&self) -> Result<Vec<(ExecutionId, ExecutionStatus)>, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Recover(reply))?;
        answer.await.map_err(|_| StoreError::Closed)?
    }
}
