//! The thread that writes, and the queue in front of it.
//!
//! What is queued during a commit becomes the next commit, so that one sync to disk answers every caller
//! that waits for one. A batch without such a caller is committed without a sync; SQLite's log keeps the
//! order, so the sync of a later batch brings earlier ones to disk with it. While no caller waits at all,
//! the thread lingers for a moment, so that a run of reads is one commit and not one each.

mod commit;
mod room;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvError, TryRecvError};
use std::time::{Duration, Instant};

use limbeck_domain::{ExecutionId, ExecutionStatus};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::apply::Apply;
use crate::audit::{NewestFile, RecordKeeping};
use crate::error::StoreError;
use crate::journal_operation::{JournalOperation, JournalStep, JournalTarget};
use crate::journal_room::JournalRoom;
use crate::operation::{Durability, Operation, QueueSpace};
use crate::owner_locks::OwnerLocks;
use crate::records::StoreStats;
use crate::recovery;
use crate::retention::Retention;
use crate::schema;

/// Operations in one transaction: enough to share a sync, few enough that another process gets its turn.
const BATCH_OPERATIONS_MAX: usize = 512;
/// Time for which entries that no caller waits for are gathered before they are committed.
const LINGER: Duration = Duration::from_millis(2);
/// Finished executions between two runs of retention.
const FINISHES_PER_PRUNE: u32 = 32;
/// Bytes written between two runs of retention, however few executions they belong to.
const BYTES_PER_PRUNE: usize = 64 << 20;

type Reply = oneshot::Sender<Result<(), StoreError>>;

/// Message to the writer.
pub(crate) enum Message {
    /// An operation to store, in the order sent.
    Write(Job),
    /// Hands on executions whose gateway no longer runs.
    Recover(oneshot::Sender<Result<Vec<(ExecutionId, ExecutionStatus)>, StoreError>>),
    /// Runs on the writer's connection after everything sent before it is committed.
    Query(Box<dyn FnOnce(&Connection) + Send>),
    /// Removes old results, arguments, artifacts and executions of a principal that comes near to its share of the disk.
    MakeRoom(String),
}

/// A queued operation.
pub(crate) struct Job {
    pub(crate) operation: Operation,
    pub(crate) durability: Durability,
    /// Answered when the batch is committed; `None` for [`Durability::Queued`].
    pub(crate) reply: Option<Reply>,
    /// Its share of the queue's memory, given back when it is answered.
    pub(crate) queue_space: QueueSpace,
}

/// Counters behind [`crate::Store::stats`].
#[derive(Debug, Default)]
pub(crate) struct WriterCounters {
    commits: AtomicU64,
    synced: AtomicU64,
    entries: AtomicU64,
}

impl WriterCounters {
    pub(crate) fn read(&self) -> StoreStats {
        StoreStats {
            commits: self.commits.load(Ordering::Relaxed),
            synced: self.synced.load(Ordering::Relaxed),
            entries: self.entries.load(Ordering::Relaxed),
        }
    }
}

/// State of the thread.
pub(crate) struct Writer {
    path: PathBuf,
    connection: Connection,
    /// `None` for a store in memory, which no other process can open.
    owner_locks: Option<OwnerLocks>,
    retention: Retention,
    counters: Arc<WriterCounters>,
    /// Executions of this process whose journal has a gap: only the end may follow it.
    incomplete: HashSet<ExecutionId>,
    /// Whether something is committed and not yet synced.
    unsynced: bool,
    /// Whether commits currently sync; `None` before the first.
    sync_mode: Option<bool>,
    finishes: u32,
    /// Bytes written since the last run of retention.
    written_bytes: usize,
    prune_due: bool,
    /// When the newest execution was requested, begun or refused.
    requested_us: u64,
    /// Principals that begin no executions until retention removed some of their own, and the bytes they have.
    full: BTreeMap<String, u64>,
    /// Principals for whose journals the disk has little room.
    tight: BTreeSet<String>,
    room: Arc<JournalRoom>,
    /// `None` for a store in memory.
    newest_file: Option<NewestFile>,
    /// What is done with records.
    audit: RecordKeeping,
    /// Operations that could not be stored since the last commit.
    lost: u64,
}

/// What remains of a job once its operation is encoded: whom to answer, and for which journal.
struct Completion {
    journal: Option<JournalTarget>,
    reply: Option<Reply>,
    _queue_space: QueueSpace,
}

impl Writer {
    pub(crate) fn new(
        path: PathBuf,
        connection: Connection,
        owner_locks: Option<OwnerLocks>,
        retention: Retention,
        counters: Arc<WriterCounters>,
        room: Arc<JournalRoom>,
        mut audit: RecordKeeping,
    ) -> Self {
        let checkpoints = audit.checkpoints.take();
        Self {
            newest_file: owner_locks
                .as_ref()
                .map(|_| NewestFile::new(&path, checkpoints)),
            path,
            connection,
            owner_locks,
            retention,
            counters,
            incomplete: HashSet::new(),
            unsynced: false,
            sync_mode: None,
            finishes: 0,
            written_bytes: 0,
            // What an earlier process left above the bounds goes first.
            prune_due: true,
            requested_us: 0,
            full: BTreeMap::new(),
            tight: BTreeSet::new(),
            room,
            audit,
            lost: 0,
        }
    }

    /// Runs until every sender is gone and the queue is empty, then syncs what is left.
    pub(crate) fn run(mut self, queue: Receiver<Message>) {
        loop {
            // While retention has more to remove, the thread does not block on the queue; messages still
            // go first, so that callers wait for one bounded step at most.
            let message = if self.prune_due {
                match queue.try_recv() {
                    Ok(message) => Some(message),
                    Err(TryRecvError::Empty) => None,
                    Err(TryRecvError::Disconnected) => break,
                }
            } else {
                match queue.recv() {
                    Ok(message) => Some(message),
                    Err(RecvError) => break,
                }
            };
            if let Some(message) = message {
                self.handle(message, &queue);
            }
            if self.prune_due {
                self.prune();
            }
        }
        if self.unsynced {
            self.commit(Vec::new(), true);
        }
        if let Some(file) = &mut self.newest_file {
            file.write();
        }
    }

    /// Handles `first` and the messages behind it that can share its transaction.
    fn handle(&mut self, first: Message, queue: &Receiver<Message>) {
        let mut batch: Vec<(Completion, Apply)> = Vec::new();
        let mut sync = false;
        let linger_until = Instant::now() + LINGER;
        let mut next = Some(first);
        let mut after_commit = None;
        while let Some(message) = next.take() {
            match message {
                Message::Write(job) => {
                    sync |= job.durability == Durability::Synced;
                    batch.extend(self.prepare(job));
                    if batch.len() < BATCH_OPERATIONS_MAX {
                        next = queue.try_recv().ok();
                    }
                    let is_awaited = || {
                        batch
                            .iter()
                            .any(|(completion, _)| completion.reply.is_some())
                    };
                    while next.is_none() && batch.len() < BATCH_OPERATIONS_MAX && !is_awaited() {
                        let left = linger_until.saturating_duration_since(Instant::now());
                        if left.is_zero() {
                            break;
                        }
                        // Parked, and not waiting on the queue, which would wake the thread for each
                        // entry. A caller that waits for an answer unparks it.
                        std::thread::park_timeout(left);
                        next = queue.try_recv().ok();
                    }
                }
                Message::MakeRoom(principal) => {
                    self.tight.insert(principal);
                    self.prune_due = true;
                    next = queue.try_recv().ok();
                }
                // Ends the batch: it has to see everything sent before it as committed.
                other @ (Message::Recover(_) | Message::Query(_)) => after_commit = Some(other),
            }
        }
        if !batch.is_empty() {
            self.commit(batch, sync);
        }
        match after_commit {
            Some(Message::Recover(reply)) => drop(reply.send(self.recover())),
            Some(Message::Query(query)) => query(&self.connection),
            Some(Message::Write(_) | Message::MakeRoom(_)) | None => {}
        }
    }

    /// Encodes a job, outside the transaction, where many megabytes of JSON do not hold up other
    /// processes. A job that cannot be stored is answered here.
    fn prepare(&mut self, job: Job) -> Option<(Completion, Apply)> {
        self.written_bytes = self.written_bytes.saturating_add(job.operation.bytes());
        let (journal, encoded) = match job.operation {
            Operation::Write(write) => (None, Ok(write.apply)),
            Operation::Journal(operation) => {
                let target = operation.target();
                let room = match &operation {
                    JournalOperation::Begin(new) => self.check_room(new),
                    JournalOperation::Append { .. }
                    | JournalOperation::Finish { .. }
                    | JournalOperation::Change(_) => Ok(()),
                };
                let encoded = room
                    .and_then(|()| self.admit(&target))
                    .and_then(|()| operation.encode(self.owner_token()));
                (Some(target), encoded)
            }
        };
        match encoded {
            Ok(apply) => {
                let completion = Completion {
                    journal,
                    reply: job.reply,
                    _queue_space: job.queue_space,
                };
                Some((completion, apply))
            }
            Err(error @ StoreError::JournalsFull { .. }) => {
                // Nothing of it is stored, so that nothing can follow: there is no gap to remember.
                answer(job.reply, Err(error));
                None
            }
            Err(error) => {
                let completion = Completion {
                    journal,
                    reply: job.reply,
                    _queue_space: job.queue_space,
                };
                // Marks the gap that the lost entry leaves.
                self.complete(completion, Err(error));
                None
            }
        }
    }

    /// Takes an owner lock before the first execution begins or is taken, and counts executions that end.
    fn admit(&mut self, target: &JournalTarget) -> Result<(), StoreError> {
        match target.step {
            JournalStep::Begin | JournalStep::Take => {
                // The lock comes before the row: a row whose owner has no lock counts as abandoned, and
                // another gateway's recovery would end an execution that runs.
                self.claim_owner_lock()
            }
            JournalStep::Finish => {
                self.finishes += 1;
                Ok(())
            }
            JournalStep::Append | JournalStep::Change => Ok(()),
        }
    }

    fn claim_owner_lock(&mut self) -> Result<(), StoreError> {
        let Some(owner_locks) = self.owner_locks.as_mut() else {
            return Ok(());
        };
        if owner_locks.token().is_some() {
            return Ok(());
        }
        let token = self
            .connection
            .query_row("SELECT lower(hex(randomblob(16)))", [], |row| row.get(0))
            .map_err(|error| StoreError::from_sqlite(&self.path, schema::BUSY_MS, error))?;
        owner_locks.claim(token)
    }

    /// Owner of this process's executions. In memory, where recovery does nothing, it is a word: a paused execution has the
    /// empty owner.
    fn owner_token(&self) -> &str {
        self.owner_locks
            .as_ref()
            .and_then(OwnerLocks::token)
            .unwrap_or("memory")
    }

    fn recover(&mut self) -> Result<Vec<(ExecutionId, ExecutionStatus)>, StoreError> {
        self.set_sync_mode(true)?;
        let Some(owner_locks) = &self.owner_locks else {
            return Ok(Vec::new());
        };
        let ended = recovery::recover(&mut self.connection, owner_locks)
            .map_err(|error| StoreError::from_sqlite(&self.path, schema::BUSY_MS, error))?;
        // After the commit: a lock file that is gone means an owner that is gone.
        owner_locks.sweep();
        Ok(ended)
    }
}

/// Sends the result to a caller that may have gone away; the operation is done all the same.
fn answer(reply: Option<Reply>, result: Result<(), StoreError>) {
    if let Some(reply) = reply {
        drop(reply.send(result));
    }
}
