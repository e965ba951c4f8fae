//! Writes: the queue in front of the writer, in which each principal has a share.

use std::sync::Arc;

use limbeck_domain::ExecutionId;
use rusqlite::Transaction;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError, oneshot};
use tokio::task::JoinSet;

use super::{QUEUE_BYTES_MAX, Store};
use crate::error::StoreError;
use crate::journal_operation::{JournalChange, JournalOperation, JournalStep, JournalTarget};
use crate::journal_room::{QUEUE_BYTES_EACH, QUEUE_BYTES_SMALL};
use crate::operation::{Durability, Operation, QueueSpace, Write};
use crate::writer::{Job, Message};

/// Where the writer's answer to one operation arrives.
type Answer = oneshot::Receiver<Result<(), StoreError>>;

impl Store {
    /// A write of the gateway's own.
    pub(super) async fn write(
        &self,
        write: Write,
        durability: Durability,
    ) -> Result<(), StoreError> {
        self.submit(Operation::Write(write), durability, None).await
    }

    /// A write that `principal` caused, within its share of the queue.
    pub(super) async fn write_of(
        &self,
        principal: &str,
        write: Write,
        durability: Durability,
    ) -> Result<(), StoreError> {
        let operation = Operation::Write(write);
        self.submit(operation, durability, Some(principal)).await
    }

    /// A write of the gateway's own that returns a value.
    pub(super) async fn write_returning<T: Send + 'static>(
        &self,
        text_bytes: usize,
        durability: Durability,
        apply: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (give, value) = oneshot::channel();
        let write = Write::checked(text_bytes, move |transaction| {
            let applied = apply(transaction)?;
            Ok(applied.map(|value| drop(give.send(value))))
        });
        self.write(write, durability).await?;
        value.await.map_err(|_| StoreError::Closed)
    }

    /// A change of the execution `id` that returns a value. `size` is the number of its entries and the bytes of its texts.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        id: &ExecutionId,
        (step, durability): (JournalStep, Durability),
        (entries, text_bytes): (u64, usize),
        apply: impl FnOnce(&Transaction<'_>, &str) -> rusqlite::Result<Result<T, StoreError>>
        + Send
        + 'static,
    ) -> Result<T, StoreError> {
        let (give, value) = oneshot::channel();
        let id = id.clone();
        let principal = self.inner.room.append(&id, text_bytes);
        let change = JournalChange {
            target: JournalTarget { id, step, entries },
            text_bytes,
            apply: Box::new(move |transaction, owner| {
                let applied = apply(transaction, owner)?;
                Ok(applied.map(|value| drop(give.send(value))))
            }),
        };
        let operation = Operation::Journal(JournalOperation::Change(change));
        self.submit(operation, durability, principal.as_deref())
            .await?;
        value.await.map_err(|_| StoreError::Closed)
    }

    /// Queues an operation and waits for the event that `durability` names.
    ///
    /// Once the operation is queued, dropping this future does not take it back. Until then it does.
    pub(super) async fn submit(
        &self,
        operation: Operation,
        durability: Durability,
        principal: Option<&str>,
    ) -> Result<(), StoreError> {
        let bytes = u32::try_from(operation.bytes()).unwrap_or(QUEUE_BYTES_MAX);
        let bytes = bytes.min(QUEUE_BYTES_MAX);
        // A small one does not wait behind the large ones of its principal: calls whose intents waited there would all be
        // sent at once afterwards, more than there is room for their results.
        let own = principal
            .filter(|_| bytes > QUEUE_BYTES_SMALL)
            .map(|principal| self.inner.room.queue(principal));
        let queued = match self.take_space(own.as_ref(), bytes)? {
            Some(queue_space) => self.enqueue(operation, durability, queue_space)?,
            None => {
                self.wait_for_space(operation, durability, own, bytes)
                    .await?
            }
        };
        match queued {
            Some(answer) => answer.await.map_err(|_| StoreError::Closed)?,
            None => Ok(()),
        }
    }

    /// Takes space in the queue if it is free: first of the principal's `own`, then of all.
    ///
    /// Semaphores are fair, so callers that wait for space are queued in the order they came: while one waits, all space
    /// that becomes free is given to it, and nothing is left to take at once.
    fn take_space(
        &self,
        own: Option<&Arc<Semaphore>>,
        bytes: u32,
    ) -> Result<Option<QueueSpace>, StoreError> {
        let own = match own {
            Some(own) => match take(own, bytes.min(QUEUE_BYTES_EACH))? {
                Some(own) => Some(own),
                None => return Ok(None),
            },
            None => None,
        };
        let of_all = take(&self.inner.queue_space, bytes)?;
        Ok(of_all.map(|of_all| QueueSpace::new(of_all, own)))
    }

    /// Waits for space in the queue. A principal's operations wait for its own share first, and so not in front of those of
    /// others for the space that all share.
    ///
    /// A task of its own waits: space that was given to a future which its owner does not poll would be lost to every
    /// other caller, for as long as that lasts.
    async fn wait_for_space(
        &self,
        operation: Operation,
        durability: Durability,
        own: Option<Arc<Semaphore>>,
        bytes: u32,
    ) -> Result<Option<Answer>, StoreError> {
        let store = self.clone();
        let mut waiting = JoinSet::new();
        waiting.spawn(async move {
            let own = match own {
                Some(own) => {
                    let own = own.acquire_many_owned(bytes.min(QUEUE_BYTES_EACH)).await;
                    Some(own.map_err(|_| StoreError::Closed)?)
                }
                None => None,
            };
            let of_all = Arc::clone(&store.inner.queue_space);
            let of_all = of_all.acquire_many_owned(bytes).await;
            let of_all = of_all.map_err(|_| StoreError::Closed)?;
            store.enqueue(operation, durability, QueueSpace::new(of_all, own))
        });
        // Dropping the set ends the task: a caller that is gone leaves no operation behind that is not queued.
        match waiting.join_next().await {
            Some(Ok(queued)) => queued,
            Some(Err(_)) | None => Err(StoreError::Closed),
        }
    }

    /// Puts an operation into the queue; returns where its answer arrives, when there will be one.
    fn enqueue(
        &self,
        operation: Operation,
        durability: Durability,
        queue_space: QueueSpace,
    ) -> Result<Option<Answer>, StoreError> {
        let (reply, answer) = match durability {
            Durability::Queued => (None, None),
            Durability::Committed | Durability::Synced => {
                let (reply, answer) = oneshot::channel();
                (Some(reply), Some(answer))
            }
        };
        self.send(Message::Write(Job {
            operation,
            durability,
            reply,
            queue_space,
        }))?;
        Ok(answer)
    }

    pub(super) fn send(&self, message: Message) -> Result<(), StoreError> {
        let is_awaited = match &message {
            Message::Write(job) => job.reply.is_some(),
            Message::Recover(_) | Message::Query(_) => true,
            Message::MakeRoom(_) => false,
        };
        self.inner
            .sender
            .as_ref()
            .and_then(|sender| sender.send(message).ok())
            .ok_or(StoreError::Closed)?;
        if let (true, Some(writer)) = (is_awaited, &self.inner.writer) {
            // The writer may be parked to gather more entries; a caller waits now, so it must not.
            writer.thread().unpark();
        }
        Ok(())
    }
}

fn take(space: &Arc<Semaphore>, bytes: u32) -> Result<Option<OwnedSemaphorePermit>, StoreError> {
    match Arc::clone(space).try_acquire_many_owned(bytes) {
        Ok(taken) => Ok(Some(taken)),
        Err(TryAcquireError::NoPermits) => Ok(None),
        Err(TryAcquireError::Closed) => Err(StoreError::Closed),
    }
}
