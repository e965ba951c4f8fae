//! What outlives a process: journals of executions, the key-value state of programs, catalogues.
//!
//! One SQLite file per user, in WAL mode, shared by every gateway of that user and by the commands
//! that look at the past. It is written by one thread per [`Store`] and read on another connection.
//!
//! - **Durable** means on disk: [`Store::append_durable`] returns after a sync that covers its entry
//!   and everything queued before it. What is queued meanwhile shares the next sync (group commit),
//!   so a thousand writes under way cost a handful of syncs, and reads cost none.
//! - **Order** of a journal is the order of the calls on [`Store`] that each awaited the one before.
//! - **A gap stays visible**: if an entry cannot be stored, later ones of that execution are refused
//!   ([`StoreError::JournalIncomplete`]), so no write leaves on an incomplete record.
//! - A damaged or newer file is an error with a hint, never a reason to start anew.
//! - No clock is read: every time comes from the caller, in microseconds since 1970.
//!
//! `rusqlite` and not `sqlx`: a pool hands each statement to whichever connection is free and commits
//! for each caller; here one thread owns the writing connection and decides what shares a sync.
//!
//! Start reading at [`Store`], then `writer`.

#![forbid(unsafe_code)]

mod artifact;
mod embedding;
mod error;
mod file;
mod ledger;
mod observed;
mod owner;
mod read;
mod record;
mod recover;
mod retention;
mod schema;
mod work;
mod writer;

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use limbeck_domain::limits::{STORE_KEY_BYTES_MAX, STORE_VALUE_BYTES_MAX};
use limbeck_domain::{Account, ArtifactId, Envelope, ExecutionId, ExecutionStatus, JournalEntry};
use rusqlite::Connection;
use tokio::sync::{Semaphore, oneshot};

pub use artifact::{ArtifactInfo, NewArtifact};
pub use error::StoreError;
pub use ledger::{LedgerRow, NewLedgerRow};
pub use observed::{Join, Observation};
pub use record::{
    CachedTools, ExecutionRecord, ExecutionRow, ExecutionSummary, NewExecution, Pin, StoreStats,
};

use owner::Owners;
use read::Reader;
use retention::Retention;
use work::Work;
use writer::{Counters, Job, Message, Writer};

/// Memory of everything queued for the writer; whoever would exceed it waits. Twice the largest
/// call result and then some.
const QUEUE_BYTES_MAX: u32 = 64 << 20;
/// One server's catalogue as JSON; the largest known has 3 MB.
const CATALOGUE_BYTES_MAX: usize = 32 << 20;
/// Executions of one listing.
const LISTED_MAX: u32 = 1_000;

/// A handle on the state; clones share one writer.
///
/// Dropping the last one writes and syncs what is queued, then ends the thread.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    /// Taken when dropped: the writer ends when its last sender is gone.
    sender: Option<mpsc::Sender<Message>>,
    writer: Option<JoinHandle<()>>,
    room: Arc<Semaphore>,
    /// Absent in memory, where only the writer's connection sees the data.
    reader: Option<Arc<Mutex<Connection>>>,
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
    /// Opens the state in `path`, making the file (0600) and its directory (0700) when missing.
    ///
    /// Blocks for as long as another process opens the same file; use it before the runtime is busy.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unsafe`] for a link, another user's file or a directory everybody can write
    /// to; [`StoreError::Damaged`], [`StoreError::Foreign`] or [`StoreError::Newer`] for a file that
    /// cannot be used, which is left as it is.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let (path, owners, writer, reader) = file::open(path)?;
        let mut store = Self::start(path, writer, Some(owners), Retention::FILE)?;
        Arc::get_mut(&mut store.inner)
            .expect("nobody else has the store yet")
            .reader = Some(Arc::new(Mutex::new(reader)));
        Ok(store)
    }

    /// A store that nobody else sees and that ends with the process, for `--no-state` and tests.
    ///
    /// # Errors
    ///
    /// None but a system without threads or memory.
    pub fn in_memory() -> Result<Self, StoreError> {
        let path = PathBuf::from(":memory:");
        let sqlite = |error| StoreError::from_sqlite(Path::new(":memory:"), 0, error);
        let mut connection = Connection::open_in_memory().map_err(sqlite)?;
        schema::migrate(&mut connection, &path)?;
        Self::start(path, connection, None, Retention::MEMORY)
    }

    fn start(
        path: PathBuf,
        connection: Connection,
        owners: Option<Owners>,
        retention: Retention,
    ) -> Result<Self, StoreError> {
        let counters = Arc::new(Counters::default());
        let (sender, queue) = mpsc::channel();
        let writer = Writer {
            path: path.clone(),
            connection,
            owners,
            retention,
            counters: Arc::clone(&counters),
            lost: HashSet::new(),
            unsynced: false,
            syncing: None,
            finishes: 0,
            prune_due: false,
        };
        let thread = std::thread::Builder::new()
            .name("limbeck-store".to_owned())
            .spawn(move || writer.run(queue))
            .map_err(|error| StoreError::io(&path, error))?;
        Ok(Self {
            inner: Arc::new(Inner {
                path,
                sender: Some(sender),
                writer: Some(thread),
                room: Arc::new(Semaphore::new(QUEUE_BYTES_MAX as usize)),
                reader: None,
                counters,
            }),
        })
    }

    /// The file, or `:memory:`.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// What the writer has done so far.
    pub fn stats(&self) -> StoreStats {
        self.inner.counters.read()
    }

    /// Records an execution as running and owned by this process; returns once it is queued.
    ///
    /// It reaches the disk with the first durable entry of anybody. If it cannot be stored, every
    /// later entry of this execution is refused.
    ///
    /// # Errors
    ///
    /// [`StoreError::Closed`].
    pub async fn begin(&self, new: NewExecution) -> Result<(), StoreError> {
        self.queue(Work::Begin(Box::new(new)), false, None).await
    }

    /// Adds an entry; returns once it is queued, waiting only for room. For what may be repeated.
    ///
    /// # Errors
    ///
    /// [`StoreError::Closed`]. An entry that is lost later shows in the next
    /// [`Self::append_durable`] of the execution.
    pub async fn append(&self, id: &ExecutionId, entry: JournalEntry) -> Result<(), StoreError> {
        self.queue(append(id, entry), false, None).await
    }

    /// Adds an entry; returns once it and everything queued before it is on disk.
    ///
    /// Dropping the future does not take the entry back once it is queued.
    ///
    /// # Errors
    ///
    /// Whatever kept the entry from being stored; it is then not in the journal, and the execution
    /// takes no further ones.
    pub async fn append_durable(
        &self,
        id: &ExecutionId,
        entry: JournalEntry,
    ) -> Result<(), StoreError> {
        self.durably(append(id, entry)).await
    }

    /// Ends the journal with `envelope` and moves the execution to its status; returns once it is
    /// committed: every process sees the whole journal, and none of it is lost with this one.
    ///
    /// # Errors
    ///
    /// Whatever kept the end from being stored.
    pub async fn finish(
        &self,
        id: &ExecutionId,
        envelope: &Envelope,
        summary: ExecutionSummary,
    ) -> Result<(), StoreError> {
        let work = Work::Finish {
            id: id.clone(),
            envelope: Box::new(envelope.clone()),
            summary,
        };
        self.committed(work, false).await
    }

    /// Returns once everything queued before is on disk.
    ///
    /// # Errors
    ///
    /// Whatever kept it from getting there.
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.durably(Work::Flush).await
    }

    /// The execution with this id, or the only one whose id begins with `id`; `ex_` may be left out.
    ///
    /// # Errors
    ///
    /// [`StoreError::AmbiguousExecution`], naming the newest candidates.
    pub async fn execution(&self, id: &str) -> Result<Option<ExecutionRecord>, StoreError> {
        let id = id.to_owned();
        self.barrier().await?;
        self.read(move |reader| reader.execution(&id)).await
    }

    /// The entries of an execution in order; none for an execution nobody knows.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] when an entry cannot be decoded.
    pub async fn journal(&self, id: &ExecutionId) -> Result<Vec<JournalEntry>, StoreError> {
        let id = id.clone();
        self.barrier().await?;
        self.read(move |reader| reader.journal(&id)).await
    }

    /// Executions of every gateway on this file, newest first: at most `limit` (1,000 at most), those
    /// before `before` when it is given.
    ///
    /// # Errors
    ///
    /// What SQLite reports.
    pub async fn executions(
        &self,
        limit: u32,
        before: Option<&ExecutionId>,
    ) -> Result<Vec<ExecutionRow>, StoreError> {
        let before = before.cloned();
        self.barrier().await?;
        self.read(move |reader| reader.executions(limit.min(LISTED_MAX), before.as_ref()))
            .await
    }

    /// Ends the executions of gateways that are gone and returns them, oldest first.
    ///
    /// One with a call in doubt becomes `needs_reconciliation`, any other `failed`; each gets an
    /// envelope that says why. Executions of this and of other living gateways stay as they are.
    ///
    /// # Errors
    ///
    /// What SQLite reports; then nothing was changed.
    pub async fn recover(&self) -> Result<Vec<(ExecutionId, ExecutionStatus)>, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Recover(reply))?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// The value of `key` in the state of `principal`: JSON text as it was set.
    ///
    /// # Errors
    ///
    /// [`StoreError::KeyLength`].
    pub async fn kv_get(&self, principal: &str, key: &str) -> Result<Option<String>, StoreError> {
        check_key(key)?;
        let (principal, key) = (principal.to_owned(), key.to_owned());
        self.read(move |reader| reader.kv_get(&principal, &key))
            .await
    }

    /// Sets `key` in the state of `principal` to JSON text, or deletes it; durable.
    ///
    /// # Errors
    ///
    /// [`StoreError::KeyLength`], [`StoreError::ValueTooLong`], [`StoreError::TooManyKeys`].
    pub async fn kv_set(
        &self,
        principal: &str,
        key: &str,
        value: Option<String>,
    ) -> Result<(), StoreError> {
        check_key(key)?;
        if let Some(value) = &value
            && value.len() > STORE_VALUE_BYTES_MAX
        {
            return Err(StoreError::ValueTooLong { bytes: value.len() });
        }
        self.durably(Work::KvSet {
            principal: principal.to_owned(),
            key: key.to_owned(),
            value,
        })
        .await
    }

    /// Keeps content for `principal`; returns once it is committed. Equal content is kept once.
    ///
    /// What has expired by `new.created_us`, and the oldest of what is over a bound, goes.
    ///
    /// # Errors
    ///
    /// What SQLite reports.
    pub async fn keep_artifact(&self, principal: &str, new: NewArtifact) -> Result<(), StoreError> {
        let work = Work::Artifact {
            principal: principal.to_owned(),
            new: Box::new(new),
        };
        self.committed(work, false).await
    }

    /// An artifact of `principal` with its content; none when it has expired, or is another's.
    ///
    /// # Errors
    ///
    /// What SQLite reports.
    pub async fn artifact(
        &self,
        principal: &str,
        id: &ArtifactId,
        now_us: u64,
    ) -> Result<Option<(ArtifactInfo, Vec<u8>)>, StoreError> {
        let (principal, id) = (principal.to_owned(), id.clone());
        self.read(move |reader| reader.artifact(&principal, &id, now_us))
            .await
    }

    /// The artifacts of `principal`, newest first, at most `limit`.
    ///
    /// # Errors
    ///
    /// What SQLite reports.
    pub async fn artifacts(
        &self,
        principal: &str,
        now_us: u64,
        limit: u32,
    ) -> Result<Vec<ArtifactInfo>, StoreError> {
        let principal = principal.to_owned();
        self.read(move |reader| reader.artifacts(&principal, now_us, limit))
            .await
    }

    /// What the server whose configuration entry hashes to `spec_hash` listed the last time.
    ///
    /// # Errors
    ///
    /// What SQLite reports. A record that cannot be decoded counts as absent.
    pub async fn cached_tools(&self, spec_hash: &str) -> Result<Option<CachedTools>, StoreError> {
        let spec_hash = spec_hash.to_owned();
        self.read(move |reader| reader.cached_tools(&spec_hash))
            .await
    }

    /// Keeps what a server listed; the oldest listings go when there are over 1,024.
    ///
    /// # Errors
    ///
    /// [`StoreError::CatalogueTooLarge`]; what was kept before then stays.
    pub async fn cache_tools(
        &self,
        spec_hash: &str,
        tools: &CachedTools,
    ) -> Result<(), StoreError> {
        let body = serde_json::to_string(tools).map_err(|error| StoreError::encode(&error))?;
        if body.len() > CATALOGUE_BYTES_MAX {
            return Err(StoreError::CatalogueTooLarge {
                bytes: body.len(),
                bytes_max: CATALOGUE_BYTES_MAX,
            });
        }
        let work = Work::Cache {
            spec_hash: spec_hash.to_owned(),
            listed_us: tools.listed_us,
            body,
        };
        self.committed(work, false).await
    }

    /// Keeps a row of the ledger; returns once it is queued.
    ///
    /// # Errors
    ///
    /// [`StoreError::Closed`].
    pub async fn note(&self, row: NewLedgerRow) -> Result<(), StoreError> {
        self.queue(Work::Note(Box::new(row)), false, None).await
    }

    /// Keeps definitions that rows of the ledger name by their hash; returns once they are queued. Those of
    /// more than 4 MiB are not kept, and the oldest go when there are over 512.
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
        if body.len() > ledger::LISTING_BYTES_MAX {
            return Ok(());
        }
        let work = Work::Listing {
            hash: hash.to_owned(),
            seen_us,
            body,
        };
        self.queue(work, false, None).await
    }

    /// Keeps the tokens of a row and lets its texts go.
    ///
    /// # Errors
    ///
    /// What SQLite reports.
    pub async fn keep_account(&self, id: &str, account: &Account) -> Result<(), StoreError> {
        let account = serde_json::to_string(account).map_err(|error| StoreError::encode(&error))?;
        let id = id.to_owned();
        self.committed(Work::Account { id, account }, false).await
    }

    /// The ledger since `since_us`, newest first: at most some 20,000 rows.
    ///
    /// # Errors
    ///
    /// What SQLite reports.
    pub async fn ledger(&self, since_us: u64) -> Result<Vec<LedgerRow>, StoreError> {
        self.barrier().await?;
        self.read(move |reader| reader.ledger(since_us)).await
    }

    /// What the ledger has of one execution.
    ///
    /// # Errors
    ///
    /// What SQLite reports.
    pub async fn ledger_of(&self, id: &ExecutionId) -> Result<Option<LedgerRow>, StoreError> {
        let id = id.clone();
        self.barrier().await?;
        self.read(move |reader| reader.ledger_of(&id)).await
    }

    /// Definitions by their hash; `None` when they are not kept any more.
    ///
    /// # Errors
    ///
    /// What SQLite reports.
    pub async fn listing(&self, hash: &str) -> Result<Option<String>, StoreError> {
        let hash = hash.to_owned();
        self.read(move |reader| reader.listing(&hash)).await
    }

    /// What results of the tools of one server taught, by when they were seen last.
    ///
    /// # Errors
    ///
    /// What SQLite reports.
    pub async fn observations(&self, spec_hash: &str) -> Result<Vec<Observation>, StoreError> {
        let spec_hash = spec_hash.to_owned();
        self.read(move |reader| reader.observations(&spec_hash))
            .await
    }

    /// Joins an observation with what is kept of the same definition, in one transaction, so that no process
    /// undoes what another learnt; returns once it is committed. What was seen longest ago goes when there is
    /// too much.
    ///
    /// # Errors
    ///
    /// What SQLite reports; then nothing of it is kept.
    pub async fn observe(&self, observation: Observation, join: Join) -> Result<(), StoreError> {
        let work = Work::Observe { observation, join };
        self.committed(work, false).await
    }

    /// The vectors that are kept of those of `texts`, by the hash of a text, in no order.
    ///
    /// # Errors
    ///
    /// What SQLite reports.
    pub async fn embeddings(
        &self,
        space: &str,
        texts: Vec<String>,
    ) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let space = space.to_owned();
        self.read(move |reader| reader.embeddings(&space, &texts))
            .await
    }

    /// Keeps vectors by the hash of their text; returns once they are committed. Those of more than 16 KiB are not
    /// kept, and the oldest go when there are over 8,192.
    ///
    /// # Errors
    ///
    /// What SQLite reports.
    pub async fn keep_embeddings(
        &self,
        space: &str,
        vectors: Vec<(String, Vec<u8>)>,
    ) -> Result<(), StoreError> {
        let space = space.to_owned();
        self.committed(Work::Embeddings { space, vectors }, false)
            .await
    }

    fn send(&self, message: Message) -> Result<(), StoreError> {
        let awaited = match &message {
            Message::Write(job) => job.reply.is_some(),
            Message::Recover(_) | Message::Query(_) => true,
        };
        self.inner
            .sender
            .as_ref()
            .and_then(|sender| sender.send(message).ok())
            .ok_or(StoreError::Closed)?;
        if let (true, Some(writer)) = (awaited, &self.inner.writer) {
            // It may be lingering.
            writer.thread().unpark();
        }
        Ok(())
    }

    /// Waits for room, which is given in the order asked for, then sends.
    async fn queue(
        &self,
        work: Work,
        durable: bool,
        reply: Option<oneshot::Sender<Result<(), StoreError>>>,
    ) -> Result<(), StoreError> {
        let bytes = u32::try_from(work.bytes()).unwrap_or(QUEUE_BYTES_MAX);
        let room = Arc::clone(&self.inner.room)
            .acquire_many_owned(bytes.min(QUEUE_BYTES_MAX))
            .await
            .map_err(|_| StoreError::Closed)?;
        self.send(Message::Write(Job {
            work,
            reply,
            durable,
            room: Some(room),
        }))
    }

    async fn durably(&self, work: Work) -> Result<(), StoreError> {
        self.committed(work, true).await
    }

    async fn committed(&self, work: Work, durable: bool) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        self.queue(work, durable, Some(reply)).await?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Returns once everything queued before is committed and so visible to the reader.
    async fn barrier(&self) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Query(Box::new(|_| {
            let _ = reply.send(());
        })))?;
        answer.await.map_err(|_| StoreError::Closed)
    }

    async fn read<T: Send + 'static>(
        &self,
        ask: impl FnOnce(Reader<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let path = self.inner.path.clone();
        let Some(connection) = self.inner.reader.clone() else {
            let (reply, answer) = oneshot::channel();
            self.send(Message::Query(Box::new(move |connection| {
                let path = &path;
                drop(reply.send(ask(Reader { connection, path })));
            })))?;
            return answer.await.map_err(|_| StoreError::Closed)?;
        };
        let asking = tokio::task::spawn_blocking(move || {
            // A panic while reading leaves nothing half done: the connection only reads.
            let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            ask(Reader {
                connection: &connection,
                path: &path,
            })
        });
        asking.await.map_err(|_| StoreError::Closed)?
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        drop(self.sender.take());
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("the store's writer panicked; what was queued may be lost");
        }
    }
}

fn append(id: &ExecutionId, entry: JournalEntry) -> Work {
    Work::Append {
        id: id.clone(),
        entry: Box::new(entry),
    }
}

fn check_key(key: &str) -> Result<(), StoreError> {
    if (1..=STORE_KEY_BYTES_MAX).contains(&key.len()) {
        Ok(())
    } else {
        Err(StoreError::KeyLength { bytes: key.len() })
    }
}
