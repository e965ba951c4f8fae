//! Handle on the state file: opens it, queues operations for the writer, and reads.
//!
//! The methods are grouped by topic in the modules below this one.

mod approvals;
mod artifacts;
mod audit;
mod budgets;
mod embeddings;
mod executions;
mod journal;
mod ledger;
mod observations;
mod pauses;
mod reading;
mod recorded_calls;
mod remembered;
mod sealed_states;
mod skills;
mod state;
#[cfg(test)]
mod tests;
mod tool_lists;
mod tool_pins;
mod writing;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::Semaphore;

use crate::audit::{RecordKeeping, RecordRate};
use crate::database_file;
use crate::disk_space::DiskFloor;
use crate::error::StoreError;
use crate::journal_room::JournalRoom;
use crate::operation::{Durability, Write};
use crate::options::StoreOptions;
use crate::owner_locks::OwnerLocks;
use crate::reader::ReaderThread;
use crate::records::StoreStats;
use crate::retention::{JournalBounds, Retention};
use crate::schema;
use crate::writer::{Message, Writer, WriterCounters};

/// Memory of all queued operations; a caller that would exceed it waits. Twice the largest call result,
/// with room to spare.
const QUEUE_BYTES_MAX: u32 = 64 << 20;

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
    /// Why the state file that this store in memory is used in the place of cannot be used.
    instead_of: Option<StoreError>,
    /// `None` for a store in memory, whose data only the writer's connection sees.
    reader: Option<ReaderThread>,
    retention: Retention,
    room: Arc<JournalRoom>,
    counters: Arc<WriterCounters>,
    fail_closed: bool,
    record_rate: Mutex<RecordRate>,
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
        Self::open_with(path, StoreOptions::default())
    }

    /// The same with `options`.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub fn open_with(path: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        let opened = database_file::open(path)?;
        let reader = ReaderThread::start(opened.reader, &opened.path)?;
        Self::start(
            opened.path,
            opened.writer,
            Some(reader),
            Some(opened.owner_locks),
            Retention::FILE.chosen(options.executions, options.days),
            options,
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

    /// A store in memory for a gateway whose state file cannot be used, because of `error`. Programs that read go on with it.
    /// What has to outlive the process fails with `error`: the intent of a call that may write, a question, a value of `store`.
    ///
    /// # Errors
    ///
    /// As [`Self::in_memory`].
    pub fn in_memory_instead_of(error: StoreError) -> Result<Self, StoreError> {
        let mut store = Self::in_memory()?;
        let inner = Arc::get_mut(&mut store.inner);
        inner.expect("nothing else has the new store").instead_of = Some(error);
        Ok(store)
    }

    /// Whether nothing runs and no call is sent where its record is not on disk.
    pub fn fails_closed(&self) -> bool {
        self.inner.fail_closed
    }

    /// Fails where what is written does not outlive this process although a state file was to be used.
    ///
    /// # Errors
    ///
    /// Why the state file cannot be used.
    pub fn check_durable(&self) -> Result<(), StoreError> {
        self.inner.instead_of.clone().map_or(Ok(()), Err)
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
        Self::start(
            path,
            connection,
            None,
            None,
            retention,
            StoreOptions::default(),
        )
    }

    fn start(
        path: PathBuf,
        connection: Connection,
        reader: Option<ReaderThread>,
        owner_locks: Option<OwnerLocks>,
        retention: Retention,
        options: StoreOptions,
    ) -> Result<Self, StoreError> {
        let audit = RecordKeeping {
            redact: options.redact,
            records_max: options.audit_records,
            segments: options.audit_segments,
            checkpoints: options.checkpoints,
        };
        let counters = Arc::new(WriterCounters::default());
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
            audit,
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
                instead_of: None,
                reader,
                retention,
                room,
                counters,
                fail_closed: options.fail_closed,
                record_rate: Mutex::default(),
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
