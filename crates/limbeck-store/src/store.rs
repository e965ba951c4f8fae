//! Handle on the state file: opens it, queues operations for the writer, and reads.
//!
//! The methods are grouped by topic in the modules below this one.

mod artifacts;
mod embeddings;
mod executions;
mod journal;
mod ledger;
mod observations;
mod state;
#[cfg(test)]
mod tests;
mod tool_lists;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError, oneshot};
use tokio::task::JoinSet;

use crate::database_file;
use crate::disk_space::DiskFloor;
use crate::error::StoreError;
use crate::journal_room::{JournalRoom, QUEUE_BYTES_EACH, QUEUE_BYTES_SMALL};
use crate::operation::{Durability, Operation, QueueSpace, Write};
use crate::owner_locks::OwnerLocks;
use crate::reader::{Reader, ReaderThread};
use crate::records::StoreStats;
use crate::retention::{JournalBounds, Retention};
use crate::schema;
use crate::writer::{Counters, Job, Message, Writer};

/// Memory of all queued operations; a caller that would exceed it waits. Twice the largest call result,
/// with room to spare.
const QUEUE_BYTES_MAX: u32 = 64 << 20;

/// Where the writer's answer to one operation arrives.
type Answer = oneshot::Receiver<Result<(), StoreError>>;

/// Handle on the state; clones share one writer.
///
/// Dropping the last clone writes and syncs what is queued, then ends the writer's thread.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    /// `None` only while dropping: the writer ends when its last sender is gone.
    sender: Option<mpsc::Sender<Message>>,
    writer: Option<JoinHandle<()>>,
    queue_space: Arc<Semaphore>,
    /// `None` for a store in memory, whose data only the writer's connection sees.
    reader: Option<ReaderThread>,
    retention: Retention,
    room: Arc<JournalRoom>,
    counters: Arc<Counters>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("path", &self.inner.path)
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the state in `path`; creates the file (0600) and its directory (0700) when missing.
    ///
    /// Blocks while another process opens the same file, so call it before the runtime is busy.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unsafe`] for a link, another user's file or a world-writable directory;
    /// [`StoreError::Damaged`], [`StoreError::Foreign`] or [`StoreError::Newer`] for a file that cannot be
    /// used, which is left unchanged.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let opened = database_file::open(path)?;
        let reader = ReaderThread::start(opened.reader, &opened.path)?;
        Self::start(
            opened.path,
            opened.writer,
            Some(reader),
            Some(opened.owner_locks),
            Retention::FILE,
        )
    }

    /// A store that no other process sees and that ends with this one, for `--no-state` and tests.
    ///
    /// # Errors
    ///
    /// Only when the system has no thread or memory left.
    pub fn in_memory() -> Result<Self, StoreError> {
        Self::in_memory_within(Retention::MEMORY.writing)
    }

    /// The same with other bounds on the journals of executions that may have written.
    ///
    /// # Errors
    ///
    /// As [`Self::in_memory`].
    pub fn in_memory_within(journals: JournalBounds) -> Result<Self, StoreError> {
        let path = PathBuf::from(":memory:");
        let mut connection = Connection::open_in_memory()
            .map_err(|error| StoreError::from_sqlite(&path, 0, error))?;
        schema::migrate(&mut connection, &path)?;
        let retention = Retention {
            writing: journals,
            ..Retention::MEMORY
        };
        Self::start(path, connection, None, None, retention)
    }

    fn start(
        path: PathBuf,
        connection: Connection,
        reader: Option<ReaderThread>,
        owner_locks: Option<OwnerLocks>,
        retention: Retention,
    ) -> Result<Self, StoreError> {
        let counters = Arc::new(Counters::default());
        let disk = DiskFloor::new(reader.as_ref().map(|_| path.as_path()));
        let room = Arc::new(JournalRoom::new(disk));
        let (sender, queue) = mpsc::channel();
        let writer = Writer::new(
            path.clone(),
            connection,
            owner_locks,
            retention,
            Arc::clone(&counters),
            Arc::clone(&room),
        );
        let thread = std::thread::Builder::new()
            .name("limbeck-store".to_owned())
            .spawn(move || writer.run(queue))
            .map_err(|error| StoreError::io(&path, error))?;
        Ok(Self {
            inner: Arc::new(Inner {
                path,
                sender: Some(sender),
                writer: Some(thread),
                queue_space: Arc::new(Semaphore::new(QUEUE_BYTES_MAX as usize)),
                reader,
                retention,
                room,
                counters,
            }),
        })
    }

    /// The file, or `:memory:`.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Sets the least free space of the file system, instead of
    /// [`DISK_FREE_BYTES_MIN`](limbeck_domain::limits::DISK_FREE_BYTES_MIN).
    pub fn set_disk_floor(&self, bytes_min: u64) {
        self.inner.room.disk().set(bytes_min);
    }

    /// Checks that there is space for what a program may write. Costs one system call.
    ///
    /// # Errors
    ///
    /// [`StoreError::DiskLow`].
    pub fn check_disk(&self) -> Result<(), StoreError> {
        self.inner.room.disk().check()
    }

    /// Checks that the journals and artifacts of `principal` have less than half of what the disk has for those of programs.
    /// Costs one system call.
    ///
    /// # Errors
    ///
    /// [`StoreError::DiskShare`].
    pub fn check_share(&self, principal: &str) -> Result<(), StoreError> {
        self.inner.room.check(principal)
    }

    /// Requests that old results and artifacts of `principal` are removed when it comes near to its share of the disk.
    ///
    /// # Errors
    ///
    /// [`StoreError::DiskShare`] when it has its share already.
    fn make_room(&self, principal: &str) -> Result<(), StoreError> {
        let room = &self.inner.room;
        if room.is_tight(principal) {
            self.send(Message::MakeRoom(principal.to_owned()))?;
        }
        room.check(principal)
    }

    /// Counters of the writer.
    pub fn stats(&self) -> StoreStats {
        self.inner.counters.read()
    }

    /// Returns once everything queued before is on disk.
    ///
    /// # Errors
    ///
    /// The error of the sync or of the transaction before it.
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.write(Write::empty(), Durability::Synced).await
    }

    /// A write of the gateway's own.
    async fn write(&self, write: Write, durability: Durability) -> Result<(), StoreError> {
        self.submit(Operation::Write(write), durability, None).await
    }

    /// A write that `principal` caused, within its share of the queue.
    async fn write_of(
        &self,
        principal: &str,
        write: Write,
        durability: Durability,
    ) -> Result<(), StoreError> {
        let operation = Operation::Write(write);
        self.submit(operation, durability, Some(principal)).await
    }

    /// Queues an operation and waits for the event that `durability` names.
    ///
    /// Once the operation is queued, dropping this future does not take it back. Until then it does.
    async fn submit(
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

    fn send(&self, message: Message) -> Result<(), StoreError> {
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

    /// Returns once everything queued before is committed and so visible to the reading connection.
    async fn barrier(&self) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Query(Box::new(|_| {
            let _ = reply.send(());
        })))?;
        answer.await.map_err(|_| StoreError::Closed)
    }

    /// Runs statements that only SQLite can fail.
    async fn query<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.read(move |reader| query(reader.connection).map_err(|error| reader.error(error)))
            .await
    }

    /// Runs `read` on the reading connection; for a store in memory, on the writer's.
    async fn read<T: Send + 'static>(
        &self,
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
            Some(reader) => reader.send(Box::new(query))?,
            None => self.send(Message::Query(Box::new(query)))?,
        }
        answer.await.map_err(|_| StoreError::Closed)?
    }
}

fn take(space: &Arc<Semaphore>, bytes: u32) -> Result<Option<OwnedSemaphorePermit>, StoreError> {
    match Arc::clone(space).try_acquire_many_owned(bytes) {
        Ok(taken) => Ok(Some(taken)),
        Err(TryAcquireError::NoPermits) => Ok(None),
        Err(TryAcquireError::Closed) => Err(StoreError::Closed),
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The sender goes first: the writer ends only when its queue is closed, and `join` waits for that.
        drop(self.sender.take());
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("the store's writer panicked; queued records may be lost");
        }
    }
}
