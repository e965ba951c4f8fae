//! The one thread that writes, and the queue in front of it.
//!
//! What is queued while a commit is under way becomes the next commit: one sync to disk answers
//! everybody who waits for one. A batch without such a wait is committed without a sync; SQLite's log
//! keeps the order, so syncing a later batch brings the earlier ones to disk with it. While nobody
//! waits at all, the thread lingers for a moment, so that a run of reads is one commit and not one each.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvError, TryRecvError};
use std::time::{Duration, Instant};

use limbeck_domain::{ExecutionId, ExecutionStatus};
use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::error::StoreError;
use crate::owner::Owners;
use crate::retention::{self, Retention};
use crate::schema;
use crate::work::{Row, Work};
use crate::{StoreStats, recover};

/// Jobs in one transaction: enough to share a sync, few enough that another process gets its turn.
const BATCH_JOBS_MAX: usize = 512;
/// How long entries that nobody waits for are gathered before they are committed.
const LINGER: Duration = Duration::from_millis(2);
/// Finished executions between two looks at what retention allows.
const FINISHES_PER_PRUNE: u32 = 32;

/// What travels to the writer.
pub(crate) enum Message {
    /// Something to store, in the order sent.
    Write(Job),
    /// Looks for executions whose gateway is gone.
    Recover(oneshot::Sender<Result<Vec<(ExecutionId, ExecutionStatus)>, StoreError>>),
    /// Runs on the writer's connection after everything sent before it is committed.
    Query(Box<dyn FnOnce(&Connection) + Send>),
}

/// One thing to store.
pub(crate) struct Job {
    pub(crate) work: Work,
    /// Answered when the batch is committed; synced to disk first when `durable`.
    pub(crate) reply: Option<oneshot::Sender<Result<(), StoreError>>>,
    pub(crate) durable: bool,
    /// Its share of the queue, given back when it is done.
    pub(crate) room: Option<OwnedSemaphorePermit>,
}

/// Numbers the writer keeps for [`crate::Store::stats`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    commits: AtomicU64,
    synced: AtomicU64,
    entries: AtomicU64,
}

impl Counters {
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
    pub(crate) path: PathBuf,
    pub(crate) connection: Connection,
    /// Absent for a store in memory, which no other process can look into.
    pub(crate) owners: Option<Owners>,
    pub(crate) retention: Retention,
    pub(crate) counters: Arc<Counters>,
    /// Executions of ours whose journal has a gap: nothing may follow it but the end.
    pub(crate) lost: HashSet<ExecutionId>,
    /// Whether something is committed that was not synced yet.
    pub(crate) unsynced: bool,
    /// Whether commits sync at the moment.
    pub(crate) syncing: Option<bool>,
    pub(crate) finishes: u32,
    pub(crate) prune_due: bool,
}

/// A job made ready outside the transaction, where encoding many megabytes holds nobody up.
struct Ready {
    row: Row,
    reply: Option<oneshot::Sender<Result<(), StoreError>>>,
    _room: Option<OwnedSemaphorePermit>,
}

impl Writer {
    /// Works until every sender is gone and the queue is empty, then syncs what is left.
    pub(crate) fn run(mut self, queue: Receiver<Message>) {
        loop {
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
                self.turn(message, &queue);
            }
            if self.prune_due {
                self.prune();
            }
        }
        if self.unsynced {
            self.commit(Vec::new(), true);
        }
    }

    /// Handles `first` and whatever is queued behind it that can share its transaction.
    fn turn(&mut self, first: Message, queue: &Receiver<Message>) {
        let mut batch: Vec<Ready> = Vec::new();
        let mut durable = false;
        let lingers_until = Instant::now() + LINGER;
        let mut next = Some(first);
        let mut after = None;
        while let Some(message) = next.take() {
            match message {
                Message::Write(job) => {
                    durable |= job.durable;
                    batch.extend(self.prepare(job));
                    if batch.len() < BATCH_JOBS_MAX {
                        next = queue.try_recv().ok();
                    }
                    let awaited = || batch.iter().any(|ready| ready.reply.is_some());
                    while next.is_none() && batch.len() < BATCH_JOBS_MAX && !awaited() {
                        let left = lingers_until.saturating_duration_since(Instant::now());
                        if left.is_zero() {
                            break;
                        }
                        // Not a wait on the queue: that would be woken for every entry.
                        std::thread::park_timeout(left);
                        next = queue.try_recv().ok();
                    }
                }
                other @ (Message::Recover(_) | Message::Query(_)) => after = Some(other),
            }
        }
        if !batch.is_empty() {
            self.commit(batch, durable);
        }
        match after {
            Some(Message::Recover(reply)) => drop(reply.send(self.recover())),
            Some(Message::Query(query)) => query(&self.connection),
            Some(Message::Write(_)) | None => {}
        }
    }

    /// Encodes a job; one that cannot be stored is answered here.
    fn prepare(&mut self, job: Job) -> Option<Ready> {
        let encoded = self.admit(&job.work).and_then(|()| job.work.encode());
        match encoded {
            Ok(row) => Some(Ready {
                row,
                reply: job.reply,
                _room: job.room,
            }),
            Err(error) => {
                answer(job.reply, Err(error));
                None
            }
        }
    }

    /// Makes sure that we are known as the owner of what is begun, and counts what ends.
    fn admit(&mut self, work: &Work) -> Result<(), StoreError> {
        match work {
            Work::Begin(new) => {
                let owned = self.own();
                if owned.is_err() {
                    self.lost.insert(new.id.clone());
                }
                owned
            }
            Work::Finish { .. } => {
                self.finishes += 1;
                Ok(())
            }
            Work::Append { .. }
            | Work::KvSet { .. }
            | Work::Cache { .. }
            | Work::Note(_)
            | Work::Listing { .. }
            | Work::Account { .. }
            | Work::Artifact { .. }
            | Work::Observe { .. }
            | Work::Embeddings { .. }
            | Work::Flush => Ok(()),
        }
    }

    fn own(&mut self) -> Result<(), StoreError> {
        let Some(owners) = self.owners.as_mut() else {
            return Ok(());
        };
        if owners.token().is_some() {
            return Ok(());
        }
        let token = self
            .connection
            .query_row("SELECT lower(hex(randomblob(16)))", [], |row| row.get(0))
            .map_err(|error| StoreError::from_sqlite(&self.path, schema::BUSY_MS, error))?;
        owners.claim(token)
    }

    fn commit(&mut self, batch: Vec<Ready>, durable: bool) {
        let entries = batch.iter().filter(|ready| ready.row.is_entry()).count() as u64;
        match self.transact(&batch, durable) {
            Ok(results) => {
                self.counters.commits.fetch_add(1, Ordering::Relaxed);
                self.counters.entries.fetch_add(entries, Ordering::Relaxed);
                if durable {
                    self.counters.synced.fetch_add(1, Ordering::Relaxed);
                }
                self.unsynced = !durable;
                for (ready, result) in batch.into_iter().zip(results) {
                    self.conclude(ready, result);
                }
            }
            Err(error) => {
                for ready in batch {
                    self.conclude(ready, Err(error.clone()));
                }
            }
        }
        if self.finishes >= FINISHES_PER_PRUNE {
            self.finishes = 0;
            self.prune_due = true;
        }
    }

    /// Applies the batch as one transaction. An error of one row that touched nothing is its own
    /// result; an error of SQLite ends the whole batch and nothing of it is stored.
    fn transact(
        &mut self,
        batch: &[Ready],
        durable: bool,
    ) -> Result<Vec<Result<(), StoreError>>, StoreError> {
        self.sync_commits(durable)?;
        let path = &self.path;
        let sqlite = |error| StoreError::from_sqlite(path, schema::BUSY_MS, error);
        let token = self.owners.as_ref().and_then(Owners::token).unwrap_or("");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(sqlite)?;
        let mut results = Vec::with_capacity(batch.len());
        for ready in batch {
            let result = match ready.row.entry_of() {
                Some(id) if self.lost.contains(id) => {
                    Err(StoreError::JournalIncomplete { id: id.to_string() })
                }
                _ => ready
                    .row
                    .apply(&transaction, token, &self.retention.artifacts)
                    .map_err(sqlite)?,
            };
            // At once, and not when it is answered: the next row may be of the same journal.
            if result.is_err()
                && let Some(id) = ready.row.journal_of()
            {
                self.lost.insert(id.clone());
            }
            results.push(result);
        }
        if durable {
            // Only a commit that changes something syncs the log.
            transaction
                .execute("UPDATE flushed SET count = count + 1", [])
                .map_err(sqlite)?;
        }
        transaction.commit().map_err(sqlite)?;
        Ok(results)
    }

    /// Chooses whether the next commits return before or after they are on disk.
    fn sync_commits(&mut self, durable: bool) -> Result<(), StoreError> {
        if self.syncing == Some(durable) {
            return Ok(());
        }
        let level = if durable { "FULL" } else { "NORMAL" };
        self.connection
            .pragma_update(None, "synchronous", level)
            .map_err(|error| StoreError::from_sqlite(&self.path, schema::BUSY_MS, error))?;
        self.syncing = Some(durable);
        Ok(())
    }

    /// Answers one job. What is lost leaves a gap to remember until the journal ends; a loss that
    /// nobody waits to hear of is logged.
    fn conclude(&mut self, ready: Ready, result: Result<(), StoreError>) {
        if let Some(id) = ready.row.ends() {
            self.lost.remove(id);
        } else if result.is_err()
            && let Some(id) = ready.row.journal_of()
        {
            self.lost.insert(id.clone());
        }
        if let Err(error) = &result
            && ready.reply.is_none()
        {
            tracing::error!(error = error as &dyn std::error::Error, "a record was lost");
        }
        answer(ready.reply, result);
    }

    fn recover(&mut self) -> Result<Vec<(ExecutionId, ExecutionStatus)>, StoreError> {
        self.sync_commits(true)?;
        let Some(owners) = &self.owners else {
            return Ok(Vec::new());
        };
        let found = recover::recover(&mut self.connection, owners)
            .map_err(|error| StoreError::from_sqlite(&self.path, schema::BUSY_MS, error))?;
        owners.sweep();
        Ok(found)
    }

    /// One bounded step of retention; there is another to do as long as it removed something.
    fn prune(&mut self) {
        match retention::prune(&mut self.connection, &self.retention) {
            Ok(removed) => self.prune_due = removed > 0,
            Err(error) => {
                // Old executions stay for now; the next round tries again.
                tracing::warn!(error = %error, "old executions were not removed");
                self.prune_due = false;
            }
        }
    }
}

/// The one who asked may have gone away; the work is done all the same.
fn answer(reply: Option<oneshot::Sender<Result<(), StoreError>>>, result: Result<(), StoreError>) {
    if let Some(reply) = reply {
        drop(reply.send(result));
    }
}
